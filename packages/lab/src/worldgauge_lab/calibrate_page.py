"""The page of a calibration: gains with their intervals, the time course of each control, and all numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markupsafe import Markup

from worldgauge.core.english import listed
from worldgauge.engine.store import atomic_write
from worldgauge.models.calibration import TURNS, Speed
from worldgauge.report import curves
from worldgauge.report.curves import ChartLine, ForestRow, SeriesStyle
from worldgauge.report.page import asset, environment
from worldgauge.report.wording import number, times
from worldgauge_lab.calibrate import CalibrationStudy
from worldgauge_lab.calibrate_estimate import (
    HORIZON,
    MOVING,
    SHOWN,
    SPEEDS,
    STEP_M,
    TURN_RAD,
    ControlResult,
    StartImageMean,
)

COLUMNS = ("control", "status", "gain", "low", "high", "n", "a_unit", "unit", "fit", "asked", "decoded", "reason")
"""Columns of the CSV: a row for each control."""
BESIDE = 0.05
"""Share of what is asked from which motion along another component is told."""

_WHOSE: dict[Speed, str] = {
    "asked": "at the commanded speed",
    "own": "at its own speed, whatever the command",
    "between": "neither at the commanded speed nor at its own",
    "unknown": "at a speed that is not known",
}


def a_unit(one: ControlResult, study: CalibrationStudy) -> tuple[float | None, str]:
    """What one unit of a control does: of a key held for a frame at the middle speed, or of a metre or degree."""
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


def in_words(one: StartImageMean | None, digits: int = 3) -> str:
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
        said.append(f"Without a command it moves: {', '.join(drifting)}; this is taken off.")
    if study.refused:
        said.append(f"{times(len(study.refused), 'answer', 'answers')} failed: {next(iter(study.refused.values()))}")
    return said


def _holds_zero(one: StartImageMean) -> bool:
    return one.low is not None and one.high is not None and one.low <= 0 <= one.high


def _differs(one: StartImageMean) -> bool:
    """Whether less or more than all is left, by more than `BESIDE`."""
    holds = one.low is not None and one.high is not None and one.low <= 1 <= one.high
    return abs(one.mean - 1) > BESIDE and not holds


def _drifts(name: str, one: StartImageMean) -> bool:
    least = 0.001 if name in ("forward", "left", "up") else math.radians(0.02)
    return abs(one.mean) > least and not _holds_zero(one)


def _rate(name: str, one: StartImageMean) -> str:
    metres = name in ("forward", "left", "up")
    return f"{number(one.mean if metres else math.degrees(one.mean), sign=True)} {'m' if metres else 'deg'} a frame"


PAGE = "calibration.html"
COLOURS = {
    name: f"k{n}"
    for n, name in enumerate(
        ("forward", "back", "left", "right", "yaw_left", "yaw_right", "pitch_up", "pitch_down"), start=1
    )
}
ASKED = SeriesStyle("asked", "k0", "asked", baseline=True)


def write_page(study: CalibrationStudy, out: Path, command: str = "") -> Path:
    """Write the page of a calibration, whole or not at all."""
    path = out / PAGE
    atomic_write(path, render_page(study, command))
    return path


def render_page(study: CalibrationStudy, command: str = "") -> str:
    """Render the page of a calibration."""
    found = study.estimates
    walks = [one for one in found.controls if one.control in ("forward", "back", "left", "right")]
    turns = [one for one in found.controls if one not in walks]
    panels = [
        (title, _course(ident, title, some))
        for ident, title, some in (("walks", "Walking", walks), ("turns", "Turning", turns))
        if some
    ]
    return (
        environment(__package__)
        .get_template("calibration.html.j2")
        .render(
            study=study,
            plan=study.plan,
            css=Markup(asset("page.css")),
            said=sentences(study),
            rows=list(text_rows(study)),
            reasons=[(one.control, one.reason) for one in found.controls if one.reason],
            gains=_gains(study),
            panels=panels,
            by_speed=[
                (one.control, [in_words(one.by_speed.get(speed)) for speed in SPEEDS])
                for one in found.controls
                if one.by_speed
            ],
            beside=[
                (one.control, [in_words(one.beside.get(component), 2) for component in SHOWN])
                for one in found.controls
                if one.beside
            ],
            together=[
                (name, part, in_words(left, 2))
                for name, parts in found.together.items()
                for part, left in parts.items()
            ],
            components=SHOWN,
            speeds=[f"×{speed:g}" for speed in SPEEDS],
            moving=MOVING,
            step_m=STEP_M,
            turn_deg=math.degrees(TURN_RAD),
            command=command,
        )
    )


def _gains(study: CalibrationStudy) -> Markup | None:
    """Gains as a list of intervals; None where nothing follows."""
    levels = [
        ForestRow(_style(one), one.control, one.gain.mean, one.gain.low, one.gain.high, f"n = {one.gain.n}")
        for one in study.estimates.controls
        if one.gain is not None
    ]
    if not levels:
        return None
    described = "; ".join(f"{level.name}: {level.mean:.2f}" for level in levels)
    return curves.forest("gains", "Gain of each control", described, levels, x_label="shown / wanted", zero_line=True)


def _course(ident: str, title: str, controls: list[ControlResult]) -> Markup:
    """Share of what was asked that is shown after each frame, for each control."""
    told = [ChartLine(ASKED, tuple((float(t), min(t / MOVING, 1.0), None, None) for t in range(HORIZON + 1)))]
    told += [
        ChartLine(
            _style(one),
            ((0.0, 0.0, None, None), *(_point(t + 1, share) for t, share in enumerate(one.course) if share)),
        )
        for one in controls
        if any(one.course)
    ]
    described = f"{title}: the share of the commanded motion that is shown, over {HORIZON} frames"
    return curves.line_chart(
        ident, title, described, told, x_label="frame", y_label="shown / wanted", unit=False, whole=True
    )


def _point(t: int, share: StartImageMean) -> tuple[float, float, float | None, float | None]:
    return float(t), share.mean, share.low, share.high


def _style(one: ControlResult) -> SeriesStyle:
    return SeriesStyle(one.control, COLOURS[one.control], one.control)
