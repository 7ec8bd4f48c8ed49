"""Weights that lie on this machine already."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from weights.local_host import sha256, toy_set
from worldgauge.core.errors import DataError, UsageError
from worldgauge.weights import WeightFile, WeightSet, adopt, opened, standing
from worldgauge.weights import store as adoption
from worldgauge.weights import store as weight_store

A, B = b"a" * 5000, b"b" * 300
URL = "https://owner.example/file"
Known = Callable[[WeightSet], WeightSet]


@pytest.fixture
def folder(known: Known, tmp_path: Path) -> Path:
    """A folder to adopt; `toy` has a file with a digest, one of unknown size, and a config without a digest."""
    known(
        toy_set(
            WeightFile("net.pth", URL, len(A), sha256(A)),
            WeightFile("head.pth", URL, None, sha256(B)),
            WeightFile("config.json", URL),
        )
    )
    (tmp_path / "mine").mkdir()
    return tmp_path / "mine"


def test_files_are_linked_under_whatever_name(folder: Path, store: Path) -> None:
    (folder / "blob-17").write_bytes(A)
    (folder / "config.json").symlink_to(folder / "config-blob")
    (folder / "config-blob").write_bytes(b"{}")
    (folder / "head.pth").write_bytes(B)
    found = adopt(folder)
    assert [(one.name, one.source.name, one.linked) for one in found.taken] == [
        ("net.pth", "blob-17", True),
        ("head.pth", "head.pth", True),
        ("config.json", "config.json", True),
    ]
    assert found.wrong == []
    assert (store / "toy" / "net.pth").samefile(folder / "blob-17")
    assert not (store / "toy" / "config.json").is_symlink()
    opened("toy")
    for path in folder.iterdir():
        path.unlink()
    assert (opened("toy").set.name, adopt(store).taken, len(adopt(store).here)) == ("toy", [], 3)


def test_what_is_hashed_on_adoption_is_not_hashed_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, data in (("net.pth", A), ("head.pth", B), ("config.json", b"{}")):
        (folder / name).write_bytes(data)
    adopt(folder)
    monkeypatch.setattr(weight_store.hashlib, "file_digest", None)
    assert opened("toy").set.name == "toy"


def test_a_right_copy_speaks_for_the_others_of_its_name(folder: Path) -> None:
    (folder / "old").mkdir()
    (folder / "old" / "net.pth").write_bytes(b"of an older version")
    (folder / "new").mkdir()
    (folder / "new" / "net.pth").write_bytes(A)
    found = adopt(folder)
    assert ([one.source.parent.name for one in found.taken], found.wrong) == (["new"], [])


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EPERM])
def test_files_of_another_disk_are_copied(
    folder: Path, store: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    (folder / "net.pth").write_bytes(A)

    def refuse(source: Path, target: Path) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(adoption.os, "link", refuse)
    (one,) = adopt(folder).taken
    assert not one.linked
    assert (store / "toy" / "net.pth").read_bytes() == A
    assert not (store / "toy" / "net.pth").samefile(folder / "net.pth")
    assert standing("toy").state == "partial"


def test_a_wrong_file_is_named_and_not_taken(folder: Path, store: Path) -> None:
    (folder / "net.pth").write_bytes(A[:-1])
    (folder / "head.pth").write_bytes(B[::-1] + b"!")
    found = adopt(folder)
    assert found.taken == []
    assert found.wrong == [
        f"{folder / 'head.pth'}: expected sha256 {sha256(B)}, got {sha256(B[::-1] + b'!')}",
        f"{folder / 'net.pth'}: expected 5000 bytes, got 4999",
    ]
    assert not store.exists()


def test_a_common_name_is_taken_only_beside_its_set(folder: Path, known: Known) -> None:
    """config.json is what many folders hold: without a digest it is known by its company, or its folder's name."""
    known(toy_set(WeightFile("config.json", URL), WeightFile("other.pth", URL, 3, sha256(b"abc")), name="second"))
    for name in ("anywhere", "with", "second"):
        (folder / name).mkdir()
    (folder / "anywhere" / "config.json").write_bytes(b"[0]")
    (folder / "with" / "config.json").write_bytes(b"[1]")
    (folder / "with" / "net.pth").write_bytes(A)
    (folder / "second" / "config.json").write_bytes(b"[2]")
    taken = {(one.set, one.name): one.source.parent.name for one in adopt(folder).taken}
    assert taken == {("toy", "net.pth"): "with", ("toy", "config.json"): "with", ("second", "config.json"): "second"}


def test_a_wrong_file_of_the_store_is_replaced(folder: Path, store: Path) -> None:
    (store / "toy").mkdir(parents=True)
    (store / "toy" / "net.pth").write_bytes(b"wrong")
    (folder / "net.pth").write_bytes(A)
    assert [one.name for one in adopt(folder).taken] == ["net.pth"]
    assert (store / "toy" / "net.pth").read_bytes() == A


def test_a_second_first_copy_must_be_the_first_one(folder: Path, store: Path) -> None:
    (folder / "net.pth").write_bytes(A)
    (folder / "config.json").write_bytes(b"{}")
    adopt(folder)
    (store / "toy" / "config.json").unlink()
    (folder / "config.json").write_bytes(b"{ }")
    found = adopt(folder)
    assert found.taken == []
    assert "as its first copy was recorded" in found.wrong[0]


def test_folders_that_cannot_be_meant(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="gone: no such folder"):
        adopt(folder / "gone")
    for name in "abc":
        (folder / name).write_bytes(b"")
    monkeypatch.setattr(adoption, "MOST_FILES", 2)
    with pytest.raises(UsageError, match="more than 2 files; name the folder of the weights"):
        adopt(folder)


def test_a_store_that_cannot_be_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "net.pth").write_bytes(A)
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(folder / "net.pth"))
    with pytest.raises(DataError, match=r"cannot be written .*; WORLDGAUGE_WEIGHTS names another folder"):
        adopt(folder)
