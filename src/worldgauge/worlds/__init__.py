"""Worlds: places that can be viewed from any pose. To act in one, use the gymnasium environment in its folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.io import Stamp, stamp_of
from worldgauge.core.registry import Registry

_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class View:
    """What a camera sees, pixel by pixel.

    Attributes:
        rgb: (H, W, 3) uint8.
        depth: (H, W) float32 metres, along the optical axis (perspective) or the ray (panorama); infinite in the sky.
        category: (H, W) uint16, index into the world's categories.
        instance: (H, W) uint16, number of the object; 0 for terrain and sky.
        position: (H, W, 3) float32 metres, hit points in the world frame, NaN in the sky. None unless requested.

    Examples:
        >>> room = worlds.get("room")(walk="curve", seed=1)
        >>> down = pose_from_yaw_pitch([6, 8, 1.6], yaw=0, pitch=-np.pi / 2)
        >>> view = room.view(down, Camera.from_horizontal_fov(8, 6, 90))
        >>> view.rgb.shape, {room.categories[number] for number in view.category.flat}
        ((6, 8, 3), {'floor'})
    """

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    category: NDArray[np.uint16]
    instance: NDArray[np.uint16]
    position: NDArray[np.float32] | None = None


class World(Protocol):
    """A place that can be viewed from any pose.

    Attributes:
        categories: Names of the categories, in the order of `View.category`.

    Examples:
        >>> room: World = worlds.get("room")(walk="curve", seed=1)
        >>> down = pose_from_yaw_pitch([6, 8, 1.6], yaw=0, pitch=-np.pi / 2)
        >>> view = room.view(down, Camera.from_horizontal_fov(8, 6, 90))
        >>> round(float(view.depth.max()), 3)  # the height of the camera
        1.6
    """

    categories: tuple[str, ...]

    @property
    def facts(self) -> WorldFacts:
        """Everything that is needed to build the world again."""

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """Render what a camera sees.

        Args:
            pose: (4, 4) float64 camera-to-world, metres.
            camera: Size and kind of the image.
            position: Whether hit points are computed as well.

        Returns:
            The view.
        """


worlds: Registry[Callable[..., World]] = Registry("world", __name__, group="worldgauge.worlds", in_suites="worlds")
"""Facts of an entry: example, arguments of a small one; panorama, False where it cannot be seen all around; files,
names of arguments that are files, in a data set relative to its folder; walkable, True for one that has a floor
(`walking.floor.Walkable`) and, but for places of the real game, takes a `seed`."""


def open_world(facts: WorldFacts) -> World:
    """Build the world that `facts` describe. The last sixteen worlds are cached.

    Args:
        facts: Facts of the world.

    Returns:
        The world.

    Raises:
        WorldError: When the world rejects its arguments, or its cells differ from those that the facts describe.

    Examples:
        >>> from worldgauge.data import WorldFacts
        >>> room = open_world(WorldFacts("room", {"walk": "curve", "seed": 1}))
        >>> room.categories
        ('void', 'floor', 'ceiling', 'wall', 'box')
    """
    try:
        # Facts read from JSON hold lists and objects, which the cache cannot take.
        params = {name: _frozen(value) for name, value in facts.params.items()}
        # A digest names the content. Without one, files may have changed since the world was built.
        files = sorted(files_of(facts.name) & params.keys()) if facts.digest is None else ()
        stamps = tuple(stamp_of(Path(str(params[name]))) for name in files)
        return _open(facts.name, tuple(sorted(params.items())), facts.digest, stamps)
    except (TypeError, ValueError, OverflowError) as error:
        given = ", ".join(f"{name}={value!r}" for name, value in facts.params.items())[:200]
        why = " ".join(str(error).split())
        raise WorldError(
            f"world '{facts.name}' cannot be built with {given or 'no arguments'}: {why}; collect the data again"
        ) from error


def caption_of(facts: WorldFacts | None) -> str | None:
    """Describe a world as a whole in a sentence. `captions.caption_at` describes one view.

    A world describes itself by a class method `describe`, which takes its arguments and need not build it. Its method
    `caption` describes a view.

    Args:
        facts: Facts of the world; None where it is not known.

    Returns:
        The sentence; the same one for the same arguments. None for worlds that have none.

    Raises:
        WorldError: When the world rejects its arguments.

    Examples:
        >>> from worldgauge.data import WorldFacts
        >>> caption_of(WorldFacts("voxel", {"kind": "desert", "seed": 1}))
        'A blocky village in a sandy desert, seen at eye height.'
    """
    describe = getattr(worlds.get(facts.name), "describe", None) if facts and facts.name in worlds else None
    if facts is None or describe is None:
        return None
    try:
        return str(describe(**facts.params))
    except (TypeError, ValueError, OverflowError) as error:
        raise WorldError(f"world '{facts.name}' cannot be described: {error}; collect the data again") from error


def files_of(name: str) -> frozenset[str]:
    """Names of the arguments of world `name` that are files. Empty for a world that is not registered."""
    return frozenset(worlds.entry(name).facts.get("files", ()) if name in worlds else ())


def located(facts: WorldFacts, folder: Path) -> WorldFacts:
    """Complete the file paths in the facts of a world."""
    params = dict(facts.params)
    for name in files_of(facts.name) & params.keys():
        relative = params[name]
        if not isinstance(relative, str) or not all(_PART.fullmatch(part) for part in relative.split("/")):
            raise DataError(f"{folder}: world '{facts.name}' has {name} {relative!r}: give a path within the folder")
        params[name] = str(folder.absolute() / relative)
    return WorldFacts(facts.name, params, facts.digest)


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted((name, _frozen(one)) for name, one in value.items()))
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value


# Models are asked about the same places one after the other, and a village takes as long to build as a hundred views.
@lru_cache(maxsize=16)
def _open(
    name: str, params: tuple[tuple[str, Any], ...], digest: str | None, stamps: tuple[Stamp | None, ...]
) -> World:
    world = worlds.get(name)(**dict(params))
    if digest is not None and world.facts.digest != digest:
        explain = getattr(world, "difference_from", None)
        if explain is not None:
            why = f"differs from the one that the data were made in: {explain(digest)}"
        elif files := files_of(name) & dict(params).keys():
            why = f"differs from the one that the data were made in: its {' or '.join(files)} has changed since;"
        else:
            why = (
                "no longer has the cells it had when the data were made: it was made by another version of worldgauge;"
            )
        raise WorldError(f"world '{name}' {dict(params)} {why} collect the data again")
    return world
