"""The scripted expert with noise: plans of an arm that need no weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    History,
    PolicyKit,
    Rng,
    SeenThing,
    TableObservation,
    proposers,
)
from worldgauge.worlds.tabletop.pose_plans import BIN_M, POSITION_BINS, WORKSPACE_LOW_M, HandPose, Poses

NOISE_M: Mapping[str, float] = {"button": 0.04, "block": 0.05, "ring": 0.012, "cup": 0.012}
"""Standard deviation by category of the first thing, 0.02 for others: pushing tolerates more error than grasping. With
these and `WRONG`, the first plan alone solves 34 to 44 % of 50 episodes of each task, the best of five by the
simulator 92 to 95 % of 40."""
WRONG = 0.3
AT_M = 0.07
"""Horizontal distance within which a pose is at a thing."""
_STILL_M = 0.01


@proposers.register("scripted", tasks=("manipulation",), chat=False)
class ScriptedProposer:
    """Plans of the scripted expert with errors: every plan has its own constant offset.

    A plan with room for a pose ends with the hand lifted, so that nothing is hidden. Options: noise_m, standard
    deviation of the offset in x and in y; wrong, probability that a plan confuses a thing with another of its category.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length
        self._noise_m = _number(kit, "noise_m", math.inf)
        wrong = _number(kit, "wrong", 1.0)
        self._wrong = WRONG if wrong is None else wrong

    def propose(
        self, observation: TableObservation, goal: Goal, history: History, n: int, rng: Rng
    ) -> list[ActionPlan]:
        """Return n plans of at most L poses, none if the expert has no plan; see `Proposer.propose`."""
        right = tuple(observation.expert())[: self._length]
        if not right:
            return []
        right = (*right, *lift(observation.hand, right))[: self._length]
        noise_m = self._noise_m
        if noise_m is None:
            noise_m = NOISE_M.get(observation.things[0].category, 0.02) if observation.things else 0.02
        plans = []
        for _ in range(n):
            poses = right
            if rng.random() < self._wrong:
                poses = make_mistakes(poses, observation.things, rng)
            off_x, off_y = (float(value) for value in rng.normal(0.0, noise_m, 2))
            poses = tuple(_inside(one._replace(x=one.x + off_x, y=one.y + off_y)) for one in poses)
            plans.append(
                ActionPlan(
                    (),
                    "scripted",
                    poses=poses,
                    aim={"text": describe_plan(poses, observation.hand, observation.things)},
                )
            )
        return plans


def lift(hand: HandPose, poses: Poses) -> Poses:
    """Return a pose that lifts the hand as high as it has been; none where it is there already."""
    high_m = max(pose.z for pose in (hand, *poses))
    return (poses[-1]._replace(z=high_m),) if high_m - poses[-1].z > _STILL_M else ()


def make_mistakes(poses: Poses, things: Sequence[SeenThing], rng: np.random.Generator) -> Poses:
    """Shift the poses at one of the things to another thing of its category."""
    at = [thing_at(pose, things) for pose in poses]
    meant = [one for one in things if one in at and sum(other.category == one.category for other in things) > 1]
    if not meant:
        return poses
    one = meant[int(rng.integers(len(meant)))]
    others = [other for other in things if other.category == one.category and other is not one]
    other = others[int(rng.integers(len(others)))]
    x, y, z = (b - a for a, b in zip(one.place_m, other.place_m, strict=True))
    return tuple(
        pose._replace(x=pose.x + x, y=pose.y + y, z=pose.z + z) if thing is one else pose
        for pose, thing in zip(poses, at, strict=True)
    )


def thing_at(pose: HandPose, things: Sequence[SeenThing]) -> SeenThing | None:
    """Return the thing nearest to a pose in the horizontal plane, within `AT_M`; None if there is none."""
    near = [(math.dist(pose[:2], thing.place_m[:2]), n) for n, thing in enumerate(things)]
    return things[min(near)[1]] if near and min(near)[0] <= AT_M else None


def describe_plan(poses: Poses, hand: HandPose, things: Sequence[SeenThing]) -> str:
    """Describe a plan in words as seen from the front, for models that take text."""
    parts: list[str] = []
    for pose in poses:
        parts += _moved(hand, pose, things)
        if (pose.gripper >= 0.5) != (hand.gripper >= 0.5):
            parts.append("open the gripper" if pose.gripper >= 0.5 else "close the gripper")
        hand = pose
    return ", then ".join(parts) or "stay"


def _moved(hand: HandPose, pose: HandPose, things: Sequence[SeenThing]) -> list[str]:
    """Describe the way from one pose to the next; empty if it is short."""
    right_m, nearer_m, up_m = pose.y - hand.y, pose.x - hand.x, pose.z - hand.z
    if math.hypot(right_m, nearer_m) <= _STILL_M:
        return [f"move {'up' if up_m > 0 else 'down'}"] if abs(up_m) > _STILL_M else []
    thing = thing_at(pose, things)
    if thing is not None:
        return [f"move {'over' if pose.z > thing.place_m[2] + thing.half_m[2] else 'to'} the {thing.name}"]
    ways = (("to the right", "to the left", right_m), ("to the front", "to the back", nearer_m), ("up", "down", up_m))
    steps = [f"{round(100 * abs(far))} cm {a if far > 0 else b}" for a, b, far in ways if abs(far) > _STILL_M]
    return [f"move {' and '.join(steps)}"]


def _inside(pose: HandPose) -> HandPose:
    """Clamp a pose to the centres of the outermost bins."""
    x, y, z = (
        min(max(value, low + BIN_M / 2), low + (POSITION_BINS - 0.5) * BIN_M)
        for value, low in zip(pose[:3], WORKSPACE_LOW_M, strict=True)
    )
    return pose._replace(x=x, y=y, z=z)


def _number(kit: PolicyKit, name: str, most: float) -> float | None:
    """Return a numeric option; None if it is not given."""
    value = kit.options.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most or math.isinf(value):
        limit = "0 or more" if math.isinf(most) else f"between 0 and {most:g}"
        raise UsageError(f"{name} of the proposer 'scripted' must be a number {limit}, got {value!r}")
    return float(value)
