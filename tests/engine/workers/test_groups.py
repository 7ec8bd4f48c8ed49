"""Models get what they declare: how many fit, which device each sees, who shares a pool."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from worldgauge.core.errors import MissingExtraError, ModelError, UsageError
from worldgauge.core.model import Needs
from worldgauge.engine.run import RunRequest, dry_run, run
from worldgauge.engine.workers.site import gpu_shares, rooms, visible_gpus

pytestmark = pytest.mark.process

SEEING = "enginedoubles:Seeing"


@pytest.mark.parametrize(
    ("gpus", "each", "shares"),
    [
        (["0", "1"], 1, ["0", "1"]),
        (["0", "1"], 0.5, ["0", "1", "0", "1"]),
        (["3"], 0.1, ["3"] * 10),
        (["3"], 0.3, ["3"] * 3),
        (["3"], 0.7, ["3"]),
        (["0", "1", "2", "3", "4"], 2, ["0,1", "2,3"]),
        (["0"], 2, []),
        ([], 0.5, []),
    ],
)
def test_gpus_are_shared_out(gpus: list[str], each: float, shares: list[str]) -> None:
    assert gpu_shares(gpus, each) == shares


def test_gpus_are_those_that_the_environment_leaves_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, gpus in (
        ("2,0", ["2", "0"]),
        ("GPU-8932f937", ["GPU-8932f937"]),
        ("", []),
        ("-1", []),
        ("1,-1,2", ["1"]),
    ):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
        assert visible_gpus() == gpus


def test_gpus_are_counted_as_the_driver_lists_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    lister = tmp_path / "nvidia-smi"
    lister.write_text(
        "#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\necho '  MIG 1g.18gb Device 0: (UUID: MIG-1)'\n"
        "echo 'GPU 1: NVIDIA H200 (UUID: GPU-2)'\n"
    )
    lister.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert visible_gpus() == ["0", "1"]


def test_what_does_not_fit_is_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with pytest.raises(UsageError, match=r"model 'x' needs 4 GPUs, this machine shows 0, 1; .*--on ray://HOST:PORT"):
        rooms(Needs(gpus=4), 1, "model 'x'")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(UsageError, match=r"model 'x' needs 0.5 GPU, this machine shows none; .*--gpus-per-worker 0"):
        rooms(Needs(gpus=0.5), 1, "model 'x'")
    with pytest.raises(UsageError, match=r"model 'x' needs 1e\+06 GB, this machine has \d+ GB"):
        rooms(Needs(memory_gb=1e6), 1, "model 'x'")


def test_no_more_workers_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    amount = {"SC_PHYS_PAGES": 10_000_000, "SC_PAGE_SIZE": 1000}
    monkeypatch.setattr("os.sysconf", amount.__getitem__)
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert rooms(Needs(), 20, "x") == [{}] * 20
    assert rooms(Needs(cpus=3), 20, "x") == [{}] * 2
    assert rooms(Needs(cpus=30), 20, "x") == [{}]
    assert rooms(Needs(memory_gb=3), 20, "x") == [{}] * 3
    assert rooms(Needs(gpus=0.25, memory_gb=3), 20, "x") == [{"CUDA_VISIBLE_DEVICES": one} for one in "010"]


def levels(result: Any) -> dict[str, set[float]]:
    frame = result.frame
    return {name: set(part.value) for name, part in frame[frame.metric == "level"].groupby("model")}


def test_models_are_asked_in_groups_of_equal_needs_and_come_back_in_order(
    data: Path, tmp_path: Path, doubles: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    models = [SEEING, "enginedoubles:Steady?level=9", doubles.Steady(8), f"{SEEING}?name=other"]
    order = ["seeing", "steady-level-9", "steady", "other"]
    request = RunRequest("echo", models=tuple(models), data=data, out=tmp_path / "out")
    assert [plan.label for plan in dry_run(request)] == order
    result = run("echo", model=models, data=data, out=tmp_path / "out", workers=3)
    assert list(result.directories) == order
    assert levels(result) == {"seeing": {3}, "steady-level-9": {9}, "steady": {8}, "other": {3}}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,6")
    result = run("echo", model=SEEING, data=data, out=tmp_path / "whole", workers=9, gpus_per_worker=1)
    assert levels(result)["seeing"] <= {5, 6}


SERVED = """
import os
import numpy as np
from worldgauge_serve import ModelSpec

class Seeing:
    needs = {"gpus": 1}

    def __init__(self):
        self.spec = ModelSpec("served")
        self.shown = os.environ["CUDA_VISIBLE_DEVICES"]

    def rollout(self, request):
        width, height = request.frame_size
        for _ in range(request.horizon):
            yield np.full((1, height, width, 3), int(self.shown), np.uint8)

class Blind(Seeing):
    needs = {"gpus": 1000}
"""


def test_a_command_gets_what_it_says_it_needs_and_a_server_has_it_already(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shown both GPUs, as in the worker in which it says what it needs, it would draw none."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,6")
    (tmp_path / "served.py").write_text(SERVED)
    serve = f"cmd:{sys.executable} -m worldgauge_serve {tmp_path}/served.py"
    models = [f"{serve}:Seeing", "enginedoubles:Steady?level=9"]
    result = run("echo", model=models, data=data, out=tmp_path / "out", workers=2)
    assert result.ok
    assert levels(result)["served"] <= {5, 6}
    request = RunRequest("echo", models=(f"{serve}:Blind",), data=data, out=tmp_path / "out")
    with pytest.raises(UsageError, match=r"served.py:Blind' needs 1000 GPUs, this machine shows 5, 6"):
        dry_run(request)
    (plan,) = dry_run(replace(request, gpus_per_worker=1))
    assert plan.label == "served"
    command = [sys.executable, "-m", "worldgauge_serve", f"{tmp_path}/served.py:Blind", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = next(line.split()[-1] for line in server.stdout if line.startswith("serving "))
        (plan,) = dry_run(replace(request, models=(address,)))
        server.kill()
    assert plan.label == "served"


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        (
            {"model": "enginedoubles:Blind"},
            UsageError,
            "model 'enginedoubles:Blind' needs 1000 GPUs, this machine shows 3",
        ),
        (
            {"model": "enginedoubles:Vague"},
            UsageError,
            "needs 1.5 GPUs; give a share of one, such as 0.5, or whole ones",
        ),
        ({"model": "enginedoubles:Wrong"}, ModelError, "model 'Wrong': needs is {'gpu': 1}"),
        ({"gpus_per_worker": -1}, UsageError, "needs -1 GPUs; give a share"),
        ({"gpus_per_worker": 2}, UsageError, "needs 2 GPUs, this machine shows 3"),
        ({"model": [SEEING, f"{SEEING}?name=seeing"], "gpus_per_worker": 0}, ModelError, "CUDA_VISIBLE_DEVICES"),
        ({"on": "slurm"}, UsageError, "workers cannot run on 'slurm'; choose local, ray, or ray://HOST:PORT"),
        ({"on": "ray://"}, UsageError, "choose local, ray"),
    ],
)
def test_needs_that_cannot_be_meant_or_met_are_refused(
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    error: type[Exception],
    words: str,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    if changes.get("gpus_per_worker") == 0:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    with pytest.raises(error, match=words):
        run("echo", **{"model": SEEING, "data": data, "out": tmp_path / "out", **changes})
    assert not (tmp_path / "out").exists()


def test_a_cluster_without_ray_names_the_extra(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    for on in ("ray", "ray://host:10001"):
        with pytest.raises(MissingExtraError, match=r'pip install --editable "\.\[cluster\]"'):
            run("echo", model=SEEING, data=data, out=tmp_path / "out", on=on)


def test_equal_labels_are_refused_across_groups(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    with pytest.raises(UsageError, match="two models have the same label: 'seeing' comes twice"):
        run("echo", model=[SEEING, "enginedoubles:Namesake"], data=data, out=tmp_path / "out")
