"""LPIPS in torch beside the one in numpy, its memory on full frames, and what keeping its answers costs.

Needs the extra 'torch'. Weights are random, of the size of the published ones: times and memory are theirs, distances
are not. `python -m benchmarks.networks` prints all that was measured.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

SIZES = {"640x360": (360, 640), "1280x720": (720, 1280), "1920x1080": (1080, 1920)}
LONG, PART = 121, 10
"""Pairs of the clip whose memory is measured, and as many at a time as suites ask about."""
VGG_PAIRS = 3
"""Of that clip for VGG, which takes half a minute a pair: it holds one pair at a time, as AlexNet does."""
ROUNDS = 3
GOAL_MB, GOAL_SHARE = 6000, 0.1

Image = np.ndarray
WIDTHS = {
    "lpips-alex": {0: (64, 11), 3: (192, 5), 6: (384, 3), 8: (256, 3), 10: (256, 3)},
    "lpips-vgg": {
        number: (width, 3)
        for width, numbers in ((64, (0, 2)), (128, (5, 7)), (256, (10, 12, 14)), (512, (17, 19, 21, 24, 26, 28)))
        for number in numbers
    },
}
COMPARED = {"lpips-alex": (64, 192, 384, 256, 256), "lpips-vgg": (64, 128, 256, 512, 512)}


def run() -> dict[str, Any]:
    """Milliseconds of one core a pair of 1280x720 frames, AlexNet. The rest is in further fields."""
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        folders = {name: _weights(Path(folder, name), name) for name in WIDTHS}
        speeds = {size: _speed(folders["lpips-alex"], *sides) for size, sides in SIZES.items()}
        vgg = _speed(folders["lpips-vgg"], *SIZES["640x360"], name="lpips-vgg")
        kept = _kept(folders["lpips-alex"], Path(folder, "cache"))
        precision = {name: _precision(name, each) for name, each in folders.items()}
        memory = {name: _memory(name, folders[name], LONG if name == "lpips-alex" else VGG_PAIRS) for name in folders}
    here = speeds["1280x720"]
    return {
        "name": "networks",
        "unit": "processor ms a pair of 1280x720 frames, LPIPS of AlexNet, one core, median",
        "ours": round(here["torch_ms"]),
        "reference": round(here["numpy_ms"]),
        "reference_name": "the same in numpy (perception.lpips.Lpips)",
        "ratio": round(here["numpy_ms"] / here["torch_ms"], 2),
        "goal": f"no slower than numpy, <= {GOAL_MB} MB at 1920x1080, a known answer <= {GOAL_SHARE:.0%} of asking",
        "met": here["torch_ms"] <= here["numpy_ms"]
        and all(each["peak_mb"] <= GOAL_MB for each in memory.values())
        and max(kept["known_ms"], kept["unknown_ms"]) <= GOAL_SHARE * here["torch_ms"]
        and here["apart"] <= 1e-5,
        "speeds": speeds,
        "vgg_640x360": vgg,
        "kept": kept,
        "half_precision": precision,
        "memory_1920x1080": memory,
        "processors": os.cpu_count(),
    }


def _speed(folder: Path, rows: int, columns: int, name: str = "lpips-alex") -> dict[str, float]:
    """Turn by turn, so that what else the machine does hits both alike; of VGG there is no other one."""
    from worldgauge.perception.loading import Lpips

    network = _network(name, folder)
    x, y = _pairs(1, rows, columns)
    ways: dict[str, Callable[[], float]] = {"torch": lambda: float(network.answer({"x": x, "y": y})["distances"][0])}
    if name == "lpips-alex":
        other = Lpips([folder / file for file in network.files])
        ways["numpy"] = lambda: other._between(x[0], y[0])
    values = {way: work() for way, work in ways.items()}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, work in ways.items():
            seconds[way].append(_cpu_s(work))
    found = {f"{way}_ms": round(1000 * statistics.median(each), 1) for way, each in seconds.items()}
    if "numpy" in values:
        found["apart"] = abs(values["numpy"] / values["torch"] - 1)
    return found


def _kept(folder: Path, cache: Path) -> dict[str, float]:
    """What the cache itself takes a pair of 1280x720, where the answer is known and where it is not."""
    from worldgauge.perception.cache import cached_rows

    os.environ["WORLDGAUGE_CACHE"] = str(cache)
    x, y = _pairs(PART, *SIZES["1280x720"])
    answer = _network("lpips-alex", folder).answer({"x": x[:1], "y": y[:1]})["distances"]

    def work(version: int) -> float:
        arrays = {"x": x, "y": y}
        return (
            _cpu_s(lambda: cached_rows({"version": version}, arrays, lambda _: {"d": np.repeat(answer, PART)})) / PART
        )

    unknown = [work(version) for version in range(ROUNDS)]
    known = [work(version) for version in range(ROUNDS)]
    rows = np.arange(20_000.0)
    few = {"x": rows[:, None]}
    cached_rows({"version": -1}, few, lambda arrays: {"d": arrays["x"][:, 0]})
    again = _cpu_s(lambda: cached_rows({"version": -1}, few, lambda arrays: {"d": arrays["x"][:, 0]}))
    return {
        "unknown_ms": round(1000 * statistics.median(unknown), 2),
        "known_ms": round(1000 * statistics.median(known), 2),
        "known_tiny_us": round(1e6 * again / len(rows), 1),
    }


def _precision(name: str, folder: Path) -> dict[str, float]:
    """Largest relative change of a distance in half precision, over eight pairs from hardly to fully apart."""
    x, y = _pairs(8, 256, 256)
    exact = _network(name, folder).answer({"x": x, "y": y})["distances"]
    found = {}
    for precision in ("bfloat16", "float16"):
        rough = _network(name, folder, precision).answer({"x": x, "y": y})["distances"]
        found[precision] = float(f"{np.abs(rough / exact - 1).max():.2g}")
    return found


def _memory(name: str, folder: Path, n: int) -> dict[str, float]:
    """In a process of its own: others' memory does not count."""
    command = [sys.executable, "-m", "benchmarks.networks", name, str(folder), str(n)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _ask_about_a_clip(name: str, folder: Path, n: int) -> dict[str, float]:
    import torch

    torch.set_num_threads(1)
    network = _network(name, folder)
    x, y = _pairs(PART, *SIZES["1920x1080"])
    base, seconds = _memory_mb("VmRSS"), 0.0
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    for start in range(0, n, PART):
        part = slice(min(PART, n - start))
        seconds += _cpu_s(lambda part=part: network.answer({"x": x[part], "y": y[part]}))
    return {
        "pairs": n,
        "ms": round(1000 * seconds / n),
        "before_mb": round(base),
        "peak_mb": round(_memory_mb("VmHWM")),
    }


def _network(name: str, folder: Path, precision: Any = "float32") -> Any:
    from worldgauge.perception.networks import choose_device, networks

    return networks.get(name)(folder, choose_device("cpu", precision))


def _weights(folder: Path, name: str) -> Path:
    """Files in the published form, variance kept from layer to layer (He et al. 2015), heads that are positive."""
    import torch

    from worldgauge.perception.networks import networks

    torch.manual_seed(0)
    trunk, channels = {}, 3
    for number, (width, kernel) in WIDTHS[name].items():
        values = torch.randn(width, channels, kernel, kernel)
        trunk[f"features.{number}.weight"] = values * (2 / (channels * kernel**2)) ** 0.5
        trunk[f"features.{number}.bias"] = torch.randn(width) * 0.05
        channels = width
    heads = {f"lin{i}.model.1.weight": torch.rand(1, width, 1, 1) for i, width in enumerate(COMPARED[name])}
    folder.mkdir()
    for file, tensors in zip(networks.get(name).files, (trunk, heads), strict=True):
        torch.save(tensors, folder / file)
    return folder


def _pairs(n: int, rows: int, columns: int) -> tuple[Image, Image]:
    """Smooth random pictures in [-1, 1], and each with more of another in it than the one before."""
    rng = np.random.default_rng(7)
    small = rng.uniform(-1, 1, (n + 1, 18, 32, 3)).astype(np.float32)
    x = np.stack([cv2.resize(each, (columns, rows), interpolation=cv2.INTER_LINEAR) for each in small])
    shares = (np.geomspace(0.02, 1, n, dtype=np.float32))[:, None, None, None]
    return x[:n], (1 - shares) * x[:n] + shares * x[n]


def _memory_mb(what: str) -> float:
    """VmRSS: what this process holds now. VmHWM: the most it has held. Linux only."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return float(line.split()[1]) * 1024 / 1e6


def _cpu_s(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Print all that was measured; given a network, its folder and a number of pairs, what they take, as JSON."""
    if len(sys.argv) == 4:
        print(json.dumps(_ask_about_a_clip(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
        return
    for name, value in run().items():
        print(f"{name:20} {value}")


if __name__ == "__main__":
    main()
