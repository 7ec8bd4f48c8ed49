"""What a frame costs at each stage, in processor time and bytes, and what that makes of 19,200 trajectories."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worldgauge.engine.collect import collect
from worldgauge.engine.run import run as perform
from worldgauge.models.baselines.truth import TruthModel

TRAJECTORIES, FRAMES = 19_200, 20_000_000
GOAL_CORE_HOURS = 600


def run() -> dict[str, Any]:
    """Core milliseconds and kilobytes a frame: collecting, asking (all but the model itself), scoring; at 640x360.

    Processor time of this process, which a loaded machine slows less than the clock. The reference is
    the recording itself at 20 frames a second, the pace of the game and of a person who records by hand.
    """
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder, "data"), Path(folder, "out")
        collect("loopnav", Path(folder, "warm"), settlements=1, ranges=(5,), types=("ABA",), per_combination=1, seed=1)
        collected, collecting_s = _timed(
            lambda: collect("loopnav", data, settlements=1, ranges=(15, 30), per_combination=1, seed=2)
        )
        # A live model works in this process, so that starting processes and compiling does not count: on the first
        # set it warms up, and of a long run both are a vanishing part.
        perform("loopnav", model=TruthModel(), data=Path(folder, "warm"), out=Path(folder, "warmed"))
        asked, asking_s = _timed(
            lambda: perform("loopnav", model=TruthModel(), data=data, out=out / "asked", scoring=False)
        )
        scored, both_s = _timed(lambda: perform("loopnav", model=TruthModel(), data=data, out=out / "scored"))
        assert asked.counts.failed == scored.counts.failed == 0
        scoring_s = both_s - asking_s
        generated = sum(int(one["frames_generated"]) for one in _facts(out / "scored"))
        data_kb, records_kb = _kilobytes(data) / collected.frames, _kilobytes(out / "scored") / generated
    stages_ms = {
        "collect": 1e3 * collecting_s / collected.frames,
        "ask": 1e3 * asking_s / generated,
        "score": 1e3 * scoring_s / generated,
    }
    wanted = FRAMES * generated / collected.frames  # a model is asked for the way back only
    hours = {
        "collect": stages_ms["collect"] * FRAMES / 3.6e6,
        "ask": stages_ms["ask"] * wanted / 3.6e6,
        "score": stages_ms["score"] * wanted / 3.6e6,
    }
    total = sum(hours.values())
    return {
        "name": "scale",
        "unit": f"core hours for {TRAJECTORIES:,} trajectories, {FRAMES:,} frames, one model without its own time",
        "ours": round(total),
        "reference": round(FRAMES / 20 / 3600),
        "reference_name": "hours of recording at 20 frames/s",
        "ratio": round(FRAMES / 20 / 3600 / total, 2),
        "goal": GOAL_CORE_HOURS,
        "met": total <= GOAL_CORE_HOURS,
        "core_ms_a_frame": {name: round(value, 1) for name, value in stages_ms.items()},
        "core_hours": {name: round(value) for name, value in hours.items()},
        "kb_a_frame": {"data": round(data_kb, 1), "records": round(records_kb, 1)},
        "terabytes": {"data": round(data_kb * FRAMES / 1e9, 2), "records": round(records_kb * wanted / 1e9, 2)},
        "share_generated": round(generated / collected.frames, 3),
    }


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` returns, and the processor seconds that it took in this process."""
    before = time.process_time()
    value = work()
    return value, time.process_time() - before


def _facts(out: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text())["facts"] for path in out.rglob("record.json")]


def _kilobytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e3
