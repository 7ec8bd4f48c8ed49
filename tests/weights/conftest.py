"""A store, a host and a catalogue of a test's own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from weights.local_host import LocalHost, local_host
from worldgauge.weights import WeightSet, catalogue, download


@pytest.fixture
def host() -> Iterator[LocalHost]:
    with local_host() as one:
        yield one


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store; nothing is waited for, no token is known, and offline is off: only the host here is asked."""
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "store"))
    monkeypatch.delenv("WORLDGAUGE_OFFLINE", raising=False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(download, "WAITS_S", (0.0, 0.0, 0.0))
    return tmp_path / "store"


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[[WeightSet], WeightSet]:
    """Put a set into the catalogue."""

    def put(one: WeightSet) -> WeightSet:
        monkeypatch.setitem(catalogue, one.name, one)  # type: ignore[arg-type]
        return one

    return put
