"""`chat`: a language model marks answers from 1 to 5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worldgauge.chat.client import AnswerError, BudgetError, EndpointError, Reply
from worldgauge.chat.prompt_runner import UnansweredError
from worldgauge.core.errors import WorldgaugeError
from worldgauge.suites.closedloop.policies.asking import asker_of
from worldgauge.suites.closedloop.policies.contract import PolicyKit
from worldgauge.suites.closedloop.policies.reading import MARK_TAG, read_mark
from worldgauge.suites.closedloop.questions.judge import WORST, AnswerMark, judges

ASKS = 6
"""Most requests for one mark; each is hotter and longer than the one before (released code)."""
HOTTER, LONGER = 0.2, 256
"""Rise of temperature and of `max_tokens` per request; the first is at temperature 0."""


class JudgeError(WorldgaugeError):
    """No mark could be read: scoring gives 1, flagged `judge_error`, and the answer can be judged again.

    Attributes:
        outage: Whether the endpoint failed, the budget is used up or no reply held an answer; else none held a mark.
    """

    def __init__(self, message: str, *, outage: bool) -> None:
        super().__init__(message)
        self.outage = outage


@judges.register("chat", chat=True)
class ChatJudge:
    """A language model that compares an answer with the right ones; prompt `judge`.

    Options of the kit: max_tokens, of the first request.

    Attributes:
        asked: How the last mark was asked for, for the record.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._asker = asker_of(kit)
        self._tokens = int(kit.options.get("max_tokens", LONGER))
        self.asked: list[dict[str, Any]] = []

    def mark(self, question: str, answer: str, extra: Sequence[str], prediction: str) -> AnswerMark:
        """Ask the model for a mark; see `AnswerJudge.mark`.

        An empty answer gets 1 without a request. The mark is flagged "asked_again" when a reply held none.

        Raises:
            JudgeError: If no mark could be read.
        """
        self.asked = []
        if not prediction.strip():
            return AnswerMark(WORST, "no answer")
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
            return AnswerMark(sigma, reason, ("asked_again",) if attempt else ())
        self.asked = self._asker.taken()
        raise JudgeError(f"the judge gave no mark in {ASKS} replies: {problem}", outage=silent) from problem


def _read(reply: Reply) -> tuple[int, str]:
    """Mark and reason."""
    sigma = read_mark(reply.answer)
    reason = " ".join(reply.answer.rpartition(MARK_TAG)[0].split()).strip(" *")
    return sigma, reason[:300]
