"""`worldgauge data`: named sets, and data sets on the way to and from another place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.terminal.options import FAILED, Data, DryRun, Json, Workers, resumable

if TYPE_CHECKING:
    from worldgauge.engine.collect import CollectProgress
    from worldgauge.tools.data_sets import SetCheck
    from worldgauge.tools.transfer import Moved

app = typer.Typer(help="Make and check named sets, and move data sets to and from other places.", no_args_is_help=True)

MOST_SHOWN = 10

SetName = Annotated[str, typer.Argument(metavar="SET", help="Named set: mini, 1; see: worldgauge data list")]
Only = Annotated[str, typer.Option(help="Only these suites, separated by commas. By default all.")]


@app.command("list")
def list_(json: Json = False) -> None:
    """List the named sets: their suites, numbers of tasks and files, and whether their digests are frozen."""
    from worldgauge.engine.sets import named_sets
    from worldgauge.terminal.output import print_json, print_listing, print_text

    sets = named_sets().values()
    if json:
        print_json(
            sets=[
                {
                    "name": one.name,
                    "version": one.version,
                    "title": one.title,
                    "frozen": one.is_frozen,
                    "made_with": dict(one.made_with),
                    "suites": {
                        part.suite: {
                            "options": dict(part.options),
                            "frozen": part.is_frozen,
                            "tasks": len(part.tasks) or None,
                            "files": len(part.files) or None,
                            "minutes": part.minutes,
                        }
                        for part in one.parts
                    },
                }
                for one in sets
            ]
        )
        return
    rows = [
        (
            f"{one.name} {one.version}",
            part.suite,
            str(len(part.tasks) or "-"),
            str(len(part.files) or "-"),
            _minutes(part.minutes),
            "frozen" if part.is_frozen else "not frozen: copies cannot be compared",
        )
        for one in sets
        for part in one.parts
    ]
    print_listing(("set", "suite", "tasks", "files", "processor time", "digests"), rows)
    print_text("make one: worldgauge data make mini")


@app.command()
def make(
    name: SetName,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the set, new or to be continued.", show_default="sets/SET")
    ] = None,
    only: Only = "",
    workers: Workers = 1,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Make a named set, and compare every file with its frozen digest.

    It can be stopped at any moment; the same command continues it.
    """
    from worldgauge.engine.sets import open_set
    from worldgauge.terminal.output import print_json, print_listing
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.tools.data_sets import make_set, planned

    named = open_set(name)
    out = out or Path("sets", named.short)
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
                    _minutes(row["minutes"]),
                    "frozen" if row["frozen"] else "not frozen",
                )
                for row in rows
            ]
            print_listing(("suite", "items", "done", "processor time", "digests"), cells)
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


@app.command()
def check(name: SetName, data: Data, only: Only = "", json: Json = False) -> None:
    """Compare a folder with a named set, file by file."""
    from worldgauge.engine.sets import open_set
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.tools.data_sets import check_set

    named = open_set(name)
    suites = _suites(only)
    for suite in suites:
        named.part(suite)
    with ProgressBar() as bar:
        found = check_set(named, data, lambda suite, done, total: bar.show(suite, done, total), suites)
    _show(found, json)


@app.command()
def push(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a data set or of a named set.")],
    address: Annotated[
        str, typer.Argument(help="Where it goes: a folder, s3://BUCKET/FOLDER, hf://datasets/ORGANISATION/NAME ...")
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Read what is there, too, and send again what does not have its digest.")
    ] = False,
    json: Json = False,
) -> None:
    """Copy a data set to another place: small files as Parquet, videos as they are, an index with digests.

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
    address: Annotated[str, typer.Argument(help="Where worldgauge data push put it.")],
    out: Annotated[Path, typer.Option(help="Folder of the data set, new or to be continued.")],
    json: Json = False,
) -> None:
    """Copy a data set from another place, and check every file against its digest.

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


def _minutes(minutes: float | None) -> str:
    if minutes is None:
        return "-"
    return f"about {minutes:.0f} min" if minutes < 120 else f"about {minutes / 60:.0f} h"


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
