"""Builds put into copies of saved worlds: every cell as planned, all else as it was, and what cannot be is refused."""

import gzip
import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import nbt_bytes as nbt
from worldgauge.core.errors import DataError, UsageError, WorldError
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.minecraft.building import blueprint_of, build_saved
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.minecraft.regions import put_cells, read_cells, version_of, write_world

nbtlib = pytest.importorskip("nbtlib")

VERSIONS = ("1.16.5", "1.20.4")
SLAB = "minecraft:oak_slab[type=top,waterlogged=false]"
ALL = ((-40, 50, -40), (39, 79, 39))


def saved(folder: Path, version: str) -> Path:
    """A world of 36 chunks in four region files, of stone and slabs up to y = 69."""
    index = np.random.default_rng(0).integers(1, 3, size=(80, 20, 80)).astype(np.uint16)
    write_world(folder, Cells((-40, 50, -40), (AIR, "minecraft:stone", SLAB), index), version)
    return folder


def house(side: int = 6) -> Blueprint:
    materials = ("glass", "oak_stairs[facing=east,half=top]", "short_grass", "oak_leaves[persistent=true]", "stone")
    numbers = np.random.default_rng(1).integers(0, 6, size=(side, side, side))
    return Blueprint(np.where(numbers == 0, -1, numbers), materials)


def files(world: Path) -> dict[str, bytes]:
    return {str(path.relative_to(world)): path.read_bytes() for path in world.rglob("*") if path.is_file()}


def texts(cells: Cells) -> Any:
    return np.array(cells.palette)[cells.index]


def chunks(path: Path) -> dict[int, Any]:
    """The chunks of a region file by their place in its table, read by nbtlib."""
    data = path.read_bytes()
    found = {}
    for place in range(1024):
        first = int.from_bytes(data[4 * place : 4 * place + 3], "big")
        if first:
            size = int.from_bytes(data[4096 * first : 4096 * first + 4], "big")
            body = zlib.decompress(data[4096 * first + 5 : 4096 * first + 4 + size])
            found[place] = nbtlib.File.parse(io.BytesIO(body))
    return found


def raw(tag: Any) -> bytes:
    file = io.BytesIO()
    tag.write(file)
    return file.getvalue()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_build_in_a_copy_is_as_planned_and_all_around_it_is_as_it_was(version: str, tmp_path: Path) -> None:
    """Where four region files meet, partly in the ground, partly in sections that the world does not keep."""
    world, at = saved(tmp_path / "w", version), (-3, 66, -2)
    before = files(world)
    blueprint = house(16)
    built = build_saved(blueprint, at, world, tmp_path / "copy")
    assert built == (blueprint.blocks, 0, 0, ())
    assert files(world) == before, "the given world stays"
    old, new = texts(read_cells(world, ALL)), texts(read_cells(tmp_path / "copy", ALL))
    inside = np.zeros(old.shape, bool)
    inside[37:53, 16:, 38:54] = True
    assert (old[~inside] == new[~inside]).all()
    plant = "grass" if version == "1.16.5" else "short_grass"
    leaves = "distance=7,persistent=true" + (",waterlogged=false" if version == "1.20.4" else "")
    cells = blueprint.cells.transpose(2, 0, 1)[:, :14]
    for number, name in (
        (-1, AIR),
        (2, "minecraft:oak_stairs[facing=east,half=top,shape=straight,waterlogged=false]"),
        (3, f"minecraft:{plant}"),
        (4, f"minecraft:oak_leaves[{leaves}]"),
    ):
        assert (new[37:53, 16:, 38:54][cells == number] == name).all()


@pytest.mark.parametrize("version", VERSIONS)
def test_chunks_beside_keep_their_bytes_and_touched_ones_all_but_blocks_heights_and_light(
    version: str, tmp_path: Path
) -> None:
    world = saved(tmp_path / "w", version)
    (world / "data").mkdir()
    (world / "data" / "raids.dat").write_bytes(b"raids")
    path = world / "region" / "r.0.0.mca"
    path.write_bytes(path.read_bytes()[:4096] + bytes(range(256)) * 16 + path.read_bytes()[8192:-700])  # times; uneven
    build_saved(house(), (4, 66, 4), world, tmp_path / "copy")
    before, after = files(world), files(tmp_path / "copy")
    assert {name for name in before if before[name] != after[name]} == {"region/r.0.0.mca"}
    mine, theirs = before["region/r.0.0.mca"], after["region/r.0.0.mca"]
    assert theirs[4096 : len(mine)] == mine[4096:]
    assert theirs[4:4096] == mine[4:4096]
    assert len(theirs) % 4096 == 0
    old, new = chunks(path)[0], chunks(tmp_path / "copy" / "region" / "r.0.0.mca")[0]
    key = "Sections" if version == "1.16.5" else "sections"
    old, new = (chunk["Level"] if version == "1.16.5" else chunk for chunk in (old, new))
    assert {name for name in old if raw(old[name]) != raw(new[name])} == {"Heightmaps", "isLightOn", key}
    assert (new["Heightmaps"], new["isLightOn"]) == ({}, 0), "the game works them out"
    names = {"Palette", "BlockStates"} if version == "1.16.5" else {"block_states"}
    known = {int(one["Y"]): one for one in old[key]}
    for one in new[key]:
        was = known.pop(int(one["Y"]))
        changed = {name for name in one if raw(one[name]) != raw(was[name])}
        assert changed == (names if one["Y"] == 4 else set())
    assert not known


def entity(kind: str, x: int, y: int, z: int) -> nbt.Tag:
    return nbt.compound(
        {"id": nbt.text(kind), "x": nbt.integer(x), "y": nbt.integer(y), "z": nbt.integer(z), "Lock": nbt.text("k")}
    )


def by_hand(folder: Path, *, number: int = 2586, place: tuple[int, int] = (0, 0), **fields: nbt.Tag) -> Path:
    """A world of one chunk in the old layout, with light below and nothing else."""
    light = {"Y": nbt.byte(-1), "SkyLight": nbt.raw_bytes(bytes(2048))}
    level = {
        "xPos": nbt.integer(place[0]),
        "zPos": nbt.integer(place[1]),
        "Status": nbt.text("full"),
        "Sections": nbt.listed([nbt.compound(light)]),
    }
    chunk = {"DataVersion": nbt.integer(number), "Level": nbt.compound(level | fields), "Strange": nbt.text("kept")}
    (folder / "region").mkdir(parents=True, exist_ok=True)
    path = folder / "region" / "r.0.0.mca"
    path.write_bytes(nbt.region_file({place: chunk}))
    return folder


def test_what_chests_hold_goes_with_them_and_only_with_them(tmp_path: Path) -> None:
    holders = [entity("chest", 4, 64, 4), entity("sign", 5, 64, 4), entity("chest", 4, 66, 4)]
    world = by_hand(tmp_path / "w", TileEntities=nbt.listed(holders))
    cells = Cells((3, 64, 3), (AIR, "minecraft:stone"), np.ones((2, 2, 2), np.uint16))
    put_cells(world, tmp_path / "copy", cells)
    (chunk,) = chunks(tmp_path / "copy" / "region" / "r.0.0.mca").values()
    assert [(str(one["id"]), int(one["y"])) for one in chunk["Level"]["TileEntities"]] == [("sign", 64), ("chest", 66)]
    assert chunk["Strange"] == "kept"
    assert [int(one["Y"]) for one in chunk["Level"]["Sections"]] == [-1, 4]
    found = read_cells(tmp_path / "copy", ((2, 63, 2), (5, 66, 5)))
    assert int((found.index > 0).sum()) == 8


def refused(kind: type[Exception], match: str, world: Path, at: tuple[int, int, int], out: Path) -> None:
    with pytest.raises(kind, match=match) as caught:
        build_saved(house(), at, world, out)
    assert "\n" not in str(caught.value)
    assert not list(out.parent.glob("*copy*"))
    assert not list(out.parent.glob(".*copy*"))


def test_what_cannot_be_built_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    world, copy = saved(tmp_path / "w", "1.16.5"), tmp_path / "copy"
    refused(DataError, r"r\.0\.0\.mca: chunk \(3, 0\) was never saved", world, (46, 64, 0), copy)
    refused(DataError, "has no r.3.0.mca", world, (1600, 64, 0), copy)
    refused(UsageError, "y 252 to 257 is not within 0 to 255", world, (0, 252, 0), copy)
    refused(UsageError, "lies in the world itself", world, (0, 60, 0), world / "copy")
    refused(DataError, "none: no such folder", tmp_path / "none", (0, 60, 0), copy)
    (tmp_path / "empty").mkdir()
    refused(DataError, "is no saved world", tmp_path / "empty", (0, 60, 0), copy)
    refused(DataError, "is no saved world", world / "region", (0, 60, 0), copy)
    with pytest.raises(WorldError, match=r"no block 'minecraft:cherry_log\[axis=x\]' in 1\.16\.5"):
        build_saved(Blueprint.of([[[1]]], ["cherry_log[axis=x]"]), (0, 60, 0), world, copy)
    (world / "link").symlink_to(tmp_path)
    refused(DataError, "link: is a link", world, (0, 60, 0), copy)
    (world / "link").unlink()
    copy.mkdir()
    with pytest.raises(UsageError, match="is there already"):
        build_saved(house(), (0, 60, 0), world, copy)
    assert not list(copy.iterdir())


def test_worlds_between_the_two_versions_and_of_both_are_refused(tmp_path: Path) -> None:
    box = ((0, 60, 0), (1, 61, 1))
    with pytest.raises(DataError, match=r"between 1\.16\.5 and 1\.20\.3 \(DataVersion 2975\); open and save"):
        version_of(by_hand(tmp_path / "w", number=2975), box)
    assert version_of(by_hand(tmp_path / "a"), box) == "1.16.5"
    world = saved(tmp_path / "b", "1.20.4")
    data = (world / "region" / "r.0.0.mca").read_bytes()
    old = nbt.region_file({(1, 0): {"DataVersion": nbt.integer(2586), "Level": nbt.compound({})}})
    sectors = len(data) // 4096
    moved = (int.from_bytes(old[4:8], "big") + (sectors - 2 << 8)).to_bytes(4, "big")
    (world / "region" / "r.0.0.mca").write_bytes(data[:4] + moved + data[8:] + old[8192:])
    assert version_of(world, box) == "1.20.4"
    with pytest.raises(DataError, match=r"chunk \(1, 0\) was saved by another version than those beside it"):
        version_of(world, ((0, 60, 0), (20, 61, 1)))


def test_a_killed_copy_is_begun_anew(tmp_path: Path) -> None:
    world = saved(tmp_path / "w", "1.16.5")
    (tmp_path / ".copy.part" / "old").mkdir(parents=True)
    build_saved(house(), (0, 60, 0), world, tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["level.dat", "region"]
    assert gzip.decompress((tmp_path / "copy" / "level.dat").read_bytes())


@pytest.mark.minecraft
@pytest.mark.parametrize("version", VERSIONS)
def test_the_server_shows_the_copy_as_it_was_built(version: str, packages: Path, tmp_path: Path) -> None:
    from worldgauge.worlds.minecraft.server import JsServer

    blueprint = house(8)
    build_saved(blueprint, (-4, 66, -4), saved(tmp_path / "w", version), tmp_path / "copy")
    with JsServer(version=version, world=tmp_path / "copy", packages=packages) as server:
        assert blueprint_of(server.read(ALL)) == blueprint_of(read_cells(tmp_path / "copy", ALL))
