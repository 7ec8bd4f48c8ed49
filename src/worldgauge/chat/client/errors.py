"""How an ask ends without an answer. None of these ever becomes text that could be taken for one."""

from __future__ import annotations

from worldgauge.core.errors import SubjectError, WorldgaugeError


class EndpointError(WorldgaugeError):
    """The endpoint gave no answer: an outage, a refused request, or nothing recorded to replay.

    status: of HTTP, None where it did not come so far.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class PromptTooLongError(EndpointError):
    """The messages do not fit into the context of the model: ask again with fewer of them."""


class AnswerError(SubjectError):
    """The model answered, but not what was asked for: cut off, refused, or of another form."""


class BudgetError(WorldgaugeError):
    """The next call could cost more than is left of the budget; it was not sent."""


class Failure(Exception):
    """One attempt that brought no answer; stays within this package.

    again: whether another attempt can help. charged: whether it may have cost money.
    retry_after: seconds the endpoint asks to wait for, None where it does not say.
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
    """A reply that is no answer to the question; stays within this package. again: whether to ask once more."""

    def __init__(self, message: str, *, again: bool) -> None:
        super().__init__(message)
        self.again = again
