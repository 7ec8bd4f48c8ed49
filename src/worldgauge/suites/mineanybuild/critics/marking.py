"""Marks for answers to questions of commonsense, 0 to 10, by rules where no language model judges.

    mark_by_rules("Is the way free?", "No. The bookshelf blocks it.", "No, a shelf is in the way.").mark       # 10.0

As MineAnyBuild's judge is told to (section 3.2, appendix E.2): the same tendency as the written answer gets 8 or more,
the opposite 3 or less, key facts (position, direction, action, sense) decide between; what is longer than 70 words
loses marks, which the paper only tells the agent.

Limits of the rules: they compare words, not meanings. Things are known by a list of furniture and sides by theirs; an
answer whose kind is not found there is marked by shared words, and a fluent wrong one may get 4. Only the start of an
answer counts as its verdict, so "Yes. On second thoughts, no." is a yes. A guess of yes or no that is right gets 8
without a reason, so half of such questions can be had blindly: 4.5 on average.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from worldgauge.suites.mineanybuild.critics import CommonsenseMark

MOST_WORDS = 70
"""Most words of an answer without a penalty (appendix E.1)."""
SAME_LEAST, OPPOSITE_MOST = 8.0, 3.0
_LONGER_WORDS, _LONGER_MOST = 35, 4
"""Words beyond `MOST_WORDS` per lost mark, begun ones included, and the most marks lost."""
_OPPOSITE, _UNCLEAR, _PARTLY = 1.0, 2.0, 5.0
_FACTS = 2.0
"""Marks that key facts add."""
_REFUSES = re.compile(
    r"(?:i am |im |i m |we are )?sorry\b|as an? (?:ai|language)\b|(?:i am |im |i m )?(?:unable|not able) to\b|"
    r"(?:i|we) (?:cannot|could not|do not|am not able to) "
    r"(?:do|see|tell|answer|view|help|assist|determine|know|say|provide|make|access|comply)\b"
)
"""How somebody begins who gives no answer: "cannot" alone would be read as a no."""


def mark_by_rules(question: str, expected: str, given: str) -> CommonsenseMark:
    """Mark how far an answer in words agrees with the expected one. Never raises."""
    said, right, asked = words_of(given), words_of(expected), words_of(question)
    plain = " ".join(word for word in said if word.isalnum())
    if not any(word.isalnum() for word in right):
        return CommonsenseMark(0.0, "no expected answer to compare with")
    plain = plain.replace("can not", "cannot")
    if not plain or plain in _WORDS["dumb"] or _REFUSES.match(plain):
        return CommonsenseMark(0.0, "no answer")
    if [word for word in said if word.isalnum()] == [word for word in right if word.isalnum()]:
        mark, reason = 10.0, "as expected"
    else:
        verdict, reason = _verdict(question, asked, right, said)
        share = _share_of_facts(asked, right, said)
        # Key facts never lift a mark over the limit of its tendency.
        opposite = verdict <= OPPOSITE_MOST
        mark = min(OPPOSITE_MOST, verdict + _FACTS / 2 * share) if opposite else verdict + _FACTS * share
    count = len(given.split())
    cost = min(math.ceil(max(0, count - MOST_WORDS) / _LONGER_WORDS), _LONGER_MOST)
    if cost:
        mark, reason = max(0.0, mark - cost), f"{reason}; {count} words, {MOST_WORDS} are allowed"
    return CommonsenseMark(round(mark, 1), reason, {"words": count})


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
        # Things that the question names do not answer it, unless it offers a choice.
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
    keys = {_stem(word) for word in right if word.isalnum()} - _WORDS["common"] - {_stem(word) for word in asked}
    mine = {_stem(word) for word in said if word.isalnum()} - _WORDS["common"]
    if not keys:
        return _UNCLEAR, "nothing to compare by"
    share = len(keys & mine) / len(keys)
    return (SAME_LEAST if share >= 0.6 else _UNCLEAR + 2 * share if share else 0.0), f"shares {share:.0%} of the words"


def _share_of_facts(asked: Sequence[str], right: Sequence[str], said: Sequence[str]) -> float:
    """Share of the answer's new things, sides, places and actions that are named; wrong sides count against it."""
    tables = (THINGS, HANDS, COMPASS, PLACES, SENSES, NUMBERS)
    known = {one.name for one in named(asked, *tables)}
    facts = {one.name for one in named(right, *tables)} - known
    told = {one.name for one in named(said, *tables)}
    wrong = {one.name for one in named(said, HANDS, COMPASS)} - facts - known
    return max(0, len(facts & told) - len(wrong)) / len(facts) if facts else 1.0 - bool(wrong)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


READ_CHARACTERS = 1500
"""Characters of an answer that are read; 70 words are about 400."""

Vocabulary = Mapping[tuple[str, ...], str]
"""Phrases, and what is meant by each."""


def _phrases(table: Mapping[str, Sequence[str]]) -> Vocabulary:
    """Return what is meant by each phrase of a table from meanings to other words for them."""
    return {tuple(phrase.split()): name for name, others in table.items() for phrase in (name, *others)}


_FILE = json.loads((files(__package__) / "vocabulary.json").read_text("utf-8"))
_TABLES = [_FILE["phrases"][name] for name in ("things", "hands", "compass", "places", "senses", "numbers")]
THINGS, HANDS, COMPASS, PLACES, SENSES, NUMBERS = map(_phrases, _TABLES)
"""What stands in rooms, and other words for it; sides; places; actions. The number one is missing: it is a pronoun."""
_WORDS = {name: frozenset(words) for name, words in _FILE["words"].items()}
_HEDGES = ("yes and no", "yes or no", "no and yes", "maybe", "perhaps", "it depends", "depends", "possibly")
_NEAR_WORDS = 3
_LONGEST = 3
"""Words of a phrase of the vocabularies."""


class Named(NamedTuple):
    """An entry of a vocabulary found in a text, from its first to its last word; denied: after a "not"."""

    name: str
    first: int
    last: int
    denied: bool


def words_of(text: str) -> list[str]:
    """Return lower case words of the first `READ_CHARACTERS`; sentences end in "."; "n't" becomes " not"."""
    said = text[:READ_CHARACTERS].lower().replace("’", "'").replace("can't", "can not").replace("cannot", "can not")
    said = said.replace("n't", " not").replace("center", "centre").replace("'s", "").replace("color", "colour")
    said = re.sub(r"(north|south)[-\s]?(east|west)", r"\1 \2", said)
    return re.findall(r"\w+|[.,;:!?\n]", said)


def sentence(words: Sequence[str]) -> list[str]:
    """Return the words up to the first end of a sentence or clause, without commas."""
    end = next((n for n, word in enumerate(words) if word in ".;:!?\n"), len(words))
    return [word for word in words[:end] if word != ","]


def named(words: Sequence[str], *vocabularies: Vocabulary) -> list[Named]:
    """Find the entries that a text names, in order; longer phrases before shorter ones, plurals as well."""
    found: list[Named] = []
    n = 0
    while n < len(words):
        for long in range(min(_LONGEST, len(words) - n), 0, -1):
            phrase = tuple(words[n : n + long])
            name = _meant(phrase, vocabularies) or _meant((*phrase[:-1], phrase[-1].removesuffix("s")), vocabularies)
            if name:
                denied = bool(_WORDS["denies"] & set(words[max(0, n - _NEAR_WORDS) : n]) - {"without"})
                found.append(Named(name, n, n + long - 1, denied))
                n += long - 1
                break
        n += 1
    return found


def _meant(phrase: tuple[str, ...], vocabularies: Sequence[Vocabulary]) -> str:
    return next((vocabulary[phrase] for vocabulary in vocabularies if phrase in vocabulary), "")


def first_listed(words: Sequence[str], found: Iterable[Named]) -> set[str]:
    """Names of the first list in a text; only "and", "or", commas and articles join it, denied ones are skipped."""
    run: set[str] = set()
    last = -1
    for one in found:
        if one.denied:
            continue
        if run and not all(word in _WORDS["listing"] or word == "," for word in words[last + 1 : one.first]):
            break
        run.add(one.name)
        last = one.last
    return run


def said_at_once(words: Sequence[str]) -> str | None:
    """Return "yes", "no" or "both" if a text begins with it; else None."""
    plain = [word for word in words if word not in ",\n"]
    if " ".join(plain[:3]).startswith(_HEDGES):
        return "both"
    while plain[:1] and plain[0] in (".", ":", "answer", "the", "is", "my", "i", "think", "well", "so"):
        plain = plain[1:]
    if not plain:
        return None
    if plain[0] in _WORDS["yes"]:
        return "yes"
    punctuated = any(a == plain[0] and b in ".,;:!\n" for a, b in pairwise(words[:7]))
    if plain[0] in _WORDS["no"] and (
        len(plain) == 1 or punctuated or plain[0] != "no" or plain[1] in _WORDS["after_no"]
    ):
        return "no"
    return None


def tendency(words: Sequence[str]) -> str | None:
    """Return "yes", "no", "both", or None: what a text tends to, at once or by its first sentence."""
    said = said_at_once(words)
    if said:
        return said
    first = sentence(words)
    bad = [n for n, word in enumerate(first) if word in _WORDS["bad"]]
    denials = [n for n, word in enumerate(first) if word in _WORDS["denies"]]
    # "Nothing blocks" and "not too far" are not denials.
    turned = {n for n in denials for b in bad if 0 < b - n <= _NEAR_WORDS}
    if set(denials) - turned or (bad and not turned):
        return "no"
    return "yes" if turned or _WORDS["affirms"] & set(first) else None


def is_yes_or_no(question: str) -> bool:
    """Whether a question asks for yes or no: one of its sentences opens with "is", "does", "can" and has no "or"."""
    words = words_of(question)
    starts = [0, *(n + 1 for n, word in enumerate(words) if word in ".,;:!?\n")]
    return "or" not in words and any(n < len(words) and words[n] in _WORDS["auxiliaries"] for n in starts)
