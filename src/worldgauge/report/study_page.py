"""The page of a study: what can be concluded, drawings with intervals, and the numbers; drawings also as SVG files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

from worldgauge.engine.store import atomic_write, write_error
from worldgauge.engine.suite.contract import Table
from worldgauge.report import svg, tables
from worldgauge.report.curves import SeriesStyle
from worldgauge.report.page import asset, environment


@dataclass(frozen=True)
class Figure:
    """A drawing of a study."""

    title: str
    drawn: Markup
    note: str
    kind: str = "lines"


@dataclass(frozen=True)
class StudyPage:
    """What a page of a study shows."""

    name: str
    about: str
    question: str
    words: Sequence[str]
    figures: Sequence[Figure]
    tables: Sequence[Table]
    styles: dict[str, SeriesStyle]
    command: str = ""


def write_page(page: StudyPage, out: Path) -> Path:
    """Write a page, and each drawing beside it as .svg (several are numbered); each whole or not at all."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(error, out.parent) from error
    atomic_write(out, render_page(page))
    for number, figure in enumerate(page.figures, 1):
        name = f"{out.stem}.svg" if len(page.figures) == 1 else f"{out.stem}-{number}.svg"
        atomic_write(out.with_name(name), svg_file(figure.drawn))
    return out


def render_page(page: StudyPage) -> str:
    """The page as text."""
    views = (tables.view_table(f"table-{k}", one, page.styles, {}) for k, one in enumerate(page.tables))
    return (
        environment()
        .get_template("study.html.j2")
        .render(
            page=page,
            css=Markup(asset("page.css")),
            tables=[
                replace(view, groups=tuple(("What is compared", rows) for _, rows in view.groups)) for view in views
            ],
        )
    )


def svg_file(drawn: Markup) -> str:
    """A drawing alone, as one self-contained SVG file."""
    width, height = (float(side) for side in drawn.split('viewBox="', 1)[1].split('"', 1)[0].split()[2:])
    style = svg.tag("style", Markup(asset("page.css")) + Markup("svg { background: var(--paper) }"))
    return str(
        svg.tag(
            "svg",
            style,
            # Names of curves stand to the right of the drawing, which a page does not cut.
            svg.tag("svg", drawn, x=8, y=8, width=width, height=height, overflow="visible"),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width + 48:g} {height + 16:g}",
            width=f"{2 * (width + 48):g}",
            height=f"{2 * (height + 16):g}",
            class_="chart day",
        )
    )
