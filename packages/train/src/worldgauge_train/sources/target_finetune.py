"""Clips for fine-tuning a world model on walks: which frames, with which words (specification target, section 6)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import write_file
from worldgauge.suites.target.format.scenario import Scenario, open_video
from worldgauge_train.training.adapt.diffsynth import augmented_frames, plain_frames

Recipe = Literal["plain", "augmented"]
"""plain: one clip of a walk, spread over all of it. augmented: four of every second frame, each begun a frame later."""


@dataclass(frozen=True)
class Manifest:
    """What was written.

    Attributes:
        path: The file.
        clips: Number of clips.
        left_out: Reason by scenario that is left out.
    """

    path: Path
    clips: int
    left_out: dict[str, str]


def write_manifest(scenarios: Sequence[Scenario], path: Path, recipe: Recipe = "plain") -> Manifest:
    """Write one JSON line per clip: id, scenario, video, frames, fps and caption.

    A scenario with a fault, or whose video is unreadable or too short, is left out and listed.

    Args:
        scenarios: Scenarios to take clips from.
        path: File to write; videos are relative to its folder.
        recipe: Which frames are taken.

    Raises:
        UsageError: For another recipe.
        DataError: When the file cannot be written.
    """
    if recipe not in get_args(Recipe):
        raise UsageError(f"unknown recipe '{recipe}'; choose one of {', '.join(get_args(Recipe))}")
    path = Path(path)
    lines: list[str] = []
    left_out: dict[str, str] = {}
    for scenario in scenarios:
        try:
            if why := scenario.fault or scenario.unasked:
                raise DataError(why)
            clip = open_video(scenario)
            lists = [plain_frames(len(clip))] if recipe == "plain" else augmented_frames(len(clip))
        except (DataError, UsageError) as error:
            left_out[scenario.id] = str(error)
            continue
        for number, frames in enumerate(lists):
            row = {
                "id": f"{scenario.id}/{recipe}_{number}",
                "scenario": scenario.id,
                "video": _relative(scenario.video, path.parent),
                "frames": frames,
                "fps": clip.fps,
                "caption": scenario.target_text,
            }
            lines.append(json.dumps(row, allow_nan=False) + "\n")
    write_file(path, "".join(lines))
    return Manifest(path, len(lines), left_out)


def _relative(video: Path | None, folder: Path) -> str:
    assert video is not None  # it has been opened
    return Path(os.path.relpath(video.resolve(), folder.resolve())).as_posix()
