"""`worldgauge data`: benchmark sets, and data sets on the way to and from another place; and `worldgauge check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.core.errors import UsageError
from worldgauge.terminal.options import FAILED, Csv, Data, DryRun, Json, Workers, resumable

if TYPE_CHECKING:
    from worldgauge.engine.collect import CollectProgress
    from worldgauge.tools.data_sets import SetCheck
    from worldgauge.tools.transfer import Moved

app = typer.Typer(help="Make benchmark sets, and copy data sets to and from other places.", no_args_is_help=True)

MOST_SHOWN = 10

SetName = Annotated[str, typer.Argument(metavar="SET", help="Benchmark set; see: worldgauge list data")]
Only = Annotated[str, typer.Option(help="Suites of a benchmark set, separated by commas. Default: all.")]


@app.command()
def make(
    name: SetName,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the set, new or to continue.", show_default="where --data SET finds it"),
    ] = None,
    only: Only = "",
    workers: Workers = 1,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Make a benchmark set, and compare every file with its frozen digest.

    It can be stopped at any moment; the same command continues it.
    """
    from worldgauge.engine.sets import open_set
    from worldgauge.terminal.output import print_json, print_listing
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.tools.data_sets import make_set, planned, set_folder

    named = open_set(name)
    out = out or set_folder(named)
    if dry_run:
        rows = planned(named, out, _suites(only))
        if json:
            print_json(set=named.name, version=named.version, suites=rows)
        else:
            cells = [
                (
                    str(row["suite"]),
                    str(row["items"]),
                    str(row["done"]),
                    minutes_text(row["minutes"]),
                    "frozen" if row["frozen"] else "not frozen",
                )
                for row in rows
            ]
            print_listing(("suite", "items", "done", "CPU time", "digests"), cells)
        return
    with resumable(), ProgressBar() as bar:

        def tell(suite: str, step: CollectProgress) -> None:
            bar.show(suite, step.done, step.total)

        made = make_set(
            named,
            out,
            only=_suites(only),
            workers=workers,
            progress=tell,
            checking=lambda suite, done, total: bar.show(f"{suite}, files checked", done, total),
        )
    _show(made.check, json)


def check(
    name: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION | SET",
            help="Collection, ./FILE.py:CLASS, or benchmark set; see: worldgauge list collections, list data",
        ),
    ],
    data: Data,
    only: Only = "",
    decode: Annotated[bool, typer.Option("--decode", help="Also decode every video, to find damaged frames.")] = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Check a data set, and list the problems by file.

    A benchmark set is compared with its frozen digests.
    """
    from worldgauge.cli import show
    from worldgauge.engine.collection import check_data
    from worldgauge.engine.sets import PREFIX, named_sets, open_set
    from worldgauge.terminal.output import form_of
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.tools.data_sets import check_set, find_data, set_folder

    form = form_of(json, csv)
    if name in named_sets() or PREFIX + name in named_sets():
        if decode or csv:
            raise UsageError("--decode and --csv go with the name of a collection, such as loopnav")
        data = data if data.exists() else set_folder(open_set(str(data)))
        named, suites = open_set(name), _suites(only)
        for suite in suites:
            named.part(suite)
        with ProgressBar() as bar:
            compared = check_set(named, data, lambda suite, done, total: bar.show(suite, done, total), suites)
        _show(compared, json)
        return
    if only:
        raise UsageError("--only goes with a benchmark set, such as worldgauge-mini")
    data = find_data(data, name)
    found = check_data(name, data, decode=decode)
    show.data_report(data, found, form)
    if not found.ok:
        raise typer.Exit(FAILED)


@app.command()
def push(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a data set or of a named set.")],
    address: Annotated[
        str, typer.Argument(help="Copy to: a folder, s3://BUCKET/FOLDER, hf://datasets/ORGANISATION/NAME ...")
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Read the copies back, and send again those that differ.")
    ] = False,
    json: Json = False,
) -> None:
    """Copy a data set to another place, with an index of digests.

    An interrupted push continues with the next file. Extra: remote, and the package of the kind of place (s3fs,
    huggingface_hub).
    """
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.tools.transfer import push

    with resumable(), ProgressBar() as bar:
        moved = push(folder, address, lambda name, done, total: bar.show("files", done, total, name), check=check)
    _moved(moved, "sent", json)


@app.command()
def pull(
    address: Annotated[str, typer.Argument(help="Copy from: an address of data push, or files that others published.")],
    out: Annotated[Path, typer.Option(help="Folder of the data set, new or to continue.")],
    json: Json = False,
) -> None:
    """Copy a data set from another place, and check its digests.

    Files that others published are checked against sizes and digests of the Hub, and listed in .pulled.json.

    An interrupted pull continues. Extra: remote, and the package of the kind of place (s3fs, huggingface_hub).
    """
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.tools.transfer import pull

    with resumable(), ProgressBar() as bar:
        moved = pull(address, out, lambda name, done, total: bar.show("files", done, total, name))
    _moved(moved, "brought", json)


def _moved(moved: Moved, verb: str, json: bool) -> None:
    from worldgauge.terminal.output import print_json, print_text

    if json:
        print_json(place=moved.place, files=moved.files, bytes=moved.bytes, sent=moved.sent, root=moved.root)
        return
    print_text(f"{moved.place}: {moved.files} files, {moved.bytes / 1e6:.1f} MB; {moved.sent} {verb} now")
    print_text(f"root {moved.root}", indent="  ")


def minutes_text(minutes: float | None) -> str:
    """CPU time as tables show it."""
    if minutes is None:
        return "-"
    return f"{minutes:.2g} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def _suites(only: str) -> list[str]:
    return [word.strip() for word in only.split(",") if word.strip()]


def _show(found: SetCheck, json: bool) -> None:
    from worldgauge.engine.collection import counted
    from worldgauge.terminal.output import print_json, print_text

    if json:
        print_json(**found.to_dict())
    else:
        named = found.set
        if found.whole:
            print_text(f"{found.root}: {named.name}, version {named.version}, whole: {', '.join(found.whole)}")
        if found.open:
            print_text(f"not frozen yet, so nothing to compare with: {', '.join(found.open)}")
        if found.absent:
            print_text(f"not there: {', '.join(found.absent)}")
        for suite, done, of in found.unfinished:
            print_text(f"not finished: {suite}, {done} of {of} things are made")
        if found.compared:
            print_text(
                f"{counted(found.compared, 'file')} compared: {len(found.differing)} differ, {len(found.missing)} "
                f"missing, {len(found.extra)} too many"
            )
        for word, names in (("differs", found.differing), ("missing", found.missing), ("too many", found.extra)):
            for path in names[:MOST_SHOWN]:
                print_text(f"{word}: {path}", indent="  ")
            if len(names) > MOST_SHOWN:
                print_text(f"and {len(names) - MOST_SHOWN} more, {word}", indent="  ")
        if found.advice:
            print_text(found.advice)
    if not found.ok:
        raise typer.Exit(FAILED)
