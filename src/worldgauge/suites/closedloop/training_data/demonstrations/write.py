"""Writing demonstrations: a folder each, whole or not at all."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge import __version__
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.image import Image
from worldgauge.core.io import atomic_folder, check_name
from worldgauge.core.video import Writer
from worldgauge.suites.closedloop.training_data.coverage.record import Depth, checked_view
from worldgauge.suites.closedloop.training_data.coverage.write import digest_of, millimetres
from worldgauge.suites.closedloop.training_data.demonstrations.record import MAX_NUMBER, DemoFacts, DemoStep

FORMAT, VERSION = "worldgauge-demonstrations", 1
VIDEO, DEPTH, STEPS, MANIFEST = "frames.mp4", "depth.npz", "steps.jsonl", "manifest.json"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)

Shot = tuple[Image, Depth | None]
"""A picture (H, W, 3) uint8 RGB of the front camera, and its depth (H, W) in metres along the optical axis."""


def write(root: Path, facts: DemoFacts, frames: Iterable[Shot], steps: Iterable[DemoStep]) -> Path:
    """Write a demonstration as <root>/<task>/<number>/; returns the folder. One that is there is replaced.

    frames: taken one at a time, all with depth or none of them. steps: as many, read after the last frame, so a list
    that grows with the frames will do. The same demonstration gives the same bytes, and several processes may write
    at once; `write_index` comes after them. Raises DataError where numbers of frames, steps and things do not fit
    together, and when a file cannot be written; ShapeError for other shapes, and values that are not finite.
    """
    folder = Path(root) / folder_name(facts.task, facts.number)
    with atomic_folder(folder) as part:
        size = (facts.camera.width, facts.camera.height)
        count, has_depth = _write_frames(part, frames, size, facts.fps)
        rows = list(steps)
        if len(rows) != count or not count:
            raise DataError(f"{folder}: {count} frames for {len(rows)} steps; give one frame a step, and one at least")
        lines = [json.dumps(_row(k, row, facts), allow_nan=False) for k, row in enumerate(rows)]
        (part / STEPS).write_text("\n".join(lines) + "\n", encoding="utf-8")
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "task": facts.task,
            "number": facts.number,
            "variation": facts.variation,
            "seed": facts.seed,
            "frames": count,
            "width": size[0],
            "height": size[1],
            "fps": facts.fps,
            "seconds": facts.seconds,
            "depth": has_depth,
            "world": asdict(facts.world),
            "instruction": facts.instruction,
            "wordings": list(facts.wordings),
            "things": [asdict(thing) for thing in facts.things],
            "camera": asdict(facts.camera),
            "camera_pose": np.asarray(facts.camera_pose, np.float64)[:3].ravel().tolist(),
            "sub_goals": np.asarray(facts.sub_goals, np.float64).tolist(),
            "reached": list(facts.reached),
            "discarded": list(facts.discarded),
            "worldgauge": __version__,
            "sha256": {path.name: digest_of(path) for path in sorted(part.iterdir())},
        }
        text = json.dumps(manifest, indent=1, allow_nan=False)
        (part / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return folder


def folder_name(task: str, number: int) -> Path:
    """Where demonstration `number` of a task lies. Raises DataError for names and numbers that cannot be a folder."""
    if not 0 <= number < MAX_NUMBER:
        raise DataError(f"demonstration {number} of '{task}'; number them from 0 to {MAX_NUMBER - 1}")
    return Path(check_name(task, "demonstrations")) / f"{number:06d}"


def _row(k: int, step: DemoStep, facts: DemoFacts) -> dict[str, Any]:
    action, pose = np.asarray(step.action, np.float64), np.asarray(step.pose, np.float64)
    things = np.asarray(step.things, np.float64)
    if action.shape != (8,) or pose.shape != (8,) or things.shape != (len(facts.things), 3):
        raise ShapeError(f"step {k} needs two poses (8,) and things ({len(facts.things)}, 3), got {things.shape}")
    if not (np.isfinite(action).all() and np.isfinite(pose).all() and np.isfinite(things).all()):
        raise ShapeError(f"step {k} holds values that are not finite")
    return {
        "k": k,
        "action": action.tolist(),
        "pose": pose.tolist(),
        "sub_goal": int(step.sub_goal),
        "progress": float(step.progress),
        "things": things.tolist(),
    }


def _write_frames(part: Path, frames: Iterable[Shot], size: tuple[int, int], fps: float) -> tuple[int, bool]:
    """Write pictures, and depth where there is one; returns how many, and whether they have depth."""
    count, packed = 0, None
    with ExitStack() as stack:
        video: Writer | None = None
        for rgb, depth in frames:
            if count == 0 and depth is not None:
                packed = stack.enter_context(zipfile.ZipFile(part / DEPTH, "w"))
            if (depth is None) is not (packed is None):
                raise DataError(f"frame {count}: give depth with all frames, or with none")
            checked_view((rgb, np.zeros(np.shape(rgb)[:2], np.float32) if depth is None else depth), size, count)
            if video is None:
                video = stack.enter_context(Writer(part / VIDEO, fps=fps, kind="lossless"))
            video.write(rgb)
            if packed is not None and depth is not None:
                member = zipfile.ZipInfo(f"{count:06d}.npy", _LONG_AGO)
                member.compress_type = zipfile.ZIP_DEFLATED
                with packed.open(member, "w") as file:
                    np.lib.format.write_array(file, millimetres(depth), allow_pickle=False)
            count += 1
    return count, packed is not None
