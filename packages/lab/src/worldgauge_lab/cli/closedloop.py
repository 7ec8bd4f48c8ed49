"""Studies of the closed loop, and the training of the small networks of its agents."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worldgauge.terminal.commands import Command
from worldgauge.terminal.options import (
    Csv,
    Data,
    Deadline,
    Json,
    Limit,
    Models,
    Seed,
    Settings,
    Verbose,
    Workers,
    resumable,
    settings_of,
)
from worldgauge_lab.closedloop.questions import QUESTIONS

if TYPE_CHECKING:
    from worldgauge.terminal.output import Form
    from worldgauge_lab.closedloop.definitions import StudyResult


def study(
    context: typer.Context,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the page and the runs that it is made from.")],
    model: Models = None,
    candidates: Annotated[
        list[int] | None, typer.Option(help="With calls: number of plans compared, to sweep as well. Can be repeated.")
    ] = None,
    references: Annotated[
        bool, typer.Option(help="With quality and controllability: have the references beside the models.")
    ] = True,
    settings: Settings = None,
    workers: Workers = 1,
    seed: Seed = 0,
    limit: Limit = None,
    deadline: Deadline = 1800.0,
    verbose: Verbose = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Repeat an analysis of the paper, named by the command: what makes a world model useful to an agent?"""
    from worldgauge.terminal.output import form_of
    from worldgauge.terminal.progress import RunProgress
    from worldgauge_lab.closedloop.run import run_study
    from worldgauge_lab.closedloop.study_page import write_study

    form, name = form_of(json, csv), str(context.info_name)
    given: dict[str, Any] = settings_of(settings)
    with resumable(), RunProgress(verbose=verbose) as progress:
        found = run_study(
            name,
            data=data,
            out=out,
            models=model or (),
            settings=given,
            candidates=candidates or (),
            references=references,
            workers=workers,
            seed=seed,
            limit=limit,
            deadline_s=deadline,
            progress=progress,
        )
    words = ["worldgauge", "study", name, "--data", str(data), "--out", str(out), "--seed", str(seed)]
    words += [word for text in model or () for word in ("--model", text)]
    words += [word for count in candidates or () for word in ("--candidates", str(count))]
    words += [] if references else ["--no-references"]
    words += [word for pair in settings or () for word in ("--set", pair)]
    words += [] if limit is None else ["--limit", str(limit)]
    path = write_study(found, out / f"{name}.html", shlex.join(words))
    _print_study(found, path, form)


def train_recogniser(
    out: Annotated[Path, typer.Option(help="File to write.")],
    homes: Annotated[int, typer.Option(help="Number of homes of the training split to train on.", min=1)] = 100,
    json: Json = False,
) -> None:
    """Train the recogniser of the closed loop's agents. Takes less than five minutes.

    Runs take the one that comes with worldgauge, which this command made, unless WORLDGAUGE_RECOGNISER names another.
    """
    from worldgauge.suites.closedloop.recognition.recogniser.recognition import FILE_VARIABLE, save
    from worldgauge_lab.networks.recogniser import HELD_OUT, train

    made = _trained(train, homes, HELD_OUT)
    save(made, out)
    facts = made.facts
    _tell_trained(
        {"recogniser": str(out), **facts},
        f"{out}: in {facts['validated_on']['homes']} validation homes {facts['clear_accuracy'] or 0:.0%} of "
        f"{facts['clear_boxes']} clear views and {facts['accuracy']:.0%} of {facts['validated_on']['boxes']} boxes are "
        f"named rightly, {facts['calibration_error']:.3f} off in confidence; to use it: {FILE_VARIABLE}={out}",
        json,
    )


def train_nearness(
    out: Annotated[Path, typer.Option(help="File to write.")],
    homes: Annotated[int, typer.Option(help="Number of homes of the training split to train on.", min=1)] = 120,
    json: Json = False,
) -> None:
    """Train the network by which agents of the closed loop judge how near a place is. Takes about five minutes.

    Runs take the one that comes with worldgauge, which this command made.
    """
    from worldgauge.suites.closedloop.navigation.nearness.network import save
    from worldgauge_lab.networks.nearness import HELD_OUT, train

    made = _trained(train, homes, HELD_OUT)
    save(made, out)
    _tell_trained(
        {"network": str(out), **made.facts},
        f"{out}: in {made.facts['validated_on']['homes']} validation homes its estimates have a rank correlation of "
        f"{made.facts['rank_correlation']:.2f} with the metres to walk, and of "
        f"{made.facts['rank_correlation_within_3_m']:.2f} within 3 m",
        json,
    )


def train_panorama_reader(
    out: Annotated[Path, typer.Option(help="File to write.")],
    homes: Annotated[int, typer.Option(help="Number of homes of the training split to train on.", min=1)] = 120,
    json: Json = False,
) -> None:
    """Train the network by which agents of the closed loop read panoramas. Takes less than five minutes.

    Runs take the one that comes with worldgauge, which this command made.
    """
    from worldgauge.suites.closedloop.questions.panorama_reader.network import save
    from worldgauge_lab.networks.panorama_reader import HELD_OUT, train

    made = _trained(train, homes, HELD_OUT)
    save(made, out)
    _tell_trained(
        {"network": str(out), **made.facts},
        f"{out}: in {made.facts['validated_on']['homes']} validation homes it names the room of "
        f"{made.facts['room_accuracy']:.0%} of panoramas, and finds things with a mean precision of "
        f"{made.facts['things_precision']:.2f}",
        json,
    )


def _trained(train: Callable[..., Any], homes: int, held_out: int) -> Any:
    from worldgauge.terminal.progress import ProgressBar

    with ProgressBar() as bar:
        return train(
            homes, held_out=min(homes, held_out), progress=lambda done, of: bar.show("homes looked at", done, of)
        )


def _tell_trained(facts: Mapping[str, Any], sentence: str, json: bool) -> None:
    from worldgauge.terminal.output import print_json
    from worldgauge.terminal.tables import out as terminal

    if json:
        print_json(**facts)
    else:
        terminal.print(sentence, markup=False, soft_wrap=True)


def _print_study(finding: StudyResult, page: Path, form: Form) -> None:
    from worldgauge.terminal.output import SCORE_COLUMNS, print_csv, print_json, score_rows, written
    from worldgauge.terminal.tables import headline, print_text

    if form == "json":
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
    if form == "csv":
        print_csv(SCORE_COLUMNS, score_rows("closedloop", finding.tables))
    for table in finding.tables:
        if form == "text":
            headline(table)
        for note in table.notes:
            print_text(note, style="dim")
    for sentence in finding.words:
        print_text(sentence)
    written(page, json=False)


_HOW = (
    "Runs all models and settings that it compares, and writes a page with a table, a plot and conclusions, and the "
    "plot as an SVG file. A stopped study continues where it stopped."
)
COMMANDS = (
    *(
        Command(
            study,
            "Tools",
            f"worldgauge study {name} --data data --out studies",
            name,
            f"Closed loop: {question}\n\n{_HOW}",
            group="study",
        )
        for name, question in QUESTIONS.items()
    ),
    Command(train_recogniser, "Tools", "worldgauge train-recogniser --out recogniser.npz", name="train-recogniser"),
    Command(train_nearness, "Tools", "worldgauge train-nearness --out nearness.npz", name="train-nearness"),
    Command(
        train_panorama_reader,
        "Tools",
        "worldgauge train-panorama-reader --out reader.npz",
        name="train-panorama-reader",
    ),
)
