"""Peak memory of long tasks, performed and scored by one worker: a walk of over a thousand frames at 640x360, and a
minute and two of one walk at 320x180, which should differ by nothing but their numbers."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from worldgauge.engine.collect import collect
from worldgauge.engine.run import run as perform

RADIUS, SIZE = 99, (640, 360)
GOAL_MB = 1000
HORIZONS_S, SMALL = (60, 120), (320, 180)


def run() -> dict[str, Any]:
    """Megabytes of the largest process. Reference: the frames of the walk and of the rollout, all held at once."""
    with tempfile.TemporaryDirectory() as folder:
        recorded = _in_own_process(folder, "collect")
        ours, generated = _in_own_process(folder, "loopnav")
        minutes = {str(seconds): round(_in_own_process(folder, "mind", seconds)[0]) for seconds in HORIZONS_S}
    reference = (recorded + generated) * SIZE[0] * SIZE[1] * 3 / 1e6
    return {
        "name": "memory",
        "unit": "MB, largest process",
        "ours": round(ours),
        "reference": round(reference),
        "reference_name": "all frames of walk and rollout in memory",
        "ratio": round(reference / ours, 1),
        "goal": GOAL_MB,
        "met": ours <= GOAL_MB,
        "frames": recorded,
        "horizon_s": minutes,
    }


def _in_own_process(folder: str, what: str, *seconds: int) -> Any:
    """What a process prints that is started by this small one: the peak of a process begins at that of its parent."""
    command = [sys.executable, "-m", "benchmarks.memory", folder, what, *map(str, seconds)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _collect(folder: Path) -> None:
    """Frames of the long walk."""
    collected = collect(
        "loopnav",
        folder / "data",
        settlements=1,
        ranges=(RADIUS,),
        types=("ABA",),
        per_combination=1,
        seed=5,
        size=SIZE,
    )
    collect(
        "mind",
        folder / "minutes",
        mem=1,
        train=0,
        action_space=0,
        mirror=0,
        perspectives=("1st",),
        frames=HORIZONS_S[-1] * 24 * 3 // 2,
        size=SMALL,
    )
    print(json.dumps(collected.frames))


def _measure(folder: Path, suite: str, *seconds: str) -> None:
    """Megabytes and frames of a task."""
    import resource

    data, out = folder / ("minutes" if seconds else "data"), folder / "-".join(("out", *seconds))
    settings = {"horizon_s": float(seconds[0]), "poses": "exact"} if seconds else {}
    result = perform(suite, model="truth", data=data, out=out, settings=settings)
    assert result.counts.scored == 1, result.failures
    record = json.loads(next(out.glob("*/records/*/record.json")).read_text())
    kilobytes = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps([kilobytes * 1024 / 1e6, record["facts"]["frames_generated"]]))


if __name__ == "__main__":
    place, what, *more = sys.argv[1:]
    if what == "collect":
        _collect(Path(place))
    else:
        _measure(Path(place), what, *more)
