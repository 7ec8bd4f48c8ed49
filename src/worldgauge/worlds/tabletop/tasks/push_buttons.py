"""Push the named buttons, in the named order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from worldgauge.worlds.tabletop.contract import (
    TABLE_M,
    Colour,
    Memory,
    Setup,
    TableObject,
    TableScene,
    TableTask,
    near,
    table_tasks,
)
from worldgauge.worlds.tabletop.franka_arm import PAD_M, add_joint
from worldgauge.worlds.tabletop.pose_plans import HandPose, reaching_down
from worldgauge.worlds.tabletop.shapes import COLOURS, EVERY_COLOUR, box, cylinder, differing, places

COUNT = 3
TRAVEL_M, PRESSED_M = 0.012, 0.008
"""How deep a button goes, and how deep it counts as pressed."""
BASE_M, CAP_M, CAP_RADIUS_M = 0.015, 0.012, 0.022
TOP_M = TABLE_M + BASE_M + CAP_M + TRAVEL_M / 2
ABOVE_M = 0.1
APART_M = 0.13
"""Between the middles of two buttons: hands that press one never touch another."""
_LIT = (1.0, 1.0, 0.85)
_NAMES = [name for name in COLOURS if name not in ("grey", "white", "pink")]
"""Colours that differ from a button's foot and from its light."""


@table_tasks.register("push_buttons", variations=50, bodies="button0 button1 button2")
class PushButtons(TableTask):
    """Three buttons of different colours; one, two or all three of them are to be pressed, in the order they are named.
    To press another one spoils it, since a pressed button stays pressed. Pressed buttons light up."""

    def __init__(self, variation: int, rng: np.random.Generator, layout: Setup | None = None) -> None:
        if layout is not None:
            self._places, names, shown, order = layout.places, list(layout.colours), [*range(COUNT)], [layout.wanted]
        else:
            names, count = _told(variation)
            self._places = places(rng, COUNT, apart_m=APART_M)
            shown = [int(n) for n in rng.permutation(COUNT)]
            order = [shown.index(n) for n in range(count)]
        self._order = tuple(order)
        self._bodies = tuple(f"button{n}" for n in range(COUNT))
        self.things = tuple(
            TableObject(f"{names[n]} button", body, "button", names[n], (CAP_RADIUS_M, CAP_RADIUS_M, CAP_M / 2))
            for n, body in zip(shown, self._bodies, strict=True)
        )
        named = [self.things[n].name for n in self._order]
        self.instruction = "push the " + ", then the ".join(named)
        self.wordings = (f"press {' and then '.join(f'the {name}' for name in named)}",)

    def add(self, spec: Any) -> None:
        """See `TableTask`."""
        for thing, (x, y) in zip(self.things, self._places, strict=True):
            foot = spec.worldbody.add_body(name=f"{thing.body}_foot", pos=(x, y, TABLE_M))
            box(foot, (0.035, 0.035, BASE_M / 2), COLOURS["grey"], at=(0, 0, BASE_M / 2))
            cap = foot.add_body(name=thing.body, pos=(0, 0, BASE_M + CAP_M / 2 + TRAVEL_M / 2), gravcomp=1)
            spring = {"stiffness": [120.0, 0.0, 0.0], "springref": -0.002}
            add_joint(cap, thing.body, "SLIDE", (0, 0, -1), (0, TRAVEL_M), damping=2.0, **spring)
            cylinder(cap, CAP_RADIUS_M, CAP_M / 2, EVERY_COLOUR[thing.colour], name=f"{thing.body}_cap", mass=0.03)

    def noted(self, scene: TableScene, memory: Memory) -> Memory:
        """Note the buttons that have been pressed, in order, each once."""
        for n, body in enumerate(self._bodies):
            if n not in memory and scene.joint(body) > PRESSED_M:
                memory = (*memory, n)
        return memory

    def progress(self, scene: TableScene) -> float:
        """Share of the named buttons that were pressed; 0 from the first wrong one on."""
        done = scene.memory
        if done != self._order[: len(done)]:
            return 0.0
        return len(done) / len(self._order)

    def colours(self, memory: Memory) -> Mapping[str, Colour]:
        """Pressed buttons light up."""
        return {f"{self._bodies[n]}_cap": _LIT for n in memory}

    def finish(self, scene: TableScene) -> None:
        """See `TableTask`."""
        scene.memory = self._order

    def plan(self, scene: TableScene) -> list[HandPose]:
        """Closed fingers above each button that is left, down, and up again; a hand that is low goes up first."""
        hand = scene.hand
        poses: list[HandPose] = []
        for n in self._order:
            if n not in scene.memory:
                x, y, _ = (float(value) for value in scene.place(self._bodies[n]))
                poses += [_closed(x, y, ABOVE_M), _closed(x, y, PAD_M - TRAVEL_M), _closed(x, y, ABOVE_M)]
        if not poses or near(hand, poses[0]):
            return poses[1:-1]
        if hand.z < TOP_M + ABOVE_M / 2:
            poses.insert(0, _closed(hand.x, hand.y, ABOVE_M))
        return poses[:-1]


def _closed(x: float, y: float, way_m: float) -> HandPose:
    """Closed fingers, straight down, `way_m` above the buttons' tops."""
    return reaching_down(x, y, TOP_M + way_m, 0.0)


def _told(variation: int) -> tuple[list[str], int]:
    """Colours of the three buttons, and how many of them, the first ones, are named: other ones in each variation."""
    rng = np.random.default_rng(0x6275)
    used: set[tuple[str, ...]] = set()
    for n in range(variation + 1):
        names, count = differing(rng, among=_NAMES)[:COUNT], 1 + n % COUNT
        while tuple(names[:count]) in used:
            names = differing(rng, among=_NAMES)[:COUNT]
        used.add(tuple(names[:count]))
    return names, count
