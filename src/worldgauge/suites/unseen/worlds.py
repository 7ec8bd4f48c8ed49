"""The world `going-on`: a home in which one thing follows a law, a cart, the level of a tank, or a lamp."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import WorldError
from worldgauge.core.io import digest_of
from worldgauge.worlds import worlds
from worldgauge.worlds.indoor import Home

if TYPE_CHECKING:
    from worldgauge.core.geometry import FloatArray
    from worldgauge.worlds import View
    from worldgauge.worlds.indoor.boxes import Box, Boxes, Paint
    from worldgauge.worlds.indoor.camera import BoxScene

ProcessKind = Literal["cart", "level", "lamp"]
PROCESSES: tuple[ProcessKind, ...] = get_args(ProcessKind)
LAMP = ("red", "yellow", "green", "blue")
"""Colours of the lamp, in turn."""
_RGB = {"red": (206, 40, 36), "yellow": (246, 206, 60), "green": (44, 158, 72), "blue": (46, 96, 214)}
_RAIL_M, _CART_M = 2.4, 0.4
_TANK_M, _BASE_M = 1.2, 0.08


class Span(NamedTuple):
    """Least and greatest state of a process."""

    low: float
    high: float


STATES = {
    "cart": Span((_CART_M - _RAIL_M) / 2 + 0.06, (_RAIL_M - _CART_M) / 2 - 0.06),
    "level": Span(_BASE_M + 0.08, _TANK_M - 0.02),
    "lamp": Span(0.0, float(len(LAMP))),
}
"""Metres along the rail from its middle, metres of the level above the floor, number of the colour."""
FOOTPRINTS = {"cart": (_RAIL_M, 0.5), "level": (0.84, 0.54), "lamp": (0.4, 0.4)}
"""Metres across and towards the camera."""


@worlds.register(
    "going-on", example={"seed": 1, "process": "cart", "place": (2.0, 2.0), "side": 0, "start": -0.5, "rate": 0.1}
)
class GoingOn(Home):
    """A furnished home with one thing that follows a law.
    `state_at` is the law, and `time_s` the moment that `view` shows: cameras may move, the thing stands still."""

    def __init__(
        self,
        seed: int,
        process: ProcessKind,
        place: Sequence[float],
        side: int,
        start: float,
        rate: float,
        time_s: float = 0.0,
    ) -> None:
        """`place`: (x, y) of its middle, metres. `side`: where it is seen from, in quarter turns from +x.
        `start`: state at time 0. `rate`: change of the state per second; a cart with a positive one goes right."""
        super().__init__(seed)
        if process not in PROCESSES:
            raise WorldError(f"a process is one of {', '.join(PROCESSES)}, got {process!r}")
        if len(place) != 2 or not np.isfinite([*place, start, rate, time_s]).all():
            raise WorldError(f"a process needs finite numbers, got {place}, {start}, {rate} and {time_s}")
        self.process, self.place, self.side = process, (float(place[0]), float(place[1])), int(side) % 4
        self.start, self.rate, self.time_s = float(start), float(rate), float(time_s)
        self.categories = (*self.categories, "rail", "cart", "tank", "water")
        self.colour = tuple(_RGB)[seed % len(_RGB)]

    @property
    def facts(self) -> WorldFacts:
        """The home, the process, and the moment."""
        names = ("seed", "process", "place", "side", "start", "rate", "time_s")
        params = {name: getattr(self, name) for name in names}
        return WorldFacts("going-on", {**params, "place": list(self.place)}, self._digest)

    @classmethod
    def describe(cls, seed: int, process: ProcessKind = "cart", rate: float = 0.0, **_: Any) -> str:
        """Describe the home and what goes on in it; nothing tells how far."""
        return f"{Home.describe(seed)} {_happening(process, rate)}"

    def caption(self, view: View, pose: FloatArray) -> str:
        """Describe a view, and what goes on."""
        return f"{super().caption(view, pose)} {_happening(self.process, self.rate)}"

    def state_at(self, time_s: float) -> float:
        """The law: the state at a time. A cart stops at the end of its rail, and a level at that of its tank."""
        state, span = self.start + self.rate * time_s, STATES[self.process]
        if self.process == "lamp":
            return float(int(np.floor(state + 1e-9)) % len(LAMP))
        return min(max(state, span.low), span.high)

    def showing(self, state: float | None) -> BoxScene:
        """What the camera renders at a state; without the thing for None: an empty rail or tank, a dark lamp."""
        return _scene(self, state)

    @cached_property
    def scene(self) -> BoxScene:
        """The boxes at `time_s`."""
        return self.showing(self.state_at(self.time_s))

    @cached_property
    def _digest(self) -> str:
        law = [self.process, self.place, self.side, self.start, self.rate]
        boxes = self._boxes(self.state_at(0.0))
        return digest_of(json.dumps([self.plan.boxes.digest(), boxes.digest(), law]))

    def _boxes(self, state: float | None) -> Boxes:
        """The boxes of the thing and of what it stands on or in."""
        from worldgauge.worlds.indoor.boxes import CHROME, DARK, Boxes, Paint

        dark, metal = Paint("plain", DARK), Paint("metal", CHROME)
        lit = Paint("lit", _RGB[LAMP[int(state)]] if self.process == "lamp" and state is not None else (64, 64, 68))
        if self.process == "cart":
            end = _RAIL_M / 2
            boxes = [
                self._box((-end, -0.2, 0.0), (end, 0.2, 0.03), "rail", dark),
                *(self._box((-end, v - 0.02, 0.03), (end, v + 0.02, 0.06), "rail", metal) for v in (-0.12, 0.12)),
                *(self._box((u, -0.2, 0.03), (u + 0.06, 0.2, 0.16), "rail", dark) for u in (-end, end - 0.06)),
            ]
            if state is not None:
                half = _CART_M / 2
                body, cab = Paint("plain", _RGB[self.colour]), Paint("plain", (240, 238, 230))
                boxes.append(self._box((state - half, -0.17, 0.06), (state + half, 0.17, 0.32), "cart", body))
                boxes.append(self._box((state - half / 2, -0.12, 0.32), (state + half / 2, 0.12, 0.44), "cart", cab))
        elif self.process == "level":
            grey = Paint("plain", (206, 208, 210))
            boxes = [
                self._box((-0.42, -0.27, 0.0), (0.42, 0.27, _BASE_M), "tank", dark),
                self._box((-0.42, -0.27, _BASE_M), (0.42, -0.23, _TANK_M), "tank", grey),
                *(self._box((u, -0.23, _BASE_M), (u + 0.04, 0.27, _TANK_M), "tank", dark) for u in (-0.42, 0.38)),
            ]
            if state is not None:
                water = Paint("plain", _RGB[self.colour])
                boxes.append(self._box((-0.38, -0.23, _BASE_M), (0.38, 0.25, state), "water", water))
        else:
            boxes = [
                self._box((-0.18, -0.18, 0.0), (0.18, 0.18, 0.04), "lamp", dark),
                self._box((-0.03, -0.03, 0.04), (0.03, 0.03, 0.8), "lamp", metal),
                self._box((-0.2, -0.2, 0.8), (0.2, 0.2, 1.2), "lamp", lit),
            ]
        return Boxes.of(boxes, self.seed + 1)

    def _box(self, low: Sequence[float], high: Sequence[float], category: str, paint: Paint) -> Box:
        """A box from its corners right of the middle, towards the camera and up, in metres."""
        from worldgauge.worlds.indoor.boxes import Box

        near = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)][self.side])
        right = np.array([-near[1], near[0]])
        corners = np.sort([[*(self.place + u * right + v * near), z] for u, v, z in (low, high)], axis=0)
        a, b = (tuple(corner) for corner in corners.tolist())
        return Box(a, b, self.categories.index(category), len(self.plan.objects) + 1, paint)


def _happening(process: ProcessKind, rate: float) -> str:
    """The law in a sentence."""
    if process == "lamp":
        return f"A lamp shines {', '.join(LAMP[:-1])} and {LAMP[-1]} in turn, at a steady pace."
    if process == "level":
        return f"The water in a tank {'rises' if rate > 0 else 'falls'} at a steady pace."
    return f"A cart rolls along a rail to the {'right' if rate > 0 else 'left'} at a steady pace."


@lru_cache(maxsize=64)
def _scene(world: GoingOn, state: float | None) -> BoxScene:
    from worldgauge.worlds.indoor.camera import BoxScene, light_of
    from worldgauge.worlds.indoor.plan import HEIGHT_M

    home, own = world.plan.boxes, world._boxes(state)
    joined = {name: np.concatenate([getattr(home, name), getattr(own, name)]) for name in home.__dataclass_fields__}
    return BoxScene.of(replace(home, **joined), (0.0, HEIGHT_M), light_of(world.plan.occupied))
