"""Arrays of .npz files: what numpy writes is read, and no claim of a hostile file is believed."""

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.io import read_npy, read_npz

HUGE = 2**31


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def packed(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def header(text: str, version: int = 1) -> bytes:
    data = text.encode()
    length = struct.pack("<H" if version == 1 else "<I", len(data))
    return b"\x93NUMPY" + bytes([version, 0]) + length + data


def claims_member(path: Path) -> None:
    """The directory says that the member is of 4 GB, in the file and unpacked."""
    data = bytearray(packed(path, a=npy(np.zeros(4))).read_bytes())
    place = data.index(b"PK\x01\x02")
    data[place + 20 : place + 28] = struct.pack("<II", 2**32 - 2, 2**32 - 2)
    path.write_bytes(data)


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a shape of 2 GB": (
        lambda path: packed(path, a=header(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({HUGE},), }}\n")),
        "says it is of shape",
    ),
    "a header of 2 GB": (
        lambda path: packed(path, a=b"\x93NUMPY\x02\x00" + struct.pack("<I", HUGE)),
        r"of version \(2, 0\)",
    ),
    "a member of 4 GB": (claims_member, "more than"),
    "objects": (
        lambda path: packed(path, a=header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n") + b"x" * 99),
        "holds objects",
    ),
    "an early end": (lambda path: packed(path, a=npy(np.zeros(40))[:-200]), "says it is of shape|ends early"),
    "no array": (lambda path: packed(path, a=b"text"), "magic|EOF|reading"),
}


@pytest.mark.parametrize("one", HOSTILE)
def test_hostile_files_are_refused_without_taking_memory(one: str, tmp_path: Path) -> None:
    make, said = HOSTILE[one]
    make(tmp_path / "a.npz")
    tracemalloc.start()
    try:
        with pytest.raises((ValueError, zipfile.BadZipFile), match=said):
            read_npz(tmp_path / "a.npz", 2**20)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pack", [np.savez, np.savez_compressed])
def test_what_numpy_writes_is_read(pack: Callable[..., None], tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(12, dtype=np.uint16).reshape(3, 4),
        "b": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "c": np.float32(1.5),
        "d": np.zeros((0, 3)),
    }
    pack(tmp_path / "a.npz", **arrays)
    found = read_npz(tmp_path / "a.npz", 2**20)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == np.asarray(array).dtype
        np.testing.assert_array_equal(found[name], array)
    assert read_npz(tmp_path / "a.npz", 2**20, ("b", "z")).keys() == {"b"}
    with pytest.raises(ValueError, match="unpacks to more than 100 bytes"):
        read_npz(tmp_path / "a.npz", 100)
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        with pytest.raises(ValueError, match=r"'a.npy' has \d+ bytes, more than 10"):
            read_npy(archive, "a.npy", 10)
        with pytest.raises(KeyError):
            read_npy(archive, "z.npy", 10)
