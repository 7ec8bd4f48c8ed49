"""English of generated sentences: articles, plurals and lists."""

from __future__ import annotations

from collections.abc import Sequence

_MASS = frozenset({"exercise equipment", "furniture", "gym equipment", "laundry", "seating", "water"})
_PLURALS = {"bus": "buses", "cactus": "cacti", "bookshelf": "bookshelves", "shelf": "shelves"}
"""Irregular ones, and singulars that end like a plural."""


def article(noun: str) -> str:
    """A noun with "a" or "an" before it."""
    return f"{'an' if noun[:1].lower() in tuple('aeiou') else 'a'} {noun}"


def listed(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def some(noun: str, count: int = 1, colour: str = "") -> str:
    """One or several things: "an oak tree", "oak trees", "poppies", "a red chest of drawers"."""
    before = f"{colour} " if colour else ""
    head, of, rest = noun.partition(" of ")
    last = head.rpartition(" ")[2]
    if noun in _MASS or (last.endswith("s") and not last.endswith("ss") and last not in _PLURALS):
        return before + noun
    if count == 1:
        return article(before + noun)
    first = head.removesuffix(last)
    return f"{before}{first}{_plural(last)}{of}{rest}"


def _plural(noun: str) -> str:
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
