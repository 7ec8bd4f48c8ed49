"""What a trajectory of post-training data is made of, whichever of the two layouts it lies in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.core.video import Clip
from worldgauge.worlds.walking.primitives import Primitive, Steps
from worldgauge.worlds.walking.stance import EYE_HEIGHT_M

Depth = NDArray[np.float32]
View = tuple[Image, Depth]
"""A panorama (H, W, 3) uint8 RGB of 360 by 180 degrees, and its depth (H, W) in metres along the ray, infinite where
nothing is hit."""


class Step(NamedTuple):
    """One row: frame k is what is seen after the action of row k.

    action: of row 0 STOP, which is null on the wire. pose: (4, 4) camera-to-world. collided: the action met something.
    goal_index: of the waypoint that the walker was going to.
    """

    action: Primitive
    pose: FloatArray
    collided: bool
    goal_index: int


@dataclass(frozen=True)
class Facts:
    """How a trajectory was made.

    licence: of its scene, "none" where there is no restriction. more: plain JSON values.
    """

    world: WorldFacts | None
    licence: str = "none"
    camera_height_m: float = EYE_HEIGHT_M
    seed: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Trajectory:
    """One walk. frames: T panoramas, read when asked for; steps: T rows; depth: frame number -> metres, or None."""

    scene: str
    number: int
    steps: tuple[Step, ...]
    frames: Clip
    depth: Callable[[int], Depth] | None
    facts: Facts

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def poses(self) -> FloatArray:
        """(T, 4, 4) camera-to-world."""
        return np.stack([step.pose for step in self.steps])

    def part(self, start: int, n: int) -> Part:
        """A training clip of n consecutive frames. Raises ShapeError when the walk has not as many."""
        if not (start >= 0 and n >= 1 and start + n <= len(self)):
            raise ShapeError(
                f"{self.scene}/{self.number}: frames {start} to {start + n - 1} of {len(self)} are asked for"
            )
        rows = self.steps[start : start + n]
        # What led to the first frame is no part of the clip.
        actions = (Primitive.STOP, *(row.action for row in rows[1:]))
        return Part(self.frames[start : start + n], actions, np.stack([row.pose for row in rows]))


class Part(NamedTuple):
    """A training clip: n frames, n actions of which the first is null, poses (n, 4, 4)."""

    frames: Clip
    actions: Steps
    poses: FloatArray


class Source:
    """Frames that are read one by one, as a source of a `Clip`."""

    def __init__(self, read: Callable[[int], Image]) -> None:
        self._read = read

    def frame(self, index: int) -> Image:
        """One frame."""
        return self._read(index)

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        """Frames in the order of `indices`."""
        return (self._read(index) for index in indices)


def checked_view(view: View, size: tuple[int, int] | None, k: int) -> View:
    """The view, when it is a panorama with depth, of the size (width, height) of the others. Raises ShapeError."""
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
