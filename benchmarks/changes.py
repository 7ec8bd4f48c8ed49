"""Measure how the headlines react to harmless changes of the ground truth, and to real ones.

`python -m benchmarks.changes [--suite NAME ...] [--out FOLDER] [--json FILE] [--page]` prints a table per suite: value,
95 % interval, n. It counts the violations: pairs in which a harmless change is not better than a real one. FOLDER keeps
data and videos, so an interrupted study resumes. `--page` writes the tables and pictures of the pages on metric
sensitivity from stored values. The tasks of worldinworld take hours each. ST-LPIPS is measured if its weights are here:
`worldgauge weights pull stlpips`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import foresight
from benchmarks._harmless import HARMLESS
from benchmarks._real import REAL, SHOWN_ONLY
from worldgauge.core.intervals import Interval, mean_interval, rate_interval
from worldgauge.engine.collect import collect
from worldgauge.engine.model_entries import run_label
from worldgauge.engine.run import run as run_suite
from worldgauge.suites.worldinworld.task import LoopSettings
from worldgauge.weights import standing

TRUTH, NONE = "ground truth", "none"
CHANGES = (*HARMLESS, *REAL, *SHOWN_ONLY)
NO_PATH = "overall, no path = 0"
LOWER = ("MSE", "ST-LPIPS")
"""Metrics of which less is better."""
STORED = Path(__file__).with_suffix(".json")
SEED = 4101
"""Of all collections. No rule of worldgauge was chosen on its episodes."""
SIZE = (256, 144)


@dataclass(frozen=True)
class Study:
    """What is measured in a suite.

    Attributes:
        options: Of its collection.
        metrics: Name in the table -> metric; the headline first.
        settings: Of the suite.
        frames: Whether frames are compared, so that ST-LPIPS can be measured.
    """

    options: Mapping[str, Any]
    metrics: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    frames: bool = True


STUDIES = {
    "loopnav": Study(
        {"settlements": 8, "types": ("ABA",), "ranges": (5,), "per_combination": 1, "size": SIZE},
        {"SGCS above chance": "sgcs_chance_corrected", "SGCS": "sgcs", "SSIM": "ssim_table", "MSE": "mse"},
    ),
    "mind": Study(
        {"mem": 16, "perspectives": ("1st",), "train": 0, "action_space": 0, "mirror": 0, "frames": 108, "size": SIZE},
        {"MSE": "lcm/mse_720p", "SSIM": "lcm/ssim_720p", "detail": "lcm/detail"},
        settings={"tests": "mem", "poses": "exact"},
    ),
    "targetbench": Study(
        {"scenes": 6, "per_scene": 1, "size": (320, 180), "fps": 12},
        {"overall": "path/overall", NO_PATH: "path/overall"},
        frames=False,
    ),
}
EPISODES = 100
NOT_APPLIED = {
    # The path stays the same without objects; of one context frame, the mean is the frozen one.
    "targetbench": ("no objects", "mean frame"),
    # A mirrored object is still that object, and a late view differs by a step or two.
    "worldinworld/recognition": ("mirrored", "1 s late"),
    "worldinworld/navigation": ("1 s late",),
    "worldinworld/questions": ("1 s late",),
    # The camera stands still, and no other views of the table can be rendered.
    "worldinworld/manipulation": ("1 s late", "no objects", "turned 30°", "2 m aside"),
}
"""Real changes that are not applied."""
TASKS = tuple(suite for suite in NOT_APPLIED if suite.startswith("worldinworld/"))
SUITES = (*STUDIES, *TASKS)
HEADLINES = {"loopnav": "SGCS above chance", "mind": "MSE", "targetbench": "overall", **dict.fromkeys(TASKS, "success")}


@dataclass(frozen=True)
class Values:
    """What was measured in a suite.

    Attributes:
        clusters: Cluster of each task.
        values: Metric -> change -> value of each task.
    """

    clusters: Sequence[str]
    values: Mapping[str, Mapping[str, Sequence[float | None]]]


@dataclass(frozen=True)
class Summary:
    """How a metric reacts.

    Attributes:
        means: Mean of each change.
        moved: How far each harmless change moves the mean of the ground truth.
        wrong: Pairs of a harmless and a real change, the harmless one not better.
        pairs: Number of pairs.
        wrong_share: Share of pairs in the wrong order when single tasks are compared instead of means.
    """

    means: Mapping[str, float]
    moved: Mapping[str, float]
    wrong: Sequence[tuple[str, str]]
    pairs: int
    wrong_share: float


def changes_of(suite: str) -> list[str]:
    """Changes that are applied in a suite; those that are not counted only where frames are compared."""
    frames = suite in STUDIES and STUDIES[suite].frames
    left_out = (*NOT_APPLIED.get(suite, ()), *(() if frames else SHOWN_ONLY))
    return [change for change in CHANGES if change not in left_out]


def models_of(changes: Iterable[str], view: str = "") -> dict[str, str]:
    """The model that makes each change; the ground truth first."""
    setting = f"&view={view}" if view else ""
    models = {TRUTH: f"truth?view={view}" if view else "truth"}
    for change in changes:
        name = "_harmless:Changed" if change in HARMLESS else "_real:Wrong"
        models[change] = f"benchmarks.{name}?change={change}{setting}"
    return models


def measure(suite: str, folder: Path, workers: int = 1) -> Values:
    """Values of a suite's metrics, as `worldgauge run` computes them."""
    study = STUDIES[suite]
    data = folder / suite / "data"
    collect(suite, data, workers=workers, seed=SEED, **study.options)
    models = models_of(changes_of(suite))
    metrics, settings = dict(study.metrics), dict(study.settings)
    if study.frames and standing("stlpips-alex").state == "here":
        metrics["ST-LPIPS"] = "stlpips_tenth"
        settings["metrics"] = ["benchmarks._stlpips:stlpips_tenth"]
    labels = {model: run_label(change) for change, model in models.items()}
    result = run_suite(
        suite,
        model=list(models.values()),
        data=data,
        out=folder / suite / "runs",
        workers=workers,
        settings=settings,
        labels=labels,
    )
    scores = {change: result.scores[labels[model]] for change, model in models.items()}
    clusters = {score.task: score.cluster or score.task for own in scores.values() for score in own}
    values: dict[str, dict[str, list[float | None]]] = {}
    for name, metric in metrics.items():
        values[name] = {}
        for change, own in scores.items():
            known = {score.task: score.value for score in own if score.metric == metric}
            missing = 0.0 if name == NO_PATH else None
            values[name][change] = [missing if known.get(task) is None else known[task] for task in clusters]
    return Values(list(clusters.values()), values)


def act(suite: str, folder: Path, episodes: int, workers: int = 1) -> Values:
    """Success in a task of closedloop: without a world model, with the oracle, and with each changed oracle."""
    task = suite.partition("/")[2]
    data, out = folder / suite / "data", folder / suite / "ends.jsonl"
    counts = {name.partition("/")[2]: episodes if name == suite else 0 for name in TASKS}
    collect("worldinworld", data, workers=workers, seed=SEED, scenes=max(4, episodes // 4), size=SIZE, **counts)
    view = "panorama" if task == "questions" else "perspective"
    models = {NONE: "none", **models_of(changes_of(suite), view)}
    foresight.act_out(data, LoopSettings.of({"task": task}), list(models.values()), 1, out)
    ends = foresight.ends(out)
    clusters = {name: line["cluster"] for (name, _), line in ends.items()}
    success = {change: [ends[name, model]["success"] for name in clusters] for change, model in models.items()}
    return Values(list(clusters.values()), {"success": success})


def mean(values: Iterable[float | None]) -> float:
    """Mean of the values that are not missing; NaN if all are."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else np.nan


def interval(metric: str, values: Sequence[float | None], clusters: Sequence[str]) -> Interval | None:
    """95 % interval of a mean, or of a rate of success."""
    return rate_interval(map(bool, values), clusters) if metric == "success" else mean_interval(values, clusters)


def summarise(metric: str, values: Mapping[str, Sequence[float | None]]) -> Summary:
    """Compare the means of all harmless changes with those of all real ones; a missing mean is the worst.

    Args:
        metric: Its name, which decides whether less is better.
        values: Change -> value of each task.
    """
    means = {change: mean(own) for change, own in values.items()}
    harmless = [change for change in means if change in HARMLESS]
    real = [change for change in means if change in REAL]
    sign = -1 if metric in LOWER else 1
    rank = {change: -np.inf if np.isnan(value) else sign * value for change, value in means.items()}
    pairs = [(one, other) for one in harmless for other in real]
    wrong = [(one, other) for one, other in pairs if rank[one] <= rank[other]]
    tasks = {change: [-np.inf if value is None else sign * value for value in own] for change, own in values.items()}
    single = [a <= b for one, other in pairs for a, b in zip(tasks[one], tasks[other], strict=True)]
    moved = {change: means[change] - means[TRUTH] for change in harmless}
    return Summary(means, moved, wrong, len(pairs), float(np.mean(single)) if single else 0.0)


def summaries(found: Mapping[str, Values]) -> dict[tuple[str, str], Summary]:
    """The summary of each suite and metric."""
    return {
        (suite, metric): summarise(metric, values)
        for suite, measured in found.items()
        for metric, values in measured.values.items()
    }


def table(measured: Values) -> str:
    """Means with 95 % intervals, by change, as a Markdown table; with `none`, also the share of the gain over it."""
    names = list(measured.values)
    base = {name: mean(own[NONE]) for name, own in measured.values.items() if NONE in own}
    head = ["", "change", *names, *(["share of the gain"] if base else [])]
    lines = [head, ["---"] * len(head)]
    for change in next(iter(measured.values.values())):
        lines.append([kind_of(change), change, *(_cell(name, measured, change) for name in names)])
        for name, none in base.items():
            own = measured.values[name]
            gain = mean(own[TRUTH]) - none
            lines[-1].append(f"{100 * (mean(own[change]) - none) / gain:.0f} %" if gain else "no gain")
    return markdown(lines)


def kind_of(change: str) -> str:
    """Kind of a change; empty for what is not changed."""
    kinds = {"harmless": HARMLESS, "real": REAL, "not counted": SHOWN_ONLY}
    return next((kind for kind, changes in kinds.items() if change in changes), "")


def markdown(lines: Iterable[Iterable[str]]) -> str:
    """Rows of a table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


def _cell(metric: str, measured: Values, change: str) -> str:
    values = measured.values[metric][change]
    missing = sum(value is None for value in values)
    if missing == len(values):
        return "no value"
    bounds = interval(metric, values, measured.clusters)
    text = shown(mean(values))
    if bounds is not None:
        low, high = bounds
        low = max(0.0, low) if metric in (*LOWER, "overall", NO_PATH) else low
        text += f" [{shown(low)}, {shown(high if metric in LOWER else min(1.0, high))}]"
    return text + (f", n = {len(values) - missing}" if missing else "")


def shown(value: float) -> str:
    """A value with three digits after the point; more of small ones, fewer of large ones."""
    size = abs(value)
    if size < 5e-7:
        return "0.000"
    digits = 0 if size >= 100 else 1 if size >= 10 else 3 if size >= 0.01 else 4 if size >= 0.001 else 6
    return f"{value:.{digits}f}"


def load(path: Path = STORED) -> dict[str, Values]:
    """Stored values by suite."""
    stored = json.loads(path.read_text()) if path.exists() else {}
    return {suite: Values(**stored[suite]) for suite in SUITES if suite in stored}


def store(found: Mapping[str, Values], path: Path) -> None:
    """Write values with four digits, a line per change."""
    suites = []
    for suite, measured in found.items():
        metrics = []
        for metric, values in measured.values.items():
            rows = (f"{json.dumps(change, ensure_ascii=False)}: {_rounded(own)}" for change, own in values.items())
            metrics.append(f"{json.dumps(metric)}: {{\n" + ",\n".join(rows) + "}")
        clusters = json.dumps(list(measured.clusters))
        suites.append(f'{json.dumps(suite)}: {{"clusters": {clusters}, "values": {{\n' + ",\n".join(metrics) + "}}")
    path.write_text("{" + ",\n".join(suites) + "}\n", encoding="utf-8")


def _rounded(values: Iterable[float | None]) -> str:
    return json.dumps([None if value is None else float(f"{value:.4g}") for value in values])


def run() -> dict[str, Any]:
    """Count the violations of the headlines of the suites of videos."""
    with tempfile.TemporaryDirectory() as folder:
        found = summaries({suite: measure(suite, Path(folder)) for suite in STUDIES})
    ours = sum(len(summary.wrong) for (suite, metric), summary in found.items() if HEADLINES[suite] == metric)
    return {
        "name": "changes",
        "unit": "pairs of a harmless and a real change in the wrong order",
        "ours": ours,
        "reference": sum(len(summary.wrong) for (_, metric), summary in found.items() if metric == "SSIM"),
        "reference_name": "SSIM on the videos of LoopNav and MIND",
        "ratio": None,
        "goal": 0,
        "met": not ours,
    }


def main() -> int:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.changes", description=__doc__.split("\n")[0])
    parser.add_argument("--suite", action="append", choices=SUITES, help="repeat for several; default: those of videos")
    parser.add_argument("--out", type=Path, help="folder of data and videos, new or to be resumed")
    parser.add_argument("--json", type=Path, help="file of all values; suites that it has already are replaced")
    parser.add_argument("--episodes", type=int, default=EPISODES, help="number per task of worldinworld")
    parser.add_argument("--workers", type=int, default=1, help="number of processes")
    parser.add_argument(
        "--page", action="store_true", help="write the pages on metric sensitivity from stored values, measure nothing"
    )
    options = parser.parse_args()
    if options.page:
        from benchmarks import _changes_page

        _changes_page.write(load(), options.out)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.out or Path(temporary)
        for suite in options.suite or STUDIES:
            if suite in STUDIES:
                measured = measure(suite, folder, options.workers)
            else:
                measured = act(suite, folder, options.episodes, options.workers)
            print(f"{suite}, n = {len(measured.clusters)}\n\n{table(measured)}\n")
            if options.json is not None:
                store({**load(options.json), suite: measured}, options.json)
            for (_, metric), summary in summaries({suite: measured}).items():
                print(f"{metric}: {len(summary.wrong)} violations of {summary.pairs} pairs", *summary.wrong, sep="\n  ")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
