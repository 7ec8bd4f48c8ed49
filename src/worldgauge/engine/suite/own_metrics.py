"""A user's own metrics in the tables of any suite that compares frames: `--metric package.module:name`.

    @metric("edge_f1", unit="1", better="higher", bounds=(0, 1), version=1, compares="frames", source="ours")
    def edge_f1(truth, rollout): ...   # (H, W, 3) uint8 each -> float

With compares="frames" the metric gets two frames at a time, and the score is the mean. With compares="clips" it gets
two whole clips, (T, H, W, 3) uint8 each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldgauge.core.errors import NotApplicableError, UsageError, WorldgaugeError
from worldgauge.core.io import digest_of
from worldgauge.core.user_modules import import_file, import_module, module_digest
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Better, Record, Score, Table, TableRow
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.engine.suite.tables import score_cell, sort_rows
from worldgauge.metrics._registry import metrics

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
            TableRow(label, (score_cell(theirs, (-math.inf, math.inf)),), _kind(kinds[label]))
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
        raise UsageError(f"metric '{name_of(text)}' is registered without {missing[0]}; see docs/adding.md")
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
        raise UsageError(f"metric '{text}': {place} registers no metric '{name}'; decorate it with @metrics.register")
    return metrics.get(name), source


def _kind(kind: str) -> Any:
    return "reference" if kind == "reference" else "subject"
