"""Questions: messages, the form that the answer must have, and how it is sampled."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, get_args

from worldgauge.chat.client.images import Encoding, checked_image
from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.core.image import Image
from worldgauge.core.io import digest_of

Role = Literal["system", "user", "assistant"]
MOST_IMAGES = 256
MOST_ALTERNATIVES = 20
"""Most tokens whose probabilities endpoints return at one position."""


@dataclass(frozen=True, eq=False)
class Message:
    """One turn of the conversation.

    Attributes:
        role: Role of the speaker.
        parts: A text, or texts and pictures (H, W, 3) uint8 RGB in their order.

    Raises:
        UsageError: The role is unknown, or a picture is not in a message of the user.
    """

    role: Role
    parts: str | Sequence[str | Image]

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise UsageError(f"message of role {self.role!r}; give one of {', '.join(get_args(Role))}")
        parts = (self.parts,) if isinstance(self.parts, str) else tuple(self.parts)
        checked = tuple(part if isinstance(part, str) else checked_image(part) for part in parts)
        if not checked or (self.role != "user" and not all(isinstance(part, str) for part in checked)):
            raise UsageError(f"message of role {self.role}: give some text, and pictures only as user")
        for text in (part for part in checked if isinstance(part, str)):
            if not is_whole(text):
                raise UsageError(f"message of role {self.role}: its text holds half a character; decode it as UTF-8")
        object.__setattr__(self, "parts", checked)

    @property
    def images(self) -> list[Image]:
        """The pictures of the message, in order."""
        return [part for part in self.parts if not isinstance(part, str)]


@dataclass(frozen=True, eq=False)
class Question:
    """One complete question.

    Attributes:
        messages: The conversation so far.
        schema: JSON Schema that the answer must fit.
        choices: Single tokens, such as letters of options, whose probabilities are requested.
        top_logprobs: Number of likeliest first tokens among which the choices are looked up.
        temperature: Sampling temperature.
        top_p: Nucleus sampling threshold.
        max_tokens: Largest length of the answer in tokens.
        seed: Seed sent to the endpoint.
        sample: Number that separates several answers to the same question.
        allow_truncated: Whether an answer cut off at `max_tokens` counts as one.
        prompt_version: Name of the wording, recorded with the question.

    Raises:
        UsageError: A field is not allowed.
        MissingExtraError: A schema is given and its package is missing.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    choices: tuple[str, ...] | None = None
    top_logprobs: int = MOST_ALTERNATIVES
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int = 2048
    seed: int | None = None
    sample: int = 0
    allow_truncated: bool = False
    prompt_version: str = ""

    def __post_init__(self) -> None:
        if not self.messages:
            raise UsageError("no message was given; ask something")
        if sum(len(message.images) for message in self.messages) > MOST_IMAGES:
            raise UsageError(f"more than {MOST_IMAGES} pictures in one question; leave some out")
        for name, fine, rule in (
            ("top_logprobs", _is_count(self.top_logprobs, 1, MOST_ALTERNATIVES), f"1 to {MOST_ALTERNATIVES}"),
            ("temperature", _is_between(self.temperature, 0, math.inf), "0 or more"),
            ("top_p", _is_between(self.top_p, 0, 1), "0 to 1"),
            ("max_tokens", _is_count(self.max_tokens, 1, 2**31), "at least 1"),
            ("seed", self.seed is None or _is_count(self.seed, 0, 2**63 - 1), "a whole number, 0 or more"),
            ("sample", _is_count(self.sample, 0, 2**31), "a whole number, 0 or more"),
        ):
            if not fine:
                raise UsageError(f"{name} is {getattr(self, name)!r}; give {rule}")
        if self.choices is not None:
            _check_choices(self.choices)
            if self.schema is not None:
                raise UsageError("choices and a schema in one question: the first token cannot be both; ask twice")
        if self.schema is not None:
            _check_schema(self.schema)

    @property
    def images(self) -> list[Image]:
        """All pictures of the question, in order."""
        return [image for message in self.messages for image in message.images]

    def facts(self, encoding: Encoding) -> dict[str, Any]:
        """The whole question as plain JSON values; each picture is its digest and the size at which it is sent."""
        seed = None if self.seed is None else int(self.seed)
        return {
            "messages": [
                {"role": message.role, "parts": [_part_facts(part, encoding) for part in message.parts]}
                for message in self.messages
            ],
            # As text: models write the fields in the order of the schema, so the order is part of the question.
            "schema": None if self.schema is None else json.dumps(self.schema),
            "choices": None if self.choices is None else list(self.choices),
            "top_logprobs": None if self.choices is None else int(self.top_logprobs),
            "temperature": None if self.temperature is None else float(self.temperature),
            "top_p": None if self.top_p is None else float(self.top_p),
            "max_tokens": int(self.max_tokens),
            "seed": seed,
            "sample": int(self.sample),
            "allow_truncated": bool(self.allow_truncated),
            "prompt_version": self.prompt_version,
        }

    def seed_of(self, repeat: int) -> int | None:
        """Seed to send when the question is repeated because earlier answers did not fit.

        Sample 0 gets the seed itself the first time. All other seeds are derived from it; else the same answer would
        come again.

        Args:
            repeat: Number of repeats so far.

        Returns:
            The seed; None without one.
        """
        if self.seed is None or (self.sample, repeat) == (0, 0):
            return None if self.seed is None else int(self.seed)
        return int(digest([int(self.seed), int(self.sample), repeat])[:8], 16) >> 1


def digest(facts: Any) -> str:
    """SHA-256 of plain JSON values."""
    return digest_of(json.dumps(facts, allow_nan=False))


def is_whole(text: str) -> bool:
    """Whether `text` can be written as UTF-8: JSON can hold lone surrogates, which cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def validator(schema: Mapping[str, Any]) -> Any:
    """Make a validator of a JSON Schema; it never fetches referenced schemas.

    Args:
        schema: The schema.

    Returns:
        The validator.

    Raises:
        MissingExtraError: The package is missing.
    """
    try:
        import jsonschema
        import referencing
    except ImportError:
        raise MissingExtraError("a structured answer", "chat") from None
    return jsonschema.Draft202012Validator(dict(schema), registry=referencing.Registry())


def _part_facts(part: str | Image, encoding: Encoding) -> Any:
    if isinstance(part, str):
        return {"text": part}
    return {"image": encoding.identify(part), "shape": list(part.shape), "sent": list(encoding.sent_size(part))}


def _check_choices(choices: tuple[str, ...]) -> None:
    fine = all(isinstance(choice, str) and choice and choice == choice.strip() for choice in choices)
    if not choices or not fine or len(set(choices)) < len(choices):
        raise UsageError(f"choices are {choices!r}; give different words without spaces around them, such as 'A', 'B'")


def _check_schema(schema: Mapping[str, Any]) -> None:
    checker = validator(schema)
    try:
        # Another document would have to be fetched, and an error in a part that no answer reached would come late.
        if any(not ref.startswith("#") for ref in _references(json.loads(json.dumps(schema, allow_nan=False)))):
            raise ValueError("it refers to another document; put all of it into one")
        checker.check_schema(dict(schema))
        next(iter(checker.iter_errors(None)), None)  # finds references that lead nowhere
    except Exception as error:  # the validator and json each raise several types of errors
        raise UsageError(f"the schema is no JSON Schema we can use: {str(error).splitlines()[0]}") from error


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        schema = list(schema.values())
    for inner in schema if isinstance(schema, list) else ():
        yield from _references(inner)


def _is_count(given: Any, least: int, most: int) -> bool:
    return isinstance(given, Integral) and not isinstance(given, bool) and least <= int(given) <= most


def _is_between(given: float | None, least: float, most: float) -> bool:
    return given is None or (least <= given <= most and math.isfinite(given))
