"""A model in the loop of training: the numbers of a run, within a time limit, and the training is not disturbed."""

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import worldgauge
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.model import ModelSpec, RolloutRequest

LONG_S, SHORT_S = 200.0, 0.5
"""More time than any test takes; and little, for tests in which the time ends."""


class Turning:
    """Goes on with the last frame, which slowly moves aside."""

    spec = ModelSpec("turning")

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        for step in range(request.horizon):
            yield np.roll(request.context.clip[-1], step, axis=1)[None]


class Waiting:
    """Gives `free` frames at once, and waits before each other one until `go` is set, `wait` seconds at most."""

    spec = ModelSpec("waiting")

    def __init__(self, wait: float, free: int = 0) -> None:
        self.wait, self.free, self.given, self.go = wait, free, 0, threading.Event()

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        for _ in range(request.horizon):
            if self.given >= self.free:
                self.go.wait(self.wait)
            self.given += 1
            yield request.context.clip[-1][None]


class Meddling:
    """Draws from and seeds everything global."""

    spec = ModelSpec("meddling")

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        random.seed(request.seed)
        np.random.seed(7)  # noqa: NPY002 - as in much training code
        for _ in range(request.horizon):
            yield np.full((1, *request.frame_size[::-1], 3), np.random.randint(256), np.uint8)  # noqa: NPY002


def test_numbers_are_those_of_a_run(walks: Path, tmp_path: Path) -> None:
    result = worldgauge.Probe("loopnav", data=walks, seconds=LONG_S)(Turning(), 5)
    frame = worldgauge.run("loopnav", model=Turning(), data=walks, out=tmp_path / "runs").frame
    assert (result.suite, result.step, result.missing) == ("loopnav", 5, {})
    assert set(result.values) == set(frame.metric)
    for metric, of_run in frame.groupby("metric").value:
        value = result.values[str(metric)]
        assert value.n == of_run.count()
        assert value.mean == (pytest.approx(of_run.mean(), rel=1e-12) if value.n else None)
        assert (value.reason is None) == (value.n > 0)
    psnr = result.values["psnr"]
    assert psnr.mean is not None
    assert (psnr.low, psnr.high) == (None, None)  # both walks are in one village


def test_strip_shows_the_recording_above_the_model(walks: Path) -> None:
    strip = worldgauge.Probe("loopnav", data=walks, tasks=1, seconds=LONG_S)(Turning(), 0).strip
    assert strip is not None
    assert strip.dtype == np.uint8
    assert strip.shape == (2 * 90 + 2, 6 * 160 + 5 * 2, 3)  # two rows of six frames of 160x90
    assert (strip[90:92] == 255).all()
    above, below = strip[:90].astype(int), strip[92:].astype(int)
    assert np.abs(above[:, :160] - below[:, :160]).mean() < np.abs(above[:, -160:] - below[:, -160:]).mean()


def test_tasks_are_spread_over_the_data(doubles: ModuleType, tmp_path: Path) -> None:
    data = doubles.make_data(tmp_path / "many", n=9, skip=[0])
    probe = worldgauge.Probe("echo", data=data, tasks=3)
    assert [task.sample["number"] for task in probe.tasks] == [1, 5, 8]  # 0 is never asked
    assert len(worldgauge.Probe("echo", data=data, tasks=100).tasks) == 8


def test_error_of_the_model_is_a_missing_number(doubles: ModuleType, data: Path) -> None:
    result = worldgauge.Probe("echo", data=data, seconds=LONG_S)(doubles.Faulty("raise"), 0)
    assert result.missing == {"odd/1": "model 'faulty-raise' raised ValueError at frame 2: no such latent"}
    assert result.values["level"].n == 3
    assert result.values["absent"].reason == "nothing to measure"
    assert result.values["best"].mean is None  # an infinite value is no number for a curve


@pytest.mark.parametrize("how", ["sysexit", "inapplicable", "shape", "short", "nan"])
def test_what_else_a_model_does_wrong_is_not_raised_either(how: str, doubles: ModuleType, data: Path) -> None:
    result = worldgauge.Probe("echo", data=data, seconds=LONG_S)(doubles.Faulty(how), 0)
    assert list(result.missing) == ["odd/1"]
    assert result.missing["odd/1"]


def test_what_is_no_model_misses_everything(doubles: ModuleType, data: Path) -> None:
    result = worldgauge.Probe("echo", data=data)(doubles.NoModel(), 0)
    assert len(result.missing) == 4
    assert "is no world model" in result.missing["odd/1"]
    assert result.values == {}
    assert result.strip is None


def test_slow_model_is_stopped_between_two_chunks(doubles: ModuleType, data: Path) -> None:
    """Frames of 0.1 s: the call has ended when it returns, and the model is not asked again."""
    model = Waiting(wait=0.1)
    probe = worldgauge.Probe("echo", data=data, seconds=SHORT_S)
    result = probe(model, 0)
    given = model.given
    assert 0 < given < 4 * doubles.HORIZON
    assert "even/2" in result.missing
    assert any("the 0.5 s of the probe were over" in reason for reason in result.missing.values())
    model.go.wait(0.3)
    assert model.given == given
    assert "still waits" not in " ".join(probe(model, 1).missing.values())


def test_hanging_model_does_not_hold_the_training_up(doubles: ModuleType, data: Path) -> None:
    """One task is done, the next hangs: the call returns, and the probe waits until that chunk is there."""
    model = Waiting(wait=LONG_S, free=doubles.HORIZON + 2)
    probe = worldgauge.Probe("echo", data=data, seconds=4 * SHORT_S)
    result = probe(model, 3)
    assert not model.go.is_set()
    assert model.given == doubles.HORIZON + 2
    assert result.values["level"].n == 1
    assert list(result.missing) == ["odd/1", "even/2", "odd/3"]
    assert result.missing["odd/1"].endswith("ended while the model was asked")
    assert result.missing["odd/3"].startswith("not evaluated")
    blocked = probe(Turning(), 4)
    assert set(blocked.missing.values()) == {"not evaluated: the call of step 3 still waits for the model"}
    assert blocked.values == {}
    hanging = next(one for one in threading.enumerate() if one.name == "worldgauge-probe-3")
    model.go.set()
    hanging.join(60)
    assert model.given == doubles.HORIZON + 3  # it stopped at once
    assert probe(Turning(), 5).missing == {}


def test_random_states_are_as_before(data: Path) -> None:
    def draw() -> tuple[float, float]:
        return random.random(), np.random.rand()  # noqa: NPY002

    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    expected = draw()
    random.setstate(before[0])
    np.random.set_state(before[1])  # noqa: NPY002
    probe = worldgauge.Probe("echo", data=data, seconds=LONG_S)
    assert probe(Meddling(), 0).missing == {}
    assert draw() == expected


def test_calls_are_alike_and_leave_nothing_behind(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    probe = worldgauge.Probe("echo", data=data, seconds=LONG_S, settings={"video": True})
    first, second = probe(Turning(), 1), probe(Turning(), 2)
    assert first.values == second.values
    assert first.strip is None  # this suite has no frames that could be compared, and its numbers are there
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tasks": 0}, "at least 1 task, got 0"),
        ({"seconds": 0}, "more than 0, got 0"),
        ({"seconds": float("inf")}, "more than 0, got inf"),
        ({"settings": {"bios": 1}}, "did you mean 'bias'"),
        ({"data": None}, "suite 'echo' declares no small data set for probes; give a folder with data="),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str, data: Path) -> None:
    with pytest.raises((UsageError, UnknownNameError), match=f"(?i){message}"):
        worldgauge.Probe("echo", **{"data": data, **arguments})


def test_suites_that_ask_agents_are_refused() -> None:
    with pytest.raises(
        UsageError, match=r"'mineanybuild' evaluates agents, and a probe is for world models; take one of .*mind"
    ):
        worldgauge.Probe("mineanybuild")


def test_tasks_in_which_a_person_acts_are_refused() -> None:
    settings = {"task": "navigation", "proposer": "person"}
    with pytest.raises(UsageError, match="a person would act in these tasks of worldinworld"):
        worldgauge.Probe("worldinworld", settings=settings)


def test_data_without_a_task_that_can_be_asked_are_refused(doubles: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no task can be asked: marked as unusable"):
        worldgauge.Probe("echo", data=doubles.make_data(tmp_path / "none", n=1, skip=[0]))
