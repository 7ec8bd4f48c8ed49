"""A small suite and run folders in the real format, for the tests of the report."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from report.folders import ToySuite, write_folder
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.core.video import Clip, Writer
from worldgauge.engine.store import write_record, write_scores
from worldgauge.engine.suite.contract import Cell, Record, Score, Table, TableRow, Task, TaskView

FRAMES, SIZE, FPS = 24, (96, 54), 20.0
METRICS = {"sgcs": 1.0, "ssim": 0.6, "sharpness": 1.0, "psnr": 20.0}
QUALITY = {
    # model: (memory, sharpness)
    "keeper": (0.82, 0.9),
    "dreamer": (0.35, 0.8),
    "truth": (1.0, 1.0),
    "freeze": (0.42, 1.0),
    "noise": (0.02, 6.0),
    "mean": (0.3, 0.1),
    "replay": (0.5, 1.0),
    "forgetful": (0.33, 1.01),
    "drift": (0.7, 1.0),
}
SEES = {"truth": ["truth"], "forgetful": ["world"], "drift": ["world"]}


class ToyLoop(ToySuite):
    """Loops that are made up."""

    name = "toyloop"
    baselines = ("truth", "freeze", "noise", "mean", "replay", "forgetful", "memory", "drift")
    floor_baselines = ("freeze", "noise", "mean", "replay", "forgetful")
    claim = "redraws the place it has seen"
    vocabulary: ClassVar[Mapping[str, str]] = {
        "task": "trajectory",
        "tasks": "trajectories",
        "lacks": "cannot remember",
        "seen": "way out",
        "asked": "way back, asked for",
    }

    def __init__(self, each: int = 2, context: int | None = None, frames: int = FRAMES) -> None:
        self.each, self.context, self.frames = each, context, frames

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"each": self.each, "context": self.context, "frames": self.frames}

    def tasks(self, source: Path) -> Iterator[Task]:
        for kind in ("ABA", "ABCA"):
            for radius in (5, 15):
                for number in range(self.each):
                    name = f"{kind}/plains_{number}/{radius}/0{number}"
                    group = {"type": kind, "range": radius, "location": f"plains_{number}"}
                    yield Task("toyloop", name, {"number": number, "source": str(source)}, f"f{number}", group)

    def summarize(self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: object) -> list[Table]:
        columns = ("ABA 5", "ABA 15", "ABCA 5", "ABCA 15")
        tables = []
        for metric in [m for m in METRICS if any(s.metric == m for theirs in scores.values() for s in theirs)]:
            rows = []
            for model, theirs in scores.items():
                cells = []
                for column in columns:
                    found = [
                        s for s in theirs if s.metric == metric and f"{s.group['type']} {s.group['range']}" == column
                    ]
                    values = [s.value for s in found if s.value is not None]
                    cells.append(_cell(values, len(found)))
                rows.append(TableRow(model, tuple(cells), kinds[model]))  # type: ignore[arg-type]
            notes = ("smallest difference this set resolves: 0.08",)
            tables.append(Table(metric, metric.upper(), "1", "higher", columns, tuple(rows), notes))
        return tables

    def published(self) -> list[Table]:
        cells = tuple(Cell(m, 0.2, 18) for m in (0.26, 0.2, 0.15, 0.2))
        return [
            Table(
                "sgcs",
                "SGCS, Table 1",
                "1",
                "higher",
                ("ABA 5", "ABA 15", "ABCA 5", "ABCA 15"),
                (TableRow("Oasis", cells, "published"),),
            )
        ]

    def task_view(self, task: Task) -> TaskView:
        turn = np.linspace(0, 2 * np.pi, 2 * self.frames, endpoint=False)
        radius = task.group["range"] / 2
        xyz = np.stack([radius * np.cos(turn), radius * np.sin(turn), np.full_like(turn, 1.6)], 1)
        poses = pose_from_yaw_pitch(xyz, turn + np.pi / 2)
        return TaskView(
            Clip.from_array(scene(task.id, self.frames), FPS),
            poses,
            self.frames,
            marks={"A": (radius, 0.0), "B": (-radius, 0.0)},
            shown=Clip.from_array(scene(f"{task.id}, before", self.frames), FPS),
        )


def scene(seed: str, frames: int, size: tuple[int, int] = SIZE) -> np.ndarray:
    """Frames (T, H, W, 3) of a striped place that slides by."""
    rng = np.random.default_rng(abs(sum(map(ord, seed))))
    width, height = size
    strip = np.kron(rng.integers(40, 220, (1, 64, 3)), np.ones((1, 16, 1))).astype(np.uint8)
    out = np.empty((frames, height, width, 3), np.uint8)
    for t in range(frames):
        out[t] = np.take(strip[0], np.arange(width) + 3 * t, axis=0, mode="wrap")[None]
        out[t, : height // 3] = (150, 190, 240)
    return out


def write_run(
    folder: Path,
    model: str,
    *,
    each: int = 2,
    frames: int = FRAMES,
    error: str = "",
    context: int | None = None,
    max_context: int | None = None,
    films: bool = True,
    seed: int = 0,
    scored: bool = True,
) -> Path:
    """One run folder of `model`; with `error` its last task failed with it and the one before was skipped.

    scored: False leaves records without scores.
    """
    suite = ToyLoop(each, context, frames)
    rng = np.random.default_rng([seed, *map(ord, model)])
    memory, sharp = QUALITY.get(model, (0.4, 0.7))
    if (frames_seen := context or max_context) is not None:
        memory *= 1 - 0.8 / (1 + frames_seen / 8)
    tasks = [task.id for task in suite.tasks(folder)]
    return write_folder(
        folder,
        suite,
        model,
        lambda place, task: _record(place, task, model, rng, memory, sharp, frames, films, scored),
        inputs=SEES.get(model, []),
        identity={"max_context": max_context},
        ends={tasks[-1]: "failed", tasks[-2]: "skipped"} if error else {},
        error=error,
        seed=seed,
        scored=scored,
    )


def _record(
    place: Path,
    task: Task,
    model: str,
    rng: np.random.Generator,
    memory: float,
    sharp: float,
    frames: int,
    films: bool,
    scored: bool,
) -> None:
    if films:
        truth = scene(task.id, frames)
        with Writer(place / "rollout.mp4", fps=FPS, kind="lossless") as out:
            out.write(truth if model in ("truth", "keeper") else np.roll(truth, 31, axis=2))
    write_record(Record(task, model, place, {}, "rollout.mp4" if films else None), place)
    if not scored:
        return
    scores = []
    for metric, top in METRICS.items():
        level = top * (sharp if metric == "sharpness" else memory)
        still = model == "truth"
        fall = np.linspace(0.1, -0.1, frames) * (0 if still else level)
        series = level + fall + (0.0 if still else 0.05 * level) * rng.standard_normal(frames)
        value = math.inf if still and metric == "psnr" else float(series.mean())
        points = tuple((t, float(v)) for t, v in enumerate(series))[::5]
        scores.append(Score(task.id, metric, value, n=frames, series=points, group=task.group))
    write_scores(scores, model, place)


def _cell(values: list[float], expected: int) -> Cell:
    if not values:
        return Cell(None, None, 0, expected=expected)
    mean, std = float(np.mean(values)), float(np.std(values)) if np.isfinite(values).all() else None
    reach = None if std is None else 1.96 * std / math.sqrt(len(values))
    low, high = (None, None) if reach is None else (mean - reach, mean + reach)
    return Cell(mean, std, len(values), low, high, expected)
