"""What the tasks of an agent that walks through a home share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.model import WorldModel
from worldgauge.core.video import Clip
from worldgauge.engine.options import part_of
from worldgauge.engine.suite.contract import TaskView
from worldgauge.suites.closedloop.format.episode import HomeEpisode
from worldgauge.suites.closedloop.home.env import HomeEnv
from worldgauge.suites.closedloop.home.imagination import HomeImagination
from worldgauge.suites.closedloop.home.settings import HomeSettings, sliding_of
from worldgauge.suites.closedloop.loop import FALLBACK, Rules
from worldgauge.suites.closedloop.policies.contract import ActionPlan, History, HomeObservation
from worldgauge.suites.closedloop.task import ClosedLoopTask, TaskSettings
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.floor import Walkable
from worldgauge.worlds.walking.ground import ground_of
from worldgauge.worlds.walking.primitives import Primitive, Steps, from_letters
from worldgauge.worlds.walking.stance import Stance

HomeEpisodeT = TypeVar("HomeEpisodeT", bound=HomeEpisode)
HomeRulesT = TypeVar("HomeRulesT", bound="HomeRules")
REACH_M = 1.0
"""Radius around the goal object of a question or a red box, for the shortest path in reports."""


class HomeRules(Rules[Primitive]):
    """Rules of a walker.

    Attributes:
        unit: What the budget counts, in the plural.
    """

    unit: ClassVar[str] = "decisions"

    def left(self, history: History) -> int | None:
        """What is left of the budget, in `unit`; None where the rules do not tell."""
        return None

    def fallback(self, observation: HomeObservation, rng: np.random.Generator) -> ActionPlan:
        """Return `straight_on`."""
        return straight_on(self.length)


def straight_on(length: int) -> ActionPlan:
    """Return a walker's fallback plan: L steps forward, flagged."""
    return ActionPlan((Primitive.FORWARD,) * length, "straight on", flags=(FALLBACK,))


class HomeTask(ClosedLoopTask[HomeEpisodeT, HomeEnv, HomeRulesT]):
    """A task of a walker in a home."""

    OwnSettings: ClassVar[type[TaskSettings]] = HomeSettings
    noted_settings: ClassVar[tuple[str, ...]] = ("leading_turns",)

    @property
    def target(self) -> int | None:
        """The object that the episode is about, shown in a red box; None without one."""
        return None

    @property
    def hfov_deg(self) -> float:
        """Horizontal field of view of the views, degrees."""
        return self.parameters.hfov_deg

    def make_env(self) -> HomeEnv:
        """Make the home with a walker at the episode's start."""
        episode, height = self.episode, self.parameters.view_px
        panorama_px = part_of(self.settings, HomeSettings).panorama_px
        world = cast(Walkable, open_world(self.world))
        self.check_scene(world)
        return HomeEnv(
            world,
            episode.start,
            camera=Camera.from_horizontal_fov(round(height * self.parameters.aspect), height, self.hfov_deg),
            panorama=Panorama(panorama_px, panorama_px * 9 // 16),
            height_m=episode.height_m,
            target=self.target,
            sliding=sliding_of(self.settings),
        )

    def check_scene(self, world: Walkable) -> None:
        """Check that the episode belongs to this scene, so that a wrong scene never gets a score.

        Raises:
            DataError: If it does not.
        """
        episode = self.episode
        if not ground_of(world, sliding_of(self.settings)).stands(episode.start.at):
            raise DataError(
                f"{episode.id}: its start ({episode.start.x:.2f}, {episode.start.y:.2f}) is no place to stand in "
                f"'{episode.scene}'; correct start_position or leave the episode out"
            )

    def imagination(self, subject: WorldModel, env: HomeEnv, seed: int, task_id: str) -> HomeImagination:
        """Return what asks the world model, without leading turns."""
        return HomeImagination(subject, env, self.settings, self.parameters, self.world, seed, task_id)

    def simulated(self, env: HomeEnv, line: Mapping[str, Any], candidate: Mapping[str, Any], camera: Camera) -> Clip:
        """Return the true frames of a candidate after its leading turns; see `ClosedLoopTask.simulated`."""
        start = Stance(*line["stance"]).turned(candidate["turn_left_rad"])
        stances = env.replayed(start, from_letters(candidate["steps"]))
        return env.film(stances[candidate["exact"] :], camera)

    def view(self) -> TaskView:
        """The shortest path to the goal."""
        env, start = self.make_env(), self.episode.start
        steps: Steps = ()
        marks: dict[str, tuple[float, float]] = {}
        for name, place, radius_m in self.aims(env):
            marks[name] = (float(place[0]), float(place[1]))
            steps = steps or env.ground.steps_to(start, env.ground.nearest(place), radius_m) or ()
        stances = [start, *env.replayed(start, steps)]
        if len(stances) == 1:
            stances *= 2
        poses = np.stack([env.pose(stance) for stance in stances])
        return TaskView(env.film(stances, env.camera), poses, 0, self.world, marks)

    @abstractmethod
    def aims(self, env: HomeEnv) -> list[tuple[str, FloatArray, float]]:
        """Return name, place (3,) in metres and radius in metres of each goal."""


def aims_of_things(env: HomeEnv, numbers: Sequence[int]) -> list[tuple[str, FloatArray, float]]:
    """Return name, centre (3,) in metres and radius in metres of those objects that are in the home."""
    things = [env.things[number] for number in numbers if number in env.things]
    return [(thing.name, (np.array(thing.low) + np.array(thing.high)) / 2, REACH_M) for thing in things]
