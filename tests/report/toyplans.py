"""A small suite whose answers are paths to a target: tables of several metrics, exhibits, films of any length."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from report.folders import ToySuite, write_folder
from report.toybench import scene
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.core.video import Clip, Writer
from worldgauge.engine.store import write_record, write_scores
from worldgauge.engine.suite.contract import (
    Better,
    Cell,
    Failure,
    Record,
    Score,
    Table,
    TableRow,
    Task,
    TaskDetails,
    TaskView,
)

HISTORY, FRAMES, FPS = 10, 40, 10.0
SAYS: dict[str, tuple[float, str, int, float]] = {
    # model: (how much of the way it turns the right way, status, frames, fps)
    "planner": (0.9, "ok", 40, 10.0),
    "strayer": (-6.0, "partial", 20, 10.0),
    "sleeper": (0.0, "stationary", 40, 10.0),
    "vague": (0.5, "no_scale", 60, 10.0),
    "truth": (1.0, "ok", 40, 10.0),
    "still": (0.0, "stationary", 25, 5.0),
    "straight": (0.6, "ok", 30, 6.0),
}
METRICS: dict[str, tuple[str, str, Better]] = {
    "path/fde": ("FDE (m)", "m", "lower"),
    "path/ade": ("ADE (m)", "m", "lower"),
    "path/overall": ("overall", "1", "higher"),
}


def true_path(number: int) -> np.ndarray:
    """(HISTORY + FRAMES, 2) metres: straight on, then a bend to one side."""
    ahead = np.linspace(-1.0, 4.0, HISTORY + FRAMES)
    aside = np.where(ahead > 0, 0.11 * ahead**2, 0.0) * (1 if number % 2 else -1)
    return np.stack([aside, ahead], 1)


def planned(model: str, number: int) -> np.ndarray | None:
    """(9, 2) metres; None of who has no scale."""
    share, status, _, _ = SAYS[model]
    if status == "no_scale":
        return None
    way = true_path(number)[HISTORY:][:: FRAMES // 8][:9]
    if status == "stationary":
        return np.zeros((9, 2))
    return np.stack([way[:, 0] * share, way[:, 1] * (1 if share > 0 else 3.0)], 1)


class ToyPlans(ToySuite):
    """Ways to a target that are made up."""

    name = "toyplans"
    baselines = ("truth", "still", "straight")
    vocabulary: ClassVar[Mapping[str, str]] = {
        "task": "scenario",
        "tasks": "scenarios",
        "headline": "overall score",
        "seen": "history",
        "asked": "true path",
    }

    def __init__(self, each: int = 2) -> None:
        self.each = each

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"each": self.each}

    def tasks(self, source: Path) -> Iterator[Task]:
        for number in range(self.each):
            group = {"label": ("explicit", "implicit")[number % 2], "category": "chair", "location": f"room {number}"}
            yield Task("toyplans", f"room_{number}_segment_050_300", {"number": number}, f"f{number}", group)

    def summarize(
        self, scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str], failed: Mapping[str, Sequence[Failure]]
    ) -> list[Table]:
        rows, counts = [], []
        for model, own in scores.items():
            values = [[s.value for s in own if s.metric == metric and s.value is not None] for metric in METRICS]
            rows.append(TableRow(model, tuple(_cell(each, self.each) for each in values), kinds[model]))  # type: ignore[arg-type]
            ended = [s.facts["status"] for s in own if s.metric == "path/overall"] + ["failed"] * len(failed[model])
            cells = tuple(Cell(float(ended.count(status)), None, self.each) for status in STATUSES)
            counts.append(TableRow(model, cells, kinds[model]))  # type: ignore[arg-type]
        rows.append(TableRow("true path itself", (Cell(0.0, 0.0, 2), Cell(0.0, 0.0, 2), Cell(0.9, 0.0, 2)), "baseline"))
        return [
            Table(
                "path/overall",
                "Table 1, profile released, decoder toy",
                "1",
                "neither",
                tuple(name for name, _, _ in METRICS.values()),
                tuple(rows),
                ("Weights add up to 0.90.",),
                tuple(better for _, _, better in METRICS.values()),
            ),
            Table(
                "path/overall",
                "By profile",
                "1",
                "higher",
                ("all",),
                tuple(TableRow(r.label, r.cells[2:], r.kind) for r in rows),
            ),
            Table("path/status", "What became of the decoded paths", "tasks", "neither", STATUSES, tuple(counts)),
        ]

    def published(self) -> list[Table]:
        columns = tuple(name for name, _, _ in METRICS.values())
        betters = tuple(better for _, _, better in METRICS.values())

        def table(title: str, *numbers: float) -> Table:
            row = TableRow("Sora 2", tuple(Cell(n, None, 125) for n in numbers), "published")
            return Table("path/overall", title, "1", "neither", columns, (row,), ("From the paper.",), betters)

        return [table("Table 1 as published", 1.912, 1.289, 0.178), table("Table 2, explicit", 1.979, 1.381, 0.177)]

    def task_view(self, task: Task) -> TaskView:
        way = true_path(task.sample["number"])
        yaw = np.arctan2(*np.gradient(way, axis=0).T[::-1])
        poses = pose_from_yaw_pitch(np.column_stack([way, np.full(len(way), 0.45)]), yaw)
        truth = Clip.from_array(scene(task.id, FRAMES), FPS)
        x, y = way[-1]
        return TaskView(truth, poses, HISTORY, marks={"start": (0.0, 0.0), "chair": (float(x) + 0.2, float(y) + 0.3)})

    def task_details(self, task: Task, scores: Mapping[str, Sequence[Score]]) -> TaskDetails:
        number = task.sample["number"]
        way = true_path(number)[HISTORY:]
        paths = {"truth path": way, "do nothing": np.zeros((9, 2)), "straight line": way * [0, 1]}
        paths |= {label: path for label in scores if (path := planned(label, number)) is not None}
        middle = np.linspace(0, 1, 20)
        radius = 0.2 + 0.5 * np.exp(-((middle - 0.5) ** 2) / 0.125)
        corridor = np.column_stack([way[np.linspace(0, FRAMES - 1, 20).astype(int)], radius])
        stills = {label: np.linspace(0, SAYS[label][2] - 1, 9).astype(int).tolist() for label in scores}
        diagnostics = {
            label: {
                "status": SAYS[label][1],
                "reason": "" if SAYS[label][1] == "ok" else "the <anchor> was not placed",
                "registered": "17 of 17",
                "points_per_frame": 41.3,
                "reprojection_px": 0.83,
                "scale": None if paths.get(label) is None else 1.034,
                "stretched": False,
            }
            for label in scores
        }
        return TaskDetails(paths, corridor, stills, diagnostics, f"Walk to the <chair> of room {number}.")


STATUSES = ("ok", "stationary", "partial", "no_scale", "failed")


def write_plans(
    folder: Path, model: str, *, each: int = 2, size: tuple[int, int] = (96, 54), fail: bool = False
) -> Path:
    """One run folder of `model`; with `fail` its last task failed."""
    suite = ToyPlans(each)
    _, status, frames, fps = SAYS[model]

    def answer(place: Path, task: Task) -> None:
        with Writer(place / "rollout.mp4", fps=fps, kind="lossless") as out:
            out.write(np.roll(scene(task.id, frames, size), 0 if model == "truth" else 31, axis=2))
        write_record(Record(task, model, place, {}, "rollout.mp4"), place)
        write_scores(_scores(task, model, status), model, place)

    last = list(suite.tasks(folder))[-1].id
    ends = {last: "failed"} if fail else {}
    inputs = ["truth"] if model == "truth" else []
    return write_folder(folder, suite, model, answer, inputs=inputs, ends=ends, error="it broke")


def _scores(task: Task, model: str, status: str) -> list[Score]:
    number = task.sample["number"]
    path = planned(model, number)
    if path is None:
        reason = "no scale"
        scores = [
            Score(task.id, metric, None, unit, better, reason=reason, group=task.group)
            for metric, (_, unit, better) in METRICS.items()
        ]
        return [*scores[:2], Score(task.id, "path/overall", 0.0, group=task.group, facts={"status": status})]
    way = true_path(number)[HISTORY:]
    at = np.linspace(0, 1, FRAMES)
    even = np.column_stack([np.interp(at, np.linspace(0, 1, len(path)), path[:, k]) for k in (0, 1)])
    errors = np.linalg.norm(even - way, axis=1)
    series = tuple((k, float(e)) for k, e in enumerate(errors))
    fde, ade = float(errors[-1]), float(errors.mean())
    overall = 0.9 * math.exp(-(fde**2))
    return [
        Score(task.id, "path/fde", fde, "m", "lower", group=task.group),
        Score(task.id, "path/ade", ade, "m", "lower", n=FRAMES, series=series, group=task.group),
        Score(task.id, "path/overall", overall, group=task.group, facts={"status": status}),
    ]


def _cell(values: Sequence[float], expected: int) -> Cell:
    if not values:
        return Cell(None, None, 0, expected=expected)
    mean, std = float(np.mean(values)), float(np.std(values))
    return Cell(mean, std, len(values), mean - std, mean + std, expected)
