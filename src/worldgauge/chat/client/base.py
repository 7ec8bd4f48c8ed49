"""Chat: the common interface of an endpoint, a recording and a script."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from worldgauge.chat.client.images import checked_image
from worldgauge.chat.client.question import MOST_ALTERNATIVES, Message, Question
from worldgauge.chat.client.reply import Reply
from worldgauge.core.image import Image


class Chat(ABC):
    """Something that answers questions, such as `ChatModel` and `ScriptedChat`."""

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
        """Ask a question. What is None is left to the endpoint.

        Args:
            prompt: A text, or the messages so far.
            images: (H, W, 3) uint8 RGB, sent with the last words of the prompt.
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

        Returns:
            The reply.

        Raises:
            AnswerError: No answer fits the question.
            EndpointError: The endpoint gives no answer.
            UsageError: The question is not allowed.
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
        """As `ask`, for a question that exists already.

        Args:
            question: The question.

        Returns:
            The reply.

        Raises:
            WorldgaugeError: As for `ask`.
        """
