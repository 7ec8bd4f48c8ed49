"""`rules`: grades builds by measures of geometry, so that everything can be graded where no model is at hand.

    critics.get("rules")(CriticKit()).grade(work, seed=0).grades      # {"completeness": 7.3, ...}

Where there is a reference, grades say how near the build comes to it: the truth gets 10 in all dimensions, and losing
some of its blocks never raises completeness. Without one (creativity) they say how well the build is made: whether it
stands, holds together, is more than a box, uses its materials, is orderly, and has the parts that the brief names.

Limits. The rules see no beauty and no meaning: a well-made house gets the same grades for "Build a house." as for
"Build a ship.", and a strange but fitting idea gets nothing for being one. Grades of creativity tell sound builds from
boxes, noise and fragments, not good ones from better ones. In a build of a few dozen blocks holes and strewn blocks
may count as shape, and materials that alternate block by block count as disorder wherever they stand.
What improves on the reference counts as a deviation from it. They are no stand-in for the paper's critic: never compare
the two point by point. `worldgauge_lab.critic_study` measures how far they can be trusted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.critics import (
    BEST,
    DIMENSIONS,
    WORST,
    CommonsenseMark,
    CriticKit,
    Grades,
    Preference,
    Submission,
    critics,
)
from worldgauge.suites.mineanybuild.critics.marking import mark_by_rules
from worldgauge.suites.mineanybuild.metrics.blueprint_matching import best_shift, matching_f1, overlap
from worldgauge.suites.mineanybuild.metrics.scores import WEIGHTS
from worldgauge.suites.mineanybuild.metrics.soundness import (
    DOORS,
    WINDOWS,
    Soundness,
    offered_used,
    sheltered,
    soundness,
)
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
    """One stated fact."""

    kind: Literal["size", "count", "material", "part"]
    name: str
    number: int = 0

    def __str__(self) -> str:
        said = self.name.replace("_", " ")
        return f"{self.number} blocks of {said}" if self.kind == "count" else f"{said} {self.number or ''}".strip()


def stated_facts(instruction: str, materials: Iterable[str]) -> tuple[StatedFact, ...]:
    """Facts of the first 20,000 characters, each once; "stone" in "stone bricks" is another material."""
    text = " ".join(instruction[:_MOST_CHARACTERS].split())
    facts = [StatedFact("size", axis, int(found[1])) for axis, pattern in _SIZES if (found := pattern.search(text))]
    names = sorted({base_name(name) for name in materials} - AIR_NAMES - {""}, key=lambda name: (-len(name), name))
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
    """Return the facts that hold for the true build; others are about a part of it, or misread."""
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


MOVED = 0.9
"""Worth of matches of a shifted build, relative to matches in place."""
STEEP = 1.5
"""Exponent of the closeness: half of the blocks right gives 0.35 of the way to full marks."""
FACTS = 0.25
"""Share of the instruction's facts in completeness of planning."""
ORDERLY, SLACK = 0.6, 0.7
"""Order from which a build is as neat as can be, and the power below. Blocks at random have 0, our medium structures
0.26 to 0.7, and every seventh cell exchanged takes 0.15 to 0.3 away."""
ALIKE = 0.6
"""Share of touching blocks of one material from which a build beside a reference is not strewn."""
ORDER_EASE, AGREEMENT_EASE = 0.2, 0.08
"""How soon order, and agreement of touching materials beyond chance, count without a reference: 63 % at these values.
Of all pairs at which 95 % of 102 builds that people made, and of ours, fall if a quarter of their blocks is exchanged,
removed or added, these grade people's builds highest."""
GIVEN_PAIRS = 25
"""Pairs of equal neighbours added to every build, since a few blocks cannot look scattered."""
ALMOST = 9.9
"""Most marks of a build that is not the reference: full marks are for the reference alone."""
MANY_BLOCKS, FEW_BLOCKS = 800, 8
MANY_MATERIALS, MANY_LAYERS = 7, 8
"""More materials or layers than these do not raise a grade."""

Shares = dict[str, tuple[float, str]]
"""Share from 0 to 1, and the reason, by dimension."""


@critics.register("rules", chat=False, version=2)
class RulesCritic:
    """Grades by geometry, marks by words; no language model, no randomness."""

    def __init__(self, kit: CriticKit | None = None) -> None:
        pass

    def grade(self, submission: Submission, seed: int) -> Grades:
        """Grade from 1 to 10, in tenths; see `Critic.grade`."""
        if submission.kind not in DIMENSIONS:
            raise UsageError(
                f"task '{submission.task}' of kind '{submission.kind}' is no build; grade {', '.join(DIMENSIONS)}"
            )
        shares = _shares(submission)
        grades = {name: round(WORST + (BEST - WORST) * min(1.0, max(0.0, shares[name][0])), 1) for name in shares}
        return Grades(grades, {name: why for name, (_, why) in shares.items()})

    def compare(self, first: Submission, second: Submission, seed: int) -> Preference:
        """Choose the higher weighted grade, of equals the smaller digest in any order; see `Critic.compare`."""
        totals = [_total(submission.kind, self.grade(submission, seed).grades) for submission in (first, second)]
        if totals[0] != totals[1]:
            return Preference(totals[0] > totals[1], f"{totals[0]:.2f} against {totals[1]:.2f} by rules")
        return Preference(
            first.built.digest <= second.built.digest, f"both {totals[0]:.2f} by rules, decided by digest"
        )

    def mark(self, question: str, expected: str, given: str, seed: int) -> CommonsenseMark:
        """Mark by `marking.mark_by_rules`; see `Critic.mark`."""
        return mark_by_rules(question, expected, given)


def _total(kind: str, grades: Mapping[str, float]) -> float:
    return round(math.fsum(weight * grades[name] for name, weight in WEIGHTS["paper"][kind].items()), 6)


def _shares(submission: Submission) -> Shares:
    if not submission.built.blocks:
        return dict.fromkeys(DIMENSIONS[submission.kind], (0.0, "nothing is built"))
    if submission.kind == "creativity":
        return _alone(submission)
    if submission.reference is None or not submission.reference.blocks:
        # Without a reference the intent is unknown, so the workmanship is graded.
        alone = _alone(submission)
        return {name: alone[name] for name in DIMENSIONS[submission.kind]}
    return _beside(submission, submission.reference)


def _beside(submission: Submission, truth: Blueprint) -> Shares:
    """Grade by similarity to the reference."""
    near, moved = _closeness(truth, submission.built)
    steep: float = near**STEEP if near == 1 else min(near**STEEP, (ALMOST - WORST) / (BEST - WORST))
    said = f"{near:.0%} of the reference" + (", best where moved" if moved else "")
    if submission.kind == "understanding":
        return {"completeness": (steep, said)}
    facts = true_facts(stated_facts(submission.instruction, (*truth.materials, *submission.built.materials)), truth)
    held = _held(facts, submission.built)
    complete = steep if held is None else (1 - FACTS) * steep + FACTS * held
    mine, theirs = soundness(submission.built), soundness(truth)
    neat = _alike(mine.connected, theirs.connected) * min(1.0, _orderly(mine) / _orderly(theirs))

    def alike(*names: str) -> float:
        return sum(_alike(getattr(mine, name), getattr(theirs, name)) for name in names) / len(names)

    rich, like = alike("blocks", "materials", "layers", "fill"), alike("symmetry", "supported", "evenness")
    return {
        "completeness": (complete, said + _said(facts, submission.built)),
        "complexity": (
            rich * neat * near,
            f"{mine.blocks} blocks of {mine.materials} materials, {mine.layers} different layers; the reference has "
            f"{theirs.blocks}, {theirs.materials}, {theirs.layers}",
        ),
        "aesthetic": (0.5 * steep + 0.5 * like * neat * near, said + f"; {_looks(mine)}"),
    }


def _closeness(truth: Blueprint, built: Blueprint) -> tuple[float, bool]:
    """Return F1 of typed blocks plus a quarter of F1 of occupancy, in [0, 1], in place or shifted; and which."""
    count = overlap(truth, built)
    total = count.truth + count.built
    placed = 0.75 * (matching_f1(truth, built) or 0.0) + 0.25 * 2 * count.occupied / total
    moved = MOVED * 2 * best_shift(truth, built).matched / total
    return max(placed, moved), moved > placed


def _alone(submission: Submission) -> Shares:
    """Grade by how the build is made."""
    found = soundness(submission.built)
    steady = (found.supported or 0.0) * (found.connected or 0.0)
    neat = steady * _neat(found, submission.built)
    sized = min(1.0, math.log1p(found.blocks / FEW_BLOCKS) / math.log1p(MANY_BLOCKS / FEW_BLOCKS))
    rich = 0.6 * min(1.0, (found.materials - 1) / (MANY_MATERIALS - 1)) + 0.4 * (found.evenness or 0.0)
    shaped = 0.6 * min(1.0, (found.layers - 1) / (MANY_LAYERS - 1)) + 0.4 * min(1.0, 2 * (1 - found.fill))
    open_ = 1.0 if found.reachable is None else 0.75 + 0.25 * found.reachable
    facts = tuple(
        fact for fact in stated_facts(submission.instruction, submission.built.materials) if fact.kind == "part"
    )
    held = _held(facts, submission.built)
    offered = offered_used(submission.built, submission.built.materials) or 0.0
    whole = (sized + shaped + min(1.0, 2 * offered)) / 3
    more = f"{found.blocks} blocks of {found.materials} materials, {found.layers} different layers"
    return {
        "creativity": (neat * (0.45 * shaped + 0.4 * rich + 0.15 * sized) * _more(shaped), more),
        "completeness": (
            neat * (whole if held is None else (whole + held) / 2) * _more(shaped),
            more + _said(facts, submission.built),
        ),
        "complexity": (neat * (0.4 * shaped + 0.35 * rich + 0.25 * sized) * _more(shaped), more),
        "structure": (neat * open_ * (0.7 * shaped + 0.3 * (found.symmetry or 0.0)) * _more(shaped), _stands(found)),
        "aesthetic": (
            neat * (0.4 * (found.symmetry or 0.0) + 0.3 * rich + 0.3 * shaped) * _more(shaped),
            _looks(found),
        ),
    }


def _more(shaped: float) -> float:
    """0 for a solid box, 1 from half of the fullest shape on: what is no shape gets nothing for size and symmetry."""
    return min(1.0, 2 * shaped)


def _orderly(found: Soundness) -> float:
    """Return 1 for a build that is neat throughout, less for scattered blocks and scattered materials."""
    neat: float = min(1.0, max(0.01, _order(found) / ORDERLY)) ** SLACK
    return neat * min(1.0, _touching(found) / ALIKE)


def _neat(found: Soundness, built: Blueprint) -> float:
    """Neatness without a reference: scattered materials are told from many materials, which rarely touch their like."""
    shares = np.array(list(built.names_only().counts().values())) / found.blocks
    chance = float((shares**2).sum())
    agreement = (_touching(found) - chance) / (1 - chance) if chance < 1 else 1.0
    parts = ((_order(found), ORDER_EASE), (agreement, AGREEMENT_EASE))
    return math.prod(1 - math.exp(-max(0.0, share) / ease) for share, ease in parts)


def _order(found: Soundness) -> float:
    """Order of a build with GIVEN_PAIRS more."""
    width, height, depth = found.size
    pairs = 3 * width * height * depth - width * height - height * depth - depth * width
    return ((found.order or 0.0) * pairs + GIVEN_PAIRS) / (pairs + GIVEN_PAIRS)


def _touching(found: Soundness) -> float:
    """Share of touching blocks of one material in a build with GIVEN_PAIRS more."""
    return ((found.alike or 0.0) * found.blocks + GIVEN_PAIRS) / (found.blocks + GIVEN_PAIRS)


def _alike(one: float | None, other: float | None) -> float:
    """Return the ratio of the smaller to the larger; 1 if both are 0 or missing."""
    low, high = sorted((one or 0.0, other or 0.0))
    return low / high if high > 0 else 1.0


def _held(facts: tuple[StatedFact, ...], built: Blueprint) -> float | None:
    return math.fsum(holds(fact, built) for fact in facts) / len(facts) if facts else None


def _said(facts: tuple[StatedFact, ...], built: Blueprint) -> str:
    missing = [str(fact) for fact in facts if not holds(fact, built)]
    if not facts:
        return ""
    return f"; {len(facts) - len(missing)} of {len(facts)} stated facts" + (
        f", not: {', '.join(missing[:6])}" if missing else ""
    )


def _stands(found: Soundness) -> str:
    inside = f"an inside of {found.inside} cells" if found.inside else "no inside"
    way = "" if found.reachable is None else f", {found.reachable:.0%} of it within reach"
    return f"{found.supported or 0:.0%} supported, {found.connected or 0:.0%} in one piece, {inside}{way}"


def _looks(found: Soundness) -> str:
    return f"symmetry {found.symmetry or 0:.0%}, order {found.order or 0:.2f}, evenness {found.evenness or 0:.2f}"
