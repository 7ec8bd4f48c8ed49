"""One family of errors. Each says what was wrong, where, and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class WorldgaugeError(Exception):
    """Base of every known error: shown to users as one line, exit code 2, no traceback."""


class UsageError(WorldgaugeError):
    """An argument or option that is unknown, out of range or does not fit the others."""


class ShapeError(WorldgaugeError):
    """An array whose shape, dtype or value range is not what the function takes."""


class DataError(WorldgaugeError):
    """A file of a data set that is unreadable or contradicts itself; names file and field or frame."""


class WorldError(WorldgaugeError):
    """A world that cannot be built, or a move in it that cannot be made."""


class SubjectError(WorldgaugeError):
    """The model or agent under test broke its promise: wrong frames, a raise, a hang."""


class LostError(SubjectError):
    """The process of a model died with a question in hand; asked again, it may well answer."""


class NotApplicableError(WorldgaugeError):
    """A task that this subject cannot be asked, such as a reference that needs the world of a recording.

    Counted as skipped with this reason, not as failed.
    """


class RunError(WorldgaugeError):
    """A run folder that cannot be read, written or continued."""


class MissingExtraError(WorldgaugeError):
    """A part that needs a package of an optional extra, or weights that were not given."""

    def __init__(self, what: str, extra: str) -> None:
        how = f"pip install \"worldgauge[{extra}]\" (in a clone: pip install -e '.[{extra}]')"
        super().__init__(f"{what} needs the extra '{extra}': {how}")


class UnknownNameError(WorldgaugeError):
    """A name that no registry entry has; suggests the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"Did you mean '{near[0]}'? " if near else ""
        listing = ", ".join(names) if names else "none are registered"
        super().__init__(f"no {kind} '{name}'. {hint}Known: {listing}")
