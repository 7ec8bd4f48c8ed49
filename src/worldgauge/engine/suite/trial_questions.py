"""Questions in the form of a suite that need no data set: `check-model` tries a model with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from worldgauge.core.actions import Actions, camera_path
from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Frames, Image
from worldgauge.core.model import ModelSpec, RolloutRequest, knows
from worldgauge.core.video import Clip
from worldgauge.worlds import open_world
from worldgauge.worlds.captions import caption_at

Size = tuple[int, int]
Sizes = Mapping[str, tuple[Size, Size]]


class TrialQuestions(ABC):
    """Questions about one short walk in an embedded world. They share no data with each other.

    Attributes:
        sizes: (width, height) by kind of image: of small recordings, and of the suite's own.
        starts: First frames of the future in the plain and in another question: some steps, then a turn.
        one_frame: Whether the suite shows a single frame, whatever context is requested.
        by_default: Whether a model is tried with them if no suite is named. True for one suite.
    """

    sizes: ClassVar[Sizes]
    starts: ClassVar[tuple[int, int]]
    one_frame: ClassVar[bool] = False
    action_space: ClassVar[str]
    by_default: ClassVar[bool] = False

    def fits(self, spec: ModelSpec) -> bool:
        """Whether a model draws this kind of image and knows these actions, as far as they drive it."""
        return spec.view in self.sizes and knows(spec, self.action_space)

    @property
    @abstractmethod
    def frames(self) -> int:
        """Number of frames of the walk."""

    @abstractmethod
    def question(
        self,
        spec: ModelSpec,
        *,
        start: int,
        context: int,
        horizon: int,
        seed: int,
        size: Size | None = None,
        turn: float | None = None,
    ) -> RolloutRequest:
        """A question about the walk, labelled with the rate of the model."""

    def recorded_size(self, spec: ModelSpec) -> Size:
        """Width and height of the recording: small, but the suite's own for models of a larger size of their own."""
        small, standard = self.sizes[spec.view]
        return standard if spec.frame_size is not None and spec.frame_size[0] > small[0] else small


class WalkQuestions(TrialQuestions):
    """Questions about a walk in an embedded world, seen in perspective."""

    sizes: ClassVar[Sizes] = {"perspective": ((160, 90), (640, 360))}
    world: ClassVar[WorldFacts]

    @abstractmethod
    def walk(self) -> tuple[FloatArray, Actions]:
        """Poses (n, 4, 4) of the camera, and n - 1 actions."""

    @abstractmethod
    def camera(self, size: Size) -> Camera:
        """The camera with frames of this size."""

    @abstractmethod
    def turning(self, turn: float) -> tuple[str, float]:
        """Name and value of the action that turns by an angle in radians per frame."""

    @abstractmethod
    def request(self, episode: Episode, context: int, spec: ModelSpec, seed: int) -> RolloutRequest:
        """The suite's request about an episode of which `context` frames are shown."""

    @property
    def frames(self) -> int:
        """Number of frames of the walk."""
        return len(self.walk()[0])

    def question(
        self,
        spec: ModelSpec,
        *,
        start: int,
        context: int,
        horizon: int,
        seed: int,
        size: Size | None = None,
        turn: float | None = None,
    ) -> RolloutRequest:
        """A piece of the walk, rendered when it is read; with `turn` every step of its future turns."""
        world, camera = self.world, self.camera(size or self.recorded_size(spec))
        poses, actions = self.walk()
        first, stop = start - context, start + horizon
        poses, values = poses[first:stop].copy(), actions.values[first : stop - 1].copy()
        space = actions.space if spec.fps is None else replace(actions.space, fps=float(spec.fps))
        if turn is not None:
            name, value = self.turning(turn)
            values[context - 1 :] = 0
            values[context - 1 :, space.column(name)] = value
            poses[context:] = camera_path(Actions(space, values[context - 1 :]), poses[context - 1])

        def render(index: int) -> Image:
            return _rendered(world.name, tuple(world.params.items()), poses[index].tobytes(), camera).copy()

        clip = Clip.rendered(render, len(poses), space.fps, (camera.width, camera.height))
        request = self.request(
            Episode("check", clip, poses, Actions(space, values), camera, world), context, spec, seed
        )
        # In memory, as a suite's own context would be, so that what a model changes in it is seen.
        clip = request.context.clip
        shown = replace(request.context, clip=Clip.from_array(clip.to_array(), clip.fps))
        caption = caption_at(open_world(world), shown.path[0], camera)
        return replace(request, context=shown, caption=caption, task="check")


@lru_cache(maxsize=192)
def _rendered(world: str, params: tuple[tuple[str, object], ...], pose: bytes, camera: Camera) -> Frames:
    return open_world(WorldFacts(world, dict(params))).view(np.frombuffer(pose).reshape(4, 4), camera).rgb
