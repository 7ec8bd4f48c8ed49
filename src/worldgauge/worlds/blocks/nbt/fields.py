"""Fields of an NBT compound, checked as they are taken: every error names the file and the field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.worlds.blocks.blueprint import material

MOST_TEXT = 200
"""Letters kept of a text that only describes."""
MOST_NAME = 120
"""Letters of the way to a field that a message gives, the last ones."""


@dataclass(frozen=True)
class Fields:
    """A compound of an NBT file.

    Attributes:
        tags: Its fields.
        what: The file, and chunk, that it belongs to.
        at: Path to it, with a dot at the end. Empty for the root.
    """

    tags: Mapping[str, Any]
    what: str
    at: str = ""

    def __contains__(self, key: str) -> bool:
        return key in self.tags

    def error(self, key: str, why: str) -> DataError:
        """Make an error that names the file and the path to a field.

        Args:
            key: The field.
            why: What is wrong with it.
        """
        return DataError(f"{self.what}: field '{plain((self.at + key)[-MOST_NAME:])}' {why}")

    def whole(self, key: str, low: int, high: int) -> int:
        """Read a whole number.

        Args:
            key: The field.
            low: Smallest.
            high: Largest.

        Raises:
            DataError: It is missing, not a whole number, or out of range.
        """
        value = self._get(key)
        if not isinstance(value, int) or not low <= value <= high:
            raise self.error(key, f"is {_said(value)}, not a whole number from {low} to {high}")
        return int(value)

    def text(self, key: str) -> str:
        """A text."""
        value = self._get(key)
        if not isinstance(value, str):
            raise self.error(key, f"is {_said(value)}, not a text")
        return str(value)

    def place(self, key: str) -> tuple[int, int, int]:
        """Three whole numbers of a list or an array: x, y, z."""
        value = self._get(key)
        found = value.tolist() if isinstance(value, np.ndarray) and len(value) == 3 else value
        if not isinstance(found, list) or len(found) != 3 or not all(isinstance(one, int) for one in found):
            raise self.error(key, f"is {_said(value)}, not three whole numbers")
        return int(found[0]), int(found[1]), int(found[2])

    def corner(self, key: str, most: int) -> tuple[int, int, int]:
        """Read the whole numbers x, y and z of a compound.

        Args:
            key: The field.
            most: Largest absolute value.

        Raises:
            DataError: One is missing, not a whole number, or out of range.
        """
        inner = self.compound(key)
        return inner.whole("x", -most, most), inner.whole("y", -most, most), inner.whole("z", -most, most)

    def array(self, key: str, size: int) -> NDArray[Any]:
        """Read an array of numbers.

        Args:
            key: The field.
            size: Bytes per number.

        Returns:
            The array in native byte order.

        Raises:
            DataError: It is missing or of another type.
        """
        value = self._get(key)
        if not isinstance(value, np.ndarray) or value.dtype.itemsize != size:
            raise self.error(key, f"is {_said(value)}, not an array of {8 * size}-bit numbers")
        return np.array(value.view(np.ndarray), value.dtype.newbyteorder("="))

    def compound(self, key: str) -> Fields:
        """A compound."""
        value = self._get(key)
        if not isinstance(value, dict):
            raise self.error(key, f"is {_said(value)}, not a compound")
        return Fields(value, self.what, f"{self.at}{key}.")

    def compounds(self, key: str, *, needed: bool = True) -> Iterator[Fields]:
        """Yield the compounds of a list.

        Args:
            key: The field.
            needed: False yields none where the field is missing.

        Raises:
            DataError: It is not a list of compounds, or missing and needed.
        """
        if not needed and key not in self.tags:
            return
        value = self._get(key)
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.error(key, f"is {_said(value)}, not a list of compounds")
        for number, one in enumerate(value):
            yield Fields(one, self.what, f"{self.at}{key}[{number}].")

    def facts(self, *keys: str) -> dict[str, int | str]:
        """Those of the fields that are there and are whole numbers or texts, texts cut to MOST_TEXT letters."""
        found: dict[str, int | str] = {}
        for key in keys:
            value = self.tags.get(key)
            if isinstance(value, str):
                found[key] = plain(value)[:MOST_TEXT]
            elif isinstance(value, int):
                found[key] = int(value)
        return found

    def _get(self, key: str) -> Any:
        if key not in self.tags:
            raise self.error(key, "is missing; export the file again")
        return self.tags[key]


def plain(text: str) -> str:
    """A stranger's text for a message: one line, nothing that a terminal obeys."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _said(value: Any) -> str:
    # Never the repr of a list or an array: it may have millions of numbers.
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, str):
        return f"'{plain(value[:40])}'"
    kind = "an array" if isinstance(value, np.ndarray) else "a list" if isinstance(value, list) else "a compound"
    return f"{kind} of {len(value)}"


_NAME = re.compile(r"(?:[a-z0-9_.-]{1,64}:)?[a-z0-9_./-]{1,128}")
_STATE = re.compile(r"[a-z0-9_]{1,64}")


def material_of_text(text: str) -> str:
    """A material from "namespace:name[key=value,...]".

    Raises:
        ValueError: For text that the game would reject.
    """
    name, bracket, rest = text.strip().partition("[")
    if bracket and not rest.endswith("]"):
        raise ValueError("has no closing bracket")
    parts = [part.partition("=") for part in rest.removesuffix("]").split(",")] if rest.removesuffix("]") else []
    return _checked(name, {key.strip(): value.strip() for key, _, value in parts})


def material_of(entry: Fields) -> str:
    """A material from a palette's compound with Name and Properties.

    Raises:
        DataError: For a name or state that is not allowed.
    """
    states: dict[str, str] = {}
    if "Properties" in entry:
        properties = entry.compound("Properties")
        states = {str(key): properties.text(key) for key in properties.tags}
    try:
        return _checked(entry.text("Name"), states)
    except ValueError as error:
        raise entry.error("Name", f"{error}, so it is no block of the game; export the file again") from None


def check_numbers(cells: NDArray[Any], count: int, fields: Fields, key: str) -> None:
    """Check that all numbers of cells exist in a palette.

    Args:
        cells: The numbers.
        count: Number of entries of the palette.
        fields: Compound of the cells, for messages.
        key: Name of the field, for messages.

    Raises:
        DataError: For a number without an entry.
    """
    if cells.size and (cells.min() < 0 or cells.max() >= count):
        place = int(np.argmax((cells < 0) | (cells >= count)))
        raise fields.error(key, f"holds {cells.ravel()[place]} for cell {place}, but the palette has {count} entries")


def _checked(name: str, states: dict[str, str]) -> str:
    lower = name.strip().lower()
    if not _NAME.fullmatch(lower):
        raise ValueError(f"'{plain(name[:40])}' has letters that no block's name has")
    for key, value in states.items():
        if not _STATE.fullmatch(key) or not _STATE.fullmatch(value):
            raise ValueError(f"state '{plain(key[:40])}={plain(value[:40])}' has letters that no block's state has")
    return material(lower, states)
