"""`worldgauge calibrate`: measure what a model's controls do."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.terminal.options import FAILED, Csv, DryRun, Json, Seed

if TYPE_CHECKING:
    from worldgauge.terminal.output import Form
    from worldgauge_lab.calibrate import CalibrationStudy


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
    from worldgauge_lab import calibrate as calibration
    from worldgauge_lab.calibrate.page import write_page

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


def _show_calibration(study: CalibrationStudy, model: str, out: Path, page: Path, form: Form) -> None:
    from worldgauge.models.calibration.file import NAME
    from worldgauge.terminal.output import print_csv, print_json
    from worldgauge.terminal.tables import print_listing, print_text
    from worldgauge_lab.calibrate.format import COLUMNS, csv_rows, sentences, text_rows

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
