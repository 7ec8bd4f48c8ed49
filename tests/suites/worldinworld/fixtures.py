"""Small data of the suite closedloop, for tests anywhere: made once a test run."""

from pathlib import Path

import pytest

from suites.worldinworld.closedloop_data import make_closedloop_data
from support.made_once import made_once
from worldgauge.engine.run import run
from worldgauge.report import write_report


@pytest.fixture(scope="session")
def worldinworld_data(episodes: Path) -> Path:
    """What the conformance tests ask: a small data set of the suite."""
    return episodes


@pytest.fixture(scope="session")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of closed-loop data in one home: two episodes of each task, goal images 64x36."""
    return made_once(tmp_path_factory, "episodes", lambda root: make_closedloop_data(root, 2))


@pytest.fixture(scope="session")
def loops(episodes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent in a home, with no world model and with the oracle: records whose films the suite makes."""
    root = tmp_path_factory.mktemp("loops")
    settings = {"view_px": 48, "panorama_px": 128, "decisions": 2, "task": "navigation"}
    run("worldinworld", model=["none", "oracle"], data=episodes, out=root, settings=settings)
    return root


@pytest.fixture(scope="session")
def loop_page(loops: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report([loops], tmp_path_factory.mktemp("loop_page"))
