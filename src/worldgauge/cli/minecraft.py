"""`worldgauge minecraft`: structures in worlds of the game, and a server."""

from __future__ import annotations

import re
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.terminal.commands import CommandGroup
from worldgauge.terminal.options import FAILED, Json, Seed

if TYPE_CHECKING:
    from worldgauge.worlds.blocks.blueprint import Blueprint
    from worldgauge.worlds.minecraft.building import Verified
    from worldgauge.worlds.minecraft.cells import Cells
    from worldgauge.worlds.minecraft.regions import Corner

_SHOWN = 5
"""Differences printed; all stand in the JSON."""
_LOOK_S = 1.0
_CORNER = re.compile(r"(-?\d{1,8}),(-?\d{1,8}),(-?\d{1,8})")
_TRIED = "1.20.4"
"""Version of the server that a build is tried on: structure files have its names."""

minecraft_app = typer.Typer(
    cls=CommandGroup, help="The real game: build in its worlds, save and serve generated ones.", no_args_is_help=True
)

Server = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Running server: that of `serve`, or yours with 'walker' as an operator."),
]
Kind = Annotated[str, typer.Option(help="Kind of village: plains, desert, snowy, taiga, savanna, zombie; or a family.")]


Version = Annotated[str, typer.Option(help="Version of the game: 1.16.5 or 1.20.4.")]


@minecraft_app.command()
def install(
    viewer: Annotated[bool, typer.Option(help="Install also the renderer of the published frames, 900 MB.")] = False,
) -> None:
    """Install the game's Node packages in the user's cache, 500 MB."""
    from worldgauge.worlds.minecraft.install import BRIDGE, VIEWER
    from worldgauge.worlds.minecraft.install import install as bring

    for packages in (BRIDGE, VIEWER) if viewer else (BRIDGE,):
        print(bring(kind=packages))


@minecraft_app.command()
def build(
    file: Annotated[Path, typer.Argument(help=".nbt, .schem or .litematic.")],
    at: Annotated[str, typer.Option(help="Position of its lowest corner: x,y,z in blocks.")],
    server: Server = None,
    save: Annotated[
        Path | None, typer.Option(help="Folder of a saved world, which is not changed. Needs --out.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --save: new folder for a copy with the build.")] = None,
    json: Json = False,
) -> None:
    """Build a structure file in a world, and compare all cells.

    Exits with 1 if a cell differs.

    With --server the world is that of a running server, with --save a copy of a saved world, and otherwise a temporary
    server, to try it out.
    """
    from worldgauge.worlds.blocks.views import look
    from worldgauge.worlds.minecraft import building
    from worldgauge.worlds.minecraft.server import JavaServer, JsServer, address

    numbers = _CORNER.fullmatch(at.replace(" ", ""))
    if numbers is None:
        raise UsageError(f"--at takes whole numbers x,y,z, such as -20,60,4, not '{at}'")
    x, y, z = corner = int(numbers[1]), int(numbers[2]), int(numbers[3])
    if server is not None and save is not None:
        raise UsageError("a build goes into a running world (--server) or a saved one (--save), not into both")
    if (save is None) != (out is None):
        raise UsageError("a build in a saved world needs --save FOLDER and --out NEW_FOLDER")
    blueprint = look(file).blueprint
    if save is not None and out is not None:
        built, place = building.build_saved(blueprint, corner, save, out), str(out)
    else:
        with JsServer(version=_TRIED) if server is None else JavaServer(*address(server)) as player:
            width, height, depth = blueprint.size  # a server sends only what is near: go above the middle
            player.teleport(x + width / 2, float(y + height), z + depth / 2)
            built = building.build(blueprint, corner, player)
        place = server or f"a server of ours ({_TRIED}), now ended"
    _show_built(file, blueprint, corner, place, built, json)
    if built.wrong or built.missing:
        raise typer.Exit(FAILED)


@minecraft_app.command()
def save(
    out: Annotated[Path, typer.Option(help="New folder for the world.")],
    kind: Kind = "plains",
    seed: Seed = 0,
    version: Version = "1.16.5",
) -> None:
    """Save a generated village as a world that the game can open."""
    from worldgauge.worlds.minecraft.regions import write_world

    cells = _village(kind, seed, version)
    write_world(out, cells, version)
    print(f"wrote {out}: Minecraft {version}, {_extent(cells)}")


@minecraft_app.command()
def serve(
    kind: Kind | None = None,
    seed: Annotated[int | None, typer.Option(help="Random seed of the village. Default: 0.")] = None,
    save: Annotated[Path | None, typer.Option(help="A saved world instead. A temporary copy of it is served.")] = None,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any free one.")] = 25565,
    version: Version = "1.16.5",
) -> None:
    """Run a local server with a village or saved world."""
    from worldgauge.worlds.minecraft.bridge import BridgeError
    from worldgauge.worlds.minecraft.server import JsServer

    if save is not None and (kind, seed) != (None, None):
        raise UsageError("a saved world has no kind and no seed: give --save, or --kind and --seed")
    if not 0 <= port < 1 << 16:
        raise UsageError(f"--port is 0 to 65535, not {port}")
    cells = None if save is not None else _village(kind or "plains", seed or 0, version)
    with suppress(KeyboardInterrupt), JsServer(cells, version, world=save, port=port) as running:
        x, y, z = running.state()[:3].tolist()
        print(f"listening on localhost:{running.port} (Minecraft {version}, any name may join); Ctrl-C ends it")
        print(f"players start at {x:g}, {y:g}, {z:g}" + ("" if cells is None else f"; {_extent(cells)}"))
        sys.stdout.flush()
        running.leave()
        while True:
            time.sleep(_LOOK_S)
            with suppress(BridgeError):  # that nobody of ours is there; a server that has ended is another error
                running.state()


def _village(kind: str, seed: int, version: str) -> Cells:
    """A generated world in the block names of a version."""
    from worldgauge.worlds.minecraft.names import cells_of
    from worldgauge.worlds.minecraft.regions import LAYOUTS
    from worldgauge.worlds.voxel.generate import generate
    from worldgauge.worlds.voxel.world import FAMILIES, KINDS

    if kind not in (*KINDS, *FAMILIES):
        raise UnknownNameError("kind of world", kind, (*KINDS, *FAMILIES))
    if version not in LAYOUTS:
        raise UsageError(f"--version is {' or '.join(LAYOUTS)}, not '{version}'")
    return cells_of(generate(kind, seed), version=version)


def _extent(cells: Cells) -> str:
    (x, y, z), (width, height, depth) = cells.origin, cells.size
    return f"its blocks lie from {x}, {y}, {z} to {x + width - 1}, {y + height - 1}, {z + depth - 1}"


def _show_built(file: Path, blueprint: Blueprint, at: Corner, place: str, built: Verified, json: bool) -> None:
    from worldgauge.terminal.output import print_json

    ok = not (built.wrong or built.missing)
    if json:
        counts = {"right": built.right, "wrong": built.wrong, "missing": built.missing}
        differences = [one._asdict() for one in built.differences]
        where = {"file": str(file), "place": place, "at": list(at), "size": list(blueprint.size)}
        print_json(**where, ok=ok, **counts, differences=differences)
        return
    width, height, depth = blueprint.size
    print(f"{file}: {blueprint.blocks} blocks, {width} wide, {height} high, {depth} deep, at {at} in {place}")
    print(f"  {built.right} right, {built.wrong} wrong, {built.missing} missing")
    for one in built.differences[:_SHOWN]:
        print(f"  at {one.cell}: planned {one.planned}, found {one.found}")
    if (more := len(built.differences) - _SHOWN) > 0:
        print(f"  and {more} more")
