"""Grouped bars: what is drawn, where, and what is left to the table."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from worldgauge.engine.suite.contract import Cell, Table, TableRow
from worldgauge.report import tables
from worldgauge.report import tables as bars
from worldgauge.report.curves import SeriesStyle
from worldgauge.report.tables import Bar, grouped_bars, of_table, reach

LOOKS = {name: SeriesStyle(f"s{k}", f"k{k}", name, name == "ref") for k, name in enumerate(("a", "b", "ref"))}


def cell(mean: float | None, low: float | None = None, high: float | None = None, n: int = 4) -> Cell:
    return Cell(mean, None, n, low, high, n)


def table(*rows: TableRow, columns: tuple[str, ...] = ("forward", "forward+look_left")) -> Table:
    return Table("rpe_rot_deg", "Turning", "deg", "lower", columns, rows, bars=True)


TWO = table(
    TableRow("a", (cell(1.0, 0.5, 1.5), cell(2.0, 1.0, 3.0))),
    TableRow("b", (cell(None, n=0), cell(4.0))),
    TableRow("ref", (cell(3.0, 2.9, 3.1), cell(math.inf)), "baseline", "does not move"),
)


def parse(table: Table) -> ElementTree.Element:
    drawn = of_table("t", table, LOOKS)
    return ElementTree.fromstring(str(drawn.svg))


def of_model(root: ElementTree.Element, key: str) -> list[ElementTree.Element]:
    return [g for g in root.iter("g") if g.get("data-model") == key]


def test_bars_have_the_heights_numbers_and_whiskers_of_their_cells() -> None:
    root = parse(TWO)
    said = [t.text for t in root.iter("title")][1:]
    assert said == [
        "forward, a: 1.000 deg [0.500, 1.500], n = 4",
        "forward, ref (does not move): 3.000 deg [2.900, 3.100], n = 4",
        "forward+look_left, a: 2.000 deg [1.000, 3.000], n = 4",
        "forward+look_left, b: 4.000 deg, n = 4",
    ]
    bodies = [r for g in of_model(parse(TWO), "s0") for r in g.iter("rect") if r.get("class") == "body"]
    heights = [float(r.get("height", 0)) for r in bodies]
    assert heights[1] / heights[0] == pytest.approx(2.0, rel=0.02)
    ends = [float(r.get("y", 0)) + float(r.get("height", 0)) for r in bodies]
    assert ends[0] == pytest.approx(ends[1], abs=0.15)
    body = next(r for r in of_model(root, "s0")[0].iter("rect") if r.get("class") == "body")
    path = next(p.get("d", "") for p in of_model(root, "s0")[0].iter("path"))
    low, high = (float(v) for v in re.match(r"M[\d.]+ ([\d.]+)V([\d.]+)", path).groups())
    top, tall = float(body.get("y", 0)), float(body.get("height", 0))
    assert (low - top, top - high) == (pytest.approx(tall / 2, abs=0.2), pytest.approx(tall / 2, abs=0.2))
    assert path.count("h4") == 2
    assert not list(of_model(root, "s1")[0].iter("path")), "no interval, no whisker"


def test_groups_are_apart_and_fill_their_rows() -> None:
    columns = tuple(f"group {k}" for k in range(12))
    rows = [TableRow(f"m{k}", tuple(cell(1.0 + k, 0.5 + k, 1.5 + k) for _ in columns)) for k in range(10)]
    drawn = of_table("t", table(*rows, columns=columns), {})
    root = ElementTree.fromstring(str(drawn.svg))
    spans = sorted(
        (float(r.get("y", 0)), float(r.get("x", 0)), float(r.get("width", 0)))
        for r in root.iter("rect")
        if r.get("class") == "target"
    )
    assert len(spans) == 120
    assert len({y for y, _, _ in spans}) == 1, "twelve groups of ten stand side by side"
    assert all(b[1] >= a[1] + a[2] - 0.11 for a, b in pairwise(spans))
    assert spans[-1][1] + spans[-1][2] <= drawn.width <= bars.ROW_PX
    series = [(LOOKS["a"], [Bar(1.0, None, None, "")] * 81)]
    drawn, width = grouped_bars(
        "t", "t", "d", [f"forward+look_left{k}" for k in range(81)], series, (0, 2), y_label="y"
    )
    root = ElementTree.fromstring(str(drawn))
    ys = [float(r.get("y", 0)) for r in root.iter("rect") if r.get("class") == "target"]
    counts = [ys.count(y) for y in sorted(set(ys))]
    assert sum(counts) == 81
    assert max(counts) - min(counts) < len(counts)
    assert width <= bars.ROW_PX


def test_axes_speak_and_the_table_has_the_rest() -> None:
    root = parse(TWO)
    assert "rpe rot (deg), ↓ lower is better" in [t.text for t in root.iter("text")]
    title, description = root[0].text or "", root[1].text or ""
    assert title == "Turning: rpe rot (deg), ↓ lower is better"
    assert description.endswith("Shorter is better.")
    rows = [TableRow(f"r{k}", (cell(1.0),) * 2, "baseline") for k in range(8)]
    rows += [TableRow(f"m{k}", (cell(1.0),) * 2) for k in range(5)]
    styles = {row.label: SeriesStyle(row.label, "k1", row.label) for row in rows}
    drawn = of_table("t", table(*rows), styles)
    assert [style.label for style, _ in drawn.key] == [*(f"m{k}" for k in range(5)), *(f"r{k}" for k in range(5))]
    assert drawn.left_out == 3


def test_wide_intervals_and_negative_values() -> None:
    low, high, cut = reach([Bar(1.0, 0.9, 1.1, ""), Bar(1.0, -80.0, 80.0, "")])
    assert cut
    assert -2 < low < 0
    assert high < 2
    root = parse(table(TableRow("a", (cell(1.0, -80.0, 80.0), cell(1.0, 0.9, 1.1)))))
    caps = [p.get("d", "").count("h4") for p in root.iter("path") if p.get("class") == "reach"]
    assert caps == [0, 2]
    root = parse(table(TableRow("a", (cell(-1.0, -1.5, -0.5), cell(1.0, 0.5, 1.5)))))
    down, up = [r for r in root.iter("rect") if r.get("class") == "body"]
    base = float(up.get("y", 0)) + float(up.get("height", 0))
    assert float(down.get("y", 0)) == pytest.approx(base, abs=0.15)
    assert reach([Bar(0.0, None, None, "")])[:2] == (0.0, pytest.approx(1.04))
    assert reach([]) == (0.0, pytest.approx(1.04), False)


def test_labels_of_small_values_fit_beside_the_axis() -> None:
    root = parse(table(TableRow("a", (cell(2.5e-8), cell(1e-8)))))
    ticks = [t.text or "" for t in root.iter("text") if t.get("text-anchor") == "end"]
    assert "1e−8" in ticks
    assert all(len(text) * bars.NAME_PX < bars.LEFT - 17 for text in ticks)


def test_tables_that_are_not_drawn() -> None:
    assert of_table("t", table(TableRow("a", (cell(None, n=0),) * 2)), LOOKS) is None
    several = Table("m", "M", "1", "neither", ("x", "y"), TWO.rows, betters=("lower", "higher"), bars=True)
    assert of_table("t", several, LOOKS) is None
    assert tables.view_table("t", TWO, LOOKS, {}).bars is not None
    silent = Table("m", "M", "1", "lower", TWO.columns, TWO.rows)
    assert tables.view_table("t", silent, LOOKS, {}).bars is None
    assert tables.view_table("t", TWO, LOOKS, {}, ours=False).bars is None
    evil = "<script>alert(1)</script>"
    drawn = of_table("t", table(TableRow(evil, (cell(1.0),) * 2), columns=(evil, "b")), {})
    assert "<script>" not in drawn.svg
