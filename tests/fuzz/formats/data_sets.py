"""Data sets of the five suites, and recordings to train on: every text of theirs. Videos are opened, not decoded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from fuzz.format import Format
from suites.closedloop.closedloop_data import make_published_data
from suites.closedloop.training_data import demonstrations_data
from suites.closedloop.training_data import test_trajectory as walk
from support.build_fixture import make_published
from worldgauge.engine.collection import check_data
from worldgauge.engine.open_suite import open_suite
from worldgauge.suites.closedloop.training_data import demonstration as demonstrations_index
from worldgauge.suites.closedloop.training_data import trajectory as coverage_index
from worldgauge.suites.closedloop.training_data.coverage import check as coverage_check
from worldgauge.suites.closedloop.training_data.demonstrations import check as demonstrations_check
from worldgauge.suites.closedloop.training_data.trajectory import read_trajectory, write_trajectory

SOUND = Path(__file__).parents[1] / "sound"
"""Small data sets as `worldgauge collect` wrote them, with black pictures."""
TEXTS = ("**/*.json", "**/*.csv", "**/*.txt")


def _copied(name: str) -> Callable[[Path], object]:
    return lambda folder: shutil.copytree(SOUND / name, folder, dirs_exist_ok=True)


def _planned(name: str) -> Callable[[Path], object]:
    """All tasks of a data set."""
    suite = open_suite(name, {})

    def read(folder: Path) -> None:
        for task in suite.tasks(folder):
            json.dumps(task.sample)

    return read


def _checked(name: str) -> Callable[[Path], object]:
    """What `worldgauge check` says of a data set."""
    return lambda folder: check_data(name, folder)


def _make_published_episodes(folder: Path) -> None:
    make_published_data(folder, packed=False)


def _make_trajectory(folder: Path) -> None:
    write_trajectory(folder, "home-train-0003", 0, walk.views(), walk.steps(), walk.FACTS)
    coverage_index.write_index(folder, "train")


def _read_trajectory(folder: Path) -> None:
    coverage_check(folder)
    found = read_trajectory(next(path.parent for path in folder.rglob("manifest.json")))
    if found.depth is not None:
        found.depth(0)


def _make_demonstration(folder: Path) -> None:
    demonstrations_data.written(folder)
    demonstrations_index.write_index(folder)


def _suite(name: str, make: Callable[[Path], object], files: tuple[str, ...], suffix: str = "") -> tuple[Format, ...]:
    return (
        Format(name + suffix, make, _planned(name), files),
        Format(f"check {name}{suffix}", make, _checked(name), files, weight=0.5),
    )


ARRAYS = ("**/*.json", "**/*.jsonl", "**/*.npz")
FORMATS = (
    *_suite("loopnav", _copied("loopnav"), TEXTS),
    *_suite("mind", _copied("mind"), TEXTS),
    *_suite("target", _copied("target"), TEXTS),
    *_suite("build", make_published, TEXTS),
    *_suite("closedloop", _copied("closedloop"), (*TEXTS, "**/*.gz", "**/*.zip")),
    *_suite("closedloop", _make_published_episodes, (*TEXTS, "**/*.zip"), ", as published"),
    Format("coverage", _make_trajectory, _read_trajectory, ARRAYS),
    Format("demonstrations", _make_demonstration, demonstrations_check, ARRAYS),
)
