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
    from worldgauge.core.intervals import (
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
    from worldgauge.core.paired_tests import (
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
    from worldgauge.metrics._registry import metric, metric_bounds, metrics
    from worldgauge.metrics.alternatives import (
        ShownAlternative,
        shown_alternative,
        twin_accuracy,
        twin_ahead,
        twin_gain,
    )
    from worldgauge.metrics.colour import colour_change, colour_drift
    from worldgauge.metrics.colour import detail_correlation as detail
    from worldgauge.metrics.frame_pairs import mse_720p, psnr_720p, ssim_720p
    from worldgauge.metrics.lpips_fvd import (
        aesthetic,
        dino_mse,
        fvd,
        fvd_pair,
        imaging,
        lpips,
        lpips_320x180,
        lpips_720p,
    )
    from worldgauge.metrics.lpips_fvd import frechet_distance as frechet
    from worldgauge.metrics.psnr_ssim import (
        mse,
        psnr,
        sharpness,
        ssim_320x180,
        ssim_perturbation,
        ssim_table,
        ssim_uniform,
    )
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
    from worldgauge.perception.networks.lpips import stlpips, stlpips_vgg
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
    from worldgauge.suites.mineanybuild.metrics.blueprint_matching import best_shift_score as build_best_shift
    from worldgauge.suites.mineanybuild.metrics.blueprint_matching import matching_f1 as build_f1
    from worldgauge.suites.mineanybuild.metrics.blueprint_matching import matching_precision as build_precision
    from worldgauge.suites.mineanybuild.metrics.blueprint_matching import matching_score as build_matching
    from worldgauge.suites.mineanybuild.metrics.blueprint_matching import occupancy_iou as build_occupancy_iou
    from worldgauge.suites.mineanybuild.metrics.blueprint_matching import typed_iou as build_typed_iou
    from worldgauge.suites.mineanybuild.metrics.blueprint_reading import executable as build_executable
    from worldgauge.suites.mineanybuild.metrics.blueprint_reading import strict as build_strict
    from worldgauge.suites.mineanybuild.metrics.scores import build_grade, full_marks, reasoning_accuracy
    from worldgauge.suites.mineanybuild.metrics.scores import commonsense as build_commonsense
    from worldgauge.suites.mineanybuild.metrics.scores import commonsense_success as build_commonsense_success
    from worldgauge.suites.mineanybuild.metrics.scores import comprehensive as build_comprehensive
    from worldgauge.suites.mineanybuild.metrics.scores import evaluation as build_evaluation
    from worldgauge.suites.mineanybuild.metrics.scores import graded_only as build_graded
    from worldgauge.suites.mineanybuild.metrics.scores import overall as build_overall
    from worldgauge.suites.mineanybuild.metrics.scores import voting_scores as build_voting
    from worldgauge.suites.mineanybuild.metrics.soundness import alike_share as build_alike
    from worldgauge.suites.mineanybuild.metrics.soundness import connected_share as build_connected
    from worldgauge.suites.mineanybuild.metrics.soundness import evenness as build_evenness
    from worldgauge.suites.mineanybuild.metrics.soundness import offered_used as build_offered_used
    from worldgauge.suites.mineanybuild.metrics.soundness import order as build_order
    from worldgauge.suites.mineanybuild.metrics.soundness import reachable_share as build_reachable
    from worldgauge.suites.mineanybuild.metrics.soundness import supported_share as build_supported
    from worldgauge.suites.mineanybuild.metrics.soundness import symmetry as build_symmetry
    from worldgauge.suites.targetbench.metrics import ade as path_ade
    from worldgauge.suites.targetbench.metrics import approach_consistency as path_approach_consistency
    from worldgauge.suites.targetbench.metrics import arc_aligned_ade as path_arc_aligned_ade
    from worldgauge.suites.targetbench.metrics import end_heading as path_end_heading_error
    from worldgauge.suites.targetbench.metrics import fde as path_fde
    from worldgauge.suites.targetbench.metrics import length_ratio as path_length_ratio
    from worldgauge.suites.targetbench.metrics import miss_rate as path_miss_rate
    from worldgauge.suites.targetbench.metrics import overall as path_overall
    from worldgauge.suites.targetbench.metrics import reach_half_metre as path_reach_half_metre
    from worldgauge.suites.targetbench.metrics import reach_metre as path_reach_metre
    from worldgauge.suites.targetbench.metrics import scale_free_ade as path_scale_free_ade
    from worldgauge.suites.targetbench.metrics import soft_endpoint as path_soft_endpoint
    from worldgauge.suites.targetbench.metrics import time_aligned_ade as path_time_aligned_ade
    from worldgauge.suites.unseen.metrics import advanced, as_left, looked_away, progress
    from worldgauge.suites.worldinworld.metrics import (
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

__all__ = ["PairedDifference", "PairedDifferences", "Power", "RankRange", "holm", "minimum_detectable_effect"]
__all__ += ["paired_difference", "paired_differences", "power_of", "rank_ranges", "ranks"]
__all__ += ["Correlation", "Estimate", "Interval", "MeanStd", "Sample", "balanced_interval", "correlation"]
__all__ += ["jackknife_interval", "mean_interval", "mean_std", "rate_interval", "student_interval", "wilson"]
__all__ += ["metric", "metric_bounds", "metrics"]
__all__ += ["ShownAlternative", "shown_alternative", "twin_accuracy", "twin_ahead", "twin_gain"]
__all__ += ["colour_change", "colour_drift", "detail"]
__all__ += ["mse_720p", "psnr_720p", "ssim_720p"]
__all__ += ["aesthetic", "dino_mse", "frechet", "fvd", "fvd_pair", "imaging", "lpips", "lpips_320x180", "lpips_720p"]
__all__ += ["stlpips", "stlpips_vgg"]
__all__ += ["mse", "psnr", "sharpness", "ssim_320x180", "ssim_perturbation", "ssim_table", "ssim_uniform"]
__all__ += ["returned_detail", "returned_mse"]
__all__ += ["absolute_errors", "aligned", "ape_rmse", "ape_whole", "fit_points", "relative_errors", "rpe_rot_deg"]
__all__ += ["rpe_scale", "rpe_trans"]
__all__ += ["build_best_shift", "build_f1", "build_matching", "build_occupancy_iou", "build_precision"]
__all__ += ["build_typed_iou"]
__all__ += ["build_executable", "build_strict"]
__all__ += ["build_commonsense", "build_commonsense_success", "build_comprehensive", "build_evaluation", "build_grade"]
__all__ += ["build_graded", "build_overall", "build_voting", "full_marks", "reasoning_accuracy"]
__all__ += ["build_alike", "build_connected", "build_evenness", "build_offered_used", "build_order", "build_reachable"]
__all__ += ["build_supported", "build_symmetry"]
__all__ += ["answer_score", "answer_spl", "controllability_lpips", "controllability_psnr", "controllability_ssim"]
__all__ += ["decision_regret", "model_calls", "spl", "success", "task_progress", "trajectory_m", "trajectory_steps"]
__all__ += ["visual_quality"]
__all__ += ["coverage", "path_enclosed_area", "path_length", "path_normalised_deviation"]
__all__ += ["loop_closure", "sgcs_chance_corrected", "sgcs_drift_tolerant", "sgcs_informative", "sgcs_macro"]
__all__ += ["sgcs_objects", "sgcs_relations", "sgcs_seen", "sgcs_shape", "sgcs_unseen"]
__all__ += ["segmenter_accuracy", "sgcs"]
__all__ += ["key_latency", "keys_answered", "move_cosine", "turn_cosine"]
__all__ += ["gsc_aligned_detail", "gsc_aligned_lpips", "gsc_aligned_mse", "gsc_aligned_psnr", "gsc_aligned_ssim"]
__all__ += ["gsc_detail", "gsc_lpips", "gsc_mse", "gsc_psnr", "gsc_ssim", "out_leg_motion"]
__all__ += ["path_ade", "path_approach_consistency", "path_arc_aligned_ade", "path_end_heading_error", "path_fde"]
__all__ += ["path_length_ratio", "path_miss_rate", "path_overall", "path_reach_half_metre", "path_reach_metre"]
__all__ += ["path_scale_free_ade", "path_soft_endpoint", "path_time_aligned_ade"]
__all__ += ["advanced", "as_left", "looked_away", "progress"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "core.paired_tests": (
            "PairedDifference PairedDifferences Power RankRange holm minimum_detectable_effect paired_difference "
            "paired_differences power_of rank_ranges ranks"
        ),
        "core.intervals": (
            "Correlation Estimate Interval MeanStd Sample balanced_interval correlation jackknife_interval "
            "mean_interval mean_std rate_interval student_interval wilson"
        ),
        "metrics._registry": "metric metric_bounds metrics",
        "metrics.alternatives": "ShownAlternative shown_alternative twin_accuracy twin_ahead twin_gain",
        "metrics.colour": "colour_change colour_drift detail=detail_correlation",
        "metrics.frame_pairs": "mse_720p psnr_720p ssim_720p",
        "perception.networks.lpips": "stlpips stlpips_vgg",
        "metrics.lpips_fvd": (
            "aesthetic dino_mse frechet=frechet_distance fvd fvd_pair imaging lpips lpips_320x180 lpips_720p"
        ),
        "metrics.psnr_ssim": "mse psnr sharpness ssim_320x180 ssim_perturbation ssim_table ssim_uniform",
        "metrics.reobservation": "returned_detail returned_mse",
        "metrics.trajectory": (
            "absolute_errors aligned ape_rmse ape_whole fit_points relative_errors rpe_rot_deg rpe_scale rpe_trans"
        ),
        "suites.mineanybuild.metrics.blueprint_matching": (
            "build_best_shift=best_shift_score build_f1=matching_f1 build_matching=matching_score "
            "build_occupancy_iou=occupancy_iou build_precision=matching_precision build_typed_iou=typed_iou"
        ),
        "suites.mineanybuild.metrics.blueprint_reading": "build_executable=executable build_strict=strict",
        "suites.mineanybuild.metrics.scores": (
            "build_commonsense=commonsense build_commonsense_success=commonsense_success "
            "build_comprehensive=comprehensive build_evaluation=evaluation build_grade build_graded=graded_only "
            "build_overall=overall build_voting=voting_scores full_marks reasoning_accuracy"
        ),
        "suites.mineanybuild.metrics.soundness": (
            "build_alike=alike_share build_connected=connected_share build_evenness=evenness "
            "build_offered_used=offered_used build_order=order build_reachable=reachable_share "
            "build_supported=supported_share build_symmetry=symmetry"
        ),
        "suites.worldinworld.metrics": (
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
        "suites.unseen.metrics": "advanced as_left looked_away progress",
        "suites.targetbench.metrics": (
            "path_ade=ade path_approach_consistency=approach_consistency path_arc_aligned_ade=arc_aligned_ade "
            "path_end_heading_error=end_heading path_fde=fde path_length_ratio=length_ratio path_miss_rate=miss_rate "
            "path_overall=overall path_reach_half_metre=reach_half_metre path_reach_metre=reach_metre "
            "path_scale_free_ade=scale_free_ade path_soft_endpoint=soft_endpoint "
            "path_time_aligned_ade=time_aligned_ade"
        ),
    },
)
