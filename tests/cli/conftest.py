"""The suite "echo" and its models, and the command line here or in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.commands import Done, command
from support.places import TESTS

DOUBLES = TESTS / "engine" / "doubles"


@pytest.fixture
def cli(tmp_path: Path) -> Callable[..., Done]:
    """`worldgauge ...` in tmp_path, in this process."""
    return lambda *arguments, **more: command(tmp_path, *arguments, **more)


@pytest.fixture
def alone(tmp_path: Path) -> Callable[..., Done]:
    """The same in a process of its own, which reads the environment as it starts."""

    def call(*arguments: str | Path, **environment: str) -> Done:
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "TERM")}
        searched = os.pathsep.join(filter(None, [str(DOUBLES), os.environ.get("PYTHONPATH")]))
        words = [sys.executable, "-P", "-m", "worldgauge.cli.main", *map(str, arguments)]
        more = {"stdin": subprocess.DEVNULL, "env": {**inherited, "PYTHONPATH": searched, **environment}}
        return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, **more)

    return call


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Three tasks of the suite "echo", one of them unusable. The suite is known here and in every worker."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(DOUBLES), os.environ.get("PYTHONPATH")])))
    monkeypatch.syspath_prepend(DOUBLES)
    import enginedoubles

    enginedoubles.register()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tasks.json").write_text(json.dumps({"n": 3, "skip": [2]}))
    yield tmp_path / "data"
    enginedoubles.unregister()
