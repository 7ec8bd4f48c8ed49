"""Marks for answers to questions of commonsense, 0 to 10, by rules where no language model judges.

    mark_by_rules("Is the way free?", "No. The bookshelf blocks it.", "No, a shelf is in the way.").mark       # 10.0

As MineAnyBuild's judge is told to (section 3.3, appendix E.2): the same tendency as the written answer gets 8 or more,
the opposite 3 or less, key facts (position, direction, action, sense) decide between; what is longer than 70 words
loses marks, which the paper only tells the agent.

Limits of the rules: they compare words, not meanings. Things are known by a list of furniture and sides by theirs; an
answer whose kind is not found there is marked by shared words, and a fluent wrong one may get 4. Only the start of an
answer counts as its verdict, so "Yes. On second thoughts, no." is a yes. A guess of yes or no that is right gets 8
without a reason, so half of such questions can be had blindly: 4.5 on average.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from worldgauge.suites.build.critics import Marked
from worldgauge.suites.build.critics.answer_words import (
    COMPASS,
    HANDS,
    NUMBERS,
    PLACES,
    SENSES,
    THINGS,
    Vocabulary,
    first_listed,
    is_yes_or_no,
    named,
    said_at_once,
    sentence,
    tendency,
    words_of,
)

MOST_WORDS = 70
"""Of an answer (appendix E.1)."""
SAME_LEAST, OPPOSITE_MOST = 8.0, 3.0
_LONGER_WORDS, _LONGER_MOST = 35, 4
"""Words beyond `MOST_WORDS` that cost one mark each time they are begun, and the most that is lost."""
_OPPOSITE, _UNCLEAR, _PARTLY = 1.0, 2.0, 5.0
_FACTS = 2.0
"""What key facts add."""
_DUMB = frozenset({"i do not know", "do not know", "unknown", "cannot tell", "not sure", "no answer", "none", "n a"})
_REFUSES = re.compile(
    r"(?:i am |im |i m |we are )?sorry\b|as an? (?:ai|language)\b|(?:i am |im |i m )?(?:unable|not able) to\b|"
    r"(?:i|we) (?:cannot|could not|do not|am not able to) "
    r"(?:do|see|tell|answer|view|help|assist|determine|know|say|provide|make|access|comply)\b"
)
"""How somebody begins who gives no answer: "cannot" alone would be read as a no."""
_COMMON = frozenset(
    {
        *("a", "an", "the", "of", "in", "on", "at", "to", "is", "are", "it", "its", "and", "or", "as", "so"),
        *("by", "for", "with", "from", "that", "this", "there", "be", "would", "should", "can", "could"),
        *("one", "you", "somebody", "nobody", "must", "will", "has", "have", "not", "no", "yes", "which"),
        *("what", "who", "where", "too", "than", "then", "only"),
    }
)


def mark_by_rules(question: str, expected: str, given: str) -> Marked:
    """How far an answer in words agrees with the expected one: 0 to 10, in tenths. Never raises.

    question: tells what is asked for: yes or no, one of several that it names, or something it does not name.
    expected: the written answer, its verdict first. given: any text; its first 1500 characters are read, all count.
    """
    said, right, asked = words_of(given), words_of(expected), words_of(question)
    plain = " ".join(word for word in said if word.isalnum())
    if not any(word.isalnum() for word in right):
        return Marked(0.0, "no expected answer to compare with")
    plain = plain.replace("can not", "cannot")
    if not plain or plain in _DUMB or _REFUSES.match(plain):
        return Marked(0.0, "no answer")
    if [word for word in said if word.isalnum()] == [word for word in right if word.isalnum()]:
        mark, reason = 10.0, "as expected"
    else:
        verdict, reason = _verdict(question, asked, right, said)
        mark = _adjusted(verdict, _share_of_facts(asked, right, said))
    count = len(given.split())
    cost = min(math.ceil(max(0, count - MOST_WORDS) / _LONGER_WORDS), _LONGER_MOST)
    if cost:
        mark, reason = max(0.0, mark - cost), f"{reason}; {count} words, {MOST_WORDS} are allowed"
    return Marked(round(mark, 1), reason, {"words": count})


def _adjusted(verdict: float, share: float) -> float:
    """The mark of a verdict, with what key facts add to it; they never lift one over the limit of its tendency."""
    if verdict <= OPPOSITE_MOST:
        return min(OPPOSITE_MOST, verdict + _FACTS / 2 * share)
    return verdict + _FACTS * share


def _verdict(question: str, asked: Sequence[str], right: Sequence[str], said: Sequence[str]) -> tuple[float, str]:
    """8 for the same tendency, 1 for the opposite, 5 for partly; and why."""
    wanted = said_at_once(right)
    if wanted not in ("yes", "no") and is_yes_or_no(question):
        wanted = tendency(right)
    if wanted in ("yes", "no"):
        got = tendency(said)
        if got is None or got == "both":
            return _UNCLEAR, "says neither yes nor no" if got is None else "says both yes and no"
        return (SAME_LEAST, f"says {got}") if got == wanted else (_OPPOSITE, f"says {got}, not {wanted}")
    return _by_name(asked, right, said)


def _by_name(asked: Sequence[str], right: Sequence[str], said: Sequence[str]) -> tuple[float, str]:
    """By what the first sentence of the expected answer names: a hand, things, a side, a number; else by its words."""
    head = sentence(right)
    choice = "or" in asked
    for kind, table in (("direction", HANDS), ("thing", THINGS), ("side", COMPASS), ("number", NUMBERS)):
        in_question = {one.name for one in named(asked, table)}
        # What a question names is no answer to it, unless it offers a choice.
        passed = set() if choice and in_question else in_question
        if kind == "direction" and not in_question:
            continue
        keys = {one.name for one in named(head, table) if not one.denied} - passed
        if kind == "thing" and not choice:
            keys = first_listed(head, [one for one in named(head, table) if one.name not in passed])
        if not keys:
            continue
        return _named_right(kind, keys, passed, table, said)
    return _by_words(asked, right, said)


def _named_right(
    kind: str, keys: set[str], passed: set[str], table: Vocabulary, said: Sequence[str]
) -> tuple[float, str]:
    found = [one for one in named(said, table) if one.name not in passed]
    listed = first_listed(said, found)
    if listed == keys:
        return SAME_LEAST, f"names the right {kind}"
    if not listed & keys:
        denied = any(one.denied and one.name in keys for one in found)
        return _OPPOSITE, f"denies the right {kind}" if denied else f"does not name the right {kind} first"
    several = len(listed - keys)
    if several > 1:
        return _UNCLEAR, f"names several, the right {kind} among them"
    return _PARTLY, f"names another {kind} as well" if several else f"names the right {kind} in part"


def _by_words(asked: Sequence[str], right: Sequence[str], said: Sequence[str]) -> tuple[float, str]:
    keys = {_stem(word) for word in right if word.isalnum()} - _COMMON - {_stem(word) for word in asked}
    mine = {_stem(word) for word in said if word.isalnum()} - _COMMON
    if not keys:
        return _UNCLEAR, "nothing to compare by"
    share = len(keys & mine) / len(keys)
    return (SAME_LEAST if share >= 0.6 else _UNCLEAR + 2 * share if share else 0.0), f"shares {share:.0%} of the words"


def _share_of_facts(asked: Sequence[str], right: Sequence[str], said: Sequence[str]) -> float:
    """Share of the expected answer's things, sides, places and actions beyond the question's that are told; 1 of none.

    Sides that neither names count against it, so nothing is won by naming all.
    """
    tables = (THINGS, HANDS, COMPASS, PLACES, SENSES, NUMBERS)
    known = {one.name for one in named(asked, *tables)}
    facts = {one.name for one in named(right, *tables)} - known
    told = {one.name for one in named(said, *tables)}
    wrong = {one.name for one in named(said, HANDS, COMPASS)} - facts - known
    return max(0, len(facts & told) - len(wrong)) / len(facts) if facts else 1.0 - bool(wrong)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
