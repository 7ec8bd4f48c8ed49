"""Slide a block, too wide to be picked up, to the target of the named colour."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.tabletop.contract import TABLE_M, Setup, TableObject, TableScene, TableTask, near, table_tasks
from worldgauge.worlds.tabletop.pose_plans import HandPose, reaching_down
from worldgauge.worlds.tabletop.shapes import COLOURS, EVERY_COLOUR, box, mark

TARGETS = ("red", "green", "blue", "yellow")
HALF_M = (0.045, 0.045, 0.02)
TARGET_HALF_M = (0.05, 0.05, 0.0005)
THERE_M = 0.02
"""How far the block's middle may be from the target's, along the table, when it is solved; the hand may be anywhere."""
HIGH_M, LOW_M = TABLE_M + 0.12, TABLE_M + 0.012
REACH_M, GAP_M = HALF_M[0] + 0.011, 0.03
"""From the block's middle to the hand that pushes it, and how far before that the hand comes down."""
OBLIQUE_RAD = math.radians(15)
"""Off a side's normal, up to which one straight push will do; the block slips a little along the fingers."""


class _Push(NamedTuple):
    """A straight push: start, end (2,) of the block's middle; ahead (2,) the way; yaw_rad, reach_m of the hand."""

    start: FloatArray
    end: FloatArray
    ahead: FloatArray
    yaw_rad: float
    reach_m: float


@table_tasks.register("slide_block", variations=len(TARGETS), bodies="block target0 target1 target2 target3")
class SlideBlock(TableTask):
    """A block between four coloured targets, one on each side; it is to be pushed until it lies on the named one."""

    def __init__(self, variation: int, rng: np.random.Generator, layout: Setup | None = None) -> None:
        if layout is not None:
            self._start, self._targets, wanted = layout.places[0], layout.places[1:], layout.wanted
            self._yaw_rad, names = layout.yaws_rad[0], layout.colours[1:]
            self._far_m = math.dist(self._start, self._targets[wanted])
        else:
            wanted, names = variation, TARGETS
            self._start = rng.uniform((0.21, -0.08), (0.25, 0.08))
            self._yaw_rad = float(rng.uniform(-0.1, 0.1))
            angles = rng.permutation(4) * math.pi / 2 + rng.uniform(-0.1, 0.1, 4)
            far = rng.uniform(0.14, 0.165, 4)
            self._targets = self._start + far[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
            self._far_m = float(far[variation])
        self._wanted = f"target{wanted}"
        targets = (
            TableObject(f"{name} target", f"target{n}", "target", name, TARGET_HALF_M, TARGET_HALF_M[2])
            for n, name in enumerate(names)
        )
        self.things = (TableObject("block", "block", "block", "grey", HALF_M), *targets)
        self.instruction = f"slide the block to the {names[wanted]} target"
        self.wordings = (
            f"push the block onto the {names[wanted]} square",
            f"move the block across the table until it covers the {names[wanted]} target",
        )

    def add(self, spec: Any) -> None:
        """See `TableTask`."""
        for thing, (x, y) in zip(self.things[1:], self._targets, strict=True):
            target = spec.worldbody.add_body(name=thing.body, pos=(x, y, TABLE_M))
            mark(target, TARGET_HALF_M, EVERY_COLOUR[thing.colour], at=(0, 0, TARGET_HALF_M[2]))
        c, s = math.cos(self._yaw_rad / 2), math.sin(self._yaw_rad / 2)
        block = spec.worldbody.add_body(name="block", pos=(*self._start, TABLE_M + HALF_M[2]), quat=(c, 0, 0, s))
        block.add_freejoint()
        # Its own friction holds, so that it slides: on a rougher table, fingers would tip it or press it down.
        box(block, HALF_M, COLOURS["grey"], mass=0.2, friction=(0.5, 0.005, 0.0001), priority=1)

    def progress(self, scene: TableScene) -> float:
        """Share of the first distance that is made up for; 1 within `THERE_M`."""
        left = float(np.linalg.norm(_flat(scene, self._wanted) - _flat(scene, "block")))
        return 1.0 if left <= THERE_M else max(0.0, 1 - left / self._far_m)

    def finish(self, scene: TableScene) -> None:
        """See `TableTask`."""
        scene.put("block", np.array([*_flat(scene, self._wanted), TABLE_M + HALF_M[2]]), _yaw(scene))

    def plan(self, scene: TableScene) -> list[HandPose]:
        """Move closed fingers high next to the block, down, and along; for a target off the block's sides once more.
        A hand that is low first goes up, unless it is behind the block already."""
        if self.progress(scene) >= 1:
            return []
        pushes = _pushes(_flat(scene, "block"), _flat(scene, self._wanted), _yaw(scene))
        poses: list[HandPose] = []
        for push in pushes:
            behind, end = push.start - (push.reach_m + GAP_M) * push.ahead, push.end - push.reach_m * push.ahead
            poses += [
                _pushing(behind, HIGH_M, push.yaw_rad),
                _pushing(behind, LOW_M, push.yaw_rad),
                _pushing(end, LOW_M, push.yaw_rad),
                _pushing(end, HIGH_M, push.yaw_rad),
            ]
        poses.pop()
        hand = scene.hand
        if _is_behind(hand, pushes[0]):
            return poses[2:]
        if near(hand, poses[0]):
            return poses[1:]
        if hand.z < HIGH_M - 0.03:
            return [hand._replace(z=HIGH_M, gripper=0.0), *poses]
        return poses


def _pushes(block: FloatArray, target: FloatArray, yaw_rad: float) -> list[_Push]:
    """One push, or two along the block's sides where the way is too oblique for one."""
    way = target - block
    bearing = math.atan2(way[1], way[0])
    side = yaw_rad + math.pi / 2 * round((bearing - yaw_rad) / (math.pi / 2))
    if abs(bearing - side) > OBLIQUE_RAD:
        normal = np.array([math.cos(side), math.sin(side)])
        corner = block + (way @ normal) * normal
        return [*_pushes(block, corner, yaw_rad), *_pushes(corner, target, yaw_rad)]
    # A hand turned by half a turn is the same; in this half the last joint is far from its limits.
    hand = (side + math.pi / 4) % math.pi - math.pi / 4
    return [_Push(block, target, way / np.linalg.norm(way), hand, REACH_M / math.cos(bearing - side))]


def _is_behind(hand: HandPose, push: _Push) -> bool:
    """Whether all that is left to do is to push on."""
    offset = np.array(hand[:2]) - push.start
    behind = -float(offset @ push.ahead)
    aside = abs(float(push.ahead[0] * offset[1] - push.ahead[1] * offset[0]))
    x, y = math.cos(push.yaw_rad / 2), math.sin(push.yaw_rad / 2)
    is_turned = abs(hand.qx * x + hand.qy * y) > math.cos(math.radians(5))
    is_low = hand.z < LOW_M + 0.02 and hand.gripper == 0
    return is_low and is_turned and aside < 0.012 and -0.015 < behind - push.reach_m < GAP_M + 0.02


def _pushing(place: FloatArray, height_m: float, yaw_rad: float) -> HandPose:
    """Closed fingers, straight down, turned."""
    x, y = place
    return reaching_down(x, y, height_m, 0.0, yaw_rad=yaw_rad)


def _flat(scene: TableScene, body: str) -> FloatArray:
    """(2,) metres along the table."""
    return scene.place(body)[:2]


def _yaw(scene: TableScene) -> float:
    """Of the block, in radians."""
    turn = scene.rotation("block")
    return math.atan2(turn[1, 0], turn[0, 0])
