"""A recogniser of few homes: poor, but trained in seconds."""

from pathlib import Path

import pytest

from worldgauge.suites.closedloop.recognition.recogniser.recognition import FILE_VARIABLE, Recogniser, load


@pytest.fixture(autouse=True)
def no_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests name one for all that comes after them."""
    monkeypatch.delenv(FILE_VARIABLE, raising=False)


@pytest.fixture(scope="session")
def poor(trained: Path) -> Recogniser:
    return load(trained)
