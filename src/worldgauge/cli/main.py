"""The command line. Heavy parts are imported by the command that needs them, so that help comes at once."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer

from worldgauge import __version__
from worldgauge.cli.collect import check, collect_app
from worldgauge.cli.doctor import doctor
from worldgauge.cli.minecraft import minecraft_app
from worldgauge.cli.validate_metrics import validate_metric
from worldgauge.cli.weights import app as weights_app
from worldgauge.core.errors import UsageError, WorldgaugeError
from worldgauge.suites.build.commands import curate, structure, vote
from worldgauge.suites.closedloop.commands import study, train_recogniser
from worldgauge.terminal.options import (
    FAILED,
    KNOWN_ERROR,
    Agents,
    Data,
    Deadline,
    DryRun,
    Gpus,
    Json,
    Limit,
    Models,
    On,
    References,
    Retry,
    Seed,
    Settings,
    Workers,
    resumable,
    settings_of,
)

if TYPE_CHECKING:
    from worldgauge.engine.result import RunResult

app = typer.Typer(
    name="worldgauge",
    help="Measure what a world model is worth: memory, control, planning, use.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(collect_app, name="collect")
app.add_typer(minecraft_app, name="minecraft")
app.add_typer(weights_app, name="weights")
app.command()(study)
app.command()(curate)
app.command()(structure)
app.command()(vote)
app.command("train-recogniser")(train_recogniser)


class Kind(StrEnum):
    """What can be listed."""

    suites = "suites"
    collections = "collections"
    models = "models"
    agents = "agents"
    critics = "critics"
    metrics = "metrics"
    worlds = "worlds"
    estimators = "estimators"
    decoders = "decoders"


_PLACES = {
    "collections": "engine.collection.collection",
    "decoders": "perception.decoders",
    "estimators": "perception",
    "agents": "core.agent",
    "critics": "suites.build.critics",
}


def main() -> None:
    """Entry point: known errors are one line and exit code 2, unknown ones keep their traceback."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    except WorldgaugeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(KNOWN_ERROR)
    except Exception as error:
        error.add_note("This is a fault of worldgauge or of code you gave it; please report it with the lines above.")
        raise


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    pass


@app.command("generate", help="The first half of run: make the records, leave the scoring to score.")
@app.command("run", help="Ask models all tasks of a suite and score them; started again, it goes on where it stopped.")
def ask(
    context: typer.Context,
    suite: Annotated[str, typer.Argument(help="Name of the suite; see: worldgauge list suites")],
    data: Data,
    model: Models = None,
    agent: Agents = None,
    references: References = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run folders; by default runs/SUITE.")] = None,
    workers: Workers = 1,
    on: On = None,
    gpus_per_worker: Gpus = None,
    seed: Seed = 0,
    settings: Settings = None,
    limit: Limit = None,
    deadline: Deadline = 1800.0,
    retry_failed: Retry = True,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Both commands, which differ only in that `generate` does not score."""
    from worldgauge.cli import show
    from worldgauge.engine import run as engine
    from worldgauge.terminal.progress import Running

    arguments: dict[str, Any] = {
        "model": _subjects(suite, model, agent, references),
        "data": data,
        "out": out,
        "on": on,
        "gpus_per_worker": gpus_per_worker,
        "seed": seed,
        "settings": settings_of(settings),
        "limit": limit,
        "retry_failed": retry_failed,
        "scoring": context.info_name == "run",
        "labels": {text: name for name, text in _reference_texts(suite).items()},
    }
    _tell_missing(suite, arguments["settings"], data)
    if dry_run:
        show.plans(engine.dry_run(suite, **arguments), json)
        return
    with resumable(), Running() as progress:
        result = engine.run(suite, **arguments, workers=workers, deadline_s=deadline, progress=progress)
    _finish(result, json)


@app.command()
def score(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders, or folders of run folders; with --videos the name of a suite.")
    ],
    data: Annotated[Path | None, typer.Option(help="Where the data set lies now, if it was moved.")] = None,
    videos: Annotated[
        Path | None, typer.Option(help="Finished videos, a folder a model: <model>/<task>.mp4. Needs --data.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --videos: folder of the run folders.")] = None,
    references: References = None,
    settings: Settings = None,
    workers: Workers = 1,
    on: On = None,
    deadline: Deadline = 1800.0,
    json: Json = False,
) -> None:
    """Score the records of runs, again where settings or metrics have changed, or finished videos; no model runs but
    the references beside them."""
    from worldgauge.cli import show
    from worldgauge.engine import run as engine
    from worldgauge.engine.videos import score_videos
    from worldgauge.terminal.progress import Running

    shared: dict[str, Any] = {"settings": settings_of(settings), "workers": workers, "on": on, "deadline_s": deadline}
    if videos is None:
        if out is not None or references is not None:
            raise UsageError("score --out and --references go with --videos; scores of runs stay in their run folders")
        with resumable(), Running() as progress:
            result = engine.score(runs, data=data, progress=progress, **shared)
        _finish(result, json)
        return
    if len(runs) != 1 or data is None:
        raise UsageError("videos are scored with: worldgauge score SUITE --data DIR --videos DIR")
    beside = _references(str(runs[0]), references)
    _tell_missing(str(runs[0]), shared["settings"], data)
    with resumable(), Running() as progress:
        result, found = score_videos(
            str(runs[0]), videos=videos, data=data, out=out, references=beside, progress=progress, **shared
        )
    show.unused_videos(found)
    _finish(result, json, unused_videos={name: list(left) for name, left in found.unmatched.items()})


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders of run folders.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    films: Annotated[int, typer.Option(help="Tasks shown as films, or cards, at most.", min=0)] = 24,
    votes: Annotated[Path | None, typer.Option(help="build: what worldgauge vote wrote on these runs.")] = None,
    json: Json = False,
) -> None:
    """Compare runs on one page that opens from disk."""
    from worldgauge.report import write_report
    from worldgauge.terminal.output import written

    more = []
    if votes is not None:
        from worldgauge.suites.build.voting.vote import voted

        more.append(voted(votes, runs))
    written(write_report(runs, out, films=films, more=more), json)


@app.command()
def replay(
    run: Annotated[Path, typer.Argument(help="The run folder of one subject.")],
    task: Annotated[str, typer.Argument(help="The episode, such as navigation/goal-0007.")],
    out: Annotated[Path, typer.Option(help="The film to write.")] = Path("replay.mp4"),
    json: Json = False,
) -> None:
    """One episode of a run as a film: what the world model imagined beside what then happened."""
    from worldgauge.report.films.replay import write_replay
    from worldgauge.terminal.output import written

    if out.suffix.lower() != ".mp4":
        raise UsageError(f"--out {out}: a film ends in .mp4")

    written(write_replay(run, task, out), json)


@app.command()
def export(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders of run folders.")],
    out: Annotated[Path, typer.Option(help="Folder of the files, one a subject.")] = Path("results"),
    json: Json = False,
) -> None:
    """Write scores as result files of the benchmark's own scorer (mind), for tools that read those."""
    from worldgauge.cli import show
    from worldgauge.engine.export import export as write

    show.exported(write(runs, out), json)


@app.command("check-model")
def check_model(
    model: Annotated[
        str, typer.Option(help="As for run: a name, package.module:Class, ./file.py:Class, cmd:, pipe: or http://.")
    ],
    suite: Annotated[str, typer.Option(help="By whose actions it is driven: loopnav, mind or closedloop.")] = "loopnav",
    deadline: Annotated[float, typer.Option(help="Seconds without a frame after which a check is given up.")] = 600.0,
    json: Json = False,
) -> None:
    """Does a model keep every promise? All checks at once, each violation explained."""
    from worldgauge.cli import check_model as cli_check
    from worldgauge.tools import check_model as conformance

    with cli_check.Checking() as progress:
        report = conformance.check_model(model, suite=cast("Any", suite), deadline_s=deadline, progress=progress)
    if not cli_check.checked_model(report, json):
        raise typer.Exit(FAILED)


@app.command()
def adapters(
    name: Annotated[str | None, typer.Argument(help="The adapter to copy; without one they are listed.")] = None,
    out: Annotated[Path, typer.Option(help="Folder to copy it to, with the file that serves it.")] = Path("."),
    json: Json = False,
) -> None:
    """Single files that serve published models from the models' own environments: list them, or copy one."""
    from worldgauge.cli import adapters as cli_adapters
    from worldgauge.cli import show

    if name is None:
        show.adapters(cli_adapters.known(), json)
    else:
        show.handed_out(cli_adapters.hand_out(name, out), json)


@app.command("list")
def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")], json: Json = False) -> None:
    """What there is: ours, and what other packages offer through entry points."""
    import importlib

    from worldgauge.cli import show

    package = importlib.import_module(f"worldgauge.{_PLACES.get(kind.value, kind.value)}")
    show.entries(kind.value, getattr(package, kind.value), json)


app.command()(check)
app.command("validate-metric")(validate_metric)
app.command()(doctor)


def _finish(result: RunResult, json: bool, **more: Any) -> None:
    from worldgauge.cli import show

    show.result(result, json, **more)
    if not result.ok:
        raise typer.Exit(FAILED)


def _subjects(suite: str, models: list[str] | None, agents: list[str] | None, references: bool | None) -> list[str]:
    """The models, or agents, that were named, then the references that were not."""
    from worldgauge.engine.suite.base import suites

    asks = suites.get(suite).subject_kind
    given, others, other = (agents, models, "model") if asks == "agent" else (models, agents, "agent")
    if others:
        raise UsageError(f"{suite} asks {asks}s: name them with --{asks}, not --{other}")
    if not given and not references:
        article = "an" if asks == "agent" else "a"
        raise UsageError(f"name {article} {asks} with --{asks}, or ask for the suite's own with --references")
    named = given or []
    return [*named, *(text for text in _references(suite, references) if text.partition("?")[0] not in named)]


def _tell_missing(suite: str, settings: Mapping[str, Any], data: Path) -> None:
    """What the data should hold and do not have: nobody must believe that all of it was asked."""
    from worldgauge.engine.plan import open_suite

    opened = open_suite(suite, settings)
    for line in opened.missing_data(data) if data.is_dir() else ():
        print(f"note: {line}", file=sys.stderr)


def _references(suite: str, wanted: bool | None) -> list[str]:
    """All references of a suite, none, or unless said those that stand beside everything."""
    from worldgauge.engine.suite.base import suites

    kind = suites.get(suite)
    names = kind.default_references if wanted is None else kind.references if wanted else ()
    texts = _reference_texts(suite)
    return [texts.get(name, name) for name in names]


def _reference_texts(suite: str) -> dict[str, str]:
    """References that the suite asks with settings of its own, as they are named on the command line."""
    from worldgauge.engine.suite.base import suites

    return {name: f"{name}?{query}" for name, query in suites.get(suite).reference_settings.items()}


def _interrupt(number: int, frame: object) -> NoReturn:
    """A polite kill is a Ctrl-C: workers end, nothing is left half done."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
