"""The truth at the rate and at the size of a model: it joins by itself, and can be switched off."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.commands import command
from worldgauge.core.errors import DataError
from worldgauge.core.model import ModelSpec
from worldgauge.engine.result import matched_baselines
from worldgauge.engine.resume import model_identity
from worldgauge.engine.suite.base import Suite, suites
from worldgauge.engine.suite.contract import Task

MODEL = """
import numpy as np
from worldgauge_serve import ModelSpec

class Still:
    def __init__(self, fps=None):
        self.spec = ModelSpec("still", fps=fps)

    def rollout(self, request):
        yield np.repeat(request.context.clip[-1][None], request.horizon, axis=0)
"""


class Walks(Suite):
    """Recordings at 20 frames a second, of which some cannot be read."""

    name = "walks"

    def rates(self, task: Task) -> frozenset[float]:
        if task.id == "damaged":
            raise DataError("damaged")
        return frozenset({20.0})


def task(name: str, skip: str | None = None) -> Task:
    return Task("walks", name, {}, "", {}, skip)


def model(fps: float | None, source: str = "m", **spec: Any) -> dict[str, Any]:
    return model_identity(ModelSpec("m", fps=fps, **spec), source)


def small(width: int, height: int, source: str = "trained") -> dict[str, Any]:
    return model(None, source, frame_size=(width, height))


TASKS = (task("skipped", "too short"), task("damaged"), task("whole"))


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ([model(None), model(20)], []),
        (
            [model(None, "trained", frame_size=(256, 144), settings={"as_size": "256x144", "drawn_size": [64, 36]})],
            ["coarse?width=64&height=36"],
        ),
        ([model(25), model(16), model(16.0), model(None)], ["truth?fps=16", "truth?fps=25"]),
        ([model(30000 / 1001)], ["truth?fps=29.97002997"]),
        ([model(16), model(16, "truth", inputs=frozenset({"truth"}))], []),
        ([model(16, "render", inputs=frozenset({"world"}))], []),
        ([small(64, 36), small(64, 36), small(32, 16)], ["coarse?width=32&height=16", "coarse?width=64&height=36"]),
        ([small(64, 36), small(64, 36, "coarse")], []),
        ([small(64, 36, "other")], []),
    ],
)
def test_one_for_each_rate_that_no_recording_has(models: list[dict[str, Any]], expected: list[str]) -> None:
    assert matched_baselines(Walks(), TASKS, models) == expected


def test_none_where_no_recording_tells_a_rate() -> None:
    assert matched_baselines(Walks(), TASKS[:2], [model(16)]) == []

    class Steps(Suite):
        """A suite that asks in its own way."""

        name = "steps"

    assert matched_baselines(Steps(), TASKS, [model(16)]) == []


def labels(done: Any) -> list[str]:
    assert done.returncode == 0, done.stderr
    return [plan["model"] for plan in json.loads(done.stdout)["plans"]]


def test_the_truth_stands_in_the_table_with_what_it_means(targetbench_data: Path, tmp_path: Path) -> None:
    (tmp_path / "still.py").write_text(MODEL)
    words = [
        "targetbench",
        "--data",
        targetbench_data,
        "--set",
        "decoder=exact",
        "--set",
        "cross_check=never",
        "--limit",
        "1",
    ]
    for model, more, expected in (
        ("still.py:Still", [], ["still"]),
        ("still.py:Still?fps=4", ["--no-baselines"], ["still-fps-4"]),
        ("still.py:Still?fps=5", [], ["still-fps-5"]),  # the recording's own
    ):
        asked = [*words, "--model", f"./{model}", *more, "--dry-run", "--json"]
        found = labels(command(tmp_path, "run", *asked))
        assert [label for label in found if label not in suites.get("targetbench").floor_baselines] == expected
    done = command(tmp_path, "run", *words, "--model", "./still.py:Still?fps=4", "--json")
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)
    first = found["tables"][0]
    rows = {row["label"]: row for row in first["rows"]}
    assert rows["truth-fps-4"]["kind"] == "baseline"
    assert rows["truth-fps-4"]["cells"][0]["n"] == 1
    assert any("truth-fps-4 generates at 4 fps" in note and "It is ground truth" in note for note in first["notes"])
