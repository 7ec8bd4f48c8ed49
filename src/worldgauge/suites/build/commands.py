"""Commands of the build suite in addition to running it: data from our own structures or yours, single files, votes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.terminal.commands import Command
from worldgauge.terminal.options import Csv, Json, Out, Seed, Settings, resumable, settings_of

if TYPE_CHECKING:
    from worldgauge.suites.build.curation import CurationResult, Reason

_SHOWN = 20
"""Lines of a list; the rest is counted."""


def curate(
    source: Annotated[Path, typer.Argument(help="Folder of structure files. With --boxes: a world.")],
    out: Out,
    boxes: Annotated[
        Path | None, typer.Option(help="JSON file of boxes marked in a world: {name: {start_pos, end_pos, metadata}}.")
    ] = None,
    chat: Annotated[
        str | None,
        typer.Option(
            help="MODEL@URL of a language model that writes the instructions. By default they come from templates."
        ),
    ] = None,
    recording: Annotated[Path | None, typer.Option(help="Folder in which replies of the model are recorded.")] = None,
    prices: Annotated[str | None, typer.Option(help="Prices of a million input and output tokens: IN,OUT.")] = None,
    budget: Annotated[float | None, typer.Option(help="Maximum cost of the language model, by --prices.")] = None,
    key_env: Annotated[str | None, typer.Option(help="Environment variable with the key of the endpoint.")] = None,
    prompts: Annotated[
        Path | None, typer.Option(help="Folder with an instruction-writer.txt that replaces ours.")
    ] = None,
    waive: Annotated[list[str] | None, typer.Option(help="Reason for rejection to ignore. Can be repeated.")] = None,
    size: Annotated[int, typer.Option(help="Width and height of the pictures in pixels.")] = 512,
    seed: Seed = 42,
    json: Json = False,
) -> None:
    """Make a data set from structure files, or from boxes of a world: filtered, with pictures and instructions."""
    from worldgauge.chat.endpoint import open_chat
    from worldgauge.engine.suite.settings import chat_prices
    from worldgauge.suites.build.curation import curate as curate_structures
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


def structure(
    file: Annotated[Path, typer.Argument(help="Structure file: .nbt, .schem or .litematic. With --box: a world.")],
    box: Annotated[
        str | None, typer.Option(help="Box of a world, by two corners, both included: x,y,z:x,y,z in blocks.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write: .nbt or .schem opens in the game, .png is a picture.")
    ] = None,
    pack: Annotated[
        Path | None, typer.Option(help="Resource pack, folder or zip, for the mean colours of the picture.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what a structure file holds: size, blocks, difficulty. Can also write another format, or a picture."""
    from worldgauge.terminal.output import print_json
    from worldgauge.worlds.blocks.views import MOST_SIDE_NBT, facts_of, look, save

    found = look(file, box)
    if out is not None:
        save(found.blueprint, out, pack)
    facts = {"file": str(file), "written": None if out is None else str(out), **facts_of(found)}
    if json:
        print_json(**facts)
        return
    width, height, depth = facts["size"]
    print(f"{file}: {facts['format']}, {width} wide, {height} high, {depth} deep, {facts['blocks']} blocks")
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


def vote(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of at least two agents, or folders of run folders.")],
    out: Annotated[Path, typer.Option(help="File to write, with one line per brief.")] = Path("votes.jsonl"),
    rounds: Annotated[int, typer.Option(help="Rounds of each tournament.", min=1)] = 3,
    settings: Settings = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Compare the builds of several agents for the same briefs (creativity) in a Swiss tournament.

    --set critic=chat lets a language model choose.
    """
    from dataclasses import asdict

    from worldgauge.suites.build.voting import vote as hold
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
        print_csv(SCORE_COLUMNS, score_rows("build", [table]))
    else:
        headline(table)
    for note in table.notes:
        print_text(note)
    print(f"ballots {out}")


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
    from worldgauge.suites.build.curation import REASONS

    for known in REASONS:
        if known == name:
            return known
    raise UnknownNameError("reason for rejection", name, REASONS)


COMMANDS = (
    Command(curate, "Models and data", "worldgauge curate structures --out data"),
    Command(structure, "Models and data", "worldgauge structure house.schem --out house.png"),
    Command(vote, "Tools", "worldgauge vote runs/build --out votes.jsonl"),
)
"""What the command line offers beside running the suite."""

LISTED: dict[str, str] = {"critics": "suites.build.critics"}
"""Kinds of components that `worldgauge list` shows, and the module of each registry."""
