"""Votes on creativity: agents meet over each brief, a critic says whose build is better (MineAnyBuild, algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from worldgauge.engine.suite.contract import Cell, Record, Table, TableRow, Task
from worldgauge.engine.suite.tables import make_cell, sort_rows
from worldgauge.suites.build.critics import Critic, CriticError
from worldgauge.suites.build.metrics.scores import comprehensive
from worldgauge.suites.build.metrics.tournament import swiss, voting_scores
from worldgauge.suites.build.protocol import answer_of
from worldgauge.suites.build.scoring import reading_of, submission_of
from worldgauge.suites.build.settings import BuildSettings, FailedPlans
from worldgauge.suites.build.tasks import row_of

ROUNDS = 3
EVALUATION = "creativity/build_evaluation"


@dataclass(frozen=True)
class Ballot:
    """The vote on one brief.

    Attributes:
        task: Id of the task.
        votes: Score of 3 to 8 of each agent whose answer can be built.
        absent: Agents whose answer cannot be built.
        duels: {"upper", "lower", "first": whether the upper one won, "reason"} and the critic's notes, in the order
            played.
        problem: Why the critic could not choose; then nobody has votes, which is not 0.
    """

    task: str
    votes: Mapping[str, float]
    absent: tuple[str, ...]
    duels: tuple[Mapping[str, Any], ...]
    problem: str = ""


def ballot(
    task: Task, records: Mapping[str, Record], critic: Critic, settings: BuildSettings, *, rounds: int, seed: int
) -> Ballot:
    """Hold the vote on one brief. What cannot be built does not take part; its scores are 0 anyway.

    Args:
        task: The brief.
        records: Records by agent.
        critic: Compares two builds.
        settings: Settings of the suite.
        rounds: Most rounds.
        seed: Seed of the critic.

    Raises:
        CriticError: For an outage.
        DataError: If the data are missing.
    """
    row = row_of(task)
    works, absent = {}, []
    for label, record in records.items():
        reading = reading_of(row, answer_of(record), settings)
        if reading.blueprint is None or not reading.executable:
            absent.append(label)
        else:
            works[label] = submission_of(task.id, row, reading.blueprint, None)
    duels: list[Mapping[str, Any]] = []

    def first_wins(upper: str, lower: str) -> bool:
        choice = critic.compare(works[upper], works[lower], seed)
        duels.append({**choice.notes, "upper": upper, "lower": lower, "first": choice.first, "reason": choice.reason})
        return choice.first

    votes: dict[str, float] = {}
    problem = ""
    try:
        votes = voting_scores(swiss(list(works), rounds, first_wins).points) if works else {}
    except CriticError as error:
        if error.outage:
            raise
        problem = str(error)
    return Ballot(task.id, votes, tuple(absent), tuple(duels), problem)


def table_of(
    ballots: Sequence[Ballot],
    evaluations: Mapping[str, Mapping[str, float | None]],
    kinds: Mapping[str, str],
    failed_plans: FailedPlans = "zero",
) -> Table:
    """Return the table of votes, and of creativity's comprehensive score.

    Args:
        ballots: One per brief.
        evaluations: Evaluation score of 10, by agent and task.
        kinds: "subject" or "reference" of each agent.
        failed_plans: As in the suite's settings.
    """
    undecided = sum(bool(one.problem) for one in ballots)
    rows = []
    for label, own in evaluations.items():
        totals, votes = [], []
        for one in ballots:
            vote = one.votes.get(label)
            votes.append(vote)
            built = label not in one.absent
            counts = built or failed_plans == "zero"
            totals.append(comprehensive(built, own.get(one.task), vote) if counts else None)
        first = [own.get(one.task) for one in ballots]
        cells: tuple[Cell, ...] = (
            make_cell(totals, (0.0, 10.0)),
            make_cell(first, (0.0, 10.0)),
            make_cell(votes, (3.0, 8.0)),
        )
        kind: Literal["subject", "reference"] = "reference" if kinds.get(label) == "reference" else "subject"
        rows.append(TableRow(label, cells, kind))
    return Table(
        "creativity/build_comprehensive",
        "Creativity with votes",
        "points",
        "higher",
        ("comprehensive", "evaluation", "votes"),
        tuple(sort_rows(rows, "higher", 0)),
        (
            "Comprehensive: 0.95 of the evaluation and 0.05 of the votes. Votes: 3 for the last and 8 for the first of "
            "each brief's tournament; what cannot be built takes no part and "
            + ("scores 0." if failed_plans == "zero" else "is left out."),
            *([f"The critic could not decide {undecided} of {len(ballots)} briefs."] if undecided else []),
        ),
        betters=("higher", "higher", "higher"),
    )
