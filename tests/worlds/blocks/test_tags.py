"""NBT bytes to values and back to bytes, against nbtlib and the rules of Java's modified UTF-8."""

import io
import random
import struct

import nbtlib
import numpy as np
import pytest

from support import nbt_bytes as nbt
from worldgauge.worlds.blocks.nbt import compound_at, edited, elements, parts, root_value, tag, text_of


def random_tag(rng: random.Random, depth: int = 0) -> nbt.Tag:
    """Any tag that nbtlib reads alike: text is ASCII."""
    letters = "".join(rng.choices("abc xyz[]{}=:", k=rng.randrange(9)))
    plain = [
        nbt.byte(rng.randrange(-128, 128)),
        nbt.short(rng.randrange(-(2**15), 2**15)),
        nbt.integer(rng.randrange(-(2**31), 2**31)),
        nbt.long(rng.randrange(-(2**63), 2**63)),
        (5, struct.pack(">f", rng.random())),
        (6, struct.pack(">d", rng.random())),
        nbt.text(letters),
        nbt.raw_bytes(rng.randbytes(rng.randrange(5))),
        nbt.integers([rng.randrange(-(2**31), 2**31) for _ in range(rng.randrange(4))]),
        nbt.longs([rng.randrange(2**64) for _ in range(rng.randrange(4))]),
        nbt.listed([], rng.randrange(13)),
    ]
    if depth < 4 and rng.random() < 0.5:
        if rng.random() < 0.5:
            return nbt.compound({f"{letters}{n}": random_tag(rng, depth + 1) for n in range(rng.randrange(5))})
        first = random_tag(rng, depth + 1)
        more = [one for _ in range(9) if (one := random_tag(rng, depth + 1))[0] == first[0]]
        return nbt.listed([first, *more])
    return rng.choice(plain)


def same(mine: object, theirs: object) -> bool:
    if isinstance(mine, dict):
        assert isinstance(theirs, dict)
        return mine.keys() == theirs.keys() and all(same(mine[key], theirs[key]) for key in mine)
    if isinstance(mine, np.ndarray):
        assert isinstance(theirs, np.ndarray)
        return mine.dtype == theirs.dtype and mine.tobytes() == theirs.tobytes()
    if isinstance(mine, list):
        assert isinstance(theirs, list)
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    return mine == theirs


@pytest.mark.parametrize("seed", range(40))
def test_values_are_those_of_nbtlib_and_parts_are_the_bytes(seed: int) -> None:
    rng = random.Random(seed)
    fields = {f"field {n}": random_tag(rng) for n in range(12)}
    data = nbt.root(fields, "root")
    at = root_value(data)
    assert same(compound_at(data, at), nbtlib.File.parse(io.BytesIO(data)))
    found = list(parts(data, at))
    assert [one.name for one in found] == list(fields)
    for one in found:
        kind, value = fields[one.name]
        assert data[one.start : one.end] == tag(kind, one.name, value)
        assert data[one.value : one.end] == value
        if kind == 9:
            spans = elements(data, one.value)
            assert b"".join(data[first:last] for first, last in spans) == value[5:]
    assert edited(data, at, {}) == data[at:]
    new = {"field 3": tag(*nbt.integer(5)[:1], "field 3", nbt.integer(5)[1]), "more": tag(1, "more", b"\7")}
    expected = fields | {"field 3": nbt.integer(5), "more": nbt.byte(7)}
    assert data[:at] + edited(data, at, new) == nbt.root(expected, "root")


def test_text_is_javas_modified_utf_8() -> None:
    """Every character, written as Java's DataOutput writes it: by its UTF-16 units, NUL in two bytes."""

    def unit(number: int) -> bytes:
        if 0 < number < 0x80:
            return bytes([number])
        if number < 0x800:
            return bytes([0xC0 | number >> 6, 0x80 | number & 63])
        return bytes([0xE0 | number >> 12, 0x80 | number >> 6 & 63, 0x80 | number & 63])

    for letter in map(chr, (*range(0x3000), *range(0xD7FF, 0xE001), *range(0xFFF0, 0x10100), 0x1F600, 0x10FFFF)):
        units = struct.unpack(
            f"<{len(letter.encode('utf-16-le', 'surrogatepass')) // 2}H", letter.encode("utf-16-le", "surrogatepass")
        )
        assert text_of(b"a" + b"".join(map(unit, units)) + b"z") == f"a{letter}z"
    assert text_of("\N{GRINNING FACE}".encode()) == "\N{GRINNING FACE}", "as some tools write it"
    assert text_of(b"a\xff") == "a\N{REPLACEMENT CHARACTER}"
