"""What recognition and image-goal navigation say to the loop (World-in-World, sections 5.1 and 5.2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worldgauge.suites.closedloop.loop import FALLBACK
from worldgauge.suites.closedloop.policies.contract import CONFIDENT, Decision, History, Observation, Plan
from worldgauge.suites.closedloop.settings import Defaults, Settings
from worldgauge.suites.closedloop.simulator import Simulator
from worldgauge.worlds.walking.primitives import Primitive
from worldgauge.worlds.walking.walker import Stance

LOST = "target_lost"


class Recognition:
    """Name the object in the red box; look on until one is sure.

    The answer after the last step is asked for: `decisions` steps, one more query. The label is the one of highest
    confidence over the whole episode, the first of equal ones.
    """

    asks_last = True
    every_step = False

    def __init__(self, simulator: Simulator, defaults: Defaults, settings: Settings) -> None:
        self.candidates, self.length, self.ratio = defaults.candidates, defaults.length, settings.tts_ratio
        self.label: str | None = None
        self.confidence = float("-inf")
        self._decisions = defaults.decisions
        self._released = settings.budget == "inclusive"
        self._simulator = simulator

    def over(self) -> str | None:
        """Never by itself: that the target is out of sight is noticed after a step."""
        return None

    def spent(self, history: History) -> bool:
        """After K steps, one a decision."""
        return len(history) >= self._decisions

    def ends(self, decision: Decision) -> str | None:
        """When an answer is confident enough; keeps the best answer so far."""
        if decision.answer is not None and decision.confidence is not None and decision.confidence > self.confidence:
            self.label, self.confidence = decision.answer, decision.confidence
        return "confident" if self.confidence >= CONFIDENT else None

    def turn(self, decision: Decision) -> float:
        """As the plan begins."""
        return 0.0 if decision.plan is None else decision.plan.turn_left_rad

    def steps(self, decision: Decision) -> Iterator[Primitive]:
        """One primitive."""
        return iter(() if decision.plan is None else decision.plan.steps[:1])

    def after(self) -> str | None:
        """When the target has left every view."""
        return None if self._simulator.target_around() else LOST

    def counted(self, steps: int, end: str) -> int:
        """All steps; the release does not count the one that loses the target."""
        return steps - (self._released and end == LOST)

    def true_value(self, plan: Plan) -> float | None:
        """Share of the front view that the target covers once the plan is carried out, in [0, 1]."""
        return self._simulator.target_share(self._simulator.led_to(plan.turn_left_rad, plan.steps))

    def fallback(self, observation: Observation, rng: np.random.Generator) -> Plan:
        """See `straight_on`."""
        return straight_on(self.length)


class Navigation:
    """Reach the place where the goal image was taken; its heading does not matter.

    Track oracle_stop: the episode ends where the geodesic distance is within the radius at a decision. Track
    declared_stop: where the agent says so.
    """

    asks_last = False

    def __init__(
        self, simulator: Simulator, goal: Stance, radius_m: float, defaults: Defaults, settings: Settings
    ) -> None:
        self.candidates, self.length, self.ratio = defaults.candidates, defaults.length, settings.tts_ratio
        self.every_step = settings.goal_check == "every_step" and settings.track == "oracle_stop"
        self._declared = settings.track == "declared_stop"
        self._decisions = defaults.decisions + (settings.budget == "inclusive")
        self._simulator = simulator
        self._goal = (goal.x, goal.y)
        self._radius_m = radius_m

    def distance_m(self, stance: Stance | None = None) -> float:
        """Geodesic metres from a stance, the present one if left out, to the goal; infinite where there is no way."""
        there = stance or self._simulator.stance
        return self._simulator.geodesic.distance((there.x, there.y), self._goal)

    def arrived(self) -> bool:
        """Whether the goal is within the radius."""
        return self.distance_m() <= self._radius_m

    def over(self) -> str | None:
        """When the oracle says so."""
        return "arrived" if not self._declared and self.arrived() else None

    def spent(self, history: History) -> bool:
        """After K decisions."""
        return len(history) >= self._decisions

    def ends(self, decision: Decision) -> str | None:
        """When the agent says that it is there, where that is its task."""
        return "declared" if self._declared and decision.stop else None

    def turn(self, decision: Decision) -> float:
        """As the plan begins."""
        return 0.0 if decision.plan is None else decision.plan.turn_left_rad

    def steps(self, decision: Decision) -> Iterator[Primitive]:
        """All but the last two of a plan, at least one: L - 2 = 3 of 5."""
        if decision.plan is None:
            return iter(())
        return iter(decision.plan.steps[: max(len(decision.plan.steps) - 2, 1)])

    def after(self) -> str | None:
        """Never."""
        return None

    def counted(self, steps: int, end: str) -> int:
        """All steps."""
        return steps

    def true_value(self, plan: Plan) -> float | None:
        """Minus the primitives left to the goal at the end of the plan, which is what is imagined; None without a way.

        Metres alone would not tell a turn the right way from one the wrong way.
        """
        there = self._simulator.led_to(plan.turn_left_rad, plan.steps)
        left = self._simulator.geodesic.steps_left(there, self._goal, self._radius_m)
        return -left if left < float("inf") else None

    def fallback(self, observation: Observation, rng: np.random.Generator) -> Plan:
        """See `straight_on`."""
        return straight_on(self.length)


def straight_on(length: int) -> Plan:
    """What a walker does for want of a plan: L steps forward, flagged."""
    return Plan((Primitive.FORWARD,) * length, "straight on", flags=(FALLBACK,))
