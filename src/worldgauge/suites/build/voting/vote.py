"""The vote: builds of several runs for the same briefs meet, and every duel is recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.io import dumps, loads, read_text
from worldgauge.engine.identity import task_seed
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import RunResult, find_runs
from worldgauge.engine.store import RunFolder, atomic_write, record_entry
from worldgauge.engine.suite.contract import Record, Table, Task
from worldgauge.suites.build.scoring import critic_of
from worldgauge.suites.build.settings import SUITE, FailedPlans
from worldgauge.suites.build.voting.ballots import EVALUATION, ROUNDS, Ballot, ballot, table_of

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
    """Hold the vote on all briefs that two runs or more have records of.

    Asked again with a recording, the critic answers from it. A brief it cannot decide has a ballot that says so.

    Args:
        runs: Folders of runs.
        out: File to write: a line on how the vote was held, then one per brief.
        rounds: Most rounds.
        settings: Of the suite, for the critic; those of the first run by default.
        progress: Called with the briefs done and all.

    Raises:
        UsageError: For runs of another suite, or without two that share a brief.
        RunError: Where a run cannot be read.
        CriticError: For an outage.
    """
    folders = find_runs(Path(one) for one in runs)
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
    """Return the table of an earlier vote, from its file and its runs.

    Args:
        votes: File of the ballots.
        runs: Folders of runs.

    Raises:
        DataError: If the file holds no votes, or votes on agents that are not among the runs.
    """
    try:
        header, *lines = map(loads, filter(str.strip, read_text(Path(votes)).split("\n")))
        if header.get("format") != FORMAT or header.get("version") != VERSION:
            raise ValueError(f"its first line is not of the format {FORMAT}, version {VERSION}")
        ballots = [Ballot(**line) for line in lines]
        agents, failed_plans = set(header["agents"]), header["settings"]["failed_plans"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"{votes}: cannot be read as votes ({error}); hold them with: worldgauge vote") from error
    result = RunResult(find_runs(Path(one) for one in runs), open_suite(SUITE, {}))
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
            record = Record(task, entry["subject"], folder.record(name), entry["facts"], entry["rollout"])
            found.setdefault(name, {})[facts["subject"]["name"]] = record
    return found
