"""Image-goal navigation: go to where a picture was taken (World-in-World, section 5.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.engine.options import option, part_of
from worldgauge.engine.suite.contract import Record, Score
from worldgauge.engine.suite.scores import make_score
from worldgauge.suites.worldinworld.home_env import HomeTaskEnv
from worldgauge.suites.worldinworld.home_task import HomeRules, HomeTask, StepSettings
from worldgauge.suites.worldinworld.metrics import spl, success, trajectory_steps
from worldgauge.suites.worldinworld.navigation.chat import NavigationProposer, NavigationReviser
from worldgauge.suites.worldinworld.navigation.episodes import NavigationSampler
from worldgauge.suites.worldinworld.navigation.format import HIDDEN, NavigationEpisode, NavigationFormat, goal_image
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, Decision, History, revisers
from worldgauge.suites.worldinworld.policies.process_proposer import StepsProcess
from worldgauge.suites.worldinworld.task import (
    LoopSettings,
    TaskParameters,
    closed_loop_tasks,
    score_of_term,
    walked_facts,
)
from worldgauge.worlds.walking.primitives import Primitive, Stance

_UNREACHABLE = "the goal cannot be reached: the episode is invalid"


@dataclass(frozen=True)
class NavigationSettings(StepSettings):
    """Settings of navigation."""

    track: Literal["oracle_stop", "declared_stop"] = option(
        "oracle_stop", "End of navigation: an oracle at the goal, or the agent's claim."
    )
    goal_check: Literal["decision", "every_step"] = option(
        "decision", "When the oracle checks whether the goal is reached."
    )


@closed_loop_tasks.register("navigation")
class NavigationTask(HomeTask[NavigationEpisode, "NavigationRules"]):
    """Go to where the goal image was taken."""

    name, order = "navigation", 2
    format, sampler = NavigationFormat(), NavigationSampler()
    defaults = TaskParameters(decisions=3, candidates=12, length=20, proposer="ways", reviser="nearness")
    open_defaults = TaskParameters(decisions=6, candidates=12, length=12, proposer="fan", reviser="nearness")
    """Of episodes of design 1."""
    published = TaskParameters(decisions=20, candidates=3, length=5, proposer="heuristic", reviser="similarity")
    columns: ClassVar[Mapping[str, str]] = {
        "navigation/success": "success rate, %",
        "navigation/trajectory_steps": "steps",
        "navigation/spl": "SPL, %",
        "decision_regret": "regret, steps",
    }
    regret_unit = "steps left to the goal"
    goal_words = "the goal image, all around"
    noise_levels = (0.05, 0.1, 0.15, 0.25)
    ends: ClassVar[Mapping[str, str]] = {
        "arrived": "arrived: the oracle says so",
        "declared": "says that it has arrived",
    }
    OwnSettings = NavigationSettings
    noted_settings = (*HomeTask.noted_settings, "track", "protocol")
    shared_proposers: ClassVar[Mapping[str, Any]] = {"chat": NavigationProposer, "process": StepsProcess}
    shared_revisers: ClassVar[Mapping[str, Any]] = {"chat": NavigationReviser}
    policy_options: ClassVar[Mapping[str, str]] = {"seeds": "heuristic_seeds"}

    @classmethod
    def defaults_of(cls, episode: NavigationEpisode) -> TaskParameters:
        """Those of its design."""
        return cls.defaults if episode.design == HIDDEN else cls.open_defaults

    @classmethod
    def check_settings(cls, settings: LoopSettings) -> None:
        """Check that the agent can announce its arrival if it has to."""
        own = part_of(settings, NavigationSettings)
        if own.track != "declared_stop":
            return
        name = settings.of_task(cls.name).reviser
        if not revisers.entry(name).facts.get("declares"):
            able = " or ".join(each.name for each in revisers if each.facts.get("declares"))
            raise UsageError(f"track=declared_stop: the reviser '{name}' never says that it has arrived; choose {able}")
        if own.goal_check == "every_step":
            raise UsageError(
                "goal_check=every_step needs track=oracle_stop: with declared_stop the agent is asked at decisions only"
            )

    @classmethod
    def policy_options_of(cls, settings: LoopSettings) -> dict[str, Any]:
        """Whether the agent must say that it has arrived."""
        declared = part_of(settings, NavigationSettings).track == "declared_stop"
        return {**super().policy_options_of(settings), "declared": declared}

    def goal(self, env: HomeTaskEnv) -> Goal:
        """Return the goal image."""
        return Goal(image=self.goal_picture())

    def rules(self, env: HomeTaskEnv, seed: int) -> NavigationRules:
        """Return the rules of the episode."""
        return NavigationRules(env, self.episode.goal, self.episode.radius_m, self.parameters, self.settings)

    def outcome(self, rules: NavigationRules, env: HomeTaskEnv) -> dict[str, Any]:
        """Return the distance to the goal."""
        metres = rules.distance_m()
        return {"arrived": rules.arrived(), "distance_m": round(metres, 6) if metres < float("inf") else None}

    def scores(self, record: Record) -> Iterator[Score]:
        """Yield success, steps and SPL."""
        facts = record.facts
        arrived = facts["arrived"] and (facts["track"] == "oracle_stop" or facts["end"] == "declared")
        invalid = ("unreachable",) if facts["distance_m"] is None else ()
        head_facts = {**walked_facts(record), "distance_m": facts["distance_m"], "flags": invalid}
        yield make_score(record, "success", success(arrived), facts=head_facts, prefix="task/")
        yield make_score(record, "success", success(arrived), prefix="navigation/")
        yield make_score(record, "trajectory_steps", trajectory_steps(facts["steps"]), prefix="navigation/")
        reference = math.inf if invalid else self.episode.step_to_goal
        term = spl(arrived, reference, facts["steps"])
        yield score_of_term(record, "spl", term, _UNREACHABLE, prefix="navigation/")

    # The agent itself gets the image only.
    instruction = "Go where the goal image was taken."

    @property
    def caption(self) -> str:
        """How far that is."""
        return f"Go where the goal image was taken, {self.episode.step_to_goal} steps away"

    def goal_picture(self) -> Image:
        """The goal image."""
        return goal_image(self.episode)

    def outcome_words(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """Yield how far from the goal it stopped."""
        metres, radius_m = facts["distance_m"], self.episode.radius_m
        yield "no way leads to the goal" if metres is None else f"{metres:.2f} m from the goal, {radius_m:g} m do"

    def aims(self, env: HomeTaskEnv) -> list[tuple[str, FloatArray, float]]:
        """The goal."""
        return [("goal", np.array(self.episode.goal.at), self.episode.radius_m)]


class NavigationRules(HomeRules):
    """Rules of an episode: reach the place where the goal image was taken; the heading does not matter.

    Track oracle_stop ends it within the geodesic radius at a decision, declared_stop when the agent says so.
    """

    def __init__(
        self, env: HomeTaskEnv, goal: Stance, radius_m: float, parameters: TaskParameters, settings: LoopSettings
    ) -> None:
        super().__init__(parameters.candidates, parameters.length, settings.tts_ratio)
        own = part_of(settings, NavigationSettings)
        self.checks_every_step = own.goal_check == "every_step" and own.track == "oracle_stop"
        self._declared = own.track == "declared_stop"
        self._decisions = parameters.decisions + (own.budget == "inclusive")
        self._kept_back = 2 if settings.protocol == "published" else 0
        self._env = env
        self._goal = goal.at
        self._radius_m = radius_m

    def distance_m(self, stance: Stance | None = None) -> float:
        """Return geodesic metres from a stance, by default the present one, to the goal; infinite without a path."""
        there = stance or self._env.stance
        return self._env.ground.distance(there.at, self._goal)

    def arrived(self) -> bool:
        """Whether the goal is within the radius."""
        return self.distance_m() <= self._radius_m

    def terminated(self) -> str | None:
        """Stop when the oracle says so."""
        return "arrived" if not self._declared and self.arrived() else None

    def left(self, history: History) -> int:
        """Decisions of K that are left."""
        return max(self._decisions - len(history), 0)

    def truncated(self, history: History) -> bool:
        """Whether K decisions are made."""
        return not self.left(history)

    def terminated_by(self, decision: Decision) -> str | None:
        """Stop when the agent announces its arrival, if it has to."""
        return "declared" if self._declared and decision.stop else None

    def actions(self, decision: Decision) -> Iterator[Primitive]:
        """Yield the whole plan; with protocol=published all but its last two, at least one: L - 2 = 3 of 5."""
        if decision.plan is None:
            return iter(())
        return iter(decision.plan.steps[: max(len(decision.plan.steps) - self._kept_back, 1)])

    def true_value(self, plan: ActionPlan) -> float | None:
        """Minus the primitives from the plan's end to the goal, None without a path; metres would ignore turns."""
        there = self._env.led_to(plan.turn_left_rad, plan.steps)
        left = self._env.ground.steps_left(there, self._goal, self._radius_m)
        return -left if left < float("inf") else None
