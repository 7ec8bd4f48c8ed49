"""What becomes of runs: `report`, `replay`, `view` and `export`; `bundle`, `verify` and `board` publish them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from worldgauge.core.errors import UsageError
from worldgauge.terminal.options import FAILED, Json, Labels, Sealed


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders of run folders.")],
    out: Annotated[Path, typer.Option(help="HTML page to write.")] = Path("report.html"),
    videos: Annotated[int, typer.Option(help="Maximum number of tasks with videos or cards.", min=0)] = 24,
    votes: Annotated[Path | None, typer.Option(help="File of votes on these runs, such as votes.jsonl.")] = None,
    json: Json = False,
) -> None:
    """Compare runs on one page that opens from disk."""
    from worldgauge.report import write_report
    from worldgauge.report.overview import write_reports
    from worldgauge.terminal.output import written

    if votes is None and out.suffix.lower() in (".html", ".htm"):
        written(write_reports(runs, out, films=videos), json)
    else:
        written(write_report(runs, out, films=videos, votes=votes), json)


def replay(
    run: Annotated[Path, typer.Argument(help="Run folder of one model.")],
    task: Annotated[str, typer.Argument(help="Episode, such as navigation/goal-0007.")],
    out: Annotated[Path, typer.Option(help="MP4 file to write.")] = Path("replay.mp4"),
    json: Json = False,
) -> None:
    """Write one episode as a video: imagined and actual frames."""
    from worldgauge.report.task_films import write_replay
    from worldgauge.terminal.output import written

    if out.suffix.lower() != ".mp4":
        raise UsageError(f"--out {out}: the name of a video must end in .mp4")

    written(write_replay(run, task, out), json)


def export(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders that hold some at any depth.")],
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("results"),
    to: Annotated[str, typer.Option(help="Write markdown, latex, csv, own, eee, hf, inspect, parquet or rrd.")] = "own",
    model_id: Annotated[str, typer.Option(help="The model on the Hub, ORGANISATION/NAME (eee, hf, inspect).")] = "",
    dataset: Annotated[str, typer.Option(help="The data set on the Hub, ORGANISATION/NAME (hf).")] = "",
    by: Annotated[str, typer.Option(help="Who made the run (eee, hf, inspect).")] = "",
    task: Annotated[str, typer.Option(help="Id of the task to write (rrd).")] = "",
    label: Labels = None,
    all_columns: Annotated[
        bool,
        typer.Option("--all-columns", help="Add all columns of each suite's headline table (markdown, latex, csv)."),
    ] = False,
    json: Json = False,
) -> None:
    """Write scores in the form that other tools read."""
    from worldgauge.terminal.output import print_json, print_text
    from worldgauge.tools.export import NOTE, ExportNames
    from worldgauge.tools.export import export as write

    names = ExportNames(model_id, dataset, by, tuple(label or ()), all_columns)
    files = [str(file) for file in write(runs, out, to, names, task)]
    if json:
        print_json(files=files, **({"note": NOTE} if to == "hf" else {}))
        return
    print(*files, sep="\n")
    if to == "hf":
        print_text(NOTE)


def bundle(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or folders of run folders.")],
    out: Annotated[Path, typer.Option(help="Folder of the archives, SUITE-NAME.zip each.")] = Path("bundles"),
    whole: Annotated[
        int, typer.Option(help="Pack this number of unreduced videos. The others are reduced.", min=0)
    ] = 8,
    licence: Annotated[str, typer.Option(help="Licence of the model, such as Apache-2.0.")] = "",
    parameters: Annotated[float, typer.Option(help="Number of parameters of the model, such as 1.3e9.")] = 0,
    link: Annotated[str, typer.Option(help="Address of the model's description.")] = "",
    by: Annotated[str, typer.Option(help="Who made the run.")] = "",
    task: Annotated[
        list[str] | None, typer.Option(help="Pack only this task, which verify --ask sampled. Can be repeated.")
    ] = None,
    questions: Annotated[Path | None, typer.Option(help="Pack a folder of videos for these sealed questions.")] = None,
    json: Json = False,
) -> None:
    """Pack a run into one archive that anybody can check."""
    from worldgauge.terminal.output import print_json, print_text, written
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.tools.bundle import About, write_answer, write_bundles, write_sealed_answer

    if questions is not None:
        if len(runs) != 1:
            raise UsageError("--questions packs one folder of videos: give it alone")
        packed = write_sealed_answer(runs[0], questions, out)
        if json:
            print_json(path=str(packed.path), root=packed.root, questions=packed.tasks, answered=len(packed.whole))
            return
        print_text(f"{packed.path}: videos of {len(packed.whole)} of {packed.tasks} questions")
        print_text(f"content hash {packed.root}: publish it before the seal is published")
        return
    if task:
        if len(runs) != 1:
            raise UsageError("--task answers for one run: give its folder alone")
        written(write_answer(runs[0], out, task).path, json)
        return
    about = About(licence, int(parameters), link, by) if licence or parameters or link or by else None
    with ProgressBar() as bar:
        made = write_bundles(
            runs, out, whole=whole, about=about, progress=lambda task, done, total: bar.show("films", done, total, task)
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
            print_text(f"{one.path}: not overwritten: this run gives other content; give another --out or remove it")
            continue
        print_text(f"{one.path}: {one.tasks} tasks, {len(one.whole)} of them with whole videos")
        print_text(f"content hash {one.root}", indent="  ")
    print_text("Publish the content hash with your numbers: worldgauge verify --content-hash recognises a copy.")


def verify(
    bundle: Annotated[Path, typer.Argument(help="An archive that worldgauge bundle has made.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR | SET", help="Folder of the data set or benchmark set, to score again.")
    ] = None,
    rescore: Annotated[
        int | None, typer.Option(help="Score this number of random tasks again. Default: all.", min=0)
    ] = None,
    ask: Annotated[
        int, typer.Option(help="Sample N tasks whose whole videos the author must send.", metavar="N", min=0)
    ] = 0,
    draw: Annotated[
        str, typer.Option(help="Random value that an earlier verification printed. Default: a new one.")
    ] = "",
    answer: Annotated[
        Path | None, typer.Option(help="Archive of the author: the sampled tasks, or all with --sealed.")
    ] = None,
    content_hash: Annotated[
        str | None, typer.Option(help="Content hash that the author published. With --sealed: of --answer.")
    ] = None,
    sealed: Sealed = None,
    by: Annotated[str, typer.Option(help="Name of the verifier. A board shows it.")] = "",
    json: Json = False,
) -> None:
    """Check a bundle: is it complete and consistent, are its scores reproduced?"""
    from worldgauge.cli import show
    from worldgauge.engine.sealed import read_seal
    from worldgauge.terminal.output import print_json
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.tools.verify import verify as look_over

    with ProgressBar() as bar:
        found = look_over(
            bundle,
            data=data,
            rescore=rescore,
            root=content_hash,
            ask=ask,
            draw=draw,
            answer=answer,
            sealed=None if sealed is None else read_seal(sealed),
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
    folder: Annotated[Path, typer.Argument(help="Folder of bundles, runs, or both, at any depth.")],
    out: Annotated[Path, typer.Option(help="Folder of the site, new or an older one of this command.")] = Path("site"),
    json: Json = False,
) -> None:
    """Make a leaderboard of bundles, as pages for any static host."""
    from worldgauge.engine.collection import counted
    from worldgauge.terminal.output import endings, print_json, print_text, written
    from worldgauge.tools.leaderboard import write_board

    made = write_board(folder, out)
    if json:
        print_json(page=str(made.page), shown=made.shown, left_out=dict(made.left_out))
        return
    print_text(f"{counted(made.shown, 'result')} in {counted(made.tables, 'table')}")
    endings("left out", list(made.left_out))
    written(made.page, json)


def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder, or a folder with runs in it.")],
    host: Annotated[
        str, typer.Option(help="Listen on this address. Other machines need the link's token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any that is free.", min=0, max=65535)] = 8600,
    json: Json = False,
) -> None:
    """Show runs in a browser: progress, videos, worst cases, blind votes."""
    from worldgauge.terminal.output import print_json
    from worldgauge.tools.viewer import Viewer

    viewer = Viewer(folder, host, port)
    if json:
        print_json(link=viewer.link)
    else:
        print(f"Open {viewer.link} in a browser. Ctrl-C ends it.", flush=True)
    with suppress(KeyboardInterrupt):
        viewer.serve()
