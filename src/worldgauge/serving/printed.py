"""Messages about a process that has ended: how it ended, and the last line it printed."""

from __future__ import annotations

import re
import signal

from worldgauge.serving.messages import plain

_KEPT_BYTES = 8000
_MAX_TEXT = 300
_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def how_it_ended(code: int) -> str:
    """An exit code in words, as `subprocess` gives it: negative for a signal."""
    if code >= 0:
        return f"exited with code {code}"
    if -code == signal.SIGKILL:
        return "was killed by SIGKILL (out of memory?)"
    named = -code in {one.value for one in signal.Signals}  # not all signals have names
    return f"was killed by {signal.Signals(-code).name if named else f'signal {-code}'}"


class Tail:
    """The end of what a process prints, which may be any bytes."""

    def __init__(self) -> None:
        self._kept = b""

    def add(self, chunk: bytes) -> None:
        """Keep the next bytes that were printed."""
        self._kept = (self._kept + chunk)[-_KEPT_BYTES:]

    def last_words(self) -> str:
        """The last line that is not blank, for the end of a message; progress bars that are redrawn count as lines.

        It holds no control characters that move a cursor, because it gets into errors, journals and terminals.
        """
        text = _COLOURS.sub("", self._kept.decode("utf-8", "replace"))
        lines = (plain(line).strip() for line in reversed(re.split(r"[\r\n]+", text)))
        last = next(filter(None, lines), "")[:_MAX_TEXT]
        return f"; its last words: {last}" if last else ""
