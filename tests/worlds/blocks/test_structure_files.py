"""Structure files: what independent writers wrote is read right, and what we write is what the game reads."""

import base64
import gzip
import io
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import nbtlib
import numpy as np
import pytest

from support import nbt_bytes as nbt
from support.vectors import cases
from worldgauge.core.errors import DataError, MissingExtraError, UsageError
from worldgauge.worlds.blocks.blueprint import Blueprint, material
from worldgauge.worlds.blocks.structure_files import NbtLimits, read_region_box, read_structure, write_nbt, write_schem

STAIRS = "oak_stairs[facing=east,half=top,shape=straight,waterlogged=false]"
NAMES = ("stone", STAIRS, "glass", "oak_slab[type=top,waterlogged=true]", "create:gear", "sand")


def random_build(seed: int, most_side: int = 6, names: tuple[str, ...] = NAMES) -> Blueprint:
    """A build with all materials in the order of first sight."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, most_side + 1, 3)
    chosen = rng.choice([-1, *range(1, len(names) + 1)], shape).astype(np.int32)
    seen = dict.fromkeys(cell for cell in chosen.transpose(2, 0, 1).ravel().tolist() if cell > 0)
    table = np.full(len(names) + 1, -1, np.int32)
    table[list(seen)] = np.arange(1, len(seen) + 1)
    return Blueprint(table[np.maximum(chosen, 0)], tuple(names[number - 1] for number in seen))


def same(found: Blueprint, expected: Blueprint) -> bool:
    return found.rows() == expected.rows() and found.materials == expected.materials


@pytest.mark.parametrize("case", cases("build_import", "cases"))
def test_files_of_other_writers(case: dict[str, Any], tmp_path: Path) -> None:
    data = gzip.decompress(base64.b64decode(case["file_gzip_base64"]))
    path = tmp_path / case.get("region_file", f"{case['name']}.{case['format']}")
    path.write_bytes(data)
    if case["format"] == "mca":
        found = read_region_box(path, case["start_pos"], case["end_pos"])
    else:
        structure = read_structure(path)
        assert (structure.name, structure.format) == (case["name"], case["format"])
        found = structure.blueprint
    expected = case["expect"]
    assert found.size._asdict() == expected["3d_info"]
    assert found.blocks == expected["block_amount"]
    assert list(found.materials) == expected["materials_with_states"]
    assert found.rows() == expected["blueprint_with_states"]


@pytest.mark.parametrize("seed", range(8))
def test_what_is_written_is_read_again(seed: int, tmp_path: Path) -> None:
    build = random_build(seed)
    write_nbt(tmp_path / "a.nbt", build)
    write_schem(tmp_path / "b.schem", build)
    write_schem(tmp_path / "c.schem", build, version=3)
    for name in ("a.nbt", "b.schem", "c.schem"):
        structure = read_structure(tmp_path / name)
        assert same(structure.blueprint, build), name
        assert structure.facts["DataVersion"] == 3700
        assert structure.warnings == ()


@pytest.mark.parametrize("seed", range(8))
def test_what_a_plain_writer_writes_is_read(seed: int, tmp_path: Path) -> None:
    build = random_build(100 + seed)
    signs = np.random.default_rng(seed).choice([-1, 1], 3).tolist()
    forms = {
        "a.nbt": nbt.structure(build),
        "b.schem": nbt.schematic(build),
        "c.litematic": nbt.litematic({"r": nbt.litematic_region(build, (-5, 60, 7), signs)}),
    }
    for (name, fields), packing in zip(forms.items(), (gzip.compress, zlib.compress, bytes), strict=True):
        assert same(read_structure(nbt.put(tmp_path / name, nbt.root(fields), packing)).blueprint, build), name


@pytest.mark.parametrize("count", [2, 3, 4, 5, 16, 17, 127, 128, 129, 300])
def test_palettes_of_every_width(count: int, tmp_path: Path) -> None:
    """Numbers that change their bits: groups of seven in schematics, bits across words in Litematica's."""
    names = tuple(f"mod:block_{number}" for number in range(count))
    order = np.random.default_rng(count).permutation(np.resize(np.arange(1, count + 1), 5 * 7 * 11))
    build = Blueprint.of(order.reshape(5, 7, 11).tolist(), names)
    path = nbt.put(tmp_path / "a.schem", nbt.root(nbt.schematic(build)))
    assert read_structure(path).blueprint == build
    path = nbt.put(tmp_path / "a.litematic", nbt.root(nbt.litematic({"r": nbt.litematic_region(build)})))
    assert read_structure(path).blueprint == build
    write_schem(tmp_path / "b.schem", build)
    assert read_structure(tmp_path / "b.schem").blueprint == build


def test_materials_air_and_cells_left_out(tmp_path: Path) -> None:
    """x outermost, then y, then z: the cell [1][1][0] comes before [0][0][1]."""
    build = Blueprint.of([[[-1, 2], [-1, -1]], [[-1, -1], [1, -1]]], ["late", "early"])
    found = read_structure(nbt.put(tmp_path / "a.schem", nbt.root(nbt.schematic(build)))).blueprint
    assert found.materials == ("late", "early")
    assert found.rows() == [[[-1, 2], [-1, -1]], [[-1, -1], [1, -1]]]
    turned = Blueprint(build.cells[:, :, ::-1], build.materials)
    found = read_structure(nbt.put(tmp_path / "a.schem", nbt.root(nbt.schematic(turned)))).blueprint
    assert found.materials == ("early", "late")
    # Kinds of air are air and equal entries one.
    names = ("cave_air", "stone", "void_air", "structure_void", "air", "glass")
    build = Blueprint.of([[[1, 2, 3, 4, 5, 6]]], names)
    fields = nbt.structure(build)
    fields["palette"] = nbt.listed(map(nbt.entry, ("air", *names[:-1], "stone")))
    for data in (nbt.root(fields), nbt.root(nbt.litematic({"r": nbt.litematic_region(build)}))):
        found = read_structure(nbt.put(tmp_path / "a", data)).blueprint
        assert found.rows()[0][0][:5] == [-1, 1, -1, -1, -1]
    assert read_structure(nbt.put(tmp_path / "a", nbt.root(fields))).blueprint.rows() == [[[-1, 1, -1, -1, -1, 1]]]
    # Cells that a structure leaves out are air.
    fields = nbt.structure(Blueprint.of([[[1, 1]]], ["stone"]))
    fields["blocks"] = nbt.listed([nbt.compound({"state": nbt.integer(1), "pos": nbt.place(1, 0, 0)})])
    assert read_structure(nbt.put(tmp_path / "a.nbt", nbt.root(fields))).blueprint.rows() == [[[-1, 1]]]


FINAL = "minecraft:oak_stairs[half=top,facing=east]"


def _jigsaws(form: str) -> bytes:
    """Three jigsaws and a stone in a row, final states for the first, the third (air) and for a stone."""
    build = Blueprint.of([[[1, 1, 1, 2]]], ["jigsaw[orientation=up_north]", "stone"])
    states = {0: FINAL, 2: "minecraft:air", 3: "minecraft:sand"}
    own = {x: {"id": nbt.text("minecraft:jigsaw"), "final_state": nbt.text(name)} for x, name in states.items()}
    if form == "nbt":
        blocks = [
            nbt.compound(
                {"state": nbt.integer(1 if x < 3 else 2), "pos": nbt.place(x, 0, 0)}
                | ({"nbt": nbt.compound(own[x])} if x in own else {})
            )
            for x in range(4)
        ]
        return nbt.root(nbt.structure(build, blocks=nbt.listed(blocks)))
    if form == "litematic":
        places = {x: {"x": nbt.integer(x), "y": nbt.integer(0), "z": nbt.integer(0)} for x in own}
        tiles = nbt.listed(nbt.compound(places[x] | own[x]) for x in own)
        return nbt.root(nbt.litematic({"r": nbt.litematic_region(build, (9, 9, 9), TileEntities=tiles)}))
    spots = {x: {"Pos": nbt.integers([x, 0, 0])} for x in own}
    if form == "schem2":
        entities = nbt.listed(nbt.compound(spots[x] | own[x]) for x in own)
        return nbt.root(nbt.schematic(build, BlockEntities=entities), "Schematic")
    entities = nbt.listed(nbt.compound(spots[x] | {"Data": nbt.compound(own[x])}) for x in own)
    plain = nbt.schematic(build, Version=nbt.integer(3))
    blocks = {"Palette": plain.pop("Palette"), "Data": plain.pop("BlockData"), "BlockEntities": entities}
    return nbt.root({"Schematic": nbt.compound(plain | {"Blocks": nbt.compound(blocks)})})


@pytest.mark.parametrize("form", ["nbt", "schem2", "schem3", "litematic"])
def test_jigsaws_become_what_they_stand_for(form: str, tmp_path: Path) -> None:
    structure = read_structure(nbt.put(tmp_path / "a", _jigsaws(form)))
    assert structure.blueprint.materials == ("oak_stairs[facing=east,half=top]", "stone")
    assert structure.blueprint.rows() == [[[1, -1, -1, 2]]]
    assert structure.warnings == ("1 jigsaw blocks have no final state and are air",)


def test_regions_palettes_and_facts(tmp_path: Path) -> None:
    one, two = Blueprint.of([[[1, 1]]], ["stone"]), Blueprint.of([[[1], [2]]], ["glass", "stone"])
    regions = {
        "a": nbt.litematic_region(one, (10, 5, 3), (-1, 1, 1)),
        "b": nbt.litematic_region(two, (12, 6, 2), (1, -1, -1)),
    }
    structure = read_structure(nbt.put(tmp_path / "a", nbt.root(nbt.litematic(regions))))
    assert structure.facts["regions"] == 2
    assert structure.blueprint.materials == ("stone", "glass")
    assert structure.blueprint.rows() == [[[-1, -1, -1], [1, 1, -1]], [[-1, -1, 2], [-1, -1, 1]]]
    over = {"a": nbt.litematic_region(one), "b": nbt.litematic_region(Blueprint.of([[[-1, 1]]], ["stone"]), (1, 0, 0))}
    found = read_structure(nbt.put(tmp_path / "b", nbt.root(nbt.litematic(over)))).blueprint
    assert found.rows() == [[[1, 1, 1]]], "air of a region hides nothing, and equal blocks may meet"
    # Of several palettes the first is taken.
    build = Blueprint.of([[[1, -1]]], ["stone"])
    fields = nbt.structure(build)
    del fields["palette"]
    other = nbt.listed(map(nbt.entry, ("air", "glass")))
    fields["palettes"] = nbt.listed([nbt.listed(map(nbt.entry, ("air", "stone"))), other])
    structure = read_structure(nbt.put(tmp_path / "a.nbt", nbt.root(fields)))
    assert same(structure.blueprint, build)
    assert structure.warnings == ("the first of 2 palettes is taken",)
    # Facts are cut and printable.
    said = nbt.compound({"Name": nbt.text("hut\n\x1b[31m" + "x" * 500), "Author": nbt.integer(7)})
    build = random_build(1)
    fields = nbt.litematic({"r": nbt.litematic_region(build)}, Metadata=said)
    facts = read_structure(nbt.put(tmp_path / "a", nbt.root(fields))).facts
    assert facts["Name"].startswith("hut??[31mxxx")
    assert len(facts["Name"]) == 200
    assert (facts["Author"], facts["DataVersion"]) == (7, 2975)


def test_what_is_written_is_whole_and_the_same_each_time(tmp_path: Path) -> None:
    build = Blueprint.of([[[1, -1], [2, 1]]], [STAIRS, "create:gear"])
    write_nbt(tmp_path / "a.nbt", build)
    data = gzip.decompress((tmp_path / "a.nbt").read_bytes())
    file = nbtlib.File.parse(io.BytesIO(data)).unpack(json=True)
    assert (file["DataVersion"], file["size"], file["entities"]) == (3700, [2, 1, 2], [])
    names = [one["Name"] for one in file["palette"]]
    assert names == ["minecraft:air", "minecraft:oak_stairs", "create:gear"]
    states = {"facing": "east", "half": "top", "shape": "straight", "waterlogged": "false"}
    assert file["palette"][1]["Properties"] == states
    placed = {tuple(one["pos"]): names[one["state"]].partition(":")[2] for one in file["blocks"]}
    assert placed == {(0, 0, 0): "oak_stairs", (0, 0, 1): "gear", (1, 0, 0): "air", (1, 0, 1): "oak_stairs"}
    for version, way in ((2, ()), (3, ("Schematic", "Blocks"))):
        write_schem(tmp_path / "a.schem", build, version=version)  # type: ignore[arg-type]
        tags = nbtlib.File.parse(io.BytesIO(gzip.decompress((tmp_path / "a.schem").read_bytes())))
        assert tags.root_name == ("Schematic" if version == 2 else "")
        body = tags.get("Schematic", tags)
        assert [body[key] for key in ("Version", "Width", "Height", "Length")] == [version, 2, 1, 2]
        blocks = tags
        for key in way:
            blocks = blocks[key]
        assert set(blocks["Palette"]) == {"minecraft:air", f"minecraft:{STAIRS}", "create:gear"}
    # A reader of schematics that lacks a state guesses it, and takes other blocks where the name is of old.
    names = ["oak_stairs[facing=east]", "oak_fence", "grass_block", "grass", "stone", "lantern[hanging=true]"]
    write_schem(tmp_path / "a.schem", Blueprint.of([[[1, 2, 3, 4, 5, 6]]], names))
    tags = nbtlib.File.parse(io.BytesIO(gzip.decompress((tmp_path / "a.schem").read_bytes())))
    assert list(tags["Palette"])[1:] == [
        "minecraft:oak_stairs[facing=east,half=bottom,shape=straight,waterlogged=false]",
        "minecraft:oak_fence[east=false,north=false,south=false,waterlogged=false,west=false]",
        "minecraft:grass_block[snowy=false]",
        "minecraft:short_grass",
        "minecraft:stone",
        "minecraft:lantern[hanging=true,waterlogged=false]",
    ]
    # The same blueprint gives the same bytes.
    build = random_build(3)
    for number in (0, 1):
        write_nbt(tmp_path / f"{number}.nbt", build)
        write_schem(tmp_path / f"{number}.schem", build)
    for suffix in ("nbt", "schem"):
        assert (tmp_path / f"0.{suffix}").read_bytes() == (tmp_path / f"1.{suffix}").read_bytes()


@pytest.mark.parametrize("tail", ["{SpawnData:{}}", "[]{Items:[{id:'a]b'}]}"])
def test_a_final_state_may_carry_data_of_its_block(tail: str, tmp_path: Path) -> None:
    library = nbtlib.tag
    entries = [library.Compound({"Name": library.String("minecraft:jigsaw")})]
    held = library.Compound({"final_state": library.String(f"minecraft:spawner{tail}")})
    block = {"state": library.Int(0), "pos": library.List[library.Int]([library.Int(0)] * 3), "nbt": held}
    content = {
        "DataVersion": library.Int(2975),
        "size": library.List[library.Int]([library.Int(1)] * 3),
        "palette": library.List[library.Compound](entries),
        "blocks": library.List[library.Compound]([library.Compound(block)]),
    }
    nbtlib.File(content).save(tmp_path / "a.nbt")
    assert read_structure(tmp_path / "a.nbt").blueprint == Blueprint.of([[[1]]], ["spawner"])


@pytest.mark.parametrize("version", [2, 3])
def test_what_chests_hold_does_not_count_against_a_build(version: int, tmp_path: Path) -> None:
    library = nbtlib.tag
    items = [library.Compound({"Slot": library.Byte(i), "id": library.String("stone")}) for i in range(27)]

    def entity(x: int, **fields: Any) -> Any:
        body = library.Compound({"Items": library.List[library.Compound](items), **fields})
        body = library.Compound({"Data": body}) if version == 3 else body
        return library.Compound({**body, "Pos": library.IntArray([x, 0, 0])})

    final = library.String("minecraft:glass")
    entities = [*(entity(x) for x in range(7)), entity(7, final_state=final), *(entity(x) for x in range(8, 40))]
    palette = {"minecraft:chest": library.Int(0), "minecraft:jigsaw": library.Int(1)}
    cells = library.ByteArray([0] * 7 + [1] + [0] * 32)
    body = {"Version": library.Int(version), "Width": library.Short(40), "Height": library.Short(1)}
    body |= {"Length": library.Short(1), "DataVersion": library.Int(3700)}
    blocks = {"Palette": library.Compound(palette), "BlockEntities": library.List[library.Compound](entities)}
    blocks["Data" if version == 3 else "BlockData"] = cells
    whole = (
        {"Schematic": library.Compound({**body, "Blocks": library.Compound(blocks)})} if version == 3 else body | blocks
    )
    nbtlib.File(whole).save(tmp_path / "a.schem")
    few = NbtLimits(most_tags=200)
    found = read_structure(tmp_path / "a.schem", limits=few).blueprint
    assert found.named()[0, 0].tolist() == ["chest"] * 7 + ["glass"] + ["chest"] * 32
    with pytest.raises(
        DataError, match=r"BlockEntities.*more than the limit of 900 tags of what blocks .* hold; empty"
    ):
        read_structure(tmp_path / "a.schem", limits=NbtLimits(most_held_tags=900))
    with pytest.raises(DataError, match=r"more than the limit of 5 tags; split the build$"):
        read_structure(tmp_path / "a.schem", limits=NbtLimits(most_tags=5))


@pytest.mark.parametrize(
    "name", ["Oak Planks (wood)", "stone[facing=up", "stone[facing]", "stone[a=b\nc]", "", "x" * 200]
)
def test_names_that_the_game_has_not_are_not_written(name: str, tmp_path: Path) -> None:
    build = Blueprint.of([[[1]]], [name])
    for write in (write_nbt, write_schem):
        with pytest.raises(UsageError, match="material '"):
            write(tmp_path / "a", build)
    assert list(tmp_path.iterdir()) == []


def test_sizes_that_files_hold(tmp_path: Path) -> None:
    for shape in ((0, 1, 1), (1, 1, 65536)):
        with pytest.raises(UsageError, match="blocks a side"):
            write_schem(tmp_path / "a", Blueprint(np.full(shape, -1, np.int32), ()))
    with pytest.raises(UsageError, match="version 2 or 3, not 4"):
        write_schem(tmp_path / "a", random_build(1), version=4)  # type: ignore[arg-type]
    # Wide schematics pass the sign of their sizes.
    build = Blueprint(np.ones((1, 1, 40_000), np.int32), ("stone",))
    write_schem(tmp_path / "a.schem", build)
    assert read_structure(tmp_path / "a.schem", limits=NbtLimits(most_side=40_000)).blueprint == build


def test_without_nbtlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = nbt.put(tmp_path / "a.nbt", nbt.root(nbt.structure(random_build(1))))
    monkeypatch.setitem(sys.modules, "nbtlib", None)
    assert read_structure(path).blueprint == random_build(1), "only writing needs it"
    with pytest.raises(MissingExtraError, match=r"\.\[structures\]"):
        write_schem(path, random_build(1))


def test_importing_the_readers_does_not_import_nbtlib() -> None:
    code = "import sys, worldgauge.worlds.blocks.structure_files; sys.exit('nbtlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


NEW_NAMES = {
    "old_names": "air short_grass dirt_path oak_sign[rotation=4,waterlogged=false] "
    "oak_wall_sign[facing=north,waterlogged=false]",
    "old_cauldron": "stone grass_block[snowy=false] short_grass water_cauldron[level=2]",
}


@pytest.mark.parametrize("case", NEW_NAMES)
def test_names_of_older_versions_are_read_and_written_in_those_of_1_20_4(case: str, tmp_path: Path) -> None:
    expected = {f"minecraft:{name}" for name in NEW_NAMES[case].split()}
    build = read_structure(Path(__file__).parents[2] / "cases" / f"{case}.schem").blueprint
    assert {f"minecraft:{name}" for name in build.materials} == expected - {"minecraft:air"}
    for write, name in ((write_nbt, "a.nbt"), (write_schem, "a.schem")):
        write(tmp_path / name, build)
        assert read_structure(tmp_path / name).blueprint == build
    schem, file = (nbtlib.load(tmp_path / name).unpack() for name in ("a.schem", "a.nbt"))
    assert expected <= set(schem["Palette"]) <= expected | {"minecraft:air"}
    entries = [material(one["Name"], one.get("Properties")) for one in file["palette"]]
    assert {f"minecraft:{name}" for name in entries} == expected | {"minecraft:air"}


def test_names_before_1_13_mean_other_blocks_and_are_refused(tmp_path: Path) -> None:
    build = Blueprint(np.array([[[1, 2]]], np.int32), ("grass", "stone"))
    for number, is_read in ((1343, False), (1450, False), (1451, True), (0, True)):
        version = nbt.integer(number)
        for fields in (
            nbt.structure(build, DataVersion=version),
            nbt.schematic(build, DataVersion=version),
            nbt.litematic({"a": nbt.litematic_region(build)}, MinecraftDataVersion=version),
        ):
            path = nbt.put(tmp_path / "a", nbt.root(fields))
            if is_read:
                assert read_structure(path).blueprint.materials == ("short_grass", "stone")
                continue
            with pytest.raises(DataError, match=rf"before version 1\.13 of the game \(DataVersion {number}\)"):
                read_structure(path)
