"""Identity by content: a task is repeated when something that it depends on has changed, and only then."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from worldgauge.core.agent import AgentSpec
from worldgauge.core.io import digest_of, dumps
from worldgauge.core.model import ModelSpec
from worldgauge.engine.store import SCHEMA
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Task
from worldgauge.engine.suite.drift import HorizonSettings
from worldgauge.engine.suite.network_settings import SERVED
from worldgauge.engine.suite.own_metrics import DIGEST, SETTING, versions_of
from worldgauge.engine.suite.rate_bridge import BridgeSettings
from worldgauge.metrics._registry import metrics
from worldgauge.perception import estimators

LIVE = "live:"
"""Beginning of the source of a live object that states no digest."""


def task_key(suite: Suite, task: Task, subject: Mapping[str, Any], seed: int) -> str:
    """Digest of everything that a record depends on."""
    return RunKeys(suite, subject, seed).of_record(task.id, task.fingerprint)


class RunKeys:
    """Identities of the records and scores of a run. What all tasks share is looked up once.

    Args:
        suite: The suite with its settings.
        subject: Identity of the subject, from `subject_identity`.
        seed: Seed of the run.
    """

    def __init__(self, suite: Suite, subject: Mapping[str, Any], seed: int) -> None:
        reading = scoring_settings(suite) | choosing_settings(suite)
        if subject.get("fps") is None:
            reading |= rate_settings(suite)
        self._record = {
            "schema": SCHEMA,
            "suite": f"{suite.name}@{suite.version}",
            "settings": _in_force(suite, reading),
            "subject": subject,
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


def keys_of(suite: Suite, tasks: Sequence[Task], subject: Mapping[str, Any], seed: int) -> frozenset[str]:
    """Digests of everything that the records of all tasks depend on, see `RunKeys.of_record`."""
    keys = RunKeys(suite, subject, seed)
    return frozenset(keys.of_record(task.id, task.fingerprint) for task in tasks)


def score_key(suite: Suite, key: str) -> str:
    """Digest of everything that scores of a record depend on, see `RunKeys.of_scores`."""
    return RunKeys(suite, {}, 0).of_scores(key)


def subject_identity(spec: ModelSpec | AgentSpec, source: str, content: str = "") -> dict[str, Any]:
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
    """Names of the settings that only `score` reads, as declared in `Suite.scoring_settings`.

    When one of them changes, old records get new scores. When any other setting changes, new records are made.
    """
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
    since = {field.name for field in fields(HorizonSettings)}
    found = {n: v for n, v in suite.settings.items() if n not in other and not (n in since and v is None)}
    served = {n: v for n, v in found.pop(SERVED, {}).items() if n not in other}
    return {**found, **({SERVED: served} if served else {})}


def _digest(value: Mapping[str, Any]) -> str:
    return digest_of(dumps(value))
