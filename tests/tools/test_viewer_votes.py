"""Votes on what is not there: they count nowhere, and are told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from worldgauge.tools.viewer import Viewer, Vote, Votes
from worldgauge.tools.viewer_runs import Group, Library


@pytest.fixture
def folder(runs: Path, tmp_path: Path) -> Path:
    """Runs with a vote of Ann and Bo on a task that is there."""
    shutil.copytree(runs, tmp_path / "runs")
    for voter in ("Ann", "Bo"):
        vote(tmp_path / "runs", voter)
    return tmp_path / "runs"


def group_of(folder: Path) -> Group:
    (group,) = Library(folder).refresh()
    return group


def vote(folder: Path, voter: str, **change: str) -> None:
    task = group_of(folder).tasks[0]
    told = {"suite": "toyloop", "place": ".", "task": task, "first": "keeper", "second": "noise", **change}
    Votes(folder).add(Vote(voter=voter, choice="first", **told))


def test_voters_are_those_of_the_runs_that_are_looked_at(folder: Path) -> None:
    vote(folder, "Cy", place="elsewhere")
    told = Viewer(folder).tally(group_of(folder))
    assert (told["votes"], told["voters"]) == (2, 2)
