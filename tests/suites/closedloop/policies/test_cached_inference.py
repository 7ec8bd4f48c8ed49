"""Networks of agents: opened once, asked once, and told of in one line when their weights are not here."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.standins import standing_in
from worldgauge.core.errors import MissingExtraError
from worldgauge.suites.closedloop.policies import cached_inference
from worldgauge.suites.closedloop.policies.cached_inference import ask_masks, ask_network, check_networks, network
from worldgauge.weights import AbsentWeightsError

RGB = np.random.default_rng(0).integers(0, 256, (6, 7, 3), np.uint8)


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "weights"))


def test_one_is_opened_once_for_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    weights = SimpleNamespace(digest="a")

    def ready(name: str) -> Any:
        made.append(name)
        return standing_in(name)

    monkeypatch.setattr(cached_inference, "ready", ready)
    monkeypatch.setattr(cached_inference, "opened", lambda name: weights)
    cached_inference._opened_once.cache_clear()
    assert network("sam2") is network("sam2")
    weights.digest = "b"
    network("sam2")
    network("grounding-dino")
    cached_inference._opened_once.cache_clear()
    assert made == ["sam2", "sam2", "grounding-dino"]


def test_absent_weights_and_absent_torch_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AbsentWeightsError, match=r"^weights 'sam2' are not here: worldgauge weights pull sam2$"):
        check_networks(["sam2"])
    with pytest.raises(AbsentWeightsError, match=r"'sam2' and 'sam3' are not here: worldgauge weights pull sam2 sam3$"):
        check_networks(["sam2", "sam3"])
    monkeypatch.setattr(cached_inference, "opened", lambda name: None)
    monkeypatch.setattr(cached_inference, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="'sam2' needs the extra 'torch'"):
        check_networks(["sam2"])
    check_networks([])


def test_an_answer_is_kept_by_question_frames_and_network() -> None:
    asked: list[int] = []

    def ask() -> dict[str, Any]:
        asked.append(1)
        return {"n": np.array([len(asked)])}

    one, other = standing_in("a"), standing_in(1)
    for network_, question, frames, expected in (
        *((one, ["x", 1], RGB, 1), (one, ["x", 1], RGB.copy(), 1), (one, ["x", 2], RGB, 2)),
        *((one, ["x", 1], RGB[None], 3), (one, ["x", 1], RGB[:, ::-1], 4), (other, ["x", 1], RGB, 5)),
    ):
        assert ask_network(network_, question, frames, ask)["n"].tolist() == [expected]


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (2, 8, 8)])
def test_masks_come_back_as_they_were(shape: tuple[int, int, int]) -> None:
    masks = np.random.default_rng(1).random(shape) < 0.5
    for ask in (lambda: masks, lambda: np.zeros(shape, bool)):  # the second time from what was kept
        found = ask_masks(standing_in("a"), "masks", RGB, ask)
        assert found.dtype == np.bool_
        assert (found == masks).all()
