"""Captions: one plain sentence about what a camera sees, as a person would describe the frame.

A caption is made of the exact labels of one view. It names nothing that this view does not show, and no motion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from worldgauge.core.english import listed
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View, World, caption_of

MOST_WORDS = 25
SHARE = 0.01
"""Share of the pixels that a thing covers at least, so that the sentence names it."""
_WIDTH = 80
"""Pixels across the view that a caption is made of."""
_T = TypeVar("_T")


@runtime_checkable
class Captioned(Protocol):
    """A world that describes its views."""

    def caption(self, view: View, pose: FloatArray) -> str:
        """The sentence for a view from `pose` (4, 4)."""


def caption_at(world: World, pose: FloatArray, camera: Camera | Panorama) -> str | None:
    """Describe what a camera sees from a pose, else the world as a whole. None for worlds without words."""
    if not isinstance(world, Captioned):
        return caption_of(world.facts)
    small = camera.resized(_WIDTH, max(2, round(_WIDTH * camera.height / camera.width)))
    return world.caption(world.view(pose, small), pose)


def captions_along(world: World, poses: Iterable[FloatArray], camera: Camera | Panorama) -> list[tuple[int, str]]:
    """Captions of the frames of a walk: pairs of a frame and the sentence that holds from there on."""
    found: list[tuple[int, str]] = []
    for frame, pose in enumerate(poses):
        text = caption_at(world, pose, camera)
        if text is not None and (not found or text != found[-1][1]):
            found.append((frame, text))
    return found


def seen(view: View, noun_of: Callable[[int], _T | None]) -> list[tuple[_T, int]]:
    """What the objects in a view are, the largest first, with their numbers. `noun_of` takes instance numbers."""
    numbers, pixels = np.unique(view.instance, return_counts=True)
    area: dict[_T, int] = {}
    count: dict[_T, int] = {}
    for number, here in zip(numbers.tolist(), pixels.tolist(), strict=True):
        noun = noun_of(number) if number and here >= SHARE / 4 * view.instance.size else None
        if noun is not None:
            area[noun] = area.get(noun, 0) + here
            count[noun] = count.get(noun, 0) + 1
    kept = [noun for noun, here in area.items() if here >= SHARE * view.instance.size]
    return [(noun, count[noun]) for noun in sorted(kept, key=lambda noun: -area[noun])]


def sentence(scene: str, things: Sequence[str] = (), tail: str = "") -> str:
    """Join a scene, the first two of its things and a tail; things that make it too long are left out."""
    for number in range(min(2, len(things)), -1, -1):
        text = f"{scene}{' with ' if number else ''}{listed(things[:number])}{tail}."
        if len(text.split()) <= MOST_WORDS:
            break
    return text[0].upper() + text[1:]
