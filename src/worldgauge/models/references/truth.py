"""References that have the recorded future: `truth` (also called `oracle`), `coarse`, `late`, `reencoded`,
`degraded`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.core.video import Clip, Writer
from worldgauge.models import models


@models.register("truth")
class Truth:
    """The recorded future itself: the ceiling.

    Args:
        view: Kind of image that it returns, "perspective" or "panorama".
        fps: Frames a second at which it wants to be asked, by default those of the recording. At another rate it shows
            what the rate bridge alone costs a model.
    """

    name = "truth"

    def __init__(self, view: View = "perspective", fps: float | None = None) -> None:
        self.spec = ModelSpec(self.name, view=view, fps=fps, inputs=frozenset({"truth"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The recorded frames, in chunks of one.

        Yields:
            `horizon` frames, each (1, H, W, 3).
        """
        if request.truth is None:
            raise NotApplicableError(f"'{self.name}' needs the recorded future, and this task has none")
        return self._shown(request.truth, request)

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Poses of the recorded frames; None when they are not known."""
        return request.truth_poses

    def _shown(self, truth: Clip, request: RolloutRequest) -> Iterator[Frames]:
        """What is made of the recorded frames, in chunks of one."""
        return (frame[None] for frame in truth)


@models.register("oracle")
class Oracle(Truth):
    """`truth` under its name in closed loops: the simulator replays the plan, collisions included."""

    name = "oracle"


@models.register("coarse")
class Coarse(Truth):
    """The recorded future averaged down to a small size: what a perfect model of that size would score.

    Args:
        width: Width in pixels.
        height: Height in pixels.
        view: Kind of image that it returns, "perspective" or "panorama".

    Raises:
        UsageError: A side is below 1.
    """

    name = "coarse"

    def __init__(self, width: int = 64, height: int = 36, view: View = "perspective") -> None:
        if min(width, height) < 1:
            raise UsageError(f"coarse: {width}x{height} is no size; give width and height in pixels")
        self.spec = ModelSpec(self.name, view=view, frame_size=(width, height), inputs=frozenset({"truth"}))


@models.register("late")
class Late(Truth):
    """The recorded future one frame late: the last context frame, then the truth without its last frame."""

    name = "late"

    def __init__(self) -> None:
        super().__init__()

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Poses of the delayed frames; None when they are not known."""
        if request.truth_poses is None:
            return None
        return np.concatenate([request.context.poses[-1:], request.truth_poses[: request.horizon - 1]])

    def _shown(self, truth: Clip, request: RolloutRequest) -> Iterator[Frames]:
        yield request.context.clip[-1][None]
        for frame in truth[: request.horizon - 1]:
            yield frame[None]


@models.register("reencoded")
class Reencoded(Truth):
    """The recorded future, encoded once as a video for browsers and read back: the ceiling of submitted videos."""

    name = "reencoded"

    def __init__(self) -> None:
        super().__init__()

    def _shown(self, truth: Clip, request: RolloutRequest) -> Iterator[Frames]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "truth.mp4"
            with Writer(path, fps=truth.fps, kind="viewable") as out:
                for frame in truth:
                    out.write(frame)
            for frame in Clip.open(path):
                # Odd sides were made even by one more row or column.
                yield frame[None, : truth.height, : truth.width]


GREY, SPREAD = 127.5, 64.0
"""Mean and standard deviation of the noise, in grey levels; pictures of rooms have about the same."""


@models.register("degraded")
class Degraded(Truth):
    """The recorded future mixed with noise: (1 - level) x truth + level x noise, in grey levels.

    The noise is equally strong at every scale, from single pixels to a quarter of the frame's longer side or more, as
    the contrast of natural pictures is. So a level hides small and large things alike. It is independent in every frame
    and colour, and seeded by the request.

    Args:
        level: 0 is the truth, 1 shows nothing of it.
        view: Kind of image that it returns, "perspective" or "panorama".

    Raises:
        UsageError: The level is not from 0 to 1.
    """

    name = "degraded"

    def __init__(self, level: float = 0.5, view: View = "perspective") -> None:
        if not 0 <= level <= 1:
            raise UsageError(f"degraded: level is {level!r}; give a number from 0, the truth, to 1, nothing of it")
        self._level = float(level)
        self.spec = ModelSpec(
            self.name, view=view, max_context=1, inputs=frozenset({"truth"}), settings={"level": self._level}
        )

    def _shown(self, truth: Clip, request: RolloutRequest) -> Iterator[Frames]:
        rng = np.random.default_rng(request.seed)
        return (self._mixed(frame, rng)[None] for frame in truth)

    def _mixed(self, frame: Frames, rng: np.random.Generator) -> Frames:
        if self._level == 0:
            return np.asarray(frame, np.uint8)
        noise = GREY + SPREAD * noise_of_all_scales(frame.shape[0], frame.shape[1], rng)
        mixed = np.float32(1 - self._level) * frame + np.float32(self._level) * noise
        return np.rint(mixed).clip(0, 255).astype(np.uint8)


def noise_of_all_scales(height: int, width: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Noise with equal strength at every scale: the sum of squares of 1, 2, 4, ... pixels.

    The largest squares are half of the largest power of two in the longer side: 128 pixels of 384.

    Returns:
        (height, width, 3) float32 of mean 0 and variance 1.
    """
    sides = [1 << octave for octave in range(max(1, max(height, width).bit_length() - 1))]
    total = np.zeros((height, width, 3), np.float32)
    for side in sides:
        grid = rng.standard_normal((-(-height // side) + 1, -(-width // side) + 1, 3), np.float32)
        down, right = rng.integers(0, side, 2)  # so that borders of squares do not lie on each other
        squares = grid.repeat(side, axis=0)[down : down + height].repeat(side, axis=1)[:, right : right + width]
        total += squares
    return total / np.float32(np.sqrt(len(sides)))
