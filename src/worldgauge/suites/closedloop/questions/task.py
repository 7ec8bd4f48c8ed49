"""Embodied questions: explore until the question can be answered (World-in-World, section 5.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import FloatArray
from worldgauge.engine.suite.contract import Record, Score
from worldgauge.engine.suite.scores import make_score
from worldgauge.suites.closedloop.format.episode import QuestionEpisode
from worldgauge.suites.closedloop.home.env import HomeEnv
from worldgauge.suites.closedloop.home.task_base import HOME_SETTINGS, HomeRules, HomeTask, aims_of_things
from worldgauge.suites.closedloop.metrics.success import answer_score, answer_spl, trajectory_m
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Decision, History, queries_of
from worldgauge.suites.closedloop.policies.low_level import ChatLowLevel
from worldgauge.suites.closedloop.questions.chat_judge import JudgeError
from worldgauge.suites.closedloop.questions.detecting import NETWORKS as DETECTORS
from worldgauge.suites.closedloop.questions.judge import AnswerJudge, AnswerMark, judges
from worldgauge.suites.closedloop.questions.travel import LowLevel, Traveller, ahead
from worldgauge.suites.closedloop.settings import Settings
from worldgauge.suites.closedloop.task import TaskParameters, closed_loop_tasks, score_of_term, walked_facts
from worldgauge.worlds.walking.primitives import Primitive

STUCK = "stuck"
MOST_IDLE = 3
"""Plans in a row that lead nowhere, after which the episode is over: a landmark that is reached costs no step, and
could be chosen for ever."""
_NO_LENGTH = "the reference length is not known"


@closed_loop_tasks.register("questions")
class QuestionTask(HomeTask[QuestionEpisode, "QuestionRules"]):
    """Answer a question about a home."""

    name, order = "questions", 3
    defaults = TaskParameters(250, 3, 13, 13, 448 / 384, 105.0, 384, "landmarks", "scripted-answerer")
    columns: ClassVar[Mapping[str, str]] = {
        "questions/answer_score": "answer score",
        "questions/trajectory_m": "metres",
        "questions/answer_spl": "SPL, %",
        "questions/seen_only/answer_score": "answer score, no blind answers",
        "questions/with_blind/answer_spl": "SPL with blind answers, %",
    }
    is_rate = False
    regret_unit = "metres left to the evidence"
    parts = ("category",)
    ends: ClassVar[Mapping[str, str]] = {STUCK: "its plans have led nowhere", "answered": "has given its answer"}
    policy_options: ClassVar[Mapping[str, str]] = {"open_heading": "open_heading", "landmarks": "landmarks"}
    own_settings = ("judge", "landmarks", "open_heading", *HOME_SETTINGS)

    @classmethod
    def group(cls, episode: QuestionEpisode) -> dict[str, object]:
        """By category."""
        return {"category": episode.category}

    @classmethod
    def networks(cls, settings: Settings) -> tuple[str, ...]:
        """Those that detect landmarks, or those of the reviser."""
        return DETECTORS if settings.landmarks == "detected" else super().networks(settings)

    @property
    def hfov_deg(self) -> float:
        """The episode's own."""
        return self.episode.hfov_deg

    def goal(self, env: HomeEnv) -> Goal:
        """The question."""
        return Goal(text=self.episode.question)

    def rules(self, env: HomeEnv, seed: int) -> QuestionRules:
        """See `QuestionRules`; a language model also carries plans in words out where one revises."""
        low_level: LowLevel = ahead
        if self.parameters.reviser == "chat":
            rng = np.random.default_rng([seed, 0x10])
            low_level = ChatLowLevel(self.kit(self.settings), self.episode.question, rng)
        return QuestionRules(env, self.episode.evidence, self.parameters, self.settings, seed, low_level)

    def outcome(self, rules: QuestionRules, env: HomeEnv) -> dict[str, Any]:
        """The answer."""
        return {"answer": rules.answer}

    def scores(self, record: Record) -> Iterator[Score]:
        """The answer's score with and without the blind answer, metres, and SPL."""
        facts, episode, judge = record.facts, self.episode, judge_of(self.settings)
        answer, blind = facts["answer"], episode.blind_answer
        asked = (episode.question, episode.answer, episode.extra_answers)
        mark = None if answer is None else _mark(judge, *asked, answer)
        blind_mark = None if blind is None else _mark(judge, *asked, blind)
        sigma = None if mark is None else mark.sigma
        # A judge that fails on the blind answer gives no mark; that is not the same as having no blind answer.
        blind_sigma = None if blind is None else 0 if blind_mark is None else blind_mark.sigma
        head_facts = {
            **walked_facts(record),
            "answer": answer,
            "mark": sigma,
            "why": None if mark is None else mark.reason,
            "blind_answer": blind,
            "blind_mark": blind_sigma,
        }
        answered = answer is not None
        fallback = answer_score(answered, sigma, blind_sigma)
        head_facts["flags"] = fallback.flags
        yield make_score(record, "success", fallback.value, facts=head_facts, prefix="task/")
        yield score_of_term(record, "answer_score", fallback, prefix="questions/")
        yield score_of_term(record, "answer_score", answer_score(answered, sigma), prefix="questions/seen_only/")
        yield make_score(record, "trajectory_m", trajectory_m(facts["metres"]), prefix="questions/")
        lengths = episode.reference_m, facts["metres"]
        alone = answer_spl(answered, sigma, *lengths)
        yield score_of_term(record, "answer_spl", alone, _NO_LENGTH, prefix="questions/")
        blindly = answer_spl(True, blind_sigma, *lengths) if not answered and blind_sigma is not None else alone
        yield score_of_term(record, "answer_spl", blindly, _NO_LENGTH, prefix="questions/with_blind/")

    @property
    def instruction(self) -> str:
        """The question."""
        return self.episode.question

    @property
    def caption(self) -> str:
        """The question and its answer."""
        return f"{self.episode.question} {self.episode.answer}"

    def outcome_words(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """What it answered, and what is expected."""
        yield f"answer: {facts['answer'] or 'none'}"
        yield f"expected: {self.episode.answer}"

    def aims(self, env: HomeEnv) -> list[tuple[str, FloatArray, float]]:
        """The evidence."""
        return aims_of_things(env, self.episode.evidence)


def judge_of(settings: Settings) -> AnswerJudge:
    """Who marks answers."""
    return judges.get(settings.judge)(QuestionTask.kit(settings))


class QuestionRules(HomeRules):
    """Walk about a home until an answer is given, within so many low-level actions.

    `decisions` of the parameters are the actions. A turn at once to where a plan in words begins counts as the turns it
    takes.
    """

    def __init__(
        self,
        env: HomeEnv,
        evidence: tuple[int, ...],
        parameters: TaskParameters,
        settings: Settings,
        seed: int,
        low_level: LowLevel = ahead,
    ) -> None:
        super().__init__(parameters.candidates, parameters.length, settings.tts_ratio)
        self.answer: str | None = None
        self._turned = 0
        self._actions = parameters.decisions
        self._taken = 0
        self._idle = 0
        self._decisions = 0
        self._journey: Iterator[Primitive] = iter(())
        self._env = env
        self._evidence = evidence
        self._seed = seed
        self._low_level = low_level
        self._traveller = Traveller(env.geodesic, lambda: env.stance, env.observe, env.things, low_level)

    def terminated(self) -> str | None:
        """When plans have led nowhere several times in a row."""
        return STUCK if self._idle >= MOST_IDLE else None

    def truncated(self, history: History) -> bool:
        """After so many low-level actions."""
        return self._taken >= self._actions

    def terminated_by(self, decision: Decision) -> str | None:
        """When it holds an answer that is meant to be the last."""
        if decision.stop and decision.answer:
            self.answer = decision.answer
            return "answered"
        return None

    def first_turn_rad(self, decision: Decision) -> float:
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

    def actions(self, decision: Decision) -> Iterator[Primitive]:
        """The way to a landmark, or as a low level says that the words of the plan mean."""
        for primitive in self._journey:
            if self._taken >= self._actions:
                return
            self._taken += 1
            self._idle = 0
            yield primitive

    def count_steps(self, steps: int, end: str) -> int:
        """All steps, and the turns that were made at once."""
        return steps + self._turned

    def queries(self) -> Sequence[Any]:
        """Those of the low level."""
        return queries_of(self._low_level)

    def true_value(self, plan: ActionPlan) -> float | None:
        """Minus the geodesic metres from where a plan leads to the nearest evidence; None where none is known."""
        known = [self._env.things[number] for number in self._evidence if number in self._env.things]
        aim = plan.aim or {}
        if "centre" in aim:
            end = np.asarray(aim["centre"], np.float64)[:2]
        else:
            end = np.array(self._env.led_to(plan.turn_left_rad, plan.steps)[:2])
        geodesic = self._env.geodesic
        place = geodesic.nearest(end)
        metres = [geodesic.distance(place, geodesic.nearest(_middle(thing))) for thing in known]
        found = [one for one in metres if one < float("inf")]
        return -min(found) if found else None


def _middle(thing: Any) -> FloatArray:
    middle: FloatArray = (np.asarray(thing.low, np.float64) + np.asarray(thing.high, np.float64))[:2] / 2
    return middle


def _mark(judge: AnswerJudge, question: str, answer: str, extra: tuple[str, ...], prediction: str) -> AnswerMark | None:
    """None where the judge gives no mark that can be read. An outage fails the scoring, which can be done again."""
    try:
        return judge.mark(question, answer, extra, prediction)
    except JudgeError as error:
        if error.outage:
            raise
        return None
