"""The page of a metric study: what each metric responds to, how it grows with the strength, and example frames."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from worldgauge.engine.store import atomic_write, write_error
from worldgauge.report import curves, svg
from worldgauge.report.curves import ForestRow, SeriesStyle
from worldgauge.report.page import asset, environment
from worldgauge.report.wording import number
from worldgauge.terminal.layout import Cell as TextCell
from worldgauge.terminal.layout import Column, lay_out_numbers, terminal_width, wrap
from worldgauge_lab.validate_metrics.results import (
    STRENGTHS,
    Curve,
    MetricRow,
    MetricStudy,
    PerturbationColumn,
    Selectivity,
    UnitMean,
)

MOST_TIMES = 100.0
"""Ratios beyond are not distinguished."""
FAINT = 0.02
"""A response of less than this share of what another scene does is hardly one, however certain it is."""


def tables(found: MetricStudy) -> str:
    """Tables as plain text: responses, the weakest visible strength, selectivity, and what could not be measured."""
    measured, applied = found.measured, found.applied
    counts = [_span({row.curves[c.name].usual.response.n for row in measured}) for c in applied]
    skipped = [_span({row.curves[c.name].usual.skipped for row in measured}) for c in applied]
    absent = [(row.metric, row.reason) for row in found.rows if row.reason]
    absent += [(column.name, column.reason) for column in found.columns if column.reason]
    width = terminal_width()
    metrics = [row.metric for row in measured]
    extra = [[(text,) for text in texts] for texts in (counts, skipped)]
    responses = [
        Column(c.name, [*(_response(row.curves[c.name]) for row in measured), *(texts[k] for texts in extra)])
        for k, c in enumerate(applied)
    ]
    growth = [Column(c.name, [_first_and_rho(row.curves[c.name]) for row in measured]) for c in applied]
    ratios = [
        Column("largest masks", [(ratio_words(row.selectivity),) for row in measured]),
        Column("buildings, trees, flowers", [(ratio_words(row.selectivity_of_things),) for row in measured]),
    ]

    def block(title: str, names: Sequence[str], columns: Sequence[Column]) -> Iterator[str]:
        yield ""
        yield from wrap(title, width)
        yield from (line.text for line in lay_out_numbers([(name,) for name in names], columns, width))

    lines = wrap(f"{found.source}, n = {found.units}, seed {found.seed}", width)
    lines += block(
        "Response at the usual strength: 0 the truth, 1 another scene; 95 % interval, * if without 0",
        [*metrics, "n", "skipped frames"],
        responses,
    )
    lines += block(
        "Weakest strength that differs from the truth, in usual ones, and Spearman's rho of strength and response",
        metrics,
        growth,
    )
    lines += block(
        "Response to deletion and swap over that to colour, translation, rotation and scaling, 95 % interval",
        metrics,
        ratios,
    )
    if absent:
        lines += ["", "Not measured", *(f"{name}: {reason}" for name, reason in absent)]
    return "\n".join(lines)


STUDY_COLUMNS = ("metric", "perturbation", "strength", "n", "mean", "low", "high")
"""Columns of the study as CSV: a response per row."""


def study_rows(found: MetricStudy) -> Iterator[tuple[str, str, float, int, float | None, float | None, float | None]]:
    """Rows of `STUDY_COLUMNS`, with all digits."""
    for row in found.measured:
        for column in found.applied:
            for dose in row.curves[column.name].doses:
                mean, low, high, n = dose.response
                yield row.metric, column.name, dose.strength, n, mean, low, high


def conclusions(found: MetricStudy) -> tuple[str, ...]:
    """Sentences that the numbers support, each for the metrics whose interval confirms it."""
    rows = [row for row in found.measured if row.selectivity is not None]
    said = []
    for of, what in (
        ("selectivity", "a deleted or swapped large mask"),
        ("selectivity_of_things", "a lost or swapped building, tree or flower"),
    ):
        sure = [(row.metric, s) for row in rows if (s := getattr(row, of)) is not None and s.low is not None]
        better = [name for name, s in sure if s.low > 0.5]
        worse = [name for name, s in sure if s.high < 0.5]
        if better:
            said.append(f"React more to {what} than to a harmless change: {', '.join(better)}.")
        if worse:
            said.append(f"React more to a harmless change than to {what}: {', '.join(worse)}.")
    for name in ("thing_loss", "thing_swap"):
        missed = [row.metric for row in found.measured if not _is_felt(row.curves[name])]
        if missed:
            said.append(f"Do not see {name.replace('_', ' ')} at its usual strength: {', '.join(missed)}.")
    numb = _named(found, lambda column, curve: column.kind == "degrades" and _is_numb(curve))
    if numb:
        said.append(f"Compare images and yet do not react at any strength: {numb}.")
    blind = [row.metric for row in found.measured if any(curve.blind for curve in row.curves.values())]
    if blind:
        why = "Use exact masks, not images, so that colour, noise, blur and JPEG cannot touch them"
        said.append(f"{why}: {', '.join(blind)}.")
    praised = _named(found, lambda column, curve: _is_praised(curve))
    if praised:
        said.append(f"Rate a changed frame above the truth: {praised}.")
    return tuple(said)


def ratio_words(found: Selectivity | None) -> str:
    """The ratio in words, such as "0.5 [0.4, 0.6]"; a dash where there is none."""
    if found is None:
        return "-"
    middle, low, high = (_times(Selectivity.ratio(share)) for share in found[:3])
    return middle if found.low is None or low == middle == high else f"{middle} [{low}, {high}]"


def _named(found: MetricStudy, holds: Callable[[PerturbationColumn, Curve], bool]) -> str:
    """Metrics, and in brackets the perturbations of which something holds."""
    named = {row.metric: [c.name for c in found.applied if holds(c, row.curves[c.name])] for row in found.measured}
    return "; ".join(f"{metric} ({', '.join(names)})" for metric, names in named.items() if names)


def _times(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"> {MOST_TIMES:g}" if ratio > MOST_TIMES else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _is_felt(curve: Curve) -> bool:
    response = curve.usual.response
    return response.is_not_zero and abs(response.mean or 0.0) >= FAINT


def _is_numb(curve: Curve) -> bool:
    return not curve.blind and curve.first_seen is None


def _is_praised(curve: Curve) -> bool:
    high = curve.usual.response.high
    return high is not None and high < 0


def _response(curve: Curve) -> TextCell:
    response = curve.usual.response
    if curve.blind or response.mean is None:
        return ("blind" if curve.blind else "-",)
    if response.low is None or response.high is None:
        return (f"{response.mean:.2f}",)
    return f"{response.mean:.2f}{'*' if response.is_not_zero else ''}", f"[{response.low:.2f}, {response.high:.2f}]"


def _first_and_rho(curve: Curve) -> TextCell:
    if curve.blind:
        return ("blind",)
    rho = curve.monotonicity.mean
    first = "never" if curve.first_seen is None else f"x{curve.first_seen:g}"
    return (first,) if rho is None else (f"{first} {rho:+.2f}",)


def _span(counts: set[int]) -> str:
    return "-" if not counts else f"{min(counts)}" if len(counts) == 1 else f"{min(counts)}-{max(counts)}"


KINDS = {
    "keeps": ("k2", "keep the scene"),
    "changes": ("k1", "change the scene"),
    "degrades": ("k8", "degrade the image"),
    "moves": ("k3", "move the camera"),
}
"""Colour and words of each kind of perturbation."""
QUALITY = 80
"""Of the example pictures, WebP."""
GAP_PX = 3
PLACES = {strength: place for place, strength in enumerate((0.0, *STRENGTHS))}
"""Where strengths lie on the axis of the curves: each step is a doubling but the first."""
TICKS = tuple(zip(PLACES.values(), ("0", "¼", "½", "1", "2", "4"), strict=True))


class ResponseCell(NamedTuple):
    """One response of the table.

    Attributes:
        fewer: Note on the number of units, if it is lower.
        shade: Strength of the colour in [0, 1].
        seen: Whether the response differs from that of the ground truth.
        blind: Whether the metric reads nothing that changes.
    """

    mean: str
    interval: str
    fewer: str
    shade: float
    seen: bool
    blind: bool


class Strip(NamedTuple):
    """Example pictures of one perturbation side by side, an address that holds them, and the words below each."""

    name: str
    what: str
    style: SeriesStyle
    encoded: str
    size: tuple[int, int]
    captions: tuple[str, ...]


def write_metric_study(found: MetricStudy, out: Path, command: str = "") -> Path:
    """Write the page of a study, whole or not at all."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(error, out.parent) from error
    atomic_write(out, plot(found) if out.suffix.lower() == ".svg" else render_metric_study(found, command))
    return out


def render_metric_study(found: MetricStudy, command: str = "") -> str:
    """Render the page of a metric study."""
    return (
        environment(__package__)
        .get_template("metric_study.html.j2")
        .render(
            found=found,
            css=Markup(asset("page.css")),
            words=conclusions(found),
            styles={column.name: look_of(column) for column in found.columns},
            kinds=[KINDS[kind] for kind in dict.fromkeys(column.kind for column in found.applied)],
            title_of=_title,
            grid=[(row, [_cell(row.curves[c.name], found.units) for c in found.applied]) for row in found.measured],
            panels=[(row, panel(row, found.applied)) for row in found.measured],
            forests=_forests(found.measured),
            strips=[_strip(column, found.examples[column.name]) for column in found.applied if found.examples],
            details=[(row, _details(row, found.applied)) for row in found.measured],
            strengths=[f"×{strength:g}" for strength in STRENGTHS],
            absent=[(row.metric, row.reason) for row in found.rows if row.reason],
            unapplied=[(_title(column.name), column.reason) for column in found.columns if column.reason],
            command=command,
        )
    )


def plot(found: MetricStudy, metrics: Sequence[str] = (), across: int = 3) -> str:
    """Curves as one self-contained SVG file."""
    rows = [found.row(name) for name in metrics] or list(found.measured)
    wide, tall = curves.WIDTH + 30, curves.HEIGHT + 34
    down = -(-len(rows) // across)
    parts = [svg.tag("style", Markup(asset("page.css")) + Markup("svg { background: var(--paper) }"))]
    for place, row in enumerate(rows):
        left, top = 14 + place % across * wide, 10 + place // across * tall
        heading = svg.label(row.metric, left + 4, top + 14, class_="name", font_weight=650)
        drawn = svg.tag("svg", panel(row, found.applied), x=left, y=top + 20, width=curves.WIDTH, height=curves.HEIGHT)
        parts += [heading, drawn]
    width, height = 14 + across * wide, 10 + down * tall
    whole = svg.tag(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        class_="chart day",
    )
    return str(whole)


def panel(row: MetricRow, columns: Sequence[PerturbationColumn]) -> Markup:
    """Draw the response of one metric against strength, one line per perturbation. All metrics have the same axis."""
    lines = [curves.ChartLine(look_of(column), _points(row.curves[column.name])) for column in columns]
    description = "; ".join(f"{_title(c.name)} {number(row.curves[c.name].usual.response.mean)}" for c in columns)
    return curves.line_chart(
        f"curve-{row.metric}",
        f"{row.metric}: response against strength",
        f"At the usual strength: {description}.",
        lines,
        x_label="strength (usual = 1)",
        y_label="response",
        unit=True,
        ticks=TICKS,
    )


def look_of(column: PerturbationColumn) -> SeriesStyle:
    """Its kind's colour; what is done to single things is dashed."""
    return SeriesStyle(column.name, KINDS[column.kind][0], _title(column.name), column.name.startswith("thing"))


def _points(curve: Curve) -> tuple[tuple[float, float, float | None, float | None], ...]:
    """Points from the truth on. Values beyond the axis are drawn at its end."""
    measured = [(PLACES[dose.strength], dose.response) for dose in curve.doses]
    known = [(place, min(max(r.mean, 0.0), 1.0), r.low, r.high) for place, r in measured if r.mean is not None]
    return ((0, 0.0, 0.0, 0.0), *known)


def _cell(curve: Curve, units: int) -> ResponseCell:
    response = curve.usual.response
    shade = min(max(response.mean or 0.0, 0.0), 1.0)
    fewer = "" if response.n == units else f"n = {response.n}"
    seen = response.is_not_zero
    return ResponseCell(number(response.mean, digits=2), _interval(response), fewer, round(shade, 3), seen, curve.blind)


def _interval(found: UnitMean, digits: int = 2) -> str:
    if found.low is None or found.high is None:
        return ""
    return f"{number(found.low, digits=digits)} to {number(found.high, digits=digits)}"


def _forests(rows: Sequence[MetricRow]) -> list[tuple[str, Markup]]:
    """Selectivity of the largest masks, and of things."""
    asked = {
        "Of the largest masks, as in the paper": [row.selectivity for row in rows],
        "Of buildings, trees and flowers": [row.selectivity_of_things for row in rows],
    }
    found = []
    for place, (title, answers) in enumerate(asked.items()):
        levels = [
            ForestRow(SeriesStyle(row.metric, "k1", row.metric), row.metric, s.share, s.low, s.high, ratio_words(s))
            for row, s in zip(rows, answers, strict=True)
            if s is not None
        ]
        description = "; ".join(f"{level.name}: {level.mean:.2f}" for level in levels)
        drawn = curves.forest(
            f"selective-{place}", title, description, levels, x_label="changes / (changes + harmless)"
        )
        found.append((title, drawn))
    return found


def _details(
    row: MetricRow, columns: Sequence[PerturbationColumn]
) -> list[tuple[str, list[tuple[str, str, str]], str, str]]:
    """Of each perturbation: its responses (words, interval, n and skipped), monotonicity, first strength seen."""
    lines = []
    for column in columns:
        curve = row.curves[column.name]
        by_strength = {dose.strength: dose for dose in curve.doses}
        cells = []
        for strength in STRENGTHS:
            dose = by_strength.get(strength)
            if dose is None:
                cells.append(("", "", ""))
                continue
            counted = f"n = {dose.response.n}" + (f", {dose.skipped} skipped" if dose.skipped else "")
            cells.append((number(dose.response.mean), _interval(dose.response, 3), counted))
        rho = curve.monotonicity
        first = "blind" if curve.blind else "never" if curve.first_seen is None else f"×{curve.first_seen:g}"
        interval = _interval(rho)
        lines.append((_title(column.name), cells, number(rho.mean) + (f" ({interval})" if interval else ""), first))
    return lines


def _strip(column: PerturbationColumn, pictures: Sequence[NDArray[np.uint8] | None]) -> Strip:
    """The truth and every strength, blank where there is no picture."""
    first = pictures[0]
    assert first is not None
    height, width = first.shape[:2]
    shown = dict(zip((0.0, *column.amounts), pictures, strict=True))
    # Transparent where nothing is shown, by day and by night.
    sheet = np.zeros((height, len(PLACES) * (width + GAP_PX) - GAP_PX, 4), np.uint8)
    captions = []
    for strength, place in PLACES.items():
        picture = shown.get(strength)
        amount = "truth" if strength == 0 else column.amounts.get(strength, "")
        captions.append(amount if picture is not None or not amount else f"{amount}: not in this frame")
        if picture is not None:
            left = place * (width + GAP_PX)
            sheet[:, left : left + width, :3] = picture[:, :, ::-1]
            sheet[:, left : left + width, 3] = 255
    _, coded = cv2.imencode(".webp", sheet, [cv2.IMWRITE_WEBP_QUALITY, QUALITY])
    encoded = f"data:image/webp;base64,{base64.b64encode(coded.tobytes()).decode()}"
    size = sheet.shape[1], sheet.shape[0]
    return Strip(_title(column.name), column.what, look_of(column), encoded, size, tuple(captions))


def _title(name: str) -> str:
    return name.replace("_", " ")
