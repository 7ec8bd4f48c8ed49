"""Errors of a question that gets no answer. None of them ever becomes text that could pass for an answer."""

from __future__ import annotations

from worldgauge.core.errors import SubjectError, WorldgaugeError


class EndpointError(WorldgaugeError):
    """The endpoint gave no answer: an outage, a refused request, or no recorded answer to replay.

    Args:
        message: The message.
        status: HTTP status; None when there was no response.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class PromptTooLongError(EndpointError):
    """The messages do not fit into the context of the model: ask again with fewer of them."""


class AnswerError(SubjectError):
    """The model answered, but not in the requested form: cut off, refused, or in another form."""


class NoAnswerError(AnswerError):
    """The reply holds no text that could be an answer: nothing, reasoning alone, or a refusal."""


class BudgetError(WorldgaugeError):
    """The next call could cost more than what is left of the budget; it was not sent."""


class Failure(Exception):
    """One attempt without an answer; used only inside this package.

    Args:
        message: The message.
        status: HTTP status; None when there was no response.
        again: Whether another attempt can help.
        charged: Whether the attempt may have cost money.
        retry_after: Seconds the endpoint asks to wait; None when it does not say.
        too_long: Whether the messages do not fit into the context of the model.
        body: Body of the response.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        again: bool = False,
        charged: bool = False,
        retry_after: float | None = None,
        too_long: bool = False,
        body: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.again = again
        self.charged = charged
        self.retry_after = retry_after
        self.too_long = too_long
        self.body = body


class Unfit(Exception):
    """A reply that does not answer the question; used only inside this package.

    Args:
        message: The message.
        again: Whether to ask once more.
        silent: Whether there is no text that could be an answer.
    """

    def __init__(self, message: str, *, again: bool, silent: bool = False) -> None:
        super().__init__(message)
        self.again = again
        self.silent = silent
