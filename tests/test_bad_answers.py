"""What goes wrong with a model is a clear failure of that task, or a refusal before anything is asked."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapters.realtime import Realtime

import worldgauge_serve
from support.calibration import content
from support.commands import command
from support.realtime_server import realtime_server
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.engine.collect import collect
from worldgauge.engine.run import run
from worldgauge.models import models
from worldgauge.models.calibration import digest_of_spec
from worldgauge.suites.mind import protocol


class Declared:
    """Declares 64x36 at 16 frames a second, and makes what it likes."""

    def __init__(self, name: str, *, more: int = 0, height: int = 36, dtype: Any = np.uint8, **spec: Any) -> None:
        self.spec = ModelSpec(name, **{"control": "camera", "fps": 16.0, "frame_size": (64, 36), **spec})
        self.made, self.asked = (more, height, dtype), 0

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        self.asked += 1
        more, height, dtype = self.made
        yield np.zeros((request.horizon + more, height, 64, 3), dtype)


class Wordless:
    """A model that has no sentence for any key, as an adapter is written."""

    spec = worldgauge_serve.ModelSpec("wordless", fps=16.0)

    def rollout(self, request: Any) -> Any:
        return worldgauge_serve.key_sentences(request.actions, {}, {}, 33)


class Session(Realtime):
    """A session that needs no caption, since this recording has none."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(url, name=name, size="64x32", chunk_s=1.0)
        self.spec = replace(self.spec, inputs=())


FASTER = """
import numpy as np
import worldgauge_serve as served

class Faster:
    spec = served.ModelSpec("faster", control="camera", fps=16.0, frame_size=(64, 36), max_context=1)

    def rollout(self, request):
        yield np.zeros((request.horizon, 36, 64, 3), np.uint8)

inner = served.write_message

def telling(write, header, arrays=None):
    inner(write, {**header, "fps": 25.0} if header.get("type") == "chunk" else header, arrays)

served.write_message = telling
served.serve(Faster())
"""
"""A server whose chunks tell another rate than it declares."""

FAULTS = {
    "drop": "batch 0 of chunk 2 came where batch 0 of chunk 1 was due",
    "swap": "batch 0 of chunk 1 came where batch 0 of chunk 0 was due",
    "repeat": "batch 0 of chunk 0 came where batch 0 of chunk 1 was due",
    "hang": "the server was silent for too long",
    "slow": "",
}
"""What a session does, and what is said of it; slow ones are waited for."""
ASKED = [
    (Declared("right"), "scored", ""),
    (Declared("larger", height=48), "failed", r"'larger'.*48"),
    (Declared("longer", more=2), "failed", r"'longer'.*frames"),
    (Declared("shorter", more=-1), "failed", r"'shorter'.*frames"),
    (Declared("fractions", dtype=np.float32), "failed", "'fractions'.*float32"),
    (Wordless(), "skipped", "the model has no sentence for"),
]
NOT_ASKED = [
    (Declared("captioned", inputs=frozenset({"caption"})), "'captioned' needs a caption of the scene, and this task"),
    (Declared("arm", control="actions", action_spaces=("hand-poses",)), "'arm' knows the actions of hand-poses"),
    (Declared("short", lengths="5+4n to 9"), "'short' makes .* frames .* and this task asks for"),
]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One clip of MIND as it is published, but without its caption: what world it shows nobody knows."""
    root = tmp_path_factory.mktemp("bad") / "data"
    few: dict[str, Any] = {"families": ("urban",), "train": 0, "mem": 1, "action_space": 0, "mirror": 0}
    collect("mind", root, perspectives=("1st",), frames=192, size=(64, 36), **few)
    shutil.rmtree(root / "description")
    (side_car,) = root.rglob("world.json")
    side_car.unlink()
    return root


@pytest.fixture(scope="module")
def ends(clip: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """By model how its task ended, and why: one run asks them all."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "faster.py").write_text(FASTER)
    models: list[Any] = [each[0] for each in (*ASKED, *NOT_ASKED)]
    models.append(f"cmd:{sys.executable} {folder / 'faster.py'}")
    with ExitStack() as servers:
        for fault in FAULTS:
            server = servers.enter_context(realtime_server())
            server.fault = fault
            models.append(Session(server.url, fault))
        settings = {"tests": "mem"}
        result = run("mind", model=models, data=clip, out=folder / "runs", settings=settings, scoring=False)
    why = {one.model: one.error for one in (*result.failures, *result.skips)}
    found = {}
    for name, counts in result.model_counts.items():
        assert counts.expected == 1
        end = "failed" if counts.failed else "skipped" if counts.skipped else "scored"
        found[name] = (end, why.get(name, ""))
    return found


@pytest.mark.parametrize(("model", "end", "words"), ASKED, ids=[model.spec.name for model, *_ in ASKED])
def test_frames_that_were_not_declared_fail_their_task(
    ends: dict[str, tuple[str, str]], model: Any, end: str, words: str
) -> None:
    assert ends[model.spec.name][0] == end
    assert re.search(words, ends[model.spec.name][1])
    assert "\n" not in ends[model.spec.name][1]


def test_another_rate_than_declared_fails_its_task(ends: dict[str, tuple[str, str]]) -> None:
    end, why = ends["faster"]
    assert end == "failed"
    assert "'faster' answers at 25.0 frames/s where 16 were asked for" in why


@pytest.mark.parametrize("fault", FAULTS)
def test_a_session_that_goes_wrong_fails_its_task_and_a_slow_one_does_not(
    ends: dict[str, tuple[str, str]], fault: str
) -> None:
    (name,) = (name for name in ends if name.startswith(fault))
    end, why = ends[name]
    assert end == ("failed" if FAULTS[fault] else "scored")
    assert FAULTS[fault] in why


@pytest.mark.parametrize(("model", "words"), NOT_ASKED, ids=[model.spec.name for model, _ in NOT_ASKED])
def test_what_a_model_cannot_be_asked_is_skipped_and_not_asked(
    ends: dict[str, tuple[str, str]], model: Declared, words: str
) -> None:
    end, why = ends[model.spec.name]
    assert end == "skipped"
    assert re.search(words, why)
    assert model.asked == 0


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, ""),
        ({"spec": "of another model"}, "a calibration of other settings of this model, not of 'render'"),
        ({"name": "another", "spec": "of it"}, "a calibration of model 'another', not of 'render'"),
        ({"version": 0}, "version 0 of the format, and this worldgauge reads 1; calibrate the model again"),
    ],
    ids=["its own", "other settings", "another model", "an older version"],
)
def test_a_calibration_that_does_not_fit_is_refused_before_anything_is_asked(
    changed: dict[str, Any], words: str, clip: Path, tmp_path: Path
) -> None:
    whole = content(changed.get("spec", digest_of_spec(models.get("render")().spec)), forward=0.5)
    model = {**whole["model"], "name": changed.get("name", "render")}
    written = {**whole, "model": model, "version": changed.get("version", whole["version"])}
    (tmp_path / "c.json").write_text(json.dumps(written))
    words_of = ("run", "mind", "--data", clip, "--model", "render?calibration=c.json", "--no-baselines", "--dry-run")
    done = command(tmp_path, *words_of)
    assert done.returncode == (2 if words else 0), done.stderr
    assert words in done.stderr
    if words:
        assert (done.stderr.count("\n"), done.stderr[:7]) == (1, "error: ")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("fps", [16.0, 24.0])
@pytest.mark.parametrize("fault", [np.diag([1.0, 1, -1, 1]), np.diag([2.0, 1, 1, 1]), np.full((4, 4), np.nan)])
def test_poses_that_are_no_rotations_are_not_asked(
    fault: Any, fps: float, clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path of a mirror, of a stretched world, of no numbers: that task fails, and the model hears nothing."""

    model, inner = Declared("broken", fps=fps), protocol.request_of

    def bent(*given: Any, **more: Any) -> RolloutRequest:
        asked = inner(*given, **more)
        assert asked.poses is not None
        return replace(asked, poses=np.concatenate([fault[None], asked.poses[1:]]))

    monkeypatch.setattr(protocol, "request_of", bent)
    result = run("mind", model=model, data=clip, out=tmp_path, settings={"tests": "mem"}, scoring=False)
    (failure,) = result.failures
    assert "poses: " in failure.error
    assert "\n" not in failure.error
    assert model.asked == 0
