"""Questions in the form of a suite that need no data set: `check-model` tries a model with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import Actions, camera_path
from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Frames, Image
from worldgauge.core.model import ModelSpec, RolloutRequest, knows
from worldgauge.core.video import Clip
from worldgauge.worlds import open_world

Size = tuple[int, int]
Sizes = Mapping[str, tuple[Size, Size]]


@dataclass(frozen=True)
class Workload:
    """What the standard evaluation of a suite asks of a model."""

    frames: int
    tasks: str
    fps: float


class TrialQuestions(ABC):
    """Questions about one short walk in an embedded world. They share no data with each other.

    Attributes:
        sizes: Width and height by kind of image: of small recordings, and of the suite's own.
        starts: Frames of the walk at which the future begins, in the plain and in another question: each with some
            steps, then a turn.
        one_frame: Whether the suite shows a single frame, whatever context is asked for.
        workload: What the standard evaluation asks. None where it is not told.
        by_default: Whether a model is tried with them where no suite is named. True for one suite.
    """

    sizes: ClassVar[Sizes]
    starts: ClassVar[tuple[int, int]]
    one_frame: ClassVar[bool] = False
    workload: ClassVar[Workload | None] = None
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


def episode_of_walk(
    poses: FloatArray,
    actions: Actions,
    world: WorldFacts,
    camera: Camera,
    *,
    context: int,
    fps: float | None,
    turned: NDArray[np.float32] | None = None,
) -> Episode:
    """A piece of a walk as an episode whose frames are drawn when they are read.

    Args:
        poses: (n, 4, 4) of the camera.
        turned: One row of actions (K,) that replaces every step of the future.
    """
    poses, values = poses.copy(), actions.values.copy()
    space = actions.space if fps is None else replace(actions.space, fps=float(fps))
    if turned is not None:
        values[context - 1 :] = turned
        poses[context:] = camera_path(Actions(space, values[context - 1 :]), poses[context - 1])

    def draw(index: int) -> Image:
        return _drawn(world.name, tuple(world.params.items()), poses[index].tobytes(), camera).copy()

    clip = Clip.rendered(draw, len(poses), space.fps, (camera.width, camera.height))
    return Episode("check", clip, poses, Actions(space, values), camera, world)


def with_frames_drawn(request: RolloutRequest) -> RolloutRequest:
    """A request with its context in memory, as a suite's own would be, so that what a model changes is seen."""
    clip = request.context.clip
    context = replace(request.context, clip=Clip.from_array(clip.to_array(), clip.fps))
    return replace(request, context=context, task="check")


@lru_cache(maxsize=192)
def _drawn(world: str, params: tuple[tuple[str, object], ...], pose: bytes, camera: Camera) -> Frames:
    return open_world(WorldFacts(world, dict(params))).view(np.frombuffer(pose).reshape(4, 4), camera).rgb
