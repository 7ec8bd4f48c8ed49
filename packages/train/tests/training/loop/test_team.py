"""Several processes train what one does: the same batches, the same chance, one state."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")

from safetensors.torch import load_file  # noqa: E402

from support import training_processes  # noqa: E402
from support.training_processes import trained  # noqa: E402
from worldgauge.core.errors import RunError, UsageError  # noqa: E402
from worldgauge.core.io import read_json_object  # noqa: E402
from worldgauge_train.nets.drawing import open_drawing  # noqa: E402
from worldgauge_train.training.log import read_log  # noqa: E402
from worldgauge_train.training.state import claimed  # noqa: E402
from worldgauge_train.training.team import Team  # noqa: E402

CONV = {"size": [16, 8], "frames": 2, "past": 4, "channels": [8], "batch": 4, "parts": 4, "steps": 6, "warm_up": 2}
CAUSAL = {
    **{"stage": "causal", "architecture": "causal", "size": [16, 8], "frames": 2, "past": 2, "drawn": 3, "width": 16},
    **{"depth": 1, "heads": 2, "window": 3, "batch": 4, "parts": 2, "steps": 6, "warm_up": 2, "denoising_steps": 2},
}


def started(out: Path, keys: dict[str, object], **how: object) -> "subprocess.Popen[str]":
    """A training in two processes on the CPU, which gloo joins."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    told = [training_processes.__file__, str(out), json.dumps(keys), json.dumps(how)]
    return subprocess.Popen(
        [*launcher, *told],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def in_two(out: Path, keys: dict[str, object], **how: object) -> Path:
    """Train in two processes to the end."""
    with started(out, keys, **how) as running:
        _, said = running.communicate(timeout=280)
    assert running.returncode == 0, said[-2000:]
    return out


def kill_all(launcher: int, out: Path) -> None:
    """Kill a launcher and its processes, which are in sessions of their own, and wait until none holds the folder."""
    processes = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    for process in (launcher, *map(int, processes)):
        os.kill(process, signal.SIGKILL)
    while True:
        with suppress(RunError), claimed(out):
            return
        time.sleep(0.01)


def apart(one: Path, other: Path) -> tuple[float, float]:
    """Largest differences of what two trainings leave: of running means of gradients, and of weights that have any.

    Some weights have no gradient but rounding, such as what a group norm takes away again; AdamW moves these by its
    signs.
    """
    (first,), (second,) = (list((folder / "state").glob("*.safetensors")) for folder in (one, other))
    left, right = load_file(first), load_file(second)
    names = [name for name, _ in open_drawing(one, read_json_object(one / "config.json")).net.named_parameters()]
    gradients, weights = 0.0, 0.0
    for number, name in enumerate(names):
        mean, square = f"moments.{number}.exp_avg", f"moments.{number}.exp_avg_sq"
        gradients = max(gradients, float((left[mean] - right[mean]).abs().max()))
        moved = (left[f"net.{name}"] - right[f"net.{name}"]).abs()[left[square].sqrt() > 1e-5]
        weights = max(weights, float(moved.max()) if len(moved) else 0.0)
    return gradients, weights


@pytest.mark.parametrize("keys", [CONV, pytest.param(CAUSAL, marks=pytest.mark.slow)], ids=["conv", "causal"])
def test_one_and_two_processes_train_the_same(keys: dict[str, object], tmp_path: Path) -> None:
    one, two = trained(tmp_path / "one", keys), in_two(tmp_path / "two", keys)
    assert max(apart(one, two)) <= 1e-5
    assert [row["step"] for row in read_log(two)] == [row["step"] for row in read_log(one)]
    assert read_log(two)[-1]["loss"] == pytest.approx(read_log(one)[-1]["loss"], abs=1e-5)
    assert len(list((two / "state").glob("*.safetensors"))) == 1
    # What two processes left can be gone on with by one, and is whole.
    assert read_json_object(two / "config.json")["steps_done"] == 6
    assert trained(two, keys) == two


@pytest.mark.slow
def test_student_and_critic_learn_by_turns_in_two_processes(tmp_path: Path) -> None:
    causal = trained(tmp_path / "causal", CAUSAL)
    keys = {**CAUSAL, "stage": "init", "trajectories": 4}
    one, two = trained(tmp_path / "init", keys, parent=causal), in_two(tmp_path / "init-two", keys, parent=str(causal))
    assert max(apart(one, two)) <= 1e-5
    keys = {**CAUSAL, "stage": "distil", "critic_steps": 1}
    distilled = trained(tmp_path / "distil", keys, parent=one), in_two(tmp_path / "distil-two", keys, parent=str(one))
    assert max(apart(*distilled)) <= 1e-5
    spread = in_two(tmp_path / "distil-spread", keys, parent=str(one), spreads=True)
    assert max(apart(distilled[0], spread)) <= 1e-5
    keys = {**CAUSAL, "stage": "init", "init": "consistency"}
    spread = in_two(tmp_path / "followed-spread", keys, parent=str(causal), spreads=True)
    assert max(apart(trained(tmp_path / "followed", keys, parent=causal), spread)) <= 1e-5


CLIPPED = {**CAUSAL, "depth": 2, "clip_norm": 0.01, "steps": 8}
"""Gradients are far larger, so weights agree only where the norm that they are clipped by is that of all parts."""


def test_weights_spread_over_processes_are_those_of_one(tmp_path: Path) -> None:
    one, two = trained(tmp_path / "one", CLIPPED), in_two(tmp_path / "two", CLIPPED, spreads=True)
    assert max(apart(one, two)) <= 1e-5
    rows = [read_log(folder)[-1] for folder in (one, two)]
    assert rows[0]["gradient_norm"] > 10 * CLIPPED["clip_norm"]  # type: ignore[operator]
    assert rows[1]["gradient_norm"] == pytest.approx(rows[0]["gradient_norm"], rel=1e-5)
    (left,), (right,) = (list((folder / "state").glob("*.safetensors")) for folder in (one, two))
    of_one, of_two = load_file(left), load_file(right)
    assert {name: one.shape for name, one in of_one.items()} == {name: one.shape for name, one in of_two.items()}
    kept = load_file(two / "model.safetensors")
    for name, weights in kept.items():  # the average is gathered, not one process's part of it
        assert torch.equal(weights, of_two[f"average.{name}"])
        assert float((weights - of_one[f"average.{name}"]).abs().max()) <= 1e-4
        assert not name.startswith("nets.")


@pytest.mark.slow
@pytest.mark.parametrize("others", [2, 1])
def test_spread_weights_go_on_after_a_kill(others: int, tmp_path: Path) -> None:
    whole = in_two(tmp_path / "whole", CLIPPED, spreads=True)
    folder, state = tmp_path / "killed", tmp_path / "killed" / "state" / "counters.json"
    with started(folder, {**CLIPPED, "steps": 8}, spreads=True, save_every_s=-1) as running:
        while not (state.exists() and read_json_object(state)["step"] >= 3):
            assert running.poll() is None
            time.sleep(0.01)
        kill_all(running.pid, folder)
    assert 3 <= read_json_object(state)["step"] < 8
    if others == 2:
        in_two(folder, CLIPPED, spreads=True)
    else:
        trained(folder, CLIPPED)
    assert max(apart(whole, folder)) <= 1e-5
    (left,), (right,) = (list((place / "state").glob("*.safetensors")) for place in (whole, folder))
    assert load_file(left).keys() == load_file(right).keys()


def test_parts_are_the_whole_batch(tmp_path: Path) -> None:
    """Parts draw chance of their own, so another number of them is another training, of as many windows."""
    whole = trained(tmp_path / "whole", {**CONV, "parts": 1})
    parted = trained(tmp_path / "parted", CONV)
    gradients, weights = apart(whole, parted)
    assert gradients > 1e-5
    assert weights < 0.1
    assert read_log(whole)[-1]["samples"] == read_log(parted)[-1]["samples"] == 24


def test_parts_that_cannot_be_shared() -> None:
    team = Team()
    assert list(team.own(3)) == [0, 1, 2]
    team.count, team.number = 2, 1
    assert list(team.own(4)) == [1, 3]
    with pytest.raises(UsageError, match="2 processes cannot share 3 parts of a batch evenly; --set parts=4"):
        team.own(3)
