"""What the tasks of an agent that walks through a home share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeVar, cast

import numpy as np

from worldgauge.core.episode import Context, WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.image import Image
from worldgauge.core.model import RolloutRequest, View, WorldModel, require
from worldgauge.core.panorama import Rule, rolled
from worldgauge.core.video import Clip
from worldgauge.engine.options import option, part_of
from worldgauge.engine.suite.contract import TaskView
from worldgauge.engine.suite.rollout import fit_context, fit_truth
from worldgauge.suites.worldinworld.format.contract import HomeEpisode
from worldgauge.suites.worldinworld.home_env import HomeSight, HomeTaskEnv
from worldgauge.suites.worldinworld.loop import FALLBACK, Imagination, Rules
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, Depth, History, HomeObservation, Rollout
from worldgauge.suites.worldinworld.task import ClosedLoopTask, LoopSettings, TaskParameters, TaskSettings
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.floor import Walkable
from worldgauge.worlds.walking.ground import ground_of
from worldgauge.worlds.walking.primitives import (
    NAV_STEPS,
    QUARTER_TURN,
    Leading,
    NavControl,
    Primitive,
    Stance,
    Steps,
    as_actions,
    from_letters,
    leading_turns,
    nav_control,
    poses_of,
    render_text,
)


@dataclass(frozen=True)
class HomeSettings:
    """Settings of all of them."""

    RELEASED: ClassVar[Mapping[str, str]] = {"panorama_rule": "released"}

    leading_turns: Literal["exact", "model"] = option(
        "exact", "First turns of a plan: by the real panorama (exact), or the model."
    )
    panorama_px: int = option(1024, "Width of panoramas in pixels. Height: 9/16 of it.", low=64, high=4096)
    panorama_rule: Literal["clean", "released"] = option("clean", "How views are cut out of panoramas.")
    sliding: Literal["on", "off"] | None = option(
        None, "Scans: slide along walls or stop. Default: slide in published episodes only."
    )


def sliding_of(settings: Any) -> bool | None:
    """Whether walkers slide along walls; None for the world's own rule."""
    given = part_of(settings, HomeSettings).sliding
    return None if given is None else given == "on"


@dataclass(frozen=True)
class StepSettings(HomeSettings):
    """Settings of those whose plans are steps that a heuristic can draw."""

    RELEASED: ClassVar[Mapping[str, str]] = {**HomeSettings.RELEASED, "budget": "inclusive", "heuristic_seeds": "zero"}

    budget: Literal["paper", "inclusive"] = option(
        "paper", "Counting of decisions and steps against K: paper, or released."
    )
    heuristic_seeds: Literal["decision", "zero"] = option(
        "decision", "Seed of the proposer heuristic: new per decision, or 0 as released."
    )


FULL_TURN = 3 * QUARTER_TURN
"""Turns after a plan that show its end in all four directions."""


class HomeImagination(Imagination):
    """Queries a world model for rollouts of all plans of a decision; a walker's model sees the present view only."""

    def __init__(
        self,
        model: WorldModel,
        simulator: HomeTaskEnv,
        settings: LoopSettings,
        parameters: TaskParameters,
        world: WorldFacts,
        seed: int,
        task: str,
    ) -> None:
        super().__init__(model)
        self._simulator = simulator
        own = part_of(settings, HomeSettings)
        self._leading: Leading = own.leading_turns
        self._clip = parameters.clip
        self._turns = FULL_TURN if parameters.turns_around and model.spec.view == "perspective" else 0
        self._rule: Rule = own.panorama_rule
        self._world = world
        self._seed = seed
        self._task = task
        self.caption = simulator.observe().caption
        require(model.spec, {"actions", "poses", "text", *(["caption"] if self.caption else [])}, NAV_STEPS.name)

    def __call__(self, observation: HomeObservation, plans: Sequence[ActionPlan], number: int) -> list[Rollout]:
        """A rollout for each plan, in order."""
        asks = [self._prepared(observation, plan, number, n) for n, plan in enumerate(plans)]
        answers = iter(self._query([ask.request for ask in asks if ask.request is not None]))
        return [ask.rollout(None if ask.request is None else next(answers), self._model, self._rule) for ask in asks]

    def _prepared(self, observation: HomeObservation, plan: ActionPlan, number: int, candidate: int) -> _Ask:
        spec, simulator = self._model.spec, self._simulator
        start = simulator.stance.turned(plan.turn_left_rad)
        rest = leading_turns(plan.steps)[1] if self._leading == "exact" else plan.steps
        if self._turns:
            control = nav_control(
                plan.steps, 1 + len(rest) + self._turns, leading=self._leading, padding=Primitive.TURN_LEFT
            )
        else:
            control = nav_control(plan.steps, 1 + max(len(rest), self._clip), leading=self._leading)
        lead = control.leading
        turns = simulator.replayed(start, plan.steps[:lead])
        here = turns[-1] if turns else start
        asked = control.steps
        poses = simulator.pose(here)[None]
        sights = [simulator.sight(stance) for stance in (start, *turns)]
        camera: Camera | Panorama
        if spec.view == "panorama":
            camera = simulator.panorama
            # After turning on the spot the panorama is the same one, rolled.
            views = [rolled(observation.panorama, _right_deg(simulator, stance)) for stance in (start, *turns)]
        else:
            camera = simulator.camera
            views = [sight.front for sight in sights]
        real = Clip.from_array(np.stack(views), NAV_STEPS.fps)
        own = "depth" in spec.inputs and spec.frame_size is None and spec.crop is None
        depth = partial(_depth_of, sights[-1], observation, simulator, spec.view) if own else None
        context = Context(real[lead:], poses, as_actions(()), camera, depth)
        taken = fit_context(context, spec, None, None if own else self._world, in_steps=True)
        shown = fit_truth(real, spec)
        seen_with = taken.camera if isinstance(taken.camera, Camera) else simulator.camera
        head = _Ask(shown.to_array(), plan, control, spec.view, seen_with, None)
        if not asked:
            return head
        stances = simulator.replayed(here, asked) if "truth" in spec.inputs else []
        path = np.stack([simulator.pose(stance) for stance in stances]) if stances else None
        ahead = poses_of(asked, poses[0])
        request = RolloutRequest(
            context=taken,
            horizon=len(asked),
            seed=int(np.random.SeedSequence([self._seed, number, candidate]).generate_state(1)[0]),
            actions=as_actions(asked),
            poses=ahead,
            text=render_text(simulator.text_renderer, steps=asked),
            caption=sights[-1].caption,
            world=self._world if "world" in spec.inputs else None,
            truth=fit_truth(simulator.film(stances, camera), spec) if stances else None,
            truth_poses=path,
            task=f"{self._task}.{number}.{candidate}",
        )
        return replace(head, request=request)


@dataclass(frozen=True)
class _Ask:
    """A plan and the request made for it, with the real frames before it: frame 0 and leading turns."""

    real: Image
    plan: ActionPlan
    control: NavControl
    view: View
    camera: Camera
    request: RolloutRequest | None

    def rollout(self, frames: Image | None, imagined_by: WorldModel, rule: Rule) -> Rollout:
        """Join real and imagined frames to one clip."""
        whole = self.real if frames is None else np.concatenate([self.real, frames])
        lead = self.control.leading
        return Rollout(
            whole,
            self.view,
            self.camera,
            np.concatenate([np.arange(lead), self.control.frame_to_action]),
            self.control.display_len,
            exact=1 + lead,
            # With text as the action, no frame belongs to a step.
            aligned=imagined_by.spec.control != "text",
            model=imagined_by.spec.name,
            # What a reviser reads is what the model was driven by.
            text="" if self.request is None or imagined_by.spec.control != "text" else self.request.text or "",
            rule=rule,
        )


def _depth_of(sight: HomeSight, observation: HomeObservation, simulator: HomeTaskEnv, view: View, index: int) -> Depth:
    """Return the depth of the one frame of a context. A panorama turned by whole pixels is the real one, rolled."""
    if view == "perspective":
        return sight.depth("front")
    right = _right_deg(simulator, sight.stance)
    if float(right * simulator.panorama.width / 360).is_integer():
        return rolled(observation.panorama_depth, right, nearest=True)
    return sight.panorama_depth


def _right_deg(simulator: HomeTaskEnv, stance: Stance) -> float:
    """Return the turn of `stance` from the walker's heading; rounded, so that turns of 22.5 degrees are exact."""
    return round(math.degrees(simulator.stance.yaw - stance.yaw), 9)


HomeEpisodeT = TypeVar("HomeEpisodeT", bound=HomeEpisode)
HomeRulesT = TypeVar("HomeRulesT", bound="HomeRules")
REACH_M = 1.0
"""Radius around the goal object of a question or a red box, for the shortest path in reports."""


class HomeRules(Rules[Primitive]):
    """Rules of a walker."""

    unit: ClassVar[str] = "decisions"

    def left(self, history: History) -> int | None:
        """What is left of the budget, in `unit`; None where the rules do not tell."""
        return None

    def fallback(self, observation: HomeObservation, rng: np.random.Generator) -> ActionPlan:
        """Return L steps forward, flagged."""
        return ActionPlan((Primitive.FORWARD,) * self.length, "straight on", flags=(FALLBACK,))


class HomeTask(ClosedLoopTask[HomeEpisodeT, HomeTaskEnv, HomeRulesT]):
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

    def make_env(self) -> HomeTaskEnv:
        """Make the home with a walker at the episode's start."""
        episode, height = self.episode, self.parameters.view_px
        panorama_px = part_of(self.settings, HomeSettings).panorama_px
        world = cast(Walkable, open_world(self.world))
        self.check_scene(world)
        return HomeTaskEnv(
            world,
            episode.start,
            camera=Camera.from_horizontal_fov(round(height * self.parameters.aspect), height, self.hfov_deg),
            panorama=Panorama(panorama_px, panorama_px * 9 // 16),
            height_m=episode.height_m,
            target=self.target,
            sliding=sliding_of(self.settings),
        )

    def check_scene(self, world: Walkable) -> None:
        """Check that the episode belongs to this scene, so that a wrong scene never gets a score."""
        episode = self.episode
        if not ground_of(world, sliding_of(self.settings)).stands(episode.start.at):
            raise DataError(
                f"{episode.id}: its start ({episode.start.x:.2f}, {episode.start.y:.2f}) is no place to stand in "
                f"'{episode.scene}'; correct start_position or leave the episode out"
            )

    def imagination(self, model: WorldModel, env: HomeTaskEnv, seed: int, task_id: str) -> HomeImagination:
        """Return what asks the world model, without leading turns."""
        return HomeImagination(model, env, self.settings, self.parameters, self.world, seed, task_id)

    def simulated(
        self, env: HomeTaskEnv, line: Mapping[str, Any], candidate: Mapping[str, Any], camera: Camera
    ) -> Clip:
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
    def aims(self, env: HomeTaskEnv) -> list[tuple[str, FloatArray, float]]:
        """Return name, place (3,) in metres and radius in metres of each goal."""


def aims_of_things(env: HomeTaskEnv, numbers: Sequence[int]) -> list[tuple[str, FloatArray, float]]:
    """Return name, centre (3,) in metres and radius in metres of those objects that are in the home."""
    things = [env.things[number] for number in numbers if number in env.things]
    return [(thing.name, (np.array(thing.low) + np.array(thing.high)) / 2, REACH_M) for thing in things]
