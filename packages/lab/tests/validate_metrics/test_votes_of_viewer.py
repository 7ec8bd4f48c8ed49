"""Votes on what is not there: they count nowhere, and are told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from report.conftest import runs, toyloop
from worldgauge.tools.viewer import Vote, Votes, agreements, preferences
from worldgauge.tools.viewer_runs import Library, RunGroup
from worldgauge_lab.validate_metrics.people import people_study

__all__ = ["runs", "toyloop"]


@pytest.fixture
def folder(runs: Path, tmp_path: Path) -> Path:
    """Runs with a vote of Ann and Bo on a task that is there."""
    shutil.copytree(runs, tmp_path / "runs")
    for voter in ("Ann", "Bo"):
        vote(tmp_path / "runs", voter)
    return tmp_path / "runs"


def group_of(folder: Path) -> RunGroup:
    (group,) = Library(folder).refresh()
    return group


def vote(folder: Path, voter: str, **change: str) -> None:
    task = group_of(folder).tasks[0]
    told = {"suite": "toyloop", "place": ".", "task": task, "first": "keeper", "second": "noise", **change}
    Votes(folder).add(Vote(voter=voter, choice="first", **told))


@pytest.mark.parametrize("change", [{"task": "gone"}, {"second": "gone"}])
def test_votes_on_a_task_or_subject_that_is_gone_are_left_out_and_counted(folder: Path, change: dict[str, str]) -> None:
    group = group_of(folder)
    before = agreements(group, Votes(folder).read())
    kept = preferences(group, Votes(folder).read())
    assert (before[0].agreed, before[0].n, before[0].left_out) == (1, 1, 0)
    for voter in ("Ann", "Bo", "Cy"):
        vote(folder, voter, **change)
    after = agreements(group, Votes(folder).read())
    assert (after[0].agreed, after[0].n, after[0].left_out) == (1, 1, 3)  # three pairs of voters
    for old, new in zip(before[1:], after[1:], strict=True):
        assert (new.agreed, new.n, new.left_out) == (old.agreed, old.n, old.left_out + 3)
    assert preferences(group, Votes(folder).read()) == kept
    people = next(row for row in people_study(folder).rows if row.metric == "people")
    assert (people.share, people.n, people.left_out) == (1.0, 1, 3)


def test_votes_on_runs_that_are_not_in_this_folder_are_told(folder: Path) -> None:
    assert not any("not in this folder" in note for note in people_study(folder).notes)
    vote(folder, "Cy", place="elsewhere")
    vote(folder, "Dee", suite="mind")
    assert "2 votes are on runs that are not in this folder." in people_study(folder).notes
