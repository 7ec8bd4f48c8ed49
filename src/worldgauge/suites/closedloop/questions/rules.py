"""What embodied questions say to the loop (World-in-World, section 5.3): explore until the question can be answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.suites.closedloop.policies.contract import Decision, History, Observation, Plan
from worldgauge.suites.closedloop.questions.travel import LowLevel, Traveller, ahead
from worldgauge.suites.closedloop.rules import straight_on
from worldgauge.suites.closedloop.settings import Defaults, Settings
from worldgauge.suites.closedloop.simulator import Simulator
from worldgauge.worlds.walking.primitives import Primitive

STUCK = "stuck"
MOST_IDLE = 3
"""Plans in a row that lead nowhere, after which the episode is over: a landmark that is reached costs no step, and
could be chosen for ever."""


class Questions:
    """Walk about a home until an answer is given, within so many low-level actions.

    `decisions` of the defaults are the actions. A turn at once to where a plan in words begins counts as the turns it
    takes.
    """

    asks_last = False
    every_step = False

    def __init__(
        self,
        simulator: Simulator,
        evidence: tuple[int, ...],
        defaults: Defaults,
        settings: Settings,
        seed: int,
        low_level: LowLevel = ahead,
    ) -> None:
        self.candidates, self.length, self.ratio = defaults.candidates, defaults.length, settings.tts_ratio
        self.answer: str | None = None
        self._turned = 0
        self._actions = defaults.decisions
        self._taken = 0
        self._idle = 0
        self._decisions = 0
        self._journey: Iterator[Primitive] = iter(())
        self._simulator = simulator
        self._evidence = evidence
        self._seed = seed
        self.low_level = low_level
        self._traveller = Traveller(
            simulator.geodesic, lambda: simulator.stance, simulator.observe, simulator.things, low_level
        )

    def over(self) -> str | None:
        """When plans have led nowhere several times in a row."""
        return STUCK if self._idle >= MOST_IDLE else None

    def spent(self, history: History) -> bool:
        """After so many low-level actions."""
        return self._taken >= self._actions

    def ends(self, decision: Decision) -> str | None:
        """When it holds an answer that is meant to be the last."""
        if decision.stop and decision.answer:
            self.answer = decision.answer
            return "answered"
        return None

    def turn(self, decision: Decision) -> float:
        """To where a plan in words begins; where the actions left do not suffice for it, they are used up."""
        self._decisions += 1
        self._idle += 1
        self._journey = iter(())
        if decision.plan is None:
            return 0.0
        rng = np.random.default_rng([self._seed, self._decisions, 0x7261])
        journey = self._traveller.journey(decision.plan, rng)
        if self._taken + journey.turn_steps > self._actions:
            self._taken = self._actions
            return 0.0
        self._journey = iter(journey)
        self._taken += journey.turn_steps
        self._turned += journey.turn_steps
        if journey.turn_steps:
            self._idle = 0
        return journey.turn_left_rad

    def steps(self, decision: Decision) -> Iterator[Primitive]:
        """The way to a landmark, or as a low level says that the words of the plan mean."""
        for primitive in self._journey:
            if self._taken >= self._actions:
                return
            self._taken += 1
            self._idle = 0
            yield primitive

    def after(self) -> str | None:
        """Never."""
        return None

    def counted(self, steps: int, end: str) -> int:
        """All steps, and the turns that were made at once."""
        return steps + self._turned

    def true_value(self, plan: Plan) -> float | None:
        """Minus the geodesic metres from where a plan leads to the nearest evidence; None where none is known."""
        known = [self._simulator.things[number] for number in self._evidence if number in self._simulator.things]
        aim = plan.aim or {}
        if "centre" in aim:
            end = np.asarray(aim["centre"], np.float64)[:2]
        else:
            end = np.array(self._simulator.led_to(plan.turn_left_rad, plan.steps)[:2])
        geodesic = self._simulator.geodesic
        place = geodesic.nearest(end)
        metres = [geodesic.distance(place, geodesic.nearest(_middle(thing))) for thing in known]
        found = [one for one in metres if one < float("inf")]
        return -min(found) if found else None

    def fallback(self, observation: Observation, rng: np.random.Generator) -> Plan:
        """See `straight_on`."""
        return straight_on(self.length)


def _middle(thing: Any) -> FloatArray:
    middle: FloatArray = (np.asarray(thing.low, np.float64) + np.asarray(thing.high, np.float64))[:2] / 2
    return middle
