"""`--gpus N`: the same command again as N processes that train together."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.terminal.result import result_descriptor

if TYPE_CHECKING:
    from worldgauge_train.training.recipe import Recipe

Gpus = Annotated[
    int,
    typer.Option(
        help="Processes that train together, by accelerate: each on a GPU, with --device cpu on cores.", min=1
    ),
]


Spread = Annotated[
    bool | None,
    typer.Option(
        "--spread/--no-spread",
        help="Leave each of several processes a part of all weights. By default networks of over 125 million.",
    ),
]


def check_spread(spread: bool | None, count: int) -> None:
    """Check that there is something to spread weights over.

    Args:
        spread: What --spread says.
        count: Processes.

    Raises:
        UsageError: There is one process.
    """
    if spread and count == 1:
        raise UsageError("--spread spreads weights over several processes; add --gpus N")


def check_shared(count: int, recipes: Sequence[Recipe]) -> None:
    """Check that processes can share the batch of each recipe, before they are started.

    Args:
        count: Processes.
        recipes: The recipes.

    Raises:
        UsageError: They cannot.
    """
    for one in recipes:
        if one.parts % count:
            raise UsageError(
                f"--gpus {count} cannot share {one.parts} parts of a batch of {one.batch} evenly; "
                f"--set parts={count}, or another number that {count} divides"
            )


def is_started(count: int, device: str, dry_run: bool) -> bool:
    """Start this command again in several processes, where several are asked for, and wait for them.

    Args:
        count: How many are asked for.
        device: Where they train.
        dry_run: Whether nothing is trained, for which one is enough.

    Returns:
        Whether they were started, so that nothing is left to do here.

    Raises:
        UsageError: There are fewer GPUs, or one of them is named.
        MissingExtraError: accelerate is not installed.
    """
    if count == 1 or dry_run or "WORLD_SIZE" in os.environ:
        return False
    try:
        import accelerate  # noqa: F401
        import torch
    except ImportError:
        raise MissingExtraError("--gpus", "train") from None
    if ":" in device:
        raise UsageError(f"--gpus {count} takes all GPUs from the first: give --device cuda, not {device}")
    if device != "cpu" and torch.cuda.device_count() < count:
        raise UsageError(f"--gpus {count}: here are {torch.cuda.device_count()}; with --device cpu they run on cores")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    done = subprocess.run([*launcher, "-m", "worldgauge.cli.main", *sys.argv[1:]], stdout=result_descriptor())
    if done.returncode:
        raise typer.Exit(done.returncode)
    return True


def leave_it_to_the_first() -> None:
    """End this process, unless it is the first or the only one, which tells the user what was done.

    The end of the interpreter is left out: now and then, after weights were spread, torch aborts in it ("terminate
    called without an active exception"), and a training that is done would be told as failed. Only the first writes.
    """
    if os.environ.get("RANK", "0") != "0":
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
