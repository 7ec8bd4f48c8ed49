"""Judges that mark answers from 1 to 5; `rules` needs no language model.

    judges.get("rules")(kit).mark("What colour is the sofa?", "grey", (), "It is grey.")  # JudgeMark(5, "as expected")

Limits of the rules: they compare words, not meanings. What is neither expected, nor an extra answer, nor in the lists
of `questions.generate.words` is wrong, however well put. A sentence with "not", "no" or "never" that names the expected
thing denies it, whatever the word belongs to. Answers of several words are marked by the words they share, so a fluent
wrong one may get 2 or 3.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from worldgauge.chat.prompt_runner import UnansweredError
from worldgauge.chat.reply import AnswerError, BudgetError, EndpointError, Reply
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.registry import Registry
from worldgauge.suites.worldinworld.policies.asking import MARK_TAG, asker_of, read_mark
from worldgauge.suites.worldinworld.policies.contract import PolicyKit
from worldgauge.suites.worldinworld.questions.forms import COLOURS, NAMES, ROOMS, synonyms
from worldgauge.worlds.indoor.furniture import STATES

WORST, BEST = 1, 5


class JudgeMark(NamedTuple):
    """A mark of an answer."""

    sigma: int
    reason: str
    flags: tuple[str, ...] = ()


class AnswerJudge(Protocol):
    """A judge of answers. It raises if it cannot give a mark; the suite then decides what the answer is worth."""

    def mark(self, question: str, answer: str, extra: Sequence[str], prediction: str) -> JudgeMark:
        """Mark an answer."""


judges: Registry[Callable[[PolicyKit], AnswerJudge]] = Registry("judge", __package__)
"""Facts of an entry: `chat`, whether it asks a language model."""


@judges.register("rules", chat=False)
class RulesJudge:
    """Marks by rules: expected words and their synonyms, numbers, yes and no, rooms, colours, things, states."""

    def __init__(self, kit: PolicyKit | None = None) -> None:
        pass

    def mark(self, question: str, answer: str, extra: Sequence[str], prediction: str) -> JudgeMark:
        """Mark by the first rule for this kind of answer, else by shared words; see `AnswerJudge.mark`."""
        given = _plain(prediction)
        expected = [_plain(one) for one in (answer, *extra) if _plain(one)]
        if not given or given in _NO_ANSWER:
            return JudgeMark(WORST, "no answer")
        if given in expected or given in [_plain(one) for one in synonyms(expected[0] if expected else "")]:
            return JudgeMark(BEST, "as expected")
        for rule in (_yes_or_no, _number, _room, _colour, _thing, _state):
            mark = rule(question, expected, given)
            if mark is not None:
                return mark
        return _overlap(expected, given)


_NO_ANSWER = frozenset({"no answer", "unknown", "i do not know", "do not know", "cannot tell", "not sure", "none"})
_DENIES = frozenset({"not", "no", "never", "neither", "without", "isnt", "arent", "cannot"})
_YES = frozenset({"yes", "yeah", "yep", "true", "correct", "indeed"})
_NO = frozenset({"no", "nope", "false", "not", "isnt", "arent", "never"})
_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve"),
)
_OPENINGS = re.compile(r"^(?:(?:i think|it looks like|it seems)\s+)?(?:(?:it|they|that|there|this) (?:is|are|was)\s+)?")
_ARTICLES = frozenset({"a", "an", "the", "my", "your", "its", "their"})
_BRIEF = 10
"""Most words of an answer that says little else."""
_SHARES = ((0.99, 5), (0.7, 4), (0.45, 3), (0.2, 2))
"""Least F1 score of words, and the mark it gets."""


def _plain(text: str) -> str:
    """Return lower case words without articles, openings and punctuation; British spelling, numbers as digits."""
    words = text.lower().replace("’", "'").replace("n't", " not").replace("'s", " is").replace("'re", " are")
    words = words.replace("color", "colour").replace("gray", "grey").replace("-", " ")
    words = _OPENINGS.sub("", " ".join(re.findall(r"[\w]+", words)))
    kept = [word for word in words.split() if word not in _ARTICLES]
    return " ".join(str(_NUMBERS.index(word)) if word in _NUMBERS else word for word in kept)


def _yes_or_no(question: str, expected: Sequence[str], given: str) -> JudgeMark | None:
    if expected[0] not in ("yes", "no"):
        return None
    words = given.split()
    said = "yes" if words[0] in _YES else "no" if words[0] in _NO or _DENIES & set(words) else None
    if said is None and _YES & set(words):
        said = "yes"
    if said is None:
        return JudgeMark(WORST, "neither yes nor no")
    return (
        JudgeMark(BEST, f"says {said}") if said == expected[0] else JudgeMark(WORST, f"says {said}, not {expected[0]}")
    )


def _number(question: str, expected: Sequence[str], given: str) -> JudgeMark | None:
    if not expected[0].isdigit():
        return None
    numbers = {int(word) for word in given.split() if word.isdigit() and len(word) < 9}
    right = int(expected[0])
    if numbers == {right}:
        return JudgeMark(BEST, "the right number")
    if right in numbers:
        return JudgeMark(2, "several numbers, the right one among them")
    near = numbers and min(abs(n - right) for n in numbers) == 1
    return JudgeMark(2, "off by one") if near else JudgeMark(WORST, "wrong number")


def _room(question: str, expected: Sequence[str], given: str) -> JudgeMark | None:
    right = expected[0].removeprefix("in ")
    return _among({right}, _named(given, ROOMS), given, "room") if right in ROOMS else None


def _colour(question: str, expected: Sequence[str], given: str) -> JudgeMark | None:
    if expected[0] not in COLOURS:
        return None
    named = _named(given, COLOURS)
    if named != {expected[0]} and set(" ".join(named).split()) & set(expected[0].split()):
        return JudgeMark(3, "a shade of it")
    return _among({expected[0]}, named, given, "colour")


def _thing(question: str, expected: Sequence[str], given: str) -> JudgeMark | None:
    if expected[0] not in NAMES:
        return None
    named = _named(given, NAMES)
    if named - {expected[0]} and given.split()[-1] == expected[0].split()[-1] and expected[0] not in named:
        return JudgeMark(3, "a thing of that kind")
    return _among({expected[0]}, named, given, "thing")


def _state(question: str, expected: Sequence[str], given: str) -> JudgeMark | None:
    asked = set(_plain(question).split())
    pair = next((pair for pair in STATES.values() if expected[0] in pair and set(pair) <= asked), None)
    if pair is None:
        return None
    said = {word for word in given.split() if word in pair}
    if len(said) == 1 and _DENIES & set(given.split()):
        # "Not on" means off.
        said, given = set(pair) - said, ""
    return _among({expected[0]}, said, given, "state")


def _among(right: set[str], named: set[str], given: str, kind: str) -> JudgeMark:
    """Mark by what of one kind an answer names: the right one alone, among others, another, or none."""
    denied = bool(_DENIES & set(given.split()))
    if named == right:
        return JudgeMark(WORST, f"denies the right {kind}") if denied else JudgeMark(BEST, f"the right {kind}")
    if named & right:
        return JudgeMark(2, f"several, the right {kind} among them")
    return JudgeMark(WORST, f"another {kind}" if named else f"names no {kind}")


def _overlap(expected: Sequence[str], given: str) -> JudgeMark:
    if _DENIES & set(given.split()):
        return JudgeMark(WORST, "denies something")
    if any(f" {one} " in f" {given} " for one in expected):
        if len(given.split()) <= _BRIEF:
            return JudgeMark(BEST, "holds what was expected")
        return JudgeMark(4, "holds what was expected, among much else")
    best = max((_f1(one.split(), given.split()) for one in expected), default=0.0)
    sigma = next((mark for least, mark in _SHARES if best >= least), WORST)
    return JudgeMark(sigma, f"shares {best:.0%} of the words")


def _f1(expected: Sequence[str], given: Sequence[str]) -> float:
    shared = sum((Counter(map(_stem, expected)) & Counter(map(_stem, given))).values())
    return 2 * shared / (len(expected) + len(given)) if shared else 0.0


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _named(text: str, table: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return entries of a table of synonyms that a plain text names; a longer phrase hides shorter ones in it."""
    phrases = {_plain(other): name for name, others in table.items() for other in others}
    phrases.update({_plain(name): name for name in table})
    found = set()
    for phrase in sorted(phrases, key=lambda one: (-len(one), one)):
        pattern = rf"\b{re.escape(phrase)}s?\b"
        if re.search(pattern, text):
            found.add(phrases[phrase])
            text = re.sub(pattern, " ; ", text)
    return found


ASKS = 6
"""Most requests for one mark; each is hotter and longer than the one before (released code)."""
HOTTER, LONGER = 0.2, 256
"""Rise of temperature and of `max_tokens` per request; the first is at temperature 0."""


class JudgeError(WorldgaugeError):
    """No mark could be read: scoring gives 1, flagged `judge_error`, and the answer can be judged again.

    `outage`: the endpoint failed, the budget is used up or no reply held an answer; else no reply held a mark.
    """

    def __init__(self, message: str, *, outage: bool) -> None:
        super().__init__(message)
        self.outage = outage


@judges.register("chat", chat=True)
class ChatJudge:
    """A language model that compares an answer with the right ones; prompt `judge`.

    Option of the kit: max_tokens, of the first request.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._asker = asker_of(kit)
        self._tokens = int(kit.options.get("max_tokens", LONGER))
        self.asked: list[dict[str, Any]] = []

    def mark(self, question: str, answer: str, extra: Sequence[str], prediction: str) -> JudgeMark:
        """Request a mark; an empty answer gets 1 without a request; flagged "asked_again" when a reply held none."""
        self.asked = []
        if not prediction.strip():
            return JudgeMark(WORST, "no answer")
        fields = {"question": question, "reference": answer, "extra": "; ".join(extra) or "-", "prediction": prediction}
        problem: Exception | None = None
        silent = True
        for attempt in range(ASKS):
            try:
                answered = self._asker.ask(
                    "judge",
                    lambda squeeze: fields,
                    _read,
                    seed=0,
                    sample=attempt,
                    asks=1,
                    temperature=HOTTER * attempt,
                    max_tokens=self._tokens * (attempt + 1),
                )
            except (AnswerError, UnansweredError) as error:
                problem, silent = error, silent and isinstance(error, UnansweredError)
                continue
            except (EndpointError, BudgetError) as error:
                self.asked = self._asker.taken()
                raise JudgeError(f"the judge gave no mark: {error}", outage=True) from error
            self.asked = self._asker.taken()
            sigma, reason = answered.value
            return JudgeMark(sigma, reason, ("asked_again",) if attempt else ())
        self.asked = self._asker.taken()
        raise JudgeError(f"the judge gave no mark in {ASKS} replies: {problem}", outage=silent) from problem


def _read(reply: Reply) -> tuple[int, str]:
    """Mark and reason."""
    sigma = read_mark(reply.answer)
    reason = " ".join(reply.answer.rpartition(MARK_TAG)[0].split()).strip(" *")
    return sigma, reason[:300]
