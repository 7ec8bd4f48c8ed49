"""The doubles, known here and in every worker."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = str(Path(__file__).parent / "doubles")


@pytest.fixture
def doubles(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [FOLDER, os.environ.get("PYTHONPATH")])))
    import enginedoubles

    enginedoubles.register()
    yield enginedoubles
    enginedoubles.unregister()
    sys.modules.pop("sitecustomize", None)


@pytest.fixture
def data(doubles: ModuleType, tmp_path: Path) -> Path:
    """Four tasks."""
    folder: Path = doubles.make_data(tmp_path / "data")
    return folder


@pytest.fixture
def worked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What was worked on, in any process, since the last call."""
    log = tmp_path / "log.txt"
    monkeypatch.setenv("ENGINE_DOUBLES_LOG", str(log))

    def read() -> list[str]:
        lines = sorted(log.read_text().splitlines()) if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    return read
