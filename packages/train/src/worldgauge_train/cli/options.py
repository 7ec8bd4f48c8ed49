"""Options that the commands which train share, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from worldgauge.core.errors import MissingExtraError, UnknownNameError

Cache = Annotated[Path | None, typer.Option(help="Folder of decoded frames. By default in the user's cache folder.")]
Clips = Annotated[
    int | None, typer.Option(help="Train on so many clips, drawn by the seed; fewer are a part of more.", min=1)
]
AllowOverlap = Annotated[bool, typer.Option("--allow-overlap", help="Validate although scenes are also trained on.")]
AllowTest = Annotated[
    bool, typer.Option("--allow-test", help="Validate on test scenes where --validate names no others.")
]
Minutes = Annotated[float | None, typer.Option(help="Stop after so long; the same command goes on.", min=0.1)]
Device = Annotated[str, typer.Option(help="Where it is trained: cpu, cuda or cuda:N.")]
Precision = Annotated[str, typer.Option(help="float32, or bfloat16 where that is safe.")]
Deterministic = Annotated[
    bool, typer.Option("--deterministic", help="The same bytes on a GPU, too, at a price. On one core they are.")
]
Log = Annotated[
    str, typer.Option(help="Where the log goes besides log.csv and log.jsonl: tensorboard, trackio or both.")
]


def cache_folder(cache: Path | None) -> Path:
    """Where decoded frames are kept.

    Args:
        cache: What --cache says.
    """
    from platformdirs import user_cache_dir

    return cache or Path(user_cache_dir("worldgauge")) / "training"


def sinks_of(log: str) -> list[str]:
    """Read --log.

    Args:
        log: Names with commas between.

    Returns:
        The names.

    Raises:
        UnknownNameError: There is no such log.
        UsageError: Its package is not installed.
    """
    from worldgauge_train.training.log import check_sinks

    sinks = [one for one in log.split(",") if one]
    check_sinks(sinks)
    return sinks


def check_place(command: str, device: str, precision: str) -> None:
    """Check that it can be trained here.

    Args:
        command: The command, for messages.
        device: What --device says.
        precision: What --precision says.

    Raises:
        MissingExtraError: torch is not installed.
        UnknownNameError: There is no such precision.
        UsageError: There is no such device.
    """
    try:
        from worldgauge_train.training.loop import loop, stepping
    except ImportError:
        raise MissingExtraError(command, "train") from None
    if precision not in get_args(stepping.Precision):
        raise UnknownNameError("precision", precision, get_args(stepping.Precision))
    loop.check_device(device)
