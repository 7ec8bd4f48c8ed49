"""One episode: the place, the policies, the loop, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np

from worldgauge.chat.client import ChatModel
from worldgauge.chat.endpoint import open_chat
from worldgauge.core import polyline
from worldgauge.core.episode import Goal, WorldFacts
from worldgauge.core.errors import DataError, NotApplicableError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.core.model import HoldsVideos, WorldModel, imagines
from worldgauge.engine.suite.contract import Record, Task, TaskContext
from worldgauge.suites.closedloop.format import layout as closedloop
from worldgauge.suites.closedloop.format.layout import (
    Episode,
    HomeEpisode,
    ManipulationEpisode,
    NavigationEpisode,
    QuestionEpisode,
    RecognitionEpisode,
)
from worldgauge.suites.closedloop.imagination import Imagination
from worldgauge.suites.closedloop.loop import Imagine, Rules, Step, run_episode
from worldgauge.suites.closedloop.manipulation.episode import Manipulation
from worldgauge.suites.closedloop.manipulation.imagination import TableImagination
from worldgauge.suites.closedloop.manipulation.place import TablePlace
from worldgauge.suites.closedloop.policies.contract import Kit, Proposer, Reviser, proposers, revisers
from worldgauge.suites.closedloop.policies.low_level import ChatLowLevel
from worldgauge.suites.closedloop.questions.judge import Judge, judges
from worldgauge.suites.closedloop.questions.rules import Questions
from worldgauge.suites.closedloop.questions.travel import LowLevel, ahead
from worldgauge.suites.closedloop.rules import Navigation, Recognition
from worldgauge.suites.closedloop.settings import Defaults, Settings, TaskKind
from worldgauge.suites.closedloop.simulator import Simulator
from worldgauge.suites.closedloop.tasks import episode_of
from worldgauge.suites.closedloop.trace import SEEN, Tracer
from worldgauge.worlds import open_world
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.tabletop.world import Tabletop
from worldgauge.worlds.walking.floor import Walkable


def perform(task: Task, subject: WorldModel, task_context: TaskContext, settings: Settings) -> Record:
    """Act out one episode with `subject` as the world model; the record holds its trace and what was seen.

    Raises NotApplicableError for finished videos, SubjectError when the model breaks its promise, and what a language
    model's endpoint raises: an outage fails the episode, it decides nothing.
    """
    if isinstance(subject, HoldsVideos):
        raise NotApplicableError(f"'{subject.spec.name}' holds finished videos: an agent asks as it goes")
    episode, world = episode_of(task)
    kind: TaskKind = task.sample["kind"]
    defaults = settings.of_task(kind)
    kit = kit_of(kind, defaults, settings)
    proposer, reviser = policies(kit, defaults)
    place = place_of(episode, world, defaults, settings)
    goal = goal_of(episode, place)
    rules = rules_of(episode, place, defaults, settings, task_context.seed)
    imagine: Imagine | None = None
    if imagines(subject) and isinstance(place, TablePlace):
        assert isinstance(episode, ManipulationEpisode)
        imagine = TableImagination(subject, place, defaults, world, episode.instruction, task_context.seed, task.id)
    elif imagines(subject) and isinstance(place, Simulator):
        imagine = Imagination(subject, place, settings, defaults, world, task_context.seed, task.id)
    with Tracer(task_context.directory, place) as tracer:
        watched = Watched(place, tracer, lambda: task_context.progress(tracer.decisions, 0), _remembering(imagine))
        end = _start_fault(place, kind)

        def note(step: Step) -> None:
            # What a language model was asked on the way: by the proposer, and by whoever carries a plan out, who
            # tells of all decisions so far.
            steps = asked_of(rules.low_level)[tracer.queries :] if isinstance(rules, Questions) else []
            tracer.queries += len(steps)
            tracer.decided(step, {"proposals": asked_of(proposer), "steps": steps})
            task_context.progress(tracer.decisions, 0)

        if end is None:
            end = run_episode(watched, goal, proposer, reviser, rules, imagine, [task_context.seed], note)
        frames = tracer.frames
    way = np.array(tracer.places)
    facts: dict[str, Any] = {
        "end": end,
        "control": subject.spec.control,
        "view": subject.spec.view,
        "proposer": defaults.proposer,
        "reviser": defaults.reviser,
        "track": settings.track,
        "leading_turns": settings.leading_turns,
        "decisions": tracer.decisions,
        "steps": rules.counted(len(way) - 1, end),
        "metres": round(polyline.length(way), 9),
        "xy": np.round(way[:, :2], 4).tolist(),
        "calls": 0 if imagine is None else imagine.calls,
        "frames_generated": frames,
        **outcome_of(episode, rules, place),
    }
    return Record(task, subject.spec.name, task_context.directory, facts, SEEN)


def place_of(episode: Episode, world: WorldFacts, defaults: Defaults, settings: Settings) -> Simulator | TablePlace:
    """The home or the table of an episode, at its start. Raises DataError for an episode that is of another scene."""
    if not isinstance(episode, ManipulationEpisode):
        return simulator_of(episode, world, defaults, settings)
    return table_of(episode, world, defaults)


def table_of(episode: ManipulationEpisode, world: WorldFacts, defaults: Defaults) -> TablePlace:
    """The table of an episode, nothing moved. Raises DataError for an episode that is of another scene."""
    table = open_world(world)
    meant = {"task": episode.table_task, "variation": episode.variation}
    named = {name: world.params.get(name) for name in meant}
    if not isinstance(table, Tabletop) or named != meant or table.task.instruction != episode.instruction:
        raise DataError(
            f"{episode.id}: '{episode.scene}' is no table of {episode.table_task} {episode.variation} on which to "
            f"{episode.instruction}; correct the trial, or collect again"
        )
    return TablePlace(table, defaults.view_px)


def simulator_of(episode: HomeEpisode, world: WorldFacts, defaults: Defaults, settings: Settings) -> Simulator:
    """The home of an episode with a walker at its start."""
    height = defaults.view_px
    hfov_deg = episode.hfov_deg if isinstance(episode, QuestionEpisode) else defaults.hfov_deg
    camera = Camera.from_horizontal_fov(round(height * defaults.aspect), height, hfov_deg)
    panorama = Panorama(settings.panorama_px, settings.panorama_px * 9 // 16)
    target = episode.target if isinstance(episode, RecognitionEpisode) else None
    place = cast(Walkable, open_world(world))
    _check_scene(episode, place)
    return Simulator(
        place,
        episode.start,
        camera=camera,
        panorama=panorama,
        height_m=episode.floor_m + episode.height_m,
        target=target,
    )


def _check_scene(episode: HomeEpisode, place: Walkable) -> None:
    """Raises DataError for an episode that is of another scene: it must not become a score."""
    if place.floor.clearance_at(np.array(episode.start[:2])) <= 0:
        raise DataError(
            f"{episode.id}: its start ({episode.start.x:.2f}, {episode.start.y:.2f}) is no place to stand in "
            f"'{episode.scene}'; correct start_position or leave the episode out"
        )
    if isinstance(episode, RecognitionEpisode):
        known = {thing.instance: thing.category for thing in place.landmarks}
        if known.get(episode.target) != episode.category:
            found = known.get(episode.target, "nothing")
            raise DataError(
                f"{episode.id}: target_id {episode.target} is {found} in '{episode.scene}', not {episode.category}; "
                "correct target_id or target_categrory"
            )


def kit_of(kind: TaskKind, defaults: Defaults, settings: Settings) -> Kit:
    """What the policies of a task are made of."""
    options: dict[str, Any] = {
        "seeds": settings.heuristic_seeds,
        "kind": settings.kind,
        "open_heading": settings.open_heading,
        "declared": settings.track == "declared_stop",
        "noise_m": settings.expert_noise_m,
        "wrong": settings.expert_wrong,
        "demonstrations": settings.demonstrations,
        "moves": settings.cloned_moves,
        "policy": settings.policy,
        "revision": settings.revision,
        "lpips": settings.lpips,
        "landmarks": settings.landmarks,
        "tracker": settings.tracker,
    }
    options = {name: value for name, value in options.items() if value is not None}
    chat = None if settings.chat is None else _chat(settings)
    return Kit(kind, defaults.length, chat, settings.prompts, options)


def policies(kit: Kit, defaults: Defaults) -> tuple[Proposer[Any], Reviser[Any]]:
    """Proposer and reviser of a task."""
    return proposers.get(defaults.proposer)(kit), revisers.get(defaults.reviser)(kit)


def judge_of(settings: Settings) -> Judge:
    """Who marks answers."""
    return judges.get(settings.judge)(kit_of("questions", settings.of_task("questions"), settings))


def goal_of(episode: Episode, place: Simulator | TablePlace) -> Goal:
    """What the agent is told."""
    if isinstance(episode, ManipulationEpisode):
        assert isinstance(place, TablePlace)
        before, after = place.goal_picture()
        return Goal(image=after, text=episode.instruction, before=before)
    if isinstance(episode, RecognitionEpisode):
        return Goal(target=str(episode.target), choices=LABELS)
    if isinstance(episode, NavigationEpisode):
        return Goal(image=closedloop.goal_image(episode))
    return Goal(text=episode.question)


def rules_of(
    episode: Episode, simulator: Simulator | TablePlace, defaults: Defaults, settings: Settings, seed: int
) -> Rules[Any]:
    """The rules of the episode's task."""
    if isinstance(simulator, TablePlace):
        return Manipulation(simulator, defaults, settings)
    assert not isinstance(episode, ManipulationEpisode)
    if isinstance(episode, RecognitionEpisode):
        return Recognition(simulator, defaults, settings)
    if isinstance(episode, NavigationEpisode):
        return Navigation(simulator, episode.goal, episode.radius_m, defaults, settings)
    low_level: LowLevel = ahead
    if defaults.reviser == "chat":
        rng = np.random.default_rng([seed, 0x10])
        low_level = ChatLowLevel(kit_of("questions", defaults, settings), episode.question, rng)
    return Questions(simulator, episode.evidence, defaults, settings, seed, low_level)


def outcome_of(episode: Episode, rules: Rules[Any], place: Simulator | TablePlace) -> dict[str, Any]:
    """What came of it, for the scores: plain JSON values."""
    if isinstance(place, TablePlace):
        failed = [reason for reason in place.reasons if reason is not None]
        return {"progress": round(place.progress, 6), "unstable": place.unstable, "failed_poses": failed}
    if isinstance(rules, Recognition):
        return {"label": rules.label, "confidence": rules.confidence if rules.label is not None else None}
    if isinstance(rules, Navigation):
        metres = rules.distance_m()
        return {"arrived": rules.arrived(), "distance_m": round(metres, 6) if metres < float("inf") else None}
    assert isinstance(rules, Questions)
    return {"answer": rules.answer}


def asked_of(policy: object) -> list[Any]:
    """Notes of what a policy asked a language model; none of one that asks none."""
    return list(getattr(policy, "asked", ()))


def _remembering(imagine: Imagine | None) -> Callable[[], None]:
    """What a model of the table is to see beside the decisions."""
    return imagine.remember if isinstance(imagine, TableImagination) else lambda: None


def _start_fault(place: Simulator | TablePlace, kind: TaskKind) -> str | None:
    """Why an episode cannot begin: a target that nobody sees. It is scored as wrong, and walks no steps."""
    if isinstance(place, Simulator) and kind == "recognition" and place.observe().box is None:
        return "unseen"
    return None


class Watched:
    """The simulator, with every step traced. remember: called at the start and after every step."""

    def __init__(
        self,
        place: Simulator | TablePlace,
        tracer: Tracer,
        alive: Callable[[], None],
        remember: Callable[[], None],
    ) -> None:
        self._place: Any = place
        self._tracer = tracer
        self._alive = alive
        self._remember = remember
        self.observe = place.observe
        tracer.look()
        remember()

    def turn(self, left_rad: float) -> None:
        """Turn on the spot, and look."""
        self._place.turn(left_rad)
        self._tracer.look()

    def step(self, action: Any) -> bool:
        """Take one step; whether it met something."""
        collided = bool(self._place.step(action))
        self._tracer.stepped()
        self._remember()
        self._alive()
        return collided


@lru_cache(maxsize=2)
def _chat(settings: Settings) -> ChatModel:
    """One for all episodes of a worker: its limits on calls a minute hold for all of them."""
    assert settings.chat is not None
    given, got = settings.prices
    return open_chat(
        settings.chat,
        settings.chat_recording,
        replay=settings.chat_replay,
        input_price=given,
        output_price=got,
        budget=settings.chat_budget,
        key_env=settings.chat_key_env,
    )
