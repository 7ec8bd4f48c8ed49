"""Scores of one subject as a result file of the released scorer, key for key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from worldgauge.engine.suite.contract import Failure, Score
from worldgauge.suites.mind.format.results import (
    ActionStats,
    ClipResult,
    MirrorResult,
    MirrorVideo,
    PairScores,
    Results,
)

ByMetric = Mapping[str, Score]
_STATS = ("count", "trans_mean", "trans_median", "rot_deg_mean", "rot_deg_median")


def results_of(scores: Sequence[Score], failed: Sequence[Failure], horizon: int | None = None) -> Results:
    """Every clip with its scores, or its error; videos of one start image are one entry, as released.

    horizon: frames that were asked for at most, None for all.
    """
    found: dict[str, dict[str, Score]] = {}
    for score in scores:
        found.setdefault(score.task, {})[score.metric] = score
    errors = {failure.task: failure.error for failure in failed}
    clips: list[ClipResult | MirrorResult] = []
    for folder, tasks in groupby(sorted({*found, *errors}, key=_order), key=_folder):
        if "/mirror_test/" in folder:
            clips.append(_mirror(folder, list(tasks), found, errors))
        else:
            clips += [_clip(task, found.get(task, {}), errors.get(task)) for task in tasks]
    return Results(tuple(clips), horizon)


def _folder(task: str) -> str:
    """The folder that an entry is of: a clip's own, or that of all videos of a start image."""
    return task.rpartition("/")[0] if "/mirror_test/" in task else task


def _order(task: str) -> tuple[str, int, str]:
    number = task.rpartition("-")[2]
    return _folder(task), int(number) if number.isdigit() else 0, task


def _clip(task: str, scores: ByMetric, error: str | None) -> ClipResult:
    perspective, test, _ = task.split("/", 2)
    prefix = "lcm/" if test == "mem_test" else "asg/"
    own = {name.removeprefix(prefix): score for name, score in scores.items()}
    facts = own["mse_720p"].facts if "mse_720p" in own else {}
    return ClipResult(
        path=task,
        perspective=perspective,
        test_type=test,
        error=error,
        mark_time=facts.get("mark_time"),
        total_time=facts.get("total_time"),
        sample_frames=facts.get("frames_scored"),
        lcm=_pairs(own, "{}_720p", ("mse", "psnr", "ssim", "lpips")),
        imaging=_values(own, "imaging"),
        aesthetic=_values(own, "aesthetic"),
        dino_mse=_values(own, "dino_mse"),
        action=_action(own["rpe_trans"].facts) if "rpe_trans" in own else None,
    )


def _mirror(
    folder: str, tasks: Sequence[str], found: Mapping[str, ByMetric], errors: Mapping[str, str]
) -> MirrorResult:
    names = [f"{task.rpartition('/')[2]}.mp4" for task in tasks]
    videos = []
    for name, task in zip(names, tasks, strict=True):
        gsc = found.get(task, {})
        frames = gsc["gsc_mse"].facts.get("frames") if "gsc_mse" in gsc else None
        pairs = _pairs(gsc, "gsc_{}", ("mse", "psnr", "ssim", "lpips"))
        half = None if frames is None else frames // 2
        videos.append(MirrorVideo(name, errors.get(task), half, frames, pairs))
    return MirrorResult(folder, folder.partition("/")[0], videos=names, video_results=videos)


def _pairs(scores: ByMetric, pattern: str, fields: Iterable[str]) -> PairScores | None:
    given = {field: _values(scores, pattern.format(field)) for field in fields}
    return PairScores(**given) if any(values is not None for values in given.values()) else None


def _values(scores: ByMetric, name: str) -> list[float] | None:
    """One value a frame; None of a score that is missing."""
    score = scores.get(name)
    if score is None or score.value is None:
        return None
    return [float(value) for _, value in score.series if value is not None]


def _action(facts: Mapping[str, Any]) -> dict[str, ActionStats] | None:
    if not facts.get("overall"):
        return None
    actions = {f"act:{label}": stats for label, stats in facts["actions"].items()}
    named = {"__overall__": facts["overall"], **facts["groups"], **actions}
    return {name: ActionStats(*(stats[field] for field in _STATS)) for name, stats in named.items()}
