"""The content of run.json: what is needed to repeat a run, and to explain why two runs differ."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.model import PRIVILEGED
from worldgauge.engine.model_entries import ModelEntry, is_built_in
from worldgauge.engine.resume import metric_versions
from worldgauge.engine.sets import membership
from worldgauge.engine.store import SCHEMA
from worldgauge.engine.suite.base import Suite, acted_by
from worldgauge.engine.suite.contract import Task
from worldgauge.models.calibration import motion_word
from worldgauge.serving.isolation import SANDBOX_VARIABLE
from worldgauge_serve import is_local_host

PACKAGES = ("worldgauge", "numpy", "numba", "av", "opencv-python-headless")


def describe_run(
    suite: Suite, tasks: Sequence[Task], entry: ModelEntry, *, seed: int, data: Path, limit: int | str | None
) -> dict[str, Any]:
    """Metadata of a run for run.json; "set" only for tasks of a named set. `score` adds "scored_with" later."""
    seen = count_seen(suite, tasks, entry.trained_scenes)
    named = membership(suite.name, tasks, data=data)
    return {
        "schema": SCHEMA,
        "suite": suite.name,
        "suite_version": suite.version,
        "settings": dict(suite.settings),
        "metrics": metric_versions(suite),
        "model": describe_model(suite, entry),
        **({} if seen is None else {"trained_on": seen | {"unplaced_clips": entry.unplaced_clips}}),
        "seed": seed,
        "limit": limit,
        "source": str(data.resolve()),
        "data_fingerprint": data_fingerprint(tasks),
        **({} if named is None else {"set": named}),
        "tasks": len(tasks),
        "versions": installed_versions(),
        "platform": describe_platform(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def count_seen(suite: Suite, tasks: Sequence[Task], trained_scenes: Sequence[str]) -> dict[str, int] | None:
    """How many "scenes" of a run the model has "seen" in training; "unknown" counts tasks. None if undeclared."""
    if not trained_scenes:
        return None
    found = [_scene_of(suite, task) for task in tasks if task.skip is None]
    scenes = {scene for scene in found if scene is not None}
    return {"seen": len(scenes & set(trained_scenes)), "scenes": len(scenes), "unknown": found.count(None)}


def _scene_of(suite: Suite, task: Task) -> str | None:
    try:
        world = suite.world_of(task)
    except WorldgaugeError:
        return None
    return None if world is None else world.scene


def describe_model(suite: Suite, entry: ModelEntry) -> dict[str, Any]:
    """Metadata of the model for run.json.

    "kind" is "baseline" also for models that see hidden data and for a person. "unsandboxed" models are not built in
    and could read this machine, such as the data and the salt. "motion" says what is known of the unit of motion.
    """
    identity = entry.identity
    control = identity.get("control", "words")
    motion = {} if control not in ("actions", "camera") else {"motion": _motion_of(identity)}
    acted = acted_by(suite, entry.label) is not None
    known = acted or identity["source"] in suite.baselines or bool(PRIVILEGED & set(identity["inputs"]))
    return {
        "name": entry.label,
        "kind": "baseline" if known and not entry.stands_in else "model",
        **({"stands_in": True} if entry.stands_in else {}),
        **({"unsandboxed": True} if _could_read_this_machine(entry) else {}),
        "address": entry.text or identity["source"],
        "live": entry.model is not None and entry.text is None,
        "inputs": identity["inputs"],
        "settings": identity["settings"],
        "control": control,
        **motion,
        "identity": identity,
    }


def _could_read_this_machine(entry: ModelEntry) -> bool:
    """Whether a model that is not built in runs here without a sandbox: in our processes, or as a command."""
    text = entry.text or ""
    if text.startswith("http"):
        return is_local_host(urlsplit(text).hostname or "")
    if is_built_in(entry.identity) and not text.startswith("recording"):
        return False
    return not text.startswith(("cmd:", "pipe:")) or os.environ.get(SANDBOX_VARIABLE, "") in ("", "0")


def _motion_of(identity: Mapping[str, Any]) -> str:
    return motion_word(identity["settings"], frozenset(identity["inputs"]))


def describe_platform() -> dict[str, Any]:
    """The machine, for run.json. What it does not tell is left out; no package is loaded for it."""
    memory, gpus = _memory_gib(), _gpu_names()
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        **({"processor": name} if (name := _processor_name()) else {}),
        **({} if memory is None else {"memory_gib": memory}),
        **({"gpus": gpus} if gpus else {}),
    }


def _processor_name(told: Path = Path("/proc/cpuinfo")) -> str:
    for line in _lines_of(told):
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "Hardware"):
            return " ".join(value.split())
    return platform.processor()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _gpu_names(told: Path = Path("/proc/driver/nvidia/gpus")) -> list[str]:
    """From NVIDIA's driver; else from torch where a model has loaded it and uses a GPU already."""
    lines = [line for path in sorted(told.glob("*/information")) for line in _lines_of(path)]
    names = [" ".join(line.partition(":")[2].split()) for line in lines if line.startswith("Model:")]
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if not names and cuda is not None and cuda.is_initialized():
        names = [str(cuda.get_device_name(number)) for number in range(cuda.device_count())]
    return names


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []


def installed_versions() -> dict[str, str]:
    """Versions of Python, of worldgauge, and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def data_fingerprint(tasks: Sequence[Task]) -> str:
    """Digest of what tasks are asked: their ids and the digests of their data, in order."""
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(f"{task.id}\0{task.fingerprint}\n".encode())
    return digest.hexdigest()
