"""Whether kinds of worlds rank models alike: `python -m benchmarks.rankings ours=RUNS game=RUNS rooms=RUNS`.

RUNS holds a run folder per model. For each metric and pair of kinds: Kendall's tau-b of the models' means, over models
in both. Its interval is from 1,000 bootstraps of clusters, or of tasks where there are few clusters.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

METRICS = (
    *("sgcs_chance_corrected", "sgcs", "sgcs_macro", "loop_closure", "returned_detail", "returned_mse"),
    *("mse", "psnr", "ssim_table", "ssim_320x180", "detail"),
)
LEAST_CLUSTERS, LEAST_MODELS, DRAWS = 6, 5, 1000

Scores = dict[str, dict[str, dict[str, float]]]
"""Value by metric, model and task."""


def read(folder: Path) -> tuple[Scores, dict[str, str]]:
    """Scores of all models below a folder, and the cluster of each task."""
    scores: Scores = defaultdict(lambda: defaultdict(dict))
    clusters: dict[str, str] = {}
    for path in sorted(folder.rglob("scores.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            one = json.loads(line)
            if isinstance(one.get("value"), float | int) and ".decoy-" not in one["task"]:
                scores[one["metric"]][one["model"]][one["task"]] = one["value"]
                clusters[one["task"]] = one.get("cluster") or one["task"]
    return scores, clusters


class Kind:
    """The models of one kind of worlds, on the tasks that all of them have."""

    def __init__(self, values: dict[str, dict[str, float]], models: list[str], clusters: dict[str, str]) -> None:
        tasks = sorted(set.intersection(*(set(values[model]) for model in models)))
        self.table = np.array([[values[model][task] for task in tasks] for model in models]).reshape(len(models), -1)
        names = sorted({clusters[task] for task in tasks})
        few = len(names) < LEAST_CLUSTERS
        groups = [[place] for place in range(len(tasks))] if few else [
            [place for place, task in enumerate(tasks) if clusters[task] == name] for name in names
        ]  # fmt: skip
        self.groups, self.tasks, self.clusters = groups, len(tasks), len(names)

    def means(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """Mean of each model; of clusters drawn with replacement if a generator is given."""
        if rng is None:
            return self.table.mean(axis=1)
        drawn = [place for group in rng.integers(0, len(self.groups), len(self.groups)) for place in self.groups[group]]
        return self.table[:, drawn].mean(axis=1)


def agreement(one: Kind, other: Kind) -> tuple[float, float, float]:
    """Tau-b of the means, and the bounds of its interval."""
    rng = np.random.default_rng(0)
    drawn = [kendalltau(one.means(rng).round(9), other.means(rng).round(9)).statistic for _ in range(DRAWS)]
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    return float(kendalltau(one.means().round(9), other.means().round(9)).statistic), float(low), float(high)


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("kinds", nargs="+", metavar="NAME=RUNS")
    reader.add_argument("--without", action="append", default=[], help="leave out models whose name begins so")
    given = reader.parse_args()
    kinds = {name: read(Path(folder)) for name, _, folder in (one.partition("=") for one in given.kinds)}
    for metric in METRICS:
        for (name, (scores, clusters)), (other_name, (other_scores, other_clusters)) in itertools.combinations(
            kinds.items(), 2
        ):
            models = sorted(
                model
                for model in set(scores.get(metric, {})) & set(other_scores.get(metric, {}))
                if not model.startswith(tuple(given.without) or ("\0",))
            )
            if len(models) < LEAST_MODELS:
                print(f"{metric}: {name}, {other_name}: only {len(models)} models have values in both")
                continue
            one = Kind(scores[metric], models, clusters)
            other = Kind(other_scores[metric], models, other_clusters)
            tau, low, high = agreement(one, other)
            print(
                f"{metric}: {name} ({one.tasks} loops, {one.clusters} places), {other_name} ({other.tasks}, "
                f"{other.clusters}): {len(models)} models, tau {tau:.2f} [{low:.2f}, {high:.2f}]"
            )
            for kind_name, kind in ((name, one), (other_name, other)):
                ranked = sorted(zip(kind.means(), models, strict=True), reverse=True)
                print(f"  {kind_name}: " + ", ".join(f"{model} {mean:.3f}" for mean, model in ranked))


if __name__ == "__main__":
    main()
