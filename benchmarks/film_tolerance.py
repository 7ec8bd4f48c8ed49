"""Measure how far scores of small videos (films) differ from those of whole videos, on honest bundles.

python -m benchmarks.film_tolerance FOLDER

FOLDER holds data sets as data/SUITE-NAME and runs of any models on them as runs/SUITE-NAME/MODEL. The measured
tolerances go into `film_tolerance.json` beside `verify.py`, with the number of tasks and of runs.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from worldgauge.tools import score_tolerance
from worldgauge.tools import verify as verifying
from worldgauge.tools.bundle import Archive, write_bundles

FACTOR = 2.0
"""The tolerance of one score is this many times the largest difference that was seen; that of a mean likewise."""
Apart = dict[tuple[str, str, str], list[list[float | None]]]


def main(folder: Path) -> None:
    """Measure all runs, and write the table."""
    apart: Apart = defaultdict(list)
    for data in sorted((folder / "data").iterdir()):
        for run in sorted((folder / "runs" / data.name).glob("*/run.json")):
            _measure(data, run.parent, apart)
            print(run.parent, flush=True)
    place = Path(score_tolerance.__file__).with_name(score_tolerance.TOLERANCE)
    place.write_text(json.dumps(table_of(apart), indent=1, sort_keys=True) + "\n")


def table_of(apart: Apart) -> dict[str, Any]:
    """The tolerances, of metrics that films neither lose nor gain."""
    suites: dict[str, Any] = {}
    for (suite, metric, video), bundles in sorted(apart.items()):
        values = [value for one in bundles for value in one]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            means = [abs(sum(one) / len(one)) for one in bundles]  # type: ignore[arg-type]
            each, mean = (_rounded(FACTOR * max(seen)) for seen in (map(abs, known), means))
            suites.setdefault(suite, {}).setdefault(metric, {})[video] = [each, mean]
    return {"measured": {"factor": FACTOR, "tasks and runs": _count(apart)}, "suites": suites}


def _measure(data: Path, run: Path, apart: Apart) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        (made,) = write_bundles([run], Path(scratch), whole=0)
        with Archive(made.path) as archive:
            _, bundle = verifying.look_over(archive, Path(scratch) / "run")
            assert bundle is not None
            checks, pairs = verifying._score_again([archive], bundle, data, bundle.done, lambda *_: None)
            assert len(pairs) == len(bundle.done), checks
    found: dict[tuple[str, str, str], list[float | None]] = defaultdict(list)
    for one in pairs.values():
        here = {score.metric: score for score in one.here}
        for stated in one.stated:
            again, key = here[stated.metric], (bundle.facts["suite"], stated.metric, one.video)
            if (stated.value is None) != (again.value is None):
                found[key].append(None)
            elif stated.value is not None:
                found[key].append(score_tolerance.level_of(stated) - score_tolerance.level_of(again))
    for key, values in found.items():
        apart[key].append(values)


def _count(apart: Apart) -> dict[str, list[int]]:
    counts: dict[str, list[int]] = {}
    for (suite, _, video), bundles in apart.items():
        counts[f"{suite}, {video}"] = max(
            counts.get(f"{suite}, {video}", [0, 0]), [sum(map(len, bundles)), len(bundles)]
        )
    return counts


def _rounded(value: float) -> float:
    return float(f"{value + 1e-9:.2g}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
