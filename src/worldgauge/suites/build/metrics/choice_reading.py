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
"""Characters of an answer that are read, from its end, where conclusions stand."""


def read_choice(text: str, choices: Sequence[str]) -> str | None:
    """Read the choice that an answer names.

    In this order: the whole answer is a choice in any case, once marks and a full stop are removed; the same after "the
    correct answer is" and the like; what the last "answer is X", "option: X" or similar names; failing these, for words
    the only one that occurs, and for letters the only capital that stands alone. A is not accepted there: it is an
    article.

    Args:
        text: The answer.
        choices: Allowed choices.

    Returns:
        One of `choices`; None if the answer names none or leaves it open, which is wrong.
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
    """Return the choice that is the whole answer apart from white space, as in the published evaluation; else None.

    Args:
        text: The answer.
        choices: Allowed choices.
    """
    return text.strip() if text.strip() in choices else None


@metrics.register(
    "reasoning_accuracy", unit="%", better="higher", bounds=(0.0, 100.0), version=1, source="MineAnyBuild, 3.3"
)
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
    if re.search(r"(?<!\S)A(?:[.,;:!?]|\Z)", text):
        return None
    letters = "".join(choice for choice in choices if choice != "A")
    found = set(re.findall(rf"(?<!\S)[{re.escape(letters)}](?=[\s.,;:!?]|\Z)", text)) if letters else set()
    return found.pop() if len(found) == 1 else None


def _only_word(text: str, known: dict[str, str]) -> str | None:
    found = [choice for word, choice in known.items() if re.search(rf"\b{re.escape(word)}\b", text.casefold())]
    return found[0] if len(found) == 1 else None
