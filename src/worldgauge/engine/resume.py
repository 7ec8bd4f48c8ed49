"""Resume a run: what identifies a task and a model, and what is left to do by the journal and the files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path
from typing import Any, Literal

from worldgauge.core.agent import AgentSpec
from worldgauge.core.errors import RunError
from worldgauge.core.io import digest_of, dumps
from worldgauge.core.model import ModelSpec
from worldgauge.core.registry import first_suite_name
from worldgauge.engine.collection import counted
from worldgauge.engine.options import facts_of
from worldgauge.engine.store import SCHEMA, Journal, RunFolder, read_journal, record_key, scores_key
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Task
from worldgauge.engine.suite.rollout import BridgeSettings
from worldgauge.engine.suite.scores import DIGEST, SETTING, versions_of
from worldgauge.engine.suite.settings import SERVED
from worldgauge.metrics._registry import metrics
from worldgauge.perception import estimators

LIVE = "live:"
"""Beginning of the source of a live object that states no digest."""
SHIPPED = "shipped"
"""Key of a journal line whose scores ship with worldgauge, and of run.json for the number of such tasks."""


def task_key(suite: Suite, task: Task, model: Mapping[str, Any], seed: int) -> str:
    """Digest of everything that a record depends on."""
    return RunKeys(suite, model, seed).of_record(task.id, task.fingerprint)


class RunKeys:
    """Cache keys of the records and scores of a run; `model` is from `model_identity`."""

    def __init__(self, suite: Suite, model: Mapping[str, Any], seed: int) -> None:
        reading = scoring_settings(suite) | choosing_settings(suite)
        if model.get("fps") is None:
            reading |= rate_settings(suite)
        self._record = {
            "schema": SCHEMA,
            "suite": f"{first_suite_name(suite.name)}@{suite.version}",
            "settings": _in_force(suite, reading),
            "subject": model,
            "seed": seed,
        }
        other = choosing_settings(suite) | rate_settings(suite)
        self._scores = {"settings": _in_force(suite, other), "metrics": metric_versions(suite)}

    def of_record(self, task: str, fingerprint: str) -> str:
        """Digest of everything that a record depends on."""
        return _digest({**self._record, "task": task, "fingerprint": fingerprint})

    def of_scores(self, key: str) -> str:
        """Digest of everything that scores depend on: the record, the scoring settings and the metric versions."""
        return _digest({**self._scores, "record": key})


def keys_of(suite: Suite, tasks: Sequence[Task], model: Mapping[str, Any], seed: int) -> frozenset[str]:
    """Digests of everything that the records of all tasks depend on, see `RunKeys.of_record`."""
    keys = RunKeys(suite, model, seed)
    return frozenset(keys.of_record(task.id, task.fingerprint) for task in tasks)


def score_key(suite: Suite, key: str) -> str:
    """Digest of everything that scores of a record depend on, see `RunKeys.of_scores`."""
    return RunKeys(suite, {}, 0).of_scores(key)


def model_identity(spec: ModelSpec | AgentSpec, source: str, content: str = "") -> dict[str, Any]:
    """Everything that the output of a model or an agent depends on, plain JSON values.

    `source` is a registered name, or a class with the fingerprint of its code. `content` is that fingerprint if another
    package registers the name.
    """
    known = {"source": source, **({"content": content} if content else {})}
    if isinstance(spec, AgentSpec):
        return {**known, "name": spec.name, "inputs": sorted(spec.inputs), "settings": spec.settings}
    return {**known, **spec.told}


def states_digest(spec: ModelSpec | AgentSpec) -> bool:
    """Whether a live object says what its answers depend on: the entry "digest" of its settings."""
    return bool(spec.settings.get("digest"))


def task_seed(seed: int, task: str) -> int:
    """Seed of one task, 32 bits. It is the same for every model, and independent of the order of tasks."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{task}".encode()).digest()[:4])


def scoring_settings(suite: Suite) -> frozenset[str]:
    """Settings that only `score` reads: a change gives old records new scores. Any other needs new records."""
    return suite.scoring_settings | {SETTING, DIGEST}


def choosing_settings(suite: Suite) -> frozenset[str]:
    """Names of the settings that only select tasks (`Suite.choosing_settings`). No task depends on them."""
    return suite.choosing_settings


def rate_settings(suite: Suite) -> frozenset[str]:
    """Names of the settings that only records of a model with a rate of its own depend on."""
    is_bridged = isinstance(suite.options, BridgeSettings)
    return frozenset(field.name for field in fields(BridgeSettings)) if is_bridged else frozenset()


def metric_versions(suite: Suite) -> dict[str, int]:
    """Versions of the metrics and estimators in `Suite.metrics`, or of all of them where it is None."""
    used = suite.metrics
    own = versions_of(suite.own_metrics)
    return own | {
        entry.name: int(entry.facts["version"])
        for entry in (*metrics, *estimators)
        if "version" in entry.facts and (used is None or entry.name in used)
    }


def _in_force(suite: Suite, other: frozenset[str]) -> dict[str, Any]:
    """Settings but `other`, and but those since 0.1.0 that are not given: what was done without them stays done."""
    later = {one.name: one.default for one in fields(suite.options) if facts_of(one).later}
    found = {n: v for n, v in suite.settings.items() if n not in other and not (n in later and v == later[n])}
    served = {n: v for n, v in found.pop(SERVED, {}).items() if n not in other}
    return {**found, **({SERVED: served} if served else {})}


def _digest(value: Mapping[str, Any]) -> str:
    return digest_of(dumps(value))


Action = Literal["ask", "score", "skip", "nothing"]


@dataclass(frozen=True)
class PlannedTask:
    """One task of a run, and what is left to do for it; `line` is its last journal line, if that is still valid."""

    task: Task
    key: str
    score_key: str
    todo: Action
    line: Mapping[str, Any] | None = None


def is_answer(line: Mapping[str, Any] | None) -> bool:
    """Whether a journal line says that a model has answered."""
    return line is not None and (line["status"] == "done" or line["stage"] == "score")


def continued_folder(directory: Path, keys: Collection[str]) -> Path | None:
    """Folder with most answers of a run: its own if that holds any, else the best earlier run beside it, or None."""
    if _count_answers(directory, keys)[1]:
        return directory
    found = {}
    for place in earlier_runs(directory):
        with suppress(RunError):  # damaged: it stays as it is
            found[place] = _count_answers(place, keys)[1]
    best = max(found, key=found.__getitem__, default=None)
    return best if best is not None and found[best] else None


def earlier_runs(directory: Path) -> list[Path]:
    """Folders of earlier runs of the same name that are kept next to a run folder: NAME.1, NAME.2 ..."""
    named = re.compile(re.escape(directory.name) + r"\.\d+")
    places = [place for place in directory.parent.glob(f"{directory.name}.*") if named.fullmatch(place.name)]
    return [place for place in sorted(places) if _is_of(place, directory.name)]


def settle_folder(directory: Path, keys: Collection[str], facts: Mapping[str, Any], *, fresh: str = "") -> list[str]:
    """Move answers that a run would replace to NAME.1, and bring back an earlier run that holds its answers.

    `fresh` says why no answer is reused; empty to reuse them.
    """
    held = _count_answers(directory, keys)[0]
    chosen = None if fresh else continued_folder(directory, keys)
    if chosen == directory or not (held or chosen):
        return []
    notes = []
    if directory.exists():
        RunFolder(directory).create()  # refuses a folder of somebody else
        with Journal(directory / "journal.jsonl") as journal:
            aside = next(
                place for n in count(1) if not (place := directory.with_name(f"{directory.name}.{n}")).exists()
            )
            if held:
                notes.append(
                    f"{directory.name}: the earlier run with {counted(held, 'answer')} is now {aside.name}: "
                    f"{fresh or _describe_difference(RunFolder(directory), facts)}"
                )
            journal.move(aside)
    if chosen is not None:
        with Journal(chosen / "journal.jsonl") as journal:
            journal.move(directory)
        notes.append(f"{directory.name}: {chosen.name} holds answers of this model and is continued")
    return notes


def _describe_difference(folder: RunFolder, new: Mapping[str, Any]) -> str:
    """Why the answers in a folder are not those of a run, in a few words."""
    try:
        old = folder.facts()
    except RunError:
        return "its run.json cannot be read"
    before, after = old["model"]["identity"], new["model"]["identity"]
    code = {"source", "content"}
    changed = sorted(name for name in {*before, *after} - code if before.get(name) != after.get(name))
    settings = {*old["settings"], *new["settings"]}
    asked = sorted(name for name in settings if old["settings"].get(name) != new["settings"].get(name))
    reasons = [
        "other code or files of the model" * any(before.get(name) != after.get(name) for name in code),
        f"other model ({', '.join(changed)})" * bool(changed),
        f"seed {old['seed']}" * (old["seed"] != new["seed"]),
        f"other settings ({', '.join(asked)})" * bool(asked),
        f"suite {old['suite']}" * (old["suite"] != new["suite"]),
        "other version of the suite" * (old["suite_version"] != new["suite_version"]),
        "other data" * (old["data_fingerprint"] != new["data_fingerprint"]),
    ]
    return ", ".join(filter(None, reasons)) or "made by another version"


def _is_of(place: Path, name: str) -> bool:
    with suppress(RunError):
        return bool(RunFolder(place).facts()["model"]["name"] == name)
    return False


def _count_answers(directory: Path, keys: Collection[str]) -> tuple[int, int]:
    """Number of answers in a run folder, and how many of them have one of the keys."""
    answers = [line for line in read_journal(directory / "journal.jsonl").values() if is_answer(line)]
    return len(answers), sum(line["key"] in keys for line in answers)


def plan_tasks(
    suite: Suite,
    tasks: Sequence[Task],
    model: Mapping[str, Any],
    seed: int,
    folder: RunFolder,
    journal: Mapping[str, Mapping[str, Any]],
    *,
    scoring: bool = True,
    retry_failed: bool = True,
) -> list[PlannedTask]:
    """Decide what is left to do for each task."""
    items = []
    keys = RunKeys(suite, model, seed)
    for task in tasks:
        key = keys.of_record(task.id, task.fingerprint)
        scored = keys.of_scores(key)
        line = journal.get(task.id)
        if line is not None and line["key"] != key:
            line = None
        todo = _choose_action(task, key, scored, folder, line, scoring, retry_failed)
        if todo == "score" and line is not None and line.get(SHIPPED):
            todo = "ask"  # its video was never here
        items.append(PlannedTask(task, key, scored, todo, line))
    return items


def _choose_action(
    task: Task,
    key: str,
    scored: str,
    folder: RunFolder,
    line: Mapping[str, Any] | None,
    scoring: bool,
    retry_failed: bool,
) -> Action:
    if task.skip is not None:
        return "nothing" if line is not None and line["error"] == task.skip else "skip"
    if line is None:
        return "ask"
    if line["status"] != "done" and line["stage"] == "perform":
        return "ask" if line["status"] == "failed" and retry_failed else "nothing"
    # The files decide: the run may have been killed between writing a file and its journal line.
    record = folder.record(task.id)
    if record_key(record) != key:
        return "ask"
    if not scoring:
        return "nothing"
    if line["scores"] != scored:
        return "score"
    if line["status"] == "failed":
        return "score" if retry_failed else "nothing"
    return "score" if line["status"] == "done" and scores_key(record) != scored else "nothing"
