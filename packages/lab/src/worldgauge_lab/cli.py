"""The commands of worldgauge-lab. `worldgauge` finds them by their entry point."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.terminal.commands import Command
from worldgauge.terminal.options import (
    FAILED,
    Csv,
    Data,
    Deadline,
    DryRun,
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
from worldgauge_lab.closedloop_questions import QUESTIONS
from worldgauge_lab.minecraft_parity import parity

if TYPE_CHECKING:
    from worldgauge.terminal.output import Form
    from worldgauge_lab.calibrate import CalibrationStudy
    from worldgauge_lab.closedloop import StudyResult
    from worldgauge_lab.validate_metrics import MetricStudy


def calibrate(
    model: Annotated[str, typer.Option(help="Model, as for worldgauge run.")],
    out: Annotated[Path, typer.Option(help="Folder of the calibration, new or interrupted.")],
    space: Annotated[str, typer.Option(help="Action space: walk-look, loop-walk or nav-steps.")] = "walk-look",
    starts: Annotated[int, typer.Option(help="Number of start images, by turns outdoors and indoors.", min=1)] = 4,
    seed: Seed = 0,
    dry_run: DryRun = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Measure a model's controls: gains, signs, delay and cross-talk.

    A calibration that was stopped goes on. Use it with any command: --model "MODEL?calibration=OUT/calibration.json".
    """
    from worldgauge.terminal.output import form_of, print_json, print_text
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge_lab import calibrate as calibration
    from worldgauge_lab.calibrate_page import write_page

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
    from worldgauge.models.calibration import NAME
    from worldgauge.terminal.output import print_csv, print_json, print_listing, print_text
    from worldgauge_lab.calibrate_page import COLUMNS, csv_rows, sentences, text_rows

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


class PrintableStudy(Protocol):
    """Result of a study of a metric."""

    @property
    def accepted(self) -> bool:
        """Whether the metric keeps all bounds."""
        ...

    def table(self) -> str:
        """The complete result as text for people."""
        ...

    def to_rows(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """The numbers as a header and rows."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        ...


STUDIES = ("all", "sgcs", "rules", "people")


class SegmenterName(StrEnum):
    """Where the objects of a study come from."""

    balanced = "balanced"
    colour = "colour"
    exact = "exact"


def validate_metric(
    metric: Annotated[
        str,
        typer.Argument(
            metavar="STUDY", help="Test frame metrics (all), SGCS (sgcs), the critic (rules) or verdicts (people)."
        ),
    ],
    data: Annotated[
        Path | None, typer.Option(help="Data set to test on. Default: embedded villages and builds.")
    ] = None,
    scenes: Annotated[int, typer.Option(help="all, sgcs: number of views.")] = 40,
    segmenter: Annotated[
        SegmenterName, typer.Option(help='Segment objects for sgcs. "exact" uses the masks of synthetic scenes.')
    ] = SegmenterName.balanced,
    structures: Annotated[int, typer.Option(help="rules: number of builds that are damaged.")] = 66,
    metrics: Annotated[str | None, typer.Option(help="all: only these metrics, separated by commas.")] = None,
    network: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC=TEXT", help="all, people: network of a learned metric. Can be repeated."),
    ] = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="all: HTML page to write; with .svg only its curves.")] = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Check whether a metric measures what it claims to.

    It should ignore changes that keep the scene, and respond to changes of the scene.
    """
    from worldgauge.terminal.output import form_of

    form = form_of(json, csv)
    if metric not in STUDIES:
        raise UnknownNameError("study of a metric", metric, STUDIES)
    if metric == "all":
        _all(data, scenes, seed, metrics, _networks(network or []), out, form)
        return
    found: PrintableStudy
    if metric == "people":
        found = _people(data, _networks(network or []))
    elif metric == "sgcs":
        from worldgauge_lab.validate_metrics import published_figure as consistency

        found = consistency.run_published_study(data, scenes=scenes, segmenter=segmenter.value, seed=seed)
    else:
        from worldgauge_lab import critic_study as critic

        found = critic.study(data, structures=structures)
    if not _print_metric_result(found, form):
        raise typer.Exit(FAILED)


def _networks(given: list[str]) -> dict[str, str]:
    if unmeant := [pair for pair in given if "=" not in pair]:
        raise UsageError(f"--network takes METRIC=TEXT, such as dino_mse=cmd:..., got '{unmeant[0]}'")
    return dict(pair.split("=", 1) for pair in given)


def _people(data: Path | None, networks: dict[str, str]) -> PrintableStudy:
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge_lab.validate_metrics.people import people_study

    if data is None:
        raise UsageError(
            "people: give --data, a folder with verdicts of people (bench.jsonl, pairs.csv, verdicts.csv, or votes of "
            "worldgauge view)"
        )
    with ProgressBar() as bar:
        return people_study(data, lambda done, of: bar.show("videos", done, of), networks=networks)


def _all(
    data: Path | None,
    scenes: int,
    seed: int,
    metrics: str | None,
    networks: dict[str, str],
    out: Path | None,
    form: Form,
) -> None:
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge_lab.validate_metrics import metric_study
    from worldgauge_lab.validate_metrics.page import write_metric_study

    if out is not None and out.suffix.lower() not in (".html", ".svg"):
        raise UsageError(f"--out {out}: a page ends in .html, curves alone in .svg")
    with ProgressBar() as bar:
        found = metric_study(
            data,
            scenes=scenes,
            seed=seed,
            names=[name.strip() for name in metrics.split(",")] if metrics else (),
            networks=networks,
            progress=lambda done, of: bar.show("frames judged", done, of),
        )
    words = ["worldgauge", "validate-metric", "all", "--seed", str(seed)]
    words += ["--scenes", str(scenes)] if data is None else ["--data", str(data)]
    words += ["--metrics", metrics] if metrics else []
    words += [word for name, text in networks.items() for word in ("--network", f"{name}={text}")]
    path = None if out is None else write_metric_study(found, out, shlex.join(words))
    _print_metric_study(found, path, form)


def _print_metric_result(found: PrintableStudy, form: Form) -> bool:
    """Print a study of a metric. Returns whether the metric keeps its bounds."""
    from worldgauge.terminal.output import print_csv, print_json

    if form == "json":
        print_json(**found.to_json())
        return found.accepted
    if form == "csv":
        print_csv(*found.to_rows())
    print(found.table())
    return found.accepted


def _print_metric_study(found: MetricStudy, page: Path | None, form: Form) -> None:
    """Print what each metric responds to, the conclusions, and the path of the page if one was written."""
    from worldgauge.terminal.output import print_csv, print_json, print_text, written
    from worldgauge_lab.validate_metrics import STUDY_COLUMNS, conclusions, study_rows, tables

    if form == "json":
        print_json(**found.to_json(), page=None if page is None else str(page))
        return
    if form == "csv":
        print_csv(STUDY_COLUMNS, study_rows(found))
    print(tables(found))
    for sentence in conclusions(found):
        print_text(sentence)
    if page is not None:
        written(page, json=False)


def study(
    context: typer.Context,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the page and the runs that it is made from.")],
    model: Models = None,
    candidates: Annotated[
        list[int] | None, typer.Option(help="With calls: number of plans to compare. Can be repeated.")
    ] = None,
    baselines: Annotated[bool, typer.Option(help="With quality and controllability: also run the baselines.")] = True,
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
    from worldgauge_lab.closedloop import run_study, write_study

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
            baselines=baselines,
            workers=workers,
            seed=seed,
            limit=limit,
            deadline_s=deadline,
            progress=progress,
        )
    words = ["worldgauge", "study", name, "--data", str(data), "--out", str(out), "--seed", str(seed)]
    words += [word for text in model or () for word in ("--model", text)]
    words += [word for count in candidates or () for word in ("--candidates", str(count))]
    words += [] if baselines else ["--no-baselines"]
    words += [word for pair in settings or () for word in ("--set", pair)]
    words += [] if limit is None else ["--limit", str(limit)]
    path = write_study(found, out / f"{name}.html", shlex.join(words))
    _print_study(found, path, form)


def train_recogniser(
    out: Annotated[Path, typer.Option(help="File to write.")],
    homes: Annotated[int, typer.Option(help="Number of homes of the training split to train on.", min=1)] = 100,
    json: Json = False,
) -> None:
    """Train the recogniser of closed-loop agents.

    Runs take the one that comes with worldgauge, which this command made, unless WORLDGAUGE_RECOGNISER names another.
    """
    from worldgauge.suites.worldinworld.recognition.recogniser import FILE_VARIABLE, save
    from worldgauge_lab.network_recogniser import HELD_OUT, train

    _train(
        train,
        save,
        homes,
        HELD_OUT,
        out,
        "recogniser",
        lambda made: (
            f"{made['clear_accuracy'] or 0:.0%} of {made['clear_boxes']} clear views and {made['accuracy']:.0%} of "
            f"{made['validated_on']['boxes']} boxes are named rightly, {made['calibration_error']:.3f} off in "
            f"confidence; to use it: {FILE_VARIABLE}={out}"
        ),
        json,
    )


def train_nearness(
    out: Annotated[Path, typer.Option(help="File to write.")],
    homes: Annotated[int, typer.Option(help="Number of homes of the training split to train on.", min=1)] = 120,
    json: Json = False,
) -> None:
    """Train the network that estimates nearness for closed-loop agents.

    Runs take the one that comes with worldgauge, which this command made.
    """
    from worldgauge.suites.worldinworld.home_strips import save_network
    from worldgauge_lab.network_nearness import HELD_OUT, train

    _train(
        train,
        save_network,
        homes,
        HELD_OUT,
        out,
        "network",
        lambda made: (
            f"its estimates have a rank correlation of {made['rank_correlation']:.2f} with the metres to move, and of "
            f"{made['rank_correlation_within_3_m']:.2f} within 3 m"
        ),
        json,
    )


def train_panorama_reader(
    out: Annotated[Path, typer.Option(help="File to write.")],
    homes: Annotated[int, typer.Option(help="Number of homes of the training split to train on.", min=1)] = 120,
    json: Json = False,
) -> None:
    """Train the network that reads panoramas for closed-loop agents.

    Runs take the one that comes with worldgauge, which this command made.
    """
    from worldgauge.suites.worldinworld.home_strips import save_network
    from worldgauge_lab.network_panorama_reader import HELD_OUT, train

    _train(
        train,
        save_network,
        homes,
        HELD_OUT,
        out,
        "network",
        lambda made: (
            f"it names the room of {made['room_accuracy']:.0%} of panoramas, and finds things with a mean precision of "
            f"{made['things_precision']:.2f}"
        ),
        json,
    )


def _train(
    train: Callable[..., Any],
    save: Callable[[Any, Path], object],
    homes: int,
    held_out: int,
    out: Path,
    key: str,
    judged: Callable[[Mapping[str, Any]], str],
    json: bool,
) -> None:
    from worldgauge.terminal.output import out as terminal
    from worldgauge.terminal.output import print_json
    from worldgauge.terminal.progress import ProgressBar

    with ProgressBar() as bar:
        made = train(
            homes, held_out=min(homes, held_out), progress=lambda done, of: bar.show("homes looked at", done, of)
        )
    save(made, out)
    if json:
        print_json(**{key: str(out), **made.facts})
    else:
        sentence = f"{out}: in {made.facts['validated_on']['homes']} validation homes {judged(made.facts)}"
        terminal.print(sentence, markup=False, soft_wrap=True)


def _print_study(finding: StudyResult, page: Path, form: Form) -> None:
    from worldgauge.terminal.output import (
        SCORE_COLUMNS,
        headline,
        print_csv,
        print_json,
        print_text,
        score_rows,
        written,
    )

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
        print_csv(SCORE_COLUMNS, score_rows("worldinworld", finding.tables))
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
_CLOSEDLOOP = (
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

COMMANDS = (
    Command(calibrate, "Models and data", "worldgauge calibrate --model render --out calibration"),
    Command(validate_metric, "Tools", "worldgauge validate-metric all --out metrics.html", name="validate-metric"),
    *_CLOSEDLOOP,
    Command(parity, "Models and data", "worldgauge minecraft parity --seed 1", group="minecraft"),
)
