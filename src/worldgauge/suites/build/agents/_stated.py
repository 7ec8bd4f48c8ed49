"""What an instruction states in numbers and names: the size of a build, its materials, and which layers are of which.

The wording is that of `collect.build_instructions`; of other texts it finds what happens to be put alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from worldgauge.worlds.blocks.blueprint import base_name

MOST_CHARACTERS = 20_000
"""Of an instruction that is read."""

_N = r"(\d{1,4})"
_SIDES = (
    (rf"\b{_N}\s+(?:blocks?\s+)?(?:high|tall|in\s+height)\b", rf"\bheight\s+(?:of|is|:)?\s*{_N}\b"),
    (rf"\b{_N}\s+(?:blocks?\s+)?(?:deep|long|in\s+(?:depth|length))\b", rf"\b(?:depth|length)\s+(?:of|is|:)?\s*{_N}\b"),
    (rf"\b{_N}\s+(?:blocks?\s+)?(?:wide|in\s+width)\b", rf"\bwidth\s+(?:of|is|:)?\s*{_N}\b"),
)
_BAND = re.compile(r"\b(lowest|next|top|all|only)\s+(?:(\d{1,4})\s+)?layers?\s+consists?\s+(?:[a-z]+\s+)?of\s+")
_COUNT = re.compile(r"\b(\d{1,6})\s+blocks?\s+of\s+")
_TIMES = re.compile(rf"\b{_N}\s*[x*×]\s*{_N}\s*[x*×]\s*{_N}\b")


class Stated(NamedTuple):
    """size: (height, depth, width) where all three are stated and allowed. mentioned: numbers of the materials that
    are named, in the order of their first mention; each of its base name once. layers: number of the main material of
    each layer from the ground up, as many as are told; all layers of the build count as one. blocks: sum of all counts
    of a material, 0 without one."""

    size: tuple[int, int, int] | None
    mentioned: tuple[int, ...]
    layers: tuple[int, ...]
    blocks: int


def read_stated(text: str, materials: Sequence[str], most: tuple[int, int, int]) -> Stated:
    """What `text` says. most: (height, depth, width); a larger size is cut to it.

    Sizes are such as "5 blocks wide", "4 blocks high", "7 blocks deep" or "long", the first of each, or three numbers
    "5x7x4" (width, length, height). Materials are named with blanks or with underscores.
    """
    text = text[:MOST_CHARACTERS].lower()
    names = _Names(materials)
    layers = [number for found in _BAND.finditer(text) for number in _band(found, names, text, most[0])]
    blocks = sum(int(count[1]) for count in _COUNT.finditer(text))
    return Stated(_size(text, most), names.said(text), tuple(layers[: most[0]]), blocks)


def _size(text: str, most: tuple[int, int, int]) -> tuple[int, int, int] | None:
    found = [_first(patterns, text) for patterns in _SIDES]
    times = _TIMES.search(text)
    if None in found and times:
        found = [int(times[3]), int(times[2]), int(times[1])]
    sides = [min(side, limit) for side, limit in zip(found, most, strict=True) if side]
    return (sides[0], sides[1], sides[2]) if len(sides) == 3 else None


def _first(patterns: Sequence[str], text: str) -> int | None:
    matches = [match for pattern in patterns if (match := re.search(pattern, text))]
    return int(min(matches, key=lambda match: match.start())[1]) if matches else None


def _band(found: re.Match[str], names: _Names, text: str, most: int) -> tuple[int, ...]:
    """The material that is named behind a band's opening words, once a layer of it."""
    number = names.at(text, found.end())
    return () if number is None else (number,) * min(int(found[2] or 1), most)


class _Names:
    """Base names of materials, to be found in a text with blanks or underscores, in the singular or the plural."""

    def __init__(self, materials: Sequence[str]) -> None:
        self._numbers: dict[str, int] = {}
        for number, name in enumerate(materials, 1):
            self._numbers.setdefault(base_name(name), number)
        self._numbers.pop("", None)
        # The longest name first: "stone bricks" hides the "stone" in it.
        names = sorted(self._numbers, key=lambda name: (-len(name), name))
        either = "|".join(r"[\s_]+".join(re.escape(word) for word in name.split("_")) for name in names)
        self._pattern = re.compile(rf"(?<![a-z])(?:{either or '(?!)'})s?(?![a-z_])")

    def said(self, text: str) -> tuple[int, ...]:
        """Numbers of those that are named, in the order of their first mention."""
        return tuple(dict.fromkeys(self._number(phrase) for phrase in self._pattern.findall(text)))

    def at(self, text: str, place: int) -> int | None:
        """Number of the one that is named at a place of the text, None where none is."""
        found = self._pattern.match(text, place)
        return self._number(found[0]) if found else None

    def _number(self, phrase: str) -> int:
        plain = re.sub(r"[\s_]+", "_", phrase)
        return self._numbers[plain if plain in self._numbers else plain.removesuffix("s")]
