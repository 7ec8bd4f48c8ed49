"""Collecting LoopNav data against the game, which cannot run faster than its clock of 20 ticks a second."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from worldgauge.engine.collection.kernel import collect

REFERENCE = "Minecraft's own clock, 20 ticks/s"
FPS = 20
GOAL = 2.0


def run() -> dict[str, Any]:
    """Recorded seconds a core second: building the world, walking, rendering at 640x360, Motion JPEG.

    Processor time of one process is counted, so that neighbours on the machine do not slow the number down;
    `wall` is the same by the clock on the wall. A first, small collection pays for compiled code.
    """
    with tempfile.TemporaryDirectory() as folder:
        collect("loopnav", Path(folder, "warm"), settlements=1, ranges=(5,), types=("ABA",), per_combination=1, seed=1)
        core, wall = time.process_time(), time.perf_counter()
        result = collect("loopnav", Path(folder, "timed"), settlements=1, ranges=(5, 15), per_combination=2, seed=2)
        core, wall = time.process_time() - core, time.perf_counter() - wall
    recorded = result.frames / FPS
    return {
        "name": "collect",
        "unit": "recorded seconds per core second, 640x360",
        "ours": round(recorded / core, 2),
        "wall": round(recorded / wall, 2),
        "reference": 1.0,
        "reference_name": REFERENCE,
        "ratio": round(recorded / core, 2),
        "goal": GOAL,
        "met": recorded / core >= GOAL,
        "frames": result.frames,
    }
