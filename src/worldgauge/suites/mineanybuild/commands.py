"""`worldgauge mineanybuild`: data sets from structure files, single structures, and votes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.terminal.commands import Command
from worldgauge.terminal.options import Csv, Json, Out, Seed, Settings, resumable, settings_of

if TYPE_CHECKING:
    from worldgauge.suites.mineanybuild.curation import CurationResult, Reason
    from worldgauge.worlds.blocks.structure_files import Structure

_SHOWN = 20
"""Lines of a list; the rest is counted."""


app = typer.Typer(help="MineAnyBuild: data sets from structures, single structures, and votes.", no_args_is_help=True)


@app.command(epilog="Example: worldgauge mineanybuild curate structures --out data")
def curate(
    source: Annotated[Path, typer.Argument(help="Folder of structure files. With --boxes: a world.")],
    out: Out,
    boxes: Annotated[
        Path | None, typer.Option(help="JSON file of boxes marked in a world: {name: {start_pos, end_pos, metadata}}.")
    ] = None,
    chat: Annotated[
        str | None, typer.Option(help="MODEL@URL of a language model that writes instructions. Default: templates.")
    ] = None,
    recording: Annotated[Path | None, typer.Option(help="Folder for recorded replies of the model.")] = None,
    prices: Annotated[str | None, typer.Option(help="Prices of a million input and output tokens: IN,OUT.")] = None,
    budget: Annotated[float | None, typer.Option(help="Maximum cost of the language model, by --prices.")] = None,
    key_env: Annotated[str | None, typer.Option(help="Environment variable with the key of the endpoint.")] = None,
    prompts: Annotated[
        Path | None, typer.Option(help="Folder with an instruction-writer.txt that replaces ours.")
    ] = None,
    waive: Annotated[list[str] | None, typer.Option(help="Reason for rejection to ignore. Can be repeated.")] = None,
    size: Annotated[int, typer.Option(help="Width and height of the images in pixels.")] = 512,
    seed: Seed = 42,
    json: Json = False,
) -> None:
    """Make a data set from structure files, or from parts of worlds."""
    from worldgauge.chat.endpoint import open_chat
    from worldgauge.engine.suite.settings import chat_prices
    from worldgauge.suites.mineanybuild.curation import curate as curate_structures
    from worldgauge.terminal.progress import ProgressBar

    given = {"recording": recording, "prices": prices, "budget": budget, "key-env": key_env, "prompts": prompts}
    if chat is None and (lone := [name for name, value in given.items() if value is not None]):
        raise UsageError(f"--{lone[0]} goes with --chat")
    spent_in, spent_out = chat_prices("curate", prices)
    with resumable(), ProgressBar() as bar:
        made = curate_structures(
            source,
            out,
            boxes=boxes,
            instructions="template"
            if chat is None
            else open_chat(
                chat, recording, input_price=spent_in, output_price=spent_out, budget=budget, key_env=key_env
            ),
            prompts=prompts,
            seed=seed,
            size_px=size,
            waive=[_reason(name) for name in waive or ()],
            progress=lambda done, total, name: bar.show("structures", done, total),
        )
    _show_curated(made, json)


@app.command(epilog="Example: worldgauge mineanybuild structure house.schem --out house.png")
def structure(
    file: Annotated[
        Path | None, typer.Argument(help="Structure file: .nbt, .schem, .litematic. With --box: folder of a world.")
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Read --box from a running server, with 'walker' as an operator."),
    ] = None,
    box: Annotated[
        str | None, typer.Option(help="Box of a world, by two corners, both included: x,y,z:x,y,z in blocks.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write: .nbt or .schem for the game, .png image.")] = None,
    pack: Annotated[
        Path | None, typer.Option(help="Resource pack, folder or zip, for the mean colours of images.")
    ] = None,
    json: Json = False,
) -> None:
    """Show a structure file: size, blocks, difficulty."""
    from worldgauge.terminal.output import print_json
    from worldgauge.worlds.blocks.views import MOST_SIDE_NBT, WRITERS, facts_of, look, save

    source = server or file
    if source is None or (server is not None and file is not None):
        raise UsageError("give one structure file or saved world, or a running world with --server")
    if out is not None and out.suffix.lower() not in WRITERS:
        raise UsageError(f"{out}: structures are written as {', '.join(WRITERS)}, not '{out.suffix}'")
    found = _read_server(server, box) if server is not None else look(Path(source), box)
    if out is not None:
        save(found.blueprint, out, pack)
    place = {"file": str(file)} if server is None else {"server": server, "box": box}
    facts = {**place, "written": None if out is None else str(out), **facts_of(found)}
    if json:
        print_json(**facts)
        return
    width, height, depth = facts["size"]
    print(f"{source}: {facts['format']}, {width} wide, {height} high, {depth} deep, {facts['blocks']} blocks")
    if facts["difficulty"] is not None:
        print(f"  difficulty {facts['difficulty']}, {facts['tier']}")
    for name, count in list(facts["materials"].items())[:_SHOWN]:
        print(f"  {count:6d}  {name}")
    if (more := len(facts["materials"]) - _SHOWN) > 0:
        print(f"  and {more} more materials")
    for warning in facts["warnings"]:
        print(f"  warning: {warning}")
    if out is not None:
        print(f"wrote {out}")
        if out.suffix.lower() == ".nbt" and max(width, height, depth) > MOST_SIDE_NBT:
            print(
                f"  note: structure blocks of the game load {MOST_SIDE_NBT} blocks a side at most; .schem has no limit"
            )


@app.command(epilog="Example: worldgauge mineanybuild vote runs/mineanybuild --out votes.jsonl")
def vote(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of at least two agents, or folders of run folders.")],
    out: Annotated[Path, typer.Option(help="File to write, with one line per brief.")] = Path("votes.jsonl"),
    rounds: Annotated[int, typer.Option(help="Rounds of each tournament.", min=1)] = 3,
    settings: Settings = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Compare the builds of several agents in a Swiss tournament.

    --set critic=chat lets a language model choose.
    """
    from dataclasses import asdict

    from worldgauge.suites.mineanybuild.voting import vote as hold
    from worldgauge.terminal.output import (
        SCORE_COLUMNS,
        form_of,
        headline,
        print_csv,
        print_json,
        print_text,
        score_rows,
    )
    from worldgauge.terminal.progress import ProgressBar

    form = form_of(json, csv)
    with resumable(), ProgressBar() as bar:
        table = hold(
            runs,
            out=out,
            rounds=rounds,
            settings=settings_of(settings),
            progress=lambda done, total: bar.show("briefs", done, total),
        )
    if form == "json":
        print_json(ballots=str(out), table=asdict(table))
        return
    if form == "csv":
        print_csv(SCORE_COLUMNS, score_rows("mineanybuild", [table]))
    else:
        headline(table)
    for note in table.notes:
        print_text(note)
    print(f"ballots {out}")


def _read_server(server: str, box: str | None) -> Structure:
    """Read a box of a running world."""
    from worldgauge.worlds.blocks.structure_files import Structure
    from worldgauge.worlds.blocks.views import corners_of
    from worldgauge.worlds.minecraft.building import blueprint_of
    from worldgauge.worlds.minecraft.server import JavaServer, address
    from worldgauge.worlds.minecraft.survey import read_box

    if box is None:
        raise UsageError("--server needs the corners of a box: --box x,y,z:x,y,z")
    corners, place = corners_of(box), address(server)
    with JavaServer(*place) as player:
        blueprint = blueprint_of(read_box(player, corners))
    if not blueprint.blocks:
        raise DataError(f"{server}: there is no block in {box}; look where the ground is")
    return Structure(server, blueprint, "server", {"box": box}, ())


def _show_curated(made: CurationResult, json: bool) -> None:
    from worldgauge.terminal.output import print_json

    rejected = {name: [one.text for one in why] for name, why in made.rejected.items()}
    if json:
        lost = {"rejected": rejected, "duplicates": dict(made.duplicates), "unreadable": dict(made.unreadable)}
        print_json(root=str(made.root), accepted=list(made.accepted), tasks=made.tasks, **lost)
        return
    print(f"{made.root}: {len(made.accepted)} structures accepted, {made.tasks} tasks")
    lines = [f"rejected {name}: {'; '.join(why)}" for name, why in rejected.items()]
    lines += [f"duplicate {name}: of {other}" for name, other in made.duplicates.items()]
    lines += [f"unreadable {name}: {why}" for name, why in made.unreadable.items()]
    for line in lines[:_SHOWN]:
        print(f"  {line}")
    if len(lines) > _SHOWN:
        print(f"  and {len(lines) - _SHOWN} more; all stand in {made.root / 'curation.json'}")


def _reason(name: str) -> Reason:
    from worldgauge.suites.mineanybuild.curation import REASONS

    for known in REASONS:
        if known == name:
            return known
    raise UnknownNameError("reason for rejection", name, REASONS)


COMMANDS = (Command(app, "Models and data", "", name="mineanybuild"),)
"""What the command line offers beside running the suite."""

LISTED: dict[str, str] = {"critics": "suites.mineanybuild.critics"}
"""Kinds of components that `worldgauge list` shows, and the module of each registry."""
