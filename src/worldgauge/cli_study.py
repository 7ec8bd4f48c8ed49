"""What the closed loop has beside running it: its analyses, one episode as a film, the eyes of its agents."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from worldgauge.cli_options import Data, Deadline, Json, Limit, Models, Seed, Settings, Workers, resumable, settings_of
from worldgauge.errors import UsageError


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
    from worldgauge import cli_show as show
    from worldgauge.engine.studies import run_study
    from worldgauge.report.study import write_study

    given: dict[str, Any] = settings_of(settings)
    with resumable(), show.Running() as progress:
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
    show.found(found, path, json)


def replay(
    run: Annotated[Path, typer.Argument(help="The run folder of one subject.")],
    task: Annotated[str, typer.Argument(help="The episode, such as navigation/goal-0007.")],
    out: Annotated[Path, typer.Option(help="The film to write.")] = Path("replay.mp4"),
    json: Json = False,
) -> None:
    """One episode of a run as a film: what the world model imagined beside what then happened."""
    from worldgauge import cli_show as show
    from worldgauge.report.replaying import write_replay

    if out.suffix.lower() != ".mp4":
        raise UsageError(f"--out {out}: a film ends in .mp4")

    show.written(write_replay(run, task, out), json)


def train_recogniser(
    homes: Annotated[int, typer.Option(help="Homes of the training split that it is trained on.", min=1)] = 100,
    out: Annotated[
        Path | None, typer.Option(help="File to write; by default the cache, where runs look for it.")
    ] = None,
    json: Json = False,
) -> None:
    """Train the recogniser that agents of the closed loop see with; runs that need it do so themselves, once. Takes one
    to two minutes."""
    from worldgauge import cli_show as show
    from worldgauge.agents.vision.recognition import FILE_VARIABLE, cached_file, save
    from worldgauge.agents.vision.training import train

    path = out or cached_file(homes)
    if path is None:
        raise UsageError("nothing is cached (WORLDGAUGE_CACHE=off): say where to with --out")
    with show.Bars() as bars:
        made = train(homes, progress=lambda done, of: bars.bar("homes looked at", done, of))
    save(made, path)
    show.trained(path, made.facts, "" if out is None else f"{FILE_VARIABLE}={path}", json)
