"""What manipulation says to the loop (World-in-World, section 5.4): carry out whole plans until the task is solved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from worldgauge.suites.closedloop.loop import FALLBACK
from worldgauge.suites.closedloop.manipulation.place import Refused, TablePlace
from worldgauge.suites.closedloop.policies.contract import REFUSED, Decision, History, Plan, TableObservation
from worldgauge.suites.closedloop.settings import Defaults, Settings
from worldgauge.worlds.tabletop.pose_plans import HandPose, random_pose

SOLVED, UNSTABLE = "solved", "unstable"


class Manipulation:
    """Bring a table into the state that the instruction asks for, within so many poses.

    `decisions` of the defaults are the poses. Whole plans are carried out, as far as poses are left; success is looked
    at after every pose. A plan without poses, with more than L, or with poses that are none is one failed step.
    """

    asks_last = False
    every_step = True

    def __init__(self, place: TablePlace, defaults: Defaults, settings: Settings) -> None:
        self.candidates, self.length, self.ratio = defaults.candidates, defaults.length, settings.tts_ratio
        self._poses = defaults.decisions
        self._frames = defaults.clip + 1
        self._place = place
        self.taken = 0

    def over(self) -> str | None:
        """When it is solved, or nothing can be solved any more."""
        if self._place.unstable:
            return UNSTABLE
        return SOLVED if self._place.progress >= 1 else None

    def spent(self, history: History) -> bool:
        """After K poses."""
        return self.taken >= self._poses

    def ends(self, decision: Decision) -> str | None:
        """Never: the simulator says when it is solved."""
        return None

    def turn(self, decision: Decision) -> float:
        """None."""
        return 0.0

    def steps(self, decision: Decision) -> Iterator[HandPose | Refused]:
        """The whole plan, as far as poses are left."""
        plan = decision.plan
        fault = "no plan was made" if plan is None else _fault_of(plan, self.length)
        if plan is None or fault is not None:
            self.taken += 1
            yield Refused(fault or "")
            return
        self._place.begin(plan.poses, self._frames)
        for pose in plan.poses[: self._left]:
            self.taken += 1
            yield pose

    def after(self) -> str | None:
        """Never."""
        return None

    def counted(self, steps: int, end: str) -> int:
        """All poses."""
        return steps

    def true_value(self, plan: Plan) -> float | None:
        """How far the task would really be done after as much of the plan as poses are left for, in [0, 1].

        None for a plan that cannot be begun.
        """
        if plan_fault(plan.poses, self.length) is not None:
            return None
        return self._place.future(plan.poses[: self._left]).progress

    @property
    def _left(self) -> int:
        """Poses that may still be taken."""
        return self._poses - self.taken

    def fallback(self, observation: TableObservation, rng: np.random.Generator) -> Plan:
        """One pose drawn from all bins, with the gripper open (released code)."""
        return Plan((), "random pose", flags=(FALLBACK,), poses=(random_pose(rng),))


def _fault_of(plan: Plan, length: int) -> str | None:
    """As `plan_fault`; who refused a plan knows better why."""
    return str((plan.aim or {}).get("text")) if REFUSED in plan.flags else plan_fault(plan.poses, length)


def plan_fault(poses: Sequence[HandPose], length: int) -> str | None:
    """Why a plan cannot be begun; None where it can. What is wrong with a single pose is found when it is its turn."""
    if not 1 <= len(poses) <= length:
        return f"the plan has {len(poses)} poses, 1 to {length} can be carried out"
    for number, pose in enumerate(poses, start=1):
        values = np.asarray(pose, np.float64)
        if values.shape != (8,) or not np.isfinite(values).all():
            return f"pose {number} of the plan is not 8 finite numbers"
        if not 0.99 < np.linalg.norm(values[3:7]) < 1.01:
            return f"the quaternion of pose {number} of the plan does not have length 1"
    return None
