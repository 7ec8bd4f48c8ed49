"""What becomes of runs: `report`, `replay`, `view` and `export`; `bundle`, `verify` and `board` publish them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from worldgauge.core.errors import UsageError
from worldgauge.terminal.options import FAILED, Json


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders of run folders.")],
    out: Annotated[Path, typer.Option(help="HTML page to write.")] = Path("report.html"),
    films: Annotated[int, typer.Option(help="Maximum number of tasks shown as films or cards.", min=0)] = 24,
    votes: Annotated[Path | None, typer.Option(help="What worldgauge vote wrote on these runs.")] = None,
    json: Json = False,
) -> None:
    """Compare runs on one page that opens from disk."""
    from worldgauge.report import write_report
    from worldgauge.terminal.output import written

    written(write_report(runs, out, films=films, votes=votes), json)


def replay(
    run: Annotated[Path, typer.Argument(help="Run folder of one subject.")],
    task: Annotated[str, typer.Argument(help="Episode, such as navigation/goal-0007.")],
    out: Annotated[Path, typer.Option(help="MP4 file to write.")] = Path("replay.mp4"),
    json: Json = False,
) -> None:
    """Write one episode of a run as a video: what the world model imagined next to what then happened."""
    from worldgauge.report.task_films import write_replay
    from worldgauge.terminal.output import written

    if out.suffix.lower() != ".mp4":
        raise UsageError(f"--out {out}: a film ends in .mp4")

    written(write_replay(run, task, out), json)


def export(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders of run folders.")],
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("results"),
    to: Annotated[
        str,
        typer.Option(
            help="Form: own (files of the benchmark's own scorer), eee (Every Eval Ever 0.3), hf (.eval_results and "
            "eval.yaml of the Hugging Face Hub), inspect (logs of Inspect), csv, parquet, or rrd (one task for Rerun)."
        ),
    ] = "own",
    model_id: Annotated[str, typer.Option(help="The model on the Hub, ORGANISATION/NAME (eee, hf, inspect).")] = "",
    dataset: Annotated[str, typer.Option(help="The data set on the Hub, ORGANISATION/NAME (hf).")] = "",
    by: Annotated[str, typer.Option(help="Who made the run (eee, hf, inspect).")] = "",
    task: Annotated[str, typer.Option(help="Id of the task to write (rrd).")] = "",
    json: Json = False,
) -> None:
    """Write scores in the form that other tools read."""
    from worldgauge.cli import show
    from worldgauge.tools.export import NOTE, ExportNames
    from worldgauge.tools.export import export as write

    show.exported(write(runs, out, to, ExportNames(model_id, dataset, by), task), json, NOTE if to == "hf" else "")


def bundle(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders of run folders.")],
    out: Annotated[Path, typer.Option(help="Folder of the archives, SUITE-NAME.zip each.")] = Path("bundles"),
    whole: Annotated[
        int,
        typer.Option(help="Number of tasks whose videos are kept as they were made. The rest is made small.", min=0),
    ] = 8,
    licence: Annotated[str, typer.Option(help="Licence of the model, such as Apache-2.0.")] = "",
    parameters: Annotated[float, typer.Option(help="Number of parameters of the model, such as 1.3e9.")] = 0,
    link: Annotated[str, typer.Option(help="Where the model is described.")] = "",
    by: Annotated[str, typer.Option(help="Who made the run.")] = "",
    json: Json = False,
) -> None:
    """Pack a run into one archive that anybody can check, with a digest of all that is in it."""
    from worldgauge.terminal.output import print_json, print_text
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.tools.bundle import About, write_bundles

    about = About(licence, int(parameters), link, by) if licence or parameters or link or by else None
    with ProgressBar() as bar:
        made = write_bundles(
            runs,
            out,
            whole=whole,
            about=about,
            progress=lambda task, done, total: bar.show("films", done, total, task),
        )
    if json:
        print_json(
            bundles=[
                {"path": str(one.path), "root": one.root, "whole": list(one.whole), "kept": one.kept} for one in made
            ]
        )
        return
    for one in made:
        if one.kept:
            print_text(f"{one.path}: kept; this run gives other content: give another --out, or remove the file first")
            continue
        print_text(f"{one.path}: {one.tasks} tasks, {len(one.whole)} of them with whole videos")
        print_text(f"root {one.root}", indent="  ")
    print_text("Publish the root with your numbers: worldgauge verify --root tells whether a copy is yours.")


def verify(
    bundle: Annotated[Path, typer.Argument(help="An archive that worldgauge bundle has made.")],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the data set, to score a sample again. With --rescore, that of a named set is found "
            "in sets/SET/SUITE."
        ),
    ] = None,
    rescore: Annotated[
        int | None,
        typer.Option(help="Maximum number of tasks to score again. By default all with whole videos.", min=0),
    ] = None,
    root: Annotated[str | None, typer.Option(help="Root that the author has published.")] = None,
    by: Annotated[
        str,
        typer.Option(help="Who verifies it. A board shows the name: keep what --json prints as NAME.verified.json."),
    ] = "",
    json: Json = False,
) -> None:
    """Check a bundle: is it whole, does it agree with itself, and do its scores come out again?"""
    from worldgauge.cli import show
    from worldgauge.terminal.output import print_json
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.tools.verify import verify as look_over

    with ProgressBar() as bar:
        found = look_over(
            bundle,
            data=data,
            rescore=rescore,
            root=root,
            by=by,
            progress=lambda task, done, total: bar.show("tasks", done, total, task),
        )
    if json:
        print_json(**found.to_dict())
    else:
        show.verification(found)
    if not found.ok:
        raise typer.Exit(FAILED)


def board(
    folder: Annotated[Path, typer.Argument(help="Folder of bundles, run folders, or both.")],
    out: Annotated[Path, typer.Option(help="Folder of the site, new or an older one of this command.")] = Path("site"),
    json: Json = False,
) -> None:
    """Make a leaderboard of bundles: a folder of pages that opens from disk and from any static host."""
    from worldgauge.cli import show
    from worldgauge.tools.board import write_board

    show.board(write_board(folder, out), json)


def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder, or a folder with runs in it.")],
    host: Annotated[
        str, typer.Option(help="Address to listen on. Any but that of this machine needs the token of the link.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any that is free.", min=0, max=65535)] = 8600,
    json: Json = False,
) -> None:
    """Show runs in a browser while they grow: progress, all films of a task in step, worst cases, blind votes."""
    from worldgauge.terminal.output import print_json
    from worldgauge.tools.viewer import Viewer

    viewer = Viewer(folder, host, port)
    if json:
        print_json(link=viewer.link)
    else:
        print(f"{viewer.link}: open it in a browser; Ctrl-C ends it", flush=True)
    with suppress(KeyboardInterrupt):
        viewer.serve()
