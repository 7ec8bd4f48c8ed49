"""The cache of floor results: what a floor baseline of a suite generated for a task, with its scores.

An entry is found by all that it depends on: data, suite, settings, metrics, baseline, seed, and this very code. It is
used only if it says all that itself, and none of its files has changed since. It lies in the user's cache folder
(`perception.cache`), and processes share it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from worldgauge.core.errors import RunError
from worldgauge.core.io import digest_of, digest_of_file, dumps, loads
from worldgauge.engine.model_entries import ModelEntry
from worldgauge.engine.resume import PlannedTask
from worldgauge.engine.run_manifest import installed_versions
from worldgauge.engine.store import RunFolder, read_score, record_entry, scores_key
from worldgauge.engine.suite.base import Suite, acted_by
from worldgauge.perception.cache import cache_folder, limit_bytes

_FACTS = "entry.json"


@dataclass(frozen=True)
class FloorCache:
    """The cached entries of one floor baseline."""

    folder: Path
    label: str

    @classmethod
    def of(cls, suite: Suite, entry: ModelEntry) -> FloorCache | None:
        """The cache of a floor baseline that comes with worldgauge; None for other models, or if the cache is off."""
        folder, identity = cache_folder(), entry.identity
        is_floor = identity["source"] in suite.floor_baselines and "content" not in identity and entry.text is not None
        is_ours = type(suite).__module__.startswith("worldgauge.") and entry.model is None
        if (
            folder is None
            or not limit_bytes()
            or not (is_floor and is_ours)
            or acted_by(suite, entry.label) is not None
        ):
            return None
        return cls(folder / "floors", entry.label)

    def holds(self, planned: PlannedTask) -> bool:
        """Whether there is an entry for a task."""
        return self._facts(planned) is not None

    def take(self, planned: PlannedTask, run: RunFolder) -> Mapping[str, Any] | None:
        """Copy the record of a task into a run folder, and return its journal line; None without a whole entry."""
        facts = self._facts(planned)
        if facts is None:
            return None
        folder = run.prepare()
        with suppress(OSError):  # removed in the meantime
            shutil.copytree(self._place(planned), folder, copy_function=_link, dirs_exist_ok=True)
            (folder / _FACTS).unlink()
        if self._is_whole(folder, planned, facts):
            run.commit(folder, planned.task.id)
            return dict(facts["line"])
        shutil.rmtree(folder)
        shutil.rmtree(self._place(planned), ignore_errors=True)
        return None

    def keep(self, planned: PlannedTask, run: RunFolder, line: Mapping[str, Any]) -> None:
        """Store the record of a task as far as the disk allows."""
        place, record = self._place(planned), run.record(planned.task.id)
        if self.holds(planned):
            return
        with suppress(OSError):
            _make_room(self.folder)
            made = Path(tempfile.mkdtemp(prefix=".part-", dir=self.folder))
            try:
                shutil.copytree(record, made, copy_function=_link, dirs_exist_ok=True)
                (made / _FACTS).write_text(dumps({"line": line, "files": _digests(made)}))
                os.rename(made, place)
            finally:
                shutil.rmtree(made, ignore_errors=True)  # another process was first, or the disk is full

    def _place(self, planned: PlannedTask) -> Path:
        return self.folder / digest_of(dumps([planned.key, planned.score_key, self.label, _code()]))

    def _facts(self, planned: PlannedTask) -> dict[str, Any] | None:
        """Facts of the entry for a task; None where they are of something else."""
        try:
            facts = loads((self._place(planned) / _FACTS).read_text())
            line = facts["line"]
            is_right = (line["task"], line["key"], line["scores"], line["status"]) == (
                planned.task.id,
                planned.key,
                planned.score_key,
                "done",
            )
            return facts if is_right and isinstance(facts["files"], dict) else None
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def _is_whole(self, folder: Path, planned: PlannedTask, facts: Mapping[str, Any]) -> bool:
        """Whether a copy of an entry is the record and the scores of a task, as they were stored."""
        task = planned.task
        with suppress(OSError, RunError):
            if _digests(folder) != facts["files"] or scores_key(folder) != planned.score_key:
                return False
            entry = record_entry(folder)
            wanted = (planned.key, task.id, task.fingerprint, task.sample, task.group, self.label)
            names = ("key", "task", "fingerprint", "sample", "group", "model")
            lines = (folder / "scores.json").read_bytes().splitlines()[1:-1]
            rows = [read_score(line.rstrip(b","), number) for number, line in enumerate(lines)]
            return tuple(entry[name] for name in names) == wanted and all(
                (model, score.task) == (self.label, task.id) for model, score in rows
            )
        return False


@cache
def _make_room(folder: Path) -> None:
    """Remove the oldest entries until all of them need at most nine tenths of the limit; once per process."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [(one.stat().st_mtime_ns, _size(one), one) for one in folder.iterdir()]
    total = sum(size for _, size, _ in entries)
    for _, size, place in sorted(entries):
        if total <= 0.9 * limit_bytes():
            return
        shutil.rmtree(place, ignore_errors=True)
        total -= size


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*"))


def _link(source: str, target: str) -> None:
    """A second name of a file, or a copy of it where that is on another disk."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
            raise
        shutil.copyfile(source, target)


def _digests(folder: Path) -> dict[str, str]:
    """SHA-256 of each file in a folder."""
    return {
        path.relative_to(folder).as_posix(): digest_of_file(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != _FACTS
    }


@cache
def _code() -> str:
    """Digest of this package, the versions of the packages that results depend on, and the kind of processor."""
    digest = hashlib.sha256(dumps([installed_versions(), platform.machine()]).encode())
    root = Path(str(files("worldgauge")))
    for path in sorted(path for path in root.rglob("*") if path.suffix in (".py", ".npz", ".json")):
        digest.update(f"{path.relative_to(root)}\n{digest_of_file(path)}\n".encode())
    return digest.hexdigest()
