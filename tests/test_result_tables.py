"""Tables as text and as HTML."""

from worldgauge.engine.suite.contract import Cell, Table, TableRow
from worldgauge.result import ShownTable, Tables


def table(title: str = "Overlap", mean: float | None = 0.712) -> Table:
    rows = (
        TableRow("<b>mine</b>", (Cell(mean, 0.1, 3, 0.6, 0.8),), flag="does not move"),
        TableRow("truth", (Cell(1.0 if mean else None, 0.0, 3, 1.0, 1.0),), "baseline"),
    )
    return Table("overlap", title, "1", "higher", ("ABA <5>",), rows, ("a note & more",))


def test_a_table_is_plain_text_in_a_script() -> None:
    text = str(ShownTable.of(table()))
    assert text.splitlines()[0] == "Overlap, higher is better"
    assert "0.712" in text
    assert "[0.60, 0.80]" in text
    assert text.endswith("a note & more")
    assert "\x1b" not in text


def test_html_holds_the_numbers_and_escapes_names() -> None:
    html = ShownTable.of(table("A < B"))._repr_html_()
    for told in (
        "0.712",
        "[0.600, 0.800]",
        "does not move",
        "A &lt; B",
        "&lt;b&gt;mine",
        "ABA &lt;5&gt;",
        "&amp; more",
    ):
        assert told in html
    assert "<b>" not in html


def test_tables_show_the_first_and_fold_the_others_away() -> None:
    tables = Tables.of([table(), table("Empty", None), table("Second")])
    assert [one.title for one in tables] == ["Overlap", "Empty", "Second"]
    html = tables._repr_html_()
    assert html.index("Overlap") < html.index("<details><summary>Second")
    assert "Empty" not in html
    assert "Empty" not in str(tables)
    assert str(tables).startswith(str(tables[0]))
    assert str(tables).endswith("More, each by .table(NAME): Second")


def test_a_shown_table_is_a_table() -> None:
    assert isinstance(Tables.of([table()])[0], Table)
    assert Tables.of([table()])[0].rows == table().rows
    assert Tables.of([])._repr_html_().split() == ["<div>", "</div>"]
