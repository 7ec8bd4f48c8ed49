"""Scores in batches on a GPU against the processor's kernels in the same run: one model's clips, decoded on the way."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.core.video import Clip, Writer, side_by_side
from worldgauge.engine.workers.site import cores_here
from worldgauge.perception.score_device import Means, ScoreDevice, pairs_at_once
from worldgauge.perception.segment import LabelImages

SIZE = (640, 360)
FRAMES = 96
SECONDS = 10.0
GOAL = 0.8
"""Of the time the GPU has something to do, while it scores the clips of one model."""
_EVERY_S = 0.2


def run(
    device: str = "cuda", size: tuple[int, int] = SIZE, frames: int = FRAMES, seconds: float = SECONDS
) -> dict[str, Any]:
    """Pairs of frames a second, with MSE, PSNR and SSIM at 1280x720 and both videos decoded.

    Args:
        device: Device of torch. "cpu" is for tests.
        size: Width and height of the videos.
        frames: Of each video.
        seconds: How long each way is measured.
    """
    try:
        there = ScoreDevice(device)
        import torch
    except (MissingExtraError, UsageError) as error:
        return {"name": "gpu_scores", "not_run": str(error)}
    cores = cores_here()
    # Each clip keeps two threads that decode and one that hands over, as a worker of a run does.
    clips = max(1, cores // 3)
    with tempfile.TemporaryDirectory() as folder:
        paths = [_written(Path(folder, f"{name}.mp4"), size, frames, seed) for seed, name in enumerate(("got", "want"))]
        with _utilisation(there) as shares:
            ours = _rate([Means(2, there)] * clips, paths, seconds)
        reference = _rate([Means()], paths, seconds)
        all_cores = _rate([Means(max(1, cores // clips))] * clips, paths, seconds)
        got, want = (list(Clip.open(path)[: pairs_at_once(*SIZE)]) for path in paths)
    pairs = list(zip(got, want, strict=True))
    labels = _labels(size)
    busy = statistics.fmean(shares) if shares else None
    return {
        "name": "gpu_scores",
        "unit": f"pairs/s of {size[0]}x{size[1]} with MSE, PSNR and SSIM at 1280x720, both decoded",
        "device": torch.cuda.get_device_name(device) if there.is_cuda else "CPU",
        "torch": torch.__version__,
        "clips_at_once": clips,
        "ours": ours,
        "decoded_before": _calls(lambda: there.pair_errors(pairs), len(pairs), seconds),
        "own_size": _calls(lambda: there.pixel_scores(pairs), len(pairs), seconds),
        "own_size_reference": _calls(lambda: Means().pixels_of(pairs), len(pairs), seconds),
        "label_images": _calls(lambda: there.scenes(labels), len(labels), seconds),
        "reference": reference,
        "reference_name": "the processor's kernels, one thread a pair",
        "reference_all_cores": all_cores,
        "ratio": round(ours / reference, 2),
        "utilisation": None if busy is None else round(busy, 3),
        "goal": GOAL,
        "met": busy is not None and busy >= GOAL,
    }


def _written(path: Path, size: tuple[int, int], frames: int, seed: int) -> Path:
    """A video of a picture that moves, as rollouts are kept."""
    rng, (width, height) = np.random.default_rng(seed), size
    picture = cv2.resize(
        rng.integers(0, 256, (height // 8 + 1, width // 4 + 1, 3), dtype=np.uint8), (2 * width, height)
    )
    with Writer(path, fps=24, kind="lossless") as video:
        for number in range(frames):
            start = number % width
            video.write(np.ascontiguousarray(picture[:, start : start + width]))
    return path


def _labels(size: tuple[int, int]) -> list[LabelImages]:
    rng, (width, height) = np.random.default_rng(3), size
    found = []
    for _ in range(pairs_at_once(*SIZE)):
        blocks = rng.integers(0, [11, 8], (9, 16, 2)).astype(np.uint16)
        category, instance = (
            cv2.resize(blocks[..., k], (width, height), interpolation=cv2.INTER_NEAREST) for k in (0, 1)
        )
        found.append(LabelImages(category, instance))
    return found


def _rate(means: list[Means], paths: list[Path], seconds: float) -> float:
    """Pairs a second of so many clips at once, each read and scored from its beginning until the time is up."""

    def score(one: Means, until: float) -> int:
        done = 0
        while not done or time.perf_counter() < until:
            got, want = (Clip.open(path) for path in paths)
            done += sum(1 for _ in one.each(one.errors_of, side_by_side(got, want), at_once=pairs_at_once(*SIZE)))
        return done

    score(means[0], 0.0)  # compiles, and wakes the device
    began = time.perf_counter()
    with ThreadPoolExecutor(len(means)) as pool:
        done = sum(pool.map(lambda one: score(one, began + seconds), means))
    return round(done / (time.perf_counter() - began), 1)


def _calls(call: Any, frames: int, seconds: float) -> float:
    call()
    done, began = 0, time.perf_counter()
    while not done or time.perf_counter() - began < seconds / 4:
        call()
        done += frames
    return round(done / (time.perf_counter() - began), 1)


@contextmanager
def _utilisation(device: ScoreDevice) -> Iterator[list[float]]:
    """Share of the time that the GPU was busy, as its driver tells it every fifth of a second; none of a processor."""
    shares: list[float] = []
    program = shutil.which("nvidia-smi")
    if not device.is_cuda or program is None:
        yield shares
        return
    import torch

    number = torch.device(device.name).index or 0
    which = str(torch.cuda.get_device_properties(number).uuid)
    asked = [program, f"--id=GPU-{which}", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    done = threading.Event()

    def look() -> None:
        while not done.wait(_EVERY_S):
            told = subprocess.run(asked, capture_output=True, text=True).stdout.strip()
            if told.isdigit():
                shares.append(int(told) / 100)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield shares
    finally:
        done.set()
        watcher.join()
