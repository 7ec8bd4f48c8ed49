"""`worldgauge collect demonstrations`: what the table's expert does, to learn from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worldgauge.terminal.options import FAILED, DryRun, Json, On, Out, Seed, Workers, resumable, size_of

if TYPE_CHECKING:
    from worldgauge.engine.collection.driving import CollectProgress


def add_demonstrations(app: typer.Typer) -> None:
    """Give `app` the command `demonstrations`."""
    app.command("demonstrations")(collect_demonstrations)


def collect_demonstrations(
    out: Out,
    tasks: Annotated[str | None, typer.Option(help="Tasks of the table, with commas; all if not said.")] = None,
    per_task: Annotated[int, typer.Option(help="Demonstrations of each task; variations go round.")] = 200,
    size: Annotated[str, typer.Option(help="Width and height of a frame in pixels.")] = "448x448",
    depth: Annotated[bool, typer.Option("--depth", help="With the depth of every frame.")] = False,
    seed: Seed = 42,
    workers: Workers = 1,
    on: On = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """A scripted expert with an arm at a table, for policies and world models: frames, poses, places of things."""
    from worldgauge.core.io import dumps
    from worldgauge.suites.closedloop.training_data.demonstrations import collection as engine
    from worldgauge.suites.closedloop.training_data.demonstrations.layout import read_index
    from worldgauge.terminal.output import endings
    from worldgauge.terminal.progress import Bars

    arguments: dict[str, Any] = {
        "tasks": None if tasks is None else tasks.split(","),
        "per_task": per_task,
        "size": size_of(size),
        "depth": depth,
        "seed": seed,
    }
    if dry_run:
        plan = engine.estimate_demonstrations(out, arguments)
        if json:
            sys.stdout.write(dumps({"out": str(out), **plan._asdict()}) + "\n")
        else:
            print(f"{plan.expected} demonstrations, {plan.done} done already; into {out}")
            print(f"about {plan.frames} frames and {plan.bytes / 1e9:.2f} GB in all")
        return
    with resumable(), Bars() as bars:

        def tell(step: CollectProgress) -> None:
            bars.bar("demonstrations", step.done, step.total)
            bars.line(f"[{step.done}/{step.total}] {step.last}")

        found = engine.collect_demonstrations(out, **arguments, workers=workers, on=on, progress=tell)
    split = read_index(out).split_hash
    if json:
        facts = {"demonstrations": found.trajectories, "frames": found.frames, "discarded": found.discarded}
        told = {"root": str(out), **facts, "failures": found.failures, "split_hash": split}
        sys.stdout.write(dumps({**told, "ok": not found.failures}) + "\n")
    else:
        print(f"{out}: {found.trajectories} demonstrations, {found.frames} frames")
        for reason, count in found.discarded.items():
            print(f"  {count} tables given up: {reason}")
        print(f"  split 'train', hash {split[:12]}")
        endings("failed", [("", why) for why in found.failures])
    if found.failures:
        raise typer.Exit(FAILED)
