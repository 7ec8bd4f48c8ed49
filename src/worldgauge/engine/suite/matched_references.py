"""What a model's own rate and size alone cost: the truth at the rate of every model that is asked over the rate bridge,
and the truth at the size of every small network of `worldgauge train`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from worldgauge.core.errors import DataError
from worldgauge.core.model import PRIVILEGED
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Task
from worldgauge.engine.suite.rate_bridge import is_rate

TRUTH = "truth"
_TRAINED, _COARSE = "trained", "coarse"


def matched_references(suite: Suite, tasks: Iterable[Task], subjects: Sequence[Mapping[str, Any]]) -> list[str]:
    """The references that belong beside the models with these identities, as text; none that is a model already.

    "truth?fps=16" for each rate of a model that no recording has (the first readable task tells it), and
    "coarse?width=64&height=36" for each size of a trained network.
    """
    return [*_at_rates(suite, tasks, subjects), *_at_sizes(subjects)]


def _at_rates(suite: Suite, tasks: Iterable[Task], subjects: Sequence[Mapping[str, Any]]) -> list[str]:
    own = {float(one["fps"]) for one in subjects if one.get("fps") is not None and not PRIVILEGED & set(one["inputs"])}
    there = {one.get("fps") for one in subjects if one["source"] == TRUTH}
    wanted = sorted(fps for fps in own if not any(rate is not None and is_rate(fps, rate) for rate in there))
    if not wanted:
        return []
    recorded = _rates_of(suite, tasks)
    return [f"{TRUTH}?fps={fps:.12g}" for fps in wanted if not all(is_rate(fps, rate) for rate in recorded)]


def _at_sizes(subjects: Sequence[Mapping[str, Any]]) -> list[str]:
    own = {_drawn_size(one) for one in subjects if one["source"] == _TRAINED}
    there = {tuple(one["frame_size"]) for one in subjects if one["source"] == _COARSE}
    return [f"{_COARSE}?width={width}&height={height}" for width, height in sorted(own - there)]


def _drawn_size(subject: Mapping[str, Any]) -> tuple[int, ...]:
    """Size in which a network draws, which is not that in which it gives frames where it is asked `as_size`."""
    return tuple(subject.get("settings", {}).get("drawn_size") or subject["frame_size"])


def _rates_of(suite: Suite, tasks: Iterable[Task]) -> frozenset[float]:
    for task in tasks:
        if task.skip is None:
            try:
                return suite.rates(task)
            except DataError:
                continue  # it will fail with its reason
    return frozenset()
