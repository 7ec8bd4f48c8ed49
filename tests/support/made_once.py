"""Folders that are filled once per machine: by content of what fills them, whatever the number of test processes."""

import fcntl
import hashlib
import inspect
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import platformdirs
import pytest

from support.places import ROOT, TESTS

CACHE = Path(platformdirs.user_cache_dir("worldgauge-tests"))
NOT_IN_DATA = {"chat", "cli", "report", "serving", "terminal", "tools"}
"""Folders of the package whose code changes no byte of a data set."""
KEPT_DAYS = 14


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder `name` that `make` has filled: a copy for this test run, which its processes share."""
    root = factory.getbasetemp()
    # Test processes that run side by side have neighbouring folders.
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder, done = root / name, root / f"{name}.done"
    with locked(root / f"{name}.lock"):
        if not done.exists():
            made = cached(CACHE / "data", name, content_key(Path(inspect.getfile(make))), make)
            shutil.copytree(made, folder, dirs_exist_ok=True)
            done.touch()
    return folder


def cached(store: Path, name: str, key: str, make: Callable[[Path], object]) -> Path:
    """The folder of this name and content in a store; whoever is first fills it."""
    store.mkdir(parents=True, exist_ok=True)
    folder = store / f"{name}-{key[:16]}"
    with locked(store / f"{name}.lock"):
        if not folder.exists():
            part = store / f"{name}.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            make(part)
            for old in store.glob(f"{name}-*"):
                if time.time() - old.stat().st_mtime > KEPT_DAYS * 86_400:
                    shutil.rmtree(old)
            part.rename(folder)
        os.utime(folder)
    return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def content_key(maker: Path) -> str:
    """Hash of the sources that decide what a data set holds, and of the versions beside them."""
    return hashlib.sha256(_sources_key().encode() + maker.read_bytes()).hexdigest()


@cache
def _sources_key() -> str:
    package = ROOT / "src" / "worldgauge"
    sources = [path for path in package.rglob("*") if path.relative_to(package).parts[0] not in NOT_IN_DATA]
    helpers = [path for path in TESTS.rglob("*.py") if not path.name.startswith("test_")]
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted([*sources, *helpers, ROOT / "requirements.lock"]):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
