"""Writing post-training data: a folder a trajectory, whole or not at all, and the index over all of them."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np

from worldgauge import __version__
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.geometry import yaw_pitch_from_pose
from worldgauge.core.image import Image, write_png
from worldgauge.core.io import atomic_folder, check_name
from worldgauge.core.video import Writer
from worldgauge.suites.closedloop.format.frame import habitat_camera, habitat_stance
from worldgauge.suites.closedloop.training_data.coverage.record import Depth, Facts, Step, View, checked_view
from worldgauge.worlds.walking.primitives import NAV_STEPS, Primitive
from worldgauge.worlds.walking.stance import Stance

FORMAT, VERSION = "worldgauge-coverage", 1
VIDEO, IMAGES, DEPTH, STEPS, MANIFEST = "frames.mp4", "frames", "depth.npz", "steps.jsonl", "manifest.json"
FARTHEST_MM = 2**16 - 1
"""Depth is whole millimetres in 16 bits; 0 is what is farther, or nothing."""
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def write_trajectory(
    root: Path,
    scene: str,
    number: int,
    frames: Iterable[View],
    steps: Iterable[Step],
    facts: Facts,
    *,
    images: Literal["video", "png"] = "video",
) -> Path:
    """Write a walk as <root>/<scene>/<number>/; returns the folder. One that is there is replaced.

    frames: panoramas with depth, taken one at a time; steps: as many rows, read after the last frame, so a list that
    grows with the frames will do. images: a lossless video, or a PNG a frame. The same walk gives the same bytes, and
    trajectories may be written by several processes at once; `write_index` comes after them.
    Raises DataError for a scene that cannot be a folder, another number of rows than frames, none at all, and when a
    file cannot be written; ShapeError for other shapes.
    """
    folder = Path(root) / check_name(scene, "coverage") / trajectory_name(number)
    with atomic_folder(folder) as part:
        size, count = _write_views(part, frames, images)
        rows = list(steps)
        if len(rows) != count or not count:
            raise DataError(f"{folder}: {count} frames for {len(rows)} steps; give one frame a step, and one at least")
        lines = [json.dumps(step_row(k, row, scene, facts.camera_height_m)) for k, row in enumerate(rows)]
        (part / STEPS).write_text("\n".join(lines) + "\n", encoding="utf-8")
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "scene": scene,
            "number": number,
            "frames": count,
            "width": size[0],
            "height": size[1],
            "projection": "equirectangular",
            "fov_deg": [360, 180],
            "images": images,
            "world": None if facts.world is None else asdict(facts.world),
            "licence": facts.licence,
            "camera_height_m": facts.camera_height_m,
            "seed": facts.seed,
            "more": dict(facts.more),
            "worldgauge": __version__,
            "sha256": {path.name: digest_of(path) for path in sorted(part.iterdir())},
        }
        text = json.dumps(manifest, indent=1, allow_nan=False)
        (part / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return folder


def trajectory_name(number: int) -> str:
    """Name of the folder of trajectory `number` of a scene."""
    if not 0 <= number < 10**6:
        raise DataError(f"trajectory {number} of a scene; number them from 0 to 999999")
    return f"{number:06d}"


def step_row(k: int, step: Step, scene: str, camera_height_m: float) -> dict[str, Any]:
    """One line of steps.jsonl, JSON values.

    coord and habitat_camera_coord: [position, rotation w x y z] of agent and camera in the simulator's frame, as
    published; pose: the camera's, twelve numbers of camera-to-world in ours. Raises ShapeError for no rigid pose.
    """
    pose = np.asarray(step.pose, np.float64)
    if pose.shape != (4, 4) or not np.isfinite(pose).all():
        raise ShapeError(f"step {k} needs a finite camera-to-world pose (4, 4), got {pose.shape}")
    x, y, z = pose[:3, 3].tolist()
    stance = Stance(x, y, float(yaw_pitch_from_pose(pose)[0]))
    return {
        "k": k,
        "action": int(Primitive(step.action)),
        "pose": pose[:3].ravel().tolist(),
        "coord": habitat_stance(stance, z - camera_height_m),
        "habitat_camera_coord": habitat_camera(pose),
        "collided": bool(step.collided),
        "scene": scene,
        "goal_index": int(step.goal_index),
    }


def _write_views(part: Path, frames: Iterable[View], images: str) -> tuple[tuple[int, int], int]:
    """Write pictures and depth; returns (width, height) and how many there were."""
    count, size = 0, None
    if images == "png":
        (part / IMAGES).mkdir()
    with zipfile.ZipFile(part / DEPTH, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:

        def kept() -> Iterator[Image]:
            nonlocal count, size
            for view in frames:
                rgb, depth = checked_view(view, size, count)
                size = (rgb.shape[1], rgb.shape[0])
                with packed.open(_member(count), "w") as file:
                    np.lib.format.write_array(file, millimetres(depth), allow_pickle=False)
                yield rgb
                count += 1

        if images == "png":
            for rgb in kept():
                write_png(part / IMAGES / f"{count:06d}.png", rgb)
        else:
            video: Writer | None = None
            for rgb in kept():
                video = video or Writer(part / VIDEO, fps=NAV_STEPS.fps, kind="lossless")
                video.write(rgb)
            if video is not None:
                video.close()
    return size or (0, 0), count


def millimetres(depth: Depth) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """Depth (H, W) in metres as whole millimetres, uint16; 0 where it is infinite, missing or beyond 65.5 m."""
    scaled = np.rint(np.nan_to_num(np.asarray(depth, np.float64), nan=0.0, posinf=0.0, neginf=0.0) * 1000)
    return np.where((scaled >= 1) & (scaled <= FARTHEST_MM), scaled, 0).astype(np.uint16)


def _member(k: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(f"{k:06d}.npy", _LONG_AGO)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def digest_of(path: Path) -> str:
    """SHA-256 of a file, or of the files of a folder by name."""
    if path.is_file():
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    whole = hashlib.sha256()
    for inner in sorted(path.iterdir()):
        whole.update(f"{inner.name}\0{digest_of(inner)}\n".encode())
    return whole.hexdigest()
