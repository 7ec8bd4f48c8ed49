"""Commands around models: check-model, calibrate, adapters, and list, which shows what there is."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.cli import suite_commands
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.terminal.options import FAILED, Csv, DryRun, Json, Seed

if TYPE_CHECKING:
    from worldgauge.terminal.output import Form
    from worldgauge.tools.calibrate import CalibrationStudy

KINDS = {
    "suites": "suites",
    "collections": "engine.collection.collection",
    "models": "models",
    "agents": "core.agent",
    "metrics": "metrics",
    "worlds": "worlds",
    "estimators": "perception",
    "decoders": "perception.decoders",
    **suite_commands.listed_kinds(),
}
"""What can be listed: name of the registry, and its module."""


def check_model(
    model: Annotated[
        str,
        typer.Option(help="Model, as for run: a name, package.module:Class, ./file.py:Class, cmd:, pipe: or http://."),
    ],
    suite: Annotated[str | None, typer.Option(help="Suite whose kind of request is used, such as mind.")] = None,
    deadline: Annotated[float, typer.Option(help="Seconds without a frame after which a check fails.")] = 600.0,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Check whether a model keeps every promise of the protocol. All checks run, and each violation is explained."""
    from worldgauge.cli import check_model as cli_check
    from worldgauge.terminal.output import form_of
    from worldgauge.tools import check_model as conformance

    form = form_of(json, csv)
    with cli_check.Checking() as progress:
        report = conformance.check_model(model, suite=suite, deadline_s=deadline, progress=progress)
    if not cli_check.checked_model(report, form):
        raise typer.Exit(FAILED)


def calibrate(
    model: Annotated[
        str,
        typer.Option(help="Model, as for run: a name, package.module:Class, ./file.py:Class, cmd:, pipe: or http://."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the calibration, new or interrupted.")],
    space: Annotated[
        str, typer.Option(help="Actions that it is asked for: walk-look, loop-walk or nav-steps.")
    ] = "walk-look",
    starts: Annotated[int, typer.Option(help="Number of start images, by turns outdoors and indoors.", min=1)] = 4,
    seed: Seed = 0,
    dry_run: DryRun = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Measure what a model's controls do: gains, signs, delay and cross-talk, from short moves in known worlds.

    A calibration that was stopped goes on. Use it with any command: --model "MODEL?calibration=OUT/calibration.json".
    """
    from worldgauge.terminal.options import resumable
    from worldgauge.terminal.output import form_of, print_json
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.terminal.tables import print_text
    from worldgauge.tools import calibrate as calibration
    from worldgauge.tools.calibrate.page import write_page

    form = form_of(json, csv)
    if dry_run:
        plan = calibration.plan_calibration(model, out, space=space, starts=starts, seed=seed)
        if form == "json":
            print_json(**vars(plan), answers=plan.answers)
        else:
            print_text(
                f"{plan.model}: {plan.answers} answers of {plan.frames} frames, {plan.size[0]}x{plan.size[1]}: "
                f"{len(plan.controls)} controls from {len(plan.starts)} start images ({', '.join(plan.starts)}); "
                f"{plan.done} are there"
            )
        return
    with resumable(), ProgressBar() as bar:
        study = calibration.calibrate(
            model,
            out,
            space=space,
            starts=starts,
            seed=seed,
            progress=lambda done, of, doing: bar.show("answers", done, of, doing=doing),
        )
    if reused := study.plan.done:
        print(f"{reused} answers reused, {study.plan.answers - reused} generated", file=sys.stderr)
    words = ["worldgauge", "calibrate", "--model", model, "--out", str(out), "--starts", str(starts)]
    words += ["--seed", str(seed), "--space", space]
    page = write_page(study, out, shlex.join(words))
    _show_calibration(study, model, out, page, form)
    if not study.works:
        raise typer.Exit(FAILED)


def adapters(
    name: Annotated[str | None, typer.Argument(help="Adapter to copy. Without a name, all are listed.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the copy, and for the file that serves it.")] = Path("."),
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List or copy adapters: single files that serve published models from their own environments."""
    from worldgauge.cli import adapters as cli_adapters
    from worldgauge.cli import show
    from worldgauge.terminal.output import form_of

    form = form_of(json, csv)
    if name is None:
        show.adapters(cli_adapters.known(), form)
    elif csv:
        raise UsageError("--csv is for the list: leave NAME out, or give --json")
    else:
        show.handed_out(cli_adapters.hand_out(name, out), json)


def list_(
    kind: Annotated[str, typer.Argument(help=f"What to list: {', '.join(KINDS)}.")],
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List what is available, here and in other installed packages."""
    import importlib

    from worldgauge.cli import show
    from worldgauge.terminal.output import form_of

    form = form_of(json, csv)
    if kind not in KINDS:
        raise UnknownNameError("kind to list", kind, KINDS)
    package = importlib.import_module(f"worldgauge.{KINDS[kind]}")
    show.entries(kind, getattr(package, kind), form)


def _show_calibration(study: CalibrationStudy, model: str, out: Path, page: Path, form: Form) -> None:
    from worldgauge.models.calibration.file import NAME
    from worldgauge.terminal.output import print_csv, print_json
    from worldgauge.terminal.tables import print_listing, print_text
    from worldgauge.tools.calibrate.format import COLUMNS, csv_rows, sentences, text_rows

    if form == "json":
        print_json(**study.to_dict(), file=str(out / NAME), page=str(page))
        return
    if form == "csv":
        print_csv(COLUMNS, csv_rows(study))
    names = ("control", "it", "sign", "gain [95 %]", "a unit does", "beside it", "n")
    print_listing(names, list(text_rows(study)))
    for sentence in sentences(study):
        print_text(sentence)
    print_text(f"Written: {page}")
    if study.works:
        joint = "&" if "?" in model else "?"
        print_text(f'Use it: --model "{model}{joint}calibration={out / NAME}"')
