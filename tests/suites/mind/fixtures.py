"""Small data of the suite mind, for tests anywhere: made once a test run."""

import pytest

from support.made_once import made_once
from worldgauge.engine.collect import collect
from worldgauge.metrics.frame_pairs import prepared


@pytest.fixture(scope="session")
def mind_data(clips):
    """What the conformance tests ask: a small data set of the suite."""
    return clips


@pytest.fixture(scope="session")
def clips(tmp_path_factory):
    """Folder of MIND data in first and third person at 64x36: a clip of 48 frames and a start image of each."""
    few = {"families": ("urban",), "train": 0, "mem": 1, "action_space": 0, "mirror": 1, "frames": 48, "size": (64, 36)}
    return made_once(tmp_path_factory, "clips", lambda root: collect("mind", root, **few))


@pytest.fixture
def compared_small(monkeypatch):
    """Frames are compared at 128x72 instead of 1280x720: 100 times less work. test_export.py holds the real size."""
    monkeypatch.setattr(prepared, "__defaults__", ((128, 72),))
