"""Options and exit codes that commands share, and the end of a stopped command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from worldgauge.core.errors import UsageError

FAILED = 1
KNOWN_ERROR = 2
INTERRUPTED = 130

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, progress on stderr.")]
Workers = Annotated[int, typer.Option(help="Processes that work side by side.")]
On = Annotated[
    str | None,
    typer.Option(help="Where the workers are: local, ray (RAY_ADDRESS, or one started here), ray://HOST:PORT."),
]
Gpus = Annotated[
    float | None,
    typer.Option("--gpus-per-worker", help="GPUs of each worker, a share such as 0.5 or whole ones; else as declared."),
]
Seed = Annotated[int, typer.Option(help="Same seed, same bytes.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
Out = Annotated[Path, typer.Option(help="Folder of the data set that is made or continued.")]
Size = Annotated[str, typer.Option(help="Width and height of a frame in pixels.")]
Data = Annotated[Path, typer.Option(help="Folder of the data set.")]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="Name, package.module:Class or ./file.py:Class, with settings as in drift?step_m=0.02; or a model of "
        "another environment or machine: cmd:COMMAND, pipe:COMMAND, http://HOST:PORT. Can be repeated. "
        "Naming a module, a file or a command runs its code.",
    ),
]
Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        help="Of suites that ask agents (build): name, package.module:Class or ./file.py:Class, with settings as in "
        "chat?model=NAME@URL. Can be repeated. Naming a module or a file runs its code.",
    ),
]
References = Annotated[
    bool | None,
    typer.Option(
        "--references/--no-references",
        help="Also ask all reference models of the suite, or none; unless said, those that it always shows.",
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the suite. Can be repeated.")
]
OwnMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="A metric of your own beside the suite's: package.module:name or ./file.py:name, registered with "
        "compares='frames' or 'clips', called with (truth, rollout). Can be repeated. "
        "Naming a module or a file runs its code.",
    ),
]
Limit = Annotated[int | None, typer.Option(help="Only the first so many tasks.")]
Deadline = Annotated[
    float,
    typer.Option(help="Seconds without a frame, or a sign of scoring, after which a task ends. Loading may take 1800."),
]
Retry = Annotated[bool, typer.Option("--retry-failed/--keep-failed", help="Try failed tasks of an earlier run again.")]


def settings_of(pairs: list[str] | None) -> dict[str, Any]:
    """Read the values of --set.

    Args:
        pairs: Texts NAME=VALUE.

    Returns:
        Values by name.

    Raises:
        UsageError: For text in another form, or a name that is given twice.
    """
    from worldgauge_serve import value_of

    found: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--set takes NAME=VALUE, not '{pair}'")
        if name in found:
            raise UsageError(f"--set gives '{name}' twice")
        found[name] = value_of(value)
    return found


def with_metrics(settings: dict[str, Any], metrics: list[str] | None) -> dict[str, Any]:
    """Add the user's own metrics to the settings of a suite."""
    return {**settings, "metrics": metrics} if metrics else settings


@contextmanager
def resumable() -> Iterator[None]:
    """Context in which Ctrl-C is not a failure, since finished work is kept."""
    try:
        yield
    except KeyboardInterrupt:
        print("stopped; what is done is kept, and the same command goes on from here", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def size_of(text: str) -> tuple[int, int]:
    """Width and height of an option such as 640x360.

    Raises:
        UsageError: For any other text.
    """
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise UsageError(f"--size takes whole numbers for width and height, such as 640x360, not '{text}'")
    return int(width), int(height)
