"""A clock that does not wait, and chat models that use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from support.chat_endpoint import FakeClock, FakeEndpoint
from worldgauge.chat.model import ChatModel, Limits


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def chat(endpoint: FakeEndpoint, clock: FakeClock) -> Iterator[Callable[..., ChatModel]]:
    """Makes a ChatModel at `endpoint`, named "fake" whatever its port, that waits by `clock`."""
    made: list[ChatModel] = []

    def make(**settings: Any) -> ChatModel:
        given = {
            "base_url": endpoint.url,
            "endpoint": "fake",
            "limits": Limits(clock=clock),
            "jitter": np.random.default_rng(0),
            "timeout": 20.0,
            **settings,
        }
        made.append(ChatModel("m", **given))
        return made[-1]

    yield make
    for model in made:
        model.close()
