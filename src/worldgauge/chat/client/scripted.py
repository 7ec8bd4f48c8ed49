"""A stand-in for a model that needs no endpoint."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from worldgauge.chat.answers import answer_text
from worldgauge.chat.client.base import Chat
from worldgauge.chat.client.errors import AnswerError, NoAnswerError, Unfit
from worldgauge.chat.client.question import Question
from worldgauge.chat.client.reply import Probabilities, Reply, checked_value

Line = str | Mapping[str, float] | Exception


class ScriptedChat(Chat):
    """Answers from a script. Safe for threads.

    An answer is a text; for a question with choices it also has the probability of each. It is checked against the
    schema and the choices like an answer of a model, but not requested again.

    Args:
        script: A list of answers, used in order, or a function of the question. An exception in place of an answer is
            raised, to simulate an outage.
    """

    def __init__(self, script: Sequence[Line] | Callable[[Question], Line]) -> None:
        self._script = script
        self._left: Iterator[Line] = iter(()) if callable(script) else iter(tuple(script))
        self._lock = threading.Lock()

    def answer(self, question: Question) -> Reply:
        """Answer from the script; see `Chat.ask`.

        Args:
            question: The question.

        Returns:
            The reply.

        Raises:
            AnswerError: The script has ended, or its answer does not fit the question.
        """
        with self._lock:
            line = self._script(question) if callable(self._script) else next(self._left, None)
        if line is None:
            raise AnswerError("the script of this chat has no more answers; give it more, or a function")
        if isinstance(line, Exception):
            raise line
        try:
            return _reply(line, question)
        except Unfit as unfit:
            raise (NoAnswerError if unfit.silent else AnswerError)(f"scripted answer: {unfit}") from None


def _reply(line: str | Mapping[str, float], question: Question) -> Reply:
    value: Any = None
    if isinstance(line, str):
        text, answer = line, answer_text(line).strip()
        if not answer:
            raise Unfit("it holds no answer", again=False, silent=True)
        value = None if question.schema is None else checked_value(line, question.schema)
        given: Mapping[str, float] = {answer: 1.0}
    else:
        text, given = max(line, key=lambda choice: line[choice]), line
    if question.choices is None:
        return Reply(text, value, model="script")
    mass = {choice: float(given[choice]) for choice in question.choices if choice in given}
    if not sum(mass.values()) > 0:
        raise Unfit(f"{text!r} is none of the choices {', '.join(question.choices)}", again=False)
    missing = tuple(choice for choice in question.choices if choice not in mass)
    listed = tuple((token, math.log(share)) for token, share in given.items() if share > 0)
    return Reply(text, value, Probabilities(mass, missing, listed), model="script")
