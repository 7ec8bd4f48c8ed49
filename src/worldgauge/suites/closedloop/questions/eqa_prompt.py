"""Prompts for embodied question answering: what a language model is shown, and how its replies are read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldgauge.chat.client import AnswerError
from worldgauge.chat.pictures import sheet, titled
from worldgauge.chat.prompt_runner import Answered, kept, seed_of
from worldgauge.chat.prompts import Field, Part
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.image import Image
from worldgauge.suites.closedloop.policies.asking import asker_of
from worldgauge.suites.closedloop.policies.contract import (
    SIDES,
    YAW_RIGHT_DEG,
    ActionPlan,
    Candidate,
    History,
    HomeObservation,
    PolicyKit,
    Side,
)
from worldgauge.suites.closedloop.policies.forms import HIGH_LEVEL
from worldgauge.suites.closedloop.policies.prompt_images import all_around_at_end, in_turn, steps_in_words
from worldgauge.suites.closedloop.policies.reading import HighLevelDecision, neutral_views, read_high_level
from worldgauge.suites.closedloop.questions.detecting import finder
from worldgauge.suites.closedloop.questions.landmarks import Landmarks, Mask
from worldgauge.suites.closedloop.questions.scene.marks import draw_marks
from worldgauge.suites.closedloop.questions.scene.open_heading import OPEN_M, open_heading
from worldgauge.suites.closedloop.questions.travel import WORDS_STEPS
from worldgauge.worlds.walking.primitives import Primitive

ASKS = 30
"""Most requests for one high-level decision (released code)."""


class QuestionPrompter:
    """The landmarks of one episode and the model that is asked. An empty history starts a new episode.

    Options of the kit: asks; open_heading, "pinhole" or "linear" (released); landmarks, "exact" or "detected"; and
    those of `asker_of`.
    """

    def __init__(self, kit: PolicyKit) -> None:
        if kit.task != "questions":
            raise UsageError(f"this policy answers questions, but the task is '{kit.task}'; choose another policy")
        self.asker = asker_of(kit)
        self.length = min(kit.length, WORDS_STEPS)
        self.asks = int(kit.options.get("asks", ASKS))
        self.rule: Any = kit.options.get("open_heading", "pinhole")
        self._find = finder(kit)
        self._landmarks = Landmarks(self._find)

    def look(self, observation: HomeObservation, goal: Goal, history: History) -> QuestionScene:
        """Observe the scene; landmarks keep their numbers from earlier decisions.

        Args:
            observation: What is sensed now.
            goal: Its text is the question.
            history: Earlier decisions of the episode.

        Returns:
            The scene that prompts are made of.

        Raises:
            UsageError: If the goal has no text.
        """
        if not goal.text:
            raise UsageError("a question needs its text, and this episode has none")
        if not history:
            self._landmarks = Landmarks(self._find)
        masks = self._landmarks.look(observation)
        return QuestionScene(self, observation, goal.text, history, self._landmarks, masks)


@dataclass(frozen=True)
class QuestionScene:
    """One decision about a question.

    Attributes:
        inquiry: The prompter.
        observation: What is sensed now.
        question: The question.
        history: Earlier decisions of the episode.
        landmarks: All landmarks so far.
        masks: (H, W) bool masks of the visible ones, by side and number.
    """

    inquiry: QuestionPrompter
    observation: HomeObservation
    question: str
    history: History
    landmarks: Landmarks
    masks: Mapping[Side, Mapping[int, Mask]]

    def decide(
        self, name: str, *, seed: int, sample: int = 0, samples: int = 1, candidates: Sequence[Candidate] = ()
    ) -> HighLevelDecision:
        """Ask the model for a decision of five fields.

        Args:
            name: Name of the prompt.
            seed: Of the query.
            sample: Index of this query among `samples`.
            samples: Queries of this kind.
            candidates: Shown with what was imagined for each; none for a proposal.

        Raises:
            AnswerError: If no reply can be read.
        """
        visible = {side: set(found) for side, found in self.masks.items()}

        def fields(squeeze: int) -> dict[str, Field]:
            more = self.imagined(candidates) if candidates else {}
            return {**self.seen(squeeze), "landmarks": self._names(), **more}

        answered: Answered[HighLevelDecision] = self.inquiry.asker.ask(
            name,
            fields,
            lambda reply: read_high_level(reply.value, visible),
            seed=seed,
            sample=sample,
            samples=samples,
            asks=self.inquiry.asks,
            schema=HIGH_LEVEL,
        )
        return answered.value

    def seen(self, squeeze: int) -> dict[str, Field]:
        """Return question, marked views and past as fields of the prompts."""
        return {"question": self.question, "views": self._views(), "history": decisions_in_words(self.history, squeeze)}

    @staticmethod
    def imagined(candidates: Sequence[Candidate]) -> dict[str, Field]:
        """Return the candidates, each next to its imagined views, as a field of the prompts."""
        shown = [[] if one.rollout is None else all_around_at_end(one.rollout) for one in candidates]
        return {"candidates": in_turn(candidates, shown)}

    def plan(self, decided: HighLevelDecision) -> ActionPlan:
        """Turn a decision into a plan: a turn to its landmark, or to the open part of its view, and L steps ahead.

        There are no steps where the landmark is nearer than OPEN_M (flag "near") or nothing is open (flag "closed"):
        then there is nothing to imagine.
        """
        words = neutral_views(decided.plan)
        if decided.landmark is not None:
            landmark = self.landmarks[decided.landmark]
            pose = self.observation.pose
            near = landmark.distance_m(pose) < OPEN_M
            return self._ahead(landmark.left_rad(pose), landmark.aim(decided.view, words), "near" if near else None)
        depth, camera = self.observation.depth(decided.view), self.observation.camera
        right = open_heading(depth, camera.hfov_deg, rule=self.inquiry.rule)
        aim = {"view": decided.view, "landmark": None, "text": words}
        left = -math.radians(YAW_RIGHT_DEG[decided.view]) - (right or 0.0)
        return self._ahead(left, aim, "closed" if right is None else None)

    def _ahead(self, left_rad: float, aim: Mapping[str, Any], flag: str | None) -> ActionPlan:
        left_rad = math.remainder(left_rad, 2 * math.pi)
        steps = (Primitive.FORWARD,) * (0 if flag else self.inquiry.length)
        return ActionPlan(steps, "chat", left_rad, aim, () if flag is None else (flag,))

    def _views(self) -> list[Part]:
        views = [titled(self._marked(side), f"{side} view") for side in SIDES]
        return [sheet(views, columns=2)]

    def _marked(self, side: Side) -> Image:
        return draw_marks(self.observation.view(side), self.masks[side])

    def _names(self) -> str:
        listed = [
            f"{side}: " + ", ".join(f"{number} {self.landmarks[number].name}" for number in sorted(found))
            for side, found in self.masks.items()
            if found
        ]
        return "; ".join(listed) or "none"


def decisions_in_words(history: History, squeeze: int) -> str:
    """Describe earlier decisions and what was carried out, one line each.

    Args:
        history: Earlier decisions.
        squeeze: How much to shorten; the latest decisions are kept.
    """
    recent = kept(history, squeeze)
    if not recent:
        return "nothing yet" if not history else "left out here"
    lines = []
    for number, past in enumerate(recent, len(history) - len(recent) + 1):
        plan = past.decision.plan
        aim = {} if plan is None or plan.aim is None else plan.aim
        goal = f"to landmark {aim['landmark']}" if aim.get("landmark") is not None else f"{aim.get('view', 'ahead')}"
        words = f": {aim['text']}" if aim.get("text") else ""
        done = steps_in_words(past.executed)
        met = ", met an obstacle" if any(past.collided) else ""
        lines.append(f"{number}. {goal}{words} ({done}{met})")
    return "\n".join(lines)


class QuestionProposer:
    """Landmarks to walk to, or words to follow, for questions.

    Attributes:
        asked: How the last ones were asked for, for the trace.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._inquiry = QuestionPrompter(kit)
        self.asked: list[dict[str, Any]] = []

    def propose(
        self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: np.random.Generator
    ) -> Sequence[ActionPlan]:
        """Up to n plans, each a turn and L steps ahead.

        Raises:
            EndpointError: For an outage.
            BudgetError: When the budget is used up.
        """
        scene = self._inquiry.look(observation, goal, history)
        seed, plans = seed_of(rng), []
        for sample in range(n):
            try:
                decided = scene.decide("questions-plan", seed=seed, sample=sample, samples=n)
            except AnswerError:
                break
            plans.append(scene.plan(decided))
        self.asked = self._inquiry.asker.taken()
        return plans
