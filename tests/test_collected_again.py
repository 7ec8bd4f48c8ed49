"""Data that were collected again into the same folder are scored as a fresh process scores them, in every suite."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import worldgauge as wg
from worldgauge.core.agent import agents
from worldgauge.engine.collection import collections
from worldgauge.models import models
from worldgauge.suites import suites
from worldgauge.tools.viewer_runs import Footages, Library

pytestmark = pytest.mark.process

FEW: dict[str, dict[str, Any]] = {
    "loopnav": {"settlements": 1, "ranges": (5,), "types": ("ABA",), "per_combination": 1, "size": (64, 36)},
    "mind": {
        "perspectives": ("1st",),
        "mem": 1,
        "mirror": 1,
        "action_space": 0,
        "train": 0,
        "frames": 24,
        "size": (64, 36),
    },
    "targetbench": {"scenes": 1, "per_scene": 1, "places": ("indoors",), "size": (96, 54), "fps": 5},
    "worldinworld": {
        "scenes": 1,
        "recognition": 1,
        "navigation": 1,
        "questions": 1,
        "manipulation": 0,
        "size": (64, 36),
    },
    "mineanybuild": {"structures": 1, "stimuli": 1, "commonsense": 1, "size_px": 64},
}
"""Options of the collection of each suite; a suite of another package has those of its `demo_set`, or the defaults."""
MORE: dict[str, dict[str, Any]] = {
    "loopnav": {"settlements": 2, "size": (80, 45)},
    "mind": {"mem": 2, "size": (80, 45)},
    "targetbench": {"per_scene": 2, "size": (128, 72)},
    "worldinworld": {"navigation": 2, "size": (80, 45)},
    "mineanybuild": {"structures": 2, "size_px": 80},
}
"""A larger set, with frames of another size."""
SETTINGS: dict[str, dict[str, Any]] = {
    "mind": {"poses": "exact", "horizon": 8},
    "targetbench": {"decoder": "exact", "fps": 5},
    "worldinworld": {"view_px": 48, "panorama_px": 128, "decisions": 2},
}


def values(suite: str, data: Path, out: Path) -> dict[str, Any]:
    """Fingerprint and scores of every task, by a live model in this process."""
    kind, settings = suites.get(suite), SETTINGS.get(suite)
    if suite not in FEW and (demo := kind.demo_set()) is not None:
        settings = dict(demo.settings)
    model = agents.get("random")() if kind.answerer_kind == "agent" else models.get("freeze")()
    result = wg.run(suite, data=data, model=[model], out=out, settings=settings)
    assert result.ok, result.failures
    scores = {f"{one.task} {one.metric}": one.value for rows in result.scores.values() for one in rows}
    assert scores
    return {"data": result.folders[0].facts()["data_fingerprint"], "scores": scores}


@pytest.mark.parametrize(
    "suite",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name != "worldinworld" else [])
        for name in suites.names()
        if name in collections
    ],
)
def test_a_run_on_data_collected_again_is_that_of_a_fresh_process(suite: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    demo = suites.get(suite).demo_set()
    few = FEW.get(suite, dict(demo.options) if demo else {})
    known = set()
    for turn, options in enumerate([{"seed": 1}, {"seed": 2}, {"seed": 2, **MORE.get(suite, {})}]):
        shutil.rmtree(data, ignore_errors=True)
        wg.collect(suite, out=data, **{**few, **options})
        here = values(suite, data, tmp_path / f"here-{turn}")
        assert here["data"] not in known or options == {"seed": 2}, "other data have another fingerprint"
        known.add(here["data"])
        if turn:
            told = subprocess.run(
                [sys.executable, __file__, suite, str(data), str(tmp_path / f"fresh-{turn}")],
                capture_output=True,
                text=True,
                check=False,
            )
            assert told.returncode == 0, told.stderr
            assert here == json.loads(told.stdout.splitlines()[-1])


def test_a_film_and_the_viewer_show_no_truth_of_other_data(tmp_path: Path) -> None:
    data, footages = tmp_path / "data", Footages()
    wg.collect("loopnav", out=data, **FEW["loopnav"], seed=1)
    result = wg.run("loopnav", data=data, model="freeze", out=tmp_path / "runs")
    task = result.frame.task[0]

    def shown() -> tuple[set[str], set[str], str]:
        (group,) = Library(tmp_path / "runs").refresh()
        footage = footages.open(group, task)
        return set(result.film(task).names), set(footage.clips), " ".join(footage.notes)

    film, clips, _ = shown()
    assert "ground truth" in film
    assert "ground truth" in clips
    shutil.rmtree(data)
    wg.collect("loopnav", out=data, **FEW["loopnav"], seed=2)
    film, clips, notes = shown()
    assert film == clips == {"freeze"}
    assert "changed after the run was planned" in notes


if __name__ == "__main__":
    name, folder, runs = sys.argv[1:]
    print(json.dumps(values(name, Path(folder), Path(runs))))
