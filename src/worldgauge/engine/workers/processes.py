"""Find all processes that one process has started, by their session, and end them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

_ROUNDS = 200
_ROUND_S = 0.005
_PROC = Path("/proc")


def end_session(session: int) -> None:
    """Kill all processes of a session except this one, and wait until they are gone.

    A process group is not enough, since a child of a model may lead a group of its own. On systems without /proc only
    the group of the first process is killed.
    """
    if not (_PROC / "self" / "stat").exists():
        if session != os.getpid():
            _kill(session, group=True)
        return
    for _ in range(_ROUNDS):  # again: one may have started another since it was looked for
        members = session_members(session)
        if not members:
            return
        for pid in members:
            _kill(pid)
        time.sleep(_ROUND_S)


def session_members(session: int) -> list[int]:
    """Ids of the living processes of a session, without this one. Needs /proc."""
    found = []
    for entry in os.scandir(_PROC):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):  # it ended meanwhile
            # "pid (command) state parent group session ...", and the command may hold spaces and brackets.
            state, _, _, its = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()[:4]
            if int(its) == session and state not in b"ZX":
                found.append(int(entry.name))
    return found


def _kill(pid: int, *, group: bool = False) -> None:
    with suppress(ProcessLookupError, PermissionError):
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)
