"""Cost of calls, and a budget for it."""

from __future__ import annotations

import json
import math
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldgauge.chat.client._lines import Lines
from worldgauge.chat.client.errors import BudgetError
from worldgauge.chat.client.images import Encoding
from worldgauge.chat.client.question import Question
from worldgauge.core.errors import RunError, UsageError

_BYTES_A_TOKEN = 3  # English has about 4, tables of numbers about 2
_PIXELS_A_TOKEN = 750  # the common models take one token for 600 to 800 pixels
_TOKENS_A_PART = 100  # what each message or picture adds whatever its size


@dataclass(frozen=True)
class Prices:
    """Prices in the currency of the budget, from the price list of the endpoint.

    Attributes:
        input: Price of a million input tokens.
        output: Price of a million output tokens.
    """

    input: float
    output: float

    def __post_init__(self) -> None:
        if not all(0 <= price < math.inf for price in (self.input, self.output)):
            raise UsageError(f"{self}: give prices of a million tokens, 0 or more")

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Price of one call.

        Args:
            input_tokens: Number of input tokens.
            output_tokens: Number of output tokens.

        Returns:
            The price.
        """
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


class Ledger:
    """Money spent, stored in a file that all processes share.

    The estimate of a call is written before it is sent, and its true price afterwards. So a call that a kill interrupts
    counts with its estimate, and several processes together keep within the budget.

    Args:
        path: The file.
        cap: The budget; None for no limit.

    Raises:
        RunError: The file cannot be used.
    """

    def __init__(self, path: Path, cap: float | None) -> None:
        if cap is not None and not 0 <= cap < math.inf:
            raise UsageError(f"budget is {cap}; give an amount of money, 0 or more")
        self.path = path
        self.cap = cap
        self._lines = Lines(path)
        self._costs: dict[str, float] = {}
        self._lock = threading.Lock()

    @property
    def spent(self) -> float:
        """Money spent so far, including the estimates of running calls."""
        with self._lock:
            self._lines.read_new(self._take)
            return math.fsum(self._costs.values())

    def reserve(self, estimate: float) -> str:
        """Reserve money for a call.

        Args:
            estimate: What the call may cost.

        Returns:
            Name of the reservation.

        Raises:
            BudgetError: The call could pass the budget.
        """
        name = uuid.uuid4().hex
        with self._lock, self._lines.locked() as file:
            self._lines.read_new(self._take)
            spent = math.fsum(self._costs.values())
            if self.cap is not None and spent + estimate > self.cap:
                raise BudgetError(
                    f"{self.path.parent}: {spent:.4f} of the budget of {self.cap:g} is spent and the next call "
                    f"may cost {estimate:.4f}; raise the budget to go on"
                )
            self._lines.append(json.dumps({"call": name, "cost": estimate, "estimate": True}), file)
        return name

    def settle(self, name: str, cost: float) -> None:
        """Record the true cost of a call.

        Args:
            name: Name of the reservation.
            cost: The cost.
        """
        with self._lock, self._lines.locked() as file:
            self._lines.append(json.dumps({"call": name, "cost": cost, "estimate": False}), file)

    def _take(self, place: int, line: Mapping[str, Any]) -> None:
        name, cost = line.get("call"), line.get("cost")
        if not isinstance(name, str) or not isinstance(cost, (int, float)) or not 0 <= cost < math.inf:
            raise RunError(f"{self.path}: the line at byte {place} is damaged; correct its cost by hand")
        self._costs[name] = cost


def estimate_tokens(question: Question, encoding: Encoding) -> int:
    """Estimate the number of input tokens of a question; the true number comes with the reply.

    Args:
        question: The question.
        encoding: How its pictures are sent.

    Returns:
        The number of tokens.
    """
    total = _TOKENS_A_PART * (len(question.messages) + len(question.images))
    texts = [part for message in question.messages for part in message.parts if isinstance(part, str)]
    texts.append("" if question.schema is None else json.dumps(question.schema))
    total += sum(len(text.encode()) for text in texts) // _BYTES_A_TOKEN
    for image in question.images:
        width, height = encoding.sent_size(image)
        total += width * height // _PIXELS_A_TOKEN
    return total
