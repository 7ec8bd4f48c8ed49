"""The page of a study of trained models, with a drawing for each measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from worldgauge.engine.suite.contract import Cell
from worldgauge.report.charts import curves
from worldgauge.report.charts.curves import Curve, Level, ScatterPoint, SeriesStyle, look
from worldgauge.report.study_page import Figure, StudyPage, write_page
from worldgauge.report.wording import number, times
from worldgauge_train.studies.findings import SPEED, Finding, Point


def write_finding(finding: Finding, out: Path, command: str = "") -> Path:
    """Write the page of a study, and its drawings beside it as .svg; each whole or not at all.

    Args:
        finding: What came of the study.
        out: File of the page, .html.
        command: Command that makes it again.

    Returns:
        Its path.

    Raises:
        RunError: It cannot be written.
    """
    return write_page(page_of(finding, command), out)


def page_of(finding: Finding, command: str = "") -> StudyPage:
    """The page of a study.

    Args:
        finding: What came of it.
        command: Command that makes it again.
    """
    study = finding.study
    styles = {
        point.arm.label: SeriesStyle(
            f"s{place}", look(place), point.arm.label, point.arm.at is None or point.arm.base is None
        )
        for place, point in enumerate(finding.points)
    }
    figures = []
    for place, measure in enumerate(finding.measures):
        n = max(point.cells[place].n for point in finding.points)
        note = f"Means over {times(n, 'task', 'tasks')}, with 95 % intervals."
        cells = [point.cells[place] for point in finding.points]
        figures.append(Figure(measure.title, _draw(finding, f"plot-{place}", cells, measure.title, styles), note,
                              study.drawn))  # fmt: skip
    if study.is_timed and study.drawn == "lines":
        note = "Of each answer, by the clock of this machine, so machines cannot be compared."
        cells = [point.speed or Cell(None, None, 0) for point in finding.points]
        figures.append(Figure("Speed", _draw(finding, "plot-speed", cells, SPEED, styles), note))
    about = f"World models on the tasks of {finding.suite}"
    return StudyPage(study.name, about, study.question, finding.words, figures, finding.tables, styles, command)


def _draw(finding: Finding, ident: str, cells: Sequence[Cell], name: str, styles: dict[str, SeriesStyle]) -> Markup:
    study, points = finding.study, finding.points
    told = "; ".join(f"{point.arm.label}: {number(cell.mean)}" for point, cell in zip(points, cells, strict=True))
    known = [(point, cell) for point, cell in zip(points, cells, strict=True) if cell.mean is not None]
    if study.drawn == "list":
        rows = [
            Level(styles[point.arm.label], point.arm.label, cell.mean or 0.0, cell.low, cell.high)
            for point, cell in known
        ]
        return curves.forest(ident, study.question, told, rows, x_label=name)
    if study.drawn == "plane":
        spots = [
            ScatterPoint(
                styles[point.arm.label],
                point.speed.mean,
                cell.mean or 0.0,
                _interval(cell),
                across=_interval(point.speed),
            )
            for point, cell in known
            if point.speed is not None and point.speed.mean is not None
        ]
        return curves.scatter(ident, study.question, told, spots, x_label=SPEED, y_label=name, whole=True)
    return _lines(ident, study.question, told, known, study.axis, name)


def _lines(
    ident: str, title: str, told: str, known: Sequence[tuple[Point, Cell]], x_label: str, y_label: str
) -> Markup:
    """Lines over the logarithm of `Arm.at`, with a mark for each number; models beside as level lines."""
    at = sorted({point.arm.at for point, _ in known if point.arm.at is not None})
    positive = [one for one in at if one > 0] or [1.0]
    zero = math.log10(positive[0]) - 0.5
    place_of = {one: (math.log10(one) if one > 0 else zero) for one in at}
    left = min(place_of.values(), default=0.0)
    tick_of = {one: f"{one:g}" for one in at}
    tick_of |= {point.arm.at: point.arm.tick for point, _ in known if point.arm.at is not None and point.arm.tick}
    families = dict.fromkeys(point.arm.family for point, _ in known)
    lines = []
    for number_of, family in enumerate(families):
        own = [(point, cell) for point, cell in known if point.arm.family == family]
        is_level = own[0][0].arm.at is None
        style = SeriesStyle(f"f{number_of}", look(number_of), family, reference=is_level)
        if is_level:
            cell = own[0][1]
            ends = [0.0, max(place_of.values(), default=left + 1) - left]
            line = [(end, cell.mean or 0.0, cell.low, cell.high) for end in ends]
        else:
            line = sorted(_merged([(place_of[point.arm.at or 0.0] - left, cell) for point, cell in own]))
        lines.append(Curve(style, tuple(line)))
    ticks = [(place_of[one] - left, tick_of[one]) for one in at]
    return curves.line_chart(
        ident, title, told, lines, x_label=x_label, y_label=y_label, unit=False, ticks=ticks, whole=True
    )


def _merged(points: Sequence[tuple[float, Cell]]) -> list[tuple[float, float, float | None, float | None]]:
    """One point for each place: trainings of several seeds as their mean, with the widest ends of their intervals."""
    found = []
    for place in dict.fromkeys(at for at, _ in points):
        own = [cell for at, cell in points if at == place]
        lows = [cell.low for cell in own if cell.low is not None]
        highs = [cell.high for cell in own if cell.high is not None]
        mean = math.fsum(cell.mean or 0.0 for cell in own) / len(own)
        found.append((place, mean, min(lows, default=None), max(highs, default=None)))
    return found


def _interval(cell: Cell) -> tuple[float, float] | None:
    return None if cell.low is None or cell.high is None else (cell.low, cell.high)
