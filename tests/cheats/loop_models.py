"""Models that know nothing of the world behind an image, and try to look useful to an agent."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import cv2
import numpy as np

from worldgauge.core.actions import camera_path
from worldgauge.core.geometry import FloatArray, invert, pose_from_yaw_pitch
from worldgauge.core.image import Frames, Image
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.panorama import perspective
from worldgauge.suites.worldinworld.models import zoomed


def _path(request: RolloutRequest) -> FloatArray:
    start = pose_from_yaw_pitch(np.zeros(3), 0.0, 0.0)
    assert request.actions is not None
    found: FloatArray = invert(start) @ camera_path(request.actions, start)
    return found


def _spec(name: str) -> ModelSpec:
    return ModelSpec(name, control="actions", max_context=1)


def _zooms(request: RolloutRequest, metres: float = 2.0) -> Frames:
    context = request.context
    return np.stack([zoomed(context.clip[-1], context.camera, pose, metres) for pose in _path(request)])


def _caller_s(name: str) -> Any:
    """A local variable of whoever called, however far up: what code in the same process can read."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_locals.get(name) is not None:
            return frame.f_locals[name]
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _goal_view(request: RolloutRequest) -> Image | None:
    goal = _caller_s("goal")
    return None if getattr(goal, "image", None) is None else perspective(goal.image, request.context.camera)


class ZoomAtWalls:
    """A zoom that stops where the middle of the image is plain, which it takes for a wall."""

    def __init__(self, metres: float = 2.0, plain: float = 12.0) -> None:
        self.spec, self._metres, self._plain = _spec("zoom-at-walls"), metres, plain

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """A frame per step."""
        stopped = None
        for frame in _zooms(request, self._metres):
            h, w = frame.shape[:2]
            middle = frame[h // 3 : -h // 3, w // 3 : -w // 3].astype(float)
            if stopped is None and middle.std(axis=(0, 1)).mean() < self._plain:
                stopped = frame
            yield (frame if stopped is None else stopped)[None]


class GoalThief:
    """Shows the goal, read from the process, at the end of every plan, of the longest, or of a third of them."""

    def __init__(self, which: str = "every") -> None:
        self.spec, self._which = _spec(f"goal-thief-{which}"), which

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        """A zoom for each plan, with the goal at the end of some."""
        most = max(request.horizon for request in requests)
        made = []
        for number, request in enumerate(requests):
            film, goal = _zooms(request), _goal_view(request)
            some = {"every": True, "longest": request.horizon == most, "third": number % 3 == 0}[self._which]
            if some and goal is not None:
                film[-1] = goal
            made.append([film])
        return made

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The same for one plan."""
        yield from self.rollout_batch([request])[0]


class GoalGhost:
    """A zoom into which the goal fades, the more the farther a plan goes."""

    def __init__(self) -> None:
        self.spec = _spec("goal-ghost")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """A frame per step."""
        goal = _goal_view(request)
        for number, frame in enumerate(_zooms(request), 1):
            share = 0.0 if goal is None else min(0.8, number / 25)
            yield np.rint((1 - share) * frame + share * (frame if goal is None else goal)).astype(np.uint8)[None]


class PreferredLook:
    """A zoom with the thing in the red box, read from the process, enlarged where the target would be.

    which: "every" plan, or the "longest".
    """

    def __init__(self, which: str = "every") -> None:
        self.spec, self._which = _spec(f"preferred-look-{which}"), which

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        """A film for each plan."""
        observation = _caller_s("observation")
        box = getattr(observation, "box", None)
        most = max(request.horizon for request in requests)
        made = []
        for request in requests:
            film = _zooms(request)
            if box is not None and (self._which == "every" or request.horizon == most):
                x0, y0, x1, y1 = (round(one) for one in box)
                thing = observation.front[max(y0, 0) : max(y1, y0 + 2), max(x0, 0) : max(x1, x0 + 2)]
                h, w = film.shape[1:3]
                side = h // 2
                film[-1, (h - side) // 2 : (h + side) // 2, (w - side) // 2 : (w + side) // 2] = cv2.resize(
                    np.ascontiguousarray(thing), (2 * (side // 2) + side % 2, 2 * (side // 2) + side % 2)
                )
            made.append([film])
        return made

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The same for one plan."""
        yield from self.rollout_batch([request])[0]


class ConfidentZoom:
    """A zoom of more contrast the farther a plan goes: sharp pictures look sure."""

    def __init__(self) -> None:
        self.spec = _spec("confident-zoom")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """A frame per step."""
        for number, frame in enumerate(_zooms(request), 1):
            yield np.clip(128 + (frame.astype(float) - 128) * (1 + number / 20), 0, 255).astype(np.uint8)[None]


class MirrorZoom:
    """A zoom that shows a turn to the other side, as if it had walked around the thing."""

    def __init__(self) -> None:
        self.spec = _spec("mirror-zoom")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """A frame per step."""
        yield _zooms(replace(request))[:, :, ::-1]
