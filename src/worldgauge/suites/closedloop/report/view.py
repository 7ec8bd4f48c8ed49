"""What a report shows of an episode: the home or table, the shortest way, and where each subject's agent went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import FloatArray
from worldgauge.engine.suite.contract import Score, Task, TaskDetails, TaskView
from worldgauge.suites.closedloop.format.layout import (
    Episode,
    HomeEpisode,
    ManipulationEpisode,
    NavigationEpisode,
    QuestionEpisode,
    RecognitionEpisode,
)
from worldgauge.suites.closedloop.protocol import simulator_of, table_of
from worldgauge.suites.closedloop.scoring import HEADLINE
from worldgauge.suites.closedloop.settings import Settings
from worldgauge.suites.closedloop.simulator import Simulator
from worldgauge.suites.closedloop.tasks import episode_of
from worldgauge.worlds.tabletop.pose_plans import clip_plan
from worldgauge.worlds.walking.primitives import Steps

FRAMES = 28
"""Of what the expert does at a table."""
REACH_M = 1.0
"""How near the shortest way leads to what a question or a red box is about."""


def picture(task: Task, settings: Settings) -> TaskView:
    """The shortest way to what is asked for, as the agent would see it. Raises DataError when the data are gone."""
    episode, world = episode_of(task)
    if isinstance(episode, ManipulationEpisode):
        return _table(episode, world, settings)
    simulator = simulator_of(episode, world, settings.of_task(task.sample["kind"]), settings)
    steps: Steps = ()
    marks: dict[str, tuple[float, float]] = {}
    for name, place, radius_m in _aims(episode, simulator):
        marks[name] = (float(place[0]), float(place[1]))
        steps = steps or simulator.geodesic.steps_to(episode.start, simulator.geodesic.nearest(place), radius_m) or ()
    stances = [episode.start, *simulator.replayed(episode.start, steps)]
    if len(stances) == 1:
        stances *= 2
    poses = np.stack([simulator.pose(stance) for stance in stances])
    return TaskView(simulator.film(stances, simulator.camera), poses, 0, world, marks)


def exhibit(task: Task, scores: Mapping[str, Sequence[Score]], settings: Settings) -> TaskDetails:
    """Where each agent went, and how its episode ended."""
    episode, _ = episode_of(task)
    paths: dict[str, FloatArray] = {}
    diagnostics = {}
    for label, own in scores.items():
        head = next((score for score in own if score.metric == HEADLINE), None)
        if head is None:
            continue
        paths[label] = np.array(head.facts["xy"], np.float64)
        told = {"ended": head.facts["end"], "success_pct": head.value}
        told |= {
            key: head.facts[key]
            for key in ("label", "confidence", "answer", "mark", "blind_answer", "blind_mark", "distance_m", "progress")
            if key in head.facts
        }
        diagnostics[label] = told
    return TaskDetails(paths=paths, diagnostics=diagnostics, caption=_caption(episode))


def _table(episode: ManipulationEpisode, world: WorldFacts, settings: Settings) -> TaskView:
    """What the expert does, and where the things lie."""
    place = table_of(episode, world, settings.of_task("manipulation"))
    sight = place.observe()
    poses = sight.expert()
    told = clip_plan(sight.hand, np.array(poses), FRAMES)
    film = place.film(poses, told)
    ways = np.repeat(sight.pose[None], len(film), axis=0)
    ways[:, :3, 3] = told.poses[1:, :3]
    marks = {thing.name: (thing.place_m[0], thing.place_m[1]) for thing in sight.things}
    return TaskView(film, ways, 0, world, marks)


def _aims(episode: HomeEpisode, simulator: Simulator) -> list[tuple[str, FloatArray, float]]:
    """Name, place (2,) and radius of what is sought."""
    if isinstance(episode, NavigationEpisode):
        return [("goal", np.array([episode.goal.x, episode.goal.y]), episode.radius_m)]
    numbers = (episode.target,) if isinstance(episode, RecognitionEpisode) else episode.evidence
    things = [simulator.things[number] for number in numbers if number in simulator.things]
    return [(thing.name, (np.array(thing.low) + np.array(thing.high))[:2] / 2, REACH_M) for thing in things]


def _caption(episode: Episode) -> str:
    if isinstance(episode, RecognitionEpisode):
        return f"What is in the red box? {episode.category}"
    if isinstance(episode, QuestionEpisode):
        return f"{episode.question} {episode.answer}"
    if isinstance(episode, ManipulationEpisode):
        return episode.instruction.capitalize()
    return f"Go where the goal image was taken, {episode.step_to_goal} steps away"
