"""Chat: what can be asked, be it an endpoint, a recording or a script."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from worldgauge.chat.client.images import checked_image
from worldgauge.chat.client.question import MOST_ALTERNATIVES, Message, Question
from worldgauge.chat.client.reply import Reply
from worldgauge.core.image import Image


class Chat(ABC):
    """Something that answers questions; `ChatModel` and `ScriptedChat` are two."""

    def ask(
        self,
        prompt: str | Sequence[Message],
        *,
        images: Sequence[Image] = (),
        schema: Mapping[str, Any] | None = None,
        choices: Sequence[str] | None = None,
        top_logprobs: int = MOST_ALTERNATIVES,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int = 2048,
        seed: int | None = None,
        sample: int = 0,
        allow_truncated: bool = False,
        prompt_version: str = "",
    ) -> Reply:
        """Answer to `prompt`, a text or the messages so far; `images` follow as part of, or after, its last words.

        The other arguments are those of `Question`. What is None is left to the endpoint.
        Raises AnswerError when no answer fits, EndpointError when none comes, UsageError for a question
        that is not allowed.
        """
        messages = (Message("user", prompt),) if isinstance(prompt, str) else tuple(prompt)
        if len(images) > 0 and messages:
            *before, last = messages
            messages = (*before, Message(last.role, (*last.parts, *map(checked_image, images))))
        return self.answer(
            Question(
                messages,
                schema=schema,
                choices=None if choices is None else tuple(choices),
                top_logprobs=top_logprobs,
                temperature=temperature,
                top_p=top_p,
                max_tokens=max_tokens,
                seed=seed,
                sample=sample,
                allow_truncated=allow_truncated,
                prompt_version=prompt_version,
            )
        )

    @abstractmethod
    def answer(self, question: Question) -> Reply:
        """As `ask`, for a question that is made already."""
