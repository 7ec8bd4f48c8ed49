"""Rate limits: simultaneous calls, calls per minute, tokens per minute."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from worldgauge.core.errors import UsageError

WINDOW_S = 60.0


class Clock:
    """The clock that waiting uses; tests replace it."""

    def now(self) -> float:
        """Seconds since a fixed moment; never decreases."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait for a number of seconds."""
        time.sleep(seconds)


class Sent:
    """One call as the limits count it.

    Args:
        at: Time of the call, in seconds of the clock.
        tokens: Number of tokens; set it when the endpoint reports the true number.
    """

    def __init__(self, at: float, tokens: int) -> None:
        self.at = at
        self.tokens = tokens


class Limits:
    """Limits within any 60 seconds, and at the same time. Threads and chat models may share one object.

    Every process has its own limits: divide the limits of an endpoint by the number of workers.

    Args:
        requests_per_minute: Most calls per minute; None for no limit.
        tokens_per_minute: Most tokens per minute; None for no limit.
        concurrency: Most calls at the same time.
        clock: Clock of the waits.

    Raises:
        UsageError: A limit is out of range.
    """

    def __init__(
        self,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        concurrency: int = 8,
        *,
        clock: Clock | None = None,
    ) -> None:
        given = (requests_per_minute, tokens_per_minute, concurrency)
        if any(limit is not None and limit < 1 for limit in given):
            raise UsageError(f"limits {given}: requests, tokens and calls at once are at least 1, or None")
        self.requests_per_minute = requests_per_minute
        self.tokens_per_minute = tokens_per_minute
        self.clock = clock or Clock()
        self._slots = threading.Semaphore(concurrency)
        self._lock = threading.Lock()
        self._sent: deque[Sent] = deque()

    @contextmanager
    def admit(self, tokens: int) -> Iterator[Sent]:
        """Wait until a call may be sent; make the call inside the block.

        Args:
            tokens: Approximate number of tokens of the call.

        Yields:
            The call as the limits count it.

        Raises:
            UsageError: The call alone takes more than the tokens of a minute.
        """
        if self.tokens_per_minute is not None and tokens > self.tokens_per_minute:
            raise UsageError(
                f"one question takes about {tokens} tokens, more than tokens_per_minute={self.tokens_per_minute}; "
                "lower max_tokens, or send fewer or smaller pictures"
            )
        with self._slots:
            while isinstance(sent := self._try(tokens), float):
                self.clock.sleep(sent)
            yield sent

    def _try(self, tokens: int) -> Sent | float:
        """The call, noted as sent now, or the seconds until it is worth trying again."""
        with self._lock:
            now = self.clock.now()
            while self._sent and self._sent[0].at + WINDOW_S <= now:
                self._sent.popleft()
            full = self.requests_per_minute is not None and len(self._sent) >= self.requests_per_minute
            if self.tokens_per_minute is not None:
                full |= sum(sent.tokens for sent in self._sent) + tokens > self.tokens_per_minute
            if full:
                return self._sent[0].at + WINDOW_S - now
            if self.requests_per_minute is None and self.tokens_per_minute is None:
                return Sent(now, tokens)
            self._sent.append(Sent(now, tokens))
            return self._sent[-1]
