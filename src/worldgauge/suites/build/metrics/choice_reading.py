"""Which choice an answer in words names, whether it is right, and the score of guessing.

Source: MineAnyBuild, spatial reasoning (section 3.3 and its evaluation).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from worldgauge.core.errors import UsageError
from worldgauge.metrics import metrics

_MARKS = str.maketrans("", "", "*_`\"'()[]{}<>")
_ENDS = ".,;:!"
_NAMED = r"(?:answer|option|choice)"
_LEAD = re.compile(rf"(?:the\s+)?(?:correct\s+)?(?:final\s+)?{_NAMED}\b(?:\s+is\b)?\s*(?:[:=]\s*)?", re.IGNORECASE)

MOST_CHARACTERS = 100_000
"""Of an answer that are read, from its end, where conclusions stand."""


def read_choice(text: str, choices: Sequence[str]) -> str | None:
    """The choice that an answer names.

    In this order: the whole answer is a choice in any case, once marks and a full stop are taken off; the same after
    "the correct answer is" and the like; what the last "answer is X", "option: X" or similar names; failing these, for
    words the only one that occurs, and for letters the only capital that stands alone. A is not accepted there: it is
    an article.

    Args:
        text: The answer.
        choices: Allowed choices.

    Returns:
        One of `choices`; None where the answer names none or leaves it open, which is wrong.
    """
    plain = text[-MOST_CHARACTERS:].translate(_MARKS).strip()
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
    return _lone_letter(plain, choices) if all(len(choice) == 1 for choice in choices) else _only_word(plain, known)


def read_choice_released(text: str, choices: Sequence[str]) -> str | None:
    """The choice that is the whole answer except for white space around it, as in the published evaluation."""
    return text.strip() if text.strip() in choices else None


@metrics.register(
    "reasoning_accuracy", unit="%", better="higher", bounds=(0.0, 100.0), version=1, source="MineAnyBuild, 3.3"
)
def reasoning_accuracy(read: str | None, right: str) -> float:
    """What one question adds: 100 where the choice read is the right one, else 0; an unreadable answer is wrong."""
    return 100.0 if read == right else 0.0


def chance_percent(choices: Sequence[int]) -> float:
    """Mean accuracy of guessing, in percent: 29.17 for the published 1,440 questions of four choices and 288 of two.

    Args:
        choices: Number of choices of every question.

    Raises:
        UsageError: Without questions, or for one of no choices.
    """
    if not choices or min(choices) < 1:
        raise UsageError(f"chance needs questions of one choice or more each, got {list(choices)[:10]}")
    return 100 * sum(1 / count for count in choices) / len(choices)


def _bare(text: str) -> str:
    return text.strip().rstrip(_ENDS).strip().casefold()


def _lone_letter(text: str, choices: Sequence[str]) -> str | None:
    if re.search(r"(?<!\S)A(?:[.,;:!?]|\Z)", text):
        return None
    letters = "".join(choice for choice in choices if choice != "A")
    found = set(re.findall(rf"(?<!\S)[{re.escape(letters)}](?=[\s.,;:!?]|\Z)", text)) if letters else set()
    return found.pop() if len(found) == 1 else None


def _only_word(text: str, known: dict[str, str]) -> str | None:
    found = [choice for word, choice in known.items() if re.search(rf"\b{re.escape(word)}\b", text.casefold())]
    return found[0] if len(found) == 1 else None
