"""One episode: the place, the policies, the loop, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np

from worldgauge import polyline
from worldgauge.agents.chat import ChatModel
from worldgauge.agents.contract import Kit, Proposer, Reviser, proposers, revisers
from worldgauge.agents.judge import Judge, judges
from worldgauge.agents.language.endpoint import open_chat
from worldgauge.agents.language.low_level import ChatLowLevel
from worldgauge.agents.questions.travel import LowLevel, ahead
from worldgauge.datasets import closedloop
from worldgauge.datasets.closedloop import NavigationEpisode, QuestionEpisode, RecognitionEpisode
from worldgauge.episode import Goal, WorldFacts
from worldgauge.errors import DataError, NotApplicableError
from worldgauge.geometry import Camera, Panorama
from worldgauge.primitives import Primitive
from worldgauge.subject import HoldsVideos, WorldModel, imagines
from worldgauge.suites.closedloop.imagining import Imagination
from worldgauge.suites.closedloop.loop import Rules, Step, run_episode
from worldgauge.suites.closedloop.questioning import Questions
from worldgauge.suites.closedloop.rules import Navigation, Recognition
from worldgauge.suites.closedloop.settings import Defaults, Settings, TaskKind
from worldgauge.suites.closedloop.simulator import Simulator
from worldgauge.suites.closedloop.tasks import Episode, episode_of
from worldgauge.suites.closedloop.trace import SEEN, Tracer
from worldgauge.suites.contract import Bench, Record, Task
from worldgauge.worlds import open_world
from worldgauge.worlds.floor import Walkable
from worldgauge.worlds.indoor.homes import LABELS


def perform(task: Task, subject: WorldModel, bench: Bench, settings: Settings) -> Record:
    """Act out one episode with `subject` as the world model; the record holds its trace and what was seen.

    Raises NotApplicableError for finished videos, SubjectError when the model breaks its promise, and what a language
    model's endpoint raises: an outage fails the episode, it decides nothing.
    """
    if isinstance(subject, HoldsVideos):
        raise NotApplicableError(f"'{subject.spec.name}' holds finished videos: an agent asks as it goes")
    episode, world = episode_of(task)
    kind: TaskKind = task.sample["kind"]
    defaults = settings.of_task(kind)
    simulator = simulator_of(episode, world, defaults, settings)
    kit = kit_of(kind, defaults, settings)
    proposer, reviser = policies(kit, defaults)
    goal = goal_of(episode)
    rules = rules_of(episode, simulator, defaults, settings, bench.seed)
    imagine = None
    if imagines(subject):
        imagine = Imagination(subject, simulator, settings, defaults, world, bench.seed, task.id)
    with Tracer(bench.directory, simulator) as tracer:
        tracer.look()
        place = Watched(simulator, tracer, lambda: bench.progress(tracer.decisions, 0))
        end = _start_fault(simulator, kind)

        def note(step: Step) -> None:
            # What a language model was asked on the way: by the proposer, and by whoever carries a plan out, who
            # tells of all decisions so far.
            steps = asked_of(rules.low_level)[tracer.queries :] if isinstance(rules, Questions) else []
            tracer.queries += len(steps)
            tracer.decided(step, {"proposals": asked_of(proposer), "steps": steps})
            bench.progress(tracer.decisions, 0)

        if end is None:
            end = run_episode(place, goal, proposer, reviser, rules, imagine, [bench.seed], note)
        frames = tracer.frames
    xy = np.array([place[:2] for place in tracer.places])
    facts: dict[str, Any] = {
        "end": end,
        "control": subject.spec.control,
        "view": subject.spec.view,
        "proposer": defaults.proposer,
        "reviser": defaults.reviser,
        "track": settings.track,
        "leading_turns": settings.leading_turns,
        "decisions": tracer.decisions,
        "steps": rules.counted(len(xy) - 1, end),
        "metres": round(polyline.length(xy), 9),
        "xy": np.round(xy, 4).tolist(),
        "calls": 0 if imagine is None else imagine.calls,
        "frames_generated": frames,
        **outcome_of(episode, rules),
    }
    return Record(task, subject.spec.name, bench.directory, facts, SEEN)


def simulator_of(episode: Episode, world: WorldFacts, defaults: Defaults, settings: Settings) -> Simulator:
    """The home of an episode with a walker at its start."""
    height = settings.view_px
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


def _check_scene(episode: Episode, place: Walkable) -> None:
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
    options = {
        "seeds": settings.heuristic_seeds,
        "kind": settings.kind,
        "open_heading": settings.open_heading,
        "declared": settings.track == "declared_stop",
    }
    chat = None if settings.chat is None else _chat(settings)
    return Kit(kind, defaults.length, chat, settings.prompts, options)


def policies(kit: Kit, defaults: Defaults) -> tuple[Proposer[Any], Reviser[Any]]:
    """Proposer and reviser of a task."""
    return proposers.get(defaults.proposer)(kit), revisers.get(defaults.reviser)(kit)


def judge_of(settings: Settings) -> Judge:
    """Who marks answers."""
    return judges.get(settings.judge)(kit_of("questions", settings.of_task("questions"), settings))


def goal_of(episode: Episode) -> Goal:
    """What the agent is told."""
    if isinstance(episode, RecognitionEpisode):
        return Goal(target=str(episode.target), choices=LABELS)
    if isinstance(episode, NavigationEpisode):
        return Goal(image=closedloop.goal_image(episode))
    return Goal(text=episode.question)


def rules_of(episode: Episode, simulator: Simulator, defaults: Defaults, settings: Settings, seed: int) -> Rules:
    """The rules of the episode's task."""
    if isinstance(episode, RecognitionEpisode):
        return Recognition(simulator, defaults, settings)
    if isinstance(episode, NavigationEpisode):
        return Navigation(simulator, episode.goal, episode.radius_m, defaults, settings)
    low_level: LowLevel = ahead
    if defaults.reviser == "chat":
        rng = np.random.default_rng([seed, 0x10])
        low_level = ChatLowLevel(kit_of("questions", defaults, settings), episode.question, rng)
    return Questions(simulator, episode.evidence, defaults, settings, seed, low_level)


def outcome_of(episode: Episode, rules: Rules) -> dict[str, Any]:
    """What came of it, for the scores: plain JSON values."""
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


def _start_fault(simulator: Simulator, kind: TaskKind) -> str | None:
    """Why an episode cannot begin: a target that nobody sees. It is scored as wrong, and walks no steps."""
    if kind == "recognition" and simulator.observe().box is None:
        return "unseen"
    return None


class Watched:
    """The simulator, with every step traced."""

    def __init__(self, simulator: Simulator, tracer: Tracer, alive: Callable[[], None]) -> None:
        self._simulator = simulator
        self._tracer = tracer
        self._alive = alive
        self.observe = simulator.observe

    def turn(self, left_rad: float) -> None:
        """Turn on the spot, and look."""
        self._simulator.turn(left_rad)
        self._tracer.look()

    def step(self, primitive: Primitive) -> bool:
        """Take one step; whether it met something."""
        collided = self._simulator.step(primitive)
        self._tracer.stepped()
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
