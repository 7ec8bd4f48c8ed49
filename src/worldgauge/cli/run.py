"""`worldgauge run`, `generate`, `score` and `questions`: ask the models of a suite, and score their answers."""

from __future__ import annotations

import shlex
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
    Baselines,
    Csv,
    Data,
    Deadline,
    DryRun,
    Fresh,
    Gpus,
    Json,
    Labels,
    Limit,
    Models,
    On,
    OwnMetrics,
    Retry,
    Sandbox,
    ScoreDevice,
    Sealed,
    Seed,
    Settings,
    Verbose,
    VideoFps,
    VideoLonger,
    Workers,
    labels_of,
    resumable,
    settings_of,
    with_metrics,
)

if TYPE_CHECKING:
    from worldgauge.engine.result import RunResult
    from worldgauge.engine.run import RunRequest
    from worldgauge.terminal.output import Form

SUITE_HELP = "Name of the suite, or ./FILE.py:CLASS. See: worldgauge list suites"


class WithSettings(TyperCommand):
    """A command whose help also shows the settings of the named suite: `worldgauge run mind --help`."""

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        """Note the suite before the help option ends the parsing."""
        if "--help" in args:
            rest = [one for one in args if one != "--help"]
            context.meta["suite"] = self.make_parser(context).parse_args(rest)[0].get("suite")
        return super().parse_args(context, args)

    def format_help(self, context: Any, formatter: Any) -> None:
        """The options of the command, then the settings of the suite."""
        from worldgauge.cli.listing import settings_text

        name = context.meta.get("suite")
        settings = None if name is None else settings_text(name)
        super().format_help(context, formatter)
        if settings is not None:
            formatter.write(f"\n{settings}\n")


def run(
    context: typer.Context,
    suite: Annotated[str, typer.Argument(help=SUITE_HELP)],
    data: Data,
    model: Models = None,
    agent: Agents = None,
    baselines: Baselines = None,
    out: Annotated[Path | None, typer.Option(help="Parent of the run folders. Default: runs/SUITE.")] = None,
    workers: Workers = 1,
    on: On = None,
    gpus_per_worker: Gpus = None,
    score_device: ScoreDevice = None,
    seed: Seed = 0,
    settings: Settings = None,
    metric: OwnMetrics = None,
    limit: Limit = None,
    label: Labels = None,
    step: Annotated[
        int | None, typer.Option(help="Training step of the models, for curves over steps. Ends their labels.", min=0)
    ] = None,
    deadline: Deadline = 1800.0,
    retry_failed: Retry = True,
    fresh: Fresh = False,
    sandbox: Sandbox = False,
    dry_run: DryRun = False,
    verbose: Verbose = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Run models on a suite and score them.

    A stopped run continues where it stopped. The settings of a model follow its name, as in drift?step_m=0.02. The
    code of a model's or metric's module, file or command is run.
    """
    from worldgauge.cli import show
    from worldgauge.engine.open_suite import suite_name
    from worldgauge.engine.run import RunRequest, execute
    from worldgauge.engine.run import dry_run as plan
    from worldgauge.terminal.output import form_of
    from worldgauge.terminal.progress import RunProgress
    from worldgauge.tools.data_sets import find_data

    form = form_of(json, csv)
    if sandbox and on not in (None, "local"):
        raise UsageError("--sandbox is for workers on this machine; on a cluster, put bwrap into the model's command")
    if dry_run and csv:
        raise UsageError("--dry-run has no tables: give --json in place of --csv")
    if score_device is not None and context.info_name == "generate":
        raise UsageError("generate makes no scores: give --score-device to run or score")
    suite = suite_name(suite)
    named = _named(suite, model, agent, baselines)
    given = with_metrics(settings_of(settings), metric)
    added = {text: name for text, name in _baselines(suite, baselines, given).items() if name not in named}
    data = find_data(data, suite)
    request = RunRequest(
        suite,
        models=(*named, *added),
        data=data,
        out=out or Path("runs", suite),
        workers=workers,
        on=on,
        gpus_per_worker=gpus_per_worker,
        score_device=score_device,
        seed=seed,
        settings=given,
        limit=limit,
        step=step,
        deadline_s=deadline,
        retry_failed=retry_failed,
        fresh=fresh,
        scoring=context.info_name == "run",
        labels={text: name for text, name in _baselines(suite, True).items() if text != name}
        | labels_of(label or [], named),
        matched_baselines=baselines is not False,
    )
    notes = _notes(request)
    if baselines is None and added:
        notes.append(f"note: baselines run as well: {', '.join(added.values())} (--no-baselines runs none)")
    if dry_run:
        found = plan(request)
        for note in notes:
            print(note, file=sys.stderr)
        show.plans(found, json)
        return
    with resumable(), RunProgress(notes, verbose=verbose) as progress:
        result = execute(request, progress)
    _finish(result, form)


def score(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUNS | SUITE", help="Run folders, or folders of run folders. With --videos: a suite."),
    ],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR | SET", help="Folder of the data set or benchmark set, if it was moved.")
    ] = None,
    videos: Annotated[
        Path | None, typer.Option(help="Folder of finished videos: <model>/<task>.mp4. Needs --data.")
    ] = None,
    video_fps: VideoFps = None,
    video_longer: VideoLonger = None,
    sealed: Sealed = None,
    out: Annotated[Path | None, typer.Option(help="With --videos: parent of the run folders.")] = None,
    baselines: Baselines = None,
    settings: Settings = None,
    metric: OwnMetrics = None,
    workers: Workers = 1,
    on: On = None,
    gpus_per_worker: Gpus = None,
    score_device: ScoreDevice = None,
    deadline: Deadline = 1800.0,
    fresh: Fresh = False,
    verbose: Verbose = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Score runs again after changes of settings or metrics, or finished videos.

    Again: worldgauge score RUNS. Finished videos: worldgauge score SUITE --data DIR --videos DIR. No model runs, except
    the baselines that videos are compared with.
    """
    from worldgauge.cli import show
    from worldgauge.engine import run as engine
    from worldgauge.engine.open_suite import suite_name
    from worldgauge.engine.result import find_runs
    from worldgauge.engine.sealed import read_seal
    from worldgauge.engine.videos import score_videos
    from worldgauge.terminal.output import form_of
    from worldgauge.terminal.progress import RunProgress
    from worldgauge.tools.data_sets import find_data

    form = form_of(json, csv)
    given = with_metrics(settings_of(settings), metric)
    if videos is None:
        if fresh or any(each is not None for each in (out, baselines, video_fps, video_longer)):
            raise UsageError(
                "score --out, --baselines, --video-fps, --video-longer and --fresh go with --videos; scores of runs "
                "stay in their run folders"
            )
        data = None if data is None else find_data(data, find_runs(runs)[0].facts()["suite"])
        with resumable(), RunProgress(verbose=verbose) as progress:
            result = engine.score(
                runs,
                settings=given,
                data=data,
                workers=workers,
                on=on,
                gpus_per_worker=gpus_per_worker,
                score_device=score_device,
                deadline_s=deadline,
                progress=progress,
            )
        _finish(result, form)
        return
    if len(runs) != 1 or data is None:
        raise UsageError("videos are scored with: worldgauge score SUITE --data DIR --videos DIR")
    suite = suite_name(str(runs[0]))
    data = find_data(data, suite)
    request = engine.RunRequest(
        suite,
        models=tuple(_baselines(suite, baselines, given)),
        data=data,
        out=out or Path("runs", suite),
        workers=workers,
        on=on,
        gpus_per_worker=gpus_per_worker,
        score_device=score_device,
        settings=given,
        deadline_s=deadline,
        fresh=fresh,
        matched_baselines=baselines is not False,
    )
    with resumable(), RunProgress(_notes(request), verbose=verbose) as progress:
        longer, seal = video_longer or "error", None if sealed is None else read_seal(sealed)
        result, found = score_videos(request, videos, fps=video_fps, longer=longer, sealed=seal, progress=progress)
    show.unused_videos(found)
    _finish(result, form, unused_videos={name: list(left) for name, left in found.unmatched.items()})


def questions(
    suite: Annotated[
        str | None, typer.Argument(help="Name of the suite. Default: all that accept finished videos.")
    ] = None,
    *,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder of the questions, new or to continue.")],
    model: Annotated[
        str | None,
        typer.Option("--for", metavar="MODEL", help="Write requests in this model's form. Default: with all inputs."),
    ] = None,
    settings: Settings = None,
    limit: Limit = None,
    seed: Seed = 0,
    sealed: Sealed = None,
    json: Json = False,
) -> None:
    """Write the requests of suites as files, for models elsewhere.

    Score its videos with: worldgauge score SUITE --videos DIR, or of all suites: worldgauge evaluate --videos DIR.
    """
    from worldgauge.engine.open_suite import suite_name
    from worldgauge.engine.sealed import read_seal
    from worldgauge.terminal.output import endings, print_json, print_text
    from worldgauge.terminal.output import out as terminal
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.tools.data_sets import find_data
    from worldgauge.tools.questions import answered_by_videos, write_questions

    if suite is None:
        if settings or sealed is not None:
            raise UsageError("--set and --sealed go with one suite: name it")
        made = {}
        with resumable(), ProgressBar() as bar:
            for name in answered_by_videos(data):
                made[name] = write_questions(
                    name,
                    data=find_data(data, name),
                    out=out / name,
                    model=model,
                    limit=limit,
                    seed=seed,
                    progress=lambda task, done, total, name=name: bar.show(name, done, total, task),  # type: ignore[misc]
                )
        if json:
            print_json(folder=str(out), suites={name: list(found.questions) for name, found in made.items()})
            return
        for found in made.values():
            print_text(f"{len(found.questions)} questions in {found.folder}; {len(found.skipped)} tasks are skipped")
        print_text("next: write each video as VIDEOS/SUITE/NAME_OF_YOUR_MODEL/TASK.mp4, then")
        scored_with = next(iter(made.values())).scored_with  # the same for all suites: the model says it
        words = ["worldgauge", "evaluate", "--data", str(data), "--videos", "VIDEOS", *scored_with]
        terminal.print(f"  {shlex.join(words)}", markup=False, soft_wrap=True)
        return
    folder = find_data(data, suite_name(suite))
    with resumable(), ProgressBar() as bar:
        found = write_questions(
            suite,
            data=folder,
            out=out,
            model=model,
            settings=settings_of(settings),
            limit=limit,
            seed=seed,
            sealed=None if sealed is None else read_seal(sealed),
            progress=lambda task, done, total: bar.show("questions", done, total, task),
        )
    if json:
        print_json(
            folder=str(found.folder),
            questions=list(found.questions),
            skipped=dict(found.skipped),
            table=None if found.table is None else str(found.table),
            scored_with=list(found.scored_with),
        )
        return
    print_text(f"{len(found.questions)} questions in {found.folder}; {len(found.skipped)} tasks are skipped")
    endings("skipped", list(found.skipped.items()))
    if found.table is None:
        print_text("One Parquet file of all questions needs the extra 'analysis'.")
    print_text("next: write a video a task as VIDEOS/NAME_OF_YOUR_MODEL/TASK.mp4, then")
    if sealed is not None:
        pack = shlex.join(["worldgauge", "bundle", "VIDEOS/NAME_OF_YOUR_MODEL", "--questions", str(out)])
        terminal.print(f"  {pack}", markup=False, soft_wrap=True)
        return
    same = [word for one in settings or () for word in ("--set", one)]
    words = ["worldgauge", "score", suite, "--data", str(data), "--videos", "VIDEOS", *found.scored_with, *same]
    terminal.print(f"  {shlex.join(words)}", markup=False, soft_wrap=True)


def _finish(result: RunResult, form: Form, **more: Any) -> None:
    from worldgauge.cli import show

    show.result(result, form, **more)
    if not result.ok:
        raise typer.Exit(FAILED)


def _named(suite: str, models: list[str] | None, agents: list[str] | None, baselines: bool | None) -> list[str]:
    """The models or agents that were named."""
    from worldgauge.engine.suite.base import suites

    asks = suites.get(suite).answerer_kind
    given, others, other = (agents, models, "model") if asks == "agent" else (models, agents, "agent")
    if others:
        raise UsageError(f"{suite} evaluates {asks}s: name them with --{asks}, not --{other}")
    if not given and not baselines:
        article = "an" if asks == "agent" else "a"
        raise UsageError(f"name {article} {asks} with --{asks}, or run the suite's own with --baselines")
    return given or []


def _notes(request: RunRequest) -> list[str]:
    """What the data lack, one line each. They are printed once the run can start: an error comes alone."""
    from worldgauge.engine.open_suite import open_suite

    opened = open_suite(request.suite, request.settings)
    return [f"note: {line}" for line in opened.missing_data(request.data)] if request.data.is_dir() else []


def _baselines(suite: str, wanted: bool | None, given: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Baselines of a suite, name by text: all of them, none, or by default its floors and those that show the scale."""
    from worldgauge.engine.open_suite import open_suite
    from worldgauge.engine.suite.base import acted_by, suites

    if wanted is False:
        return {}
    # A person would act with each floor, too.
    is_acted = wanted is None and acted_by(open_suite(suite, given or {}), "") is not None
    return suites.get(suite).baseline_addresses(every=bool(wanted), floors=not is_acted)
