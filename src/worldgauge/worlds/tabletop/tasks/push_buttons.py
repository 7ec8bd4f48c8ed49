"""Push the named buttons, in the named order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from worldgauge.pose_plans import HandPose
from worldgauge.worlds.tabletop.arm import PAD_M
from worldgauge.worlds.tabletop.contract import TABLE_M, Colour, Memory, Scene, Thing, near, table_tasks
from worldgauge.worlds.tabletop.shapes import COLOURS, box, cylinder, places
from worldgauge.worlds.tabletop.world import mujoco

COUNT = 3
TRAVEL_M, PRESSED_M = 0.012, 0.008
"""How deep a button goes, and how deep it counts as pressed."""
BASE_M, CAP_M, CAP_RADIUS_M = 0.015, 0.012, 0.022
TOP_M = TABLE_M + BASE_M + CAP_M + TRAVEL_M / 2
ABOVE_M = 0.1
_LIT = (1.0, 1.0, 0.85)


@table_tasks.register("push_buttons", variations=50)
class PushButtons:
    """Three buttons of different colours; one, two or all three of them are to be pressed, in the order they are named.

    Pressing another one before spoils it: what is pressed stays pressed. Pressed buttons light up.
    """

    def __init__(self, variation: int, rng: np.random.Generator) -> None:
        own = np.random.default_rng([0x6275, variation])
        names = [str(name) for name in own.permutation(sorted(COLOURS)[:14])[:COUNT]]
        self._order = tuple(range(1 + variation % COUNT))
        self._bodies = tuple(f"button{n}" for n in range(COUNT))
        self._places = places(rng, COUNT, apart_m=0.13)
        self.things: tuple[Thing, ...] = tuple(
            Thing(f"{name} button", body, "button", name, (CAP_RADIUS_M, CAP_RADIUS_M, CAP_M / 2))
            for name, body in zip(names, self._bodies, strict=True)
        )
        named = [self.things[n].name for n in self._order]
        self.instruction = "push the " + ", then the ".join(named)
        self.wordings: tuple[str, ...] = (f"press {' and then '.join(f'the {name}' for name in named)}",)

    def add(self, spec: Any) -> None:
        """See `TableTask`."""
        mj = mujoco()
        for thing, (x, y) in zip(self.things, self._places, strict=True):
            foot = spec.worldbody.add_body(name=f"{thing.body}_foot", pos=(x, y, TABLE_M))
            box(foot, (0.035, 0.035, BASE_M / 2), COLOURS["grey"], at=(0, 0, BASE_M / 2))
            cap = foot.add_body(name=thing.body, pos=(0, 0, BASE_M + CAP_M / 2 + TRAVEL_M / 2), gravcomp=1)
            cap.add_joint(
                name=thing.body,
                type=mj.mjtJoint.mjJNT_SLIDE,
                axis=(0, 0, -1),
                range=(0, TRAVEL_M),
                limited=True,
                stiffness=[120.0, 0.0, 0.0],
                springref=-0.002,
                damping=[2.0, 0.0, 0.0],
            )
            cylinder(cap, CAP_RADIUS_M, CAP_M / 2, COLOURS[thing.colour], name=f"{thing.body}_cap", mass=0.03)

    def noted(self, scene: Scene, memory: Memory) -> Memory:
        """The buttons that were pressed, in order, each once."""
        for n, body in enumerate(self._bodies):
            if n not in memory and scene.joint(body) > PRESSED_M:
                memory = (*memory, n)
        return memory

    def progress(self, scene: Scene) -> float:
        """Share of the named buttons that were pressed, 0 from the first wrong one on."""
        done = scene.memory
        if done != self._order[: len(done)]:
            return 0.0
        return len(done) / len(self._order)

    def colours(self, memory: Memory) -> Mapping[str, Colour]:
        """Pressed buttons light up."""
        return {f"{self._bodies[n]}_cap": _LIT for n in memory}

    def finish(self, scene: Scene) -> None:
        """See `TableTask`."""
        scene.memory = self._order

    def plan(self, scene: Scene) -> list[HandPose]:
        """Closed fingers above each button that is left, down, and up again."""
        poses: list[HandPose] = []
        for n in self._order[len(scene.memory) :]:
            x, y, _ = (float(value) for value in scene.place(self._bodies[n]))
            down = (1.0, 0.0, 0.0, 0.0, 0.0)
            high, low = (HandPose(x, y, TOP_M + way, *down) for way in (ABOVE_M, PAD_M - TRAVEL_M))
            poses += [high, low, high]
        return poses[1:] if poses and near(scene.hand, poses[0]) else poses
