"""A walk inside a model, part by part: what comes next is decided after the last frames were seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from worldgauge.core.actions import Actions
from worldgauge.core.episode import Context
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import PRIVILEGED, RolloutRequest, WorldModel, checked_rollout, visible
from worldgauge.core.video import Clip

Way = Literal["own", "start", "drawn"]


@runtime_checkable
class KeepsState(WorldModel, Protocol):
    """A world model that keeps its own state between the parts of a session.

    Examples:
        >>> from worldgauge.model import models
        >>> isinstance(models.get("freeze")(), KeepsState)
        False
    """

    def begin(self, request: RolloutRequest) -> Any:
        """The state after the context of a request. Nothing is drawn."""
        ...

    def step(self, state: Any, request: RolloutRequest) -> tuple[Frames, Any]:
        """Frames (request.horizon, H, W, 3) uint8 of the next part, and the state after them.

        `request.context` is that of `begin`. `state` must not change: another part may go on from it.
        """
        ...


class Session:
    """A walk inside a model. `open_session` makes one.

    Its state is a value: what was shown, what was asked, and what was drawn. No step changes an earlier state.

    Attributes:
        model: The model.
        way: How a model is asked for the next frames. "own": the model keeps its state (`KeepsState`). "start": from
            the first context with all actions so far, equal to one long rollout unless the model looks ahead. "drawn":
            from its last frames, as many as its longest context.

    Examples:
        >>> from worldgauge.data import LOOP_WALK, Actions, Clip, Context
        >>> from worldgauge.model import RolloutRequest, models, open_session
        >>> from worldgauge.world import Camera
        >>> still = Actions(LOOP_WALK, np.zeros((0, 4), np.float32))
        >>> clip = Clip.from_array(np.zeros((1, 6, 8, 3), np.uint8), fps=20)
        >>> request = RolloutRequest(Context(clip, None, still, Camera(8, 6, 5, 5, 4, 3)), horizon=1, seed=0)
        >>> open_session(models.get("freeze")(), request).fork().way
        'drawn'
    """

    def __init__(self, model: WorldModel, request: RolloutRequest, way: Way) -> None:
        self.model, self.way = model, way
        self._first = request
        self._parts: tuple[RolloutRequest, ...] = ()
        self._context = request.context
        self._state: Any = model.begin(visible(request, model.spec)) if isinstance(model, KeepsState) else None

    def step(self, part: RolloutRequest) -> Frames:
        """Draw the next frames.

        Args:
            part: The next `horizon` frames: their `actions`, `poses` and `text`, and `truth` for a baseline that asks
                for it. Poses are of the world of the first context. Context, seed and caption are ignored.

        Returns:
            Frames (part.horizon, H, W, 3) uint8.

        Raises:
            ModelError: The model failed, or gave other frames.
            NotApplicableError: The part lacks what the model needs.
        """
        number, parts = len(self._parts), (*self._parts, part)
        if self.way == "start":
            frames = _drawn_by(self.model, _joined(self._first, parts))[-part.horizon :]
        else:
            seed = int(np.random.SeedSequence([self._first.seed, number]).generate_state(1)[0])
            asked = replace(part, context=self._context, seed=seed, caption=self._first.caption, task=self._first.task)
            if self.way == "own" and isinstance(self.model, KeepsState):
                stepping = _Stepping(self.model, self._state)
                frames = _drawn_by(stepping, asked)
                self._state = stepping.state
            else:
                frames = _drawn_by(self.model, asked)
                self._context = _followed(self._context, asked, frames, self.model.spec.max_context)
        self._parts = parts
        return frames

    def fork(self) -> Session:
        """Another session in the same state. Both go on from here. Nothing is copied."""
        other = object.__new__(Session)
        other.__dict__.update(self.__dict__)
        return other


def open_session(model: WorldModel, request: RolloutRequest, *, way: Way | None = None) -> Session:
    """Begin a walk inside a model. Nothing is drawn.

    Args:
        model: Any world model, a served one too.
        request: Context, seed and caption of the walk. Its horizon and its future are ignored.
        way: How the model is asked; see `Session`. None takes "own" if the model keeps its state, "start" if it sees
            ground truth or needs depth of the context, else "drawn".

    Returns:
        The session.

    Raises:
        UsageError: The model cannot be asked in this way.

    Examples:
        >>> from worldgauge.data import LOOP_WALK, Actions, Clip, Context
        >>> from worldgauge.model import RolloutRequest, models, open_session
        >>> from worldgauge.world import Camera
        >>> still = Actions(LOOP_WALK, np.zeros((0, 4), np.float32))
        >>> clip = Clip.from_array(np.zeros((1, 6, 8, 3), np.uint8), fps=20)
        >>> request = RolloutRequest(Context(clip, None, still, Camera(8, 6, 5, 5, 4, 3)), horizon=1, seed=0)
        >>> session = open_session(models.get("freeze")(), request)
        >>> forward = Actions(LOOP_WALK, np.array([[1, 0, 0, 0]] * 4, np.float32))
        >>> session.step(RolloutRequest(request.context, 4, 0, actions=forward)).shape
        (4, 6, 8, 3)
    """
    keeps_state, seen = isinstance(model, KeepsState), PRIVILEGED | {"depth"}
    needs_start = bool(seen & set(model.spec.inputs))
    chosen: Way = way or ("own" if keeps_state else "start" if needs_start else "drawn")
    if (chosen == "own" and not keeps_state) or (chosen == "drawn" and needs_start):
        why = "has no methods 'begin' and 'step'" if chosen == "own" else "needs what only the first context has"
        raise UsageError(f"model '{model.spec.name}' {why}; use the way 'start'")
    return Session(model, request, chosen)


class _Stepping:
    """One step of a model that keeps its state, as a rollout, so that it is checked like one."""

    def __init__(self, model: KeepsState, state: Any) -> None:
        self.spec, self.model, self.state = model.spec, model, state

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The frames of the step."""
        frames, self.state = self.model.step(self.state, request)
        yield frames


def _drawn_by(model: WorldModel, request: RolloutRequest) -> Frames:
    return np.concatenate(list(checked_rollout(model, request)))


def _joined(first: RolloutRequest, parts: Sequence[RolloutRequest]) -> RolloutRequest:
    """One request for all parts from the first context."""
    actions = [part.actions for part in parts if part.actions is not None]
    poses = [part.poses for part in parts if part.poses is not None]
    truths = [part.truth for part in parts if part.truth is not None]
    paths = [part.truth_poses for part in parts if part.truth_poses is not None]
    words = [part.text for part in parts if part.text is not None]
    whole = len(parts)
    return replace(
        first,
        horizon=sum(part.horizon for part in parts),
        actions=_chained(actions) if len(actions) == whole else None,
        poses=np.concatenate(poses) if len(poses) == whole else None,
        text=" ".join(words) if len(words) == whole else None,
        truth=Clip.from_array(np.concatenate([one.to_array() for one in truths]), truths[0].fps)
        if len(truths) == whole
        else None,
        truth_poses=np.concatenate(paths) if len(paths) == whole else None,
    )


def _chained(actions: Sequence[Actions]) -> Actions:
    return Actions(actions[0].space, np.concatenate([one.values for one in actions]))


def _followed(context: Context, asked: RolloutRequest, frames: Frames, most: int | None) -> Context:
    """The context after a part, cut to the longest that the model takes."""
    clip = Clip.from_array(np.concatenate([context.clip.to_array(), frames]), context.clip.fps)
    actions, poses = context.actions, _path(context.poses, asked.poses)
    actions = actions[:0] if asked.actions is None else _chained([actions, asked.actions])
    longer = Context(clip, poses, actions, context.camera)
    return longer if most is None else longer.last(most)


def _path(before: FloatArray | None, after: FloatArray | None) -> FloatArray | None:
    return None if before is None or after is None else np.concatenate([before, after])
