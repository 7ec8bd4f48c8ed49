"""Post-training data in the layout of the release: a folder per waypoint, an image per step.

On disk: <scene>/traj-k/waypoint-i/step-j_type-rgb.png, step-j_type-depth.png (16 bits, 20 m / 65535 per level, 0
beyond) and metadata.json with action and coordinates of every step (specification, 10.4). Steps are counted from 0 in
each waypoint, which is a clip by itself: the release turns the agent between two of them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.episode import MAX_COORDINATE_M, number_of, short, whole_of
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import png, write_png
from worldgauge.core.io import atomic_folder, check_inside, check_name, list_folder
from worldgauge.core.video import Clip
from worldgauge.suites.closedloop.format.files import MAX_IMAGE_BYTES, image_size, read_json
from worldgauge.suites.closedloop.format.rows import UPRIGHT, our_point
from worldgauge.suites.closedloop.training_data.trajectory import (
    MAX_STEPS,
    Depth,
    FrameSource,
    Trajectory,
    TrajectoryFacts,
    TrajectoryStep,
    checked_view,
    picture,
    step_row,
)
from worldgauge.worlds.walking.primitives import NAV_STEPS, Primitive

DEPTH_RANGE_M = 20.0
"""Depth of the highest level; what is farther is 0."""
LEVELS = 2**16 - 1
METADATA = "metadata.json"


def write_released(root: Path, walk: Trajectory) -> Path:
    """Write a walk as <root>/<scene>/traj-<number>/ with a folder per waypoint, atomically.

    Args:
        root: Folder of scenes.
        walk: With depth.

    Returns:
        The folder of the walk.

    Raises:
        DataError: If the walk has no depth, the scene's name is not allowed for a folder, or a file cannot be written.
    """
    if walk.depth is None:
        raise DataError(
            f"{walk.scene}/{walk.number}: has no depth, which the released layout needs; collect it with depth"
        )
    folder = Path(root) / check_name(walk.scene, "coverage") / f"traj-{walk.number}"
    counts: dict[int, int] = {}
    metadata: dict[int, dict[str, Any]] = {}
    with atomic_folder(folder) as part:
        for k, (step, frame) in enumerate(zip(walk.steps, walk.frames, strict=True)):
            rgb, depth = checked_view((frame, walk.depth(k)), None, k)
            j = counts[step.goal_index] = counts.get(step.goal_index, -1) + 1
            place = part / f"waypoint-{step.goal_index}"
            place.mkdir(exist_ok=True)
            write_png(place / f"step-{j}_type-rgb.png", rgb)
            _write_depth(place / f"step-{j}_type-depth.png", depth)
            row = step_row(k, step, walk.scene, walk.facts.camera_height_m)
            metadata.setdefault(step.goal_index, {})[f"step-{j}"] = {
                key: row[key] for key in ("action", "coord", "habitat_camera_coord")
            }
        for goal, rows in metadata.items():
            points = [row["coord"][0] for row in (rows["step-0"], rows[f"step-{len(rows) - 1}"])]
            content = {
                f"scene-{walk.scene}": {
                    f"traj-{walk.number}": {"trajPoints": points, "steps": {f"waypoint-{goal}": rows}}
                }
            }
            text = json.dumps(content, indent=4, allow_nan=False)
            (part / f"waypoint-{goal}" / METADATA).write_text(text + "\n", encoding="utf-8")
    return folder


def read_released(root: Path) -> Iterator[Trajectory]:
    """Read the clips of a folder of scenes, one per waypoint, by scene, trajectory and waypoint; images on demand.

    `goal_index` is the waypoint and `number` the trajectory. The layout does not record collisions: False. The floor is
    assumed a camera height below the camera.

    Raises:
        DataError: Names the file and the field.
    """
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; give one with <scene>/traj-0/waypoint-0 in it")
    for scene in _named(root, r"[^.].*"):
        for traj in _named(check_inside(scene, root), r"traj-(\d{1,6})"):
            for waypoint in _named(check_inside(traj, root), r"waypoint-(\d{1,6})"):
                yield _clip(check_inside(waypoint, root), scene.name, _number(traj), _number(waypoint))


def _clip(folder: Path, scene: str, number: int, goal: int) -> Trajectory:
    path = folder / METADATA
    rows = _rows(read_json(path), number, goal, path)
    steps, height = [], 0.0
    for j in range(len(rows)):
        where = f"{path}: step-{j}"
        try:
            row = rows[f"step-{j}"]
            position, rotation = _coordinate(row, "habitat_camera_coord")
            pose = our_camera(position, rotation)
            height = position[1] - _coordinate(row, "coord")[0][1]
            steps.append(TrajectoryStep(Primitive(whole_of(row, "action", 1, 4)), pose, False, goal))
        except (KeyError, TypeError, ValueError, ShapeError) as error:
            why = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
            raise DataError(f"{where}: {why}; download the folder again") from error
    size = image_size(folder / "step-0_type-rgb.png")
    source = FrameSource(lambda j: picture(folder / f"step-{j}_type-rgb.png", size))
    frames = Clip(source, range(len(steps)), NAV_STEPS.fps, size)
    with_depth = (folder / "step-0_type-depth.png").exists()
    return Trajectory(
        scene=scene,
        number=number,
        steps=tuple(steps),
        frames=frames,
        depth=(lambda j: _read_depth(folder / f"step-{j}_type-depth.png", size)) if with_depth else None,
        facts=TrajectoryFacts(world=None, licence="unknown", camera_height_m=round(height, 6)),
    )


def _rows(content: Any, number: int, goal: int, path: Path) -> Mapping[str, Any]:
    """Return the steps of this waypoint; files as the release writes them also hold those before it."""
    try:
        (scene,) = content.values()
        rows = scene[f"traj-{number}"]["steps"][f"waypoint-{goal}"]
        if not isinstance(rows, dict) or not 0 < len(rows) <= MAX_STEPS:
            raise ValueError(f"field 'waypoint-{goal}' is {short(rows)}")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{path}: holds no steps of traj-{number}, waypoint-{goal} ({why})") from error
    return rows


def _coordinate(row: Mapping[str, Any], key: str) -> tuple[list[float], list[float]]:
    """Return position and rotation w, x, y, z of a field."""
    pair = row[key]
    if not isinstance(pair, list) or [isinstance(one, list) and len(one) for one in pair] != [3, 4]:
        raise ValueError(f"field '{key}' is {short(pair)}; give [[x, y, z], [w, x, y, z]]")
    position, rotation = (
        [number_of({key: one}, key, -MAX_COORDINATE_M, MAX_COORDINATE_M) for one in part] for part in pair
    )
    return position, rotation


def _write_depth(path: Path, depth: Depth) -> None:
    near = np.isfinite(depth) & (depth >= 0) & (depth <= DEPTH_RANGE_M)
    levels = np.where(near, np.rint(np.where(near, depth, 0) / DEPTH_RANGE_M * LEVELS), 0).astype(np.uint16)
    path.write_bytes(png(levels))


def _read_depth(path: Path, size: tuple[int, int]) -> Depth:
    """Return metres (H, W), infinite where the level is 0."""
    import cv2

    if image_size(path) != size:
        raise DataError(f"{path}: has another size than the image; download the folder again")
    with open(path, "rb") as file:
        data = file.read(MAX_IMAGE_BYTES)
    try:
        levels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error:
        levels = None
    if levels is None or levels.dtype != np.uint16 or levels.ndim != 2:
        raise DataError(f"{path}: is not a 16-bit image of one channel; download the folder again")
    metres = levels.astype(np.float32) * np.float32(DEPTH_RANGE_M / LEVELS)
    return np.where(levels > 0, metres, np.float32(np.inf)).astype(np.float32)


def _named(folder: Path, pattern: str) -> list[Path]:
    return [path for path in list_folder(folder) if path.is_dir() and re.fullmatch(pattern, path.name)]


def _number(folder: Path) -> int:
    return int(folder.name.rsplit("-", 1)[1])


def our_camera(position: ArrayLike, rotation_wxyz: ArrayLike) -> FloatArray:
    """Camera-to-world pose (4, 4) of a camera of the simulator, which looks along its -z.

    It is the inverse of `habitat_camera`.
    """
    w, x, y, z = np.asarray(rotation_wxyz, np.float64)
    length = math.sqrt(w * w + x * x + y * y + z * z)
    if not abs(length - 1) <= UPRIGHT:
        raise ShapeError(f"a rotation has the length {length:.6g}; give a quaternion w, x, y, z of length 1")
    axis, w = our_point([x, y, z]) / length, w / length
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    body = np.eye(3) + 2 * w * cross + 2 * cross @ cross
    pose = np.eye(4)
    # Of a body x ahead, y left, z up, a camera has x right, y down, z ahead.
    pose[:3, :3] = np.stack([-body[:, 1], -body[:, 2], body[:, 0]], -1)
    pose[:3, 3] = our_point(position)
    return pose
