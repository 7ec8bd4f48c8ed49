"""What the rate bridge alone costs: the truth, asked at the rate of every model that is asked over the bridge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from worldgauge.core.errors import DataError
from worldgauge.core.model import PRIVILEGED
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Task
from worldgauge.engine.suite.rate_bridge import is_rate

TRUTH = "truth"


def bridge_references(suite: Suite, tasks: Iterable[Task], subjects: Sequence[Mapping[str, Any]]) -> list[str]:
    """The references that are to stand beside these subjects.

    Args:
        suite: The suite.
        tasks: Tasks of the run. The first one that can be read tells the rate of the recordings.
        subjects: Identities of the subjects of the run (`engine.identity.subject_identity`).

    Returns:
        Text such as "truth?fps=16", one for each rate of a model that no recording has. None for a rate at which the
        truth is a subject already.
    """
    own = {float(one["fps"]) for one in subjects if one.get("fps") is not None and not PRIVILEGED & set(one["inputs"])}
    there = {one.get("fps") for one in subjects if one["source"] == TRUTH}
    wanted = sorted(fps for fps in own if not any(rate is not None and is_rate(fps, rate) for rate in there))
    if not wanted:
        return []
    recorded = _rates_of(suite, tasks)
    return [f"{TRUTH}?fps={fps:.12g}" for fps in wanted if not all(is_rate(fps, rate) for rate in recorded)]


def _rates_of(suite: Suite, tasks: Iterable[Task]) -> frozenset[float]:
    for task in tasks:
        if task.skip is None:
            try:
                return suite.rates(task)
            except DataError:
                continue  # it will fail with its reason
    return frozenset()
