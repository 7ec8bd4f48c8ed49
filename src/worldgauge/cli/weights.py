"""`worldgauge weights`: weights of published networks, which are downloaded from their owners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worldgauge.core.errors import UsageError, WorldgaugeError
from worldgauge.terminal.options import FAILED, Csv, DryRun, Json, resumable

if TYPE_CHECKING:
    from worldgauge.weights import Adoption, Standing

app = typer.Typer(help="List, download and check weights of published networks.", no_args_is_help=True)

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Sets of weights, or metrics that need them.")]
Some = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME...]", help="Sets of weights, or metrics. By default all that are installed."),
]


@app.command("list")
def list_(json: Json = False, csv: Csv = False) -> None:
    """List all sets of weights: who needs them, their licence and size, and whether they are installed."""
    from worldgauge.terminal.output import form_of, out, print_csv, print_json, print_listing
    from worldgauge.weights import catalogue, standing, store_folder

    form = form_of(json, csv)
    found = [standing(name) for name in catalogue]
    if form == "json":
        print_json(folder=str(store_folder()), sets=[_facts(one) for one in found])
        return
    rows = []
    for one in found:
        known = one.set
        gate = "; needs the owner's permission" if known.gated else ""
        rows.append((known.name, ", ".join(known.serves), _size(known.bytes), known.licence + gate, one.state))
    columns = ("name", "needed by", "size", "licence", "state")
    if form == "csv":
        print_csv(columns, rows)
    else:
        print_listing(columns, rows)
    for one in found:
        for fault in _faults(one):
            out.print(fault, markup=False, soft_wrap=True)
    out.print(f"in {store_folder()}; download one: worldgauge weights pull NAME", markup=False, soft_wrap=True)


@app.command()
def pull(names: Names, dry_run: DryRun = False, json: Json = False) -> None:
    """Download sets from their owners.

    Interrupted downloads continue, and existing files are kept. Gated sets need HF_TOKEN.
    """
    from worldgauge import weights
    from worldgauge.terminal.output import print_json
    from worldgauge.terminal.progress import ProgressBar

    chosen = weights.sets_for(names)
    if dry_run:
        _show_plan([weights.standing(name) for name in chosen], json)
        return
    pulled: list[weights.Pulled] = []
    failures: list[dict[str, str]] = []
    with resumable(), ProgressBar() as bar:
        for name in chosen:

            def tell(file: str, done: int, total: int, name: str = name) -> None:
                bar.show(f"{name} {file}, MB", done // 10**6, total // 10**6)

            try:
                pulled.append(weights.pull(name, tell))
            except WorldgaugeError as error:
                failures.append({"name": name, "error": str(error)})
                bar.warn(f"{name}: {error}")
    if json:
        facts = [{"name": one.set.name, "folder": str(one.folder), "brought": list(one.brought)} for one in pulled]
        print_json(pulled=facts, failures=failures, ok=not failures)
    else:
        for one in pulled:
            print(f"{one.folder}: {len(one.brought)} files downloaded, under {one.set.licence} of {one.set.source}")
    if failures:
        raise typer.Exit(FAILED)


@app.command()
def verify(names: Some = None, json: Json = False) -> None:
    """Read all files again, and report those that are not as published."""
    from worldgauge import weights
    from worldgauge.terminal.output import print_json

    chosen = weights.sets_for(names) if names else list(weights.catalogue)
    found = [weights.standing(name, afresh=True) for name in chosen]
    found = [one for one in found if names or one.state != "absent"]
    ok = all(one.state == "here" for one in found)
    if json:
        print_json(sets=[_facts(one) for one in found], ok=ok)
    else:
        for one in found:
            print(f"{one.set.name}: {one.state}")
            for fault in _faults(one):
                print(f"  {fault}")
        if not found:
            print(f"no weights are in {weights.store_folder()}")
    if not ok:
        raise typer.Exit(FAILED)


@app.command()
def where(
    name: Annotated[
        str | None, typer.Argument(help="Set of weights, or metric. Without a name, the folder of all sets.")
    ] = None,
    json: Json = False,
) -> None:
    """Print the folder of a set. WORLDGAUGE_WEIGHTS sets another folder for all sets."""
    from worldgauge import weights
    from worldgauge.terminal.output import print_json

    folders = [weights.store_folder()] if name is None else [weights.opened(n).folder for n in weights.sets_for([name])]
    if json:
        print_json(folders=[str(folder) for folder in folders])
    else:
        print(*folders, sep="\n")


@app.command()
def adopt(
    folder: Annotated[Path, typer.Argument(help="Folder that holds weight files, under any names.")],
    json: Json = False,
) -> None:
    """Use files that are already on this machine.

    Files are recognised by their digest and linked where possible. They are never changed.
    """
    from worldgauge import weights

    found = weights.adopt(folder)
    if not (found.taken or found.here or found.wrong):
        raise UsageError(f"{folder}: holds no known file; see: worldgauge weights list --json")
    touched = dict.fromkeys([one.set for one in found.taken] + [name for name, _ in found.here])
    _show_adoption(found, [weights.standing(name) for name in touched], json)
    if found.wrong:
        raise typer.Exit(FAILED)


def _show_plan(found: list[Standing], json: bool) -> None:
    """Print what a pull would download, its size, and its licences."""
    from worldgauge.terminal.output import print_json

    if json:
        print_json(sets=[{**_facts(one), "to_bring": [file.name for file in one.lacking]} for one in found])
        return
    for one in found:
        print(f"{one.set.name}: {one.set.title}, under {one.set.licence} of {one.set.source}; into {one.folder}")
        if one.set.gated:
            print("  accept the licence there first; HF_TOKEN must then hold a token of that account")
        for file in one.lacking:
            held = "checked against its sha256" if file.published else "its sha256 is recorded after the download"
            print(f"  {file.name}, {_size(file.bytes)}, {held}, from {file.url.split('?')[0]}")
        if not one.lacking:
            print("  complete; nothing to download")


def _show_adoption(found: Adoption, sets: list[Standing], json: bool) -> None:
    from worldgauge.terminal.output import print_json

    if json:
        taken = [
            {"set": one.set, "name": one.name, "source": str(one.source), "linked": one.linked} for one in found.taken
        ]
        print_json(taken=taken, wrong=found.wrong, sets=[_facts(one) for one in sets], ok=not found.wrong)
        return
    for one in found.taken:
        print(f"{one.set} {one.name}: {'linked to' if one.linked else 'copied from'} {one.source}")
    for fault in found.wrong:
        print(f"not adopted: {fault}")
    for each in sets:
        lacking = ", ".join(file.name for file in each.lacking)
        print(f"{each.set.name}: {f'still lacks {lacking}' if lacking else 'complete'}")


def _facts(one: Standing) -> dict[str, Any]:
    """All facts of a set for JSON.

    The sha256 of a file is as published, or as recorded on download; null before that.
    """
    known = one.set
    return {
        "name": known.name,
        "title": known.title,
        "source": known.source,
        "licence": known.licence,
        "gated": known.gated,
        "runs_code": known.runs_code,
        "needed_by": list(known.serves),
        "folder": str(one.folder),
        "state": one.state,
        "faults": dict(one.faults),
        "bytes": known.bytes,
        "files": [
            {
                "name": file.name,
                "url": file.url,
                "bytes": file.bytes,
                "sha256": file.sha256 if file.published else one.sha256.get(file.name, file.sha256) or None,
                "sha256_is": "published" if file.published else "recorded on arrival",
                "here": file.name in one.sha256,
            }
            for file in known.files
        ],
    }


def _faults(one: Standing) -> list[str]:
    return [f"{one.folder / name}: {fault}" for name, fault in one.faults.items()]


def _size(bytes: int | None) -> str:
    if not bytes:
        return "size not published"
    return f"{bytes / 1e9:.2f} GB" if bytes >= 10**9 else f"{bytes / 1e6:.0f} MB" if bytes >= 10**6 else f"{bytes} B"
