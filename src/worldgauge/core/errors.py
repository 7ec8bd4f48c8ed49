"""The errors of the package. Each message says what was wrong, where, and what to do next."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence


class WorldgaugeError(Exception):
    """Base of every known error; users see one line and exit code 2, without a traceback.

    Its text is one line without control characters: parts of it may come from a model or a file, and it is shown in
    terminals.

    Examples:
        >>> str(wg.WorldgaugeError('two\\nlines'))
        'two lines'
    """

    def __str__(self) -> str:
        return _BREAKS.sub(" ", without_controls(super().__str__()))


class UsageError(WorldgaugeError):
    """An argument or option that is unknown, out of range or does not fit the others.

    Examples:
        >>> wg.run("mind", model="freeze", data="no/such/folder")
        Traceback (most recent call last):
        worldgauge.core.errors.UsageError: no/such/folder: no such folder
    """


class ShapeError(WorldgaugeError):
    """An array whose shape, dtype or value range is not what the function takes.

    Examples:
        >>> from worldgauge.metrics import mse
        >>> mse(np.zeros((2, 4, 4, 3), np.uint8), np.zeros((2, 8, 8, 3), np.uint8))
        Traceback (most recent call last):
        worldgauge.core.errors.ShapeError: ...
    """


class DataError(WorldgaugeError):
    """A file of a data set is unreadable or contradicts itself; the message names the file and the field or frame.

    Examples:
        >>> wg.verify("missing.zip")
        Traceback (most recent call last):
        worldgauge.core.errors.DataError: missing.zip: cannot be read (No such file or directory)
    """


class WorldError(WorldgaugeError):
    """A world that cannot be built, or a move in it that cannot be made.

    Examples:
        >>> issubclass(wg.WorldError, wg.WorldgaugeError)
        True
    """


class ModelError(WorldgaugeError):
    """The model or agent under test did not keep the protocol: wrong frames, an exception, a hang.

    Examples:
        >>> issubclass(wg.ModelError, wg.WorldgaugeError)
        True
    """


class LostError(ModelError):
    """The process of a model died while it answered a request; a second attempt may succeed.

    Examples:
        >>> issubclass(wg.LostError, wg.ModelError)
        True
    """


class NotApplicableError(WorldgaugeError):
    """A task that does not apply to this model, such as a reference that needs the world of a recording.

    It counts as skipped with this reason, not as failed.

    Examples:
        >>> issubclass(wg.NotApplicableError, wg.WorldgaugeError)
        True
    """


class RunError(WorldgaugeError):
    """A run folder that cannot be read, written or continued.

    Examples:
        >>> wg.write_report("empty", "report.html")
        Traceback (most recent call last):
        worldgauge.core.errors.RunError: empty: neither a run folder (no run.json) nor a folder of run folders
    """


class AbandonedError(RunError):
    """Whoever was to answer is not there: the run ends here, and nothing counts as failed. It can be continued.

    Examples:
        >>> issubclass(wg.AbandonedError, wg.RunError)
        True
    """


class MissingExtraError(WorldgaugeError):
    """A part needs a package of an optional extra, or weights that were not given.

    Args:
        what: The part that needs it.
        extra: Name of the extra.

    Examples:
        >>> str(wg.MissingExtraError("Parquet", "parquet"))
        'Parquet needs the extra \\'parquet\\'; in a checkout: pip install --editable ".[parquet]"'
    """

    def __init__(self, what: str, extra: str) -> None:
        how = f'in a checkout: pip install --editable ".[{extra}]"'
        super().__init__(f"{what} needs the extra '{extra}'; {how}")


class UnknownNameError(WorldgaugeError):
    """No registry entry has this name; the message suggests the nearest one.

    Args:
        kind: What the name stands for ("model").
        name: The unknown name.
        known: All known names.

    Examples:
        >>> str(wg.UnknownNameError("model", "memry", ["freeze", "memory"]))
        "no model 'memry'. Did you mean 'memory'? Known: freeze, memory"
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        listing = ", ".join(names) if names else "none are registered"
        super().__init__(f"no {kind} '{name}'. {did_you_mean(name, names)}Known: {listing}")


_BREAKS = re.compile(r" *\n\s*")


def without_controls(text: str) -> str:
    """Text without sequences that control a terminal; line breaks and tabs stay, other invisible ones are blanks."""
    return "".join(one if one.isprintable() or one in "\n\t" else " " for one in _SEQUENCES.sub("", text))


_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|\x9d).*?(?:\x07|\x1b\\|\x9c|$)|\x1b.?", re.DOTALL
)
"""Of ECMA-48: control sequences, strings such as the title of a window, and other escapes."""


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A sentence that suggests the nearest known name, with a space behind it; empty where none is near."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"Did you mean '{near[0]}'? " if near else ""


_NEIGHBOURS: Mapping[tuple[str, str], str] = {
    **{("command", name): "worldgauge-train" for name in ("export-data", "post-train", "train")},
    **{("model", name): "worldgauge-train" for name in ("adapted", "trained")},
    **{("collection", name): "worldgauge-train" for name in ("coverage", "demonstrations")},
    **{
        ("command", name): "worldgauge-lab"
        for name in (
            "calibrate",
            "minecraft parity",
            "study",
            "train-nearness",
            "train-panorama-reader",
            "train-recogniser",
            "validate-metric",
        )
    },
    **{("form", name): "worldgauge-lab" for name in ("eee", "inspect", "rrd")},
}
"""Packages of this project that offer a component: where it is unknown, the package is not installed."""


def check_neighbour(kind: str, name: str) -> None:
    """Check that an unknown component is not one of a package of this project that is missing."""
    if package := _NEIGHBOURS.get((kind, name)):
        folder = f"./packages/{package.removeprefix('worldgauge-')}"
        raise UsageError(
            f"the {kind} '{name}' comes with the package {package}; install it: pip install {package}, or pip install "
            f"{folder} in a checkout"
        )
