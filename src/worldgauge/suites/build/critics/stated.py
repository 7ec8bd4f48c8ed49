"""What an instruction states of a build, and how far a build has it: sizes, counts of materials, materials, parts.

Only plain statements are read: "7 blocks wide (x)", "12 blocks of oak planks", names of materials, and the words of
`PARTS`. Which part of the build a number belongs to is not understood, so facts should be tried on the true build first
(`true_facts`), where there is one. Source of the wording: `generate.instructions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from worldgauge.suites.build.metrics.soundness import DOORS, WINDOWS, sheltered
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, Blueprint, base_name

PARTS: dict[str, re.Pattern[str] | None] = {
    "door": DOORS,
    "doors": DOORS,
    "window": WINDOWS,
    "windows": WINDOWS,
    "roof": None,
    "stairs": re.compile(r"_stairs$"),
    "fence": re.compile(r"_fence(?:_gate)?$"),
    "fences": re.compile(r"_fence(?:_gate)?$"),
    "gate": re.compile(r"_gate$"),
    "ladder": re.compile(r"^ladder$"),
    "carpet": re.compile(r"_carpet$"),
    "bed": re.compile(r"_bed$"),
    "chest": re.compile(r"chest$"),
    "leaves": re.compile(r"_leaves$"),
    "flowers": re.compile(r"_tulip$|^(?:dandelion|poppy|allium|cornflower|azure_bluet|blue_orchid|oxeye_daisy)$"),
    "water": re.compile(r"^water"),
    "torches": re.compile(r"torch$"),
    "lantern": re.compile(r"lantern$"),
    "lanterns": re.compile(r"lantern$"),
}
"""Words for parts, and how the names of their blocks look; a roof is whatever shelters something."""
_MOST_CHARACTERS = 20_000
_NEAR = 0.1
"""A number that is off by one, or by this share of itself, counts half."""

_SIZES = (
    ("width", re.compile(r"\b(\d{1,4})\s+blocks?\s+wide\b", re.IGNORECASE)),
    ("depth", re.compile(r"\b(\d{1,4})\s+blocks?\s+(?:deep|long)\b", re.IGNORECASE)),
    ("height", re.compile(r"\b(\d{1,4})\s+blocks?\s+(?:high|tall)\b", re.IGNORECASE)),
)
_COUNT = re.compile(r"\b(\d{1,6})\s+blocks?\s+of\s+", re.IGNORECASE)


@dataclass(frozen=True)
class StatedFact:
    """One stated fact.

    Attributes:
        kind: Of a size, a count of a material, a material, or a part.
        name: Axis, base name or word.
        number: Number of blocks, 0 if none is stated.
    """

    kind: Literal["size", "count", "material", "part"]
    name: str
    number: int = 0

    def __str__(self) -> str:
        said = self.name.replace("_", " ")
        return f"{self.number} blocks of {said}" if self.kind == "count" else f"{said} {self.number or ''}".strip()


def stated_facts(instruction: str, materials: Iterable[str]) -> tuple[StatedFact, ...]:
    """Read the facts that an instruction states, each once.

    Args:
        instruction: Its first 20,000 characters are read.
        materials: Materials whose names are known; a name inside a longer one ("stone" in "stone bricks") does not
            count.
    """
    text = " ".join(instruction[:_MOST_CHARACTERS].split())
    facts = [StatedFact("size", axis, int(found[1])) for axis, pattern in _SIZES if (found := pattern.search(text))]
    names = _names(materials)
    for count in _COUNT.finditer(text):
        said = text[count.end() : count.end() + 80].lower()
        name = next((name for name in names if re.match(rf"{re.escape(name.replace('_', ' '))}\b", said)), None)
        if name is not None:
            facts.append(StatedFact("count", name, int(count[1])))
    rest = text.lower()
    counted = {fact.name for fact in facts if fact.kind == "count"}
    for name in names:
        pattern = rf"\b{re.escape(name.replace('_', ' '))}\b"
        if re.search(pattern, rest):
            rest = re.sub(pattern, ";", rest)
            if name not in counted:
                facts.append(StatedFact("material", name))
    words = set(re.findall(r"[a-z]+", rest))
    parts = {PARTS[word]: StatedFact("part", word) for word in PARTS if word in words}
    return tuple(dict.fromkeys([*facts, *parts.values()]))


def true_facts(facts: Sequence[StatedFact], truth: Blueprint) -> tuple[StatedFact, ...]:
    """Return the facts that hold for the true build; others are about a part of it, or misread.

    Args:
        facts: Stated facts.
        truth: The true build.
    """
    return tuple(fact for fact in facts if holds(fact, truth) == 1)


def holds(fact: StatedFact, built: Blueprint) -> float:
    """Return 1 if a build has what is stated, 0.5 for a number that is nearly right, else 0."""
    if fact.kind == "size":
        return _near(getattr(built.trimmed().size, fact.name), fact.number) if built.blocks else 0.0
    used = built.names_only().counts()
    if fact.kind == "count":
        return _near(used.get(fact.name, 0), fact.number)
    if fact.kind == "material":
        return float(fact.name in used)
    pattern = PARTS[fact.name]
    return float(bool(sheltered(built).any()) if pattern is None else any(map(pattern.search, used)))


def _near(found: int, wanted: int) -> float:
    if found == wanted:
        return 1.0
    return 0.5 if found and abs(found - wanted) <= max(1.0, _NEAR * wanted) else 0.0


def _names(materials: Iterable[str]) -> list[str]:
    """Base names, the longest first."""
    return sorted({base_name(name) for name in materials} - AIR_NAMES - {""}, key=lambda name: (-len(name), name))
