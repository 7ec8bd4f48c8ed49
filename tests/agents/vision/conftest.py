"""A recogniser of few homes: poor, but trained in seconds."""

import pytest

from worldgauge.agents.vision.recognition import Recogniser
from worldgauge.agents.vision.training import train


@pytest.fixture(scope="session")
def poor() -> Recogniser:
    return train(4, held_out=1)
