"""Votes on creativity: agents meet over each brief, a critic says whose build is better (MineAnyBuild, algorithm 1).

The Swiss tournament and its scores are in `metrics.scores`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.io import dumps, loads, read_text
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import RunResult, find_runs
from worldgauge.engine.resume import task_seed
from worldgauge.engine.store import RunFolder, atomic_write, record_entry
from worldgauge.engine.suite.contract import Record, Table, TableRow, Task
from worldgauge.engine.suite.scores import make_cell, sort_rows
from worldgauge.suites.mineanybuild.critics import Critic, CriticError
from worldgauge.suites.mineanybuild.feedback import reading_of
from worldgauge.suites.mineanybuild.metrics.scores import comprehensive, swiss, voting_scores
from worldgauge.suites.mineanybuild.protocol import answer_of, row_of
from worldgauge.suites.mineanybuild.scoring import critic_of, submission_of
from worldgauge.suites.mineanybuild.settings import SUITE, BuildSettings, FailedPlans

ROUNDS = 3
EVALUATION = "creativity/build_evaluation"


@dataclass(frozen=True)
class Ballot:
    """The vote on one brief.

    Attributes:
        votes: Score of 3 to 8 of each agent whose answer can be built.
        duels: {"upper", "lower", "first": whether the upper one won, "reason"} and notes, in order.
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
    """Hold the vote on one brief. What cannot be built does not take part; its scores are 0 anyway."""
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
    """Return the table of votes, and of creativity's comprehensive score."""
    undecided = sum(bool(one.problem) for one in ballots)
    rows = []
    for label, own in evaluations.items():
        totals, votes = [], [one.votes.get(label) for one in ballots]
        for one, vote in zip(ballots, votes, strict=True):
            built = label not in one.absent
            counts = built or failed_plans == "zero"
            totals.append(comprehensive(built, own.get(one.task), vote) if counts else None)
        first = [own.get(one.task) for one in ballots]
        columns = ((totals, (0.0, 10.0)), (first, (0.0, 10.0)), (votes, (3.0, 8.0)))
        cells = tuple(make_cell(values, bounds) for values, bounds in columns)
        kind: Literal["model", "baseline"] = "baseline" if kinds.get(label) == "baseline" else "model"
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


KIND = "creativity"
FORMAT, VERSION = "worldgauge-votes", 1


def vote(
    runs: Sequence[Path],
    *,
    out: Path,
    rounds: int = ROUNDS,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Table:
    """Vote on all briefs that at least two runs have records of; a recording replays, an undecided brief says so."""
    folders = find_runs(runs)
    facts = [folder.facts() for folder in folders]
    if others := sorted({fact["suite"] for fact in facts} - {SUITE}):
        raise UsageError(f"builds are voted on, not {', '.join(others)}: give runs of the suite {SUITE}")
    plain = open_suite(SUITE, {}).settings
    changed = {name: value for name, value in facts[0]["settings"].items() if value != plain.get(name)}
    suite = open_suite(SUITE, {**changed, **(settings or {})})
    result = RunResult(folders, suite)
    records = _records(folders)
    shared = {task: own for task, own in sorted(records.items()) if len(own) > 1}
    if not shared:
        raise UsageError(f"no two of these runs share a task of {KIND}; run one with --set task={KIND}")
    critic = critic_of(suite.options)
    ballots: list[Ballot] = []
    for number, (task, own) in enumerate(shared.items()):
        if progress is not None:
            progress(number, len(shared))
        first = next(iter(own.values()))
        seed = task_seed(facts[0]["seed"], task)
        ballots.append(ballot(first.task, own, critic, suite.options, rounds=rounds, seed=seed))
    header = {
        "format": FORMAT,
        "version": VERSION,
        "rounds": rounds,
        "seed": facts[0]["seed"],
        "agents": sorted(result.directories),
        "settings": dict(suite.settings),
    }
    atomic_write(Path(out), "".join(dumps(line) + "\n" for line in (header, *map(asdict, ballots))))
    return _table(result, ballots, suite.options.failed_plans)


def voted(votes: Path, runs: Sequence[Path]) -> Table:
    """Return the table of an earlier vote, from its file and its runs."""
    try:
        header, *lines = map(loads, filter(str.strip, read_text(Path(votes)).split("\n")))
        if header.get("format") != FORMAT or header.get("version") != VERSION:
            raise ValueError(f"its first line is not of the format {FORMAT}, version {VERSION}")
        ballots = [Ballot(**line) for line in lines]
        agents, failed_plans = set(header["agents"]), header["settings"]["failed_plans"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"{votes}: cannot be read as votes ({error}); use: worldgauge mineanybuild vote") from error
    result = RunResult(find_runs(runs), open_suite(SUITE, {}))
    if missing := sorted(agents - set(result.directories)):
        raise DataError(f"{votes}: holds votes on {', '.join(missing)}, not among the runs; give those runs too")
    return _table(result, ballots, failed_plans, agents)


def _table(
    result: RunResult, ballots: Sequence[Ballot], failed_plans: FailedPlans, agents: Collection[str] | None = None
) -> Table:
    evaluations = {
        name: {score.task: score.value for score in scores if score.metric == EVALUATION}
        for name, scores in result.scores.items()
        if agents is None or name in agents
    }
    return table_of(ballots, evaluations, result.kinds, failed_plans)


def _records(folders: Sequence[RunFolder]) -> dict[str, dict[str, Record]]:
    """task -> agent -> its record, of the tasks of creativity that were answered."""
    found: dict[str, dict[str, Record]] = {}
    for folder in folders:
        facts = folder.facts()
        for name in facts["task_keys"]:
            if not name.startswith(f"{KIND}/"):
                continue
            try:
                entry = record_entry(folder.record(name))
            except RunError:
                continue  # not answered, or failed, which the run reports
            if entry.get("error"):
                continue
            sample = {**entry["sample"], "source": facts["source"]}
            task = Task(SUITE, name, sample, entry["fingerprint"], entry["group"])
            record = Record(task, entry["model"], folder.record(name), entry["facts"], entry["rollout"])
            found.setdefault(name, {})[facts["model"]["name"]] = record
    return found
