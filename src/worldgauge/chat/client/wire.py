"""The request as it goes over the wire: a chat completion."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from worldgauge.chat.client.question import Message, Question
from worldgauge.core.image import Image

Show = Callable[[Image], str]
"""Turns a picture into a data URL."""


def request_messages(question: Question, show: Show, *, schema_in_words: bool) -> list[dict[str, Any]]:
    """The messages of a request.

    Args:
        question: The question.
        show: Turns a picture into what is sent.
        schema_in_words: Write the schema under the last message, for endpoints that do not support schemas.

    Returns:
        The messages as JSON values.
    """
    *before, last = question.messages
    if question.schema is not None and schema_in_words:
        form = "Answer with one JSON value and nothing else. It must fit this JSON Schema:\n"
        last = Message(last.role, (*last.parts, form + json.dumps(question.schema)))
    return [{"role": message.role, "content": _content(message, show)} for message in (*before, last)]


def request_body(
    model: str, question: Question, messages: list[dict[str, Any]], repeat: int, *, schema: bool, openai: bool
) -> dict[str, Any]:
    """The whole request. What is None is left out, so that the default of the endpoint applies.

    Args:
        model: Name of the model.
        question: The question.
        messages: Messages of `request_messages`.
        repeat: Number of repeats so far; see `Question.seed_of`.
        schema: Whether the schema is sent.
        openai: Whether the endpoint is OpenAI's.

    Returns:
        The request as JSON values.
    """
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
