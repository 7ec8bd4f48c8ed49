"""images.txt: a COLMAP list of images, which MIND's test clips use for their ground-truth camera path.

Its poses map the world to the camera, in the axes of an OpenCV camera. The world frame depends on the writer: published
lists are estimates with their own scale, lists written here are in our world frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray, invert, quaternion_of_pose
from worldgauge.core.io import natural_key, read_text, write_file

MAX_BYTES = 64 * 2**20
_FIELDS = 10
_EXPECTED = "expected lines 'id qw qx qy qz tx ty tz camera name'"


class ImageList(NamedTuple):
    """Names of n images in natural order (frame_2 before frame_10), and their camera-to-world poses (n, 4, 4)."""

    names: tuple[str, ...]
    poses: FloatArray


def read_images_txt(source: Path | str, *, reader: Literal["ours", "released"] = "ours") -> ImageList:
    """Read a list of images. "ours" skips the lines that are no poses; "released" skips the line after each pose.
    "released" thus loses every other pose of a file without lines of 2-D points. It also cuts names at the first blank,
    sorts them as text, and takes a quaternion of zeros for no rotation."""
    is_text = isinstance(source, str) and "\n" in source
    text = str(source) if is_text else read_text(Path(source), MAX_BYTES)
    where = "the list" if is_text else str(source)
    rows = list(_rows(text.splitlines(), where, skip=reader == "released"))
    rows.sort(key=lambda row: row[0] if reader == "released" else image_order(row[0]))
    if not rows:
        raise DataError(f"{where}: holds no pose; {_EXPECTED}")
    if twice := [a[0] for a, b in pairwise(rows) if a[0] == b[0] and reader == "ours"]:
        raise DataError(f"{where}: image '{twice[0]}' is listed twice; keep one pose of each image")
    values = np.array([numbers for _, numbers in rows], np.float64)
    world_to_camera = np.zeros((len(rows), 4, 4))
    world_to_camera[:, :3, :3] = _rotations(values[:, :4])
    world_to_camera[:, :3, 3] = values[:, 4:]
    world_to_camera[:, 3, 3] = 1.0
    return ImageList(tuple(name for name, _ in rows), invert(world_to_camera))


def write_images_txt(path: Path, poses: FloatArray, names: Sequence[str] | None = None) -> Path:
    """Write camera-to-world poses (n, 4, 4) as a list of images, with an empty line of 2-D points after each."""
    names = names if names is not None else [f"images/frame_{i:06d}.jpg" for i in range(len(poses))]
    lines = ["# Image list with two lines of data per image:", f"# Number of images: {len(poses)}"]
    turned = invert(poses)
    values = np.concatenate([_quaternions(turned[:, :3, :3]), turned[:, :3, 3]], axis=1).tolist()
    for number, (name, row) in enumerate(zip(names, values, strict=True), 1):
        lines += [f"{number} {' '.join(map(repr, row))} 1 {name}", ""]
    write_file(path, "\n".join(lines) + "\n")
    return path


def image_order(name: str) -> tuple[Any, ...]:
    """Sort key of image names: in natural order, folder by folder."""
    return tuple(map(natural_key, name.split("/"))), name


def _rows(lines: Iterable[str], where: str, skip: bool) -> Iterator[tuple[str, list[float]]]:
    """Name and seven numbers of each line that is a pose."""
    walk = iter(enumerate(lines, 1))
    for number, line in walk:
        if line.lstrip().startswith("#"):
            continue
        fields = line.split(maxsplit=_FIELDS - 1)
        if len(fields) < _FIELDS or (not skip and _is_of_points(line)):
            continue
        try:
            values = [float(field) for field in fields[1:8]]
            ids = [] if skip else [float(fields[0]), float(fields[8])]
        except ValueError as error:
            raise DataError(f"{where}: line {number} is no pose ({error}); write or download it again") from error
        if not all(map(math.isfinite, values)) or not (skip or any(values[:4])):
            raise DataError(f"{where}: line {number}: not finite, or a quaternion of zeros; write or download it again")
        if not all(one.is_integer() for one in ids):
            raise DataError(f"{where}: line {number}: id and camera must be whole numbers; {_EXPECTED}")
        yield fields[-1].split()[0] if skip else fields[-1].strip(), values
        if skip:
            next(walk, None)


def _is_of_points(line: str) -> bool:
    """Whether a line holds 2-D points, three numbers each, rather than a pose, whose name may be a number too."""
    fields = line.split()
    if len(fields) % 3:
        return False
    try:
        return all(math.isfinite(float(field)) for field in fields)
    except ValueError:
        return False


def _rotations(quaternions: FloatArray) -> FloatArray:
    """Rotations (n, 3, 3) of quaternions (n, 4) in the order w, x, y, z, of any length; zeros are no rotation."""
    lengths = np.linalg.norm(quaternions, axis=1, keepdims=True)
    w, x, y, z = np.where(lengths > 0, quaternions / np.where(lengths > 0, lengths, 1), [1.0, 0.0, 0.0, 0.0]).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def _quaternions(rotations: FloatArray) -> FloatArray:
    """w, x, y, z (n, 4), w not negative, of rotations (n, 3, 3)."""
    right, up, ahead = -rotations[..., 1], -rotations[..., 2], rotations[..., 0]
    quaternions = np.roll(quaternion_of_pose(np.stack([right, up, ahead], -1)), 1, axis=-1)
    unsigned: FloatArray = quaternions * np.where(quaternions[..., :1] < 0, -1.0, 1.0)
    return unsigned
