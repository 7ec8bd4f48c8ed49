"""The command line. Heavy parts are imported by the command that needs them, so that help comes at once."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from worldgauge import __version__
from worldgauge.errors import UsageError, WorldgaugeError

if TYPE_CHECKING:
    from worldgauge.engine.collect import Collected
    from worldgauge.engine.result import RunResult

app = typer.Typer(
    name="worldgauge",
    help="Measure what a world model is worth: memory, control, planning, use.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class _Collections(TyperGroup):
    """A command for each benchmark."""

    def get_command(self, context: Any, name: str) -> Any:
        """The command, or one line that says which there are."""
        command = super().get_command(context, name)
        if command is None:
            raise UsageError(f"nothing is collected for '{name}'; known: {', '.join(self.list_commands(context))}")
        return command


collect_app = typer.Typer(
    cls=_Collections,
    help="Make a data set in embedded worlds; may be stopped at any moment and started again.",
    no_args_is_help=True,
)
app.add_typer(collect_app, name="collect")

FAILED = 1
KNOWN_ERROR = 2
INTERRUPTED = 130

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, progress on stderr.")]
Workers = Annotated[int, typer.Option(help="Processes that work side by side.")]
On = Annotated[
    str | None,
    typer.Option(help="Where the workers are: local, ray (RAY_ADDRESS, or one started here), ray://HOST:PORT."),
]
Gpus = Annotated[
    float | None,
    typer.Option("--gpus-per-worker", help="GPUs of each worker, a share such as 0.5 or whole ones; else as declared."),
]
Seed = Annotated[int, typer.Option(help="Same seed, same bytes.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
Out = Annotated[Path, typer.Option(help="Folder of the data set that is made or continued.")]
Size = Annotated[str, typer.Option(help="Width and height of a frame in pixels.")]
Data = Annotated[Path, typer.Option(help="Folder of the data set.")]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="Name, package.module:Class or ./file.py:Class, with settings as in drift?step_m=0.02; or a model of "
        "another environment or machine: cmd:COMMAND, pipe:COMMAND, http://HOST:PORT. Can be repeated. "
        "Naming a module, a file or a command runs its code.",
    ),
]
References = Annotated[bool, typer.Option("--references", help="Also ask every reference model of the suite.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the suite. Can be repeated.")
]
Limit = Annotated[int | None, typer.Option(help="Only the first so many tasks.")]
Deadline = Annotated[
    float,
    typer.Option(help="Seconds without a frame, or a sign of scoring, after which a task ends. Loading may take 1800."),
]
Retry = Annotated[bool, typer.Option("--retry-failed/--keep-failed", help="Try failed tasks of an earlier run again.")]


class Kind(StrEnum):
    """What can be listed."""

    suites = "suites"
    models = "models"
    metrics = "metrics"
    worlds = "worlds"
    estimators = "estimators"
    decoders = "decoders"


class Segmenter(StrEnum):
    """Where a study of a metric takes the objects from."""

    exact = "exact"
    colour = "colour"


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


@collect_app.command("loopnav")
def collect_loopnav(
    out: Out,
    settlements: Annotated[int, typer.Option(help="Villages, each a world of its own.")] = 12,
    ranges: Annotated[str, typer.Option(help="Distances of the goals in blocks.")] = "5,15,30,50",
    types: Annotated[str, typer.Option(help="Forms of the loop.")] = "ABA,ABCA",
    per_combination: Annotated[int, typer.Option(help="Loops for each village, type and range.")] = 20,
    seed: Seed = 42,
    workers: Workers = 1,
    on: On = None,
    size: Size = "640x360",
    sampling: Annotated[str, typer.Option(help='How goals are drawn: "released" or "continuous".')] = "released",
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Loops in generated villages, in LoopNav's layout."""
    from worldgauge.engine import collect as engine

    arguments: dict[str, Any] = {
        "settlements": settlements,
        "ranges": [_whole(part, "--ranges") for part in ranges.split(",")],
        "types": types.split(","),
        "per_combination": per_combination,
        "seed": seed,
        "size": _size(size),
        "sampling": sampling,
    }
    _collect("loopnav", engine.collect_loopnav, engine.count_loopnav, out, arguments, workers, on, dry_run, json)


@collect_app.command("target")
def collect_target(
    out: Out,
    scenes: Annotated[int, typer.Option(help="Settlements and homes, each a world of its own.")] = 25,
    per_scene: Annotated[int, typer.Option(help="Scenarios for each scene.")] = 5,
    places: Annotated[str, typer.Option(help="Where scenes are, by turns.")] = "outdoors,indoors",
    seed: Seed = 42,
    workers: Workers = 1,
    on: On = None,
    size: Size = "640x360",
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Walks to named things, in Target-Bench's layout."""
    from worldgauge.engine import collect as engine

    arguments: dict[str, Any] = {
        "scenes": scenes,
        "per_scene": per_scene,
        "places": places.split(","),
        "seed": seed,
        "size": _size(size),
    }
    _collect("target", engine.collect_target, engine.count_target, out, arguments, workers, on, dry_run, json)


@app.command("generate", help="The first half of run: make the records, leave the scoring to score.")
@app.command("run", help="Ask models all tasks of a suite and score them; started again, it goes on where it stopped.")
def ask(
    context: typer.Context,
    suite: Annotated[str, typer.Argument(help="Name of the suite; see: worldgauge list suites")],
    data: Data,
    model: Models = None,
    references: References = False,
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
    from worldgauge import cli_show as show
    from worldgauge.engine import run as engine

    arguments: dict[str, Any] = {
        "model": _models(suite, model, references),
        "data": data,
        "out": out,
        "on": on,
        "gpus_per_worker": gpus_per_worker,
        "seed": seed,
        "settings": _settings(settings),
        "limit": limit,
        "retry_failed": retry_failed,
        "scoring": context.info_name == "run",
        "labels": {text: name for name, text in _reference_texts(suite).items()},
    }
    if dry_run:
        show.plans(engine.dry_run(suite, **arguments), json)
        return
    with _resumable(), show.Running() as progress:
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
    settings: Settings = None,
    workers: Workers = 1,
    on: On = None,
    deadline: Deadline = 1800.0,
    json: Json = False,
) -> None:
    """Score the records of runs, again where settings or metrics have changed, or finished videos; no model runs."""
    from worldgauge import cli_show as show
    from worldgauge.engine import run as engine
    from worldgauge.engine.videos import score_videos

    shared: dict[str, Any] = {"settings": _settings(settings), "workers": workers, "on": on, "deadline_s": deadline}
    if videos is None:
        if out is not None:
            raise UsageError("score --out goes with --videos; scores of runs stay in their run folders")
        with _resumable(), show.Running() as progress:
            result = engine.score(runs, data=data, progress=progress, **shared)
        _finish(result, json)
        return
    if len(runs) != 1 or data is None:
        raise UsageError("videos are scored with: worldgauge score SUITE --data DIR --videos DIR")
    with _resumable(), show.Running() as progress:
        result, shelf = score_videos(str(runs[0]), videos=videos, data=data, out=out, progress=progress, **shared)
    show.unused_videos(shelf)
    _finish(result, json, unused_videos={name: list(left) for name, left in shelf.strays.items()})


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders of run folders.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    films: Annotated[int, typer.Option(help="Trajectories shown as films at most.", min=0)] = 24,
    json: Json = False,
) -> None:
    """Compare runs on one page that opens from disk."""
    from worldgauge import cli_show as show
    from worldgauge.report import write_report

    show.written(write_report(runs, out, films=films), json)


@app.command("check-model")
def check_model(
    model: Annotated[
        str, typer.Option(help="As for run: a name, package.module:Class, ./file.py:Class, cmd:, pipe: or http://.")
    ],
    deadline: Annotated[float, typer.Option(help="Seconds without a frame after which a check is given up.")] = 600.0,
    json: Json = False,
) -> None:
    """Does a model keep every promise? All checks at once, each violation explained."""
    from worldgauge import cli_check
    from worldgauge.engine import conformance

    with cli_check.Checking() as progress:
        report = conformance.check_model(model, deadline_s=deadline, progress=progress)
    if not cli_check.checked_model(report, json):
        raise typer.Exit(FAILED)


@app.command()
def adapters(
    name: Annotated[str | None, typer.Argument(help="The adapter to copy; without one they are listed.")] = None,
    out: Annotated[Path, typer.Option(help="Folder to copy it to, with the file that serves it.")] = Path("."),
    json: Json = False,
) -> None:
    """Single files that serve published models from the models' own environments: list them, or copy one."""
    from worldgauge import cli_adapters
    from worldgauge import cli_show as show

    if name is None:
        show.adapters(cli_adapters.known(), json)
    else:
        show.handed_out(cli_adapters.hand_out(name, out), json)


@app.command("list")
def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")], json: Json = False) -> None:
    """What there is: ours, and what other packages offer through entry points."""
    import importlib

    from worldgauge import cli_show as show

    place = "estimators.decoders" if kind is Kind.decoders else kind.value
    package = importlib.import_module(f"worldgauge.{place}")
    show.entries(kind.value, getattr(package, kind.value), json)


@app.command()
def check(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Whose format: loopnav or target.")],
    data: Data,
    decode: Annotated[
        bool, typer.Option("--decode", help="Also decode every video; finds damage within frames.")
    ] = False,
    json: Json = False,
) -> None:
    """Look a data set over; says what is wrong with which file."""
    from worldgauge import cli_data

    if not cli_data.check_data(benchmark, data, decode=decode, json=json):
        raise typer.Exit(FAILED)


@app.command("validate-metric")
def validate_metric(
    metric: Annotated[str, typer.Argument(metavar="METRIC", help="Which metric to put to the test: sgcs.")],
    data: Annotated[Path | None, typer.Option(help="Recorded walks to test it on; without, drawn scenes.")] = None,
    scenes: Annotated[int, typer.Option(help="Drawn scenes.")] = 40,
    segmenter: Annotated[Segmenter, typer.Option(help="Where the objects come from.")] = Segmenter.exact,
    json: Json = False,
) -> None:
    """Does a metric keep what its paper claims? It must ignore what keeps the scene and see what changes it."""
    from worldgauge import cli_show as show
    from worldgauge.suites.loopnav.validation import study

    if metric != "sgcs":
        raise UsageError(f"no study of the metric '{metric}' is known; known: sgcs")
    if not show.studied(study(data, scenes=scenes, segmenter=segmenter.value), json):
        raise typer.Exit(FAILED)


def _collect(
    benchmark: str,
    collect: Callable[..., Collected],
    count: Callable[[Path, Mapping[str, Any]], tuple[int, int]],
    out: Path,
    arguments: Mapping[str, Any],
    workers: int,
    on: str | None,
    dry_run: bool,
    json: bool,
) -> None:
    from worldgauge import cli_show as show

    if dry_run:
        show.collection_plan(benchmark, out, arguments, count(out, arguments), json)
        return
    with _resumable(), show.Collecting(benchmark) as progress:
        collected = collect(out, **arguments, workers=workers, on=on, progress=progress)
    show.collected(benchmark, collected, json)
    if collected.failures:
        raise typer.Exit(FAILED)


def _finish(result: RunResult, json: bool, **more: Any) -> None:
    from worldgauge import cli_show as show

    show.result(result, json, **more)
    if not result.ok:
        raise typer.Exit(FAILED)


def _models(suite: str, given: list[str] | None, references: bool) -> list[str]:
    """The models that were named, then the references that were not."""
    from worldgauge.suites import suites

    named = given or []
    wanted = suites.get(suite).references if references else ()  # type: ignore[attr-defined]
    texts = _reference_texts(suite)
    models = [*named, *(texts.get(name, name) for name in wanted if name not in named)]
    if not models:
        raise UsageError("name a model with --model, or ask for the suite's own with --references")
    return models


def _reference_texts(suite: str) -> dict[str, str]:
    """References that the suite asks with settings of its own, as they are named on the command line."""
    from worldgauge.suites import suites

    settings: Mapping[str, str] = getattr(suites.get(suite), "reference_settings", {})
    return {name: f"{name}?{query}" for name, query in settings.items()}


@contextmanager
def _resumable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        print("stopped; what is done is kept, and the same command goes on from here", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None


def _settings(pairs: list[str] | None) -> dict[str, Any]:
    from worldgauge.engine.subjects import value_of

    found: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--set takes NAME=VALUE, not '{pair}'")
        if name in found:
            raise UsageError(f"--set gives '{name}' twice")
        found[name] = value_of(value)
    return found


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    return _whole(width, "--size"), _whole(height, "--size")


def _whole(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{option} takes whole numbers, not '{text}'") from None


def _interrupt(number: int, frame: object) -> NoReturn:
    """A polite kill is a Ctrl-C: workers end, nothing is left half done."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
