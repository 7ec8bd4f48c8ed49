"""run.json: all that is needed to do a run again, and to tell why two differ."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from worldgauge.core.model import PRIVILEGED
from worldgauge.engine.identity import metric_versions
from worldgauge.engine.store import SCHEMA
from worldgauge.engine.subjects import SubjectEntry
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Task

PACKAGES = ("worldgauge", "numpy", "numba", "av", "opencv-python-headless")


def describe_run(
    suite: Suite, tasks: Sequence[Task], entry: SubjectEntry, *, seed: int, data: Path, limit: int | None
) -> dict[str, Any]:
    """Facts of a run of `entry` on `tasks`; plain JSON values.

    `score` adds "scored_with": the versions that the scores were made with, where they were made later.
    """
    return {
        "schema": SCHEMA,
        "suite": suite.name,
        "suite_version": suite.version,
        "settings": dict(suite.settings),
        "metrics": metric_versions(suite),
        "subject": describe_subject(suite, entry),
        "seed": seed,
        "limit": limit,
        "source": str(data.resolve()),
        "data_fingerprint": _data_fingerprint(tasks),
        "tasks": len(tasks),
        "versions": installed_versions(),
        "platform": {
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
        },
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def describe_subject(suite: Suite, entry: SubjectEntry) -> dict[str, Any]:
    """Who was asked. kind: "reference" for what the suite shows as one and for whoever sees hidden things.

    live: a Python object that no command line can name again.
    """
    identity = entry.identity
    reference = identity["source"] in suite.references or bool(PRIVILEGED & set(identity["inputs"]))
    return {
        "name": entry.label,
        "kind": "reference" if reference else "subject",
        "model": entry.text or identity["source"],
        "live": entry.model is not None,
        "inputs": identity["inputs"],
        "settings": identity["settings"],
        "control": identity.get("control", "words"),
        "identity": identity,
    }


def installed_versions() -> dict[str, str]:
    """Versions of Python, of us, and of the packages that numbers depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _data_fingerprint(tasks: Sequence[Task]) -> str:
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(f"{task.id}\0{task.fingerprint}\n".encode())
    return digest.hexdigest()
