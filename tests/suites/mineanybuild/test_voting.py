"""Ballots: who takes part, what a critic that cannot choose leaves, and what votes add to an evaluation."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.task_context import QuietContext
from worldgauge.core.agent import agents
from worldgauge.engine.suite.contract import Record, Task
from worldgauge.suites.mineanybuild.critics import CriticError, Preference, Submission
from worldgauge.suites.mineanybuild.suite import MineAnyBuild
from worldgauge.suites.mineanybuild.voting import Ballot, ballot, table_of

NAMES = ("random", "solid-box", "copy-example", "empty")


class Judge:
    """Takes the build of more blocks; notes that try to say something else. Fails from duel `fails` on."""

    def __init__(self, error: CriticError | None = None, fails: int = 0) -> None:
        self.error, self.left = error, fails

    def compare(self, first: Submission, second: Submission, seed: int) -> Preference:
        assert first.reference is second.reference is None
        self.left -= 1
        if self.error is not None and self.left < 0:
            raise self.error
        return Preference(first.built.blocks >= second.built.blocks, "larger", {"agreed": True, "upper": "forged"})


@pytest.fixture
def held(builds: Path, tmp_path: Path) -> Callable[..., Ballot]:
    """A ballot on the first brief, decided by the judge that is given."""
    suite = MineAnyBuild(task="creativity")
    task: Task = next(suite.tasks(builds))
    records: dict[str, Record] = {}
    for name in NAMES:
        (tmp_path / name).mkdir()
        records[name] = suite.perform(task, agents.get(name)(), QuietContext(tmp_path / name, 0))
    return lambda judge: ballot(task, records, judge, suite.options, rounds=3, seed=0)


def test_who_takes_part_in_a_vote(held: Callable[..., Ballot]) -> None:
    # A box of 512 blocks beats a half-filled one of 8 x 8 x 8, and that the doghouse of the example.
    one = held(Judge())
    assert one.absent == ("empty",)
    assert one.votes == {"solid-box": 8.0, "random": 5.5, "copy-example": 3.0}
    assert {"upper": "copy-example", "lower": "random", "first": False, "reason": "larger", "agreed": True} in one.duels
    assert one.problem == ""
    # A critic that cannot choose leaves nobody votes.
    one = held(Judge(CriticError("four odd replies", outage=False), fails=1))
    assert (one.votes, one.problem, len(one.duels)) == ({}, "four odd replies", 1)
    table = table_of([one], {"random": {one.task: 4.0}, "empty": {one.task: 0.0}}, {})
    cells = {row.label: row.cells for row in table.rows}
    assert (cells["random"][0].mean, cells["random"][0].expected) == (None, 1), "ungraded is not 0"
    assert cells["empty"][0].mean == 0.0
    assert "could not decide 1 of 1 briefs" in " ".join(table.notes)
    # An outage ends the vote.
    with pytest.raises(CriticError, match="down"):
        held(Judge(CriticError("down", outage=True)))
    # Votes add a twentieth and failures are zero or left out.
    one = Ballot("t", {"a": 8.0}, ("b",), ())
    evaluations = {"a": {"t": 6.0}, "b": {"t": 0.0}}
    zero = {row.label: row.cells[0].mean for row in table_of([one], evaluations, {}).rows}
    assert zero == pytest.approx({"a": 0.95 * 6 + 0.05 * 8, "b": 0.0})
    left_out = table_of([one], {"a": {"t": 6.0}, "b": {"t": None}}, {}, "left_out")
    assert {row.label: row.cells[0].mean for row in left_out.rows}["b"] is None
    assert "is left out" in left_out.notes[0]
