"""Checks of what every suite needs. Nothing heavy is imported before its check runs."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from importlib import import_module
from importlib.metadata import metadata, requires, version
from pathlib import Path

from worldgauge.core.errors import UsageError, WorldgaugeError

PACKAGE = "worldgauge"
MODULE_OF = {"opencv-python-headless": "cv2"}
"""Import names that differ from the distribution's."""
LEAST_FREE_GB = 1.0
"""Of a folder that a small data set and its runs go to."""


def check_python() -> str:
    """Check the version of Python."""
    least = metadata(PACKAGE)["Requires-Python"]
    if sys.version_info[:2] < tuple(int(part) for part in re.findall(r"\d+", least)):
        raise UsageError(f"{platform.python_version()} at {sys.executable}: {PACKAGE} needs {least}")
    return f"{platform.python_version()} at {sys.executable}"


def check_packages() -> str:
    """Import every dependency of the plain install."""
    names = [re.split(r"[^\w.-]", one)[0] for one in requires(PACKAGE) or () if "extra ==" not in one]
    for name in names:
        import_module(MODULE_OF.get(name, name))
    return ", ".join(f"{name} {version(name)}" for name in names)


def check_kernels() -> str:
    """Compile a kernel with numba, and keep it in numba's cache."""
    from worldgauge.tools.doctor.kernel import doubled

    if doubled(21) != 42:
        raise WorldgaugeError("a compiled kernel gives wrong numbers")
    doubled.recompile()  # it was read from the cache, where it lies there already
    folder = Path(str(doubled.stats.cache_path))
    # numba goes on to another folder without a word.
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named and not folder.is_relative_to(Path(named).absolute()):
        raise UsageError(f"numba cannot write to NUMBA_CACHE_DIR, {named}: name a folder that can be written to")
    return f"numba compiles the inner loops, and keeps them in {folder}"


def check_videos() -> str:
    """Write and read a few frames in every way in which data sets are stored."""
    import numpy as np

    from worldgauge.core.video import Clip, Kind, Writer

    frames = np.zeros((4, 32, 48, 3), np.uint8)
    frames[:, :, 24:] = 200
    kinds: tuple[tuple[Kind, str], ...] = (
        ("mjpg", "avi"),
        ("lossless", "mp4"),
        ("viewable", "mp4"),
        ("archive", "mp4"),
    )
    with tempfile.TemporaryDirectory() as folder:
        for kind, suffix in kinds:
            path = Path(folder) / f"{kind}.{suffix}"
            with Writer(path, fps=10, kind=kind) as writer:
                writer.write(frames)
            read = np.stack(list(Clip.open(path)))
            if read.shape != frames.shape or np.abs(read.astype(int) - frames).mean() > 8:
                raise WorldgaugeError(f"a video of the kind {kind} does not come back as it was written")
    return "H.264 (libx264, libx264rgb) and Motion JPEG are written and read"


def check_disk() -> str:
    """Check that this folder can be written to, and has room."""
    return check_folder(Path.cwd(), "work where data sets and runs have room, or name another folder with --out")


def check_folder(folder: Path, advice: str) -> str:
    """Check that a folder, or where it would be made, can be written to and has room.

    Args:
        folder: The folder.
        advice: What to do where it has not.

    Returns:
        How much is free, in words.

    Raises:
        UsageError: It cannot be written to, or the disk is almost full.
    """
    there = next(path for path in (folder, *folder.parents) if path.is_dir())
    try:
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        raise UsageError(f"{folder} cannot be written to ({error.strerror}): {advice}") from error
    free_gb = shutil.disk_usage(there).free / 1e9
    if free_gb < LEAST_FREE_GB:
        raise UsageError(f"{free_gb:.1f} GB free in {folder}: {advice}")
    return f"{free_gb:.0f} GB free in {folder}"
