"""A table with an arm: what the agent senses, where its poses lead, and what a plan is really worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Image
from worldgauge.core.video import Clip
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Depth, SeenThing, letters
from worldgauge.worlds import View
from worldgauge.worlds.tabletop.picture import front_camera, front_pose
from worldgauge.worlds.tabletop.pose_plans import ClipPlan, HandPose, clip_plan
from worldgauge.worlds.tabletop.simulation import Simulation, State, UnstableError
from worldgauge.worlds.tabletop.world import Tabletop

FPS = 7.0
"""Of films of plans: 14 frames in two seconds. A plan's frames follow its poses, not a clock."""
_FUTURES = 32
"""Plans whose future is kept: those of one decision."""


class TableSight:
    """What is sensed in one state (`TableObservation`); rendered when asked for, once."""

    def __init__(self, place: TableEnv, state: State) -> None:
        self.state = state
        self.camera = place.camera
        self.pose: FloatArray = front_pose()
        self._place = place
        with place.at(state) as simulation:
            self.hand: HandPose = simulation.hand
            self.things = tuple(_seen(simulation, thing) for thing in simulation.task.things)

    @property
    def front(self) -> Image:
        """(H, W, 3) what the front camera sees."""
        return self._place.picture(self.state)

    @property
    def depth(self) -> Depth:
        """(H, W) metres along the optical axis."""
        return self._view.depth

    @property
    def instances(self) -> NDArray[np.uint16]:
        """(H, W) numbers of things."""
        return self._view.instance

    def expert(self) -> Sequence[HandPose]:
        """What the scripted expert would do from here."""
        with self._place.at(self.state) as simulation:
            return simulation.task.plan(simulation)

    @cached_property
    def _view(self) -> View:
        with self._place.at(self.state) as simulation:
            return simulation.view(self.pose, self.camera)


@dataclass(frozen=True)
class RefusedPlan:
    """A plan that cannot be begun; carried out, it is one failed step."""

    reason: str


@dataclass(frozen=True)
class SimulatedFuture:
    """What poses would really lead to.

    Attributes:
        states: States on the way to each of them, at least one.
        progress: Progress of the task at the end.
    """

    states: tuple[tuple[State, ...], ...]
    progress: float


class TableEnv:
    """The loop's environment of a table.

    Attributes:
        reasons: Of every step, why it did not end as asked; None where it did.
        unstable: Whether the physics became unstable.

    Args:
        world: The table with its things.
        size_px: Side of the front picture, pixels.
    """

    text_renderer = "manip/v1"

    def __init__(self, world: Tabletop, size_px: int) -> None:
        self.camera: Camera = front_camera(size_px)
        self.reasons: list[str | None] = []
        self.unstable = False
        self.shares: tuple[tuple[float, ...], ...] = ()
        self.seen: list[State] = []
        self._simulation = Simulation(world)
        self._start = self._simulation.state()
        self._futures: dict[tuple[State, tuple[Any, ...]], SimulatedFuture] = {}
        self._pictures: dict[State, Image] = {}

    @property
    def state(self) -> State:
        """Everything as it is now."""
        return self._simulation.state()

    @property
    def progress(self) -> float:
        """Of the task, in [0, 1]; 1 when it is solved."""
        return self._simulation.progress

    @property
    def hand(self) -> HandPose:
        """Where the hand is now."""
        return self._simulation.hand

    @property
    def position_m(self) -> tuple[float, ...]:
        """Where the hand is, x, y and z."""
        return tuple(self.hand[:3])

    def reset(self) -> TableSight:
        """Put everything back where it was at first.

        Returns:
            What is sensed then.
        """
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
        """Set the plan that is carried out next, so that the states of `seen` fall on the frames of its clip."""
        self._futures.clear()
        told = clip_plan(self.hand, np.array(poses), frames)
        self.shares = tuple(tuple(told.share[told.step == step].tolist()) for step in range(1, len(poses) + 1))

    def step(self, action: HandPose | RefusedPlan) -> bool:
        """Carry out a pose.

        `seen` then has the states that are looked at on the way: those of the plan's clip, and where it ended in any
        case when nothing of it is on the clip but it failed or was the last.

        Returns:
            Whether it did not end as asked, for which `reasons` has the words.
        """
        shares = self.shares[0] if self.shares else (1.0,)
        self.shares = self.shares[1:]
        last = not self.shares
        if isinstance(action, RefusedPlan):
            states: tuple[State, ...] = ()
            reason: str | None = action.reason
        else:
            try:
                move = self._simulation.move(action)
                states, reason = move.states, move.reason
            except UnstableError as error:
                # The simulation stands where it stood before, so that it can still be looked at.
                states, reason, self.unstable = (), str(error), True
        self.reasons.append(reason)
        states = states or (self.state,)
        self.seen = [_on_the_way(states, share) for share in shares]
        if not self.seen and (last or reason is not None or self.progress >= 1):
            self.seen = [states[-1]]
        return reason is not None

    def views_of_step(self) -> list[Image]:
        """The views on the way to the last pose, of `seen`."""
        return list(self.clip(self.seen))

    def info(self, observation: TableSight, actions: int, view_steps: Sequence[int]) -> dict[str, Any]:
        """Where the hand and all things were at a decision, and how its poses ended."""
        return {
            "hand": list(observation.hand),
            "state": observation.state.plain(),
            "reasons": self.reasons[len(self.reasons) - actions :],
            "under_way": list(view_steps),
        }

    def plain_actions(self, actions: Sequence[HandPose | RefusedPlan]) -> Any:
        """Poses as lists of 8 numbers; a plan that was refused as an empty one."""
        return [[] if isinstance(one, RefusedPlan) else [float(value) for value in one] for one in actions]

    def plain_plan(self, plan: ActionPlan) -> Any:
        """Poses as lists of 8 numbers; none where a pose is not one."""
        if not plan.poses:
            return letters(plan.steps)
        return [] if plan_fault(plan.poses, len(plan.poses)) is not None else self.plain_actions(plan.poses)

    def future(self, poses: Sequence[HandPose], state: State | None = None) -> SimulatedFuture:
        """What `poses` would really lead to from `state`, by default the present one; nothing moves."""
        start = self.state if state is None else state
        key = start, tuple(poses)
        if key not in self._futures:
            if len(self._futures) >= _FUTURES:
                self._futures.clear()
            with self.at(start) as simulation:
                self._futures[key] = _future(simulation, poses)
        return self._futures[key]

    def film(self, poses: Sequence[HandPose], told: ClipPlan, state: State | None = None) -> Clip:
        """The frames after frame 0 that the simulator shows of a plan; rendered when they are read."""
        future = self.future(poses, state)
        shown = []
        for step, share in zip(told.step[1:], told.share[1:], strict=True):
            shown.append(_on_the_way(future.states[step - 1], float(share)))
        return self.clip(shown)

    def clip(self, states: Sequence[State]) -> Clip:
        """Front pictures of states; rendered when they are read."""
        size = self.camera.width, self.camera.height
        return Clip.rendered(lambda n: self.picture(states[n]), len(states), FPS, size)

    def picture(self, state: State) -> Image:
        """(H, W, 3) what the front camera sees of a state; the last ones are kept."""
        if state not in self._pictures:
            if len(self._pictures) >= 4 * _FUTURES:
                self._pictures.clear()
            with self.at(state) as simulation:
                self._pictures[state] = simulation.rgb(front_pose(), self.camera)
        return self._pictures[state]

    def goal_picture(self) -> tuple[Image, Image]:
        """The front view before anything has moved, and when all is done, both with the arm at home."""
        before = self.picture(self._start)
        with self.at(self._start) as simulation:
            simulation.task.finish(simulation)
            return before, simulation.rgb(front_pose(), self.camera)

    def at(self, state: State) -> _Visit:
        """The simulation in another state for the length of a `with` block, after which all is as it was."""
        return _Visit(self._simulation, state)


def plan_fault(poses: Sequence[HandPose], length: int) -> str | None:
    """Why a plan cannot be begun; None where it can. What is wrong with a single pose is found when it is its turn."""
    if not 1 <= len(poses) <= length:
        return f"the plan has {len(poses)} poses, 1 to {length} can be carried out"
    for number, pose in enumerate(poses, start=1):
        values = np.asarray(pose, np.float64)
        if values.shape != (8,) or not np.isfinite(values).all():
            return f"pose {number} of the plan is not 8 finite numbers"
        if not 0.99 < np.linalg.norm(values[3:7]) < 1.01:
            return f"the quaternion of pose {number} of the plan does not have length 1"
    return None


class _Visit:
    """Puts the simulation into a state and back."""

    def __init__(self, simulation: Simulation, state: State) -> None:
        self._simulation, self._state = simulation, state

    def __enter__(self) -> Simulation:
        self._before = self._simulation.state()
        if self._state != self._before:
            self._simulation.restore(self._state)
        return self._simulation

    def __exit__(self, *caught: object) -> None:
        self._simulation.restore(self._before)


def _future(simulation: Simulation, poses: Sequence[HandPose]) -> SimulatedFuture:
    states: list[tuple[State, ...]] = []
    try:
        for pose in poses:
            if simulation.solved:
                break
            states.append(simulation.move(pose).states or (simulation.state(),))
    except UnstableError:
        return SimulatedFuture(_filled(states, simulation, len(poses)), 0.0)
    return SimulatedFuture(_filled(states, simulation, len(poses)), simulation.progress)


def _filled(states: list[tuple[State, ...]], simulation: Simulation, count: int) -> tuple[tuple[State, ...], ...]:
    """Poses that are not carried out any more show the last state there was."""
    last = states[-1][-1:] if states else (simulation.state(),)
    return (*states, *[last] * (count - len(states)))


def _on_the_way(states: Sequence[State], share: float) -> State:
    """The state at a share of the way, 1 being its end."""
    return states[min(len(states) - 1, max(0, round(share * len(states)) - 1))]


def _seen(simulation: Simulation, thing: Any) -> SeenThing:
    x, y, z = simulation.middle(thing)
    return SeenThing(thing.name, thing.category, thing.colour, (float(x), float(y), float(z)), thing.half_m)
