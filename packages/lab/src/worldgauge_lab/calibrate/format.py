"""A calibration in words: rows of its tables, and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from worldgauge.models.calibration.file import TURNS, Speed
from worldgauge.report.wording import listed, number, times
from worldgauge_lab.calibrate.estimate import ControlResult, Estimate
from worldgauge_lab.calibrate.study import CalibrationStudy

COLUMNS = ("control", "status", "gain", "low", "high", "n", "a_unit", "unit", "fit", "asked", "decoded", "reason")
"""Columns of the CSV: a row for each control."""
BESIDE = 0.05
"""Share of what is asked from which motion along another component is told."""

_WHOSE: dict[Speed, str] = {
    "asked": "at the speed that is asked for",
    "own": "at its own speed, whatever is asked for",
    "between": "neither at the speed that is asked for nor at its own",
    "unknown": "at a speed that is not known",
}


def a_unit(one: ControlResult, study: CalibrationStudy) -> tuple[float | None, str]:
    """What one unit of a control does: of a key held for a frame at the middle speed, or of a metre or degree.

    Args:
        one: The control.
        study: The calibration.

    Returns:
        The amount, None where it does not follow, and its unit.
    """
    length = "deg" if one.control in TURNS else "m"
    if one.control not in study.keys:
        return None if one.gain is None else one.gain.mean, f"{length}/{length}"
    amount = one.a_frame
    if amount is not None and one.gain is not None:
        amount = math.copysign(amount, one.gain.mean)
    return amount if amount is None or length == "m" else math.degrees(amount), f"{length}/frame"


def csv_rows(study: CalibrationStudy) -> Iterator[tuple[Any, ...]]:
    """Rows of `COLUMNS`."""
    for one in study.estimates.controls:
        gain = one.gain
        values = (None, None, None, 0) if gain is None else (gain.mean, gain.low, gain.high, gain.n)
        amount, unit = a_unit(one, study)
        yield one.control, one.status, *values, amount, unit, one.fit, one.asked, one.decoded, one.reason


def text_rows(study: CalibrationStudy) -> Iterator[tuple[str, ...]]:
    """For each control: name, status, sign, gain with interval, what a unit does, what else moves, and n."""
    for one in study.estimates.controls:
        amount, unit = a_unit(one, study)
        sign = "" if one.gain is None else "+" if one.gain.mean > 0 else "− (swapped)"
        unit_words = "" if amount is None else f"{number(amount)} {unit}"
        n = 0 if one.gain is None else one.gain.n
        counted = f"{n} starts" if n else f"{one.decoded} of {one.asked} answers"
        yield one.control, one.status, sign, in_words(one.gain), unit_words, beside_words(one), counted


def beside_words(one: ControlResult) -> str:
    """What else moves, where it is certain and more than `BESIDE` of what is asked."""
    found = [
        f"{name} {number(effect.mean, digits=2, sign=True)}"
        for name, effect in one.beside.items()
        if abs(effect.mean) >= BESIDE and not _holds_zero(effect)
    ]
    return ", ".join(found)


def in_words(one: Estimate | None, digits: int = 3) -> str:
    """A mean with its interval: "0.500 [0.491, 0.509]"."""
    if one is None:
        return ""
    mean = number(one.mean, digits=digits)
    if one.low is None or one.high is None:
        return f"{mean} (one start)"
    return f"{mean} [{number(one.low, digits=digits)}, {number(one.high, digits=digits)}]"


def sentences(study: CalibrationStudy) -> list[str]:
    """What was found, in a few sentences."""
    found = study.estimates
    by_status = {
        status: [one.control for one in found.controls if one.status == status]
        for status in ("follows", "does not follow", "unknown")
    }
    said = []
    swapped = [one.control for one in found.controls if one.gain is not None and one.gain.mean < 0]
    if not by_status["follows"]:
        said.append(f"No control of '{study.plan.model}' was found to work.")
    if by_status["does not follow"]:
        said.append(f"It does not follow {listed(by_status['does not follow'])}.")
    if by_status["unknown"]:
        said.append(f"Unknown: {listed(by_status['unknown'])}; the camera's path is not found in its frames.")
    if swapped:
        said.append(f"It goes the other way by {listed(swapped)}.")
    if found.delay is not None and found.frames is not None:
        frames = times(found.frames, "frame", "frames")
        said.append(f"A control shows {frames} late ({in_words(found.delay, 1)}, n = {found.delay.n}).")
    elif by_status["follows"]:
        said.append(f"How late a control shows is not known: {found.late}.")
    for verb, speed in (("walks", found.moving), ("turns", found.turning)):
        if speed.exponent is not None:
            exponent = f"exponent {in_words(speed.exponent, 2)}, n = {speed.exponent.n}"
            said.append(f"It {verb} {_WHOSE[speed.whose]} ({exponent}).")
    for name, parts in found.together.items():
        weaker = [f"{part} {in_words(one, 2)}" for part, one in parts.items() if _differs(one)]
        if weaker:
            said.append(f"On {name} is left of what each does alone: {', '.join(weaker)}.")
    drifting = [f"{name} {_rate(name, one)}" for name, one in found.drift.items() if _drifts(name, one)]
    if drifting:
        said.append(f"While nothing is asked it moves: {', '.join(drifting)}; this is taken off.")
    if study.refused:
        said.append(f"{times(len(study.refused), 'answer', 'answers')} failed: {next(iter(study.refused.values()))}")
    return said


def _holds_zero(one: Estimate) -> bool:
    return one.low is not None and one.high is not None and one.low <= 0 <= one.high


def _differs(one: Estimate) -> bool:
    """Whether less or more than all is left, by more than `BESIDE`."""
    holds = one.low is not None and one.high is not None and one.low <= 1 <= one.high
    return abs(one.mean - 1) > BESIDE and not holds


def _drifts(name: str, one: Estimate) -> bool:
    least = 0.001 if name in ("forward", "left", "up") else math.radians(0.02)
    return abs(one.mean) > least and not _holds_zero(one)


def _rate(name: str, one: Estimate) -> str:
    metres = name in ("forward", "left", "up")
    return f"{number(one.mean if metres else math.degrees(one.mean), sign=True)} {'m' if metres else 'deg'} a frame"
