"""Numbers and words in the form that the page uses."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from worldgauge.core.errors import UsageError
from worldgauge.engine.suite.base import Suite

MINUS = "−"
NOTHING = 1e-12
"""Smaller sizes are what rounding has left of 0."""


@dataclass(frozen=True)
class Vocabulary:
    """Words of the page that a suite can replace (`Suite.vocabulary`)."""

    task: str = "task"
    tasks: str = "tasks"
    headline: str = ""  # name of the first table's metric; empty: the table's own
    model: str = "model"
    lacks: str = "cannot do so"  # what `Suite.floor_baselines` cannot do
    seen: str = "shown"  # first part of a path on the map
    asked: str = "requested"  # second part
    read: str = "How each answer was read"  # title of the table of diagnostics
    films: str = "The ground truth and the frames of every model, in step."

    @classmethod
    def of(cls, suite: Suite) -> Vocabulary:
        """The words of a suite."""
        given = suite.vocabulary
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1) or known
                raise UsageError(f"suite words: no '{name}' is written anywhere; did you mean {' or '.join(near)}?")
        return cls(**given)


def number(value: float | None, *, digits: int = 3, sign: bool = False) -> str:
    """A number as text."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    size = abs(value)
    digits = digits if size < 10 else max(0, digits - math.floor(math.log10(size)))
    text = f"{size:.{digits}f}"
    negative = value < 0 and float(text) != 0
    return (MINUS if negative else "+" if sign and float(text) != 0 else "") + text


def digits_for(values: Iterable[float | None]) -> int:
    """Digits after the point for the numbers of one column: 3, or more for small values."""
    sizes = sorted(abs(v) for v in values if v is not None and math.isfinite(v) and abs(v) >= NOTHING)
    if not sizes:
        return 3
    usual = sizes[len(sizes) // 2]
    return 5 if usual < 0.01 else 4 if usual < 0.1 or sizes[0] < 0.01 else 3


BASELINES = {
    "truth": "the ground truth itself",
    "hedge": "blurred last frame, turned as requested",
    "late": "ground truth one frame late",
    "mean": "mean frame",
    "tiny": "1M-parameter network",
    "memory": "point cloud of what was shown",
    "forgetful": "sharp frames of another scene",
    "drift": "ground truth along a drifting pose",
    "zoom": "enlarged last frame",
    "freeze": "last frame, repeated",
    "none": "no world model: nothing is imagined",
    "oracle": "knows the answer: the upper bound",
}
"""What a baseline does, by the first part of its name."""
_FLAGS = {
    "does not move": "The camera does not move in at least half of the videos",
    "motion not judged": "No video shows whether its camera moves",
    "of the frames": "The videos are shorter than requested",
    "longer than": "Only the beginning of the videos was scored",
    "frames/s": "The videos have another frame rate than the ground truth",
    "missing": "Some tasks have no score, so its mean is over other tasks",
    "given poses": "Conditioned on camera poses: ranked among models that are",
    "given a path": "Follows a path that it was given: ranked among models that do",
    "no score": "A kind of task has no score",
}


def explain_flag(flag: str) -> str:
    """Text that a flag or a mark shows on hover."""
    return next((said for part, said in _FLAGS.items() if part in flag), "Read its numbers with this")


def explain_baseline(label: str) -> str:
    """What a baseline does, in a few words. Empty for an unknown one."""
    return BASELINES.get(re.split(r"[ @#-]", label)[0], "")


def times(count: int, one: str, many: str) -> str:
    """Count things in words: "1 frame", "1,200 frames"."""
    return f"{count:,} {one if count == 1 else many}"


def p_value(p: float | None) -> str:
    """A p-value with at most three decimals."""
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def direction(better: str) -> str:
    """The better direction, in words with an arrow."""
    return {"higher": "↑ higher is better", "lower": "↓ lower is better"}.get(better, "no direction is better")


def metric_name(metric: str, unit: str = "1") -> str:
    """Name a metric in words with its unit: "path/fde" in "m" is "FDE (m)"."""
    name = metric.rsplit("/", 1)[-1].removesuffix(f"_{unit}").replace("_", " ")
    name = name.upper() if name.isalpha() and len(name) <= 4 else name
    return name if unit in ("", "1") else f"{name} ({unit})"


_UNITS = {"px": "px", "m": "m", "s": "s", "deg": "°", "mps": "m/s", "share": "share", "pct": "%"}


def column_name(key: str) -> str:
    """The key of a plain value as words with its unit: "reprojection_px" is "reprojection (px)"."""
    name, _, tail = key.rpartition("_")
    words = f"{name} ({_UNITS[tail]})" if name and tail in _UNITS else key
    return words.replace("_", " ")


def plain(value: object) -> str:
    """A plain JSON value for a table cell: short numbers, lists with commas, a dash for missing values."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value).replace("-", MINUS)
    if isinstance(value, float):
        return "–" if math.isnan(value) else number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain(inner)}" for key, inner in value.items()) or "–"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(plain(inner) for inner in value) or "–"
    return str(value)
