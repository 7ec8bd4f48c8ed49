"""Commands of the closed loop in addition to running it: its analyses, and the recogniser of its agents."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worldgauge.core.errors import UsageError
from worldgauge.terminal.commands import Command
from worldgauge.terminal.options import (
    Data,
    Deadline,
    Json,
    Limit,
    Models,
    Seed,
    Settings,
    Workers,
    resumable,
    settings_of,
)

if TYPE_CHECKING:
    from worldgauge.suites.closedloop.studies.definitions import StudyResult


def study(
    name: Annotated[str, typer.Argument(help="quality, controllability, calls, revision or context.")],
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder of the page and of the runs it is made from.")],
    model: Models = None,
    candidates: Annotated[
        list[int] | None, typer.Option(help="With calls: also sweep how many plans are compared. Can be repeated.")
    ] = None,
    settings: Settings = None,
    workers: Workers = 1,
    seed: Seed = 0,
    limit: Limit = None,
    deadline: Deadline = 1800.0,
    json: Json = False,
) -> None:
    """What makes a world model of use to an agent? Runs what an analysis of the paper compares, with a table, a plot
    and what can be concluded; started again, it goes on where it stopped."""
    from worldgauge.suites.closedloop.report.study_page import write_study
    from worldgauge.suites.closedloop.studies.run import run_study
    from worldgauge.terminal.progress import Running

    given: dict[str, Any] = settings_of(settings)
    with resumable(), Running() as progress:
        found = run_study(
            name,
            data=data,
            out=out,
            models=model or (),
            settings=given,
            candidates=candidates or (),
            workers=workers,
            seed=seed,
            limit=limit,
            deadline_s=deadline,
            progress=progress,
        )
    words = ["worldgauge", "study", name, "--data", str(data), "--out", str(out), "--seed", str(seed)]
    words += [word for text in model or () for word in ("--model", text)]
    words += [word for count in candidates or () for word in ("--candidates", str(count))]
    words += [word for pair in settings or () for word in ("--set", pair)]
    words += [] if limit is None else ["--limit", str(limit)]
    path = write_study(found, out / f"{name}.html", shlex.join(words))
    _print_study(found, path, json)


def train_recogniser(
    homes: Annotated[int, typer.Option(help="Homes of the training split that it is trained on.", min=1)] = 100,
    out: Annotated[
        Path | None, typer.Option(help="File to write; by default the cache, where runs look for it.")
    ] = None,
    json: Json = False,
) -> None:
    """Train the recogniser that agents of the closed loop see with; runs that need it do so themselves, once. Takes one
    to two minutes."""
    from worldgauge.suites.closedloop.recognition.recogniser.recognition import FILE_VARIABLE, cached_file, save
    from worldgauge.suites.closedloop.recognition.recogniser.training import train
    from worldgauge.terminal.progress import Bars

    path = out or cached_file(homes)
    if path is None:
        raise UsageError("nothing is cached (WORLDGAUGE_CACHE=off): say where to with --out")
    with Bars() as bars:
        made = train(homes, progress=lambda done, of: bars.bar("homes looked at", done, of))
    save(made, path)
    _print_recogniser(path, made.facts, "" if out is None else f"{FILE_VARIABLE}={path}", json)


def _print_study(finding: StudyResult, page: Path, json: bool) -> None:
    from worldgauge.terminal.output import print_json, written
    from worldgauge.terminal.tables import headline, out

    if json:
        print_json(
            page=str(page),
            study=finding.study.name,
            question=finding.study.question,
            tables=[asdict(table) for table in finding.tables],
            gains=[asdict(gain) for gain in finding.gains],
            correlation=None if finding.correlation is None else finding.correlation._asdict(),
            words=list(finding.words),
        )
        return
    for table in finding.tables:
        headline(table)
        for note in table.notes:
            out.print(note, style="dim", markup=False)
    for sentence in finding.words:
        out.print(sentence, markup=False)
    written(page, json)


def _print_recogniser(path: Path, facts: Mapping[str, Any], use: str, json: bool) -> None:
    """How well it does, and where it is. use: what to set so that it is taken, where that is needed."""
    from worldgauge.terminal.output import print_json
    from worldgauge.terminal.tables import out

    if json:
        print_json(recogniser=str(path), **facts)
        return
    out.print(
        f"{path}: {facts['accuracy']:.0%} of {facts['validated_on']['boxes']} boxes in validation homes are named "
        f"rightly, {facts['calibration_error']:.3f} off in confidence",
        markup=False,
        soft_wrap=True,
    )
    if use:
        out.print(f"runs take it with {use}", markup=False, soft_wrap=True)


COMMANDS = (
    Command(study, "Tools", "worldgauge study quality --data data --out studies"),
    Command(train_recogniser, "Tools", "worldgauge train-recogniser", name="train-recogniser"),
)
"""What the command line offers beside running the suite."""
