"""Small data of the suite target, for tests anywhere: made once a test run."""

import pytest

from suites.targetbench.target_data import make_target_data
from support.made_once import made_once


@pytest.fixture(scope="session")
def targetbench_data(scenarios):
    """What the conformance tests ask: a small data set of the suite."""
    return scenarios


@pytest.fixture(scope="session")
def scenarios(tmp_path_factory):
    """Folder of three Target-Bench scenarios at 160x90 and 5 frames a second: a curve, straight ahead, a turn."""
    return made_once(tmp_path_factory, "scenarios", make_target_data)
