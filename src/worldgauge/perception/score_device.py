"""Where scores are computed: on threads of the processor, or in batches on a device that torch drives (extra `torch`).

means = Means(threads=4)                                   # the processor's kernels
means = Means(threads=4, device=ScoreDevice("cuda"))       # the same metrics in batches on a GPU
errors = list(means.each(means.errors_of, side_by_side(rollout, truth), at_once=pairs_at_once(*SIZE)))
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Image
from worldgauge.core.video import resize
from worldgauge.metrics import tensors
from worldgauge.metrics.frame_pairs import (
    SIZE,
    PairError,
    Prepared,
    grid_of,
    in_order,
    pair_error,
    prepared_pair,
    psnr_of,
)
from worldgauge.metrics.psnr_ssim import COMMON_SIZE, mse, psnr_of_mse, ssim_320x180, ssim_table
from worldgauge.perception.instances import CATEGORIES, Instances
from worldgauge.perception.networks import Batches, choose_device, inference, torch_for

if TYPE_CHECKING:
    from worldgauge.perception.segment import LabelImages

Pair = tuple[Image, Image]
PreparedPair = tuple[Prepared, Prepared]
Job = TypeVar("Job")
Result = TypeVar("Result")
Found = TypeVar("Found")

MOST_THREADS = 8
"""Of one task: its two videos are decoded by one thread each, which do not feed more."""
PIXELS_AT_ONCE = 8 * SIZE[0] * SIZE[1]
"""Of one side of a batch, about 0.8 GB on the device."""
_WHAT = "scoring on a device"
_TURNS = 2
"""Batches on the device at a time: one is copied while another is computed."""


class ScoreDevice:
    """The pixel metrics in batches on a device of torch ("cpu" is for tests). Safe for threads.
    A batch that finds no room is halved, and so are those after it; a warning says so."""

    def __init__(self, name: str) -> None:
        self._torch = torch_for(_WHAT)
        self._where = choose_device(name)
        self._pairs, self._labels = (Batches(self._where, what) for what in ("pair of frames", "label image"))
        self._turns: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(_TURNS):
            self._turns.put(self._torch.cuda.Stream(name) if self.is_cuda else None)

    @property
    def name(self) -> str:
        """The device as it was named."""
        return self._where.name

    @property
    def is_cuda(self) -> bool:
        """Whether it is a GPU."""
        return self._where.is_cuda

    def pair_errors(self, pairs: Sequence[Pair]) -> list[PairError]:
        """`metrics.frame_pairs.pair_error` of each (predicted, reference) at 1280x720; all of a kind have one size."""
        return self._in_parts(self._pairs, self._pair_errors, pairs, SIZE[0] * SIZE[1])

    def pixel_scores(self, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """Scores "ssim_table", "ssim_320x180", "psnr" and "mse" of `metrics.psnr_ssim` of each pair, a model's frame
        and the true. All of each kind have one size. A true frame is resized to the model's, and from its own pixels to
        the common size."""
        return self._in_parts(
            self._pairs, self._pixel_scores, pairs, max(x.size for x in pairs[0]) // 3 if pairs else 1
        )

    def scenes(self, labels: Sequence[LabelImages]) -> list[dict[str, Instances]]:
        """Instances by category of label images: `LabelImages.scene` of each, equal to the last bit."""
        return self._in_parts(self._labels, self._scenes, labels, labels[0].category.size if labels else 1)

    def _in_parts(
        self, batches: Batches, function: Callable[[Sequence[Job]], list[Found]], jobs: Sequence[Job], pixels: int
    ) -> list[Found]:
        """Call the function on as many jobs at a time as there is room for."""

        def of_part(part: slice) -> list[Found]:
            with self._turn(), inference(self._where):
                return function(jobs[part])

        return batches.run(of_part, len(jobs), max(1, PIXELS_AT_ONCE // pixels))

    @contextmanager
    def _turn(self) -> Iterator[None]:
        stream = self._turns.get()
        try:
            with nullcontext() if stream is None else self._torch.cuda.stream(stream):
                yield
        finally:
            self._turns.put(stream)

    def _pair_errors(self, pairs: Sequence[Pair]) -> list[PairError]:
        sides = []
        for frames in zip(*pairs, strict=True):
            rows, columns = frames[0].shape[:2]
            sides.append(tensors.fitted(self._put(frames), *grid_of(rows, columns, SIZE), SIZE))
        squared, similar = (each.tolist() for each in tensors.squared_errors_and_ssim(*sides))
        return [PairError(error, psnr_of(error), _bounded(ssim)) for error, ssim in zip(squared, similar, strict=True)]

    def _pixel_scores(self, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        got, want = (self._put(frames) for frames in zip(*pairs, strict=True))
        common = tensors.ssim_inside(*(tensors.resized(each, *COMMON_SIZE) for each in (got, want)))
        if want.shape != got.shape:  # by the processor: a pixel that is rounded otherwise would make the truth wrong
            want = self._put([resize(frame, got.shape[2], got.shape[1]) for _, frame in pairs])
        whole, squared = tensors.ssim_inside(got, want), tensors.squared_errors(got, want)
        return [
            {"ssim_table": _bounded(a), "ssim_320x180": _bounded(b), "psnr": psnr_of_mse(error), "mse": error}
            for a, b, error in zip(whole.tolist(), common.tolist(), squared.tolist(), strict=True)
        ]

    def _scenes(self, labels: Sequence[LabelImages]) -> list[dict[str, Instances]]:
        from worldgauge.perception.segment import min_area

        stacks = (np.stack([getattr(one, name) for one in labels]) for name in ("category", "instance"))
        images = (self._torch.from_numpy(stack.astype(np.int32)).to(self._where.name) for stack in stacks)
        keys, sums = tensors.label_sums(*images)
        if len(keys) and keys[:, 1].max() > len(CATEGORIES):
            raise ShapeError(f"a category image holds index {keys[:, 1].max()}, there are {len(CATEGORIES)} categories")
        scenes: list[dict[str, Instances]] = [{} for _ in labels]
        kept = sums[:, 0] >= min_area(labels[0].category.shape)
        for number, scene in enumerate(scenes):
            for index, name in enumerate(CATEGORIES, start=1):
                mine = kept & (keys[:, 0] == number) & (keys[:, 1] == index)
                if mine.any():
                    area = sums[mine, 0].astype(np.float64)
                    scene[name] = Instances(sums[mine, 1] / area, sums[mine, 2] / area, area)
        return scenes

    def _put(self, frames: Sequence[Image]) -> Any:
        for one in frames:
            if (
                one.ndim != 3
                or one.shape[2] != 3
                or one.dtype != np.uint8
                or one.shape != frames[0].shape
                or not one.size
            ):
                raise ShapeError(f"a batch needs frames (H, W, 3) uint8 of one size, got {one.shape} {one.dtype}")
        return self._torch.from_numpy(np.stack(frames)).to(self._where.name)


@dataclass(frozen=True)
class Means:
    """What the scores of one task are computed with. They do not depend on the number of threads."""

    threads: int = 1
    device: ScoreDevice | None = None  # None for the kernels of the CPU

    def each(
        self,
        function: Callable[[Sequence[Job]], Sequence[Result]],
        jobs: Iterable[Job],
        *,
        at_once: int = 1,
        is_thread_safe: bool = True,
    ) -> Iterator[Result]:
        """Apply a function to jobs on the threads and yield its results in order."""
        size, threads = (1, self.threads) if self.device is None else (at_once, max(_TURNS, self.threads))
        for found in in_order(function, _batches(jobs, size), threads if is_thread_safe else 1):
            yield from found

    def errors_of(self, pairs: Sequence[Pair], ready: Sequence[PreparedPair] | None = None) -> list[PairError]:
        """MSE, PSNR and SSIM of some pairs at 1280x720, in this thread."""
        if self.device is not None:
            return self.device.pair_errors(pairs)
        return [pair_error(*both) for both in ready or (prepared_pair(*pair) for pair in pairs)]

    def pixels_of(self, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """The metrics of `ScoreDevice.pixel_scores` of some pairs, in this thread."""
        if self.device is not None:
            return self.device.pixel_scores(pairs)
        return [_pixel_scores(*pair) for pair in pairs]


def _pixel_scores(got: Image, want: Image) -> dict[str, float]:
    fitted = resize(want, got.shape[1], got.shape[0])
    error = mse(got, fitted)
    common = ssim_320x180(got, want)
    return {"ssim_table": ssim_table(got, fitted), "ssim_320x180": common, "psnr": psnr_of_mse(error), "mse": error}


def pairs_at_once(width: int, height: int) -> int:
    """Pairs of frames of a size that a device gets in one batch."""
    return max(1, PIXELS_AT_ONCE // (width * height))


def check_score_device(name: str) -> None:
    """Check that this machine has a device, without taking any of its memory."""
    torch_for(_WHAT)
    choose_device(name)


@lru_cache(maxsize=4)
def score_device(name: str | None) -> ScoreDevice | None:
    """The device that `--score-device` names, which this process keeps."""
    return None if name is None else ScoreDevice(name)


def _batches(jobs: Iterable[Job], size: int) -> Iterator[list[Job]]:
    left = iter(jobs)
    while part := list(islice(left, size)):
        yield part


def _bounded(ssim: float) -> float:
    return max(-1.0, min(1.0, ssim))
