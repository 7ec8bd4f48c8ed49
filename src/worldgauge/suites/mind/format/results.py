"""Result files in the released scorer's schema, so that readers of its files can read ours (specification, section 5).

Example:
    write_results(path, Results((ClipResult(...), MirrorResult(...)), video_max_time=None))
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from worldgauge.core.io import write_file
from worldgauge.engine.suite.contract import Failure, Score
from worldgauge.models.videos import NO_VIDEO

INFINITE = "infinite_frames"
"""Key of ours: how many frames are equal to the bit. Their PSNR is null in the list, and `avg_psnr` is null."""

MISSING = "missing"
"""Key of ours: tasks that have no video, of which the released scorer says nothing."""
ODD = "frame count is not an even number!"
"""The released error of a path out and back that cannot be split in two halves."""

_PAIR = ("mse", "psnr", "ssim", "lpips")


class PairScores(NamedTuple):
    """Scores of n pairs of frames, one per pair; None for a metric that was not asked for.

    Attributes:
        psnr: Decibels, may be infinite.
    """

    mse: Sequence[float] | None = None
    psnr: Sequence[float] | None = None
    ssim: Sequence[float] | None = None
    lpips: Sequence[float] | None = None


@dataclass(frozen=True)
class ActionStats:
    """Relative pose errors of a group of steps; NaN for an empty group.

    Attributes:
        rpe_trans_mean: Metres of the ground truth.
        rpe_trans_median: Metres of the ground truth.
        rpe_rot_mean_deg: Degrees.
        rpe_rot_median_deg: Degrees.
    """

    count: int
    rpe_trans_mean: float
    rpe_trans_median: float
    rpe_rot_mean_deg: float
    rpe_rot_median_deg: float


@dataclass(frozen=True)
class ClipResult:
    """A clip of the memory or of the action-space test. What is None or empty is left out of the file.

    Attributes:
        action: Statistics by group, such as `__overall__` or `act:forward`.
    """

    path: str
    perspective: str
    test_type: str
    error: str | None = None
    mark_time: int | None = None
    total_time: int | None = None
    sample_frames: int | None = None
    lcm: PairScores | None = None
    imaging: Sequence[float] | None = None
    aesthetic: Sequence[float] | None = None
    dino_mse: Sequence[float] | None = None
    action: Mapping[str, ActionStats] | None = None


@dataclass(frozen=True)
class MirrorVideo:
    """One video of a start image.

    Attributes:
        gsc: Scores of the pairs, half as many as frames.
    """

    video_name: str
    error: str | None = None
    mark_time: int | None = None
    sample_frames: int | None = None
    gsc: PairScores | None = None


@dataclass(frozen=True)
class MirrorResult:
    """The videos of one start image.

    Attributes:
        path: Name of the folder of its videos.
    """

    path: str
    perspective: str
    test_type: str = "mirror_test"
    error: str | None = None
    videos: Sequence[str] = ()
    video_results: Sequence[MirrorVideo] = ()


@dataclass(frozen=True)
class Results:
    """A result file.

    Attributes:
        data: One entry per clip or start image.
        video_max_time: Most frames that were used; None for all.
        missing: Ids of tasks that have no video, so that nothing is left out in silence. The released file has no such
            list.
    """

    data: tuple[ClipResult | MirrorResult, ...]
    video_max_time: int | None = None
    missing: tuple[str, ...] = ()


def write_results(path: Path, results: Results) -> Path:
    """Write a result file in one step. Averages are plain means over the values that are given.

    It is strict JSON: infinite PSNR is null with their number next to it; other values that are not finite are null.
    """
    content: dict[str, Any] = {
        "data": [_entry(item) for item in results.data],
        "video_max_time": results.video_max_time,
    }
    if results.missing:
        content[MISSING] = list(results.missing)
    write_file(Path(path), json.dumps(content, indent=1, allow_nan=False) + "\n")
    return Path(path)


def _entry(item: ClipResult | MirrorResult) -> dict[str, Any]:
    head = {"path": item.path, "perspective": item.perspective, "test_type": item.test_type, "error": item.error}
    if isinstance(item, MirrorResult):
        return {**head, "videos": list(item.videos), "video_results": [_video(video) for video in item.video_results]}
    entry: dict[str, Any] = {
        **head,
        "mark_time": item.mark_time,
        "total_time": item.total_time,
        "sample_frames": item.sample_frames,
    }
    if item.lcm is not None:
        entry["lcm"] = _pairs(item.lcm)
    quality = {**_listed("imaging", item.imaging), **_listed("aesthetic", item.aesthetic)}
    if quality:
        entry["visual_quality"] = quality
    if item.dino_mse is not None:
        entry["dino"] = _listed("dino_mse", item.dino_mse)
    if item.action is not None:
        entry["action"] = {
            group: {name: _plain(value) for name, value in asdict(stats).items()}
            for group, stats in item.action.items()
        }
    return entry


def _video(video: MirrorVideo) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "video_name": video.video_name,
        "error": video.error,
        "mark_time": video.mark_time,
        "sample_frames": video.sample_frames,
    }
    return entry if video.gsc is None else {**entry, "gsc": _pairs(video.gsc)}


def _pairs(scores: PairScores) -> dict[str, Any]:
    entry: dict[str, Any] = {"length": max((len(values) for values in scores if values is not None), default=0)}
    for name, values in zip(_PAIR, scores, strict=True):
        entry |= _listed(name, values)
    infinite = sum(value == math.inf for value in scores.psnr or ())
    return {**entry, INFINITE: infinite} if infinite else entry


def _listed(name: str, values: Sequence[float] | None) -> dict[str, Any]:
    """A list of values and their mean; nothing for None."""
    if values is None:
        return {}
    plain = [float(value) for value in values]
    mean = sum(plain) / len(plain) if plain else math.nan
    return {name: [_plain(value) for value in plain], f"avg_{name}": _plain(mean)}


def _plain(value: float) -> float | None:
    """A number of JSON: null for one that is not finite."""
    return value if math.isfinite(value) else None


ByMetric = Mapping[str, Score]
_STATS = ("count", "trans_mean", "trans_median", "rot_deg_mean", "rot_deg_median")


def results_of(scores: Sequence[Score], failed: Sequence[Failure], horizon: int | None = None) -> Results:
    """Results as the released scorer writes them: an entry per folder of the submission.

    An entry holds the scores of its clip, or its error. Videos of one start image are one entry. What has no video has
    no entry there; it is `missing`.
    """
    found: dict[str, dict[str, Score]] = {}
    for score in scores:
        found.setdefault(score.task, {})[score.metric] = score
    missing = [failure.task for failure in failed if NO_VIDEO in failure.error]
    errors = {failure.task: failure.error for failure in failed if NO_VIDEO not in failure.error}
    clips: list[ClipResult | MirrorResult] = []
    for folder, tasks in groupby(sorted({*found, *errors}, key=_order), key=_folder):
        if "/mirror_test/" in folder:
            clips.append(_mirror(folder, list(tasks), found, errors))
        else:
            clips += [_clip(task, found.get(task, {}), errors.get(task)) for task in tasks]
    return Results(tuple(clips), horizon, tuple(sorted(missing, key=_order)))


def _folder(task: str) -> str:
    """The folder that an entry is of: a clip's own, or that of all videos of a start image."""
    return task.rpartition("/")[0] if "/mirror_test/" in task else task


def _order(task: str) -> tuple[str, int, str]:
    number = task.rpartition("-")[2]
    return _folder(task), int(number) if number.isdigit() else 0, task


def _clip(task: str, scores: ByMetric, error: str | None) -> ClipResult:
    perspective, test, name = task.split("/", 2)
    prefix = "lcm/" if test == "mem_test" else "asg/"
    own = {metric.removeprefix(prefix): score for metric, score in scores.items()}
    facts = own["mse_720p"].facts if "mse_720p" in own else {}
    return ClipResult(
        path=name,
        perspective=perspective,
        test_type=test,
        error=error,
        mark_time=facts.get("mark_time"),
        total_time=facts.get("total_time"),
        sample_frames=facts.get("frames"),
        lcm=_pair_scores(own, "{}_720p", ("mse", "psnr", "ssim", "lpips")),
        imaging=_frame_values(own, "imaging"),
        aesthetic=_frame_values(own, "aesthetic"),
        dino_mse=_frame_values(own, "dino_mse"),
        action=_action(own["rpe_trans"].facts) if "rpe_trans" in own else None,
    )


def _mirror(
    folder: str, tasks: Sequence[str], found: Mapping[str, ByMetric], errors: Mapping[str, str]
) -> MirrorResult:
    perspective, _, name = folder.split("/", 2)
    videos = [f"{task.rpartition('/')[2]}.mp4" for task in tasks]
    results = [
        _mirror_video(video, found.get(task, {}), errors.get(task)) for video, task in zip(videos, tasks, strict=True)
    ]
    return MirrorResult(name, perspective, videos=videos, video_results=results)


def _mirror_video(video: str, gsc: ByMetric, error: str | None) -> MirrorVideo:
    pairs = _pair_scores(gsc, "gsc_{}", ("mse", "psnr", "ssim", "lpips"))
    score = gsc.get("gsc_mse")
    frames = None if score is None else score.facts.get("frames")
    if frames is None:
        return MirrorVideo(video, error, gsc=pairs)
    if pairs is None and error is None:
        assert score is not None
        error = ODD if frames % 2 else score.reason
    return MirrorVideo(video, error, frames // 2, frames, pairs)


def _pair_scores(scores: ByMetric, pattern: str, fields: Iterable[str]) -> PairScores | None:
    given = {field: _frame_values(scores, pattern.format(field)) for field in fields}
    return PairScores(**given) if any(values is not None for values in given.values()) else None


def _frame_values(scores: ByMetric, name: str) -> list[float] | None:
    """One value a frame; None of a score that is missing."""
    score = scores.get(name)
    if score is None or score.value is None:
        return None
    return [float(value) for _, value in score.series if value is not None]


def _action(facts: Mapping[str, Any]) -> dict[str, ActionStats] | None:
    if not facts.get("overall"):
        return None
    actions = {f"act:{label}": stats for label, stats in facts["actions"].items()}
    groups = facts.get("released_groups", facts["groups"])
    named = {"__overall__": facts["overall"], **groups, **actions}
    return {name: ActionStats(*(stats[field] for field in _STATS)) for name, stats in named.items()}
