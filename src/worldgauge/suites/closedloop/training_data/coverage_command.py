"""`worldgauge collect coverage`: walks through homes to train a world model on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worldgauge.terminal.options import FAILED, DryRun, Json, On, Out, Seed, Workers, resumable, size_of

if TYPE_CHECKING:
    from worldgauge.engine.collection.driving import CollectProgress
    from worldgauge.suites.closedloop.training_data.coverage.collection import Estimate


def add_coverage(app: typer.Typer) -> None:
    """Give `app` the command `coverage`."""
    app.command("coverage")(collect_coverage)


def collect_coverage(
    out: Out,
    scenes: Annotated[int, typer.Option(help="Homes, one walk through each; 0.5 GB each as it is.")] = 10,
    size: Annotated[str, typer.Option(help="Width and height of a panorama in pixels.")] = "1024x576",
    points: Annotated[int | None, typer.Option(help="Most points sampled in a home; unless said, all.")] = None,
    steps: Annotated[int, typer.Option(help="Most steps in a home.")] = 7500,
    parity: Annotated[
        bool, typer.Option("--parity", help="The rules of the released collector, not those of the paper.")
    ] = False,
    n_points: Annotated[
        str | None, typer.Option(help='Points sampled: the "max" of 1400 and 4 a square metre, or the "min".')
    ] = None,
    next_goal: Annotated[
        str | None, typer.Option(help='The "nearest" waypoint, or that nearest to 2 m away: "near_2m".')
    ] = None,
    visit_radius: Annotated[
        float | None, typer.Option(help="Metres within which a waypoint counts as visited.")
    ] = None,
    height: Annotated[
        float, typer.Option(help="Of the camera in metres: 1.0 in the evaluation, 1.5 in the paper's data.")
    ] = 1.0,
    images: Annotated[str, typer.Option(help='A lossless "video", or a "png" a frame.')] = "video",
    split: Annotated[str, typer.Option(help='Which homes: "train" or "val"; "test" ones are evaluated on.')] = "train",
    seed: Seed = 42,
    workers: Workers = 1,
    on: On = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Walks through homes to post-train a world model on: panoramas with depth, poses and actions."""
    from dataclasses import replace

    from worldgauge.core.io import dumps
    from worldgauge.suites.closedloop.training_data.coverage import collection as engine
    from worldgauge.suites.closedloop.training_data.coverage.tour import PAPER, RELEASED
    from worldgauge.terminal.output import endings
    from worldgauge.terminal.progress import Bars

    said = {"n_points": n_points, "next_goal": next_goal, "visit_radius_m": visit_radius}
    given: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    arguments: dict[str, Any] = {
        "scenes": scenes,
        "size": size_of(size),
        "points": points,
        "steps": steps,
        "rules": replace(RELEASED if parity else PAPER, **given),
        "height_m": height,
        "images": images,
        "split": split,
        "seed": seed,
    }
    if dry_run:
        found = engine.estimate_coverage(out, arguments)
        _show_estimate(out, found, json)
        _warn_of(found.points)
        return
    with resumable(), Bars() as bars:

        def tell(step: CollectProgress) -> None:
            bars.bar("homes", step.done, step.total)
            bars.line(f"[{step.done}/{step.total}] {step.last}")

        collected = engine.collect_coverage(out, **arguments, workers=workers, on=on, progress=tell)
    summary = engine.summary_of(out)
    _warn_of(summary["points"])
    if json:
        facts = {"frames": collected.frames, "discarded": collected.discarded, "failures": collected.failures}
        sys.stdout.write(dumps({"root": str(out), **summary, **facts, "ok": not collected.failures}) + "\n")
    else:
        print(f"{out}: {summary['clips']} clips of {summary['scenes']} homes, {collected.frames} frames")
        for radius, share in summary["covered"].items():
            print(f"  {share:.1%} of the floor is within {radius} of a walk")
        print(f"  split '{split}', hash {summary['split_hash'][:12]}")
        endings("failed", [("", why) for why in collected.failures])
    if collected.failures:
        raise typer.Exit(FAILED)


def _warn_of(points: int) -> None:
    from worldgauge.suites.closedloop.training_data.coverage.tour import crowding

    if (warning := crowding(points)) is not None:
        print(f"warning: {warning}", file=sys.stderr)


def _show_estimate(out: object, found: Estimate, json: bool) -> None:
    from worldgauge.core.io import dumps

    if json:
        sys.stdout.write(dumps({"out": str(out), **found._asdict()}) + "\n")
        return
    print(f"{found.scenes} homes, {found.done} done already; into {out}")
    print(f"about {found.frames} frames and {found.bytes / 1e9:.1f} GB in all")
