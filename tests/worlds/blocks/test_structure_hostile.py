"""Structure files from strangers: every damage ends in one clear line, in bounded time and memory."""

import gzip
import struct
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import nbt_bytes as nbt
from worldgauge.core.errors import DataError
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.structure_files import NbtLimits, Structure, read_region_box, read_structure

BUILD = Blueprint.of([[[1, 2, -1], [3, -1, 1]], [[-1, 2, 2], [1, 1, 3]]], ["stone", "oak_slab[type=top]", "jigsaw"])
REGION = nbt.litematic_region(BUILD)


def refused(path: Path, limits: NbtLimits | None = None) -> str:
    """The one line that a file is refused with."""
    with pytest.raises(DataError) as caught:
        read_structure(path, limits=limits)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert len(message) < len(str(path)) + 400
    return message.removeprefix(str(path))


def palette(**fields: Any) -> dict[str, Any]:
    """A palette of four entries of these fields."""
    return {"palette": nbt.listed([nbt.compound(fields)] * 4)}


def cells(**fields: Any) -> dict[str, Any]:
    """A structure's only cell."""
    return {"blocks": nbt.listed([nbt.compound({"state": nbt.integer(0), **fields})])}


NO_STATE = nbt.compound({"final_state": nbt.text("stone[")})
BAD_STRUCTURES: dict[str, tuple[dict[str, Any], str]] = {
    "no size": ({"size": nbt.integer(4)}, "field 'size' is 4, not three whole numbers"),
    "two sides": ({"size": nbt.listed([nbt.integer(1)] * 2)}, "field 'size' is a list of 2"),
    "sides of text": ({"size": nbt.listed([nbt.text("1")] * 3)}, "field 'size' is a list of 3"),
    "no side": ({"size": nbt.place(3, 0, 2)}, "'size' gives a box of 3 x 0 x 2 blocks; all sides must be 1 or more"),
    "negative side": ({"size": nbt.place(-3, 2, 2)}, "gives a box of -3 x 2 x 2 blocks"),
    "long side": ({"size": nbt.place(513, 2, 2)}, "past the limits of 512 a side"),
    "many cells": ({"size": nbt.place(512, 512, 512)}, "past the limits of 512 a side and 16777216 in all"),
    "small size": ({"size": nbt.place(2, 2, 2)}, "].pos' is (2, 0, 1), outside the size of 2 x 2 x 2"),
    "palette of numbers": ({"palette": nbt.integers([1])}, "field 'palette' is an array of 1, not a list of compounds"),
    "short palette": ({"palette": nbt.listed([nbt.entry("air")])}, ".state' is 3, not a whole number from 0 to 0"),
    "no palette": ({"palette": nbt.listed([])}, "not a whole number from 0 to -1"),
    "nameless": (palette(), "field 'palette[0].Name' is missing"),
    "name of numbers": (palette(Name=nbt.integer(1)), "'palette[0].Name' is 1, not a text"),
    "name of no block": (
        palette(Name=nbt.text("stone\n/op me")),
        "field 'palette[0].Name' 'stone?/op me' has letters that no block's name has",
    ),
    "state of no block": (
        {"palette": nbt.listed([nbt.entry("air"), nbt.entry("stone[a=b ]x]")] * 2)},
        "field 'palette[1].Name' state 'a=b ]x' has letters that no block's state has",
    ),
    "states in a list": (
        palette(Name=nbt.text("a"), Properties=nbt.compound({"k": nbt.integers([1])})),
        "field 'palette[0].Properties.k' is an array of 1, not a text",
    ),
    "blocks of numbers": ({"blocks": nbt.listed([nbt.integer(1)])}, "'blocks' is a list of 1, not a list of compounds"),
    "a cell twice": (
        {"blocks": nbt.listed([nbt.compound({"state": nbt.integer(0), "pos": nbt.place(1, 1, 1)})] * 2)},
        "field 'blocks[1].pos' is (1, 1, 1), which an earlier block has",
    ),
    "no place": (cells(), "'blocks[0].pos' is missing"),
    "final state of no block": (
        cells(pos=nbt.place(0, 0, 0), nbt=NO_STATE),
        "field 'blocks[0].nbt.final_state' has no closing bracket",
    ),
}


@pytest.mark.parametrize("name", BAD_STRUCTURES)
def test_structures_that_contradict_themselves(name: str, tmp_path: Path) -> None:
    fields, expected = BAD_STRUCTURES[name]
    assert expected in refused(nbt.put(tmp_path / "a.nbt", nbt.root(nbt.structure(BUILD) | fields)))


BAD_SCHEMATICS: dict[str, tuple[dict[str, Any], str]] = {
    "version 1": ({"Version": nbt.integer(1)}, "field 'Version' is 1; save it again as version 2 or 3"),
    "version of text": ({"Version": nbt.text("2")}, "field 'Version' is '2', not a whole number"),
    "no side": ({"Height": nbt.short(0)}, "gives a box of 3 x 0 x 2 blocks"),
    "negative side, which is a large one": ({"Width": nbt.short(-1)}, "gives a box of 65535 x 2 x 2 blocks, past"),
    "side of text": ({"Length": nbt.text("2")}, "field 'Length' is '2', not a whole number"),
    "empty palette": ({"Palette": nbt.compound({})}, "field 'Palette' is empty"),
    "palette of another kind": ({"Palette": nbt.integer(3)}, "field 'Palette' is 3, not a compound"),
    "negative number": ({"Palette": nbt.compound({"stone": nbt.integer(-1)})}, "'Palette.stone' is -1, not a whole"),
    "large number": ({"Palette": nbt.compound({"stone": nbt.integer(2**30)})}, "'Palette.stone' is 1073741824, not"),
    "number twice": (
        {"Palette": nbt.compound({"stone": nbt.integer(1), "glass": nbt.integer(1)})},
        "field 'Palette' gives two blocks one number",
    ),
    "name of no block": (
        {"Palette": nbt.compound({"Oak Planks": nbt.integer(0)})},
        "field 'Palette.Oak Planks' 'Oak Planks' has letters",
    ),
    "few cells": ({"BlockData": nbt.raw_bytes(bytes(11))}, "field 'BlockData' holds 11 whole numbers for 12 cells"),
    "many cells": ({"BlockData": nbt.raw_bytes(bytes(13))}, "field 'BlockData' holds 13 whole numbers for 12 cells"),
    "no cells": ({"BlockData": nbt.raw_bytes(b"")}, "field 'BlockData' holds 0 whole numbers for 12 cells"),
    "cells that never end": ({"BlockData": nbt.raw_bytes(b"\x80" * 40)}, "holds 0 whole numbers for 12 cells"),
    "last cell open": ({"BlockData": nbt.raw_bytes(bytes(12) + b"\xff")}, "holds 12 whole numbers for 12 cells"),
    "a long cell": (
        {"BlockData": nbt.raw_bytes(bytes(3) + b"\x80\x80\x80\x00" + bytes(8))},
        "field 'BlockData' has a number of more than 3 bytes at byte 3",
    ),
    "cells as numbers": ({"BlockData": nbt.integers([0] * 12)}, "is an array of 12, not an array of 8-bit numbers"),
    "cells in a list": ({"BlockData": nbt.listed([nbt.byte(0)] * 12)}, "'BlockData' is a list of 12, not an array"),
    "number out of the palette": (
        {"BlockData": nbt.raw_bytes(bytes(5) + b"\x09" + bytes(6))},
        "field 'BlockData' holds 9 for cell 5, but the palette has 4 entries",
    ),
    "number left out": (
        {
            "Palette": nbt.compound({"air": nbt.integer(0), "stone": nbt.integer(7)}),
            "BlockData": nbt.raw_bytes(bytes(11) + b"\x03"),
        },
        "field 'BlockData' holds 3, which the palette leaves out",
    ),
    "entity without a place": (
        {"BlockEntities": nbt.listed([nbt.compound({"final_state": nbt.text("stone")})])},
        "field 'BlockEntities[0].Pos' is missing",
    ),
}


@pytest.mark.parametrize("name", BAD_SCHEMATICS)
def test_schematics_that_contradict_themselves(name: str, tmp_path: Path) -> None:
    fields, expected = BAD_SCHEMATICS[name]
    assert expected in refused(nbt.put(tmp_path / "a.schem", nbt.root(nbt.schematic(BUILD) | fields)))


NO_SIDE = {"Size": nbt.corner(3, 0, 2)}

BAD_REGIONS: dict[str, tuple[dict[str, Any], str]] = {
    "no side": ({"Size": nbt.corner(3, 2, 0)}, "field 'Regions.r.Size' gives a box of 3 x 2 x 0 blocks"),
    "large": ({"Size": nbt.corner(-400, 400, 400)}, "gives a box of 400 x 400 x 400 blocks, past the limits"),
    "sides in a list": ({"Size": nbt.place(3, 2, 2)}, "field 'Regions.r.Size' is a list of 3, not a compound"),
    "no height": ({"Size": nbt.compound({"x": nbt.integer(3)})}, "field 'Regions.r.Size.y' is missing"),
    "far away": ({"Position": nbt.corner(2**30, 0, 0)}, "field 'Regions.r.Position.x' is 1073741824"),
    "few words": ({"BlockStates": nbt.longs([])}, "'Regions.r.BlockStates' has 0 words, not 1 for 12 cells of 2 bits"),
    "many words": ({"BlockStates": nbt.longs([0, 0])}, "has 2 words, not 1"),
    "words of bytes": ({"BlockStates": nbt.raw_bytes(bytes(8))}, "not an array of 64-bit numbers"),
    "number out of the palette": (
        {"BlockStatePalette": nbt.listed(map(nbt.entry, ("air", "stone", "glass")))},
        "field 'Regions.r.BlockStates' holds 3 for cell 3, but the palette has 3 entries",
    ),
    "no palette": ({"BlockStatePalette": nbt.listed([])}, "but the palette has 0 entries"),
}


@pytest.mark.parametrize("name", BAD_REGIONS)
def test_regions_that_contradict_themselves(name: str, tmp_path: Path) -> None:
    fields, expected = BAD_REGIONS[name]
    assert expected in refused(nbt.put(tmp_path / "a.litematic", nbt.root(nbt.litematic({"r": REGION | fields}))))


def test_palettes_and_regions_that_contradict_each_other(tmp_path: Path) -> None:
    for palettes in (nbt.listed([nbt.entry("air")]), nbt.listed([]), nbt.integer(1)):
        fields = {key: tag for key, tag in nbt.structure(BUILD).items() if key != "palette"} | {"palettes": palettes}
        assert "field 'palettes' is not a list of palettes" in refused(nbt.put(tmp_path / "a", nbt.root(fields)))

    # Regions that contradict each other.
    def of(**regions: Any) -> Path:
        return nbt.put(tmp_path / "a.litematic", nbt.root(nbt.litematic(regions)))

    assert "field 'Regions' is empty" in refused(of())
    other = nbt.litematic_region(Blueprint.of([[[1]]], ["glass"]))
    assert "field 'Regions.b.Position' lets the region lie over another" in refused(of(a=REGION, b=other))
    far = nbt.litematic_region(BUILD, (10_000, 0, 0))
    assert "field 'Regions' gives a box of 10003 x 2 x 2 blocks, past the limits" in refused(of(a=REGION, b=far))
    assert "e.Size' gives a box of 3 x 0 x 2 blocks" in refused(of(**{"\n" + "e" * 60_000: REGION | NO_SIDE}))
    assert "field 'Regions' have more than the limit of 23 cells" in refused(
        of(a=REGION, b=REGION), NbtLimits(most_cells=23)
    )


def test_files_of_other_kinds(tmp_path: Path) -> None:
    path = tmp_path / "a.nbt"
    assert "no such file" in refused(path)
    assert "no such file" in refused(tmp_path)
    for data, expected in (
        (b"", "is empty"),
        (b"PK\x03\x04 a zip", "neither NBT nor packed"),
        (b"\x0a", "the file ends early"),
        (gzip.compress(b""), "starts with no compound"),
        (gzip.compress(b"\x09\x00\x00\x0a\x00\x00\x00\x00"), "starts with no compound"),
        (nbt.root({"x": nbt.integer(1)}), "none of .nbt, .schem and .litematic"),
        (nbt.root({"Materials": nbt.text("Alpha"), "Data": nbt.raw_bytes(b"")}), "an old schematic of numbers"),
        (nbt.root({"Schematic": nbt.integer(3)}), "field 'Schematic' is 3, not a compound"),
    ):
        assert expected in refused(nbt.put(path, data, bytes))
    assert "a part of a world" in refused(nbt.put(tmp_path / "r.0.0.mca", b""))


@pytest.mark.parametrize("packing", [gzip.compress, zlib.compress, bytes])
def test_a_file_cut_anywhere_is_refused(packing: Callable[[bytes], bytes], tmp_path: Path) -> None:
    whole = packing(nbt.root(nbt.schematic(BUILD)))
    for size in range(len(whole)):
        refused(nbt.put(tmp_path / "a.schem", whole[:size], bytes))


def test_files_that_are_damaged_or_large(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(nbt.root(nbt.schematic(BUILD))))
    whole[-6] ^= 1
    assert "damaged" in refused(nbt.put(tmp_path / "a.schem", bytes(whole), bytes))
    # Large files are not read.
    path = nbt.put(tmp_path / "a.schem", nbt.root(nbt.schematic(BUILD)))
    assert "larger than the limit of 60 bytes" in refused(path, NbtLimits(most_file_bytes=60))
    path = nbt.put(path, nbt.root(nbt.schematic(BUILD)), bytes)
    assert "larger than the limit of 60 bytes" in refused(path, NbtLimits(most_nbt_bytes=60))


NESTED_LISTS = b"\x0a\x00\x00\x09\x00\x01a" + b"\x09\x00\x00\x00\x01" * 5000
NESTED_COMPOUNDS = b"\x0a\x00\x00" + b"\x0a\x00\x01a" * 5000


def _field(kind: int, payload: bytes) -> bytes:
    return b"\x0a\x00\x00" + bytes([kind]) + b"\x00\x04long" + payload


BOMBS = {
    "nested lists": (NESTED_LISTS, "field 'a': nested deeper than the limit of 48"),
    "nested compounds": (NESTED_COMPOUNDS, "a.a': nested deeper than the limit of 48"),
    "list of nothing": (_field(9, struct.pack(">bi", 0, 2**31 - 1)), "field 'long': a list of tags of kind 0"),
    "list of no kind": (_field(9, struct.pack(">bi", 13, 1)), "field 'long': a list of tags of kind 13"),
    "long list": (_field(9, struct.pack(">bi", 3, 2**31 - 1)), "field 'long': the file ends early"),
    "long list of compounds": (_field(9, struct.pack(">bi", 10, 2**31 - 1)), "a list of 2147483647 tags, more than"),
    "long list of texts": (_field(9, struct.pack(">bi", 8, 900)) + bytes(1000), "a list of 900 tags, more than"),
    "long bytes": (_field(7, struct.pack(">i", 2**31 - 1)), "field 'long': the file ends early"),
    "long longs": (_field(12, struct.pack(">i", 2**31 - 1)), "field 'long': the file ends early"),
    "array of less than nothing": (_field(11, struct.pack(">i", -1)), "field 'long': an array of -1 numbers"),
    "long text": (_field(8, b"\xff\xff"), "field 'long': the file ends early"),
    "no kind": (_field(99, b""), "field 'long': a tag of kind 99"),
    "tags without end": (nbt.root({"l": nbt.listed([nbt.compound({})] * 100)}), "more than the limit of 90 tags"),
    "a list after one with names": (
        nbt.root({"l": nbt.listed([nbt.compound({"k": nbt.integer(n)}) for n in range(100)])}),
        "field 'l.k': more than the limit of 90 tags; split the build",
    ),
    "numbers without end": (nbt.root({"l": nbt.listed([nbt.byte(0)] * 100)}), "more than the limit of 90 tags"),
    "a name with a bell": (b"\x0a\x00\x00\x63\x00\x02\x07\x0a", "field '??': a tag of kind 99"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_nbt_that_asks_for_too_much(name: str, tmp_path: Path) -> None:
    data, expected = BOMBS[name]
    start = time.perf_counter()
    assert expected in refused(nbt.put(tmp_path / "a.nbt", data), NbtLimits(most_tags=90))
    assert time.perf_counter() - start < 1


def test_a_bomb_is_stopped_at_the_limit(tmp_path: Path) -> None:
    """256 MB of zeros in one: what is unpacked of it is the limit."""
    pack = zlib.compressobj(1, zlib.DEFLATED, 31)
    path = tmp_path / "a.schem"
    with path.open("wb") as file:
        for _ in range(64):
            file.write(pack.compress(bytes(1 << 22)))
        file.write(pack.flush())
    tracemalloc.start()
    assert "unpacks to more than the limit of 8388608 bytes" in refused(path, NbtLimits(most_nbt_bytes=1 << 23))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 << 20


FORMS = {
    "nbt": nbt.root(nbt.structure(BUILD)),
    "schem": nbt.root(nbt.schematic(BUILD), "Schematic"),
    "litematic": nbt.root(nbt.litematic({"r": REGION, "s": nbt.litematic_region(BUILD, (3, 0, 0), (-1, 1, -1))})),
    "mca": nbt.root(nbt.chunk(0, 0, [nbt.section(0, {(1, 1, 1): "stone", (2, 1, 1): "glass"})])),
}


@st.composite
def mutated(draw: st.DrawFn, whole: bytes) -> bytes:
    """`whole` with some bytes changed, put in or cut out, and perhaps cut off."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data) - 1))
        match draw(st.integers(0, 3)):
            case 0:
                data[at] = draw(st.integers(0, 255))
            case 1:
                data[at : at + 4] = struct.pack(
                    ">i", draw(st.sampled_from([-1, 0, 1, 255, 65536, 2**31 - 1, -(2**31)]))
                )
            case 2:
                data[at:at] = draw(st.binary(min_size=1, max_size=8))
            case _:
                del data[at : at + draw(st.integers(1, 8))]
    return bytes(data[: draw(st.integers(1, len(data)))]) if draw(st.integers(0, 9)) == 0 else bytes(data)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=200, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_files_are_read_or_refused_in_one_line(form: str, data: st.DataObject, tmp_path: Path) -> None:
    raw = data.draw(mutated(FORMS[form]))
    outside = data.draw(st.booleans())
    if form == "mca":
        path = tmp_path / "r.0.0.mca"
        body = zlib.compress(raw, 1)
        record = struct.pack(">IB", len(body) + 1, 2) + body
        file = struct.pack(">I", 2 << 8 | 1) + bytes(8188) + record.ljust(4096, b"\0")
        path.write_bytes(file)
    else:
        path = tmp_path / f"a.{form}"
        packed = data.draw(mutated(gzip.compress(FORMS[form], mtime=0))) if outside else raw
        path.write_bytes(packed)
    try:
        if form == "mca":
            build = read_region_box(path, (0, 0, 0), (3, 3, 3))
        else:
            structure = read_structure(path)
            assert isinstance(structure, Structure)
            build = structure.blueprint
        assert build.cells.size <= NbtLimits().most_cells
        assert np.isin(build.cells, [-1, *range(1, len(build.materials) + 1)]).all()
    except DataError as error:
        message = str(error)
        assert message.startswith(str(path))
        assert "\n" not in message
        assert len(message) < len(str(path)) + 400
