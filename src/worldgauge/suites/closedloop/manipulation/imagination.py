"""Rollouts of plans of poses: one batch of requests to the world model per decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from worldgauge.core.actions import HAND_POSES
from worldgauge.core.episode import Context, WorldFacts
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.core.model import RolloutRequest, WorldModel, require
from worldgauge.core.video import Clip
from worldgauge.engine.suite.rollout import fit_context, fit_truth, frames_made
from worldgauge.engine.suite.speed import Stopwatch
from worldgauge.suites.closedloop.manipulation.env import FPS, TableEnv, TableSight, plan_fault
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Depth, Rollout
from worldgauge.suites.closedloop.task import TaskParameters
from worldgauge.worlds import caption_of
from worldgauge.worlds.tabletop.pose_plans import ClipPlan, as_actions, clip_plan
from worldgauge.worlds.walking.primitives import render_text

REMEMBERED = 16
"""Most context frames: the first, and those after the last poses, the present one last."""


class TableImagination:
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
        env: TableEnv,
        parameters: TaskParameters,
        world: WorldFacts,
        instruction: str,
        seed: int,
        task: str,
    ) -> None:
        spec = subject.spec
        if spec.view == "panorama":
            raise NotApplicableError(
                f"'{spec.name}' takes panoramas, but tables have a fixed perspective camera; choose another model"
            )
        if spec.control == "camera":
            raise NotApplicableError(
                f"'{spec.name}' is driven by a camera path, but the camera at a table is fixed; choose another model"
            )
        self._subject, self._env, self._parameters = subject, env, parameters
        self._world, self._instruction, self._seed, self._task = world, instruction, seed, task
        self._caption = caption_of(world)
        require(spec, {"actions", "poses", "text", *(["caption"] if self._caption else [])}, HAND_POSES.name)
        self._frames: list[Image] = []
        self._hands: list[Any] = []
        self.calls = self.asked = self.made = 0
        self.speed = Stopwatch()

    def remember(self) -> None:
        """Store the present view: at the start, and after every pose."""
        sight = self._env.observe()
        self._frames, self._hands = [*self._frames, sight.front], [*self._hands, sight.hand]
        if len(self._frames) > REMEMBERED:
            # The first stays: with the arm at home, it shows the whole table.
            del self._frames[1], self._hands[1]

    def __call__(self, sight: TableSight, plans: Sequence[ActionPlan], number: int) -> list[Rollout | None]:
        """Ask for a rollout per plan; None for one that cannot be started.

        Raises:
            SubjectError: If the model breaks its contract.
        """
        clips = [
            None
            if plan_fault(plan.poses, self._parameters.length) is not None
            else clip_plan(sight.hand, np.array(plan.poses), self._parameters.clip + 1)
            for plan in plans
        ]
        asks = [
            (n, plan, each, self._request(sight, plan, each, number, n))
            for n, (plan, each) in enumerate(zip(plans, clips, strict=True))
            if each is not None
        ]
        answers = self.speed.batch(self._subject, [request for *_, request in asks])
        self.calls += len(asks)
        self.asked += sum(request.horizon for *_, request in asks)
        self.made += sum(frames_made(self._subject.spec, request.horizon) for *_, request in asks)
        rollouts: list[Rollout | None] = [None] * len(plans)
        for (n, _, each, request), frames in zip(asks, answers, strict=True):
            rollouts[n] = self._rollout(each, request, frames)
        return rollouts

    def _request(
        self, sight: TableSight, plan: ActionPlan, clip: ClipPlan, number: int, candidate: int
    ) -> RolloutRequest:
        spec = self._subject.spec
        seen = Clip.from_array(np.stack(self._frames), FPS)
        still = np.repeat(sight.pose[None], len(seen), axis=0)
        own = "depth" in spec.inputs and spec.frame_size is None and spec.crop is None
        depth = _depth_of(sight, len(seen)) if own else None
        before = as_actions(np.array(self._hands[1:]).reshape(-1, 8)) if len(seen) > 1 else _no_actions()
        context = fit_context(Context(seen, still, before, sight.camera, depth), spec, None, None, in_steps=True)
        film = self._env.film(plan.poses, clip, sight.state) if "truth" in spec.inputs else None
        words = str((plan.aim or {}).get("text") or self._instruction)
        return RolloutRequest(
            context=context,
            horizon=len(clip.step) - 1,
            seed=int(np.random.SeedSequence([self._seed, number, candidate]).generate_state(1)[0]),
            actions=as_actions(clip.poses[1:]),
            poses=np.repeat(sight.pose[None], len(clip.step) - 1, axis=0),
            text=render_text(self._env.text_renderer, words=words),
            caption=self._caption,
            world=_now(self._world, sight) if "world" in spec.inputs else None,
            truth=None if film is None else fit_truth(film, spec),
            truth_poses=None if film is None else np.repeat(sight.pose[None], len(film), axis=0),
            task=f"{self._task}.{number}.{candidate}",
        )

    def _rollout(self, clip: ClipPlan, request: RolloutRequest, frames: Image) -> Rollout:
        """Join the present view and what was imagined to one clip."""
        camera = request.context.camera
        assert isinstance(camera, Camera)
        return Rollout(
            np.concatenate([request.context.clip[-1][None], frames]),
            "perspective",
            camera,
            clip.step,
            len(clip.step),
            # With text as the action, no frame belongs to a pose.
            aligned=self._subject.spec.control != "text",
            model=self._subject.spec.name,
            seed=request.seed,
            # What a reviser reads is what the model was driven by.
            text=request.text or "" if self._subject.spec.control == "text" else "",
            anchors=clip.anchors,
        )


def _now(world: WorldFacts, sight: TableSight) -> WorldFacts:
    """Return the present state of the table."""
    return replace(world, params={**world.params, "state": sight.state.plain()})


def _depth_of(sight: TableSight, count: int) -> Callable[[int], Depth]:
    """Return the depth of the last of `count` frames; that of earlier ones is unknown."""

    def depth(index: int) -> Depth:
        return sight.depth if index == count - 1 else np.full_like(sight.depth, np.nan)

    return depth


def _no_actions() -> Any:
    return as_actions(np.empty((0, 8)))
