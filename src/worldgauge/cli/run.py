"""`worldgauge run`, `generate` and `score`: ask the subjects of a suite, and score their answers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from worldgauge.core.errors import UsageError
from worldgauge.terminal.options import (
    FAILED,
    Agents,
    Data,
    Deadline,
    DryRun,
    Gpus,
    Json,
    Limit,
    Models,
    On,
    OwnMetrics,
    References,
    Retry,
    Seed,
    Settings,
    Workers,
    resumable,
    settings_of,
    with_metrics,
)

if TYPE_CHECKING:
    from worldgauge.engine.result import RunResult


class WithSettings(TyperCommand):
    """A command whose help also shows the settings of the named suite: `worldgauge run mind --help`."""

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        """Note the suite before the help option ends the parsing."""
        context.meta["suite"] = next((one for one in args if not one.startswith("-")), None)
        return super().parse_args(context, args)

    def format_help(self, context: Any, formatter: Any) -> None:
        """The options of the command, then the settings of the suite."""
        from worldgauge.engine.suite.base import suites

        super().format_help(context, formatter)
        name = context.meta.get("suite")
        if name is not None and name in suites:
            _print_settings(name)


def run(
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
    metric: OwnMetrics = None,
    limit: Limit = None,
    deadline: Deadline = 1800.0,
    retry_failed: Retry = True,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Ask models all tasks of a suite and score them. A stopped run continues where it stopped."""
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
        "settings": with_metrics(settings_of(settings), metric),
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
    metric: OwnMetrics = None,
    workers: Workers = 1,
    on: On = None,
    deadline: Deadline = 1800.0,
    json: Json = False,
) -> None:
    """Score the records of runs again where settings or metrics have changed, or score finished videos.

    No model runs, except the references that videos are compared with.
    """
    from worldgauge.cli import show
    from worldgauge.engine import run as engine
    from worldgauge.engine.videos import score_videos
    from worldgauge.terminal.progress import Running

    given = with_metrics(settings_of(settings), metric)
    shared: dict[str, Any] = {"settings": given, "workers": workers, "on": on, "deadline_s": deadline}
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


def _finish(result: RunResult, json: bool, **more: Any) -> None:
    from worldgauge.cli import show

    show.result(result, json, **more)
    if not result.ok:
        raise typer.Exit(FAILED)


def _subjects(suite: str, models: list[str] | None, agents: list[str] | None, references: bool | None) -> list[str]:
    """The models or agents that were named, then the references that were not."""
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
    """Report parts that the data should have and lack, so that nobody thinks all of it was asked."""
    from worldgauge.engine.plan import open_suite

    opened = open_suite(suite, settings)
    for line in opened.missing_data(data) if data.is_dir() else ():
        print(f"note: {line}", file=sys.stderr)


def _references(suite: str, wanted: bool | None) -> list[str]:
    """References of a suite: all of them, none, or by default those that run with every model."""
    from worldgauge.engine.suite.base import suites

    kind = suites.get(suite)
    names = kind.default_references if wanted is None else kind.references if wanted else ()
    texts = _reference_texts(suite)
    return [texts.get(name, name) for name in names]


def _reference_texts(suite: str) -> dict[str, str]:
    """References that the suite runs with settings of its own, as text for the command line."""
    from worldgauge.engine.suite.base import suites

    return {name: f"{name}?{query}" for name, query in suites.get(suite).reference_settings.items()}


def _print_settings(suite: str) -> None:
    """Print name, default, rule and help of every setting of a suite."""
    from rich.table import Table as Grid

    from worldgauge.engine.options import option_rows
    from worldgauge.engine.suite.base import suites
    from worldgauge.terminal.tables import out

    grid = Grid(title=f"Settings of {suite}: --set NAME=VALUE", title_justify="left", expand=True)
    for column in ("name", "default", "give", "what it does"):
        grid.add_column(column, overflow="fold")
    for row in option_rows(suites.get(suite).Settings):
        grid.add_row(*row)
    out.print(grid)
