"""Small data of the suite unseen, for tests anywhere: made once a test run."""

from pathlib import Path
from typing import Any

import pytest

from support.made_once import made_once
from worldgauge.core.episode import Episode
from worldgauge.engine.collect import collect
from worldgauge.suites.unseen.format import read_episode, stems_of

FEW: dict[str, Any] = {"homes": 1, "away": (2,), "size": (96, 54), "seed": 3}


@pytest.fixture(scope="session")
def unseen_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the conformance tests ask: one home with a cart, a level and a lamp, each left alone for 2 s."""
    return made_once(tmp_path_factory, "unseen", lambda root: collect("unseen", root, **FEW))


@pytest.fixture(scope="session")
def things(unseen_data: Path) -> dict[str, Episode]:
    """The episode of each process."""
    return {stem.parent.name: read_episode(stem) for stem in stems_of(unseen_data)}
