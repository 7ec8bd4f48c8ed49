"""Reading the released object streams without running anything in them."""

import pickle
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.released_trials import Stream, demo_of, plain_row
from worldgauge.core.errors import DataError
from worldgauge.suites.worldinworld.manipulation import object_stream
from worldgauge.suites.worldinworld.manipulation.object_stream import ObjectRecord, read_objects

HEAD, DEMO = b"\x80\x05", b"\x8c\x0damsolver.demo\x8c\x04Demo\x93"


def read(tmp_path: Path, data: bytes) -> Any:
    (tmp_path / "a.pkl").write_bytes(data)
    return read_objects(tmp_path / "a.pkl")


class Plain(pickle.Unpickler):
    """Python's own reader, with the four names only: it is independent of ours."""

    def find_class(self, module: str, name: str) -> Any:
        known: dict[tuple[str, str], Any] = {
            ("amsolver.demo", "Demo"): type("Demo", (SimpleNamespace,), {}),
            ("amsolver.backend.observation", "Observation"): type("Observation", (SimpleNamespace,), {}),
            ("numpy", "dtype"): np.dtype,
            ("numpy.core.numeric", "_frombuffer"): lambda data, kind, shape, order: np.frombuffer(data, kind).reshape(
                shape, order=order
            ),
        }
        return known[module, name]


def same(ours: Any, theirs: Any) -> bool:
    """Whether both readers found the same value."""
    if isinstance(ours, ObjectRecord):
        return type(theirs).__name__ == ours.kind and same(ours.fields, vars(theirs))
    if isinstance(ours, np.ndarray):
        return ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, (list, tuple)):
        return type(ours) is type(theirs) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(type(ours) is type(theirs) and ours == theirs)


def test_it_reads_what_python_reads(tmp_path: Path) -> None:
    values = [demo_of(plain_row("push_buttons"), 3), ["a", "é"], 7, (1, 2.5, (), (None, True, 70_000, 300), {"a": -1})]
    for value in values:
        data = Stream().whole(value)
        (tmp_path / "b.pkl").write_bytes(data)
        with (tmp_path / "b.pkl").open("rb") as file:
            assert same(read(tmp_path, data), Plain(file).load())


def test_nothing_of_it_is_imported_or_called(tmp_path: Path) -> None:
    assert not isinstance(read(tmp_path, Stream().whole(demo_of(plain_row("stack_cups")))), type)
    assert "amsolver" not in sys.modules
    path = tmp_path / "made"
    with pytest.raises(DataError, match="names more than a trial"):
        read(tmp_path, pickle.dumps(_Calls(path), protocol=5))
    assert not path.exists()


class _Calls:
    """What makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.mkdir, (self.path,)


LIST, MANY = b"]\x94", 1_000_001
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "too early"),
    "old": (b"\x80\x04N.", "protocol 5"),
    "cut": (HEAD + b"\x8c\x05ab", "too early"),
    "no end": (HEAD + b"N", "too early"),
    "two objects": (HEAD + b"NN.", "end as one object"),
    "open mark": (HEAD + b"(N.", "end as one object"),
    "more behind": (HEAD + b"N.N", "end as one object"),
    "unknown instruction": (HEAD + b"cos\nsystem\n.", "63 is not known"),
    "set": (HEAD + b"\x8f.", "8f is not known"),
    "other name": (HEAD + b"\x8c\x02os\x8c\x06system\x93.", "names more than"),
    "name of numbers": (HEAD + b"NN\x93.", "a name is no text"),
    "nothing to take": (HEAD + b"\x85.", "damaged"),
    "no memory": (HEAD + b"h\x00.", "damaged"),
    "no mark": (HEAD + b"t.", "damaged"),
    "bad text": (HEAD + b"\x8c\x01\xff.", "damaged"),
    "long bytes": (HEAD + b"\x96" + b"\xff" * 8, "too early"),
    "long frame": (HEAD + b"\x95" + b"\xff" * 8 + b"N.", "too early"),
    "deep": (HEAD + b"(" * 65, "deeper than 64"),
    "memories": (HEAD + b"N" + b"\x94" * 100_001, "100000 objects"),
    "instructions": (HEAD + b"N" * MANY, "1000000 instructions"),
    "items of no list": (HEAD + b"N(Ne.", "of no list"),
    "key of a tuple": (HEAD + b"}()Nu.", "of no record"),
    "odd fields": (HEAD + b"}(\x8c\x01au.", "of no record"),
    "a record of arguments": (HEAD + DEMO + b"N\x85\x81.", "more than its fields"),
    "a record is called": (HEAD + DEMO + b")R.", "no trial and no array"),
    "a text is called": (HEAD + b"\x8c\x01a)R.", "no trial and no array"),
    "no fields": (HEAD + DEMO + b")\x81Nb.", "has no fields"),
    "fields twice": (HEAD + DEMO + b")\x81}b}b.", "has no fields"),
}


@pytest.mark.parametrize("name", BAD)
def test_anything_else_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    data, said = BAD[name]
    with pytest.raises(DataError, match=said) as error:
        read(tmp_path, data)
    assert "\n" not in str(error.value)
    assert "a.pkl: byte " in str(error.value)


def array(shape: bytes, *, data: bytes = struct.pack("<2d", 1, 2), kind: bytes = b"f8", order: bytes = b"<") -> bytes:
    dtype = b"\x8c\x05numpy\x8c\x05dtype\x93\x8c\x02" + kind + b"\x89\x88\x87R(K\x03\x8c\x01" + order
    dtype += b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    name = b"\x8c\x12numpy.core.numeric\x8c\x0b_frombuffer\x93"
    return HEAD + name + b"(\x96" + struct.pack("<Q", len(data)) + data + dtype + shape + b"\x8c\x01CtR."


def test_an_array_has_the_shape_of_its_numbers(tmp_path: Path) -> None:
    np.testing.assert_array_equal(read(tmp_path, array(b"K\x02\x85")), [1, 2])
    for shape in (
        b"K\x03\x85",
        b"J\xfe\xff\xff\xffJ\xff\xff\xff\xff\x86",
        b"\x8c\x012\x85",
        b"K\x02",
        b"\x88K\x02\x86",
    ):
        with pytest.raises(DataError):
            read(tmp_path, array(shape))
    for changes in ({"kind": b"O8"}, {"order": b">"}, {"data": b"1234"}):
        with pytest.raises(DataError):
            read(tmp_path, array(b"K\x02\x85", **changes))


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a.pkl").open("wb") as file:
        file.truncate(object_stream.MOST_BYTES + 1)
    with pytest.raises(DataError, match="pass the limit"):
        read_objects(tmp_path / "a.pkl")
    with pytest.raises(DataError, match="cannot be read"):
        read_objects(tmp_path / "none.pkl")


def test_fields_that_share_all_their_parts_take_no_time(tmp_path: Path) -> None:
    """Each level holds the one below it twice: walked through, it would never end."""
    level = b")\x94" + b"".join(b"h" + bytes([n]) + b"h" + bytes([n]) + b"\x86\x94" for n in range(200))
    assert isinstance(read(tmp_path, HEAD + b"(" + level + b"t."), tuple)
    for end in (b"}(h\xc8Nu", DEMO + b")\x81h\xc8b", DEMO + b"h\xc8\x81", b"\x8c\x05numpy\x8c\x05dtype\x93h\xc8R"):
        with pytest.raises(DataError):
            read(tmp_path, HEAD + b"(" + level + end + b"t.")


def test_damage_anywhere_is_read_or_refused(tmp_path: Path) -> None:
    data, rng = Stream().whole(demo_of(plain_row("push_buttons"), 1)), Random(1)
    for _ in range(300):
        held = bytearray(data)
        held[rng.randrange(len(held))] = rng.randrange(256)
        with suppress(DataError):
            read(tmp_path, bytes(held))
