"""Result files in the released scorer's schema, so that readers of its files can read ours.

Example:
    write_results(path, results_of(scores, failed))
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

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
_STATS = {
    "count": "count",
    "rpe_trans_mean": "trans_mean",
    "rpe_trans_median": "trans_median",
    "rpe_rot_mean_deg": "rot_deg_mean",
    "rpe_rot_median_deg": "rot_deg_median",
}
"""Key of the file -> field of `StepErrorStats`."""

ByMetric = Mapping[str, Score]


def write_results(path: Path, results: Mapping[str, Any]) -> Path:
    """Write what `results_of` gives in one step, as strict JSON."""
    write_file(Path(path), json.dumps(results, indent=1, allow_nan=False) + "\n")
    return Path(path)


def results_of(scores: Sequence[Score], failed: Sequence[Failure], horizon: int | None = None) -> dict[str, Any]:
    """Content of a result file as the released scorer writes it: an entry per folder of the submission, plain means.

    Infinite PSNR is null with its count next to it; other values that are not finite are null.
    """
    by_task: dict[str, dict[str, Score]] = {}
    for score in scores:
        by_task.setdefault(score.task, {})[score.metric] = score
    missing = [failure.task for failure in failed if NO_VIDEO in failure.error]
    errors = {failure.task: failure.error for failure in failed if NO_VIDEO not in failure.error}
    data: list[dict[str, Any]] = []
    for folder, tasks in groupby(sorted({*by_task, *errors}, key=_order), key=_folder):
        if "/mirror_test/" in folder:
            videos = {f"{task.rpartition('/')[2]}.mp4": task for task in tasks}
            results = [_video(name, by_task.get(task, {}), errors.get(task)) for name, task in videos.items()]
            data.append({**_head(folder, None), "videos": list(videos), "video_results": results})
        else:
            data += [_clip(task, by_task.get(task, {}), errors.get(task)) for task in tasks]
    content = {"data": data, "video_max_time": horizon}
    return {**content, MISSING: sorted(missing, key=_order)} if missing else content


def _folder(task: str) -> str:
    """The folder that an entry is of: a clip's own, or that of all videos of a start image."""
    return task.rpartition("/")[0] if "/mirror_test/" in task else task


def _order(task: str) -> tuple[str, int, str]:
    number = task.rpartition("-")[2]
    return _folder(task), int(number) if number.isdigit() else 0, task


def _head(folder: str, error: str | None) -> dict[str, Any]:
    perspective, test, name = folder.split("/", 2)
    return {"path": name, "perspective": perspective, "test_type": test, "error": error}


def _clip(task: str, scores: ByMetric, error: str | None) -> dict[str, Any]:
    """A clip of the memory or of the action-space test; what is missing is left out."""
    entry = _head(task, error)
    prefix = "lcm/" if entry["test_type"] == "mem_test" else "asg/"
    own = {metric.removeprefix(prefix): score for metric, score in scores.items()}
    facts = own["mse_720p"].facts if "mse_720p" in own else {}
    entry |= {"mark_time": facts.get("mark_time"), "total_time": facts.get("total_time")}
    entry["sample_frames"] = facts.get("frames")
    if pairs := _pairs(own, "{}_720p"):
        entry["lcm"] = pairs
    if quality := {**_listed(own, "imaging", "imaging"), **_listed(own, "aesthetic", "aesthetic")}:
        entry["visual_quality"] = quality
    if dino := _listed(own, "dino_mse", "dino_mse"):
        entry["dino"] = dino
    judged = own["rpe_trans"].facts if "rpe_trans" in own else {}
    if judged.get("overall"):
        actions = {f"act:{label}": stats for label, stats in judged["actions"].items()}
        groups = {"__overall__": judged["overall"], **judged.get("released_groups", judged["groups"]), **actions}
        entry["action"] = {
            group: {key: _plain(stats[field]) for key, field in _STATS.items()} for group, stats in groups.items()
        }
    return entry


def _video(name: str, gsc: ByMetric, error: str | None) -> dict[str, Any]:
    """One video of a start image."""
    pairs, score = _pairs(gsc, "gsc_{}"), gsc.get("gsc_mse")
    frames = None if score is None else score.facts.get("frames")
    if score is not None and frames is not None and pairs is None and error is None:
        error = ODD if frames % 2 else score.reason
    mark_time = None if frames is None else frames // 2
    entry = {"video_name": name, "error": error, "mark_time": mark_time, "sample_frames": frames}
    return entry if pairs is None else {**entry, "gsc": pairs}


def _pairs(scores: ByMetric, pattern: str) -> dict[str, Any] | None:
    """Scores of pairs of frames; None where there are none."""
    lists: dict[str, Any] = {}
    for name in _PAIR:
        lists |= _listed(scores, pattern.format(name), name)
    if not lists:
        return None
    entry = {"length": max(len(values) for values in lists.values() if isinstance(values, list)), **lists}
    psnr = scores.get(pattern.format("psnr"))
    infinite = 0 if psnr is None else sum(value == math.inf for _, value in psnr.series)
    return {**entry, INFINITE: infinite} if infinite else entry


def _listed(scores: ByMetric, metric: str, name: str) -> dict[str, Any]:
    """One value a frame and their mean; nothing for a score that is missing."""
    score = scores.get(metric)
    if score is None or score.value is None:
        return {}
    values = [float(value) for _, value in score.series if value is not None]
    mean = sum(values) / len(values) if values else math.nan
    return {name: [_plain(value) for value in values], f"avg_{name}": _plain(mean)}


def _plain(value: float) -> float | None:
    """A number of JSON: null for one that is not finite."""
    return value if math.isfinite(value) else None
