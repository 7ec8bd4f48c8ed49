"""Reading result files of MIND as readers of the release do: theirs and ours."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worldgauge.suites.mind.format.results import (
    INFINITE,
    MISSING,
    ActionStats,
    ClipResult,
    MirrorResult,
    MirrorVideo,
    PairScores,
    Results,
)

_ERRORS = ("rpe_trans_mean", "rpe_trans_median", "rpe_rot_mean_deg", "rpe_rot_median_deg")


def read_results(path: Path) -> Results:
    """Absent keys stay None. `Infinity`, and null with a count, are both read as an infinite PSNR."""
    content = json.loads(path.read_text())
    return Results(
        tuple(_read_entry(item) for item in content["data"]), content["video_max_time"], tuple(content.get(MISSING, ()))
    )


def _read_entry(item: Mapping[str, Any]) -> ClipResult | MirrorResult:
    head: dict[str, Any] = {name: item[name] for name in ("path", "perspective", "test_type", "error")}
    if item["test_type"] == "mirror_test":
        videos = [MirrorVideo(**{**video, "gsc": _read_pairs(video.get("gsc"))}) for video in item["video_results"]]
        return MirrorResult(**head, videos=item["videos"], video_results=videos)
    quality, action = item.get("visual_quality", {}), item.get("action")
    return ClipResult(
        **head,
        **{name: item.get(name) for name in ("mark_time", "total_time", "sample_frames")},
        lcm=_read_pairs(item.get("lcm")),
        imaging=_values(quality.get("imaging")),
        aesthetic=_values(quality.get("aesthetic")),
        dino_mse=_values(item.get("dino", {}).get("dino_mse")),
        action=None if action is None else {group: _stats(stats) for group, stats in action.items()},
    )


def _read_pairs(entry: Mapping[str, Any] | None) -> PairScores | None:
    if entry is None:
        return None
    missing = math.inf if entry.get(INFINITE) else math.nan
    lists = {name: _values(entry.get(name)) for name in ("mse", "ssim", "lpips")}
    return PairScores(psnr=_values(entry.get("psnr"), missing), **lists)


def _values(values: Any, missing: float = math.nan) -> list[float] | None:
    return None if values is None else [missing if value is None else value for value in values]


def _stats(entry: Mapping[str, Any]) -> ActionStats:
    return ActionStats(entry["count"], *(_values(entry[name] for name in _ERRORS) or ()))
