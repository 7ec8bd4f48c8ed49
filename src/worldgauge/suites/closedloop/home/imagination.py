"""Rollouts of plans of a walker: one batch of requests to the world model per decision, without leading turns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from worldgauge.core.episode import Context, WorldFacts
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.core.image import Image
from worldgauge.core.model import RolloutRequest, View, WorldModel, require
from worldgauge.core.panorama import Rule, rolled
from worldgauge.core.video import Clip
from worldgauge.engine.options import part_of
from worldgauge.engine.suite.rollout import fit_context, fit_truth, frames_made
from worldgauge.engine.suite.speed import Stopwatch
from worldgauge.suites.closedloop.home.env import HomeEnv, HomeSight
from worldgauge.suites.closedloop.home.settings import HomeSettings
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Depth, HomeObservation, Rollout
from worldgauge.suites.closedloop.task import Settings, TaskParameters
from worldgauge.worlds import caption_of
from worldgauge.worlds.walking.primitives import (
    NAV_STEPS,
    QUARTER_TURN,
    Leading,
    NavControl,
    Primitive,
    as_actions,
    leading_turns,
    nav_control,
    poses_of,
    render_text,
)
from worldgauge.worlds.walking.stance import Stance

FULL_TURN = 3 * QUARTER_TURN
"""Turns after a plan that show its end in all four directions."""


class HomeImagination:
    """Asks a world model for rollouts of all plans of a decision.

    Attributes:
        calls: Rollouts asked for so far.
        asked: Frames asked for so far.
        made: Frames that the model made for them: more where it declares lengths.
        speed: Measures the answers.
    """

    def __init__(
        self,
        subject: WorldModel,
        simulator: HomeEnv,
        settings: Settings,
        parameters: TaskParameters,
        world: WorldFacts,
        seed: int,
        task: str,
    ) -> None:
        self._subject = subject
        self._simulator = simulator
        own = part_of(settings, HomeSettings)
        self._leading: Leading = own.leading_turns
        self._clip = parameters.clip
        self._turns = FULL_TURN if parameters.turns_around and subject.spec.view == "perspective" else 0
        self._rule: Rule = own.panorama_rule
        self._world = world
        self._seed = seed
        self._task = task
        self._caption = caption_of(world)
        require(subject.spec, {"actions", "poses", "text", *(["caption"] if self._caption else [])}, NAV_STEPS.name)
        self.calls = self.asked = self.made = 0
        self.speed = Stopwatch()

    def remember(self) -> None:
        """Do nothing: a walker's model is only shown the present view."""

    def __call__(self, observation: HomeObservation, plans: Sequence[ActionPlan], number: int) -> list[Rollout]:
        """A rollout for each plan, in order.

        Raises:
            SubjectError: When the model breaks its contract.
        """
        asks = [self._prepared(observation, plan, number, n) for n, plan in enumerate(plans)]
        requests = [ask.request for ask in asks if ask.request is not None]
        answers = iter(self.speed.batch(self._subject, requests))
        self.calls += len(requests)
        self.asked += sum(request.horizon for request in requests)
        self.made += sum(frames_made(self._subject.spec, request.horizon) for request in requests)
        return [ask.rollout(None if ask.request is None else next(answers), self._subject, self._rule) for ask in asks]

    def _prepared(self, observation: HomeObservation, plan: ActionPlan, number: int, candidate: int) -> _Ask:
        spec, simulator = self._subject.spec, self._simulator
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
            views = [_turned(observation.panorama, simulator, stance) for stance in (start, *turns)]
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
            caption=self._caption,
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

    def rollout(self, frames: Image | None, subject: WorldModel, rule: Rule) -> Rollout:
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
            aligned=subject.spec.control != "text",
            model=subject.spec.name,
            seed=0 if self.request is None else self.request.seed,
            # What a reviser reads is what the model was driven by.
            text="" if self.request is None or subject.spec.control != "text" else self.request.text or "",
            rule=rule,
        )


def _turned(panorama: Image, simulator: HomeEnv, stance: Stance) -> Image:
    """Return the panorama after turning on the spot: the same one, rolled."""
    return rolled(panorama, _right_deg(simulator, stance))


def _depth_of(sight: HomeSight, observation: HomeObservation, simulator: HomeEnv, view: View, index: int) -> Depth:
    """Return the depth of the one frame of a context. A panorama turned by whole pixels is the real one, rolled."""
    if view == "perspective":
        return sight.depth("front")
    right = _right_deg(simulator, sight.stance)
    if float(right * simulator.panorama.width / 360).is_integer():
        return rolled(observation.panorama_depth, right, nearest=True)
    return sight.panorama_depth


def _right_deg(simulator: HomeEnv, stance: Stance) -> float:
    """Return the turn of `stance` from the walker's heading; rounded, so that turns of 22.5 degrees are exact."""
    return round(math.degrees(simulator.stance.yaw - stance.yaw), 9)
