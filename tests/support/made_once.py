"""Folders that are filled once a test run, whatever the number of test processes."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder `name` that `make` has filled: by the first test process that asks, and the others wait for it."""
    root = factory.getbasetemp()
    # Test processes that run side by side have neighbouring folders.
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder, done = root / name, root / f"{name}.done"
    with open(root / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir(exist_ok=True)  # what failed here fails in the next process, too
            make(folder)
            done.touch()
    return folder
