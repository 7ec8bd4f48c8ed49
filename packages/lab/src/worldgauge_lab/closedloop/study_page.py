"""The page of a study: what can be concluded, a drawing with intervals, and the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from markupsafe import Markup

from worldgauge.engine.suite.contract import Cell
from worldgauge.report.charts import curves
from worldgauge.report.charts.curves import Curve, Level, ScatterPoint, SeriesStyle, look
from worldgauge.report.study_page import Figure, StudyPage, svg_file, write_page
from worldgauge.report.wording import number, times
from worldgauge_lab.closedloop.definitions import MEASURES, ArmResult, StudyResult

SUCCESS = "success (%)"
NOISE = "noise (0: the simulator itself)"


def write_study(finding: StudyResult, out: Path, command: str = "") -> Path:
    """Write the page of `finding` to `out`, and its drawing beside it as .svg; each whole or not at all.

    The page names the `command` that made it.

    Returns:
        Its path.

    Raises:
        RunError: Where it cannot be written.
    """
    return write_page(_page(finding, command), out)


def render_drawing(finding: StudyResult) -> str:
    """The drawing alone, as one self-contained SVG file."""
    return svg_file(draw(finding, _styles(finding)))


def _page(finding: StudyResult, command: str) -> StudyPage:
    styles, study = _styles(finding), finding.study
    n = max(point.success.n for point in finding.points)
    marked = "Dashed" if study.drawn == "levels" else "Hollow"
    figure = Figure(
        f"Success against {MEASURES[study.measure]}" if study.measure else "Success",
        draw(finding, styles),
        f"Means over {times(n, 'episode', 'episodes')}, with 95 % intervals. {marked}: what the others are compared "
        "with.",
        study.drawn,
    )
    about = "An agent in homes, with a world model in the loop"
    return StudyPage(study.name, about, study.question, finding.words, [figure], finding.tables, styles, command)


def _styles(finding: StudyResult) -> dict[str, SeriesStyle]:
    return {
        arm.label: SeriesStyle(f"s{place}", look(place), arm.label, arm.base is None)
        for place, arm in enumerate(point.arm for point in finding.points)
    }


def draw(finding: StudyResult, styles: Mapping[str, SeriesStyle]) -> Markup:
    """Points in the plane of the measure and success, lines of a sweep or over levels of noise, or a list."""
    study = finding.study
    title = study.question
    told = "; ".join(f"{p.arm.label}: {SUCCESS} {number(p.success.mean)}" for p in finding.points)
    if study.drawn == "levels":
        lines = list(_levels(finding))
        return curves.line_chart("study", title, told, lines, x_label=NOISE, y_label=SUCCESS, unit=False, whole=True)
    if study.drawn == "list" or study.measure is None:
        rows = [
            Level(styles[p.arm.label], p.arm.label, p.success.mean, p.success.low, p.success.high)
            for p in finding.points
            if p.success.mean is not None
        ]
        return curves.forest("study", title, told, rows, x_label=SUCCESS)
    name = MEASURES[study.measure]
    if study.drawn == "plane":
        spots = [
            ScatterPoint(
                styles[p.arm.label], p.measure.mean, p.success.mean, _interval(p.success), across=_interval(p.measure)
            )
            for p in finding.points
            if p.measure is not None and p.measure.mean is not None and p.success.mean is not None
        ]
        return curves.scatter("study", title, told, spots, x_label=name, y_label=SUCCESS, whole=True)
    families: dict[str, list[ArmResult]] = {}
    for point in finding.points:
        families.setdefault(point.arm.family, []).append(point)
    lines = [
        Curve(SeriesStyle(f"f{place}", look(place), family), _line(own))
        for place, (family, own) in enumerate(families.items())
    ]
    return curves.line_chart("study", title, told, lines, x_label=name, y_label=SUCCESS, unit=False, whole=True)


def _levels(finding: StudyResult) -> Iterator[Curve]:
    """For each task success over noise, and as level lines what no model and further ones come to."""
    swept = [point for point in finding.points if point.arm.noise is not None]
    level = [point for point in finding.points if point.arm.noise is None]
    end = max(point.arm.noise or 0.0 for point in swept)
    for place, task in enumerate(finding.points[0].by_task):
        known = [(point.arm.noise or 0.0, point.by_task[task]) for point in swept]
        line = tuple((at, cell.mean, cell.low, cell.high) for at, cell in known if cell.mean is not None)
        yield Curve(SeriesStyle(f"t{place}", look(place), task), line)
        for other, point in enumerate(level):
            cell = point.by_task[task]
            colour = look(place if point.arm.base is None else len(finding.points[0].by_task) + other)
            style = SeriesStyle(f"l{place}-{other}", colour, point.arm.label, reference=True)
            flat = tuple((at, cell.mean, cell.low, cell.high) for at in (0.0, end) if cell.mean is not None)
            yield Curve(style, flat)


def _line(points: list[ArmResult]) -> tuple[tuple[float, float, float | None, float | None], ...]:
    known = [
        (p.measure.mean, p.success.mean, p.success.low, p.success.high)
        for p in points
        if p.measure is not None and p.measure.mean is not None and p.success.mean is not None
    ]
    return tuple(sorted(known, key=lambda point: point[0]))


def _interval(cell: Cell) -> tuple[float, float] | None:
    return None if cell.low is None or cell.high is None else (cell.low, cell.high)
