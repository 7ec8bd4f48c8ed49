"""Scores of records, also by the metrics of the user, and their tables. Units come from the metrics."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from worldgauge.core.errors import NotApplicableError, UsageError, WorldgaugeError
from worldgauge.core.intervals import Sample, estimate_all, mean_std, rate_interval
from worldgauge.core.io import digest_of
from worldgauge.core.paired_tests import FEWEST_CLUSTERS, minimum_detectable_effect, paired_differences
from worldgauge.core.user_modules import import_file, import_module, module_digest
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Better, Cell, Failure, Record, Score, Table, TableRow, mean_of_known
from worldgauge.metrics._registry import metrics

_TRAINED = ("trained", "adapted")
"""Models that `worldgauge train` and `post-train` make."""

_SPEED_NOTES = (
    "Frames are the model's own, at its own rate; the time is that in which it was waited for, so writing and scoring "
    "do not count. Answers to a batch arrive together: their first frame is as late as their last.",
    "GPU memory is the most that tensors took during an answer, where the model uses torch or its server tells it.",
    "Speeds of different machines, and of workers that share one, cannot be compared.",
)


def score_cell(scores: Sequence[Score], bounds: tuple[float, float], expected: int | None = None) -> Cell:
    """Mean, population standard deviation, count and 95% interval of scores, within the metric's possible `bounds`."""
    (cell,) = score_cells([scores], bounds)
    return cell if expected is None else replace(cell, expected=expected)


def score_cells(groups: Iterable[Sequence[Score]], bounds: tuple[float, float]) -> list[Cell]:
    """`score_cell` of each group; see `make_cells`."""
    return make_cells(
        [([score.value for score in own], [cluster_of_score(score) for score in own]) for own in groups], bounds
    )


def make_cell(
    values: Iterable[float | None],
    bounds: tuple[float, float],
    expected: int | None = None,
    *,
    clusters: Iterable[str] | None = None,
) -> Cell:
    """Mean, population SD, count and 95% interval of values. Missing and infinite ones count, but are not averaged."""
    values = list(values)
    names = [str(place) for place in range(len(values))] if clusters is None else list(clusters)
    (cell,) = make_cells([(values, names)], bounds)
    return cell if expected is None else replace(cell, expected=expected)


def make_cells(
    groups: Iterable[tuple[Sequence[float | None], Sequence[str]]], bounds: tuple[float, float]
) -> list[Cell]:
    """`make_cell` of each group of values with their clusters: the cells of a table in a fraction of the time."""
    asked, totals, samples = [], [], []
    for values, names in groups:
        pairs = zip(values, names, strict=True)
        known = [(value, name) for value, name in pairs if value is not None and math.isfinite(value)]
        numbers = [value for value, _ in known]
        asked.append(len(values))
        totals.append(mean_std(numbers))
        samples.append(Sample.of([numbers], [[name for _, name in known]]))
    filled = iter(estimate_all([sample for sample in samples if sample.n]))
    cells = []
    for expected, total, sample in zip(asked, totals, samples, strict=True):
        interval = next(filled).interval if sample.n else None
        low, high = (None, None) if interval is None else (min(bounds[1], max(bounds[0], x)) for x in interval)
        method = "" if interval is None else "hall"
        clusters = len(sample.counts)
        cells.append(Cell(*total, low, high, expected=expected, clusters=clusters, method=method))
    return cells


def cluster_of_score(score: Score) -> str:
    """Cluster of the task of a score; the task itself where it stands alone."""
    return score.cluster or score.task


def by_metric(scores: Iterable[Score]) -> dict[str, list[Score]]:
    """Scores by metric, in their order."""
    found: dict[str, list[Score]] = {}
    for score in scores:
        found.setdefault(score.metric, []).append(score)
    return found


def clusters_by_task(scores: Mapping[str, Iterable[Score]]) -> dict[str, str]:
    """Cluster of each task."""
    return {score.task: cluster_of_score(score) for own in scores.values() for score in own}


def row_kind(kind: str) -> Literal["model", "baseline"]:
    """Kind of a table's row, by the kind of what it is of."""
    return "baseline" if kind == "baseline" else "model"


def missing_notes(scores: Iterable[Score]) -> Iterator[str]:
    """Lines below a table: how many scores are missing, by reason, and how many are infinite."""
    scores = list(scores)
    reasons = Counter(score.reason or "" for score in scores if score.value is None)
    for reason, count in sorted(reasons.items()):
        yield f"{count} {'score is' if count == 1 else 'scores are'} missing: {reason}."
    if infinite := sum(score.value is not None and not math.isfinite(score.value) for score in scores):
        yield f"{infinite} scores are infinite (identical frames) and left out of means."


def sort_rows(rows: Sequence[TableRow], better: Better, column: int = -1) -> list[TableRow]:
    """Sort rows by one column, best first. Flagged rows follow the others; rows without a mean come last."""
    sign = 1 if better == "lower" else -1

    def key(row: TableRow) -> tuple[bool, bool, float, str]:
        mean = row.cells[column].mean
        return mean is None, bool(row.flag), sign * mean if mean is not None else 0.0, row.label

    return sorted(rows, key=key)


def detectable_note(
    values: Mapping[str, Mapping[str, float | None]],
    kinds: Mapping[str, str],
    tasks: str,
    clusters: Mapping[str, str] = MappingProxyType({}),
    bounds: tuple[float, float] = (0.0, math.inf),
) -> str:
    """The line below a table that gives the minimum detectable effect of its comparison."""
    pairs = pairs_with_models([kinds.get(label, "model") for label in values])
    smallest = detectable_effect(values, clusters, pairs=pairs, bounds=bounds)
    if smallest is None:
        return (
            f"Minimum detectable effect: none. A test needs {FEWEST_CLUSTERS} clusters of {tasks} that two rows share, "
            "and differences that vary."
        )
    tested = "the only pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
    return (
        f"Minimum detectable effect: {smallest:.3g} (80 % power, 5 % level, corrected for {tested}; median over pairs)."
    )


def pairs_with_models(kinds: Sequence[str]) -> list[tuple[int, int]]:
    """Places of the pairs of rows that are tested: those with a model; all pairs if all rows are baselines."""
    pairs = list(combinations(range(len(kinds)), 2))
    return [(a, b) for a, b in pairs if "model" in (kinds[a], kinds[b])] or pairs


def detectable_effect(
    values: Mapping[str, Mapping[str, float | None]],
    clusters: Mapping[str, str] = MappingProxyType({}),
    *,
    pairs: Sequence[tuple[int, int]] | None = None,
    bounds: tuple[float, float] = (0.0, math.inf),
) -> float | None:
    """Minimum detectable effect of tests that are corrected together: the median over the pairs."""
    known = [
        {task: value for task, value in own.items() if value is not None and math.isfinite(value)}
        for own in values.values()
    ]
    found = paired_differences(known, cluster=clusters, pairs=pairs, bounds=bounds)
    testable = ~np.isnan(found.p) & (found.error > 0)
    if not testable.any():
        return None
    effects = minimum_detectable_effect(found.error[testable], found.degrees[testable], tests=len(found.p))
    return float(np.median(effects))


def with_seen(tables: Sequence[Table], runs: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Tables that note how many scenes each row was trained on; a row trained on some is flagged, and wins nothing."""
    told = told_scenes(runs)
    if not told:
        return list(tables)
    said = {label: text for label, text in told.items() if _count(runs[label].get("trained_on"), "seen")}
    alarms = tuple(f"{label} was {text}: its numbers are no test." for label, text in said.items())
    note = scenes_note(told)
    return [
        replace(
            table,
            rows=tuple(
                replace(row, flag=", ".join(filter(None, [row.flag, said.get(row.label)]))) for row in table.rows
            ),
            notes=(*table.notes, note),
            alarms=(*table.alarms, *alarms),
        )
        for table in tables
    ]


def told_scenes(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What is known of the scenes that trained models have seen, such as "trained on none of these 8 scenes"."""
    found = {}
    for label, facts in runs.items():
        known = facts.get("trained_on")
        seen, scenes, unknown, unplaced = (
            _count(known, name) for name in ("seen", "scenes", "unknown", "unplaced_clips")
        )
        if not scenes:
            source = facts.get("model", {}).get("identity", {}).get("source")
            if known is not None or source in _TRAINED:
                found[label] = "not known whether it was trained on these scenes"
            continue
        lacking = f"; those of {unknown} tasks are not known" if unknown else ""
        lacking += f"; the scenes of {unplaced} clips that it was trained on are not known" if unplaced else ""
        found[label] = f"trained on {seen or 'none'} of these {scenes} scenes{lacking}"
    return found


def _count(known: Any, name: str) -> int:
    """A number of what a run.json tells of scenes, which anybody may have written; 0 where there is none."""
    value = known.get(name) if isinstance(known, Mapping) else None
    return value if type(value) is int and value > 0 else 0


def scenes_note(told: Mapping[str, str]) -> str:
    """A line below a table: what `told_scenes` gave, those of whom the same is known together."""
    labels: dict[str, list[str]] = {}
    for label, text in told.items():
        labels.setdefault(text, []).append(label)
    line = "; ".join(f"{', '.join(own)}: {text}" for text, own in labels.items())
    return f"{line}."


def speed_table(measured: Mapping[str, Sequence[Mapping[str, Any] | None]], kinds: Mapping[str, str]) -> Table | None:
    """The table of speeds, one row per model."""
    rows = []
    for label, tasks in measured.items():
        if not any(tasks):
            continue
        columns = (
            [one["first_s"] for one in tasks if one],
            [one["frames"] / one["seconds"] for one in tasks if one and one["seconds"] > 0],
            [one["gpu_peak_bytes"] / 1e9 for one in tasks if one and one["gpu_peak_bytes"] is not None],
        )
        cells = tuple(make_cell(values, (0.0, math.inf), len(tasks)) for values in columns)
        rows.append(TableRow(label, cells, row_kind(kinds[label])))
    if not rows:
        return None
    return Table(
        "speed",
        "Speed",
        "1",
        "neither",
        ("first frame (s)", "frames/s", "peak GPU memory (GB)"),
        tuple(rows),
        _SPEED_NOTES,
        ("lower", "higher", "lower"),
    )


Series = Sequence[tuple[int, float | None]]


def make_score(
    record: Record,
    metric: str,
    value: float | None,
    *,
    n: int = 1,
    reason: str | None = None,
    series: Series = (),
    facts: Mapping[str, Any] | None = None,
    prefix: str = "",
) -> Score:
    """Make a score of a record for a registered metric.

    Args:
        record: The record.
        metric: Registered name of the metric.
        value: The value. None requires a `reason`.
        n: Number of frames that the value is a mean over.
        reason: Why the value is missing.
        series: Pairs of frame index and value or None.
        facts: Plain JSON values needed for variants and aggregation.
        prefix: Prefix of the score's name, such as "lcm/". For a metric that is used in several tests whose scores are
            never averaged together.

    Returns:
        The score.

    Examples:
        >>> from pathlib import Path
        >>> record = Record(Task("spin", "spin-000", {}, "f00d"), "my-model", Path("record"))
        >>> score = make_score(record, "psnr", 30.5, prefix="turn/")
        >>> score.metric, score.value, score.unit
        ('turn/psnr', 30.5, 'dB')
    """
    declared = metrics.entry(metric).facts
    return Score(
        task=record.task.id,
        metric=prefix + metric,
        value=value,
        unit=declared["unit"],
        better=declared["better"],
        n=n if value is not None else 0,
        reason=reason,
        series=tuple(series),
        group=record.task.group,
        facts=facts or {},
    )


def make_mean_score(
    record: Record, metric: str, series: Series, *, reason: str = "no frame has a value", prefix: str = "", **facts: Any
) -> Score:
    """Make a score from the mean over the frames that have a value.

    Args:
        record: The record.
        metric: Registered name of the metric.
        series: Pairs of frame index and value or None.
        reason: Why the value is missing, where no frame has one.
        prefix: Prefix of the score's name, as for `make_score`.
        **facts: Plain JSON values needed for variants and aggregation.

    Returns:
        The score.

    Examples:
        >>> from pathlib import Path
        >>> record = Record(Task("spin", "spin-000", {}, "f00d"), "my-model", Path("record"))
        >>> score = make_mean_score(record, "psnr", [(0, 30.0), (1, 20.0), (2, None)])
        >>> score.value, score.n
        (25.0, 2)
    """
    known = [value for _, value in series if value is not None]
    value = mean_of_known(known)
    why = None if known else reason
    return make_score(record, metric, value, n=len(known), reason=why, series=series, facts=facts, prefix=prefix)


class ModelScores:
    """The scores and failed tasks of one model; the key "task" of a task's group names its kind."""

    def __init__(
        self, label: str, kind: str, scores: Sequence[Score], failed: Sequence[Failure], *, headline: str
    ) -> None:
        self.label = label
        self.kind = row_kind(kind)
        self.failed = failed
        self._headline = headline
        self._by_kind: dict[tuple[str, object], list[Score]] = {}
        for score in scores:
            for task in (None, score.group["task"]):
                self._by_kind.setdefault((score.metric, task), []).append(score)

    def of(self, metric: str, task: str | None = None, **group: object) -> list[Score]:
        """Scores of one metric."""
        scores = self._by_kind.get((metric, task), [])
        if not group:
            return list(scores)
        return [score for score in scores if all(score.group.get(key) == one for key, one in group.items())]

    def lost(self, task: str | None = None) -> int:
        """Number of failed tasks of a kind. The kind comes from the task's id, since a damaged record has no group."""
        return sum(task in (None, failure.task.partition("/")[0]) for failure in self.failed)

    def expected(self, task: str) -> int:
        """Number of tasks of a kind that were asked."""
        return len(self.of(self._headline, task)) + self.lost(task)

    def cell(self, metric: str, task: str | None = None, **group: object) -> Cell:
        """Mean over tasks for a table, with the interval of their clusters. A rate gets Wilson's interval."""
        scores = self.of(metric, task, **group)
        cell = score_cell(scores, metric_facts(metric)[2], len(scores) + (0 if group else self.lost(task)))
        if cell.n and self.is_rate(metric, task):
            ended = [None if score.value is None else score.value == 100.0 for score in scores]
            interval = rate_interval(ended, map(cluster_of_score, scores))
            assert interval is not None
            return replace(cell, low=100 * interval.low, high=100 * interval.high, method="wilson")
        return cell

    def is_rate(self, metric: str, task: str | None) -> bool:
        """Whether scores are always 0 or 100, so that their mean is a rate. False by default; suites override it."""
        return False


def metric_facts(metric: str) -> tuple[str, Better, tuple[float, float]]:
    """Unit, direction and bounds of the metric of a score."""
    facts = metrics.entry(metric.rpartition("/")[2]).facts
    low, high = facts["bounds"]
    return facts["unit"], facts["better"], (low, high)


SETTING, DIGEST = "metrics", "metrics_digest"
"""Names of the user's own metrics, and of their digest, among the settings of a run."""
MOST_FRAMES = 20_000
"""Largest number of frames of a clip that a metric gets as a whole."""


def name_of(text: str) -> str:
    """Name of the metric in "package.module:name", "./file.py:name" or "name"."""
    return text.rpartition(":")[2]


def digest_of_metrics(texts: Sequence[str], known: str | None) -> str | None:
    """Digest of the code of metrics; `known` if the code is not here, such as when only a report is made."""
    try:
        sources = [_load(text)[1] for text in texts]
    except WorldgaugeError:
        if known is None:
            raise
        return known
    return digest_of("\n".join(sources))


def versions_of(texts: Iterable[str]) -> dict[str, int]:
    """Version of each metric, by name."""
    return {name_of(text): int(_facts(text)["version"]) for text in texts}


def own_scores(texts: Sequence[str], record: Record, compared: Callable[[Record], tuple[Clip, Clip]]) -> list[Score]:
    """Score a record with each of the user's own metrics."""
    if not texts:
        return []
    try:
        truth, rollout = compared(record)
    except NotApplicableError as error:
        return [make_score(record, name_of(text), None, reason=str(error)) for text in texts]
    return [_score(text, record, truth, rollout) for text in texts]


def own_tables(texts: Sequence[str], scores: Mapping[str, Sequence[Score]], kinds: Mapping[str, str]) -> list[Table]:
    """One table for each of the user's own metrics that has a score."""
    tables = []
    for name in map(name_of, texts):
        found = {label: [one for one in theirs if one.metric == name] for label, theirs in scores.items()}
        first = next((one for theirs in found.values() for one in theirs), None)
        if first is None:
            continue
        rows = [
            TableRow(label, (score_cell(theirs, (-math.inf, math.inf)),), row_kind(kinds[label]))
            for label, theirs in found.items()
            if theirs
        ]
        better: Better = first.better
        tables.append(Table(name, f"{name} (your own)", first.unit, better, ("all",), tuple(sort_rows(rows, better))))
    return tables


def _score(text: str, record: Record, truth: Clip, rollout: Clip) -> Score:
    """One metric for one record; what goes wrong inside it is its own missing score, with the reason."""
    function, facts, name = _load(text)[0], _facts(text), name_of(text)
    try:
        if facts["compares"] == "clips":
            if len(truth) > MOST_FRAMES:
                raise UsageError(f"{len(truth)} frames are too many to hand over at once")
            value = _number(function(truth.to_array(), rollout.to_array()), facts["bounds"])
            return make_score(record, name, value, n=len(truth))
        pairs = enumerate(zip(truth, rollout, strict=True))
        series = [(index, _number(function(want, got), facts["bounds"])) for index, (want, got) in pairs]
        return make_mean_score(record, name, series)
    except Exception as error:
        return make_score(record, name, None, reason=f"metric '{name}' failed: {type(error).__name__}: {error}")


def _number(value: Any, bounds: tuple[float, float]) -> float:
    number = float(value)
    if not bounds[0] <= number <= bounds[1]:
        raise UsageError(f"it gave {number}, outside of its bounds {bounds[0]} to {bounds[1]}")
    return number


def _facts(text: str) -> Mapping[str, Any]:
    _load(text)
    facts = metrics.entry(name_of(text)).facts
    if facts.get("compares") not in ("frames", "clips"):
        raise UsageError(
            f"metric '{name_of(text)}' does not say what it compares: register it with compares='frames' or 'clips', "
            f"got {facts.get('compares')!r} (metrics of the suites need no --metric)"
        )
    if missing := [name for name in ("unit", "better", "bounds", "version") if name not in facts]:
        raise UsageError(f"metric '{name_of(text)}' is registered without {missing[0]}; see docs/howto/extend.md")
    return facts


def _load(text: str) -> tuple[Callable[..., Any], str]:
    """The function behind a metric, and the digest of its code."""
    place, colon, name = text.rpartition(":")
    if not colon and text.endswith(".py"):
        raise UsageError(f"metric '{text}': name the function in it: {text}:NAME")
    if not colon:
        return metrics.get(name), metrics.entry(name).origin
    if place.endswith(".py"):
        module, source = import_file(Path(place).expanduser(), "metric")
    else:
        module = import_module(place, f"metric '{text}'", "; or name its file: ./file.py:name")
        source = module_digest(module)
    if name not in metrics or metrics.entry(name).origin != module.__name__:
        raise UsageError(
            f"metric '{text}': {place} registers no metric '{name}'; decorate it with worldgauge.metrics.metric"
        )
    return metrics.get(name), source
