"""Tables as lines of text for a width: nothing is cut, whatever the width is.

A table of numbers that is too wide continues in a second block below, with the same labels. Where not even one column
fits beside the labels, the table is turned round: a label on its own line, and a line per column under it. A listing of
words wraps its columns, and is turned round likewise. A single word that is wider than the width stays whole.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from itertools import accumulate, zip_longest
from typing import NamedTuple

from rich.cells import cell_len

GAP = "  "
NARROWEST_TEXT = 16
"""Fewer letters in a line are no longer text: the listing is turned round."""

Cell = tuple[str, ...]
"""The lines of one cell."""


class Line(NamedTuple):
    """One line of a table, and the number of its row: None for headings and empty lines."""

    text: str
    row: int | None = None


class Column(NamedTuple):
    """One column of numbers."""

    name: str
    cells: Sequence[Cell]

    @property
    def heading(self) -> Cell:
        """The lines of its name."""
        return tuple(self.name.split("\n"))

    @property
    def width(self) -> int:
        """Width of its widest line."""
        return _widest([self.heading, *self.cells])


def terminal_width() -> int:
    """Width of the terminal: COLUMNS, else as the terminal says, and 80 without one."""
    return shutil.get_terminal_size().columns


def lay_out_numbers(labels: Sequence[Cell], columns: Sequence[Column], width: int) -> list[Line]:
    """Lay out a table of numbers, its columns to the right."""
    if not all(count_fitting(labels, [column], width) for column in columns):
        return _turned_numbers(labels, columns, width)
    first = _widest(labels)
    lines: list[Line] = []
    left = list(columns)
    while left:
        fit = count_fitting(labels, left, width)
        block, left = left[:fit], left[fit:]
        lines += [Line("")] if lines else []
        lines += [Line(text) for text in _joined([("",), *(column.heading for column in block)], first, block)]
        for row, label in enumerate(labels):
            cells = [label, *(column.cells[row] for column in block)]
            lines += [Line(text, row) for text in _joined(cells, first, block)]
    return lines


def count_fitting(labels: Sequence[Cell], columns: Sequence[Column], width: int) -> int:
    """How many of the columns, from the first on, stand beside the labels within the width."""
    ends = accumulate((len(GAP) + column.width for column in columns), initial=_widest(labels))
    return sum(end <= width for end in ends) - 1 if _widest(labels) <= width else 0


def lay_out_text(names: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Line]:
    """Lay out a listing of words: columns to the left, wrapped between words."""
    columns = [[name, *(row[k] for row in rows)] for k, name in enumerate(names)]
    widths = _text_widths(columns, width - len(GAP) * (len(names) - 1))
    if widths is None:
        return _turned_text(names, rows, width)
    lines: list[Line] = []
    for number, row in enumerate((names, *rows)):
        cells = [wrap(text, wide) for text, wide in zip(row, widths, strict=True)]
        for k in range(max(map(len, cells))):
            parts = [_padded(cell[k] if k < len(cell) else "", wide) for cell, wide in zip(cells, widths, strict=True)]
            lines.append(Line(GAP.join(parts).rstrip(), number - 1 if number else None))
    return lines


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Wrap a text between words. Line breaks stay, and so do words that are too wide."""
    lines = [
        line
        for part in text.split("\n")
        for line in textwrap.wrap(
            part,
            max(1, width),
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]
    return lines or [""]


def _widest(labels: Sequence[Cell]) -> int:
    return max((cell_len(line) for label in labels for line in label), default=0)


def _joined(cells: Sequence[Cell], first: int, block: Sequence[Column]) -> list[str]:
    """Lines of a row: its label to the left, the cells of a block to the right."""
    lines = []
    for label, *parts in zip_longest(*cells, fillvalue=""):
        padded = [" " * (column.width - cell_len(part)) + part for part, column in zip(parts, block, strict=True)]
        lines.append(GAP.join([_padded(label, first), *padded]).rstrip())
    return lines


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _turned_numbers(labels: Sequence[Cell], columns: Sequence[Column], width: int) -> list[Line]:
    names = [" ".join(column.heading) for column in columns]
    named = max(map(cell_len, names))
    lines: list[Line] = []
    for row, label in enumerate(labels):
        lines += [Line(line, row) for line in label]
        for name, column in zip(names, columns, strict=True):
            cell = " ".join(column.cells[row])
            if len(GAP) + named + len(GAP) + cell_len(cell) <= width:
                lines.append(Line(f"{GAP}{_padded(name, named)}{GAP}{cell}".rstrip(), row))
            else:
                lines.append(Line(GAP + name, row))
                fits = 2 * len(GAP) + cell_len(cell) <= width
                lines += [Line(2 * GAP + part, row) for part in ([cell] if fits else column.cells[row])]
    return lines


def _turned_text(names: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Line]:
    lines: list[Line] = []
    for number, row in enumerate(rows):
        lines += [Line(line, number) for line in wrap(row[0], width)]
        for k, text in enumerate(row[1:], 1):
            # With two columns it is plain what the second is.
            said = text if len(names) == 2 else f"{names[k]}: {text}"
            lines += [Line(line, number) for line in wrap(said, width, GAP)] if text else []
    return lines


def _text_widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Widths of wrapped columns within the room, None if words do not fit. Columns that need least get space first."""
    longest = [max((cell_len(line) for text in column for line in text.split("\n")), default=0) for column in columns]
    least = [
        max(max((cell_len(word) for text in column for word in text.split()), default=0), min(full, NARROWEST_TEXT))
        for column, full in zip(columns, longest, strict=True)
    ]
    left = room - sum(least)
    if left < 0:
        return None
    widths = list(least)
    order = sorted(range(len(columns)), key=lambda k: longest[k] - least[k])
    for place, k in enumerate(order):
        more = min(longest[k] - least[k], left // (len(order) - place))
        widths[k] += more
        left -= more
    return widths
