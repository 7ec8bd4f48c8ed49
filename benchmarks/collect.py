"""Collecting LoopNav data against the game, which cannot run faster than its clock of 20 ticks a second."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from worldgauge.engine.collect import collect

REFERENCE = "Minecraft's own clock, 20 ticks/s"
FPS = 20
GOAL = 2.0


def run() -> dict[str, Any]:
    """Recorded seconds a core second: building the world, walking, rendering at 640x360, Motion JPEG.

    Processor time of one process is counted, so that neighbours on the machine do not slow the number down;
    `wall` is the same by the clock on the wall. A first, small collection pays for compiled code.
    """
    core, wall, frames = times_real_time()
    return {
        "name": "collect",
        "unit": "recorded seconds per core second, 640x360",
        "ours": round(core, 2),
        "wall": round(wall, 2),
        "reference": 1.0,
        "reference_name": REFERENCE,
        "ratio": round(core, 2),
        "goal": GOAL,
        "met": core >= GOAL,
        "frames": frames,
    }


def times_real_time(device: str | None = None, size: tuple[int, int] = (640, 360)) -> tuple[float, float, int]:
    """How fast one worker collects.

    Args:
        device: Where frames are drawn, as for `collect`.
        size: Width and height of a frame.

    Returns:
        Recorded seconds per second of processor time, the same by the clock, and the number of frames.
    """
    with tempfile.TemporaryDirectory() as folder:
        few: dict[str, Any] = {"settlements": 1, "types": ("ABA",), "per_combination": 1, "size": size}
        collect("loopnav", Path(folder, "warm"), ranges=(5,), seed=1, device=device, **few)
        core, wall = time.process_time(), time.perf_counter()
        more: dict[str, Any] = {"settlements": 1, "ranges": (5, 15), "per_combination": 2, "size": size}
        result = collect("loopnav", Path(folder, "timed"), seed=2, device=device, **more)
        core, wall = time.process_time() - core, time.perf_counter() - wall
    recorded = result.frames / FPS
    return recorded / core, recorded / wall, result.frames
