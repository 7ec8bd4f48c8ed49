"""`worldgauge minecraft parity`: the physics of the embedded world next to that of the real game."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.core.errors import UnknownNameError
from worldgauge.terminal.options import Csv, Json, Seed

if TYPE_CHECKING:
    from worldgauge_lab.minecraft_physics import Deviation


def parity(
    kind: Annotated[list[str] | None, typer.Option(help="Kind of world. Default: all. Can be repeated.")] = None,
    seed: Seed = 0,
    walks: Annotated[int, typer.Option(help="Random walks per world.", min=1)] = 10,
    ticks: Annotated[int, typer.Option(help="Ticks per random walk, 20 per second.", min=1)] = 200,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Compare the physics of the embedded world and of the game."""
    from dataclasses import asdict

    from worldgauge.terminal.output import form_of, print_csv, print_json, print_numbers
    from worldgauge.terminal.progress import ProgressBar
    from worldgauge.worlds.minecraft.names import cells_of
    from worldgauge.worlds.minecraft.offline import Offline
    from worldgauge.worlds.voxel.generate import generate
    from worldgauge.worlds.voxel.world import FAMILIES, KINDS
    from worldgauge_lab.minecraft_physics import deviation

    form = form_of(json, csv)
    kinds = list(dict.fromkeys(kind or (*KINDS, *FAMILIES)))
    for name in kinds:
        if name not in (*KINDS, *FAMILIES):
            raise UnknownNameError("kind of world", name, (*KINDS, *FAMILIES))
    rows: dict[str, Deviation] = {}
    with ProgressBar() as bar:
        for number, name in enumerate(kinds):
            bar.show("worlds", number, len(kinds))
            world = generate(name, seed)
            with Offline(cells_of(world)) as offline:
                rows[name] = deviation(world, offline, seed=seed, walks=walks, ticks=ticks)
    if form == "json":
        print_json(seed=seed, walks=walks, kinds={name: asdict(row) for name, row in rows.items()})
        return
    columns = ("kind", "n", "equal", "worst m", "walked m", "causes")
    causes = {name: ", ".join(f"{cause} {count}" for cause, count in row.causes.items()) for name, row in rows.items()}
    if form == "csv":
        print_csv(columns, [(n, r.ticks, r.equal, r.worst, r.walked, causes[n]) for n, r in rows.items()])
        return
    told = [
        (name, str(row.ticks), f"{row.equal:.2%}", f"{row.worst:.2g}", f"{row.walked:.2g}", causes[name])
        for name, row in rows.items()
    ]
    print_numbers(columns, told)
    print("n: ticks; worst: in one tick; walked: at the end of walks whose ticks are all equal")
