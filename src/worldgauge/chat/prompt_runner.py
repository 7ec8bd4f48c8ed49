"""Asks a language model until its reply can be read, and shortens the prompt when it is too long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from worldgauge.chat.model import Chat
from worldgauge.chat.prompts import Field, Prompts, PromptTemplate, smaller
from worldgauge.chat.question import Message
from worldgauge.chat.reply import AnswerError, EndpointError, NoAnswerError, PromptTooLongError, Reply

T = TypeVar("T")
SQUEEZES = 4
"""Most versions of a prompt, the whole one included; each keeps about half of the optional parts of the one before."""
_DIVISORS = (1, 1, 2, 4)
"""Divisor of the picture sides for each version; history and frames are shortened first."""


class Misread(Exception):
    """A reply that does not answer the question; the asker catches it and asks again."""


class UnansweredError(EndpointError):
    """No reply to a prompt held an answer: nothing came back that anything could be made of."""


@dataclass(frozen=True)
class Answered(Generic[T]):
    """The result of a question."""

    value: T
    note: Mapping[str, Any]


@dataclass(frozen=True)
class Asker:
    """Asks a model in the words of a set of prompts."""

    chat: Chat
    prompts: Prompts
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 2048
    notes: list[dict[str, Any]] = field(default_factory=list)
    """How each question was asked since `notes` was last emptied, also of those that failed."""

    def ask(
        self,
        name: str | PromptTemplate,
        fields: Callable[[int], Mapping[str, Field]],
        read: Callable[[Reply], T],
        *,
        seed: int,
        asks: int,
        sample: int = 0,
        samples: int = 1,
        **question: Any,
    ) -> Answered[T]:
        """Ask with a template, or the one of a name, until the reply can be read."""
        template = name if isinstance(name, PromptTemplate) else self.prompts[name]
        squeeze, attempt, problem = 0, 0, ""
        settings = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": self.max_tokens} | question
        note: dict[str, Any] = {"prompt": template.label, "asks": 0, "squeeze": 0, "problems": []}
        self.notes.append(note)
        messages: tuple[Message, ...] = ()
        failure: type[AnswerError] | type[UnansweredError] = UnansweredError
        while attempt < asks:
            note["asks"] += 1
            messages = messages or tuple(
                Message(each.role, [p if isinstance(p, str) else smaller(p, _DIVISORS[squeeze]) for p in each.parts])
                for each in template.messages(**fields(squeeze))
            )
            try:
                reply = self.chat.ask(
                    messages, seed=seed, sample=sample + samples * attempt, prompt_version=template.label, **settings
                )
                value = read(reply)
            except PromptTooLongError as error:
                if squeeze + 1 == SQUEEZES:
                    raise
                note["problems"].append(str(error))
                squeeze = note["squeeze"] = squeeze + 1
                messages = ()
                continue
            except (AnswerError, Misread) as error:
                problem = str(error)
                failure = failure if isinstance(error, NoAnswerError) else AnswerError
                note["problems"].append(problem)
                attempt += 1
                continue
            note |= _facts(reply)
            return Answered(value, note)
        times = f" ({asks} times asked)" if asks > 1 else ""
        raise failure(f"no usable reply to prompt '{template.name}': {problem}{times}")

    def taken(self) -> list[dict[str, Any]]:
        """The notes so far; `notes` is emptied."""
        notes = list(self.notes)
        self.notes.clear()
        return notes


def seed_of(rng: np.random.Generator) -> int:
    """Draw a seed for a question."""
    return int(rng.integers(2**31))


def kept(items: Sequence[T], squeeze: int) -> list[T]:
    """The latest items that stay after a prompt was shortened: all, half, a quarter, none."""
    count = 0 if squeeze + 1 == SQUEEZES else -(-len(items) // 2**squeeze)
    return list(items[len(items) - count :])


def thinned(items: Sequence[T], squeeze: int) -> list[T]:
    """Every item, every second, every fourth, ..., counted back from the last one, which always stays."""
    return list(items[::-1][:: 2**squeeze][::-1])


def _facts(reply: Reply) -> dict[str, Any]:
    return {
        "reply": reply.text,
        "key": reply.key,
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "cost": reply.cost,
    }
