"""Worlds of the game on disk: both layouts read and written, against bytes made the plain way, and damaged files."""

import gzip
import io
import json
import os
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import nbt_bytes as nbt
from worldgauge.core.errors import DataError, UsageError
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.minecraft.install import BRIDGE_FOLDER, find_node
from worldgauge.worlds.minecraft.regions import read_cells, write_world

pytest.importorskip("nbtlib")

STAIRS = "minecraft:oak_stairs[facing=east,half=bottom,shape=straight,waterlogged=false]"
VERSIONS = ("1.16.5", "1.20.4")
ONE = ((5, 70, 5), (6, 70, 5))


def random_cells(states: int, origin: tuple[int, int, int], size: tuple[int, int, int]) -> Cells:
    rng = np.random.default_rng(states)
    palette = (AIR, STAIRS, *(f"minecraft:block_{number}[axis=x]" for number in range(states - 2)))
    return Cells(origin, palette, rng.integers(states, size=size).astype(np.uint16))


def box_of(cells: Cells) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    x, y, z = (at + side - 1 for at, side in zip(cells.origin, cells.size, strict=True))
    return cells.origin, (x, y, z)


def texts(cells: Cells) -> Any:
    return np.array(cells.palette)[cells.index]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("states", [2, 16, 17, 33, 200])
def test_what_is_written_is_read(states: int, version: str, tmp_path: Path) -> None:
    """Around a corner where four region files meet, with palettes whose numbers change their bits."""
    cells = random_cells(states, (-9, 20, 507), (21, 24, 11))
    write_world(tmp_path / "world", cells, version)
    assert sorted(path.name for path in (tmp_path / "world" / "region").iterdir()) == [
        *("r.-1.0.mca", "r.-1.1.mca", "r.0.0.mca", "r.0.1.mca")
    ]
    found = read_cells(tmp_path / "world", box_of(cells))
    assert (found.origin, found.palette[0]) == (cells.origin, AIR)
    assert (texts(found) == texts(cells)).all()
    around = read_cells(tmp_path / "world" / "region", ((-16, 0, 500), (15, 255, 527)))
    inside = around.index[7:28, 20:44, 7:18]
    assert (np.array(around.palette)[inside] == texts(cells)).all()
    assert (around.index > 0).sum() == (inside > 0).sum(), "what lies beside the cells is air"


@pytest.mark.parametrize(("version", "low", "high"), [("1.16.5", 0, 255), ("1.20.4", -64, 319)])
def test_from_the_floor_to_the_ceiling(version: str, low: int, high: int, tmp_path: Path) -> None:
    cells = random_cells(5, (0, low, 0), (2, high - low + 1, 3))
    write_world(tmp_path / "a", cells, version)
    assert (texts(read_cells(tmp_path / "a", box_of(cells))) == texts(cells)).all()
    for origin in ((0, low - 1, 0), (0, low + 1, 0)):
        with pytest.raises(UsageError, match=rf"is not within {low} to {high}, as a world of {version} is"):
            write_world(tmp_path / "b", Cells(origin, cells.palette, cells.index), version)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("version", VERSIONS)
def test_same_cells_same_bytes(version: str, tmp_path: Path) -> None:
    cells = random_cells(20, (0, 60, 0), (30, 9, 30))
    files = []
    for name in ("a", "b"):
        write_world(tmp_path / name, cells, version)
        paths = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        files.append([(path.name, path.read_bytes()) for path in paths])
    assert files[0] == files[1]


def old_chunk(sections: list[dict[str, nbt.Tag]], **fields: nbt.Tag) -> dict[str, nbt.Tag]:
    level = {
        "xPos": nbt.integer(0),
        "zPos": nbt.integer(0),
        "Status": nbt.text("full"),
        "Sections": nbt.listed(map(nbt.compound, sections), 10),
    }
    return {"DataVersion": nbt.integer(2586), "Level": nbt.compound(level | fields)}


def old_section(palette: list[str], words: list[int], level: int = 4) -> dict[str, nbt.Tag]:
    names = nbt.listed(map(nbt.entry, palette))
    return {"Y": nbt.byte(level), "Palette": names, "BlockStates": nbt.longs(words)}


def test_a_chunk_made_by_hand_in_the_old_layout(tmp_path: Path) -> None:
    """17 names take 5 bits, 12 to a word with 4 bits left over: cell 12 starts the second word."""
    palette = ["air", "stone", *(f"name_{number}" for number in range(15))]
    words = [1 | 16 << 5 | 2 << 55, 3] + [0] * 340
    chunk = old_chunk([old_section(palette, words), {"Y": nbt.byte(-1), "SkyLight": nbt.raw_bytes(bytes(2048))}])
    (tmp_path / "r.0.0.mca").write_bytes(nbt.region_file({(0, 0): chunk}))
    found = read_cells(tmp_path, ((0, 63, 0), (15, 65, 1)))
    cells = {tuple(map(int, place)): str(texts(found)[tuple(place)]) for place in np.argwhere(found.index)}
    assert cells == {
        (0, 1, 0): "minecraft:stone",
        (1, 1, 0): "minecraft:name_14",
        (11, 1, 0): "minecraft:name_0",
        (12, 1, 0): "minecraft:name_1",
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_the_bytes_of_one_block(version: str, tmp_path: Path) -> None:
    """Sector table, record, field by field; a slab at (5, 70, 5), which is cell 6 * 256 + 5 * 16 + 5 of section 4."""
    write_world(tmp_path / "w", one_block(), version)
    data = (tmp_path / "w" / "region" / "r.0.0.mca").read_bytes()
    assert data[:4] == bytes([0, 0, 2, 1])
    assert not any(data[4:8192])
    size, packing = struct.unpack(">IB", data[8192:8197])
    assert (packing, len(data)) == (2, 3 * 4096)
    body = zlib.decompress(data[8197 : 8196 + size])
    bits = "Palette" if version == "1.16.5" else "palette"
    names = nbt.listed(map(nbt.entry, ("air", "oak_slab[type=top,waterlogged=false]")))
    cell = 6 * 256 + 5 * 16 + 5
    words = [1 << 4 * (cell % 16) if word == cell // 16 else 0 for word in range(256)]
    assert field(bits, names) in body
    assert field("BlockStates" if version == "1.16.5" else "data", nbt.longs(words)) in body
    height = 71 if version == "1.16.5" else 71 + 64
    column = 5 * 16 + 5
    tops = [height << 9 * (column % 7) if word == column // 7 else 0 for word in range(37)]
    assert field("WORLD_SURFACE", nbt.longs(tops)) in body
    expected = {"1.16.5": (2586, b"full"), "1.20.4": (3700, b"minecraft:full")}[version]
    assert field("DataVersion", nbt.integer(expected[0])) in body
    assert field("Status", nbt.text(expected[1].decode())) in body
    assert field("SkyLight", nbt.raw_bytes(b"\xff" * 2048)) in body
    if version == "1.16.5":
        assert field("Biomes", nbt.integers([1] * 1024)) in body
        assert body.count(b"SkyLight") == 1, "sections of air are not kept"
    else:
        assert field("yPos", nbt.integer(-4)) in body
        assert body.count(b"SkyLight") == 24


@pytest.mark.parametrize("version", VERSIONS)
def test_a_section_of_one_state(version: str, tmp_path: Path) -> None:
    """The old layout has air first all the same, and numbers; the new one no numbers."""
    cells = Cells((0, 64, 0), (AIR, "minecraft:stone"), np.ones((16, 16, 16), np.uint16))
    write_world(tmp_path / "w", cells, version)
    data = (tmp_path / "w" / "region" / "r.0.0.mca").read_bytes()
    body = zlib.decompressobj().decompress(data[8197:])
    old = version == "1.16.5"
    names = nbt.listed(map(nbt.entry, ("air", "stone") if old else ("stone",)))
    assert field("Palette" if old else "palette", names) in body
    assert (field("BlockStates", nbt.longs([0x1111111111111111] * 256)) in body) == old
    assert (read_cells(tmp_path / "w", box_of(cells)).index == 1).all()


def test_the_spawn_lies_on_top_of_the_middle(tmp_path: Path) -> None:
    write_world(tmp_path / "w", one_block(), "1.20.4")
    level = gzip.decompress((tmp_path / "w" / "level.dat").read_bytes())
    for name, value in (("SpawnX", 5), ("SpawnY", 71), ("SpawnZ", 5), ("DataVersion", 3700)):
        assert field(name, nbt.integer(value)) in level
    assert field("Name", nbt.text("1.20.4")) in level
    assert field("RandomSeed", nbt.long(0)) in level


def one_block() -> Cells:
    slab = "minecraft:oak_slab[type=top,waterlogged=false]"
    return Cells((5, 70, 5), (AIR, slab), np.ones((1, 1, 1), np.uint16))


def field(name: str, tag: nbt.Tag) -> bytes:
    return bytes([tag[0]]) + nbt.text(name)[1] + tag[1]


def test_names_of_others_and_kinds_of_air_are_kept(tmp_path: Path) -> None:
    cells = Cells((0, 4, 0), (AIR, "minecraft:cave_air", "mod:lamp[lit=true]"), np.array([[[1, 2, 0]]], np.uint16))
    write_world(tmp_path / "w", cells)
    found = read_cells(tmp_path / "w", ((0, 4, 0), (0, 4, 2)))
    assert texts(found).ravel().tolist() == ["minecraft:cave_air", "mod:lamp[lit=true]", AIR]


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    with pytest.raises(UsageError, match="is there already"):
        write_world(tmp_path / "w", one_block())
    with pytest.raises(UsageError, match=r"written for 1\.16\.5 and 1\.20\.4, not for '1\.8'"):
        write_world(tmp_path / "x", one_block(), "1.8")
    assert [path.name for path in tmp_path.rglob("*")] == ["w"]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("worldgauge.worlds.minecraft.regions.write_file", full)
    with pytest.raises(DataError, match="No space left on device"):
        write_world(tmp_path / "w", one_block())
    assert list(tmp_path.iterdir()) == []


def test_an_unfinished_folder_of_a_killed_process_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".w.part" / "region").mkdir(parents=True)
    (tmp_path / ".w.part" / "region" / "r.9.9.mca").write_bytes(b"old")
    write_world(tmp_path / "w", one_block())
    assert sorted(path.name for path in tmp_path.rglob("*.mca")) == ["r.0.0.mca"]


@pytest.mark.parametrize(
    ("box", "match"),
    [
        (((0, 2, 0), (1, 1, 1)), "is empty"),
        (((0, 0.5, 0), (1, 1, 1)), "three whole numbers"),
        (((0, 0, 0), (1, 1)), "three whole numbers"),
        (((0, 0, 0), (10**9, 1, 1)), "within 30000000"),
        (((0, 0, 0), (10**6, 255, 10**6)), "more than 134217728 cells"),
    ],
)
def test_boxes_that_are_none(box: Any, match: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=match):
        read_cells(tmp_path, box)


def _packed(body: bytes) -> Any:
    """The first record made again of these packed bytes."""
    record = struct.pack(">IB", len(body) + 1, 2) + body
    sectors = -(-len(record) // 4096)
    return lambda data: bytes([0, 0, 2, sectors]) + data[4:8192] + record.ljust(4096 * sectors, b"\0")


MANY = b"\x0a\0\0\x09\0\x01a\x0a\x7f\xff\xff\xff"
DAMAGE = {
    "four gigabytes": (lambda data: data[:8192] + b"\xff\xff\xff\xff" + data[8196:], "4294967295 bytes in 1 sectors"),
    "a bomb": (_packed(zlib.compress(bytes(1 << 26))), "unpacks to more than the limit of 16777216 bytes"),
    "no NBT": (_packed(zlib.compress(b"hello")), "starts with no compound"),
    "a promise of many": (_packed(zlib.compress(MANY)), "more than the file has bytes for"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_files_name_the_chunk(name: str, tmp_path: Path) -> None:
    """Further damage is that of `blocks/test_region.py`, which reads by the same functions."""
    damage, match = DAMAGE[name]
    write_world(tmp_path / "w", one_block())
    path = tmp_path / "w" / "region" / "r.0.0.mca"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=match) as caught:
        read_cells(tmp_path / "w", ONE)
    assert f"{path}: chunk (0, 0)" in str(caught.value)
    assert "\n" not in str(caught.value)


def of_sections(*sections: dict[str, nbt.Tag]) -> dict[str, nbt.Tag]:
    return {"Sections": nbt.listed(map(nbt.compound, sections))}


TWO = old_section(["air", "stone"], [0] * 256)
FIELDS: dict[str, tuple[dict[str, nbt.Tag], dict[str, nbt.Tag], str]] = {
    "before 1.16": ({"DataVersion": nbt.integer(2230)}, {}, "saved before version 1.16"),
    "Level of another kind": ({"Level": nbt.integer(1)}, {}, "'Level' is 1, not a compound"),
    "another place": ({}, {"xPos": nbt.integer(3)}, r"'Level\.xPos' is 3, but the chunk's place in the file says 0"),
    "sections of another kind": ({}, {"Sections": nbt.integers([1])}, "'Level.Sections' is an array of 1"),
    "a section twice": ({}, of_sections(TWO, TWO), r"'Level\.Sections\[1\]\.Y' is 4, as of an earlier section"),
    "few words": (
        {},
        of_sections(old_section(["a", "b"], [0] * 255)),
        "has 255 words, not 256 for 4096 numbers of 4 bits",
    ),
    "no such entry": ({}, of_sections(old_section(["a", "b"], [0] * 255 + [2])), "BlockStates' holds 2 for cell 4080"),
    "a name that is none": (
        {},
        of_sections(old_section(["a b"], [0] * 256)),
        r"Palette\[0\]\.Name' 'minecraft:a b' has",
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_chunks_that_contradict_themselves_name_the_field(name: str, tmp_path: Path) -> None:
    top, level, match = FIELDS[name]
    (tmp_path / "r.0.0.mca").write_bytes(nbt.region_file({(0, 0): old_chunk([TWO], **level) | top}))
    with pytest.raises(DataError, match=match) as caught:
        read_cells(tmp_path, ONE)
    assert "chunk (0, 0)" in str(caught.value)


def test_the_new_layout_made_by_hand(tmp_path: Path) -> None:
    blocks = {(5, 70, 5): "stone", (6, -60, 5): "oak_log[axis=x]"}
    (tmp_path / "r.0.0.mca").write_bytes(nbt.region_file(nbt.world_chunks(blocks), packing=1))
    found = read_cells(tmp_path, ((5, -64, 5), (6, 319, 5)))
    assert found.palette == (AIR, "minecraft:stone", "minecraft:oak_log[axis=x]")
    assert np.argwhere(found.index).tolist() == [[0, 134, 0], [1, 4, 0]]


def test_what_is_written_is_nbt_for_its_library(tmp_path: Path) -> None:
    import nbtlib

    write_world(tmp_path / "w", one_block(), "1.20.4")
    data = (tmp_path / "w" / "region" / "r.0.0.mca").read_bytes()
    chunk = nbtlib.File.parse(io.BytesIO(zlib.decompress(data[8197:])))
    listing = {"block_entities", "block_ticks", "fluid_ticks", "PostProcessing", "structures", "LastUpdate"}
    assert listing <= set(chunk)
    assert [int(section["Y"]) for section in chunk["sections"]] == list(range(-4, 20))


READER = """
const [folder, version, low, high] = JSON.parse(process.argv[1])
const registry = require('prismarine-registry')(version)
const { Anvil } = require('prismarine-provider-anvil')
const { Vec3 } = require('vec3')
const { stateText } = require(process.argv[2])
const world = new (Anvil(version))(folder)
async function main () {
  const found = []
  for (let x = low[0]; x <= high[0]; x++) {
    for (let z = low[2]; z <= high[2]; z++) {
      const chunk = await world.load(x >> 4, z >> 4)
      for (let y = low[1]; y <= high[1]; y++) {
        found.push(stateText(registry, chunk.getBlockStateId(new Vec3(x & 15, y, z & 15))))
      }
    }
  }
  process.stdout.write(JSON.stringify(found), () => process.exit(0))
}
main()
"""
REAL = (
    AIR,
    "minecraft:stone",
    STAIRS,
    "minecraft:oak_stairs[facing=north,half=top,shape=inner_left,waterlogged=true]",
    "minecraft:oak_log[axis=x]",
    "minecraft:oak_slab[type=top,waterlogged=false]",
    "minecraft:oak_fence[east=true,north=false,south=true,waterlogged=false,west=false]",
    "minecraft:oak_door[facing=west,half=upper,hinge=right,open=true,powered=false]",
    "minecraft:water[level=0]",
    "minecraft:grass_block[snowy=false]",
    "minecraft:wall_torch[facing=south]",
    "minecraft:cobblestone_wall[east=low,north=none,south=tall,up=true,waterlogged=false,west=none]",
    *(f"minecraft:{colour}_{kind}" for colour in ("red", "lime", "blue") for kind in ("wool", "concrete")),
    "minecraft:poppy",
)


@pytest.mark.minecraft
@pytest.mark.parametrize("version", VERSIONS)
def test_another_reader_finds_every_cell(version: str, packages: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    cells = Cells((-5, 58, 12), REAL, rng.integers(len(REAL), size=(11, 14, 9)).astype(np.uint16))
    write_world(tmp_path / "w", cells, version)
    low, high = box_of(cells)
    asked = json.dumps([str(tmp_path / "w" / "region"), version, low, high])
    command = [find_node(), "-e", READER, asked, str(BRIDGE_FOLDER / "grid.js")]
    environment = {**os.environ, "NODE_PATH": str(packages / "node_modules")}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert json.loads(done.stdout) == texts(cells).transpose(0, 2, 1).ravel().tolist()
