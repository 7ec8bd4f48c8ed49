"""Files of recordings to train on: depth, steps and a manifest with digests, written whole or not at all."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import short
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.image import Image
from worldgauge.core.io import check_inside, digest_of, digest_of_file, list_folder, read_npy
from worldgauge.suites.worldinworld.format.files import read_json
from worldgauge.version import __version__

VIDEO, DEPTH, STEPS, MANIFEST = "frames.mp4", "depth.npz", "steps.jsonl", "manifest.json"

Depth = NDArray[np.float32]


View = tuple[Image, Depth]


"""A panorama (H, W, 3) uint8 RGB of 360 by 180 degrees, and its depth (H, W) in metres along the ray, infinite where
nothing is hit."""


_NPY_HEADER = 2**16


"""Most bytes of the header of an array in a file."""


FARTHEST_MM = 2**16 - 1


"""Depth is whole millimetres in 16 bits; 0 is what is farther, or nothing."""


_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def checked_view(view: View, size: tuple[int, int] | None, k: int) -> View:
    """Check that a view is a panorama with depth, of the `size` (width, height) of the others; None for the first."""
    rgb, depth = np.asarray(view[0]), np.asarray(view[1])
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or depth.shape != rgb.shape[:2] or not rgb.size:
        raise ShapeError(
            f"frame {k} needs a panorama (H, W, 3) uint8 and depth (H, W), "
            f"got {rgb.shape} {rgb.dtype} and {depth.shape}"
        )
    height, width = depth.shape
    if size is not None and size != (width, height):
        raise ShapeError(f"frame {k} is {width}x{height}, the first was {size[0]}x{size[1]}")
    return rgb, depth


def millimetres(depth: Depth) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """Return depth (H, W) in metres as whole millimetres, uint16; 0 where it is infinite, missing or beyond 65.5 m."""
    scaled = np.rint(np.nan_to_num(np.asarray(depth, np.float64), nan=0.0, posinf=0.0, neginf=0.0) * 1000)
    return np.where((scaled >= 1) & (scaled <= FARTHEST_MM), scaled, 0).astype(np.uint16)


def digest_of_entry(path: Path) -> str:
    """Return the SHA-256 of a file, or of the files of a folder by name."""
    if path.is_symlink() and not path.is_file():
        raise DataError(f"{path}: is a link to no file; put what it stands for in its place")
    try:
        if path.is_file():
            return digest_of_file(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    return digest_of("".join(f"{inner.name}\0{digest_of_entry(inner)}\n" for inner in sorted(path.iterdir())))


def record_folders(root: Path) -> Iterator[Path]:
    """Yield the folders <scene or task>/<number> below `root` that hold a manifest, in order."""
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder")
    for scene in (path for path in list_folder(root) if path.is_dir()):
        for folder in list_folder(check_inside(scene, root)):
            if folder.is_dir() and (folder / MANIFEST).exists():
                yield check_inside(folder, root)


@contextmanager
def refused(where: object, advice: str = "collect it again") -> Iterator[None]:
    """Turn what is wrong with a field into a `DataError` of one line that names the file."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{where}: {why}; {advice}") from error


def check_format(content: Mapping[str, Any], name: str, version: int) -> None:
    """Check that a file has this format and version."""
    if content["format"] != name or content["version"] != version:
        raise ValueError(f"format {short(content['format'])}, version {short(content['version'])} is not ours")


def check_digests(folder: Path) -> None:
    """Raise DataError if a file of a record was changed since it was written."""
    digests = read_json(folder / MANIFEST).get("sha256")
    for path in sorted(folder.iterdir()):
        if path.name != MANIFEST and (not isinstance(digests, dict) or digests.get(path.name) != digest_of_entry(path)):
            raise DataError(f"{path}: was changed since it was written; collect it again")


def read_lines(path: Path, most_bytes: int, advice: str = "collect it again") -> list[bytes]:
    """Read the lines of a file of steps."""
    try:
        if path.stat().st_size > most_bytes:
            raise DataError(f"{path}: passes the limit of {most_bytes} bytes; {advice}")
        return path.read_bytes().splitlines()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def write_record(part: Path, rows: Iterable[Mapping[str, Any]], manifest: Mapping[str, Any]) -> None:
    """Write the steps of a record, and then its manifest with the digests of all files."""
    lines = [json.dumps(row, allow_nan=False) for row in rows]
    (part / STEPS).write_text("\n".join(lines) + "\n", encoding="utf-8")
    digests = {path.name: digest_of_entry(path) for path in sorted(part.iterdir())}
    text = json.dumps({**manifest, "worldgauge": __version__, "sha256": digests}, indent=1, allow_nan=False)
    (part / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_depth(folder: Path, k: int, size: tuple[int, int]) -> Depth:
    """Depth of one frame of `size` (width, height): (H, W) metres, infinite if nothing was hit."""
    path = folder / DEPTH
    try:
        with zipfile.ZipFile(path) as packed:
            values = read_npy(packed, f"{k:06d}.npy", 2 * size[0] * size[1] + _NPY_HEADER)
        if values.shape != (size[1], size[0]) or values.dtype != np.uint16:
            raise ValueError(f"frame {k} is {short(values.shape)} {values.dtype}, not {(size[1], size[0])} uint16")
    except KeyError as error:
        raise DataError(f"{path}: frame {k} is missing; collect it again") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{path}: cannot be read ({error}); collect it again") from error
    return np.where(values > 0, values / np.float32(1000), np.float32(np.inf)).astype(np.float32)


def put_depth(packed: zipfile.ZipFile, k: int, depth: Depth) -> None:
    """Add the depth (H, W) of a frame to a zip."""
    member = zipfile.ZipInfo(f"{k:06d}.npy", _LONG_AGO)
    member.compress_type = zipfile.ZIP_DEFLATED
    with packed.open(member, "w") as file:
        np.lib.format.write_array(file, millimetres(depth), allow_pickle=False)


def split_hash(hashes: Iterable[str]) -> str:
    """Return SHA-256 over scene hashes in any order: what a trained model states as its training scenes."""
    return digest_of("\n".join(sorted(set(hashes))))
