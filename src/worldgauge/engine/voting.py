"""The vote: builds of several runs for the same briefs meet, and every duel is noted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from worldgauge.engine.identity import task_seed
from worldgauge.engine.plan import open_suite
from worldgauge.engine.result import RunResult, find_runs
from worldgauge.engine.store import RunFolder, atomic_write, dumps, record_entry
from worldgauge.errors import RunError, UsageError
from worldgauge.suites.build import Build
from worldgauge.suites.build.scoring import critic_of
from worldgauge.suites.build.settings import SUITE
from worldgauge.suites.build.voting import EVALUATION, ROUNDS, Ballot, ballot, table_of
from worldgauge.suites.contract import Record, Table, Task

KIND = "creativity"


def vote(
    runs: Sequence[Path],
    *,
    out: Path,
    rounds: int = ROUNDS,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Table:
    """Hold the vote on all briefs that two runs or more have records of, and write its ballots to `out`, a line each.

    settings: of the suite, for the critic; those of the first run unless said. Asked again with a recording, the critic
    answers from it. A brief it cannot decide has a ballot that says so. Raises UsageError for runs of another suite, or
    without two that share a brief, RunError where one cannot be read, CriticError for an outage.
    """
    folders = find_runs(Path(one) for one in runs)
    facts = [folder.facts() for folder in folders]
    if others := sorted({fact["suite"] for fact in facts} - {SUITE}):
        raise UsageError(f"builds are voted on, not {', '.join(others)}: give runs of the suite {SUITE}")
    plain = open_suite(SUITE, {}).settings
    changed = {name: value for name, value in facts[0]["settings"].items() if value != plain.get(name)}
    suite = open_suite(SUITE, {**changed, **(settings or {})})
    assert isinstance(suite, Build)
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
    atomic_write(Path(out), "".join(dumps(asdict(one)) + "\n" for one in ballots))
    evaluations = {
        name: {score.task: score.value for score in scores if score.metric == EVALUATION}
        for name, scores in result.scores.items()
    }
    kinds = {fact["subject"]["name"]: fact["subject"]["kind"] for fact in facts}
    return table_of(ballots, evaluations, kinds, suite.options.failed_plans)


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
                continue  # not answered, or failed: the run says so
            if entry.get("error"):
                continue
            sample = {**entry["sample"], "source": facts["source"]}
            task = Task(SUITE, name, sample, entry["fingerprint"], entry["group"])
            record = Record(task, entry["subject"], folder.record(name), entry["facts"], entry["rollout"])
            found.setdefault(name, {})[facts["subject"]["name"]] = record
    return found
