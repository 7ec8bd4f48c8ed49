"""Small data of the suite build, for tests anywhere: made once a test run."""

from pathlib import Path

import pytest

from support.made_once import made_once
from worldgauge.engine.collect import collect


@pytest.fixture(scope="session")
def mineanybuild_data(builds: Path) -> Path:
    """What the conformance tests ask: a small data set of the suite."""
    return builds


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of three builds with six tasks each, 36 questions on a figure, two on rooms."""
    few = {"structures": 3, "stimuli": 1, "commonsense": 2, "views": "yaw", "size_px": 64, "seed": 3}
    return made_once(tmp_path_factory, "builds", lambda root: collect("mineanybuild", root, **few))
