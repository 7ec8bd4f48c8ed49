"""MSE, PSNR and SSIM at 1280x720 of two 1080p clips, a frame: ours beside scikit-image, and torchmetrics where it is.

`python -m benchmarks.frame_pairs` prints a table.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from skimage.metrics import structural_similarity
from skimage.transform import resize

from worldgauge.core.video import Clip, Writer
from worldgauge.metrics.frame_pairs import PairError, pair_error, pair_errors, prepared

FRAMES, LONG = 24, 240
ROUNDS, OTHERS = 9, 3
GOAL_MS, AIM_MS, GOAL_MB = 150.0, 40.0, 1000
TOLERANCE = {"mse": 1e-6, "ssim": 3e-5}

Image = np.ndarray


def run() -> dict[str, Any]:
    """Milliseconds of one core a frame, resize of both sides included, decoding not. The rest is in further fields."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        with tempfile.TemporaryDirectory() as folder:
            paths = [_written(Path(folder, f"{name}.mp4"), seed) for seed, name in enumerate(("got", "want"))]
            return _measured(paths)
    finally:
        cv2.setNumThreads(threads)


def _measured(paths: list[Path]) -> dict[str, Any]:
    x, y = (Clip.open(path)[FRAMES // 2] for path in paths)
    a, b = prepared(x), prepared(y)
    ways: dict[str, Callable[[Image, Image], PairError]] = {"ours": _ours, "scikit-image": _scikit_image}
    if find_spec("torchmetrics"):
        ways["torchmetrics"] = _torchmetrics()
    values = {way: work(x, y) for way, work in ways.items()}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(OTHERS):  # turn by turn, so that what else the machine does hits all alike
        for way, work in ways.items():
            seconds[way] += [_cpu_s(lambda work=work: work(x, y)) for _ in range(ROUNDS if way == "ours" else 1)]
    ms = {way: 1000 * statistics.median(each) for way, each in seconds.items()}
    # SSIM of scikit-image leaves the border out, so only its MSE can be compared; torchmetrics defines the value.
    differences = {
        f"{field} {way}": abs(getattr(values["ours"], field) - getattr(values[way], field))
        for way in ways
        for field in ("mse", "ssim")
        if way == "torchmetrics" or (way == "scikit-image" and field == "mse")
    }
    clips = _clips(paths)
    decoded = {f"{n} threads": round(clips[f"wall ms, {n} threads"], 1) for n in (1, 2)}
    with_decoding = clips["cpu ms, 1 threads"]
    return {
        "name": "frame_pairs",
        "unit": "processor ms a pair of 1920x1080 frames, one core, median; both resized to 1280x720",
        "ours": round(ms["ours"], 2),
        "reference": round(ms["scikit-image"], 1),
        "reference_name": "scikit-image resize and structural_similarity, float32",
        "ratio": round(ms["scikit-image"] / ms["ours"], 1),
        "goal": f"<= {GOAL_MS:g} ms with and without decoding, <= {GOAL_MB} MB",
        "met": max(ms["ours"], with_decoding) <= GOAL_MS
        and clips["peak MB"] <= GOAL_MB
        and all(TOLERANCE[name.split()[0]] >= difference for name, difference in differences.items()),
        "aim_ms": AIM_MS,
        "torchmetrics_ms": round(ms["torchmetrics"], 1) if "torchmetrics" in ms else None,
        "differences": differences,
        "parts_ms": {
            "prepared": round(1000 * _median(lambda: prepared(x)), 2),
            "pair_error": round(1000 * _median(lambda: pair_error(a, b)), 2),
        },
        "with_decoding_processor_ms": round(with_decoding, 1),
        "with_decoding_wall_ms": decoded,
        "speedup_on_two_threads": round(clips["wall ms, 1 threads"] / clips["wall ms, 2 threads"], 2),
        "peak_mb": round(clips["peak MB"]),
        "long_clip_frames": LONG,
        "processors": os.cpu_count(),
    }


def _ours(x: Image, y: Image) -> PairError:
    return pair_error(prepared(x), prepared(y))


def _scikit_image(x: Image, y: Image) -> PairError:
    """Bilinear, unsmoothed, in float32, as ours; the SSIM of scikit-image leaves out a border of 5 pixels."""
    a, b = (
        (resize(each.astype(np.float32), (720, 1280), order=1, anti_aliasing=False, mode="edge") / 255).astype(
            np.float32
        )
        for each in (x, y)
    )
    mse = float(np.mean((a - b) ** 2, dtype=np.float64))
    how = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 1, "channel_axis": 2}
    return PairError(mse, -10 * math.log10(mse), float(structural_similarity(a, b, **how)))


def _torchmetrics() -> Callable[[Image, Image], PairError]:
    import torch
    from torchmetrics.functional.image import structural_similarity_index_measure

    torch.set_num_threads(1)

    def work(x: Image, y: Image) -> PairError:
        with torch.no_grad():
            a, b = (
                torch.nn.functional.interpolate(
                    torch.from_numpy(each).permute(2, 0, 1)[None].float(), size=(720, 1280), mode="bilinear"
                ).div_(255)
                for each in (x, y)
            )
            mse = float(torch.mean((a - b) ** 2))
            return PairError(
                mse, -10 * math.log10(mse), float(structural_similarity_index_measure(a, b, data_range=1.0))
            )

    return work


def _clips(paths: list[Path]) -> dict[str, float]:
    """What the streaming way takes, decoding included, in a process of its own: others' memory does not count."""
    done = subprocess.run(
        [sys.executable, "-m", __name__ if __name__ != "__main__" else "benchmarks.frame_pairs", *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _stream(paths: list[str]) -> dict[str, float]:
    cv2.setNumThreads(1)
    found: dict[str, float] = {}
    list(pair_errors(*(Clip.open(path)[:2] for path in paths)))
    for threads in (1, 2):
        wall, cpu = time.perf_counter(), time.process_time()
        n = sum(1 for _ in pair_errors(*(Clip.open(path) for path in paths), threads=threads))
        found[f"wall ms, {threads} threads"] = 1000 * (time.perf_counter() - wall) / n
        found[f"cpu ms, {threads} threads"] = 1000 * (time.process_time() - cpu) / n
    assert sum(1 for _ in pair_errors(*map(_again_and_again, paths), threads=2)) == LONG
    found["peak MB"] = _peak_mb()
    return found


def _peak_mb() -> float:
    """Of this process alone; getrusage would count the parent's from before this program was started in it."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024 / 1e6


def _again_and_again(path: str) -> Iterator[Image]:
    """The frames of a clip over and over, LONG of them, decoded anew each time."""
    return itertools.islice(itertools.chain.from_iterable(Clip.open(path) for _ in itertools.count()), LONG)


def _written(path: Path, seed: int) -> Path:
    """A smooth random picture that pans, with grain of its own, as players get it."""
    rng = np.random.default_rng(seed)
    wide = cv2.resize(
        np.random.default_rng(9).integers(0, 256, (68, 130, 3), dtype=np.uint8),
        (2100, 1080),
        interpolation=cv2.INTER_CUBIC,
    )
    with Writer(path, fps=24, kind="viewable") as out:
        for t in range(FRAMES):
            view = wide[:, 4 * t : 4 * t + 1920].astype(np.int16) + rng.integers(-6, 7, (1080, 1920, 1), dtype=np.int16)
            out.write(np.clip(view, 0, 255).astype(np.uint8))
    return path


def _median(work: Callable[[], object]) -> float:
    return statistics.median(_cpu_s(work) for _ in range(ROUNDS))


def _cpu_s(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Print all that was measured; given two clips, what streaming them takes, as JSON."""
    if len(sys.argv) == 3:
        print(json.dumps(_stream(sys.argv[1:])))
        return
    for name, value in run().items():
        print(f"{name:28} {value}")


if __name__ == "__main__":
    main()
