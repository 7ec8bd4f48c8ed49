"""Votes on builds for the same brief: a Swiss tournament between agents, and scores of their ranks.

Source: MineAnyBuild, section 3.2 and algorithm 1. Its greedy pairing is part of the definition: who meets whom changes
who wins, so it is not replaced by an optimal matching.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from worldgauge.chat.answers import answer_text
from worldgauge.core.errors import UsageError
from worldgauge.metrics._registry import metric

_SIGNS = "*_`\"'()[]{}<>"
_MARKS = str.maketrans("", "", _SIGNS)
_MARK = rf"[{re.escape(_SIGNS)}]"
_ENDS = ".,;:!"
_NAMED = r"(?:answer|option|choice)"
_LEAD = re.compile(rf"(?:the\s+)?(?:correct\s+)?(?:final\s+)?{_NAMED}\b(?:\s+is\b)?\s*(?:[:=]\s*)?", re.IGNORECASE)
_BOXED = re.compile(
    r"\\boxed\s{0,9}\{\s{0,9}(?:\\[a-z]{1,12}\s{0,9}\{){0,2}([^{}]{1,200})\}"
    r"|<(?:answer|final_answer|final|output|solution|response|conclusion)>([^<>]{1,200})</"
    r"|<\|begin_of_box\|>([^<>]{1,200})<\|end_of_box\|>",
    re.IGNORECASE,
)
"""Forms that models are trained to put a final answer in, such as \\boxed{\\text{B}} and <answer>B</answer>."""
_LETTER = re.compile(rf"(?<!\S)({_MARK}{{0,9}})([A-Z])({_MARK}{{0,9}})(?=[\s.,;:!?]|\Z)")
_AFTER_LETTER = re.compile(
    r"[ \t]+(?:because|since|as|is|was|would|must|and|or|has|shows?|fits?|matches|looks|seems|due)\b", re.IGNORECASE
)
"""Words that follow a letter but never an article."""

MOST_CHARACTERS = 100_000
"""Characters of an answer that are read, from its end, where conclusions stand."""


def read_choice(text: str, choices: Sequence[str]) -> str | None:
    """Read the choice that an answer names, without its reasoning (`answer_text`).

    In order: the last \\boxed{X} or <answer>X</answer>; the whole answer; after "the correct answer is"; the last
    "answer is X" or "option: X"; a last, else first line that is only a choice; the only word or lone capital that
    occurs. An A that begins a sentence is an article, unless marked.
    """
    return _choice_in(answer_text(text)[-MOST_CHARACTERS:].strip(), choices)


def _choice_in(text: str, choices: Sequence[str]) -> str | None:
    """The choice of an answer: the boxed one, else the one that is named."""
    final = ["".join(held) for held in _BOXED.findall(text)]
    return (_choice_in(final[-1], choices) if final else None) or _named_in(text, choices)


def _named_in(text: str, choices: Sequence[str]) -> str | None:
    """The choice that a text names, whatever is boxed in it."""
    plain = text.translate(_MARKS).strip()
    known = {choice.casefold(): choice for choice in choices}
    if found := known.get(_bare(plain)):
        return found
    lead = _LEAD.match(plain)
    if lead and (found := known.get(_bare(plain[lead.end() :]))):
        return found
    words = "|".join(map(re.escape, choices))
    named = re.findall(
        rf"{_NAMED}\b(?:\s+(?:is|would\s+be)\b)?\s*(?:[:=]\s*)?(?:\boption\s+)?\b({words})\b", plain, re.IGNORECASE
    )
    if named and (found := known.get(named[-1].casefold())):
        return found
    lines = [bare for line in plain.split("\n") if (bare := _bare(line))]
    if lines and len(set(lines)) > 1 and known.keys() >= set(lines):
        return None
    for line in (*lines[-1:], *lines[:1]):
        if line in known:
            return known[line]
    return _lone_letter(text, choices) if all(len(choice) == 1 for choice in choices) else _only_word(plain, known)


def read_choice_released(text: str, choices: Sequence[str]) -> str | None:
    """Return the choice that is the whole answer apart from white space, as in the published evaluation; else None."""
    return text.strip() if text.strip() in choices else None


@metric("reasoning_accuracy", unit="%", better="higher", bounds=(0.0, 100.0), version=3, source="MineAnyBuild, 3.2")
def reasoning_accuracy(read: str | None, right: str) -> float:
    """Return 100 if the choice read is the right one, else 0; an unreadable answer is wrong.

    Args:
        read: The choice; None if it could not be read.
        right: The right one.

    Examples:
        >>> reasoning_accuracy("B", "B"), reasoning_accuracy(None, "B")
        (100.0, 0.0)
    """
    return 100.0 if read == right else 0.0


def _bare(text: str) -> str:
    return text.strip().rstrip(_ENDS).strip().casefold()


def _lone_letter(text: str, choices: Sequence[str]) -> str | None:
    found = {match[2] for match in _LETTER.finditer(text) if match[2] in choices and _is_named(match, text)}
    return found.pop() if len(found) == 1 else None


def _is_named(match: re.Match[str], text: str) -> bool:
    """Whether a capital that stands alone is meant as a choice: not asked about, and no article."""
    end = match.end()
    if text[end : end + 1] == "?":
        return False
    if match[2] != "A" or match[3] or text[end : end + 1] not in (" ", "\t") or _AFTER_LETTER.match(text, end):
        return True
    before = text[max(0, match.start() - 200) : match.start()].rstrip(" \t" + _SIGNS)
    return not match[1] and before[-1:] not in ("", "\n", ".", "!", "?", ":", ";")


def _only_word(text: str, known: dict[str, str]) -> str | None:
    found = [choice for word, choice in known.items() if re.search(rf"\b{re.escape(word)}\b", text.casefold())]
    return found[0] if len(found) == 1 else None


_CODE = "MineAnyBuild, released code"
Weighting = Literal["paper", "released"]
Weights = Mapping[str, Mapping[str, float]]

_SAME = {
    "understanding": {"completeness": 1.0},
    "creativity": {"creativity": 0.8, "completeness": 0.05, "complexity": 0.05, "structure": 0.05, "aesthetic": 0.05},
}
WEIGHTS: Mapping[str, Weights] = MappingProxyType(
    {
        "paper": {"planning": {"completeness": 0.4, "complexity": 0.3, "aesthetic": 0.3}, **_SAME},
        "released": {"planning": {"completeness": 0.3, "complexity": 0.3, "aesthetic": 0.4}, **_SAME},
    }
)
"""Weight of each dimension by kind of task, as the paper states them and as its code has them."""
ON_TOP = 0.05
"""Weight of the matching or voting score in the comprehensive one."""
SUCCESS = 7.0
"""Least mark of an answer of commonsense that counts as a success; the code tests >= 7, its comment says > 7."""
LOWEST, HIGHEST = 1.0, 10.0
"""Of a critic's grade; 10 are full marks in every kind of task."""

_DIMENSIONS = {
    "creativity": "creativity",
    "completeness": "completeness",
    "completenessinstructionfollowing": "completeness",
    "instructionfollowingcompleteness": "completeness",
    "instructionfollowing": "completeness",
    "complexity": "complexity",
    "structure": "structure",
    "architecturestructure": "structure",
    "aesthetic": "aesthetic",
    "overallaesthetic": "aesthetic",
    "overallaestheticatmosphereandfidelity": "aesthetic",
}


def dimension_of(name: str) -> str | None:
    """Return our name of a dimension that the paper or its code spells otherwise; None if it is not a dimension."""
    return _DIMENSIONS.get(re.sub(r"[^a-z]", "", name[:200].lower()))


@metric("build_grade", unit="points", better="higher", bounds=(1.0, 10.0), source="MineAnyBuild, 3.2")
def build_grade(grade: float) -> float:
    """Return a critic's grade in one dimension, 1 to 10.

    Raises:
        UsageError: If it is out of range.

    Examples:
        >>> build_grade(7)
        7.0
        >>> build_grade(0)
        Traceback (most recent call last):
        worldgauge.core.errors.UsageError: a grade of 0 cannot be; grades are 1 to 10
    """
    if not LOWEST <= grade <= HIGHEST:
        raise UsageError(f"a grade of {grade} cannot be; grades are 1 to 10")
    return float(grade)


@metric("build_evaluation", unit="points", better="higher", bounds=(0.0, 10.0), source="MineAnyBuild, 3.2")
def evaluation(
    kind: str,
    executable: bool,
    grades: Mapping[str, float] | None,
    *,
    weights: Weighting | Mapping[str, float] = "paper",
) -> float | None:
    """Return the weighted mean of a critic's grades; 0 for what cannot be built.

    Args:
        kind: Kind of task.
        executable: Whether the answer can be built.
        grades: 1 to 10 by dimension; None if there are none, and then there is no score.
        weights: The paper's, those of its code, or by dimension.

    Raises:
        UsageError: If grades are missing or out of range, or weights do not sum to 1.

    Examples:
        >>> grades = {"completeness": 10, "complexity": 5, "aesthetic": 5}
        >>> round(build_evaluation("planning", True, grades), 6)  # 0.4 * 10 + 0.3 * 5 + 0.3 * 5
        7.0
    """
    own = _weights(kind, weights)
    if not executable:
        return 0.0
    if grades is None:
        return None
    if missing := sorted(set(own) - set(grades)):
        raise UsageError(f"no grade for {', '.join(missing)}")
    return math.fsum(weight * build_grade(grades[name]) for name, weight in own.items())


@metric("build_graded", unit="points", better="higher", bounds=(1.0, 10.0), source="MineAnyBuild, released code")
def graded_only(
    kind: str,
    executable: bool,
    grades: Mapping[str, float] | None,
    *,
    weights: Weighting | Mapping[str, float] = "paper",
) -> float | None:
    """Return `evaluation`, but None for what cannot be built: the released code leaves failures out of its means.

    Args:
        kind: Kind of task.
        executable: Whether the answer can be built.
        grades: As of `evaluation`.
        weights: As of `evaluation`.

    Examples:
        >>> grades = {"completeness": 10, "complexity": 5, "aesthetic": 5}
        >>> round(build_graded("planning", True, grades), 6), build_graded("planning", False, grades)
        (7.0, None)
    """
    return evaluation(kind, executable, grades, weights=weights) if executable else None


@metric("build_comprehensive", unit="points", better="higher", bounds=(0.0, 10.0), source="MineAnyBuild, 3.2")
def comprehensive(executable: bool, evaluated: float | None, on_top: float | None) -> float | None:
    """Return 0.95 of the evaluation score plus 0.05 of the matching or, for creativity, voting score.

    Args:
        executable: Whether the answer can be built.
        evaluated: Evaluation score, 0 to 10.
        on_top: Matching or voting score, 0 to 10.

    Returns:
        0 for what cannot be built, None if either score is missing.

    Examples:
        >>> round(build_comprehensive(True, evaluated=8.0, on_top=10.0), 6)
        8.1
    """
    if not executable:
        return 0.0
    return None if evaluated is None or on_top is None else (1 - ON_TOP) * evaluated + ON_TOP * on_top


@metric("build_commonsense", unit="points", better="higher", bounds=(0.0, 10.0), version=2, source="MineAnyBuild, 3.2")
def commonsense(mark: float | None) -> float | None:
    """Return a judge's mark of an answer, 0 to 10; None without a mark.

    Examples:
        >>> build_commonsense(7), build_commonsense(None)
        (7.0, None)
    """
    if mark is not None and not 0 <= mark <= HIGHEST:
        raise UsageError(f"a mark of {mark} cannot be; marks are 0 to 10")
    return None if mark is None else float(mark)


@metric("build_commonsense_success", unit="%", better="higher", bounds=(0.0, 100.0), version=2, source=_CODE)
def commonsense_success(mark: float | None) -> float | None:
    """Return 100 for a mark of at least 7, else 0; None without a mark.

    Raises:
        UsageError: If it is out of range.

    Examples:
        >>> build_commonsense_success(7), build_commonsense_success(6.5)
        (100.0, 0.0)
    """
    checked = commonsense(mark)
    return None if checked is None else 100.0 if checked >= SUCCESS else 0.0


@metric("full_marks", unit="%", better="higher", bounds=(0.0, 100.0), version=2, source="MineAnyBuild, 3.2")
def full_marks(points: float | None) -> float | None:
    """Return points of 10, for any kind of task, in percent; None without points.

    Raises:
        UsageError: If they are out of range.

    Examples:
        >>> full_marks(7.5)
        75.0
    """
    if points is not None and not 0 <= points <= HIGHEST:
        raise UsageError(f"{points} points cannot be; give 0 to 10")
    return None if points is None else 100 * points / HIGHEST


@metric("build_overall", unit="points", better="higher", bounds=(0.0, 100.0), source="MineAnyBuild, table 1")
def overall(marks: Sequence[float]) -> float:
    """Return the overall score of 100: the mean of the kinds' full marks, equally weighted.

    In the paper, with all five kinds: 10 / 5 of the sum of four means of 0 to 10 and of reasoning's accuracy / 10.

    Args:
        marks: Percent, one per kind.

    Raises:
        UsageError: Without kinds, or if marks are out of range.

    Examples:
        >>> build_overall([100.0, 50.0, 0.0])
        50.0
    """
    if not marks or not all(0 <= mark <= 100 for mark in marks):
        raise UsageError(f"the overall score is of means of 0 to 100, one a kind of task; got {list(marks)}")
    return math.fsum(marks) / len(marks)


def _weights(kind: str, weights: Weighting | Mapping[str, float]) -> Mapping[str, float]:
    if isinstance(weights, str):
        if weights not in WEIGHTS:
            raise UsageError(f"no weights '{weights}'; known: {', '.join(WEIGHTS)}")
        if kind not in WEIGHTS[weights]:
            raise UsageError(f"builds are graded in {', '.join(WEIGHTS[weights])}, not in '{kind}'")
        return WEIGHTS[weights][kind]
    if not math.isclose(math.fsum(weights.values()), 1, abs_tol=1e-9) or min(weights.values()) < 0:
        raise UsageError(f"weights add up to 1 and are not negative, got {dict(weights)}")
    return weights


LAST_VOTES, VOTES_RANGE = 3.0, 5.0
"""The last gets 3 points, the first 8."""
EVEN_VOTES = 5.5
"""For all agents if all are equal; the paper divides by zero there."""


class Duel(NamedTuple):
    """A comparison of two agents; the upper one is shown first. choice: 1 or 2."""

    upper: str
    lower: str
    choice: int


@dataclass(frozen=True)
class Tournament:
    """Result of a tournament; `points` are wins minus losses, and equal points rank by id as plain strings."""

    rounds: tuple[tuple[Duel, ...], ...]
    points: Mapping[str, int]
    ranking: tuple[str, ...]


def swiss(ids: Sequence[str], rounds: int, first_wins: Callable[[str, str], bool]) -> Tournament:
    """Play up to `rounds` rounds, fewer when all that could meet have met.

    `first_wins`(upper, lower) puts the leader first, so query a position-biased judge in both orders.
    """
    if len(set(ids)) != len(ids):
        raise UsageError(f"agents of a vote have distinct ids, got {sorted(ids)}")
    if rounds < 0:
        raise UsageError(f"a vote of {rounds} rounds cannot be")
    points = dict.fromkeys(ids, 0)
    met: dict[str, set[str]] = {agent: set() for agent in ids}
    played: list[tuple[Duel, ...]] = []
    for _ in range(rounds):
        pairs = _pairs(_ranked(points), met)
        if not pairs:
            break
        duels = []
        for upper, lower in pairs:
            won = first_wins(upper, lower)
            points[upper] += 1 if won else -1
            points[lower] += -1 if won else 1
            met[upper].add(lower)
            met[lower].add(upper)
            duels.append(Duel(upper, lower, 1 if won else 2))
        played.append(tuple(duels))
    return Tournament(tuple(played), points, tuple(_ranked(points)))


@metric("build_voting", unit="points", better="higher", bounds=(3.0, 8.0), source="MineAnyBuild, algorithm 1")
def voting_scores(points: Mapping[str, int]) -> dict[str, float]:
    """Return points of a tournament as scores: 3 for the fewest, 8 for the most, 5.5 for all if all are equal.

    Raises:
        UsageError: Without any agent.

    Examples:
        >>> build_voting({"a": 2, "b": 0, "c": -2})
        {'a': 8.0, 'b': 5.5, 'c': 3.0}
    """
    if not points:
        raise UsageError("a vote without agents has no scores")
    fewest, most = min(points.values()), max(points.values())
    if fewest == most:
        return dict.fromkeys(points, EVEN_VOTES)
    return {agent: LAST_VOTES + VOTES_RANGE * (own - fewest) / (most - fewest) for agent, own in points.items()}


def _ranked(points: Mapping[str, int]) -> list[str]:
    return sorted(points, key=lambda agent: (-points[agent], agent))


def _pairs(ranked: Sequence[str], met: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """From the top down, each with the nearest below that is free and that it has not met; some may sit out."""
    used: set[str] = set()
    pairs = []
    for place, upper in enumerate(ranked):
        if upper in used:
            continue
        lower = next((one for one in ranked[place + 1 :] if one not in used and one not in met[upper]), None)
        if lower is not None:
            used |= {upper, lower}
            pairs.append((upper, lower))
    return pairs
