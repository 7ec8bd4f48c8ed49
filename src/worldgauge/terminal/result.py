"""Standard output with --json and --csv: the result alone. Whatever else anybody prints goes to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_result: TextIO | None = None


def print_result(text: str) -> None:
    """Write the result of a command, or a part of it, to stdout."""
    stream = _result or sys.stdout
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:  # the reader has enough; nothing is left to flush at the end of this process
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(1)


def result_descriptor() -> int | None:
    """Descriptor of `print_result`, for a process that writes the result in our place; None for stdout as it is."""
    return _result.fileno() if _result is not None and _is_stdout(sys.stdout) else None


@contextmanager
def result_alone() -> Iterator[None]:
    """Context in which only `print_result` reaches stdout.

    Models, libraries in C and child processes write to descriptor 1 as they like, when they are imported and when this
    process ends. So it stays stderr also afterwards, unless stdout is an object of Python alone.
    """
    global _result
    if _result is not None or sys.stdout is None:
        yield
        return
    sys.stdout.flush()
    before, is_real = sys.stdout, _is_stdout(sys.stdout)
    if is_real:
        _result = os.fdopen(os.dup(1), "w", encoding=before.encoding, errors=before.errors, newline="\n")
        os.dup2(2, 1)
    else:
        _result, sys.stdout = sys.stdout, sys.stderr
    try:
        yield
    finally:
        if not is_real:
            sys.stdout = before
        _result = None


def _is_stdout(stream: TextIO) -> bool:
    try:
        return stream.fileno() == 1
    except (OSError, ValueError):
        return False
