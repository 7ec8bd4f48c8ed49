"""`worldgauge study`: what memory, denoising steps, distillation and data are worth to a trained model."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.core.errors import UsageError
from worldgauge.terminal.commands import Command
from worldgauge.terminal.options import Data, Deadline, Json, Limit, Models, Seed, Settings, Verbose, Workers

if TYPE_CHECKING:
    from worldgauge.tools.studies.findings import Finding
    from worldgauge.tools.studies.run import Asked

SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="Suite whose tasks are asked, such as mind.")]
Pages = Annotated[Path, typer.Option(help="Folder for the page, its drawings, and the runs that they are made from.")]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="A metric of the suite to compare. By default its headline, and detail beside. Can be repeated.",
    ),
]
Beside = Annotated[list[str] | None, typer.Option(help="A model that is seen beside, such as freeze. Can be repeated.")]


def memory(
    suite: SuiteName,
    data: Data,
    out: Pages,
    model: Models = None,
    context: Annotated[str, typer.Option(help="Numbers of frames that models are shown, and all.")] = "1,8,24,72,all",
    metric: Measures = None,
    beside: Beside = None,
    settings: Settings = None,
    workers: Workers = 1,
    seed: Seed = 0,
    limit: Limit = None,
    deadline: Deadline = 1800.0,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Show models more and more frames of what there is: do they use them?"""
    from worldgauge.tools.studies.arms import counts_of
    from worldgauge.tools.studies.run import memory_study

    counts = counts_of(context, "--context")
    with _asked(suite, data, out, metric, beside, settings, workers, seed, limit, deadline, verbose) as asked:
        found = memory_study(asked, _given(model), counts)
    _write(found, out, [*_words(model, metric, beside, settings, limit), "--context", context], data, seed, json)


def denoising(
    suite: SuiteName,
    data: Data,
    out: Pages,
    model: Models = None,
    steps: Annotated[str, typer.Option(help="Numbers of denoising steps.")] = "1,2,4,8,32",
    metric: Measures = None,
    beside: Beside = None,
    settings: Settings = None,
    workers: Workers = 1,
    seed: Seed = 0,
    limit: Limit = None,
    deadline: Deadline = 1800.0,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Let models of `worldgauge train` denoise in more and more steps: what does the time buy?"""
    from worldgauge.tools.studies.arms import counts_of
    from worldgauge.tools.studies.run import denoising_study

    counts = counts_of(steps, "--steps")
    with _asked(suite, data, out, metric, beside, settings, workers, seed, limit, deadline, verbose) as asked:
        found = denoising_study(asked, _given(model), counts)
    _write(found, out, [*_words(model, metric, beside, settings, limit), "--steps", steps], data, seed, json)


def distillation(
    suite: SuiteName,
    data: Data,
    out: Pages,
    model: Models = None,
    metric: Measures = None,
    beside: Beside = None,
    settings: Settings = None,
    workers: Workers = 1,
    seed: Seed = 0,
    limit: Limit = None,
    deadline: Deadline = 1800.0,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Compare a teacher (the first model) with its students: quality against frames a second."""
    from worldgauge.tools.studies.run import distillation_study

    with _asked(suite, data, out, metric, beside, settings, workers, seed, limit, deadline, verbose) as asked:
        found = distillation_study(asked, _given(model))
    _write(found, out, _words(model, metric, beside, settings, limit), data, seed, json)


def transfer(
    suite: SuiteName,
    data: Data,
    out: Pages,
    model: Models = None,
    metric: Measures = None,
    beside: Beside = None,
    settings: Settings = None,
    workers: Workers = 1,
    seed: Seed = 0,
    limit: Limit = None,
    deadline: Deadline = 1800.0,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Compare models that were trained on different things with the first, on the same tasks."""
    from worldgauge.tools.studies.run import transfer_study

    with _asked(suite, data, out, metric, beside, settings, workers, seed, limit, deadline, verbose) as asked:
        found = transfer_study(asked, _given(model))
    _write(found, out, _words(model, metric, beside, settings, limit), data, seed, json)


def data_scaling(
    suite: SuiteName,
    data: Data,
    out: Pages,
    train: Annotated[
        list[str], typer.Option(help="SOURCE=FOLDER to train on, as for worldgauge train. Can be repeated.")
    ],
    base: Annotated[
        list[Path] | None, typer.Option(help="Checkpoint that goes on learning, each clip once. Can be repeated.")
    ] = None,
    recipe: Annotated[str | None, typer.Option(help="In place of --base: recipe that is trained from nothing.")] = None,
    steps: Annotated[int | None, typer.Option(help="With --recipe: steps in place of its own.", min=1)] = None,
    clips: Annotated[str, typer.Option(help="Numbers of clips. 0 is the base as it is.")] = "0,400,2000,10000,40000",
    seeds: Annotated[int, typer.Option(help="Trainings at each number of clips.", min=1)] = 3,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of decoded frames. By default in the user's cache folder.")
    ] = None,
    metric: Measures = None,
    beside: Beside = None,
    settings: Settings = None,
    workers: Workers = 1,
    seed: Seed = 0,
    limit: Limit = None,
    deadline: Deadline = 1800.0,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Train on more and more clips, and fit a law: what is more data worth?

    All networks are kept in OUT/checkpoints. A stopped study goes on.
    """
    from platformdirs import user_cache_dir

    from worldgauge.terminal.options import texts_of
    from worldgauge.tools.studies.arms import counts_of
    from worldgauge.tools.studies.scaling import Trainings, data_study
    from worldgauge.training.recipe import changed, named_recipe

    counts = [one for one in counts_of(clips, "--clips") if one is not None]
    made = None if recipe is None else changed(named_recipe(recipe), {} if steps is None else {"steps": steps})
    folders = [(name, Path(folder)) for name, folder in texts_of(train, "--train").items()]
    place = cache or Path(user_cache_dir("worldgauge")) / "training"
    trainings = Trainings(folders, counts, seeds, place, tuple(base or ()), made)
    with _asked(suite, data, out, metric, beside, settings, workers, seed, limit, deadline, verbose) as asked:
        found = data_study(asked, trainings)
    words = [word for text in train for word in ("--train", text)]
    words += [word for folder in base or () for word in ("--base", str(folder))]
    words += [] if recipe is None else ["--recipe", recipe]
    words += [] if steps is None else ["--steps", str(steps)]
    words += ["--clips", clips, "--seeds", str(seeds), *_words(None, metric, beside, settings, limit)]
    _write(found, out, words, data, seed, json)


def _given(models: list[str] | None) -> list[str]:
    if not models:
        raise UsageError("give --model, such as --model trained:checkpoint")
    return models


@contextmanager
def _asked(
    suite: str,
    data: Path,
    out: Path,
    metrics: Sequence[str] | None,
    beside: Sequence[str] | None,
    settings: list[str] | None,
    workers: int,
    seed: int,
    limit: int | None,
    deadline: float,
    verbose: bool,
) -> Iterator[Asked]:
    """What a study asks, for the duration of its run, with a bar of progress."""
    from worldgauge.terminal.options import resumable, settings_of
    from worldgauge.terminal.progress import RunProgress
    from worldgauge.tools.studies.run import Asked

    with resumable(), RunProgress(verbose=verbose) as progress:
        yield Asked(
            suite,
            data,
            out,
            tuple(metrics or ()),
            tuple(beside or ()),
            settings_of(settings),
            workers,
            seed,
            limit,
            deadline,
            progress,
        )


def _words(
    model: Sequence[str] | None,
    metric: Sequence[str] | None,
    beside: Sequence[str] | None,
    settings: Sequence[str] | None,
    limit: int | None,
) -> list[str]:
    """The words of a command line that say these options again."""
    named = (("--model", model), ("--metric", metric), ("--beside", beside), ("--set", settings))
    words = [word for option, values in named for value in values or () for word in (option, value)]
    return words + ([] if limit is None else ["--limit", str(limit)])


def _write(found: Finding, out: Path, words: Sequence[str], data: Path, seed: int, json: bool) -> None:
    from worldgauge.terminal.output import print_json, written
    from worldgauge.terminal.tables import headline, print_text
    from worldgauge.tools.studies.page import write_finding

    command = ["worldgauge", "study", found.study.name, found.suite, "--data", str(data), "--out", str(out)]
    page = write_finding(found, out / f"{found.study.name}.html", shlex.join([*command, *words, "--seed", str(seed)]))
    if json:
        print_json(
            page=str(page),
            study=found.study.name,
            question=found.study.question,
            tables=[asdict(table) for table in found.tables],
            gains=[gain._asdict() | {"difference": gain.difference._asdict()} for gain in found.gains],
            laws=[{"metric": metric, "of": name, **law._asdict()} for (metric, name), law in found.laws.items()],
            words=list(found.words),
        )
        return
    for table in found.tables:
        headline(table)
        for note in table.notes:
            print_text(note, style="dim")
    for sentence in found.words:
        print_text(sentence)
    written(page, json=False)


COMMANDS = (
    Command(
        memory,
        "Tools",
        "worldgauge study memory mind --data data/mind --model trained:checkpoint --out studies",
        group="study",
    ),
    Command(
        denoising,
        "Tools",
        "worldgauge study denoising mind --data data/mind --model trained:checkpoint --out studies",
        group="study",
    ),
    Command(
        distillation,
        "Tools",
        "worldgauge study distillation mind --data data/mind --model trained:teacher --model trained:student "
        "--out studies",
        group="study",
    ),
    Command(
        transfer,
        "Tools",
        "worldgauge study transfer closedloop --data data --model trained:villages --model trained:homes --out studies",
        group="study",
    ),
    Command(
        data_scaling,
        "Tools",
        "worldgauge study data closedloop --data data --base checkpoint --train coverage=data/coverage --out studies",
        name="data",
        group="study",
    ),
)
