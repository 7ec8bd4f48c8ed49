"""Peak memory of one long task: a walk of over a thousand frames at 640x360, performed and scored by one worker."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from worldgauge.engine.collection.kernel import collect
from worldgauge.engine.run import run as perform

RADIUS, SIZE = 99, (640, 360)
GOAL_MB = 1000


def run() -> dict[str, Any]:
    """Megabytes of the largest process. Reference: the frames of the walk and of the rollout, all held at once."""
    with tempfile.TemporaryDirectory() as folder:
        collected = collect(
            "loopnav",
            Path(folder, "data"),
            settlements=1,
            ranges=(RADIUS,),
            types=("ABA",),
            per_combination=1,
            seed=5,
            size=SIZE,
        )
        # A process of its own: what earlier benchmarks have used does not count.
        done = subprocess.run([sys.executable, "-m", __name__, folder], capture_output=True, text=True, check=True)
        ours, generated = json.loads(done.stdout)
    reference = (collected.frames + generated) * SIZE[0] * SIZE[1] * 3 / 1e6
    return {
        "name": "memory",
        "unit": "MB, largest process",
        "ours": round(ours),
        "reference": round(reference),
        "reference_name": "all frames of walk and rollout in memory",
        "ratio": round(reference / ours, 1),
        "goal": GOAL_MB,
        "met": ours <= GOAL_MB,
        "frames": collected.frames,
    }


def _measure(folder: Path) -> None:
    import resource

    result = perform("loopnav", model="truth", data=folder / "data", out=folder / "out")
    assert result.counts.scored == 1, result.failures
    record = json.loads(next((folder / "out").glob("*/records/*/record.json")).read_text())
    kilobytes = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps([kilobytes * 1024 / 1e6, record["facts"]["frames_generated"]]))


if __name__ == "__main__":
    _measure(Path(sys.argv[1]))
