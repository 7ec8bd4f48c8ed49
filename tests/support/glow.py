"""A suite of a few tiny videos, and runs of it in the real format: for what is done with runs after they are made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Context
from worldgauge.core.geometry import Camera
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.registry import Entry
from worldgauge.core.video import Clip
from worldgauge.engine.options import option
from worldgauge.engine.run import run
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Record, Score, Task, TaskContext
from worldgauge.engine.suite.rollout import open_rollout, run_rollout
from worldgauge.suites import suites

HORIZON, SIZE = 5, (16, 12)


@dataclass(frozen=True)
class GlowSettings:
    decoder: str = option("mean", help="Made up.")


class Glow(Suite):
    """Rooms of two tasks each: how near is the grey of the answer to that of the question?"""

    name = "glow"
    Settings = GlowSettings
    titles = {"psnr": "PSNR"}  # noqa: RUF012
    baselines = ("freeze",)

    def tasks(self, source: Path) -> Iterator[Task]:
        for number in range(json.loads((source / "tasks.json").read_text())["n"]):
            sample = {"number": number, "source": str(source)}
            yield Task("glow", f"room-{number // 2}/{number}", sample, f"f{number}", {"room": number // 2})

    def cluster_of(self, task: str, group: Any) -> str:
        return str(group["room"])

    def perform(self, task: Task, model: Any, task_context: TaskContext) -> Record:
        frame = np.full((1, SIZE[1], SIZE[0], 3), 10 * task.sample["number"], np.uint8)
        actions = Actions(LOOP_WALK, np.zeros((0, len(LOOP_WALK)), np.float32))
        future = Actions(LOOP_WALK, np.zeros((HORIZON, len(LOOP_WALK)), np.float32))
        context = Context(Clip.from_array(frame, 20.0), np.eye(4)[None], actions, Camera.from_vertical_fov(*SIZE, 70))
        request = RolloutRequest(context, HORIZON, task_context.seed, actions=future)
        answer = run_rollout(model, request, 20.0, task_context)
        return Record(task, model.spec.name, task_context.directory, answer.facts, answer.rollout)

    def score(self, record: Record, task_context: TaskContext) -> list[Score]:
        asked = 10 * record.task.sample["number"]
        series = [(place, 40.0 - abs(float(frame.mean()) - asked)) for place, frame in enumerate(open_rollout(record))]
        value = float(np.mean([level for _, level in series]))
        return [
            Score(record.task.id, "psnr", value, "dB", "higher", len(series), None, tuple(series), record.task.group),
            Score(record.task.id, "ssim", None, reason="not measured", group=record.task.group),
        ]


class Glowing:
    """Answers with the grey that it saw and `more`; fails in the tasks `bad`."""

    def __init__(self, name: str = "glowing", more: int = 4, bad: tuple[int, ...] = ()) -> None:
        self.spec = ModelSpec(name, settings={"more": more})
        self.more, self.bad = more, bad

    def rollout(self, request: RolloutRequest) -> Iterator[np.ndarray]:
        level = int(request.context.clip[-1][0, 0, 0])
        if level // 10 in self.bad:
            raise ValueError("<b>no</b> light")
        rng = np.random.default_rng(request.seed)
        for _ in range(request.horizon):
            yield np.full((1, SIZE[1], SIZE[0], 3), level + self.more + int(rng.integers(3)), np.uint8)


def register() -> None:
    suites.names()
    suites._entries["glow"] = Entry("glow", __name__, Glow)


def unregister() -> None:
    suites._entries.pop("glow", None)


def make_data(folder: Path, n: int = 6) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tasks.json").write_text(json.dumps({"n": n}))
    return folder


def make_run(root: Path, model: Glowing, data: Path, **given: Any) -> Path:
    """Folder of one run."""
    return run("glow", model=model, data=data, out=root, **given).folders[0].directory
