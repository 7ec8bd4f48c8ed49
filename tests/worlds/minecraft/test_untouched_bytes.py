"""Saved worlds as they are found: large chunks in files of their own, two layouts of folders, text of any bytes."""

import random
import struct
import tarfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from support import nbt_bytes as nbt
from worldgauge.core.errors import DataError
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.structure_files import read_region_box, read_structure
from worldgauge.worlds.blocks.views import look
from worldgauge.worlds.minecraft.building import build_saved
from worldgauge.worlds.minecraft.regions import read_cells

CASES = Path(__file__).parents[2] / "cases"
GOLD = Blueprint.of([[[1]]], ["gold_block"])
SIGN = b'"hi \xed\xa0\xbd\xed\xb8\x80"'
"""Modified UTF-8 of a sign's text with an emoji."""


def unpacked(case: str, folder: Path) -> Path:
    """The world of a case."""
    with tarfile.open(CASES / f"{case}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def files(world: Path) -> dict[str, bytes]:
    return {str(path.relative_to(world)): path.read_bytes() for path in world.rglob("*") if path.is_file()}


def body_of(region: Path, place: int = 0) -> bytes:
    """Unpacked NBT of a chunk, read by the rules of the format."""
    data = region.read_bytes()
    at = 4096 * int.from_bytes(data[4 * place : 4 * place + 3], "big")
    size, packing = struct.unpack_from(">IB", data, at)
    if packing == 0x82:
        return zlib.decompress(region.with_name(f"c.{place % 32}.{place // 32}.mcc").read_bytes())
    assert packing == 2
    return zlib.decompress(data[at + 5 : at + 4 + size])


def test_text_of_an_untouched_sign_keeps_its_bytes(tmp_path: Path) -> None:
    world = unpacked("world_sign_emoji", tmp_path)
    build_saved(GOLD, (8, 70, 8), world, tmp_path / "copy")
    for folder in (world, tmp_path / "copy"):
        assert body_of(folder / "region" / "r.0.0.mca").count(SIGN) == 1
    before, after = files(world), files(tmp_path / "copy")
    assert {name for name in before if before[name] != after[name]} == {"region/r.0.0.mca"}
    assert before.keys() == after.keys()


@pytest.mark.parametrize("case", ["world_mcc", "world_26_1"])
def test_worlds_with_large_chunks_and_in_the_layout_of_26_1(case: str, tmp_path: Path) -> None:
    world = unpacked(case, tmp_path)
    assert look(world, "0,64,0:3,65,3").blueprint.counts() == {"stone": 16, "oak_sign[rotation=0,waterlogged=false]": 1}
    build = build_saved(GOLD, (8, 70, 8), world, tmp_path / "copy")
    assert build == (1, 0, 0, ())
    (region,) = (tmp_path / "copy").rglob("r.0.0.mca")
    assert region.relative_to(tmp_path / "copy") == next(world.rglob("r.0.0.mca")).relative_to(world)
    assert SIGN in body_of(region)
    assert not list(region.parent.glob("*.mcc")), "the chunk is small: its own file would be out of date"


def test_a_file_of_its_own_that_is_missing_is_named(tmp_path: Path) -> None:
    world = unpacked("world_mcc", tmp_path)
    own = world / "region" / "c.0.0.mcc"
    own.write_bytes(own.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"c\.0\.0\.mcc: chunk \(0, 0\): packed data ends early"):
        look(world, "0,64,0:3,65,3")
    outside = own.rename(tmp_path / "c.0.0.mcc")
    with pytest.raises(
        DataError, match=r"chunk \(0, 0\) is in a file of its own, c\.0\.0\.mcc, which is missing; copy"
    ):
        look(world, "0,64,0:3,65,3")
    own.symlink_to(outside)
    with pytest.raises(DataError, match=r"c\.0\.0\.mcc: is a link"):
        look(world, "0,64,0:3,65,3")


def saved(folder: Path, where: str = "region", **fields: nbt.Tag) -> Path:
    """A world of two chunks with stone in them, and other files."""
    chunks = {(x, 0): nbt.chunk(x, 0, [nbt.section(4, {(5, 6, 5): "stone"})]) for x in (0, 1)}
    chunks[0, 0] |= fields
    (folder / where).mkdir(parents=True)
    (folder / where / "r.0.0.mca").write_bytes(nbt.region_file(chunks))
    (folder / "level.dat").write_bytes(b"level")
    (folder / "poi").mkdir()
    (folder / "poi" / "r.0.0.mca").write_bytes(b"poi")
    return folder


def raw(kind: int, name: bytes, value: bytes) -> bytes:
    return bytes([kind]) + struct.pack(">H", len(name)) + name + value


def text(value: bytes) -> bytes:
    return struct.pack(">H", len(value)) + value


ODD = {
    "an emoji": raw(8, b"odd", text(b"\xed\xa0\xbd\xed\xb8\x80")),
    "a zero": raw(8, b"odd", text(b"a\xc0\x80b")),
    "half a character": raw(8, b"odd", text(b"\xed\xa0\xbd")),
    "no UTF-8": raw(8, b"odd", text(b"\xff\xfe\xc3")),
    "plain UTF-8": raw(8, b"odd", text("\N{GRINNING FACE}\0".encode())),
    "an odd name": raw(8, b"\xed\xa0\xbd\xed\xb8\x80\xc0\x80\xff", text(b"x")),
    "a name twice": raw(1, b"odd", b"\1") + raw(1, b"odd", b"\2"),
    "a signalling NaN": raw(5, b"odd", b"\x7f\xa0\0\1") + raw(6, b"odd2", b"\x7f\xf4\0\0\0\0\0\1"),
    "an empty list of texts": raw(9, b"odd", b"\x08\0\0\0\0"),
    "an empty list of nothing": raw(9, b"odd", b"\0\0\0\0\0"),
    "a list of negative length": raw(9, b"odd", b"\0\xff\xff\xff\xff"),
    "lists of arrays": raw(9, b"odd", b"\x0b\0\0\0\1\0\0\0\1\0\0\0\7"),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("where", ["root", "section", "entity"])
def test_odd_bytes_of_a_touched_chunk_stay(odd: str, where: str, tmp_path: Path) -> None:
    """In the chunk itself, in a section that gets blocks, and in a chest that stays beside one that goes."""
    inner = (10, ODD[odd] + b"\0")
    places = [
        {"id": nbt.text("chest"), **{k: nbt.integer(v) for k, v in zip("xyz", (x, 70, 5), strict=True)}} for x in (8, 9)
    ]
    entities = [nbt.compound(places[0]), nbt.compound(places[1] | ({"held": inner} if where == "entity" else {}))]
    section = nbt.section(4, {(5, 6, 5): "stone"}) | ({"held": inner} if where == "section" else {})
    fields = {"block_entities": nbt.listed(entities), "sections": nbt.listed([nbt.compound(section)])}
    world = saved(tmp_path / "w", **fields | ({"held": inner} if where == "root" else {}))
    build_saved(GOLD, (8, 70, 5), world, tmp_path / "copy")
    before, after = files(world), files(tmp_path / "copy")
    old, new = before["region/r.0.0.mca"], after["region/r.0.0.mca"]
    assert new[: len(old)][4:] == old[4:], "times, the other chunk, and the place of the old one"
    assert {name for name in before if before[name] != after[name]} == {"region/r.0.0.mca"}
    mine, theirs = (body_of(folder / "region" / "r.0.0.mca") for folder in (world, tmp_path / "copy"))
    wanted = nbt.root(
        nbt.chunk(0, 0, [])
        | (fields | ({"held": inner} if where == "root" else {}))
        | {"block_entities": nbt.listed([entities[1]])}
        | {
            "sections": nbt.listed(
                [nbt.compound(section | nbt.section(4, {(5, 6, 5): "stone", (8, 6, 5): "gold_block"}))]
            )
        }
        | {"Heightmaps": nbt.compound({}), "isLightOn": nbt.byte(0)}
    )
    assert theirs == wanted
    assert mine.count(ODD[odd]) == theirs.count(ODD[odd]) == 1


@pytest.mark.parametrize("most", [1_000_000, 1_100_000])
def test_a_touched_chunk_of_more_than_a_megabyte_gets_a_file_of_its_own(most: int, tmp_path: Path) -> None:
    """255 sectors fit beside the others, and what is larger is found through a record of one sector."""
    filling = random.Random(0).randbytes(most)
    world = saved(tmp_path / "w")
    other = body_of(world / "region" / "r.0.0.mca", 1)
    chunk = nbt.root(nbt.chunk(0, 0, [nbt.section(4, {(5, 6, 5): "stone"})], fill=nbt.raw_bytes(filling)))
    region = world / "region" / "r.0.0.mca"
    data = region.read_bytes()
    (world / "region" / "c.0.0.mcc").write_bytes(zlib.compress(chunk))
    region.write_bytes(data[:8192] + struct.pack(">IB", 1, 0x82).ljust(4096, b"\0") + data[12288:])
    for copy in (tmp_path / "copy", tmp_path / "again"):
        build_saved(GOLD, (8, 70, 5), world, copy)
        found = read_region_box(copy, (5, 70, 5), (8, 70, 5))
        assert found.named()[0, 0].tolist() == ["stone", "air", "air", "gold_block"]
        copied = copy / "region" / "r.0.0.mca"
        assert (copied.with_name("c.0.0.mcc").exists()) == (most > 255 * 4096)
        assert filling in body_of(copied)
        assert body_of(copied, 1) == other
        world = copy


def test_other_dimensions_are_named_by_their_folders(tmp_path: Path) -> None:
    world = saved(tmp_path / "w", "dimensions/minecraft/the_nether/region")
    with pytest.raises(DataError, match=r"has no r\.0\.0\.mca"):
        look(world, "5,70,5:6,70,5")
    with pytest.raises(DataError, match="has no region files in region or dimensions/minecraft/overworld/region"):
        build_saved(GOLD, (8, 70, 5), world, tmp_path / "copy")
    assert look(world / "dimensions" / "minecraft" / "the_nether", "5,70,5:6,70,5").blueprint.blocks == 1
    assert look(saved(tmp_path / "o", "DIM-1/region") / "DIM-1", "5,70,5:6,70,5").blueprint.blocks == 1


def test_a_world_in_both_layouts_is_read_if_one_has_region_files(tmp_path: Path) -> None:
    world = saved(tmp_path / "w", "dimensions/minecraft/overworld/region")
    (world / "region").mkdir()
    assert look(world, "5,70,5:6,70,5").blueprint.blocks == 1
    assert build_saved(GOLD, (8, 70, 5), world, tmp_path / "copy").right == 1
    (world / "region" / "r.5.5.mca").write_bytes(bytes(8192))
    for read in (lambda: look(world, "5,70,5:6,70,5"), lambda: build_saved(GOLD, (8, 70, 5), world, tmp_path / "b")):
        with pytest.raises(
            DataError, match="has region files in region and in dimensions/minecraft/overworld/region; move"
        ):
            read()
    assert look(world / "dimensions" / "minecraft" / "overworld", "5,70,5:6,70,5").blueprint.blocks == 1


@pytest.mark.parametrize(
    ("number", "names"),
    [
        (2566, ["chain", "cauldron[level=2]", "grass_path"]),
        (2586, ["chain[axis=y,waterlogged=false]", "cauldron[level=2]", "grass_path"]),
        (3700, ["chain[axis=y,waterlogged=false]", "water_cauldron[level=2]", "dirt_path"]),
        (4786, ["iron_chain[axis=y,waterlogged=false]", "water_cauldron[level=2]", "dirt_path"]),
    ],
)
def test_a_build_is_spelled_as_the_version_of_the_save(number: int, names: list[str], tmp_path: Path) -> None:
    build = Blueprint.of([[[1, 2, 3]]], ["iron_chain", "cauldron[level=2]", "grass_path"])
    if number < 2600:
        names[0] = "chain[waterlogged=false]" if number == 2566 else names[0]
        level = {
            "xPos": nbt.integer(0),
            "zPos": nbt.integer(0),
            "Status": nbt.text("full"),
            "Sections": nbt.listed([], 10),
        }
        chunk = {"DataVersion": nbt.integer(number), "Level": nbt.compound(level)}
    else:
        chunk = nbt.chunk(0, 0, [], DataVersion=nbt.integer(number))
    world = saved(tmp_path / "w")
    (world / "region" / "r.0.0.mca").write_bytes(nbt.region_file({(0, 0): chunk}))
    assert build_saved(build, (4, 70, 5), world, tmp_path / "copy") == (3, 0, 0, ())
    found = read_cells(tmp_path / "copy", ((4, 70, 5), (6, 70, 5)))
    assert [found.palette[one] for one in found.index.ravel()] == [f"minecraft:{name}" for name in names]
    back = read_region_box(tmp_path / "copy", (4, 70, 5), (6, 70, 5))
    assert [name.partition("[")[0] for name in back.materials] == ["chain", "water_cauldron", "dirt_path"]


def test_a_save_of_a_later_version_than_the_names_are_known_of_is_refused(tmp_path: Path) -> None:
    world = saved(tmp_path / "w", DataVersion=nbt.integer(6000))
    with pytest.raises(DataError, match=r"later than 26\.2 \(DataVersion 6000\); its block names are not known"):
        build_saved(GOLD, (8, 70, 5), world, tmp_path / "copy")
    assert read_region_box(world, (5, 70, 5), (5, 70, 5)).blocks == 1


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"hut \xed\xa0\xbd\xed\xb8\x80", "hut \N{GRINNING FACE}"),
        ("hut \N{GRINNING FACE}".encode(), "hut \N{GRINNING FACE}"),
        ("Tür 家".encode(), "Tür 家"),
        (b"a\xc0\x80b", "a?b"),
        (b"a\xed\xa0\xbdb", "a?b"),
        (b"a\xffb", "a\N{REPLACEMENT CHARACTER}b"),
    ],
)
def test_names_in_files_are_modified_utf_8(said: bytes, expected: str, tmp_path: Path) -> None:
    metadata = nbt.compound({"Name": (8, text(said)), "Author": (8, text(said))})
    build = Blueprint.of([[[1, 2]]], ["stone", "glass"])
    region = nbt.compound(nbt.litematic_region(build))
    regions = (10, raw(10, said, region[1]) + b"\0")
    for name, fields in (
        ("a.litematic", {"Version": nbt.integer(6), "Regions": regions, "Metadata": metadata}),
        ("a.schem", nbt.schematic(build, Metadata=metadata)),
        ("a.nbt", nbt.structure(build, author=(8, text(said)))),
    ):
        found = read_structure(nbt.put(tmp_path / name, nbt.root(fields)))
        assert found.blueprint == build
        assert {key: value for key, value in found.facts.items() if key in ("Name", "Author", "author")} == (
            {"author": expected} if name == "a.nbt" else {"Name": expected, "Author": expected}
        )
    assert np.array_equal(found.blueprint.cells, build.cells)
