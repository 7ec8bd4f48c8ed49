"""Which choice an answer in words names, whether it is right, and the score of guessing.

Source: MineAnyBuild, spatial reasoning (section 3.3 and its evaluation).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    """Read the choice that an answer names.

    Reasoning is left out first (`answer_text`). Then, in this order: what the last \\boxed{X} or <answer>X</answer>
    holds; the whole answer is a choice in any case, once marks and a full stop are removed; the same after "the correct
    answer is" and the like; what the last "answer is X", "option: X" or similar names; a last line, else a first line,
    that is a choice and nothing else, unless all lines are, which is a list of the choices. Failing these, for words
    the only one that occurs, and for letters the only capital that stands alone and is not asked about ("B?"). An A
    that begins a sentence and is followed by a word counts only in marks ("**A**", "A)") or before a word such as
    "because" or "is": else it is an article.

    Args:
        text: The answer.
        choices: Allowed choices.

    Returns:
        One of `choices`; None if the answer names none or leaves it open, which is wrong.
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
    """Return the choice that is the whole answer apart from white space, as in the published evaluation; else None.

    Args:
        text: The answer.
        choices: Allowed choices.
    """
    return text.strip() if text.strip() in choices else None


@metric("reasoning_accuracy", unit="%", better="higher", bounds=(0.0, 100.0), version=3, source="MineAnyBuild, 3.3")
def reasoning_accuracy(read: str | None, right: str) -> float:
    """Return 100 if the choice read is the right one, else 0; an unreadable answer is wrong.

    Args:
        read: The choice; None if it could not be read.
        right: The right one.
    """
    return 100.0 if read == right else 0.0


def chance_percent(choices: Sequence[int]) -> float:
    """Return the accuracy expected of guessing, in %: 29.17 for the published ones (1,440 of four choices, 288 of two).

    Args:
        choices: Number of choices of every question.

    Raises:
        UsageError: Without questions, or for one without choices.
    """
    if not choices or min(choices) < 1:
        raise UsageError(f"chance needs questions of one choice or more each, got {list(choices)[:10]}")
    return 100 * sum(1 / count for count in choices) / len(choices)


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
