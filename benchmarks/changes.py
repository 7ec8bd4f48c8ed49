"""How do the headlines react to harmless changes of the ground truth, and to real ones?

`python -m benchmarks.changes [--suite NAME] [--out FOLDER] [--json FILE]` makes its data, prints a table per suite, and
counts the violations: pairs in which a harmless change is not better than a real one. `--suite` may be repeated;
`closedloop` takes hours, the others an hour of two cores. FOLDER keeps data and answers, so that a stopped study goes
on. ST-LPIPS is measured where `torch` and `stlpips_pytorch` are installed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import foresight
from benchmarks._harmless import HARMLESS
from benchmarks._real import REAL, SMALL
from worldgauge.engine.collection.kernel import collect
from worldgauge.engine.run import run as run_suite
from worldgauge.engine.subjects import run_label
from worldgauge.suites.closedloop.settings import Settings

TRUTH = "ground truth"
HEADLINES = (("loopnav", "SGCS above chance"), ("mind", "MSE"), ("target", "overall"))
LOWER = ("MSE", "ST-LPIPS")
"""Headlines of which less is better."""
STORED = Path(__file__).parent / "results" / "changes.json"
WORKERS = 2
Values = dict[str, dict[str, float | None]]
"""Change -> task -> value."""


@dataclass(frozen=True)
class Study:
    """What is measured in a suite.

    Attributes:
        options: Of its collection.
        headlines: Name in the table -> metric.
        apart: Real changes that its question does not include; they are shown and not counted.
        settings: Of the suite.
        perceptual: Whether ST-LPIPS is measured, too.
    """

    options: Mapping[str, Any]
    headlines: Mapping[str, str]
    apart: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    perceptual: bool = False


STUDIES = {
    "loopnav": Study(
        {"settlements": 8, "types": ("ABA",), "ranges": (5,), "per_combination": 1, "size": (256, 144)},
        {"SGCS above chance": "sgcs_chance_corrected", "SGCS": "sgcs", "SSIM": "ssim_table", "MSE": "mse"},
        perceptual=True,
    ),
    "mind": Study(
        {"mem": 8, "perspectives": ("1st",), "train": 0, "action_space": 0, "mirror": 0}
        | {"frames": 108, "size": (256, 144)},
        {"MSE": "lcm/mse_720p", "SSIM": "lcm/ssim_720p", "detail": "lcm/detail"},
        settings={"tests": "mem"},
        perceptual=True,
    ),
    "target": Study(
        {"scenes": 12, "per_scene": 1, "size": (320, 180), "fps": 12},
        {"overall": "path/overall"},
        # The path is the same.
        apart=("no objects",),
    ),
}
EPISODES = 100
TABLE_SIZE = (256, 144)
TASKS = ("recognition", "navigation", "questions", "manipulation")
APART = {
    # A mirrored thing is still that thing, and a late view differs by a step or two.
    "recognition": ("mirrored", "1 s late"),
    "navigation": ("1 s late",),
    "questions": ("1 s late",),
    # The camera stands still and worlds of the table cannot be rendered from elsewhere.
    "manipulation": ("1 s late", "another world", "no objects", "turned 30°", "2 m aside"),
}
"""Real changes that are not applied in a task of closedloop."""


def models_of(changes: Iterable[str], view: str = "") -> dict[str, str]:
    """The model that makes a change, by its name; the ground truth first."""
    seen = f"&view={view}" if view else ""
    named = {
        change: f"benchmarks.{'_harmless:Changed' if change in HARMLESS else '_real:Wrong'}?change={change}{seen}"
        for change in changes
    }
    return {TRUTH: f"truth?view={view}" if view else "truth", **named}


def measure(suite: str, study: Study, folder: Path, changes: Sequence[str]) -> dict[str, Values]:
    """Values of every headline of a suite, as `worldgauge run` computes them."""
    data = folder / suite / "data"
    collect(suite, data, workers=WORKERS, **study.options)
    models = models_of(changes)
    headlines = dict(study.headlines)
    settings = dict(study.settings)
    if study.perceptual and find_spec("stlpips_pytorch") and find_spec("torch"):
        headlines["ST-LPIPS"] = "stlpips"
        settings["metrics"] = ["benchmarks._stlpips:stlpips"]
    labels = {text: run_label(change) for change, text in models.items()}
    result = run_suite(
        suite,
        model=list(models.values()),
        data=data,
        out=folder / suite / "runs",
        workers=WORKERS,
        settings=settings,
        labels=labels,
    )
    tasks = {score.task: None for scores in result.scores.values() for score in scores}
    found: dict[str, Values] = {}
    for headline, metric in headlines.items():
        found[headline] = {change: dict.fromkeys(tasks) for change in models}
        for change, text in models.items():
            own = {score.task: score.value for score in result.scores[labels[text]] if score.metric == metric}
            found[headline][change].update(own)
    return found


def act(task: str, folder: Path, changes: Sequence[str], episodes: int) -> Values:
    """Success in a task of closedloop by model: `none`, the oracle, and the oracle with every change."""
    data = folder / "closedloop" / task / "data"
    sizes = {each: episodes if each == task else 0 for each in TASKS}
    collect("closedloop", data, workers=WORKERS, scenes=max(4, episodes // 4), size=TABLE_SIZE, **sizes)
    out = folder / "closedloop" / task / "ends.jsonl"
    fits = [change for change in changes if change not in APART[task] and change not in SMALL]
    models = {"none": "none", **models_of(fits, "panorama" if task == "questions" else "perspective")}
    foresight.act_out(data, Settings.of({"task": task}), list(models.values()), 1, out)
    ends = foresight.ends(out)
    return {
        change: {name: line["success"] for (name, model), line in ends.items() if model == text}
        for change, text in models.items()
    }


def mean(values: Mapping[str, float | None]) -> float | None:
    """Mean of the values that are there."""
    there = [value for value in values.values() if value is not None]
    return float(np.mean(there)) if there else None


def summary(headline: str, values: Values, apart: Sequence[str] = ()) -> dict[str, Any]:
    """Means, how far harmless changes move the headline, and the pairs in the wrong order.

    Args:
        headline: Its name.
        values: Its values.
        apart: Real changes that are not counted.
    """
    means = {change: mean(own) for change, own in values.items()}
    true = means[TRUTH]
    moved = {change: means[change] - true for change in means if change in HARMLESS}  # type: ignore[operator]
    sign = -1 if headline in LOWER else 1
    wrong = [
        (harmless, real)
        for harmless in moved
        for real in means
        if real in REAL and real not in apart and means[real] is not None
        if sign * means[harmless] <= sign * means[real]  # type: ignore[operator]
    ]
    counted = sum(real in REAL and real not in apart for real in means)
    return {
        "means": means,
        "moved": moved,
        "wrong": wrong,
        "pairs": len(moved) * counted,
        "tasks": len(values[TRUTH]),
    }


def study(suites: Sequence[str], folder: Path, episodes: int = EPISODES) -> dict[str, Any]:
    """Values of all headlines: suite -> headline -> change -> task."""
    changes = [*HARMLESS, *REAL, *SMALL]
    found: dict[str, Any] = {}
    for suite in suites:
        if suite == "closedloop":
            found[suite] = {task: act(task, folder, changes, episodes) for task in TASKS}
        else:
            found[suite] = measure(suite, STUDIES[suite], folder, changes)
    return found


def apart_of(suite: str, headline: str) -> Sequence[str]:
    """Real changes that a headline does not count."""
    return APART[headline] if suite == "closedloop" else STUDIES[suite].apart


def table(suite: str, found: Mapping[str, Values]) -> str:
    """A table of a suite in Markdown: means by change, and how far harmless ones move them."""
    told = {headline: summary(headline, values, apart_of(suite, headline)) for headline, values in found.items()}
    changes = list(dict.fromkeys(change for one in told.values() for change in one["means"]))
    lines = [["change", *told], ["---"] * (1 + len(told))]
    for change in changes:
        kind = {**dict.fromkeys(HARMLESS, "harmless: "), **dict.fromkeys(REAL, "real: ")}.get(change, "")
        cells = [_cell(change, one, found[headline], apart_of(suite, headline)) for headline, one in told.items()]
        lines.append([kind + change, *cells])
    lines.append(["largest movement", *(f"{max(map(abs, one['moved'].values())):.3f}" for one in told.values())])
    lines.append(["violations", *(f"{len(one['wrong'])} of {one['pairs']}" for one in told.values())])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(change: str, told: Mapping[str, Any], values: Values, apart: Sequence[str]) -> str:
    if change not in values:
        return ""
    value, known = told["means"][change], [one for one in values[change].values() if one is not None]
    text = "none" if value is None else f"{value:.3f}"
    text += f" ({told['moved'][change]:+.3f})" if change in told["moved"] else ""
    text += f", {len(known)} of {told['tasks']}" if 0 < len(known) < told["tasks"] else ""
    return f"_{text}_" if change in SMALL or change in apart else text


def violations(found: Mapping[str, Mapping[str, Values]]) -> list[tuple[str, str, str, str]]:
    """Suite, headline, harmless change, and the real change that is not worse."""
    return [
        (suite, headline, harmless, real)
        for suite, headlines in found.items()
        for headline, values in headlines.items()
        for harmless, real in summary(headline, values, apart_of(suite, headline))["wrong"]
    ]


def run() -> dict[str, Any]:
    """Violations of the headlines of suites of videos. Reference: those of SSIM of the same videos."""
    with tempfile.TemporaryDirectory() as folder:
        found = study(tuple(STUDIES), Path(folder))
    wrong = violations(found)
    ours = sum((suite, headline) in HEADLINES for suite, headline, *_ in wrong)
    reference = sum(headline == "SSIM" for _, headline, *_ in wrong)
    return {
        "name": "changes",
        "unit": "pairs of a harmless and a real change in the wrong order",
        "ours": ours,
        "reference": reference,
        "reference_name": "SSIM, of LoopNav's and MIND's videos",
        "ratio": None,
        "goal": 0,
        "met": not ours,
        "values": found,
    }


def main() -> int:
    """Print the tables of the named suites."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.changes", description=__doc__.split("\n")[0])
    parser.add_argument("--suite", action="append", choices=[*STUDIES, "closedloop"], help="repeat for several")
    parser.add_argument("--out", type=Path, help="folder of data and answers, new or to be continued")
    parser.add_argument("--json", type=Path, help="file of all values; suites that it holds already are replaced")
    parser.add_argument("--episodes", type=int, default=EPISODES, help="of each task of closedloop")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = study(asked.suite or tuple(STUDIES), asked.out or Path(folder), asked.episodes)
    for suite, headlines in found.items():
        print(f"{suite}\n\n{table(suite, headlines)}\n")
    if asked.json is not None:
        known = json.loads(asked.json.read_text()) if asked.json.exists() else {}
        asked.json.write_text(json.dumps(known | found, indent=1, ensure_ascii=False) + "\n")
    for wrong in violations(found):
        print(": ".join(wrong[:2]) + f": '{wrong[2]}' is not better than '{wrong[3]}'")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
