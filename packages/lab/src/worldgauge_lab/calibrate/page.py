"""The page of a calibration: gains with their intervals, the time course of each control, and all numbers."""

from __future__ import annotations

import math
from pathlib import Path

from markupsafe import Markup

from worldgauge.engine.store import atomic_write
from worldgauge.report.charts import curves
from worldgauge.report.charts.curves import Curve, Level, SeriesStyle
from worldgauge.report.page import asset, environment
from worldgauge_lab.calibrate.controls import HORIZON, MOVING, SPEEDS, STEP_M, TURN_RAD
from worldgauge_lab.calibrate.estimate import SHOWN, ControlResult, Estimate
from worldgauge_lab.calibrate.format import in_words, sentences, text_rows
from worldgauge_lab.calibrate.study import CalibrationStudy

PAGE = "calibration.html"
COLOURS = {
    name: f"k{n}"
    for n, name in enumerate(
        ("forward", "back", "left", "right", "yaw_left", "yaw_right", "pitch_up", "pitch_down"), start=1
    )
}
ASKED = SeriesStyle("asked", "k0", "asked", reference=True)


def write_page(study: CalibrationStudy, out: Path, command: str = "") -> Path:
    """Write the page of a calibration, whole or not at all.

    Args:
        study: The calibration.
        out: Folder of the page.
        command: Command that made it, to be shown.

    Returns:
        Path of the page.

    Raises:
        RunError: The file cannot be written.
    """
    path = out / PAGE
    atomic_write(path, render_page(study, command))
    return path


def render_page(study: CalibrationStudy, command: str = "") -> str:
    """Render the page of a calibration.

    Args:
        study: The calibration.
        command: Command that made it, to be shown.

    Returns:
        HTML.
    """
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
        Level(_style(one), one.control, one.gain.mean, one.gain.low, one.gain.high, f"n = {one.gain.n}")
        for one in study.estimates.controls
        if one.gain is not None
    ]
    if not levels:
        return None
    described = "; ".join(f"{level.name}: {level.mean:.2f}" for level in levels)
    return curves.forest("gains", "Gain of each control", described, levels, x_label="shown / asked", zero_line=True)


def _course(ident: str, title: str, controls: list[ControlResult]) -> Markup:
    """Share of what was asked that is shown after each frame, for each control."""
    told = [Curve(ASKED, tuple((float(t), min(t / MOVING, 1.0), None, None) for t in range(HORIZON + 1)))]
    told += [
        Curve(
            _style(one),
            ((0.0, 0.0, None, None), *(_point(t + 1, share) for t, share in enumerate(one.course) if share)),
        )
        for one in controls
        if any(one.course)
    ]
    described = f"{title}: the share of what was asked that is shown, over {HORIZON} frames"
    return curves.line_chart(
        ident, title, described, told, x_label="frame", y_label="shown / asked", unit=False, whole=True
    )


def _point(t: int, share: Estimate) -> tuple[float, float, float | None, float | None]:
    return float(t), share.mean, share.low, share.high


def _style(one: ControlResult) -> SeriesStyle:
    return SeriesStyle(one.control, COLOURS[one.control], one.control)
