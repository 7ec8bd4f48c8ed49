"""Options, exit codes and standard output that commands share, and the end of a stopped command."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

import typer

from worldgauge.core.errors import UsageError

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

    Models, C libraries and child processes write to descriptor 1 as they like, also when this process ends.
    So it stays stderr afterwards, unless stdout is an object of Python alone.
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


FAILED = 1
KNOWN_ERROR = 2
INTERRUPTED = 130


def _alone(context: typer.Context, asked: bool) -> bool:
    """Keep stdout for the result until the command ends."""
    if asked:
        context.with_resource(result_alone())
    return asked


Json = Annotated[
    bool, typer.Option("--json", callback=_alone, help="Print one JSON object on stdout, progress on stderr.")
]
Csv = Annotated[
    bool, typer.Option("--csv", callback=_alone, help="Print table rows as CSV on stdout, the rest on stderr.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print a line for each task or item that ends.")]
Workers = Annotated[int, typer.Option(help="Parallel worker processes.")]
On = Annotated[
    str | None, typer.Option(help="Run workers on local, ray (RAY_ADDRESS) or ray://HOST:PORT. Default: local.")
]
Device = Annotated[str | None, typer.Option(help="Render in batches on cuda, cuda:N or cpu. Default: without batches.")]
Gpus = Annotated[
    float | None, typer.Option("--gpus-per-worker", help="GPUs per worker, such as 0.5. Default: the model's.")
]


def _with_sandbox(asked: bool) -> bool:
    """Workers and all that they start inherit it."""
    if asked:
        from worldgauge.serving.isolation import SANDBOX_VARIABLE

        os.environ[SANDBOX_VARIABLE] = "1"
    return asked


Sandbox = Annotated[
    bool,
    typer.Option(
        "--sandbox",
        callback=_with_sandbox,
        help="Run cmd: and pipe: models without network, on read-only files (bwrap).",
    ),
]
ScoreDevice = Annotated[
    str | None,
    typer.Option(
        "--score-device",
        metavar="cuda | cuda:N | cpu",
        help="Compute pixel metrics on cuda, cuda:N or cpu. Default: cpu.",
    ),
]
Seed = Annotated[int, typer.Option(help="Random seed. Equal seeds give equal bytes.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
Sealed = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Seal of a sealed data set. collect --sealed FILE writes it.")
]
Out = Annotated[Path, typer.Option(help="Folder of the data set, new or to continue.")]
Size = Annotated[str, typer.Option(help="Width and height of a frame in pixels.")]
Data = Annotated[
    Path, typer.Option(metavar="DIR | SET", help="Folder of the data set, or benchmark set, made if missing.")
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model", help="Evaluate this model: NAME, ./file.py:Class, cmd:COMMAND or http://HOST:PORT. Can be repeated."
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="LABEL | NAME=LABEL",
        help="Label tables: one per model in order, or NAME=LABEL. Can be repeated.",
    ),
]
Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        help="Evaluate this agent (mineanybuild): NAME, package.module:Class or ./file.py:Class. Can be repeated.",
    ),
]
Baselines = Annotated[
    bool | None,
    typer.Option(
        "--baselines/--no-baselines", help="Run all baselines, or none. Default: those that tables always show."
    ),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a setting of the suite. Can be repeated.")
]
OwnMetrics = Annotated[
    list[str] | None,
    typer.Option("--metric", help="Add your own metric: package.module:name or ./file.py:name. Can be repeated."),
]
Limit = Annotated[
    Any,
    typer.Option(
        parser=lambda text: int(text) if text.lstrip("-").isdigit() else text,
        metavar="N|N%",
        help="Run N or N% of the tasks, spread over clusters. Default: all.",
    ),
]
Deadline = Annotated[float, typer.Option(help="Stop a task after this many seconds without progress.")]
VideoFps = Annotated[
    float | None, typer.Option(help="With --videos: frames per second. Default: that of the recordings.")
]
VideoLonger = Annotated[
    Literal["error", "cut"] | None,
    typer.Option(help="With --videos: 'cut' drops extra frames, 'error' fails. Default: error."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Generate all rollouts again. The earlier run becomes NAME.1.")]
Retry = Annotated[
    bool, typer.Option("--retry-failed/--keep-failed", help="Try tasks again that failed in an earlier run.")
]


def settings_of(pairs: list[str] | None) -> dict[str, Any]:
    """Read the values of --set."""
    from worldgauge_serve import value_of

    return {name: value_of(value) for name, value in texts_of(pairs or [], "--set").items()}


def texts_of(pairs: list[str], option: str) -> dict[str, str]:
    """Read the texts of an option that takes NAME=VALUE."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} takes NAME=VALUE, not '{pair}'")
        if name in found:
            raise UsageError(f"{option} gives '{name}' twice")
        found[name] = value
    return found


def labels_of(given: Sequence[str], models: Sequence[str], others: Collection[str] = ()) -> dict[str, str]:
    """Read the texts of --label: labels of models in their order, or NAME=LABEL of a model or another row."""
    found: dict[str, str] = {}
    unnamed = []
    for text in given:
        # A name may hold "=", as in drift?step_m=0.02.
        name = max((one for one in (*models, *others) if text.startswith(f"{one}=")), key=len, default="")
        if name:
            found[name] = text.removeprefix(f"{name}=")
        elif "=" in text:
            raise UsageError(f"--label {text}: not NAME=LABEL of one of {', '.join([*models, *others])}")
        else:
            unnamed.append(text)
    left = [name for name in models if name not in found]
    if unnamed and len(unnamed) != len(left):
        raise UsageError(
            f"{len(given)} labels for {len(models)} models ({', '.join(models)}): give one per model, or NAME=LABEL"
        )
    return found | dict(zip(left, unnamed, strict=False))


def with_metrics(settings: dict[str, Any], metrics: list[str] | None) -> dict[str, Any]:
    """Add the user's own metrics to the settings of a suite."""
    return {**settings, "metrics": metrics} if metrics else settings


@contextmanager
def resumable() -> Iterator[None]:
    """Context in which Ctrl-C is not a failure, since finished work is kept."""
    try:
        yield
    except KeyboardInterrupt:
        print("stopped; finished work is kept, and the same command continues from here", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
