"""Weight files that are honest are read; those that are not are refused before they cost anything."""

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weights.local_host import sha256
from worldgauge.core.errors import DataError
from worldgauge.weights import WeightFile, expect, known_program, read_tensors


def safetensors(path: Path, header: Any, data: bytes = b"", size: int | None = None) -> Path:
    """A file with that header, an object or the bytes themselves."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if size is None else size) + text + data)
    return path


def entry(kind: str, shape: list[int], start: int, stop: int) -> dict[str, Any]:
    return {"dtype": kind, "shape": shape, "data_offsets": [start, stop]}


def test_every_floating_kind_becomes_float32(tmp_path: Path) -> None:
    numbers = np.array([[1.5, -2.0], [0.0, 0.25]])
    upper = (numbers.astype("<f4").view("<u4") >> 16).astype("<u2")
    parts = {"F64": numbers, "F32": numbers.astype("<f4"), "F16": numbers.astype("<f2"), "BF16": upper}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for kind, part in [*parts.items(), ("I64", np.arange(3))]:
        header[kind] = entry(kind, list(part.shape), len(data), len(data) + part.nbytes)
        data += part.tobytes()
    header["scalar"] = entry("F32", [], len(data), len(data) + 4)
    header["none"] = entry("F32", [0, 3], len(data) + 4, len(data) + 4)
    found = read_tensors(safetensors(tmp_path / "a.safetensors", header, data + struct.pack("<f", 7)))
    assert set(found) == {*parts, "scalar", "none"}
    for kind in parts:
        assert (found[kind].dtype, found[kind].tolist()) == (np.float32, numbers.tolist())
    assert found["scalar"] == 7
    assert found["none"].shape == (0, 3)


BAD_HEADERS: dict[str, tuple[Any, bytes, str]] = {
    "outside": ({"a": entry("F32", [4], 0, 16)}, b"\0" * 8, "says it lies at 0 to 16, expected from 0 within 8"),
    "negative": ({"a": entry("F32", [1], -4, 0)}, b"\0" * 4, "no whole numbers"),
    "overlap": ({"a": entry("F32", [2], 0, 8), "b": entry("F32", [2], 4, 12)}, b"\0" * 12, "'b' says it lies at 4"),
    "gap": ({"a": entry("F32", [1], 4, 8)}, b"\0" * 8, "expected from 0"),
    "left over": ({"a": entry("F32", [1], 0, 4)}, b"\0" * 9, "5 bytes are of no tensor"),
    "size": ({"a": entry("F32", [3], 0, 8)}, b"\0" * 8, "F32 of shape .3. is not 8 bytes"),
    "huge shape": ({"a": entry("F32", [2**40, 2**40], 0, 8)}, b"\0" * 8, "is not 8 bytes"),
    "truth": ({"a": entry("F32", [True], 0, 4)}, b"\0" * 4, "no whole numbers"),
    "dtype": ({"a": entry("F8_E4M3", [4], 0, 4)}, b"\0" * 4, "'F8_E4M3' are not read"),
    "twice": (b'{"a": {}, "a": {}}', b"", "stands in its header twice"),
    "list": (b"[1]", b"", "no safetensors file"),
    "words": (b"not json", b"", "no safetensors file"),
    "deep": (b"[" * 100_000, b"", "no safetensors file"),
    "no offsets": (b'{"a": {"dtype": "F32", "shape": [1]}}', b"", "no safetensors file"),
}


@pytest.mark.parametrize("name", BAD_HEADERS)
def test_headers_that_lie(name: str, tmp_path: Path) -> None:
    header, data, why = BAD_HEADERS[name]
    with pytest.raises(DataError, match=why):
        read_tensors(safetensors(tmp_path / "a.safetensors", header, data))


@pytest.mark.parametrize("size", [0, 3, 2**31, 2**63, 2**64 - 1])
def test_a_header_of_any_length_costs_nothing(tmp_path: Path, size: int) -> None:
    with pytest.raises(DataError, match="no safetensors file"):
        read_tensors(safetensors(tmp_path / "a.safetensors", b"{}", size=size))
    (tmp_path / "b.safetensors").write_bytes(b"\1\2")
    with pytest.raises(DataError, match="no safetensors file"):
        read_tensors(tmp_path / "b.safetensors")


def npy(shape: str, data: bytes = b"", descr: str = "'<f4'") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def zipped(path: Path, members: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_npz_is_read_and_lies_are_refused(tmp_path: Path) -> None:
    square = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", square=square, half=np.float16([0.5]), count=np.arange(3))
        found = read_tensors(tmp_path / "a.npz")
        assert (set(found), found["square"].tolist()) == ({"square", "half"}, square.tolist())
        assert all(array.dtype == np.float32 for array in found.values())
    path = zipped(tmp_path / "a.npz", {"a.npy": npy("(200000,)", bytes(800_000))})
    raw = bytearray(path.read_bytes())
    place = raw.rfind(b"PK\x01\x02")
    raw[place + 24 : place + 28] = struct.pack("<I", 400)
    path.write_bytes(raw)
    with pytest.raises(DataError):
        read_tensors(path)
    with pytest.raises(DataError, match="no such weight file"):
        read_tensors(tmp_path / "absent.npz")
    (tmp_path / "a.bin").write_bytes(b"")
    with pytest.raises(DataError, match=r"come as \.npz, \.safetensors or \.pth"):
        read_tensors(tmp_path / "a.bin")


def test_npz_that_lies(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", a=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="holds objects, which is more than tensors"):
        read_tensors(tmp_path / "objects.npz")
    path = zipped(tmp_path / "shape.npz", {"a.npy": npy("(1000000000000,)", b"\0" * 64)})
    with pytest.raises(DataError, match=r"says it is of shape \(1000000000000,\), and has \d+ bytes"):
        read_tensors(path)
    path = zipped(tmp_path / "bomb.npz", {"a.npy": npy("(10000000,)", bytes(40_000_000))})
    assert path.stat().st_size < 50_000
    with pytest.raises(DataError, match=r"says it holds 400000[0-9]+ bytes of tensors; 1048576 are the most it may"):
        read_tensors(path)
    path = zipped(tmp_path / "short.npz", {"a.npy": npy("(4,)", bytes(15))})
    with pytest.raises(DataError, match="not a readable weight file"):
        read_tensors(path)
    for bad in (b"", b"PK\3\4nothing", b"\x80\x04."):
        (tmp_path / "bad.npz").write_bytes(bad)
        with pytest.raises(DataError, match="not a readable weight file"):
            read_tensors(tmp_path / "bad.npz")
    path = zipped(tmp_path / "code.npz", {"a.npy": npy("__import__('os').abort()")})
    with pytest.raises(DataError, match="not a readable weight file"):
        read_tensors(path)


def test_what_is_expected_comes_and_nothing_else() -> None:
    tensors = {name: np.ones((2, 3), np.float32) for name in ("lin0.weight", "lin1.weight", "other")}
    found = expect(tensors, {"lin0.weight": (2, 3), "lin1.weight": (None, 3)}, "heads.pth")
    assert list(found) == ["lin0.weight", "lin1.weight"]
    with pytest.raises(
        DataError, match=r"^heads\.pth: not these weights, it lacks 'lin2.weight' \(there is 'lin1.weigh"
    ):
        expect(tensors, {"lin1.weight": (2, 3), "lin2.weight": (2, 3)}, "heads.pth")
    with pytest.raises(DataError, match=r"it lacks 'a', 'b', 'c' and 1 more \(there are 'lin0"):
        expect(tensors, dict.fromkeys("abcd", ()), "heads.pth")
    with pytest.raises(DataError, match="'other' is of shape 2 x 3, not any x 4"):
        expect(tensors, {"other": (None, 4)}, "heads.pth")
    with pytest.raises(DataError, match=r"'other' is of shape 2 x 3, not 2$"):
        expect(tensors, {"other": (2,)}, "heads.pth")
    for bad in (np.nan, np.inf):
        tensors["other"][1, 2] = bad
        with pytest.raises(DataError, match="'other' holds numbers that are not finite"):
            expect(tensors, {"other": (2, 3)}, "heads.pth")
    expect(tensors, {"lin0.weight": (2, 3)}, "heads.pth")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "net.pt").write_bytes(b"a program")
    return tmp_path / "net.pt"


def test_only_a_known_program_is_given_to_be_run(program: Path) -> None:
    def known(size: int | None, digest: str) -> WeightFile:
        return WeightFile("net.pt", "https://owner.example/net.pt", size, digest)

    right = sha256(b"a program")
    assert known_program(program, known(9, right)) == known_program(program, known(None, right)) == b"a program"
    cases: dict[str, WeightFile] = {
        "the digest of the one that may be run is not known": known(9, right[:8]),
        "expected 10 bytes, got 9": known(10, right),
        f"expected sha256 {sha256(b'')}, got {right}; a program that is not known is not run": known(9, sha256(b"")),
    }
    for why, file in cases.items():
        with pytest.raises(DataError, match=why):
            known_program(program, file)
    with pytest.raises(DataError, match="no such weight file"):
        known_program(program.with_name("gone.pt"), known(9, right))


def test_torch_is_asked_for_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from worldgauge.core.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "a.pth").write_bytes(b"")
    with pytest.raises(MissingExtraError, match=r"reading a\.pth needs the extra 'torch'"):
        read_tensors(tmp_path / "a.pth")
