"""Files are in place as a whole, or the old one is still there."""

import errno
import os
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from worldgauge.core.errors import DataError
from worldgauge.core.io import atomic_file, check_inside, read_text, write_file


def test_a_file_is_put_in_place_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "one" / "two" / "x.bin"
    write_file(path, b"first")
    (path.parent / ".x.bin.part").write_bytes(b"left by a killed process, and longer")
    with atomic_file(path) as file:
        file.write(b"sec")
        assert path.read_bytes() == b"first"
        file.write(b"ond")
    assert path.read_bytes() == b"second"
    assert list(path.parent.iterdir()) == [path]


def test_an_error_of_who_writes_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    write_file(path, b"first")
    with suppress(ZeroDivisionError), atomic_file(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("refused", ["mkdir", "replace", "fsync"])
def test_what_the_system_refuses_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "new" / "x.bin"
    if refused != "mkdir":
        write_file(path, b"first")
    monkeypatch.setattr(os, refused, full)
    with pytest.raises(DataError, match=r"x\.bin: cannot be written \(No space left on device\)$") as caught:
        write_file(path, b"second")
    monkeypatch.undo()
    assert isinstance(caught.value.__cause__, OSError)
    left = {file.name: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert left == ({} if refused == "mkdir" else {"x.bin": b"first"})


def test_a_path_is_inside_where_following_every_link_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (tmp_path / "root2").mkdir()
    links = {"in": "a/b", "out": "..", "far": "/etc", "gone": "nowhere", "twice": "out", "self": "."}
    for name, target in links.items():
        (root / name).symlink_to(target)
        (root / "a" / name).symlink_to(target)
    (tmp_path / "door").symlink_to(root)
    monkeypatch.chdir(tmp_path)
    names = ("a", "b", *links, "..", "root2")
    found = {True: 0, False: 0}
    for place in (root, tmp_path / "door", Path("root"), Path("door"), root / "a" / ".."):
        for parts in product(names, repeat=3):
            path = place.joinpath(*parts)
            inside = path.resolve().is_relative_to(place.resolve())
            found[inside] += 1
            if inside:
                assert check_inside(path, place) == path
            else:
                with pytest.raises(DataError, match="leads out of") as refused:
                    check_inside(path, place)
                if "a link" in str(refused.value):
                    steps = [place.joinpath(*parts[:count]) for count in range(1, 4)]
                    # "b/.." of no folder b leads nowhere for the system, and on for who resolves it.
                    steps += [Path(os.path.normpath(step)) for step in steps]
                    assert any(step.is_symlink() for step in steps), path
    for way in ("../x", "a/../../x", str(tmp_path)):
        with pytest.raises(DataError, match=r": leads out of .*; name a file in that folder"):
            check_inside(root / way, root)
    with pytest.raises(DataError, match=r"a link that leads out of .*; put the file itself there"):
        check_inside(root / "far", root)
    assert min(found.values()) > 1000
    with pytest.raises(ValueError, match="null byte"):
        check_inside(root / "a\0b", root)


@pytest.mark.parametrize(
    "data", [b"\xff\xfea\0", b"\xfe\xff\0a", "ab".encode("utf-16-le"), "ab".encode("utf-16-be"), "a".encode("utf-32")]
)
def test_text_of_another_encoding_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(DataError, match=r"UTF-16.*save it as UTF-8"):
        read_text(tmp_path / "a.txt")
