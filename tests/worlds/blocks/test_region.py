"""Marked boxes of saved worlds: across chunks, sections and files, and worlds that lack what is asked for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import nbt_bytes as nbt
from worldgauge.core.errors import DataError, UsageError
from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.structure_files import NbtLimits, read_region_box, read_structure, write_nbt
from worldgauge.worlds.minecraft.building import blueprint_of
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.minecraft.regions import read_cells
from worldgauge.worlds.minecraft.regions import write_world as write_cells

Place = tuple[int, int, int]


def write_world(folder: Path, blocks: dict[Place, str], **fields: Any) -> None:
    files: dict[tuple[int, int], dict[tuple[int, int], Any]] = {}
    for (cx, cz), chunk in nbt.world_chunks(blocks, **fields).items():
        files.setdefault((cx // 32, cz // 32), {})[cx, cz] = chunk
    folder.mkdir(parents=True, exist_ok=True)
    for number, ((rx, rz), chunks) in enumerate(files.items()):
        (folder / f"r.{rx}.{rz}.mca").write_bytes(nbt.region_file(chunks, packing=1 + number % 3))


@pytest.mark.parametrize("count", [1, 15, 16, 17, 40])
def test_a_box_across_sections_chunks_and_files(count: int, tmp_path: Path) -> None:
    """Around a corner where four region files meet, with palettes whose numbers change their bits."""
    names = [f"block_{number}[axis=x]" for number in range(count)]
    rng = np.random.default_rng(count)
    low, high = (-9, -20, 507), (11, 3, 517)
    cells = [(x, y, z) for x in range(-9, 12) for y in range(-20, 4) for z in range(507, 518)]
    blocks = {cell: names[rng.integers(count)] for cell in cells if rng.random() < 0.7}
    blocks |= dict.fromkeys([(-16, -20, 507), (15, -20, 507), (15, 3, 520), (-16, 3, 520)], "outside")
    write_world(tmp_path / "world" / "region", blocks)
    seen = dict.fromkeys(blocks[cell] for cell in cells if cell in blocks)
    for source in (tmp_path / "world", tmp_path / "world" / "region"):
        found = read_region_box(source, low, high)
        assert found.size == (21, 24, 11)
        named = found.named()
        for x, y, z in cells:
            assert named[y + 20, z - 507, x + 9] == blocks.get((x, y, z), "air")
        assert found.materials == tuple(seen), "x outermost, then y, then z"


def test_cells_jigsaws_and_sections_of_one_block(tmp_path: Path) -> None:
    write_world(tmp_path, {(5, 70, 5): "stone"})
    assert read_region_box(tmp_path, (5, 70, 5), (5, 70, 5)).rows() == [[[1]]]
    above = read_region_box(tmp_path / "r.0.0.mca", np.array([5, 70, 5]), (5, 400, 5))
    assert (above.blocks, above.size.height) == (1, 331)
    # A section of one block needs no data.
    stone = nbt.listed([nbt.entry("stone")])
    for fields in ({}, {"data": nbt.longs([])}):
        section = nbt.compound(_states(palette=stone, **fields))
        chunk = nbt.chunk(0, 0, []) | {"sections": nbt.listed([section])}
        (tmp_path / "r.0.0.mca").write_bytes(nbt.region_file({(0, 0): chunk}))
        found = read_region_box(tmp_path, (5, 62, 5), (6, 64, 5))
        assert (found.materials, found.rows()) == (("stone",), [[[-1, -1]], [[-1, -1]], [[1, 1]]])


def test_jigsaws_become_what_they_stand_for(tmp_path: Path) -> None:
    own = {"x": nbt.integer(-3), "y": nbt.integer(70), "z": nbt.integer(5), "final_state": nbt.text("minecraft:stone")}
    write_world(
        tmp_path,
        {(-3, 70, 5): "jigsaw[orientation=up_east]", (-2, 70, 5): "jigsaw", (-1, 70, 5): "structure_void"},
        block_entities=nbt.listed([nbt.compound(own)]),
    )
    found = read_region_box(tmp_path, (-3, 70, 5), (-1, 70, 5))
    assert (found.materials, found.rows()) == (("stone",), [[[1, -1, -1]]])


OLD = ("grass_path", "grass", "oak_slab[type=top,waterlogged=false]", "wall_torch[facing=east]", "cave_air", "mod:gear")


def old_world(folder: Path, low: Place, names: tuple[str, ...] = OLD) -> Cells:
    """A world of 1.16.5 with cells drawn at random."""
    palette = (AIR, *(name if ":" in name else f"minecraft:{name}" for name in names))
    index = np.random.default_rng(len(names)).integers(len(palette), size=(20, 23, 18)).astype(np.uint16)
    cells = Cells(low, palette, index)
    write_cells(folder, cells, "1.16.5")
    return cells


@pytest.mark.parametrize("names", [OLD, tuple(f"mod:block_{number}[axis=x]" for number in range(40))])
def test_a_world_of_1_16_5_has_the_names_of_1_20_4(names: tuple[str, ...], tmp_path: Path) -> None:
    cells = old_world(tmp_path / "world", (-9, 40, 507), names)
    low, high = (-8, 41, 508), (9, 62, 523)
    found = read_region_box(tmp_path / "world", low, high)
    assert found == blueprint_of(read_cells(tmp_path / "world", (low, high)))
    newer = {"grass_path": "dirt_path", "grass": "short_grass", "cave_air": "air"}
    wanted = [newer.get(name, name) for name in ("air", *names)]
    assert found.named().tolist() == np.array(wanted)[cells.index[1:-1, 1:, 1:-1]].transpose(1, 2, 0).tolist()
    write_nbt(tmp_path / "box.nbt", found)
    again = read_structure(tmp_path / "box.nbt")
    assert (again.blueprint, again.facts["DataVersion"]) == (found, 3700)
    if names is OLD:
        assert [name for name in found.materials if not table.known(name)] == ["mod:gear"]


def old_chunk(cx: int, **fields: nbt.Tag) -> dict[str, nbt.Tag]:
    """A chunk of 1.16.5 with a jigsaw at (3, 70, 5) in it and dirt along x from there."""
    words = [0] * 256
    words[(6 * 256 + 5 * 16) // 16] = 0x1 << 12 | 0x2 << 16 | 0x2 << 20  # cells 3, 4 and 5 of the row, 4 bits each
    palette = nbt.listed(map(nbt.entry, ("air", "jigsaw[orientation=up_east]", "dirt")))
    section = {"Y": nbt.byte(4), "Palette": palette, "BlockStates": nbt.longs(words)}
    level = {
        "xPos": nbt.integer(cx),
        "zPos": nbt.integer(0),
        "Status": nbt.text("full"),
        "Sections": nbt.listed([nbt.compound(section)]),
    }
    return {"DataVersion": nbt.integer(2586), "Level": nbt.compound(level | fields)}


def test_chunks_of_the_old_layout(tmp_path: Path) -> None:
    own = {axis: nbt.integer(at) for axis, at in zip("xyz", (3, 70, 5), strict=True)}
    holders = nbt.listed([nbt.compound(own | {"final_state": nbt.text("minecraft:grass_path")})])
    (tmp_path / "r.0.0.mca").write_bytes(nbt.region_file({(0, 0): old_chunk(0, TileEntities=holders)}))
    found = read_region_box(tmp_path, (2, 70, 5), (6, 70, 5))
    assert (found.materials, found.rows()) == (("dirt_path", "dirt"), [[[-1, 1, 2, 2, -1]]])
    # A box over chunks of both layouts as a world that was opened in a newer game.
    chunks = {(0, 0): old_chunk(0), (1, 0): nbt.chunk(1, 0, [nbt.section(4, {(0, 6, 5): "stone"})])}
    (tmp_path / "r.0.0.mca").write_bytes(nbt.region_file(chunks))
    assert read_region_box(tmp_path, (3, 70, 5), (15, 70, 5)).blocks == 2, "the jigsaw says nothing and is air"
    found = read_region_box(tmp_path, (4, 70, 5), (16, 70, 5))
    assert (found.materials, found.rows()) == (("dirt", "stone"), [[[1, 1, *[-1] * 10, 2]]])


@pytest.mark.parametrize(
    ("start", "end", "match"),
    [
        ((0, 0, 0), (1, 1), "end is three whole numbers"),
        ((0, 0.5, 0), (1, 1, 1), "start is three whole numbers"),
        ((0, 0, 0), (10**9, 1, 1), "end is three whole numbers"),
        ((0, 2, 0), (1, 1, 1), "start is the corner of smallest"),
        ((0, 0, 0), (512, 1, 1), "passes the limits of 512"),
        ((0, 0, 0), (511, 511, 511), "passes the limits of 512"),
    ],
)
def test_boxes_that_are_none(start: Any, end: Any, match: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=match):
        read_region_box(tmp_path, start, end)


def test_what_a_world_does_not_hold_and_links_out_of_it(tmp_path: Path) -> None:
    write_world(tmp_path, {(5, 70, 5): "stone"})
    with pytest.raises(DataError, match=r"chunk \(1, 0\) was never saved"):
        read_region_box(tmp_path, (5, 70, 5), (16, 70, 5))
    with pytest.raises(DataError, match=r"has no r\.-1\.0\.mca, which chunk \(-1, 0\)"):
        read_region_box(tmp_path, (-1, 70, 5), (5, 70, 5))
    with pytest.raises(DataError, match=r"does not hold chunk \(-1, 0\) of the box, r\.-1\.0\.mca does"):
        read_region_box(tmp_path / "r.0.0.mca", (-1, 70, 5), (5, 70, 5))
    for name in ("none.mca", "r.0.0.mca.part", "r.9.9.mca"):
        with pytest.raises(DataError, match="neither a folder nor a region file"):
            read_region_box(tmp_path / name, (5, 70, 5), (5, 70, 5))
    # A link out of the world is not followed.
    write_world(tmp_path / "elsewhere", {(5, 70, 5): "stone"})
    (tmp_path / "world").mkdir()
    (tmp_path / "world" / "r.0.0.mca").symlink_to(tmp_path / "elsewhere" / "r.0.0.mca")
    with pytest.raises(DataError, match="a link that leads out"):
        read_region_box(tmp_path / "world", (5, 70, 5), (5, 70, 5))


def _at(offset: int, value: bytes) -> Any:
    return lambda data: data[:offset] + value + data[offset + len(value) :]


DAMAGE = {
    "short table": (lambda data: data[:2], "shorter than its table"),
    "first sector in the table": (_at(0, bytes([0, 0, 1, 1])), "1 sectors from 1, which cannot be"),
    "no sectors": (_at(3, bytes([0])), "0 sectors from 2, which cannot be"),
    "beyond the end": (_at(0, bytes([0, 9, 9, 1])), "said to have 0 bytes"),
    "longer than its sectors": (_at(8192, (5000).to_bytes(4, "big")), "5000 bytes in 1 sectors"),
    "no bytes": (_at(8192, bytes(4)), "said to have 0 bytes"),
    "cut": (lambda data: data[:8200], "the file ends early"),
    "lz4": (_at(8196, bytes([4])), "packed in way 4"),
    "a file of its own": (_at(8196, bytes([130])), r"in a file of its own, c\.0\.0\.mcc, which is missing; copy it"),
    "not packed so": (_at(8196, bytes([3])), "starts with no compound"),
    "damaged": (_at(8230, b"\xff\xff\xff\xff"), "damaged|ends early|field"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_files_name_the_chunk(name: str, tmp_path: Path) -> None:
    damage, match = DAMAGE[name]
    whole = nbt.region_file(nbt.world_chunks({(5, 70, 5): "stone", (6, 70, 5): "glass"}))
    path = tmp_path / "r.0.0.mca"
    path.write_bytes(damage(whole))
    with pytest.raises(DataError, match=match) as caught:
        read_region_box(path, (5, 70, 5), (6, 70, 5))
    assert name == "short table" or "chunk (0, 0)" in str(caught.value)


def _states(**fields: Any) -> dict[str, Any]:
    own = nbt.section(4, {(5, 6, 5): "stone"})
    palette = nbt.listed(map(nbt.entry, ("air", "stone")))
    return own | {"block_states": nbt.compound({"palette": palette} | fields)}


FIELDS = {
    "older than 1.16": (
        {"DataVersion": nbt.integer(2528)},
        r"saved before version 1\.16 of the game; open and save it",
    ),
    "older than 1.9": ({"Level": nbt.compound({}), "DataVersion": None}, r"saved before version 1\.16 of the game"),
    "no version": ({"DataVersion": nbt.text("3700")}, "'DataVersion' is '3700', not a whole number"),
    "two layouts in one": ({"Level": nbt.compound({})}, r"'Level\.Status' is missing"),
    "unfinished": ({"Status": nbt.text("minecraft:carvers")}, "is unfinished.*carvers"),
    "a status of two lines": ({"Status": nbt.text("a\nb")}, r"is unfinished \(status 'a\?b'\)"),
    "status of another kind": ({"Status": nbt.integer(1)}, "'Status' is 1, not a text"),
    "another place": ({"xPos": nbt.integer(3)}, "'xPos' is 3, but the chunk's place in the file says 0"),
    "no place": ({"zPos": nbt.text("0")}, "'zPos' is '0', not a whole number"),
    "sections of another kind": ({"sections": nbt.integers([1])}, "'sections' is an array of 1, not a list"),
    "height of another kind": ({"sections": nbt.listed([nbt.compound({"Y": nbt.text("4")})])}, r"'sections\[0\]\.Y'"),
    "a section twice": (
        {"sections": nbt.listed([nbt.compound(nbt.section(4, {}))] * 2)},
        r"'sections\[1\]\.Y' is 4, as of an earlier section",
    ),
    "few words": (
        {"sections": nbt.listed([nbt.compound(_states(data=nbt.longs([0] * 255)))])},
        r"'sections\[0\]\.block_states\.data' has 255 words, not 256",
    ),
    "no words": ({"sections": nbt.listed([nbt.compound(_states())])}, r"block_states\.data' is missing"),
    "numbers of another size": (
        {"sections": nbt.listed([nbt.compound(_states(data=nbt.integers([0] * 256)))])},
        "is an array of 256, not an array of 64-bit numbers",
    ),
    "a number out of the palette": (
        {"sections": nbt.listed([nbt.compound(_states(data=nbt.longs([0] * 255 + [2])))])},
        "holds 2 for cell 4080, but the palette has 2 entries",
    ),
    "an empty palette": (
        {"sections": nbt.listed([nbt.compound(_states(palette=nbt.listed([]), data=nbt.longs([0] * 256)))])},
        "but the palette has 0 entries",
    ),
    "a final state that is none": (
        {"block_entities": nbt.listed([nbt.compound({"final_state": nbt.text("a b")})])},
        r"'block_entities\[0\]\.final_state' 'a b' has letters",
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_chunks_that_contradict_themselves_name_the_field(name: str, tmp_path: Path) -> None:
    fields, match = FIELDS[name]
    path = tmp_path / "r.0.0.mca"
    whole = nbt.chunk(0, 0, [nbt.section(4, {(5, 6, 5): "stone"})]) | fields
    path.write_bytes(nbt.region_file({(0, 0): {key: value for key, value in whole.items() if value}}))
    with pytest.raises(DataError, match=match) as caught:
        read_region_box(path, (5, 70, 5), (5, 70, 5))
    assert "chunk (0, 0)" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_chunk_that_unpacks_to_too_much(tmp_path: Path) -> None:
    fields = {"fill": nbt.raw_bytes(bytes(20 << 20))}
    chunk = nbt.chunk(0, 0, [nbt.section(4, {(5, 6, 5): "stone"})], **fields)
    (tmp_path / "r.0.0.mca").write_bytes(nbt.region_file({(0, 0): chunk}))
    with pytest.raises(DataError, match=r"chunk \(0, 0\): unpacks to more than the limit of 16777216 bytes"):
        read_region_box(tmp_path, (5, 70, 5), (5, 70, 5))
    with pytest.raises(DataError, match="more than the limit of 20 tags"):
        read_region_box(_world_of_stone(tmp_path), (5, 70, 5), (5, 70, 5), limits=NbtLimits(most_tags=20))


def _world_of_stone(folder: Path) -> Path:
    write_world(folder / "stone", {(5, 70, z): f"stone_{z}" for z in range(9)})
    return folder / "stone"
