"""Data sets of the five suites: every text of theirs. Videos are opened, not decoded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from fuzz.format import Format
from suites.worldinworld.closedloop_data import make_published_data
from support.build_fixture import make_published
from worldgauge.engine.collection import check_data
from worldgauge.engine.open_suite import open_suite

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


def _suite(name: str, make: Callable[[Path], object], files: tuple[str, ...], suffix: str = "") -> tuple[Format, ...]:
    return (
        Format(name + suffix, make, _planned(name), files),
        Format(f"check {name}{suffix}", make, _checked(name), files, weight=0.5),
    )


FORMATS = (
    *_suite("loopnav", _copied("loopnav"), TEXTS),
    *_suite("mind", _copied("mind"), TEXTS),
    *_suite("targetbench", _copied("targetbench"), TEXTS),
    *_suite("mineanybuild", make_published, TEXTS),
    *_suite("worldinworld", _copied("worldinworld"), (*TEXTS, "**/*.gz", "**/*.zip")),
    *_suite("worldinworld", _make_published_episodes, (*TEXTS, "**/*.zip"), ", as published"),
)
