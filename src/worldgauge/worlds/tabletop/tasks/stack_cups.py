"""Stack the other cups on the one of the named colour."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from worldgauge.worlds.tabletop.contract import TABLE_M, Setup, TableObject, TableScene, TableTask, near, table_tasks
from worldgauge.worlds.tabletop.franka_arm import ARM_BIT
from worldgauge.worlds.tabletop.pose_plans import HandPose, reaching_down
from worldgauge.worlds.tabletop.shapes import COLOURS, EVERY_COLOUR, box, cylinder, differing, places

COUNT = 3
RIM_M, LID_M, FOOT_M, WALL_M = 0.042, 0.028, 0.02, 0.003
"""Outer radius of a cup at its rim, where the hollow part ends, and of its foot; and how thick it is."""
BOWL_M, STEP_M = 0.055, 0.03
"""Heights of the hollow part and of the solid foot, by which a cup sticks out of the one that stands on it."""
HEIGHT_M = BOWL_M + STEP_M
ON_M = 0.012
"""How far a cup on another may be from where it belongs, sideways and in height: a little more than its play."""
GRIP_M = HEIGHT_M - 0.016
"""Of the finger tips above the rim of the cup that they hold."""
APART_M = 0.17
CLEAR_M = 0.03
TRAVEL_M = TABLE_M + HEIGHT_M + STEP_M + CLEAR_M + GRIP_M
"""Height of the finger tips above which a held cup clears the stack."""
DROP_M = 0.003
_FACES = 12


@table_tasks.register("stack_cups", variations=len(COLOURS), bodies="cup0 cup1 cup2")
class StackCups(TableTask):
    """Three cups stand upside down; two are to be put over the one of the named colour, in any order.
    A cup is on the stack when it is upright, let go, and at most `ON_M` from its place in the middle."""

    def __init__(self, variation: int, rng: np.random.Generator, layout: Setup | None = None) -> None:
        if layout is not None:
            self._places, names, wanted = layout.places, list(layout.colours), layout.wanted
        else:
            colour = list(COLOURS)[variation]
            names = differing(rng, first=[colour])
            names = [names[n] for n in rng.permutation(COUNT)]
            self._places = places(rng, COUNT, apart_m=APART_M, low=(0.05, -0.25), high=(0.36, 0.25))
            wanted = names.index(colour)
        bodies = tuple(f"cup{n}" for n in range(COUNT))
        self._named = bodies[wanted]
        self._others = tuple(body for body in bodies if body != self._named)
        self.things = tuple(
            TableObject(f"{name} cup", body, "cup", name, (RIM_M, RIM_M, HEIGHT_M / 2), HEIGHT_M / 2)
            for name, body in zip(names, bodies, strict=True)
        )
        self.instruction = f"stack the other two cups on the {names[wanted]} cup"
        self.wordings = (f"put both other cups over the {names[wanted]} cup",)

    def add(self, spec: Any) -> None:
        """See `TableTask`."""
        for thing, (x, y) in zip(self.things, self._places, strict=True):
            cup = spec.worldbody.add_body(name=thing.body, pos=(x, y, TABLE_M))
            cup.add_freejoint()
            _shape(cup, thing.colour)

    def progress(self, scene: TableScene) -> float:
        """Mean of both other cups: 1 on the stack, half while held over it, a quarter while held; 0 without a stack."""
        named = self._named
        if scene.held(named) or not _upright(scene, named) or scene.place(named)[2] > TABLE_M + ON_M:
            return 0.0
        return sum(self._worth(scene, body) for body in self._others) / len(self._others)

    def finish(self, scene: TableScene) -> None:
        """See `TableTask`."""
        place = scene.place(self._named)
        for level, body in enumerate(self._others, start=1):
            scene.put(body, np.add(place, (0.0, 0.0, level * STEP_M)))

    def plan(self, scene: TableScene) -> list[HandPose]:
        """For each cup that is left, the highest first: above it, grasp, lift, over the stack, let go, and up.
        A named cup that is held is set down before."""
        hand, named = scene.hand, self._named
        left = [body for body in self._others if self._worth(scene, body) < 1]
        left.sort(key=lambda body: (not scene.held(body), -round(scene.place(body)[2], 2)))
        poses: list[HandPose] = []
        if scene.held(named):
            poses.append(reaching_down(hand.x, hand.y, hand.z - scene.place(named)[2] + TABLE_M, 1))
        if poses or (hand.z < TRAVEL_M - CLEAR_M and not any(scene.held(body) for body in left)):
            poses.append(reaching_down(hand.x, hand.y, TRAVEL_M, 1))
        for level, body in enumerate(left, start=COUNT - len(left)):
            poses += self._way(scene, body, level)
        if self.progress(scene) >= 1 or not poses:
            return []
        return poses[1:-1] if near(hand, poses[0]) else poses[:-1]

    def _way(self, scene: TableScene, body: str, level: int) -> list[HandPose]:
        """Of one cup to its level of the stack, and up from there."""
        hand, own, named = scene.hand, scene.place(body), scene.place(self._named)
        x, y, z = (hand.x, hand.y, hand.z) if scene.held(body) else (own[0], own[1], own[2] + GRIP_M)
        # Where the hand is once the cup is: it may hold it off its middle.
        to_x, to_y, to_z = np.array([x, y, z]) - own + named + (0, 0, level * STEP_M + DROP_M)
        over, free = reaching_down(to_x, to_y, TRAVEL_M, 0), reaching_down(to_x, to_y, TRAVEL_M, 1)
        lift, lower = reaching_down(x, y, TRAVEL_M, 0), reaching_down(to_x, to_y, to_z, 1)
        if not scene.held(body):
            return [reaching_down(x, y, TRAVEL_M, 1), reaching_down(x, y, z, 0), lift, over, lower, free]
        if near(hand, over):
            return [lower, free]
        return [over, lower, free] if hand.z > TRAVEL_M - CLEAR_M / 2 else [lift, over, lower, free]

    def _worth(self, scene: TableScene, body: str) -> float:
        """Of one cup: 1 on the stack, 0.5 held over it, 0.25 held."""
        x, y, z = scene.place(body) - scene.place(self._named)
        is_over = math.hypot(x, y) <= ON_M
        if scene.held(body):
            return 0.5 if is_over else 0.25
        stands = any(abs(z - level * STEP_M) <= ON_M for level in range(1, COUNT))
        return float(is_over and stands and _upright(scene, body))


def _upright(scene: TableScene, body: str) -> bool:
    return bool(scene.rotation(body)[2, 2] > 0.98)


def _shape(cup: Any, name: str) -> None:
    """Twelve walls that lean against a lid, the rim below, and on top a foot that looks round.
    Contacts are with boxes: round shapes slip out of flat fingers."""
    wide, colour = math.tan(math.pi / _FACES), EVERY_COLOUR[name]
    lean = math.atan2(RIM_M - LID_M, BOWL_M)
    out = (RIM_M + LID_M - WALL_M) / 2
    c, s = math.cos(lean / 2), math.sin(lean / 2)
    foot_at = (0, 0, BOWL_M + STEP_M / 2)
    for face in range(_FACES):
        turn = math.pi * face / _FACES
        p, q = math.cos(turn), math.sin(turn)
        half_m = (WALL_M / 2, RIM_M * wide, BOWL_M / math.cos(lean) / 2)
        at = (out * math.cos(2 * turn), out * math.sin(2 * turn), BOWL_M / 2)
        # Leans inward, then turns around the cup.
        box(cup, half_m, colour, at=at, quat=(p * c, q * s, -p * s, q * c), mass=0.003)
        if face % 2 == 0:
            # Two sides of the foot, which only fingers meet.
            half_m = (FOOT_M, FOOT_M * wide, STEP_M / 2)
            sides = box(cup, half_m, colour, at=foot_at, quat=(p, 0, 0, q), mass=0.006)
            sides.contype, sides.conaffinity = 0, ARM_BIT
    # What a cup on top rests on.
    box(cup, (0.7 * FOOT_M, 0.7 * FOOT_M, STEP_M / 2), colour, at=foot_at, mass=0.02)
    drawn = (
        cylinder(cup, FOOT_M / math.cos(math.pi / _FACES), STEP_M / 2 + 2e-4, colour, at=foot_at, mass=0),
        cylinder(cup, LID_M, WALL_M / 2, colour, at=(0, 0, BOWL_M - WALL_M / 2), mass=0),
    )
    for one in drawn:
        one.contype = one.conaffinity = 0
