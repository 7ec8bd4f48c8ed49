"""A small suite of paths seen by two cameras: flags, bars, a paper's tables, tasks without a truth, infinite values."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from report.folders import ToySuite, write_folder
from report.toybench import scene
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.core.video import Clip, Writer
from worldgauge.engine.store import write_record, write_scores
from worldgauge.engine.suite.contract import Better, Cell, Failure, Record, Score, Table, TableRow, Task, TaskView
from worldgauge.engine.suite.scores import make_cell, sort_rows

FPS = 24.0
ERROR = {
    # model: mean squared error of what it draws
    "oracle": 0.012,
    "walker": 0.055,
    "dreamer": 0.09,
    "leaky-walker-7b": 0.07,
    "truth": 0.0,
    "late": 0.004,
    "freeze": 0.06,
    "noise": 0.19,
    "mean": 0.11,
    "memory": 0.03,
    "drift": 0.05,
}
FLAGS = {"freeze": "does not move", "oracle": "pose-conditioned"}
SEES = {"truth": ["truth"], "late": ["truth"], "drift": ["world"]}
PERSPECTIVES = ("first", "third")
KEYS = tuple(
    f"{move}{look}" for move in ("forward", "back", "left") for look in ("", "+look_left", "+look_up", "+right")
)
PAPER: dict[str, Better] = {
    "memory error": "lower",
    "consistency error": "lower",
    "generalisation error": "lower",
    "aesthetic quality": "higher",
    "image quality": "higher",
    "translation error (m)": "lower",
    "rotation error (deg)": "lower",
}


class ToyPaths(ToySuite):
    """Paths that are made up."""

    name = "toypaths"
    baselines = ("truth", "late", "freeze", "noise", "mean", "memory", "drift")
    floor_baselines = ("freeze", "noise", "mean")
    claim = "redraws what it has seen"
    vocabulary: ClassVar[Mapping[str, str]] = {"task": "clip", "tasks": "clips", "lacks": "cannot remember"}

    def __init__(self, each: int = 2, frames: int = 48) -> None:
        self.each, self.frames = each, frames

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"each": self.each, "frames": self.frames}

    def length(self, number: int) -> int:
        """Frames that are asked for: no two recordings are of one length."""
        return self.frames + number * self.frames // 4

    def tasks(self, source: Path) -> Iterator[Task]:
        for perspective in PERSPECTIVES:
            for number in range(self.each):
                sample = {"number": number, "source": str(source)}
                group = {"test": "memory", "perspective": perspective, "family": ("urban", "ancient")[number % 2]}
                yield Task(self.name, f"{perspective}/memory/{number}", sample, f"f{number}", group)
                group = {"test": "mirror", "perspective": perspective, "family": "urban", "path": "wl"}
                yield Task(self.name, f"{perspective}/mirror/{number}", sample, f"f{number}", group)

    def summarize(
        self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
    ) -> list[Table]:
        def cells(own: Sequence[Score], metric: str) -> tuple[Cell, ...]:
            mine = [s for s in own if s.metric == metric]
            parts = [[s.value for s in mine if s.group["perspective"] == p] for p in PERSPECTIVES]
            return tuple(make_cell(values, (0.0, math.inf)) for values in (*parts, [s.value for s in mine]))

        def row(model: str, found: Sequence[Cell], flag: str = "") -> TableRow:
            return TableRow(model, tuple(found), kinds[model], flag)  # type: ignore[arg-type]

        tables = []
        for metric, title, better in (
            ("mse", "Memory error", "lower"),
            ("psnr", "PSNR", "higher"),
            ("consistency", "Scene consistency", "lower"),
        ):
            rows = [row(who, cells(own, metric), FLAGS.get(who, "")) for who, own in scores.items()]
            unit = "dB" if metric == "psnr" else "1"
            columns = (*PERSPECTIVES, "both")
            tables.append(Table(metric, title, unit, better, columns, tuple(sort_rows(rows, better))))  # type: ignore[arg-type]
        tables.append(
            Table(
                "turn_deg",
                "Error of a step by its keys",
                "deg",
                "lower",
                KEYS,
                tuple(row(who, [_by_keys(who, k) for k in range(len(KEYS))], FLAGS.get(who, "")) for who in scores),
                bars=True,
            )
        )
        for perspective in PERSPECTIVES:
            found = [row(who, _paper(perspective, ERROR[who] + 0.02), FLAGS.get(who, "")) for who in scores]
            tables.append(_paper_table(perspective, tuple(found)))
        return tables

    def published(self) -> list[Table]:
        found = [("Small World", 0.1), ("Small World with context memory", 0.09)]
        return [
            _paper_table(p, tuple(TableRow(name, _paper(p, error, 50), "published") for name, error in found))
            for p in PERSPECTIVES
        ]

    def task_view(self, task: Task) -> TaskView:
        number, length = task.sample["number"], self.length(task.sample["number"])
        turn = np.linspace(0, 2 * np.pi, 2 * length, endpoint=False)
        poses = pose_from_yaw_pitch(
            np.stack([4 * np.cos(turn), 4 * np.sin(turn), np.full_like(turn, 1.6)], 1), turn + np.pi / 2
        )
        if task.group["test"] == "memory":
            return TaskView(Clip.from_array(scene(task.id, length), FPS), poses, length)
        if number % 2:
            raise DataError("the <start image> of this path cannot be read")
        return TaskView(Clip.from_array(scene(task.id, 1), FPS), poses[:1], 1)


def _paper_table(perspective: str, rows: tuple[TableRow, ...]) -> Table:
    title = f"Paper's columns, {perspective} person"
    return Table("paper", title, "1", "neither", tuple(PAPER), rows, betters=tuple(PAPER.values()))


def _paper(perspective: str, error: float, n: int = 2) -> tuple[Cell, ...]:
    error = round(error * (1.1 if perspective == "third" else 1.0), 4)
    means = (error, error / 3, error * 1.2, 0.6 - error, 0.7 - error, error / 4, 5 * error)
    return tuple(Cell(round(mean, 4), None, n) for mean in means)


def _by_keys(model: str, place: int) -> Cell:
    if model == "mean" and place == 3:
        return Cell(None, None, 0, expected=4)
    mean = (1 + place % 4) * (ERROR[model] + 0.01) * 4
    reach = 9 * mean if (model, place) == ("dreamer", 2) else 0.2 * mean
    return Cell(mean, 0.1, 4, max(mean - reach, 0.0), mean + reach, 4)


def write_paths(folder: Path, model: str, *, each: int = 2, frames: int = 48, size: tuple[int, int] = (96, 54)) -> Path:
    """One run folder of `model`; its films are shorter or longer than the truth, and of other rates, by its name."""
    suite = ToyPaths(each, frames)
    rng = np.random.default_rng([*map(ord, model)])
    share = {"dreamer": 0.5, "leaky-walker-7b": 1.5}.get(model, 1.0)
    fps = 12.0 if model == "walker" else FPS

    def answer(place: Path, task: Task) -> None:
        length = suite.length(task.sample["number"]) if task.group["test"] == "memory" else suite.frames
        with Writer(place / "rollout.mp4", fps=fps, kind="lossless") as out:
            drawn = scene(task.id, round(length * share * fps / FPS), size)
            out.write(drawn if model == "truth" else np.roll(drawn, 31, axis=2))
        write_record(Record(task, model, place, {}, "rollout.mp4"), place)
        write_scores(list(_scores(task, model, length, rng)), model, place)

    return write_folder(folder, suite, model, answer, inputs=SEES.get(model, []))


def _scores(task: Task, model: str, length: int, rng: np.random.Generator) -> Iterator[Score]:
    if task.group["test"] == "mirror":
        value = 0.0 if model == "freeze" else ERROR[model] / 3
        series = tuple((k, value) for k in range(24))
        yield Score(task.id, "consistency", value, better="lower", n=24, series=series, group=task.group)
        return
    errors = ERROR[model] * (0.6 + 0.8 * np.linspace(0, 1, length)) * rng.uniform(0.8, 1.2, length)
    if model == "late":
        errors[:3] = 0.0
    with np.errstate(divide="ignore"):
        decibels = -10 * np.log10(errors)
    for metric, values, unit, better in (("mse", errors, "1", "lower"), ("psnr", decibels, "dB", "higher")):
        series = tuple((k, float(v)) for k, v in enumerate(values))
        mean = float(values.mean())
        yield Score(task.id, metric, mean, unit, better, n=length, series=series, group=task.group)  # type: ignore[arg-type]
