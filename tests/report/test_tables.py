from worldgauge.core.english import listed
from worldgauge.engine.suite.contract import Better, Cell, Table, TableRow
from worldgauge.report import tables
from worldgauge.report.curves import SeriesStyle
from worldgauge.report.wording import column_name, metric_name, number, p_value, plain, times

LOOKS = {name: SeriesStyle(f"s{k}", f"k{k}", name, name == "truth") for k, name in enumerate(("truth", "a", "b"))}
SEES = {"truth": ("truth",)}


def table(better: Better = "higher") -> Table:
    return Table(
        "m",
        "M",
        "1",
        better,
        ("ABA 5", "ABA 15"),
        (
            TableRow("truth", (Cell(1.0, 0.0, 3, 1.0, 1.0, 3), Cell(1.0, 0.0, 2, 1.0, 1.0, 2)), "baseline"),
            TableRow("a", (Cell(0.712, 0.121, 3, 0.6, 0.8, 3), Cell(0.5, 0.1, 2, 0.4, 0.6, 2))),
            TableRow("b", (Cell(0.6, 0.2, 2, 0.4, 0.8, 3), Cell(None, None, 0, expected=2))),
        ),
        ("a note",),
    )


def cells(view: tables.TableView, label: str) -> tuple[tables.CellView, ...]:
    return next(row.cells for _, rows in view.groups for row in rows if row.label == label)


def test_cells_have_their_numbers_and_what_is_missing() -> None:
    view = tables.view_table("t", table(), LOOKS, SEES)
    first = cells(view, "a")[0]
    assert (first.mean, first.interval, first.count) == ("0.712", "[0.600, 0.800]", "")
    assert view.columns == (("ABA 5", "n = 3"), ("ABA 15", "n = 2"))
    assert view.notes == ("a note",)
    view = tables.view_table("t", table(), LOOKS, SEES)
    assert (cells(view, "b")[0].count, cells(view, "b")[0].short) == ("2 of 3", True)
    assert (cells(view, "b")[1].mean, cells(view, "b")[1].count) == ("–", "0 of 2")
    two = Table("m", "M", "1", "higher", ("c",), (TableRow("a", (Cell(1, 0, 3),)), TableRow("b", (Cell(1, 0, 1),))))
    assert cells(tables.view_table("t", two, LOOKS, {}), "b")[0].count == "1 of 3"


def test_models_and_references_are_groups_and_the_best_is_marked() -> None:
    groups = tables.view_table("t", table(), LOOKS, SEES).groups
    assert [(heading, [row.label for row in rows]) for heading, rows in groups] == [
        ("Models under test", ["a", "b"]),
        ("Baselines", ["truth"]),
    ]
    assert groups[1][1][0].sees == ("truth",)
    view = tables.view_table("t", table(), LOOKS, SEES)
    assert [c.best for c in cells(view, "truth")] == [False, False]
    assert cells(view, "a")[0].best
    lower = tables.view_table("t", table("lower"), LOOKS, SEES)
    assert cells(lower, "a")[0].best, "b has a better mean, but over fewer tasks"
    assert not tables.view_table("t", table("neither"), LOOKS, SEES).has_best
    same = Table(
        "m", "M", "1", "higher", ("c",), (TableRow("a", (Cell(0.5, 0, 3),)), TableRow("b", (Cell(0.5, 0, 3),)))
    )
    assert not tables.view_table("t", same, LOOKS, {}).has_best


def test_published_numbers_keep_their_digits() -> None:
    printed = Table("m", "M", "1", "higher", ("c",), (TableRow("Oasis", (Cell(0.26, 0.18, 18),), "published"),))
    cell = cells(tables.view_table("t", printed, {}, {}, ours=False), "Oasis")[0]
    assert (cell.mean, cell.whisker) == ("0.26", "")
    rows = tuple(TableRow(str(k), (Cell(v, None, 18),), "published") for k, v in enumerate((0.58, 1.0, 11.083)))
    view = tables.view_table("t", Table("m", "M", "1", "higher", ("c",), rows), {}, {}, ours=False)
    assert [cells(view, str(k))[0].mean for k in range(3)] == ["0.580", "1.000", "11.083"]
    endless = Table("m", "M", "dB", "higher", ("c",), (TableRow("a", (Cell(float("inf"), None, 2),)),))
    assert cells(tables.view_table("t", endless, LOOKS, {}), "a")[0] == tables.CellView("∞")


def test_numbers_names_and_values_as_words() -> None:
    assert [number(v) for v in (None, 0.12345, -0.5, 1234.5, float("-inf"), -0.0001)] == [
        "–", "0.123", "−0.500", "1234", "−∞", "0.000",
    ]  # fmt: skip
    assert (number(0.2, sign=True), number(0.0, sign=True)) == ("+0.200", "0.000")
    assert (p_value(None), p_value(0.0001), p_value(0.04)) == ("–", "< 0.001", "0.040")
    assert (listed([]), listed(["a"]), listed(["a", "b", "c"])) == ("", "a", "a, b and c")
    assert (times(1, "run", "runs"), times(1200, "run", "runs")) == ("1 run", "1,200 runs")
    assert metric_name("path/fde", "m") == "FDE (m)"
    assert metric_name("path/heading_error", "deg") == "heading error (deg)"
    assert column_name("reprojection_px") == "reprojection (px)"
    assert column_name("points_per_frame") == "points per frame"
    assert [plain(v) for v in (None, "", True, 3, -3, 0.25, float("nan"), [1, 2.5], {"a": 1}, "ok")] == [
        "–", "–", "yes", "3", "−3", "0.250", "–", "1, 2.500", "a 1", "ok",
    ]  # fmt: skip


def test_columns_of_several_metrics_and_counts() -> None:
    rows = (
        TableRow("a", (Cell(0.5, 0.1, 3), Cell(0.5, 0.1, 3))),
        TableRow("b", (Cell(0.9, 0.1, 3), Cell(0.9, 0.1, 3))),
        TableRow("yardstick", (Cell(0.0, 0.0, 3), Cell(1.0, 0.0, 3)), "baseline"),
    )
    mixed = Table("m", "M", "1", "neither", ("error", "score"), rows, betters=("lower", "higher"))
    view = tables.view_table("t", mixed, LOOKS, {})
    assert view.directions == ("↓ lower is better", "↑ higher is better")
    assert view.direction == ""
    assert [c.best for c in cells(view, "a")] == [True, False]
    assert [c.best for c in cells(view, "b")] == [False, True]
    assert not any(c.best for c in cells(view, "yardstick")), "no run stands behind it"
    counts = Table(
        "m", "M", tables.COUNTS, "neither", ("ok", "failed"), (TableRow("a", (Cell(3, None, 4), Cell(1, None, 4))),)
    )
    first = cells(tables.view_table("t", counts, LOOKS, {}), "a")[0]
    assert (first.mean, first.interval, first.count, first.whisker) == ("3", "", "", "")
