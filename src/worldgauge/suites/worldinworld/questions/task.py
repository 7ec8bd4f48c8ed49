"""Embodied question answering: explore until the question can be answered (World-in-World, section 5.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from worldgauge.core.episode import Goal, WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.engine.options import option, part_of
from worldgauge.engine.suite.contract import Record, Score
from worldgauge.engine.suite.scores import make_score
from worldgauge.engine.suite.settings import naming_setting
from worldgauge.suites.worldinworld.home_env import HomeTaskEnv
from worldgauge.suites.worldinworld.home_task import HomeRules, HomeSettings, HomeTask, aims_of_things
from worldgauge.suites.worldinworld.metrics import FAILED_RELEASED, answer_score, answer_spl, trajectory_m
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, Decision, History, queries_of
from worldgauge.suites.worldinworld.policies.process_proposer import StepsProcess
from worldgauge.suites.worldinworld.questions.chat import QuestionProposer, QuestionReviser
from worldgauge.suites.worldinworld.questions.episodes import QuestionSampler
from worldgauge.suites.worldinworld.questions.format import QuestionEpisode, QuestionFormat
from worldgauge.suites.worldinworld.questions.judge import AnswerJudge, JudgeError, JudgeMark, judges
from worldgauge.suites.worldinworld.questions.landmarks import NETWORKS as DETECTORS
from worldgauge.suites.worldinworld.questions.travel import ChatLowLevel, LowLevel, Traveller, ahead
from worldgauge.suites.worldinworld.task import (
    SUITE,
    LoopSettings,
    TaskParameters,
    closed_loop_tasks,
    score_of_term,
    walked_facts,
)
from worldgauge.worlds.walking.primitives import Primitive

STUCK = "stuck"
MOST_IDLE = 3
"""Plans in a row without a step after which the episode is over: a landmark that is reached costs no step, so it could
be chosen forever."""
_NO_LENGTH = "the reference length is not known"


@dataclass(frozen=True)
class QuestionSettings(HomeSettings):
    """Settings of questions."""

    RELEASED: ClassVar[Mapping[str, str]] = {
        **HomeSettings.RELEASED,
        "open_heading": "linear",
        "judge_failure": "released",
    }

    judge: str = option("rules", "Judge of answers to questions: a registered name.")
    judge_failure: Literal["lowest", "released"] = option(
        "lowest", "Answers without a mark: the lowest mark, or -25 points as released."
    )
    landmarks: Literal["exact", "detected"] = option(
        "exact", "Landmarks of questions: exact visible objects, or those that networks detect."
    )
    open_heading: Literal["pinhole", "linear"] = option(
        "pinhole", "Heading of an image column: pinhole, or linear as released."
    )


@closed_loop_tasks.register("questions")
class QuestionTask(HomeTask[QuestionEpisode, "QuestionRules"]):
    """Answer a question about a home."""

    name, order = "questions", 3
    format, sampler = QuestionFormat(), QuestionSampler()
    defaults = TaskParameters(
        decisions=80,
        candidates=6,
        length=60,
        aspect=448 / 384,
        hfov_deg=105.0,
        turns_around=True,
        proposer="rooms",
        reviser="panorama-answerer",
    )
    published = TaskParameters(
        decisions=250,
        candidates=3,
        length=13,
        clip=13,
        aspect=448 / 384,
        hfov_deg=105.0,
        proposer="landmarks",
        reviser="scripted-answerer",
    )
    columns: ClassVar[Mapping[str, str]] = {
        "questions/answer_score": "answer score",
        "questions/trajectory_m": "metres",
        "questions/answer_spl": "SPL, %",
        "questions/seen_only/answer_score": "answer score, no blind answers",
        "questions/with_blind/answer_spl": "SPL with blind answers, %",
    }
    is_rate = False
    regret_unit = "metres left to the evidence"
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {"category": ()}
    ends: ClassVar[Mapping[str, str]] = {STUCK: "its plans have led nowhere", "answered": "has given its answer"}
    policy_options: ClassVar[Mapping[str, str]] = {"open_heading": "open_heading", "landmarks": "landmarks"}
    OwnSettings = QuestionSettings
    noted_settings = (*HomeTask.noted_settings, "protocol")
    scoring_settings = frozenset({"judge", "judge_failure"})
    shared_proposers: ClassVar[Mapping[str, Any]] = {"chat": QuestionProposer, "process": StepsProcess}
    shared_revisers: ClassVar[Mapping[str, Any]] = {"chat": QuestionReviser}

    @classmethod
    def group(cls, episode: QuestionEpisode) -> dict[str, object]:
        """By category."""
        return {"category": episode.category}

    @classmethod
    def found_settings(cls, settings: LoopSettings) -> dict[str, Any]:
        """Check that there is such a judge, and that it has its language model."""
        judge = part_of(settings, QuestionSettings).judge
        with naming_setting(SUITE, "judge"):
            facts = judges.entry(judge).facts
        if facts["chat"] and settings.chat is None:
            raise UsageError(f"the judge '{judge}' asks a language model: say which with --set chat=MODEL@URL")
        return {}

    @classmethod
    def check_settings(cls, settings: LoopSettings) -> None:
        """Check that landmarks are looked for only where a policy names some."""
        detected = part_of(settings, QuestionSettings).landmarks == "detected"
        if detected and settings.of_task(cls.name).proposer == "rooms":
            raise UsageError(
                "landmarks=detected: the proposer 'rooms' names no landmarks; set proposer=landmarks, or "
                "protocol=published"
            )

    @classmethod
    def networks(cls, settings: LoopSettings) -> tuple[str, ...]:
        """Those that detect landmarks, or those of the reviser."""
        return DETECTORS if part_of(settings, QuestionSettings).landmarks == "detected" else super().networks(settings)

    @classmethod
    def lacks(cls, world: WorldFacts, settings: LoopSettings) -> str | None:
        """Detected landmarks need no names of things."""
        detected = part_of(settings, QuestionSettings).landmarks == "detected"
        return None if detected else super().lacks(world, settings)

    @property
    def hfov_deg(self) -> float:
        """The episode's own."""
        return self.episode.hfov_deg

    def goal(self, env: HomeTaskEnv) -> Goal:
        """The question."""
        return Goal(text=self.episode.question)

    def rules(self, env: HomeTaskEnv, seed: int) -> QuestionRules:
        """Return the rules; with the reviser `chat` a language model also carries out plans in words."""
        low_level: LowLevel = ahead
        if self.parameters.reviser == "chat":
            rng = np.random.default_rng([seed, 0x10])
            low_level = ChatLowLevel(self.kit(self.settings), self.episode.question, rng)
        return QuestionRules(env, self.episode.evidence, self.parameters, self.settings, seed, low_level)

    def outcome(self, rules: QuestionRules, env: HomeTaskEnv) -> dict[str, Any]:
        """Return the answer."""
        return {"answer": rules.answer}

    def scores(self, record: Record) -> Iterator[Score]:
        """Yield the answer score with and without the blind answer, metres, and SPL."""
        facts, episode, judge = record.facts, self.episode, judge_of(self.settings)
        answer, blind = facts["answer"], episode.blind_answer
        asked = (episode.question, episode.answer, episode.extra_answers)
        mark = None if answer is None else _mark(judge, *asked, answer)
        blind_mark = None if blind is None else _mark(judge, *asked, blind)
        sigma = None if mark is None else mark.sigma
        # A judge that fails on the blind answer gives no mark, which differs from having no blind answer.
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
        failed = FAILED_RELEASED if part_of(self.settings, QuestionSettings).judge_failure == "released" else 0.0
        fallback = answer_score(answered, sigma, blind_sigma, failed=failed)
        head_facts["flags"] = fallback.flags
        yield make_score(record, "success", fallback.value, facts=head_facts, prefix="task/")
        yield score_of_term(record, "answer_score", fallback, prefix="questions/")
        yield score_of_term(
            record, "answer_score", answer_score(answered, sigma, failed=failed), prefix="questions/seen_only/"
        )
        yield make_score(record, "trajectory_m", trajectory_m(facts["metres"]), prefix="questions/")
        lengths = episode.reference_m, facts["metres"]
        alone = answer_spl(answered, sigma, *lengths, failed=failed)
        yield score_of_term(record, "answer_spl", alone, _NO_LENGTH, prefix="questions/")
        blindly = (
            answer_spl(True, blind_sigma, *lengths, failed=failed)
            if not answered and blind_sigma is not None
            else alone
        )
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
        """Yield the given and the expected answer."""
        yield f"answer: {facts['answer'] or 'none'}"
        yield f"expected: {self.episode.answer}"

    def aims(self, env: HomeTaskEnv) -> list[tuple[str, FloatArray, float]]:
        """The evidence."""
        return aims_of_things(env, self.episode.evidence)


def judge_of(settings: LoopSettings) -> AnswerJudge:
    """Return the judge that the settings name."""
    return judges.get(part_of(settings, QuestionSettings).judge)(QuestionTask.kit(settings))


class QuestionRules(HomeRules):
    """Rules of an episode: walk about a home until an answer; the budget `decisions` counts low-level actions.

    A turn at the start of a plan in words counts as the primitives that it would take.
    """

    unit = "steps"

    def __init__(
        self,
        env: HomeTaskEnv,
        evidence: tuple[int, ...],
        parameters: TaskParameters,
        settings: LoopSettings,
        seed: int,
        low_level: LowLevel = ahead,
    ) -> None:
        super().__init__(parameters.candidates, parameters.length, settings.tts_ratio)
        self.has_last_look = settings.protocol != "published"
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
        self._traveller = Traveller(env.ground, lambda: env.stance, env.observe, env.things, low_level)

    def terminated(self) -> str | None:
        """Stop after several plans in a row without a step."""
        return STUCK if self._idle >= MOST_IDLE else None

    def left(self, history: History) -> int:
        """Low-level actions that are left."""
        return max(self._actions - self._taken, 0)

    def truncated(self, history: History) -> bool:
        """Whether the budget of low-level actions is used up."""
        return not self.left(history)

    def terminated_by(self, decision: Decision) -> str | None:
        """Stop when a decision holds a final answer."""
        if decision.stop and decision.answer:
            self.answer = decision.answer
            return "answered"
        return None

    def first_turn_rad(self, decision: Decision) -> float:
        """Return the first turn of a plan in words; if the budget does not suffice for it, the budget is used up."""
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
        """Yield the path to a landmark, or what the low level makes of a plan in words."""
        for primitive in self._journey:
            if self._taken >= self._actions:
                return
            self._taken += 1
            self._idle = 0
            yield primitive

    def count_steps(self, steps: int, end: str) -> int:
        """Count all steps, and the primitives of turns that were made at once."""
        return steps + self._turned

    def queries(self) -> Sequence[Any]:
        """Return those of the low level."""
        return queries_of(self._low_level)

    def true_value(self, plan: ActionPlan) -> float | None:
        """Return minus the geodesic metres from the end of a plan to the nearest evidence; None if none is known."""
        known = [self._env.things[number] for number in self._evidence if number in self._env.things]
        aim = plan.aim or {}
        if "centre" in aim:
            end = np.asarray(aim["centre"], np.float64)
        else:
            end = np.array(self._env.led_to(plan.turn_left_rad, plan.steps).at)
        ground = self._env.ground
        place = ground.nearest(end)
        middles = [(np.asarray(thing.low, np.float64) + np.asarray(thing.high, np.float64)) / 2 for thing in known]
        metres = [ground.distance(place, ground.nearest(middle)) for middle in middles]
        found = [one for one in metres if one < float("inf")]
        return -min(found) if found else None


def _mark(judge: AnswerJudge, question: str, answer: str, extra: tuple[str, ...], prediction: str) -> JudgeMark | None:
    """Return None if the judge gives no readable mark. An outage is raised: scoring can be repeated."""
    try:
        return judge.mark(question, answer, extra, prediction)
    except JudgeError as error:
        if error.outage:
            raise
        return None
