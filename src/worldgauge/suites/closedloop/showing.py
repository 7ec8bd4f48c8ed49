"""What a report shows of an episode: the home, the shortest way, and where each subject's agent went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from worldgauge.datasets.closedloop import NavigationEpisode, QuestionEpisode, RecognitionEpisode
from worldgauge.geometry import FloatArray
from worldgauge.primitives import Steps
from worldgauge.suites.closedloop.protocol import simulator_of
from worldgauge.suites.closedloop.scoring import HEADLINE
from worldgauge.suites.closedloop.settings import Settings
from worldgauge.suites.closedloop.simulator import Simulator
from worldgauge.suites.closedloop.tasks import Episode, episode_of
from worldgauge.suites.contract import Exhibit, Picture, Score, Task

REACH_M = 1.0
"""How near the shortest way leads to what a question or a red box is about."""


def picture(task: Task, settings: Settings) -> Picture:
    """The shortest way to what is asked for, as the agent would see it. Raises DataError when the data are gone."""
    episode, world = episode_of(task)
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
    return Picture(simulator.film(stances, simulator.camera), poses, 0, world, marks)


def exhibit(task: Task, scores: Mapping[str, Sequence[Score]], settings: Settings) -> Exhibit:
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
            for key in ("label", "confidence", "answer", "mark", "blind_answer", "blind_mark", "distance_m")
            if key in head.facts
        }
        diagnostics[label] = told
    return Exhibit(paths=paths, diagnostics=diagnostics, caption=_caption(episode))


def _aims(episode: Episode, simulator: Simulator) -> list[tuple[str, FloatArray, float]]:
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
    return f"Go where the goal image was taken, {episode.step_to_goal} steps away"
