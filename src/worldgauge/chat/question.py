"""Questions: messages, pictures, the form that the answer must have, how it is sampled, and the request they make."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np

from worldgauge.core.errors import MissingExtraError, ShapeError, UsageError
from worldgauge.core.image import Image
from worldgauge.core.io import digest_of


@dataclass(frozen=True)
class Encoding:
    """How pictures are sent. `max_side`: Longest side in pixels; larger pictures are scaled down by area."""

    format: Literal["png", "jpeg"] = "png"
    quality: int = 90
    max_side: int = 1024
    max_bytes: int = 8 * 2**20

    def __post_init__(self) -> None:
        if self.format not in ("png", "jpeg"):
            raise UsageError(f"image format is {self.format!r}; give png or jpeg")
        if not 1 <= self.quality <= 100 or self.max_side < 1 or self.max_bytes < 1:
            raise UsageError(f"{self}: quality is 1 to 100, max_side and max_bytes are at least 1")

    @property
    def facts(self) -> dict[str, Any]:
        """The settings that change the picture that the model sees."""
        facts: dict[str, Any] = {"format": self.format, "max_side": self.max_side}
        return facts | ({"quality": self.quality} if self.format == "jpeg" else {})

    def sent_size(self, image: Image) -> tuple[int, int]:
        """(width, height) in pixels at which `image` is sent."""
        height, width = image.shape[:2]
        scale = min(1.0, self.max_side / max(height, width))
        return max(1, round(width * scale)), max(1, round(height * scale))

    def identify(self, image: Image) -> str:
        """Digest of the pixels and of how they are sent; the same on every machine, whatever its encoder."""
        digest = hashlib.sha256(repr((image.shape, sorted(self.facts.items()))).encode())
        digest.update(np.ascontiguousarray(image).data)
        return digest.hexdigest()

    def encode(self, image: Image) -> bytes:
        """Encode a picture. image: (H, W, 3) uint8 RGB."""
        import cv2

        size = self.sent_size(image)
        if size != (image.shape[1], image.shape[0]):
            image = cv2.resize(image, size, interpolation=cv2.INTER_AREA).astype(np.uint8)
        options = [cv2.IMWRITE_JPEG_QUALITY, self.quality] if self.format == "jpeg" else []
        data = bytes(cv2.imencode(f".{self.format}", image[..., ::-1], options)[1].data)
        if len(data) > self.max_bytes:
            raise UsageError(
                f"a picture of {size[0]} x {size[1]} takes {len(data)} bytes as {self.format}, more than "
                f"{self.max_bytes}; lower max_side, or send jpeg"
            )
        return data

    def data_url(self, data: bytes) -> str:
        """An encoded picture as a data URL."""
        return f"data:image/{self.format};base64,{base64.b64encode(data).decode()}"


def checked_image(given: Any) -> Image:
    """Check that a value is a picture. Returns the picture, (H, W, 3) uint8 RGB."""
    if not isinstance(given, np.ndarray):
        raise UsageError(f"an image is {type(given).__name__}; give its pixels, an array (H, W, 3) uint8")
    if given.dtype != np.uint8 or given.ndim != 3 or given.shape[2] != 3 or 0 in given.shape:
        raise ShapeError(f"an image has shape {given.shape} and dtype {given.dtype}; give (H, W, 3) uint8")
    return given


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

    Examples:
        >>> picture = np.zeros((2, 3, 3), np.uint8)
        >>> Message("user", ["What is this?", picture]).parts[0]
        'What is this?'
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
class ChatQuestion:
    """One complete question."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    choices: tuple[str, ...] | None = None  # single tokens whose probabilities are requested, such as letters
    top_logprobs: int = MOST_ALTERNATIVES  # likeliest first tokens among which the choices are looked up
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int = 2048
    seed: int | None = None
    sample: int = 0  # separates several answers to the same question
    allow_truncated: bool = False  # an answer cut off at `max_tokens` counts as one
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
            fine = all(isinstance(choice, str) and choice and choice == choice.strip() for choice in self.choices)
            if not self.choices or not fine or len(set(self.choices)) < len(self.choices):
                rule = "give different words without spaces around them, such as 'A', 'B'"
                raise UsageError(f"choices are {self.choices!r}; {rule}")
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
        """Seed to send: derived, except for sample 0 at first. Else a repeat would get the same answer again."""
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
    """Make a validator of a JSON Schema; it never fetches referenced schemas."""
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


Show = Callable[[Image], str]
"""Turns a picture into a data URL."""


def request_messages(question: ChatQuestion, show: Show, *, schema_in_words: bool) -> list[dict[str, Any]]:
    """The messages of a request."""
    *before, last = question.messages
    if question.schema is not None and schema_in_words:
        form = "Answer with one JSON value and nothing else. It must fit this JSON Schema:\n"
        last = Message(last.role, (*last.parts, form + json.dumps(question.schema)))
    return [{"role": message.role, "content": _content(message, show)} for message in (*before, last)]


def request_body(
    model: str, question: ChatQuestion, messages: list[dict[str, Any]], repeat: int, *, schema: bool, openai: bool
) -> dict[str, Any]:
    """The whole request. What is None is left out, so that the default of the endpoint applies."""
    # OpenAI's newer models refuse the old name, and many other servers do not know the new one.
    limit = "max_completion_tokens" if openai else "max_tokens"
    body: dict[str, Any] = {
        "model": model,
        "messages": messages,
        limit: int(question.max_tokens),
        "temperature": question.temperature,
        "top_p": question.top_p,
        "seed": question.seed_of(repeat),
    }
    if question.choices is not None:
        body |= {"logprobs": True, "top_logprobs": int(question.top_logprobs)}
    if question.schema is not None and schema:
        form = {"name": "answer", "schema": dict(question.schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return {name: value for name, value in body.items() if value is not None}


def _content(message: Message, show: Show) -> str | list[dict[str, Any]]:
    # A plain string if possible: some servers accept lists of parts only for vision models.
    if not message.images:
        return "\n\n".join(str(part) for part in message.parts)
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": show(part)}}
        for part in message.parts
    ]
