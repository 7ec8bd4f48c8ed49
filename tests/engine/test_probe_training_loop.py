"""A network that is trained with torch, and probed meanwhile. Runs where torch is: `make test-torch`."""

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import worldgauge
from support.places import ROOT
from worldgauge.core.model import ModelSpec, RolloutRequest

torch = pytest.importorskip("torch", reason="the network is torch")
LONG_S = 200.0


class Dreaming:
    """Holds modules in every way that is looked through, and does to torch what a careless model does."""

    spec = ModelSpec("dreaming")

    def __init__(self) -> None:
        self.network = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5))
        self.others = {"first": torch.nn.Dropout(0.5)}
        self.more = [torch.nn.Dropout(0.5)]
        self.seen: list[tuple[bool, ...]] = []

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        torch.manual_seed(request.seed)
        random.seed(0)
        found = self.network(torch.rand(8, 4))
        modules = (self.network[1], self.others["first"], self.more[0])
        self.seen.append((found.requires_grad, *(module.training for module in modules)))
        self.network.train()
        torch.set_grad_enabled(False)
        for _ in range(request.horizon):
            yield np.full((1, *request.frame_size[::-1], 3), int(255 * torch.rand(1)), np.uint8)


def test_training_goes_on_as_if_nothing_had_been(data: Path) -> None:
    probe, model = worldgauge.Probe("echo", data=data, seconds=LONG_S), Dreaming()
    model.network[2].eval()  # one part is frozen on purpose
    torch.manual_seed(3)
    state = torch.get_rng_state()
    statistics = {name: value.clone() for name, value in model.network.state_dict().items()}
    result = probe(model, 0)
    assert result.missing == {}
    assert model.seen == [(False, False, False, False)] + [(False, True, False, False)] * 3
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()
    assert [part.training for part in model.network] == [True, True, False]
    assert model.network.training
    assert model.others["first"].training
    assert model.more[0].training
    assert result.values["level"].n == 4
    torch.testing.assert_close(model.network.state_dict()["0.weight"], statistics["0.weight"])


def test_statistics_of_a_network_in_training_are_kept(data: Path) -> None:
    class Calm(Dreaming):
        def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
            self.network(torch.rand(8, 4))
            yield np.zeros((request.horizon, *request.frame_size[::-1], 3), np.uint8)

    model = Calm()
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    assert worldgauge.Probe("echo", data=data, seconds=LONG_S)(model, 0).missing == {}
    for name, value in model.network.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_loop_of_the_docs_trains_and_its_probes_are_in_the_event_files(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    text = (ROOT / "docs" / "howto" / "probe.md").read_text("utf-8")
    (code,) = re.findall(r"<!-- file: train.py -->\n```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "train.py").write_text(code.replace("tasks=4, seconds=60", f"tasks=2, seconds={LONG_S}"), "utf-8")
    environment = {**os.environ, "WORLDGAUGE_CACHE": str(tmp_path / "cache")}
    words = [sys.executable, "train.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=280, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    events = accumulator.EventAccumulator(str(tmp_path / "runs" / "training")).Reload()
    losses = [event.value for event in events.Scalars("loss")]
    assert len(losses) == 40
    assert np.mean(losses[-5:]) < losses[0]
    for name in ("loopnav/psnr", "loopnav/sgcs"):
        assert [event.step for event in events.Scalars(name)] == [20, 40], name
    first, second = (event.value for event in events.Scalars("loopnav/psnr"))
    assert first != second  # it has learned in between
    assert [event.value for event in events.Scalars("loopnav/missing")] == [0, 0]
    assert [event.width for event in events.Images("loopnav/strip")] == [970, 970]
