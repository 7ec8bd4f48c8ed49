"""Identity by content: a task is done again when something it depends on changes, and only then."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from worldgauge.core.agent import AgentSpec
from worldgauge.core.io import dumps
from worldgauge.core.model import ModelSpec
from worldgauge.engine.store import SCHEMA
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Task
from worldgauge.engine.suite.own_metrics import DIGEST, SETTING, versions_of
from worldgauge.metrics import metrics
from worldgauge.perception import estimators


def task_key(suite: Suite, task: Task, subject: Mapping[str, Any], seed: int) -> str:
    """Digest of all that a record depends on. subject: `subject_identity` of who is asked."""
    reading = scoring_settings(suite) | choosing_settings(suite)
    return _digest(
        {
            "schema": SCHEMA,
            "suite": f"{suite.name}@{suite.version}",
            "settings": {name: value for name, value in suite.settings.items() if name not in reading},
            "task": task.id,
            "fingerprint": task.fingerprint,
            "subject": subject,
            "seed": seed,
        }
    )


def score_key(suite: Suite, key: str) -> str:
    """Digest of all that the scores of record `key` depend on: also scoring settings and metric versions."""
    choosing = choosing_settings(suite)
    settings = {name: value for name, value in suite.settings.items() if name not in choosing}
    return _digest({"record": key, "settings": settings, "metrics": metric_versions(suite)})


def subject_identity(spec: ModelSpec | AgentSpec, source: str) -> dict[str, Any]:
    """What of a model or an agent its output depends on. source: its registered name, class, or digest of its file."""
    if isinstance(spec, AgentSpec):
        return {"source": source, "name": spec.name, "inputs": sorted(spec.inputs), "settings": spec.settings}
    return {
        "source": source,
        "name": spec.name,
        "control": spec.control,
        "view": spec.view,
        "frame_size": spec.frame_size,
        "fps": spec.fps,
        "max_context": spec.max_context,
        "chunk": spec.chunk,
        "inputs": sorted(spec.inputs),
        "crop": spec.crop,
        "settings": spec.settings,
    }


def task_seed(seed: int, task: str) -> int:
    """Seed of one task, 32 bits: the same for every model, and independent of the order of tasks."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{task}".encode()).digest()[:4])


def scoring_settings(suite: Suite) -> frozenset[str]:
    """Names of settings that only `score` reads, where the suite declares them in `scoring_settings`.

    A change of one makes new scores of old records; a change of any other makes new records.
    """
    return suite.scoring_settings | {SETTING, DIGEST}


def choosing_settings(suite: Suite) -> frozenset[str]:
    """Names of settings that only choose among tasks (`choosing_settings`): no task depends on them."""
    return suite.choosing_settings


def metric_versions(suite: Suite) -> dict[str, int]:
    """Versions of the metrics and estimators that the suite names in its attribute `metrics`; of all, unless said."""
    used = suite.metrics
    own = versions_of(suite.own_metrics)
    return own | {
        entry.name: int(entry.facts["version"])
        for entry in (*metrics, *estimators)
        if "version" in entry.facts and (used is None or entry.name in used)
    }


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(dumps(value).encode()).hexdigest()
