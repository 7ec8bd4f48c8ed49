"""A table with an arm: what the agent senses, where its poses lead, and what a plan is really worth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import HAND_POSES
from worldgauge.core.episode import Context, WorldFacts
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Image
from worldgauge.core.model import RolloutRequest, WorldModel, require
from worldgauge.core.video import Clip
from worldgauge.engine.suite.rollout import fit_context, fit_truth
from worldgauge.suites.worldinworld.loop import Imagination
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, Depth, Rollout, SeenThing, letters
from worldgauge.suites.worldinworld.task import TaskParameters
from worldgauge.worlds import View, caption_of
from worldgauge.worlds.table_process import RemoteState, TableProcess
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.pose_plans import ClipPlan, HandPose, as_actions, clip_plan
from worldgauge.worlds.tabletop.simulation import TableState, UnstableError
from worldgauge.worlds.walking.primitives import render_text

FPS = 7.0
"""Frame rate of clips of plans: 14 frames in two seconds. A plan's frames follow its poses, not a clock."""
_FUTURES = 32
"""Most futures that are cached: those of the plans of one decision."""


AnyState = TableState | RemoteState
"""Of a table here, or of a served one."""


class TableSight:
    """What is sensed in one state (`TableObservation`); rendered once, on first use."""

    def __init__(self, place: TableEnv, state: AnyState) -> None:
        self.state = state
        self.camera = place.camera
        self.pose = place.pose
        self._place = place
        with place.at(state) as simulation:
            self.hand: HandPose = simulation.hand
            self.things: tuple[SeenThing, ...] = ()
            for thing in simulation.task.things:
                x, y, z = map(float, simulation.middle(thing))
                self.things += (SeenThing(thing.name, thing.category, thing.colour, (x, y, z), thing.half_m),)

    @property
    def front(self) -> Image:
        """The front view, (H, W, 3) uint8."""
        return self._place.picture(self.state)

    @property
    def depth(self) -> Depth:
        """Depth of the front view, (H, W) metres along the optical axis."""
        return self._view.depth

    @property
    def instances(self) -> NDArray[np.uint16]:
        """Numbers of things in the front view, (H, W)."""
        return self._view.instance

    @cached_property
    def wrist(self) -> Image:
        """The view from the hand, (H, W, 3) uint8."""
        with self._place.at(self.state) as simulation:
            picture: Image = simulation.wrist(self.camera.height)
            return picture

    def expert(self) -> Sequence[HandPose]:
        """Return the poses of the scripted expert from here."""
        with self._place.at(self.state) as simulation:
            poses: Sequence[HandPose] = simulation.task.plan(simulation)
            return poses

    @cached_property
    def _view(self) -> View:
        with self._place.at(self.state) as simulation:
            view: View = simulation.view(self.pose, self.camera)
            return view


@dataclass(frozen=True)
class RefusedPlan:
    """A plan that cannot be begun; carried out, it is one failed step."""

    reason: str


@dataclass(frozen=True)
class SimulatedFuture:
    """The true outcome of some poses."""

    states: tuple[tuple[AnyState, ...], ...]
    progress: float


class TableEnv:
    """The closed loop's environment of a table; `reasons` has, per step, why it did not end as requested."""

    text_renderer = "manip/v2"

    def __init__(self, world: Tabletop | TableProcess, size_px: int, *, published: bool = False) -> None:
        view = "published" if published else "front"
        self._simulation: Any = world.simulation()
        self.camera: Camera = self._simulation.camera(size_px, view)
        self.pose: FloatArray = self._simulation.pose(view)
        self.reasons: list[str | None] = []
        self.unstable = False
        self.shares: tuple[tuple[float, ...], ...] = ()
        self.seen: list[AnyState] = []
        self._start: AnyState = self._simulation.state()
        self._futures: dict[tuple[AnyState, tuple[Any, ...]], SimulatedFuture] = {}
        self._pictures: dict[AnyState, Image] = {}

    @property
    def state(self) -> AnyState:
        """The present state."""
        state: AnyState = self._simulation.state()
        return state

    @property
    def progress(self) -> float:
        """Progress of the task, in [0, 1]; 1 when it is solved."""
        return float(self._simulation.progress)

    @property
    def hand(self) -> HandPose:
        """The present pose of the hand."""
        hand: HandPose = self._simulation.hand
        return hand

    @property
    def position_m(self) -> tuple[float, ...]:
        """Present position of the hand, x, y and z, metres."""
        return tuple(self.hand[:3])

    def reset(self) -> TableSight:
        """Put everything back to the start."""
        self.reasons, self.unstable, self.shares, self.seen = [], False, (), []
        if self.state != self._start:
            self._simulation.restore(self._start)
        return self.observe()

    def observe(self) -> TableSight:
        """What is sensed now."""
        return TableSight(self, self.state)

    def turn(self, left_rad: float) -> None:
        """An arm does not turn on the spot."""

    def begin(self, poses: Sequence[HandPose], frames: int) -> None:
        """Announce the plan that is carried out next, so that the states of `seen` match the frames of its clip."""
        self._futures.clear()
        clip_poses = clip_plan(self.hand, np.array(poses), frames)
        self.shares = tuple(
            tuple(clip_poses.share[clip_poses.step == step].tolist()) for step in range(1, len(poses) + 1)
        )

    def step(self, action: HandPose | RefusedPlan) -> bool:
        """Carry out a pose; `seen` then holds the states that the clip shows, or the last after a failure."""
        shares = self.shares[0] if self.shares else (1.0,)
        self.shares = self.shares[1:]
        last = not self.shares
        if isinstance(action, RefusedPlan):
            states: tuple[AnyState, ...] = ()
            reason: str | None = action.reason
        else:
            try:
                move = self._simulation.move(action)
                states, reason = move.states, move.reason
            except UnstableError as error:
                # Back to the state before the step, which can still be rendered.
                states, reason, self.unstable = (), str(error), True
        self.reasons.append(reason)
        states = states or (self.state,)
        self.seen = [_on_the_way(states, share) for share in shares]
        if not self.seen and (last or reason is not None or self.progress >= 1):
            self.seen = [states[-1]]
        return reason is not None

    def views_of_step(self) -> list[Image]:
        """Return the views of `seen`, on the way to the last pose."""
        return list(self.clip(self.seen))

    def info(self, observation: TableSight, actions: int, view_steps: Sequence[int]) -> dict[str, Any]:
        """Return the facts of a decision for the trace."""
        return {
            "hand": list(observation.hand),
            "state": observation.state.plain(),
            "reasons": self.reasons[len(self.reasons) - actions :],
            "under_way": list(view_steps),
        }

    def plain_actions(self, actions: Sequence[HandPose | RefusedPlan]) -> Any:
        """Return poses as lists of 8 numbers; a refused plan as an empty list."""
        return [[] if isinstance(one, RefusedPlan) else [float(value) for value in one] for one in actions]

    def plain_plan(self, plan: ActionPlan) -> Any:
        """Return poses as lists of 8 numbers; none if a pose is invalid."""
        if not plan.poses:
            return letters(plan.steps)
        return [] if plan_fault(plan.poses, len(plan.poses)) is not None else self.plain_actions(plan.poses)

    def future(self, poses: Sequence[HandPose], state: AnyState | None = None) -> SimulatedFuture:
        """Simulate `poses` from `state`, by default the present one, without changing the present state."""
        start = self.state if state is None else state
        key = start, tuple(poses)
        if key not in self._futures:
            if len(self._futures) >= _FUTURES:
                self._futures.clear()
            with self.at(start) as simulation:
                self._futures[key] = _future(simulation, poses)
        return self._futures[key]

    def film(self, poses: Sequence[HandPose], clip_poses: ClipPlan, state: AnyState | None = None) -> Clip:
        """Return the true frames of a plan after frame 0, rendered when they are read."""
        future = self.future(poses, state)
        shown = []
        for step, share in zip(clip_poses.step[1:], clip_poses.share[1:], strict=True):
            shown.append(_on_the_way(future.states[step - 1], float(share)))
        return self.clip(shown)

    def clip(self, states: Sequence[AnyState]) -> Clip:
        """Return front views of states, rendered when they are read."""
        size = self.camera.width, self.camera.height
        return Clip.rendered(lambda n: self.picture(states[n]), len(states), FPS, size)

    def picture(self, state: AnyState) -> Image:
        """Return the front view of a state, (H, W, 3); recent ones are cached."""
        if state not in self._pictures:
            if len(self._pictures) >= 4 * _FUTURES:
                self._pictures.clear()
            with self.at(state) as simulation:
                self._pictures[state] = simulation.rgb(self.pose, self.camera)
        return self._pictures[state]

    def goal_picture(self) -> tuple[Image, Image | None]:
        """Return the front views before anything has moved and when the task is solved, both with the arm at home.
        The latter is None for a served table that cannot show it."""
        before = self.picture(self._start)
        with self.at(self._start) as simulation:
            try:
                simulation.task.finish(simulation)
            except NotApplicableError:
                return before, None
            return before, simulation.rgb(self.pose, self.camera)

    def state_of(self, plain: Any) -> AnyState:
        """Return the state that a trace holds."""
        state: AnyState = self._simulation.state_of(plain)
        return state

    @contextmanager
    def at(self, state: AnyState) -> Iterator[Any]:
        """Put the simulation into another state for the length of a `with` block."""
        before = self._simulation.state()
        if state != before:
            self._simulation.restore(state)
        try:
            yield self._simulation
        finally:
            self._simulation.restore(before)


def plan_fault(poses: Sequence[HandPose], length: int) -> str | None:
    """Explain why a plan cannot be started; None if it can. Faults of a single pose show when it is its turn."""
    if not 1 <= len(poses) <= length:
        return f"the plan has {len(poses)} poses, 1 to {length} can be carried out"
    for number, pose in enumerate(poses, start=1):
        values = np.asarray(pose, np.float64)
        if values.shape != (8,) or not np.isfinite(values).all():
            return f"pose {number} of the plan is not 8 finite numbers"
        if not 0.99 < np.linalg.norm(values[3:7]) < 1.01:
            return f"the quaternion of pose {number} of the plan does not have length 1"
    return None


def _future(simulation: Any, poses: Sequence[HandPose]) -> SimulatedFuture:
    """Carry a plan out to its end; an episode would be over where it is solved on the way, and that is its progress."""
    states: list[tuple[AnyState, ...]] = []
    solved = False
    try:
        for pose in poses:
            solved = solved or simulation.solved
            states.append(simulation.move(pose).states or (simulation.state(),))
    except UnstableError:
        return SimulatedFuture(_filled(states, simulation, len(poses)), float(solved))
    return SimulatedFuture(_filled(states, simulation, len(poses)), 1.0 if solved else simulation.progress)


def _filled(states: list[tuple[AnyState, ...]], simulation: Any, count: int) -> tuple[tuple[AnyState, ...], ...]:
    """Give poses that cannot be carried out the last state there was."""
    last = states[-1][-1:] if states else (simulation.state(),)
    return (*states, *[last] * (count - len(states)))


def _on_the_way(states: Sequence[AnyState], share: float) -> AnyState:
    """Return the state at a share of the way; 1 is its end."""
    return states[min(len(states) - 1, max(0, round(share * len(states)) - 1))]


REMEMBERED = 16
"""Most context frames: the first, and those after the last poses, the present one last."""


class TableImagination(Imagination):
    """Queries a world model for rollouts of all plans of a decision."""

    def __init__(
        self,
        model: WorldModel,
        env: TableEnv,
        parameters: TaskParameters,
        world: WorldFacts,
        instruction: str,
        seed: int,
        task: str,
    ) -> None:
        super().__init__(model)
        spec = model.spec
        if spec.view == "panorama":
            raise NotApplicableError(
                f"'{spec.name}' takes panoramas, but tables have a fixed perspective camera; choose another model"
            )
        if spec.control == "camera":
            raise NotApplicableError(
                f"'{spec.name}' is driven by a camera path, but the camera at a table is fixed; choose another model"
            )
        self._env, self._parameters = env, parameters
        self._world, self._instruction, self._seed, self._task = world, instruction, seed, task
        self.caption = caption_of(world)
        require(spec, {"actions", "poses", "text", *(["caption"] if self.caption else [])}, HAND_POSES.name)
        self._frames: list[Image] = []
        self._hands: list[Any] = []

    def remember(self) -> None:
        """Store the present view: at the start, and after every pose."""
        sight = self._env.observe()
        self._frames, self._hands = [*self._frames, sight.front], [*self._hands, sight.hand]
        if len(self._frames) > REMEMBERED:
            # The first stays: with the arm at home, it shows the whole table.
            del self._frames[1], self._hands[1]

    def __call__(self, sight: TableSight, plans: Sequence[ActionPlan], number: int) -> list[Rollout | None]:
        """Ask for a rollout per plan; None for one that cannot be started."""
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
        answers = self._query([request for *_, request in asks])
        rollouts: list[Rollout | None] = [None] * len(plans)
        for (n, _, each, request), frames in zip(asks, answers, strict=True):
            rollouts[n] = self._rollout(each, request, frames)
        return rollouts

    def _request(
        self, sight: TableSight, plan: ActionPlan, clip: ClipPlan, number: int, candidate: int
    ) -> RolloutRequest:
        spec = self._model.spec
        seen = Clip.from_array(np.stack(self._frames), FPS)
        still = np.repeat(sight.pose[None], len(seen), axis=0)
        own = "depth" in spec.inputs and spec.frame_size is None and spec.crop is None
        depth = partial(_depth_of, sight, len(seen)) if own else None
        before = as_actions(np.array(self._hands[1:], np.float64).reshape(-1, 8))
        context = fit_context(Context(seen, still, before, sight.camera, depth), spec, None, None, in_steps=True)
        film = self._env.film(plan.poses, clip, sight.state) if "truth" in spec.inputs else None
        words = str((plan.aim or {}).get("text") or self._instruction)
        params = {**self._world.params, "state": sight.state.plain()}
        return RolloutRequest(
            context=context,
            horizon=len(clip.step) - 1,
            seed=int(np.random.SeedSequence([self._seed, number, candidate]).generate_state(1)[0]),
            actions=as_actions(clip.poses[1:]),
            poses=np.repeat(sight.pose[None], len(clip.step) - 1, axis=0),
            text=render_text(self._env.text_renderer, words=words),
            caption=self.caption,
            world=replace(self._world, params=params) if "world" in spec.inputs else None,
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
            aligned=self._model.spec.control != "text",
            model=self._model.spec.name,
            # What a reviser reads is what the model was driven by.
            text=request.text or "" if self._model.spec.control == "text" else "",
            anchors=clip.anchors,
        )


def _depth_of(sight: TableSight, count: int, index: int) -> Depth:
    """Return the depth of a frame: known of the last of `count` frames only."""
    return sight.depth if index == count - 1 else np.full_like(sight.depth, np.nan)
