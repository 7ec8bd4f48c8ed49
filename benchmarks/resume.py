"""Finding what is left of a run of 1,000 tasks that are all done, each with five scores of 97 frames."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks._bare import Bare, Still
from worldgauge.engine.run import run as perform

TASKS, METRICS, FRAMES = 1000, 5, 97
GOAL_S = 2.0


def run() -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp())
    steps = {"data": folder, "out": folder / "out", "settings": {"tasks": TASKS, "scores": METRICS, "series": FRAMES}}
    try:
        perform(Bare.name, model=Still(), **steps)
        began = time.perf_counter()
        again = perform(Bare.name, model=Still(), **steps)
        ours = time.perf_counter() - began
        assert again.counts.scored == TASKS
        reference = _one_growing_file(folder)
    finally:
        shutil.rmtree(folder)
    return {
        "name": "resume",
        "ours": round(ours, 3),
        "reference": round(reference, 3),
        "reference_name": "one growing JSON read and written whole, as MIND's script does",
        "unit": "s for 1,000 finished tasks",
        "ratio": round(reference / ours, 1),
        "goal": GOAL_S,
        "met": ours <= GOAL_S,
    }


def _one_growing_file(folder: Path) -> float:
    """Seconds to read one JSON file of all results and rewrite it whole for one more, as MIND's script does."""
    path = folder / "results.json"
    entry = {f"metric{m}": [t / 7 + m for t in range(FRAMES)] for m in range(METRICS)}
    path.write_text(json.dumps({str(n): entry for n in range(TASKS)}))
    began = time.perf_counter()
    results = json.loads(path.read_text())
    results["one more"] = entry
    path.write_text(json.dumps(results))
    return time.perf_counter() - began
