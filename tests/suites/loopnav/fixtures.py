"""Small data of the suite loopnav, for tests anywhere: made once a test run."""

import pytest

from support.made_once import made_once
from worldgauge.engine.collect import collect
from worldgauge.suites.loopnav.suite import LoopNav
from worldgauge.suites.loopnav.tasks import episode_of


@pytest.fixture(scope="session")
def loopnav_data(walks):
    """What the conformance tests ask: a small data set of the suite."""
    return walks


@pytest.fixture(scope="session")
def walks(tmp_path_factory):
    """Folder of two loops (ABA and ABCA, range 5) of one settlement at 160x90."""
    few = {"settlements": 1, "ranges": (5,), "per_combination": 1, "seed": 3, "size": (160, 90)}
    return made_once(tmp_path_factory, "walks", lambda root: collect("loopnav", root, **few))


@pytest.fixture(scope="session")
def tasks(walks):
    """The tasks of `walks`: ABA first."""
    return list(LoopNav().tasks(walks))


@pytest.fixture(scope="session")
def walk(tasks):
    """The ABA episode and the index of its first hidden frame."""
    return episode_of(tasks[0])
