"""Every metric as a function, the decorator that registers one, and the statistics of scores.

A registered metric is found here under its name, with "_" for "/": `path/ade` is `path_ade`. Metrics are pure functions
on arrays. `metric` registers a metric of your own:

    from worldgauge.metrics import metric

    @metric("brightness_gap", unit="grey level", better="lower", bounds=(0.0, 255.0), compares="frames")
    def brightness_gap(truth, rollout):
        return abs(float(truth.mean()) - float(rollout.mean()))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldgauge.core.lazy import lazy

if TYPE_CHECKING:
    from worldgauge.core.paired import (
        PairedDifference,
        PairedDifferences,
        Power,
        RankRange,
        holm,
        minimum_detectable_effect,
        paired_difference,
        paired_differences,
        power_of,
        rank_ranges,
        ranks,
    )
    from worldgauge.core.statistics import (
        Correlation,
        Estimate,
        Interval,
        MeanStd,
        Sample,
        balanced_interval,
        correlation,
        jackknife_interval,
        mean_interval,
        mean_std,
        rate_interval,
        student_interval,
        wilson,
    )
    from worldgauge.metrics._registry import metric, metric_bounds, metrics
    from worldgauge.metrics.colour import colour_change, colour_drift
    from worldgauge.metrics.colour import detail_correlation as detail
    from worldgauge.metrics.frame_pairs import mse_720p, psnr_720p, ssim_720p
    from worldgauge.metrics.learned import aesthetic, dino_mse, fvd, fvd_pair, imaging, lpips, lpips_320x180, lpips_720p
    from worldgauge.metrics.learned import frechet_distance as frechet
    from worldgauge.metrics.pixel import mse, psnr, sharpness, ssim_320x180, ssim_perturbation, ssim_table, ssim_uniform
    from worldgauge.metrics.reobservation import returned_detail, returned_mse
    from worldgauge.metrics.trajectory import (
        absolute_errors,
        aligned,
        ape_rmse,
        ape_whole,
        fit_points,
        relative_errors,
        rpe_rot_deg,
        rpe_scale,
        rpe_trans,
    )
    from worldgauge.suites.build.metrics.blueprint_matching import best_shift_score as build_best_shift
    from worldgauge.suites.build.metrics.blueprint_matching import matching_f1 as build_f1
    from worldgauge.suites.build.metrics.blueprint_matching import matching_precision as build_precision
    from worldgauge.suites.build.metrics.blueprint_matching import matching_score as build_matching
    from worldgauge.suites.build.metrics.blueprint_matching import occupancy_iou as build_occupancy_iou
    from worldgauge.suites.build.metrics.blueprint_matching import typed_iou as build_typed_iou
    from worldgauge.suites.build.metrics.blueprint_reading import executable as build_executable
    from worldgauge.suites.build.metrics.blueprint_reading import strict as build_strict
    from worldgauge.suites.build.metrics.scores import build_grade, full_marks, reasoning_accuracy
    from worldgauge.suites.build.metrics.scores import commonsense as build_commonsense
    from worldgauge.suites.build.metrics.scores import commonsense_success as build_commonsense_success
    from worldgauge.suites.build.metrics.scores import comprehensive as build_comprehensive
    from worldgauge.suites.build.metrics.scores import evaluation as build_evaluation
    from worldgauge.suites.build.metrics.scores import graded_only as build_graded
    from worldgauge.suites.build.metrics.scores import overall as build_overall
    from worldgauge.suites.build.metrics.scores import voting_scores as build_voting
    from worldgauge.suites.build.metrics.soundness import alike_share as build_alike
    from worldgauge.suites.build.metrics.soundness import connected_share as build_connected
    from worldgauge.suites.build.metrics.soundness import evenness as build_evenness
    from worldgauge.suites.build.metrics.soundness import offered_used as build_offered_used
    from worldgauge.suites.build.metrics.soundness import order as build_order
    from worldgauge.suites.build.metrics.soundness import reachable_share as build_reachable
    from worldgauge.suites.build.metrics.soundness import supported_share as build_supported
    from worldgauge.suites.build.metrics.soundness import symmetry as build_symmetry
    from worldgauge.suites.closedloop.metrics import (
        answer_score,
        answer_spl,
        controllability_lpips,
        controllability_psnr,
        controllability_ssim,
        decision_regret,
        model_calls,
        spl,
        success,
        task_progress,
        trajectory_m,
        trajectory_steps,
        visual_quality,
    )
    from worldgauge.suites.loopnav.metrics.path import coverage, path_length
    from worldgauge.suites.loopnav.metrics.path import enclosed_area as path_enclosed_area
    from worldgauge.suites.loopnav.metrics.path import normalised_deviation as path_normalised_deviation
    from worldgauge.suites.loopnav.metrics.scene_variants import chance_corrected as sgcs_chance_corrected
    from worldgauge.suites.loopnav.metrics.scene_variants import drift_tolerant_sgcs as sgcs_drift_tolerant
    from worldgauge.suites.loopnav.metrics.scene_variants import informative_sgcs as sgcs_informative
    from worldgauge.suites.loopnav.metrics.scene_variants import loop_closure
    from worldgauge.suites.loopnav.metrics.scene_variants import macro_sgcs as sgcs_macro
    from worldgauge.suites.loopnav.metrics.scene_variants import object_sgcs as sgcs_objects
    from worldgauge.suites.loopnav.metrics.scene_variants import relation_score as sgcs_relations
    from worldgauge.suites.loopnav.metrics.scene_variants import seen_sgcs as sgcs_seen
    from worldgauge.suites.loopnav.metrics.scene_variants import shape_score as sgcs_shape
    from worldgauge.suites.loopnav.metrics.scene_variants import unseen_sgcs as sgcs_unseen
    from worldgauge.suites.loopnav.metrics.sgcs import pixel_accuracy as segmenter_accuracy
    from worldgauge.suites.loopnav.metrics.sgcs import sgcs
    from worldgauge.suites.mind.metrics.action_accuracy import key_latency, keys_answered, move_cosine, turn_cosine
    from worldgauge.suites.mind.metrics.scene_consistency import (
        gsc_aligned_detail,
        gsc_aligned_lpips,
        gsc_aligned_mse,
        gsc_aligned_psnr,
        gsc_aligned_ssim,
        gsc_detail,
        gsc_lpips,
        gsc_mse,
        gsc_psnr,
        gsc_ssim,
        out_leg_motion,
    )
    from worldgauge.suites.target.metrics import ade as path_ade
    from worldgauge.suites.target.metrics import approach_consistency as path_approach_consistency
    from worldgauge.suites.target.metrics import arc_aligned_ade as path_arc_aligned_ade
    from worldgauge.suites.target.metrics import end_heading as path_end_heading_error
    from worldgauge.suites.target.metrics import fde as path_fde
    from worldgauge.suites.target.metrics import length_ratio as path_length_ratio
    from worldgauge.suites.target.metrics import miss_rate as path_miss_rate
    from worldgauge.suites.target.metrics import overall as path_overall
    from worldgauge.suites.target.metrics import reach_half_metre as path_reach_half_metre
    from worldgauge.suites.target.metrics import reach_metre as path_reach_metre
    from worldgauge.suites.target.metrics import scale_free_ade as path_scale_free_ade
    from worldgauge.suites.target.metrics import soft_endpoint as path_soft_endpoint
    from worldgauge.suites.target.metrics import time_aligned_ade as path_time_aligned_ade

__all__ = [
    "Correlation",
    "Estimate",
    "Interval",
    "MeanStd",
    "PairedDifference",
    "PairedDifferences",
    "Power",
    "RankRange",
    "Sample",
    "absolute_errors",
    "aesthetic",
    "aligned",
    "answer_score",
    "answer_spl",
    "ape_rmse",
    "ape_whole",
    "balanced_interval",
    "build_alike",
    "build_best_shift",
    "build_commonsense",
    "build_commonsense_success",
    "build_comprehensive",
    "build_connected",
    "build_evaluation",
    "build_evenness",
    "build_executable",
    "build_f1",
    "build_grade",
    "build_graded",
    "build_matching",
    "build_occupancy_iou",
    "build_offered_used",
    "build_order",
    "build_overall",
    "build_precision",
    "build_reachable",
    "build_strict",
    "build_supported",
    "build_symmetry",
    "build_typed_iou",
    "build_voting",
    "colour_change",
    "colour_drift",
    "controllability_lpips",
    "controllability_psnr",
    "controllability_ssim",
    "correlation",
    "coverage",
    "decision_regret",
    "detail",
    "dino_mse",
    "fit_points",
    "frechet",
    "full_marks",
    "fvd",
    "fvd_pair",
    "gsc_aligned_detail",
    "gsc_aligned_lpips",
    "gsc_aligned_mse",
    "gsc_aligned_psnr",
    "gsc_aligned_ssim",
    "gsc_detail",
    "gsc_lpips",
    "gsc_mse",
    "gsc_psnr",
    "gsc_ssim",
    "holm",
    "imaging",
    "jackknife_interval",
    "key_latency",
    "keys_answered",
    "loop_closure",
    "lpips",
    "lpips_320x180",
    "lpips_720p",
    "mean_interval",
    "mean_std",
    "metric",
    "metric_bounds",
    "metrics",
    "minimum_detectable_effect",
    "model_calls",
    "move_cosine",
    "mse",
    "mse_720p",
    "out_leg_motion",
    "paired_difference",
    "paired_differences",
    "path_ade",
    "path_approach_consistency",
    "path_arc_aligned_ade",
    "path_enclosed_area",
    "path_end_heading_error",
    "path_fde",
    "path_length",
    "path_length_ratio",
    "path_miss_rate",
    "path_normalised_deviation",
    "path_overall",
    "path_reach_half_metre",
    "path_reach_metre",
    "path_scale_free_ade",
    "path_soft_endpoint",
    "path_time_aligned_ade",
    "power_of",
    "psnr",
    "psnr_720p",
    "rank_ranges",
    "ranks",
    "rate_interval",
    "reasoning_accuracy",
    "relative_errors",
    "returned_detail",
    "returned_mse",
    "rpe_rot_deg",
    "rpe_scale",
    "rpe_trans",
    "segmenter_accuracy",
    "sgcs",
    "sgcs_chance_corrected",
    "sgcs_drift_tolerant",
    "sgcs_informative",
    "sgcs_macro",
    "sgcs_objects",
    "sgcs_relations",
    "sgcs_seen",
    "sgcs_shape",
    "sgcs_unseen",
    "sharpness",
    "spl",
    "ssim_320x180",
    "ssim_720p",
    "ssim_perturbation",
    "ssim_table",
    "ssim_uniform",
    "student_interval",
    "success",
    "task_progress",
    "trajectory_m",
    "trajectory_steps",
    "turn_cosine",
    "visual_quality",
    "wilson",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "core.paired": (
            "PairedDifference PairedDifferences Power RankRange holm minimum_detectable_effect paired_difference "
            "paired_differences power_of rank_ranges ranks"
        ),
        "core.statistics": (
            "Correlation Estimate Interval MeanStd Sample balanced_interval correlation jackknife_interval "
            "mean_interval mean_std rate_interval student_interval wilson"
        ),
        "metrics._registry": "metric metric_bounds metrics",
        "metrics.colour": "colour_change colour_drift detail=detail_correlation",
        "metrics.frame_pairs": "mse_720p psnr_720p ssim_720p",
        "metrics.learned": (
            "aesthetic dino_mse frechet=frechet_distance fvd fvd_pair imaging lpips lpips_320x180 lpips_720p"
        ),
        "metrics.pixel": "mse psnr sharpness ssim_320x180 ssim_perturbation ssim_table ssim_uniform",
        "metrics.reobservation": "returned_detail returned_mse",
        "metrics.trajectory": (
            "absolute_errors aligned ape_rmse ape_whole fit_points relative_errors rpe_rot_deg rpe_scale rpe_trans"
        ),
        "suites.build.metrics.blueprint_matching": (
            "build_best_shift=best_shift_score build_f1=matching_f1 build_matching=matching_score "
            "build_occupancy_iou=occupancy_iou build_precision=matching_precision build_typed_iou=typed_iou"
        ),
        "suites.build.metrics.blueprint_reading": "build_executable=executable build_strict=strict",
        "suites.build.metrics.scores": (
            "build_commonsense=commonsense build_commonsense_success=commonsense_success "
            "build_comprehensive=comprehensive build_evaluation=evaluation build_grade build_graded=graded_only "
            "build_overall=overall build_voting=voting_scores full_marks reasoning_accuracy"
        ),
        "suites.build.metrics.soundness": (
            "build_alike=alike_share build_connected=connected_share build_evenness=evenness "
            "build_offered_used=offered_used build_order=order build_reachable=reachable_share "
            "build_supported=supported_share build_symmetry=symmetry"
        ),
        "suites.closedloop.metrics": (
            "answer_score answer_spl controllability_lpips controllability_psnr controllability_ssim decision_regret "
            "model_calls spl success task_progress trajectory_m trajectory_steps visual_quality"
        ),
        "suites.loopnav.metrics.path": (
            "coverage path_enclosed_area=enclosed_area path_length path_normalised_deviation=normalised_deviation"
        ),
        "suites.loopnav.metrics.scene_variants": (
            "loop_closure sgcs_chance_corrected=chance_corrected sgcs_drift_tolerant=drift_tolerant_sgcs "
            "sgcs_informative=informative_sgcs sgcs_macro=macro_sgcs sgcs_objects=object_sgcs "
            "sgcs_relations=relation_score sgcs_seen=seen_sgcs sgcs_shape=shape_score sgcs_unseen=unseen_sgcs"
        ),
        "suites.loopnav.metrics.sgcs": "segmenter_accuracy=pixel_accuracy sgcs",
        "suites.mind.metrics.action_accuracy": "key_latency keys_answered move_cosine turn_cosine",
        "suites.mind.metrics.scene_consistency": (
            "gsc_aligned_detail gsc_aligned_lpips gsc_aligned_mse gsc_aligned_psnr gsc_aligned_ssim gsc_detail "
            "gsc_lpips gsc_mse gsc_psnr gsc_ssim out_leg_motion"
        ),
        "suites.target.metrics": (
            "path_ade=ade path_approach_consistency=approach_consistency path_arc_aligned_ade=arc_aligned_ade "
            "path_end_heading_error=end_heading path_fde=fde path_length_ratio=length_ratio path_miss_rate=miss_rate "
            "path_overall=overall path_reach_half_metre=reach_half_metre path_reach_metre=reach_metre "
            "path_scale_free_ade=scale_free_ade path_soft_endpoint=soft_endpoint "
            "path_time_aligned_ade=time_aligned_ade"
        ),
    },
)
