"""Panoramas and batches over the wire: as in this process, one message a batch, an error says of which request."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.served import MODELS, PYTHON, http_server
from worldgauge.core.errors import ModelError
from worldgauge.core.model import ModelSpec, RolloutRequest, checked_batch, checked_rollout
from worldgauge.core.panorama import rolled
from worldgauge.engine.model_entries import resolve_model
from worldgauge.serving import RemoteModel, messages, open_model
from worldgauge.suites.worldinworld.trial_questions import StepQuestions

FILE = MODELS / "panoramas.py"
Open = Callable[..., RemoteModel]


@pytest.fixture
def serve() -> Iterator[Open]:
    models: list[RemoteModel] = []

    def opener(name: str, scheme: str = "cmd") -> RemoteModel:
        pipes = "--pipes " if scheme == "pipe" else ""
        models.append(open_model(f"{scheme}:{PYTHON} -m worldgauge_serve {pipes}'{FILE}:{name}'"))
        return models[-1]

    yield opener
    for model in models:
        model.close()


def question(model: Any, seed: int = 1, horizon: int = 3, start: int = 60) -> RolloutRequest:
    spec: ModelSpec = model.spec
    return StepQuestions().question(spec, start=start, horizon=horizon, seed=seed, size=(64, 36), turn=1.0)


@pytest.mark.parametrize("scheme", ["cmd", "pipe"])
def test_a_served_panorama_is_the_one_of_this_process(serve: Open, scheme: str) -> None:
    there, here = serve("Around?depth=true", scheme), resolve_model(f"{FILE}:Around?depth=true").model
    assert (there.spec, there.spec.view) == (here.spec, "panorama")
    asked = question(there)
    frames = np.concatenate(list(checked_rollout(there, asked)))
    seen = asked.context.clip[0].copy()
    assert asked.context.depth is not None
    # Its depth is along the ray, as in this process.
    seen[0] = np.clip(asked.context.depth(0)[0, :, None] * 10, 0, 255)
    for turns, frame in enumerate(frames, start=1):
        np.testing.assert_array_equal(frame, rolled(seen, -22.5 * turns))


@pytest.mark.parametrize("name", ["Around", "AroundTogether"])
def test_a_batch_is_one_message(serve: Open, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    there = serve(name)
    asked = [question(there, seed, horizon, start) for seed, horizon, start in ((1, 3, 60), (2, 1, 61), (3, 5, 90))]
    sent: list[int] = []
    ask = there._ask
    there._ask = lambda requests: sent.append(len(requests)) or ask(requests)
    for one, frames in zip(asked, checked_batch(there, asked), strict=True):
        np.testing.assert_array_equal(frames, np.concatenate(list(ask_here(one))))
    assert sent == [3]
    there.close()
    assert capfd.readouterr().err.count("a batch of 3") == (name == "AroundTogether")


def ask_here(request: RolloutRequest) -> Iterator[np.ndarray]:
    return iter(checked_rollout(resolve_model(f"{FILE}:Around").model, request))


def test_a_batch_over_http(serve: Open) -> None:
    with http_server("AroundTogether", file="panoramas.py") as server:
        there = open_model(server.url)
        asked = [question(there, seed) for seed in (1, 2)]
        frames = checked_batch(there, asked)
        there.close()
    np.testing.assert_array_equal(frames[1], np.concatenate(list(ask_here(asked[1]))))


def test_an_error_says_of_which_request(serve: Open) -> None:
    there = serve("Around")
    asked = [question(there, seed) for seed in (1, 13, 2)]
    words = r"model 'around' raised ValueError at frame 0: out of luck \(request 2 of a batch of 3\)"
    with pytest.raises(ModelError, match=words):
        checked_batch(there, asked)
    assert len(checked_batch(there, asked[:1])) == 1, "it can be asked on"
    together = serve("AroundTogether")
    with pytest.raises(ModelError, match=r"out of luck$"):
        checked_batch(together, asked)


def test_a_server_that_dies_in_a_batch_is_asked_once_more(serve: Open, tmp_path: Path) -> None:
    there = serve(f"AroundTogether?log={tmp_path}")
    asked = [question(there, seed) for seed in (1, 14)]
    frames = checked_batch(there, asked)
    assert (tmp_path / "died").exists()
    np.testing.assert_array_equal(frames[1], np.concatenate(list(ask_here(asked[1]))))


def test_more_than_a_message_holds_goes_in_several(serve: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    there = serve("Around")
    asked = [question(there, seed, horizon=1) for seed in range(1, 6)]
    assert [len(part) for part in messages.parts_of(asked, there.spec)] == [5]
    monkeypatch.setattr(messages, "MAX_TOGETHER", 2)
    assert [len(part) for part in messages.parts_of(asked, there.spec)] == [2, 2, 1]
    assert len(checked_batch(there, asked)) == 5
    monkeypatch.setattr(messages, "MAX_BYTES", 1)
    assert [len(part) for part in messages.parts_of(asked, there.spec)] == [1] * 5
    assert list(messages.parts_of([], there.spec)) == []
