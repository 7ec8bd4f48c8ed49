"""Active recognition: say what is in the red box (World-in-World, section 5.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from worldgauge.core.episode import Goal
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.engine.options import option, part_of
from worldgauge.engine.suite.contract import Record, Score
from worldgauge.engine.suite.scores import make_score
from worldgauge.suites.worldinworld import drawing
from worldgauge.suites.worldinworld.home_env import HomeTaskEnv
from worldgauge.suites.worldinworld.home_task import HomeRules, HomeTask, StepSettings, aims_of_things
from worldgauge.suites.worldinworld.metrics import success, trajectory_steps
from worldgauge.suites.worldinworld.policies.contract import CONFIDENT, ActionPlan, Decision, History
from worldgauge.suites.worldinworld.policies.process_proposer import StepsProcess
from worldgauge.suites.worldinworld.recognition.chat import RecognitionProposer, RecognitionReviser
from worldgauge.suites.worldinworld.recognition.episodes import RecognitionSampler, VisibilityMeter
from worldgauge.suites.worldinworld.recognition.format import HIDDEN, RecognitionEpisode, RecognitionFormat
from worldgauge.suites.worldinworld.recognition.tracking import NETWORK as TRACKER
from worldgauge.suites.worldinworld.task import LoopSettings, Size, TaskParameters, closed_loop_tasks, walked_facts
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.walking.floor import Walkable
from worldgauge.worlds.walking.primitives import Primitive, Stance, from_letters

LOST, UNSEEN = "target_lost", "unseen"
DIFFICULTIES = ("easy", "medium", "hard")
_UNSEEN = "the target is not seen at the start: the episode could not begin"


@dataclass(frozen=True)
class RecognitionSettings(StepSettings):
    """Settings of recognition."""

    tracker: Literal["geometry", "sam2"] = option(
        "geometry", "Tracker of the target in generated frames: geometry and colours, or SAM 2."
    )


@closed_loop_tasks.register("recognition")
class RecognitionTask(HomeTask[RecognitionEpisode, "RecognitionRules"]):
    """Say what the boxed object is."""

    name, order = "recognition", 1
    format, sampler = RecognitionFormat(), RecognitionSampler()
    defaults = TaskParameters(decisions=1, candidates=12, length=14, proposer="around", reviser="uncovered")
    open_defaults = TaskParameters(decisions=1, candidates=12, length=8, proposer="around", reviser="clearest")
    """Of episodes of design 1."""
    published = TaskParameters(
        decisions=10, candidates=2, length=4, clip=13, proposer="heuristic", reviser="recogniser"
    )
    columns: ClassVar[Mapping[str, str]] = {
        "recognition/success": "success rate, %",
        "recognition/trajectory_steps": "steps",
        "decision_regret": "regret, clarity",
    }
    regret_unit = "clarity of the target"
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {"difficulty": DIFFICULTIES, "category": ()}
    ends: ClassVar[Mapping[str, str]] = {
        "confident": "is sure of its answer",
        LOST: "the target is out of sight",
        UNSEEN: "the target is not seen at the start",
    }
    OwnSettings = RecognitionSettings
    noted_settings = (*HomeTask.noted_settings, "protocol")
    shared_proposers: ClassVar[Mapping[str, Any]] = {"chat": RecognitionProposer, "process": StepsProcess}
    shared_revisers: ClassVar[Mapping[str, Any]] = {"chat": RecognitionReviser}
    policy_options: ClassVar[Mapping[str, str]] = {"seeds": "heuristic_seeds", "tracker": "tracker"}

    @classmethod
    def group(cls, episode: RecognitionEpisode) -> dict[str, object]:
        """Group by category and by difficulty."""
        return {"category": episode.category, "difficulty": DIFFICULTIES[episode.difficulty]}

    @classmethod
    def defaults_of(cls, episode: RecognitionEpisode) -> TaskParameters:
        """Those of its design."""
        return cls.defaults if episode.design == HIDDEN else cls.open_defaults

    @classmethod
    def networks(cls, settings: LoopSettings) -> tuple[str, ...]:
        """The tracker, where it is one, or those of the reviser."""
        return (TRACKER,) if part_of(settings, RecognitionSettings).tracker == "sam2" else super().networks(settings)

    @classmethod
    def policy_options_of(cls, settings: LoopSettings) -> dict[str, Any]:
        """Whether imagined frames join the answer, as in the paper."""
        return {**super().policy_options_of(settings), "imagined_answers": settings.protocol == "published"}

    @property
    def target(self) -> int | None:
        """The boxed object."""
        return self.episode.target

    def check_scene(self, world: Walkable) -> None:
        """See `HomeTask.check_scene`; the target must be what the episode says."""
        super().check_scene(world)
        episode = self.episode
        known = {thing.instance: thing.category for thing in world.landmarks}
        if known.get(episode.target) != episode.category:
            found = known.get(episode.target, "nothing")
            raise DataError(
                f"{episode.id}: target_id {episode.target} is {found} in '{episode.scene}', not {episode.category}; "
                "correct target_id or target_categrory"
            )

    def goal(self, env: HomeTaskEnv) -> Goal:
        """Return the target, and the labels to choose from."""
        return Goal(target=str(self.episode.target), choices=LABELS)

    def rules(self, env: HomeTaskEnv, seed: int) -> RecognitionRules:
        """Return the rules of the episode."""
        return RecognitionRules(env, self.parameters, self.settings)

    def start_fault(self, env: HomeTaskEnv) -> str | None:
        """A target that nobody sees."""
        return UNSEEN if env.observe().box is None else None

    def outcome(self, rules: RecognitionRules, env: HomeTaskEnv) -> dict[str, Any]:
        """Return the best answer."""
        return {"label": rules.label, "confidence": rules.confidence if rules.label is not None else None}

    def scores(self, record: Record) -> Iterator[Score]:
        """Yield success and steps."""
        facts = record.facts
        unseen = facts["end"] == UNSEEN
        right = facts["label"] == self.episode.category
        head_facts = {
            **walked_facts(record),
            "label": facts["label"],
            "confidence": facts["confidence"],
            "flags": ["unseen_at_start"] if unseen else [],
        }
        yield make_score(record, "success", success(right), facts=head_facts, prefix="task/")
        yield make_score(record, "success", success(right), prefix="recognition/")
        steps = trajectory_steps(None if unseen else facts["steps"])
        yield make_score(record, "trajectory_steps", steps, reason=_UNSEEN, prefix="recognition/")

    instruction = "What is in the red box?"

    @property
    def caption(self) -> str:
        """The question and its answer."""
        return f"{self.instruction} {self.episode.category}"

    def marked(self, view: Image, trace: Sequence[Mapping[str, Any]], number: int, step: int, size: Size) -> Image:
        """Draw the red box; the view of a step gets that of the next decision. See `ClosedLoopTask.marked`."""
        following = number + step
        notes = trace[following]["notes"] if following < len(trace) else {}
        if "box" in notes:
            box = notes["box"]
        else:
            env, line = self._env, trace[number]
            stances = [Stance(*line["stance"])]
            stances += env.replayed(stances[0], from_letters(line["executed"]))
            box, size = env.sight(stances[step]).box, (env.camera.width, env.camera.height)
        if box is None:
            return view
        across, down = view.shape[1] / size[0], view.shape[0] / size[1]
        return drawing.draw_box(view, [box[0] * across, box[1] * down, box[2] * across, box[3] * down])

    @cached_property
    def _env(self) -> HomeTaskEnv:
        """Made only for a target's box that the reviser did not note."""
        return self.make_env()

    def outcome_words(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """Yield the given and the right answer."""
        sure = "" if facts["confidence"] is None else f" ({facts['confidence']:.0%} sure)"
        yield f"answer: {facts['label'] or 'none'}{sure}"
        yield f"it is: {self.episode.category}"

    def aims(self, env: HomeTaskEnv) -> list[tuple[str, FloatArray, float]]:
        """The target."""
        return aims_of_things(env, (self.episode.target,))


class RecognitionRules(HomeRules):
    """Rules of an episode: name the object in the red box; one more look follows the last step.

    `decisions` plans are carried out whole, and the last look with the target in view answers. With protocol=published
    one step per plan, and the label of highest confidence over the episode, the first of equals.
    """

    has_last_look = True

    def __init__(self, env: HomeTaskEnv, parameters: TaskParameters, settings: LoopSettings) -> None:
        super().__init__(parameters.candidates, parameters.length, settings.tts_ratio)
        self.label: str | None = None
        self.confidence = float("-inf")
        self._decisions = parameters.decisions
        self._released = part_of(settings, RecognitionSettings).budget == "inclusive"
        self._published = self.plans_at_last_look = settings.protocol == "published"
        self._env = env

    def left(self, history: History) -> int:
        """Decisions of K that are left; at the last look none is."""
        return max(self._decisions - len(history), 0)

    def truncated(self, history: History) -> bool:
        """Whether K decisions are carried out."""
        return not self.left(history)

    def terminated_by(self, decision: Decision) -> str | None:
        """Stop when an answer is confident enough; keeps the answer that counts so far."""
        if decision.answer is None or decision.confidence is None:
            return None
        counts = decision.confidence > self.confidence if self._published else self._env.observe().box is not None
        if counts:
            self.label, self.confidence = decision.answer, decision.confidence
        return "confident" if self.confidence >= CONFIDENT else None

    def actions(self, decision: Decision) -> Iterator[Primitive]:
        """Yield the whole plan; with protocol=published its first primitive."""
        steps = () if decision.plan is None else decision.plan.steps
        return iter(steps[:1] if self._published else steps)

    def terminated_after_actions(self) -> str | None:
        """Stop when the target has left every view."""
        return None if self._env.target_around() else LOST

    def count_steps(self, steps: int, end: str) -> int:
        """Count all steps; the release does not count the one that loses the target."""
        return steps - (self._released and end == LOST)

    def true_value(self, plan: ActionPlan) -> float | None:
        """Return the clarity of the target after the plan, see `TargetVisibility`; None outside of homes and scans."""
        if self._meter is None:
            return None
        return self._meter.see(self._env.led_to(plan.turn_left_rad, plan.steps)).clarity

    @cached_property
    def _meter(self) -> VisibilityMeter | None:
        world, target, floor_m = self._env.world, self._env.target, self._env.stance.z
        if target is None or not isinstance(world, Home | Scan):
            return None
        return VisibilityMeter(world, target, floor_m)
