"""Scoring a rollout of LoopNav on one core, with all metrics that need no network, beside decoding its two videos."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2

from worldgauge.core.video import Clip
from worldgauge.engine.collect import collect
from worldgauge.engine.model_run import LocalTaskContext
from worldgauge.engine.suite.rollout import open_rollout
from worldgauge.models import models
from worldgauge.suites.loopnav.suite import LoopNav

GOALS_MS = {(640, 360): 20.0, (1280, 720): 35.0}
ROUNDS = 3


def run() -> dict[str, Any]:
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        found = {size: _measured(size) for size in GOALS_MS}
    finally:
        cv2.setNumThreads(threads)
    small, large = found.values()
    return {
        "name": "score",
        "unit": "processor ms per frame of 640x360, one core, median; the recording was scored with a model before",
        "ours": small["score"],
        "reference": small["decode"],
        "reference_name": "decoding the rollout and the recording",
        "ratio": round(small["decode"] / small["score"], 2),
        "first_model_ms": small["first"],
        "ours_1280x720": large["score"],
        "reference_1280x720": large["decode"],
        "first_model_1280x720_ms": large["first"],
        "goal": "<= 20 ms; <= 35 ms at 1280x720",
        "met": all(found[size]["score"] <= goal for size, goal in GOALS_MS.items()),
    }


def _measured(size: tuple[int, int]) -> dict[str, float]:
    """Milliseconds per frame: of the first model on a recording, of further models, and of decoding both videos."""
    suite = LoopNav()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        collect("loopnav", root / "data", settlements=1, ranges=(5,), types=("ABA",), per_combination=1, size=size)
        (task,) = suite.tasks(root / "data")
        context = LocalTaskContext(root, 0, lambda done, total: None)
        record = suite.perform(task, models.get("drift")(), context)
        rollout, (episode, start) = open_rollout(record), suite.episode(task)
        n = len(rollout)
        first = _cpu_ms(lambda: suite.score(record, context)) / n
        score, decode = [], []
        for _ in range(ROUNDS):  # turn by turn, so that what else the machine does hits both alike
            score.append(_cpu_ms(lambda: suite.score(record, context)) / n)
            decode.append(_cpu_ms(lambda: _read(rollout, episode.clip[start : start + n])) / n)
    return {
        "first": round(first, 1),
        "score": round(statistics.median(score), 1),
        "decode": round(statistics.median(decode), 1),
    }


def _read(*clips: Clip) -> None:
    for clip in clips:
        deque(clip, maxlen=0)


def _cpu_ms(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)
