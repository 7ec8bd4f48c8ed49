"""What lies in the store, and that it is what it should be."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from weights.local_host import sha256, toy_set
from worldgauge.core.errors import DataError, UnknownNameError
from worldgauge.weights import (
    AbsentWeightsError,
    WeightFile,
    WeightSet,
    digest_of,
    opened,
    standing,
    store_folder,
    verify,
)
from worldgauge.weights import store as weight_store

A, B = b"a" * 5000, b"b" * 300
Known = Callable[[WeightSet], WeightSet]
URL = "https://owner.example/file"


@pytest.fixture
def folder(known: Known, store: Path) -> Path:
    """The folder of a set of two files: one with a published digest, one without."""
    known(toy_set(WeightFile("a.bin", URL, len(A), sha256(A)), WeightFile("b.bin", URL)))
    (store / "toy").mkdir(parents=True)
    return store / "toy"


def test_a_set_stands_as_its_files_do(folder: Path) -> None:
    assert standing("toy").state == "absent"
    with pytest.raises(AbsentWeightsError, match=r"^weights 'toy' are not here: worldgauge weights pull toy$"):
        opened("toy")
    (folder / "a.bin.part").write_bytes(b"a")
    assert standing("toy").state == "partial"
    (folder / "a.bin").write_bytes(A)
    found = standing("toy")
    assert (found.state, found.sha256) == ("partial", {"a.bin": sha256(A)})
    assert [file.name for file in found.lacking] == ["b.bin"]
    with pytest.raises(AbsentWeightsError, match="are not all here"):
        opened("toy")
    (folder / "b.bin").write_bytes(B)
    assert standing("toy").state == "here"
    text = f"a.bin {sha256(A)}\nb.bin {sha256(B)}\n"
    assert opened("toy").digest == hashlib.sha256(text.encode()).hexdigest() == digest_of(folder, ["b.bin", "a.bin"])
    assert opened("toy").folder == folder


def test_a_wrong_file_is_named(folder: Path) -> None:
    (folder / "b.bin").write_bytes(B)
    (folder / "a.bin").write_bytes(A[:-1])
    with pytest.raises(DataError, match=r"toy/a\.bin: expected 5000 bytes, got 4999; .* worldgauge weights pull toy"):
        opened("toy")
    (folder / "a.bin").write_bytes(A[:-1] + b"x")
    found = standing("toy")
    assert (found.state, list(found.faults)) == ("wrong", ["a.bin"])
    with pytest.raises(DataError, match=f"expected sha256 {sha256(A)}, got {sha256(A[:-1] + b'x')}"):
        opened("toy")
    (folder / "a.bin").write_bytes(A)
    opened("toy")
    (folder / "b.bin").write_bytes(B[:-1])
    with pytest.raises(DataError, match=f"expected sha256 {sha256(B)}, as its first copy was recorded, got"):
        opened("toy")
    (folder / "b.bin").write_bytes(B)
    opened("toy")


def test_files_are_hashed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.bin").write_bytes(A)
    (folder / "b.bin").write_bytes(B)
    first = opened("toy")
    with monkeypatch.context() as patch:
        patch.setattr(weight_store.hashlib, "file_digest", None)
        assert opened("toy") == first
    os.utime(folder / "a.bin", ns=(1, 1))
    assert opened("toy") == first
    assert json.loads((folder / ".record.json").read_text())["files"]["a.bin"]["mtime_ns"] == 1
    assert sorted(path.name for path in folder.iterdir()) == [".record.json", "a.bin", "b.bin"]


def test_verify_reads_what_the_record_says_is_known(folder: Path) -> None:
    (folder / "a.bin").write_bytes(A)
    (folder / "b.bin").write_bytes(B)
    assert verify("toy") == opened("toy")
    time = (folder / "b.bin").stat().st_mtime_ns
    (folder / "b.bin").write_bytes(b"c" + B[1:])
    os.utime(folder / "b.bin", ns=(time, time))
    opened("toy")
    with pytest.raises(DataError, match=r"b\.bin: expected sha256"):
        verify("toy")
    # What verify has found is not forgotten: it is not opened as what it was, and pull knows what to replace.
    with pytest.raises(DataError, match=r"b\.bin: expected sha256"):
        opened("toy")
    assert [file.name for file in standing("toy").lacking] == ["b.bin"]
    (folder / "b.bin").write_bytes(B)
    os.utime(folder / "b.bin", ns=(time, time))
    assert opened("toy").digest == verify("toy").digest


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": 3}', '{"files": {"a.bin": {"bytes": "many"}}}', "\ud800"])
def test_a_broken_record_is_none(folder: Path, text: str) -> None:
    (folder / "a.bin").write_bytes(A)
    (folder / "b.bin").write_bytes(B)
    (folder / ".record.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert standing("toy").state == "here"


def test_a_store_that_cannot_be_written_to_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.bin").write_bytes(A)
    (folder / "b.bin").write_bytes(B)

    def refuse(**where: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(weight_store.tempfile, "mkstemp", refuse)
    assert opened("toy").digest == digest_of(folder, ["a.bin", "b.bin"])
    assert not (folder / ".record.json").exists()


def test_names_and_the_folder_of_all(monkeypatch: pytest.MonkeyPatch, store: Path) -> None:
    assert store_folder() == store
    monkeypatch.delenv("WORLDGAUGE_WEIGHTS")
    assert store_folder().parts[-2:] == ("worldgauge", "weights")
    with pytest.raises(UnknownNameError, match=r"no set of weights 'lpips-alx'\. Did you mean 'lpips-alex'"):
        opened("lpips-alx")
