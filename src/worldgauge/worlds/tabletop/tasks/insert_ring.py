"""Put a square ring on the square peg of the named colour."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.tabletop.contract import TABLE_M, Setup, TableObject, TableScene, TableTask, near, table_tasks
from worldgauge.worlds.tabletop.pose_plans import HandPose, reaching_down
from worldgauge.worlds.tabletop.shapes import COLOURS, EVERY_COLOUR, box, differing, places

PEGS = 3
PEG_HALF_M = (0.014, 0.014, 0.026)
OUTER_M, HOLE_M, RING_HALF_M = 0.031, 0.018, 0.0125
"""Half the sides of the ring and of its hole, and half its height: 4 mm of room around the peg."""
AROUND_M = 0.008
"""From the peg's axis to the ring's middle at most, along the table, for the ring to be around the peg."""
RESTING_M = 0.006
"""How far above its place on the table the ring may be when it is solved."""
SMOOTH = (0.4, 0.005, 0.0001)
"""Friction of ring on peg, so that it slips down; the pads of the fingers hold it by their own."""
GRIP_M, DROP_M = 0.004, 0.002
"""From the ring's middle up to the tip that grips it, and how high above the table the ring is let go."""
HIGH_M = TABLE_M + 0.14
CLOSE_M = 0.006
"""Of the hand, within which it need not move before the fingers do."""
CLEAR_M = TABLE_M + 2 * PEG_HALF_M[2] + RING_HALF_M
"""Of the ring's middle, at which it clears the pegs."""


@table_tasks.register("insert_ring", variations=len(COLOURS), bodies="ring peg0 peg1 peg2")
class InsertRing(TableTask):
    """Three pegs of different colours stand fast; a ring that lies loose is to be put on the named one and let go.
    Solved when the ring is low and level around that peg and the fingers do not both touch it."""

    def __init__(self, variation: int, rng: np.random.Generator, layout: Setup | None = None) -> None:
        if layout is not None:
            drawn, self._yaw_rad, wanted = layout.places, layout.yaws_rad[0], layout.wanted
            names = list(layout.colours[1:])
        else:
            colours = differing(np.random.default_rng([0x7269, variation]), first=[list(COLOURS)[variation]])
            shown = [int(n) for n in rng.permutation(PEGS)]
            wanted, names = shown.index(0), [colours[n] for n in shown]
            drawn = places(rng, PEGS + 1, apart_m=0.14, low=(0.05, -0.25), high=(0.4, 0.25))
            # Closing fingers correct such an angle, so an agent that is told places alone can solve it, too.
            self._yaw_rad = float(rng.uniform(-0.25, 0.25))
        self._start, self._pegs = drawn[0], drawn[1:]
        self._wanted = f"peg{wanted}"
        self._far_m = float(np.linalg.norm(self._pegs[wanted] - self._start))
        pegs = (
            TableObject(f"{name} peg", f"peg{n}", "peg", name, PEG_HALF_M, PEG_HALF_M[2])
            for n, name in enumerate(names)
        )
        self.things = (TableObject("ring", "ring", "ring", "grey", (OUTER_M, OUTER_M, RING_HALF_M)), *pegs)
        self.instruction = f"put the ring on the {names[wanted]} peg"
        self.wordings = (
            f"place the square ring over the {names[wanted]} peg",
            f"slip the ring onto the {names[wanted]} peg and let go of it",
        )

    def add(self, spec: Any) -> None:
        """See `TableTask`."""
        for thing, (x, y) in zip(self.things[1:], self._pegs, strict=True):
            peg = spec.worldbody.add_body(name=thing.body, pos=(x, y, TABLE_M))
            box(peg, PEG_HALF_M, EVERY_COLOUR[thing.colour], at=(0, 0, PEG_HALF_M[2]), friction=SMOOTH)
        c, s = math.cos(self._yaw_rad / 2), math.sin(self._yaw_rad / 2)
        ring = spec.worldbody.add_body(name="ring", pos=(*self._start, TABLE_M + RING_HALF_M), quat=(c, 0, 0, s))
        ring.add_freejoint()
        wall, middle = (OUTER_M - HOLE_M) / 2, (OUTER_M + HOLE_M) / 2
        for side in (1, -1):
            for half, at in (
                ((OUTER_M, wall, RING_HALF_M), (0, side * middle, 0)),
                ((wall, HOLE_M, RING_HALF_M), (side * middle, 0, 0)),
            ):
                box(ring, half, COLOURS["grey"], at=at, mass=0.015, friction=SMOOTH)

    def progress(self, scene: TableScene) -> float:
        """0.2 when it is held, up to 0.4 lifted, up to 0.8 near the named peg, 0.9 around it, 1 let go there."""
        x, y, z = (float(value) for value in scene.place("ring"))
        off = math.dist((x, y), scene.place(self._wanted)[:2])
        is_held = scene.held("ring")
        if off <= AROUND_M and z < TABLE_M + 2 * PEG_HALF_M[2]:
            lies = z < TABLE_M + RING_HALF_M + RESTING_M and scene.rotation("ring")[2, 2] > math.cos(math.radians(10))
            return 1.0 if lies and not is_held else 0.9
        if not is_held:
            return 0.0
        lifted = min(1.0, max(0.0, (z - TABLE_M - RING_HALF_M) / (CLEAR_M - TABLE_M - RING_HALF_M)))
        nearer = max(0.0, 1 - max(0.0, off - AROUND_M) / self._far_m)
        return 0.2 + 0.2 * lifted + 0.4 * lifted * nearer

    def finish(self, scene: TableScene) -> None:
        """See `TableTask`."""
        x, y, _ = (float(value) for value in scene.place(self._wanted))
        scene.put("ring", np.array([x, y, TABLE_M + RING_HALF_M]))

    def plan(self, scene: TableScene) -> list[HandPose]:
        """Above the ring, down, close, up, above the peg, down, open, or the rest; a low hand first goes up."""
        if self.progress(scene) >= 1:
            return []
        hand, ring = scene.hand, scene.place("ring")
        if scene.held("ring"):
            return self._put(scene, hand)
        down = _at(ring + np.array([0, 0, GRIP_M]), _yaw(scene.rotation("ring")), 1.0)
        up = down._replace(z=HIGH_M)
        closed = down._replace(gripper=0.0)
        poses = [up, down, closed, *self._put(scene, closed)]
        if near(hand, down, far_m=CLOSE_M):
            return poses[2:]
        if near(hand, up):
            return poses[1:]
        return [hand._replace(z=HIGH_M, gripper=1.0), *poses] if hand.z < HIGH_M - 0.03 else poses

    def _put(self, scene: TableScene, hand: HandPose) -> list[HandPose]:
        """What is left from where the fingers are closed on the ring, the hand being at `hand`."""
        ring, turn = scene.place("ring"), _yaw(scene.rotation("ring"))
        c, s = math.cos(turn), math.sin(turn)
        # Turned back with the ring, which is to lie along the table's sides as the pegs do.
        offset = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) @ (np.array(hand[:3]) - ring)
        place = scene.place(self._wanted) + offset + np.array([0, 0, RING_HALF_M + DROP_M])
        down = _at(place, 2 * math.atan2(hand.qy, hand.qx) - turn, 0.0)
        poses = [down._replace(z=HIGH_M), down, down._replace(gripper=1.0)]
        if near(hand, down, far_m=CLOSE_M):
            return poses[2:]
        if math.dist(hand[:2], down[:2]) < CLOSE_M:
            return poses[1:]
        return [hand._replace(z=HIGH_M), *poses] if hand.z < HIGH_M - 0.03 else poses


def _at(place: FloatArray, yaw_rad: float, gripper: float) -> HandPose:
    """A hand straight down, turned."""
    x, y, z = place
    return reaching_down(x, y, z, gripper, yaw_rad=yaw_rad)


def _yaw(turn: FloatArray) -> float:
    """Of something square, within an eighth of a turn."""
    return (math.atan2(turn[1, 0], turn[0, 0]) + math.pi / 4) % (math.pi / 2) - math.pi / 4
