"""The archive: the same bytes for the same contents; whatever else somebody sends is refused in one line."""

import hashlib
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldgauge.core.errors import DataError
from worldgauge.tools.bundle import MANIFEST, Archive, root_of, write_archive
from worldgauge.tools.verify import _is_plain

CONTENTS = {"run.json": b"{}", "records/a/record.json": b"[1, 2]" * 50, "films/a/rollout.mp4": bytes(range(256)) * 4}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("archive") / "a.zip"
    write_archive(path, CONTENTS)
    return path.read_bytes()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def manifest_of(held: dict[str, bytes], **changed: object) -> bytes:
    digests = {name: digest(data) for name, data in held.items()}
    listed = {name: {"bytes": len(data), "sha256": digest(data)} for name, data in held.items()}
    told = {"format": "worldgauge-bundle", "version": 1, "root": root_of(digests), "files": listed}
    return json.dumps({**told, **changed}).encode()


def zipped(path: Path, files: dict[str, bytes], manifest: bytes | None = None, *, mode: int = 0o100644) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, held in {MANIFEST: manifest or manifest_of(files), **files}.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (mode if name != MANIFEST else 0o100644) << 16
            archive.writestr(info, held)
    return path


def everything(path: Path) -> dict[str, bytes]:
    with Archive(path) as archive:
        return {name: archive.read(name) for name in archive.files}


def test_root_of_three_by_hand() -> None:
    def sha(data: bytes) -> bytes:
        return hashlib.sha256(data).digest()

    held = {"c": b"3", "a": b"1", "b": b"2"}
    leaf = {name: sha(b"\0" + name.encode() + b"\0" + sha(text)) for name, text in held.items()}
    wanted = sha(b"\1" + sha(b"\1" + leaf["a"] + leaf["b"]) + leaf["c"])
    assert root_of({name: digest(text) for name, text in held.items()}) == wanted.hex()
    assert root_of({}) == sha(b"").hex()


@given(st.dictionaries(st.text("abc/", min_size=1, max_size=4), st.binary(max_size=3), min_size=1, max_size=9))
@settings(max_examples=20)
def test_root_depends_on_every_name_and_byte(files: dict[str, bytes]) -> None:
    digests = {name: digest(held) for name, held in files.items()}
    root = root_of(digests)
    assert root == root_of(dict(reversed(digests.items())))
    for name in files:
        assert root_of({**digests, name: digest(files[name] + b"x")}) != root
        assert root_of({one: held for one, held in digests.items() if one != name}) != root
        assert root_of({(one + "d" if one == name else one): held for one, held in digests.items()}) != root


def test_same_contents_same_bytes(whole: bytes, tmp_path: Path) -> None:
    file = tmp_path / "film"
    file.write_bytes(CONTENTS["films/a/rollout.mp4"])
    write_archive(tmp_path / "b.zip", {**dict(reversed(CONTENTS.items())), "films/a/rollout.mp4": file})
    assert (tmp_path / "b.zip").read_bytes() == whole
    assert everything(tmp_path / "b.zip") == CONTENTS


@given(st.data())
@settings(max_examples=60)
def test_a_changed_byte_is_found_or_unread(whole: bytes, tmp_path_factory: object, data: st.DataObject) -> None:
    """Bytes that zip readers ignore, such as a second copy of a time, may change; what is read may not."""
    place = data.draw(st.integers(0, len(whole) - 1))
    bit = data.draw(st.integers(0, 7))
    path = tmp_path_factory.getbasetemp() / "changed.zip"  # type: ignore[attr-defined]
    path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << bit)]) + whole[place + 1 :])
    try:
        found = everything(path)
    except DataError:
        return
    assert found == CONTENTS


@given(st.integers(0, 100))
@settings(max_examples=15)
def test_a_cut_archive_is_one_line(whole: bytes, tmp_path_factory: object, percent: int) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.zip"  # type: ignore[attr-defined]
    path.write_bytes(whole[: (len(whole) - 1) * percent // 100])
    with pytest.raises(DataError, match="get the bundle again"):
        everything(path)


def _one(name: str) -> Callable[[Path], object]:
    return lambda path: zipped(path, {name: b"x"})


def _patch(path: Path, place: int, value: bytes) -> None:
    """Write into the last entry of the table of contents; places below 0 count from the end of the archive."""
    data = bytearray(path.read_bytes())
    at = place + (len(data) if place < 0 else data.rindex(b"PK\x01\x02"))
    data[at : at + len(value)] = value
    path.write_bytes(bytes(data))


def _patched(place: int, value: bytes) -> Callable[[Path], object]:
    return lambda path: _patch(zipped(path, {"a": b"x"}), place, value)


def _lying_size(path: Path) -> None:
    """A table of contents that says 16 bytes of what holds ten million."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, manifest_of({"a.json": b"0" * 16}))
        archive.writestr("a.json", b"0" * 10_000_000)
    _patch(path, 24, struct.pack("<L", 16))


def _overlapping(path: Path) -> None:
    """Three files, of which the table of contents says that all lie where the first one does."""
    files = {f"a{n}.json": b"0" * 1000 for n in range(3)}
    zipped(path, files)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("a0.json").header_offset
        cut = archive.getinfo("a1.json").header_offset - start
    at = len(data)
    for _ in range(2):
        at = data.rindex(b"PK\x01\x02", 0, at)
        struct.pack_into("<L", data, at + 42, start)
    table = data.rindex(b"PK\x01\x02", 0, at)
    table = data.rindex(b"PK\x01\x02", 0, table)
    del data[table - 2 * cut : table]
    struct.pack_into("<L", data, len(data) - 6, table - 2 * cut)
    path.write_bytes(bytes(data))


def _bomb(path: Path) -> None:
    """A hundred files of which each says that it unpacks to 500 MB."""
    files = {f"a{n}.json": b"0" for n in range(100)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, held in {MANIFEST: manifest_of(files), **files}.items():
            archive.writestr(name, held)
    data, at = bytearray(path.read_bytes()), 0
    for at in [n for n in range(len(data)) if data[n : n + 4] == b"PK\x01\x02"][1:]:
        struct.pack_into("<L", data, at + 24, 500 * 2**20)
    path.write_bytes(bytes(data))


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "parent": (_one("../run.json"), "no name of a file"),
    "inner parent": (_one("records/../../x"), "no name of a file"),
    "absolute": (_one("/etc/passwd"), "no name of a file"),
    "drive": (_one("C:\\run.json"), "no name of a file"),
    "folder": (_one("records/"), "no name of a file"),
    "script": (_one("<script>alert(1)</script>"), "no name of a file"),
    "hidden": (_one(".ssh/config"), "no name of a file"),
    "long": (_one("a" * 300), "no name of a file"),
    "control": (_one("a\x1b[2J"), "no name of a file"),
    "link": (lambda path: zipped(path, {"a": b"/etc/passwd"}, mode=0o120777), "link"),
    "device": (lambda path: zipped(path, {"a": b""}, mode=0o020666), "link or a device"),
    "twice": (lambda path: write_plain(path, ("run.json", b"1"), ("run.json", b"2")), "twice"),
    "case": (lambda path: zipped(path, {"a": b"", "A": b""}), "twice"),
    "encrypted": (_patched(8, b"\x01"), "encrypted"),
    "lying size": (_lying_size, "a.json"),
    "huge": (_patched(24, struct.pack("<L", 0xFFFFFFF0)), "size"),
    "many": (_patched(-10, struct.pack("<LL", 0x7FFFFFFF, 0)), "too many"),  # size and place of the table of contents
    "overlapping": (_overlapping, "in one another"),
    "bomb": (_bomb, "would unpack to"),
    "no manifest": (lambda path: write_plain(path, ("run.json", b"{}")), "no bundle of worldgauge"),
    "other format": (lambda path: zipped(path, {}, b'{"format": "zip"}'), "another format"),
    "other version": (lambda path: zipped(path, {}, manifest_of({}, version=2)), "version 2"),
    "odd version": (lambda path: zipped(path, {}, manifest_of({}, version=[1] * 99)), "version"),
    "not JSON": (lambda path: zipped(path, {}, b"{"), "not valid JSON"),
    "deep": (lambda path: zipped(path, {}, b"[" * 100_000), "not valid JSON"),
    "no files": (lambda path: zipped(path, {}, manifest_of({}, files=3, root=7)), "root"),
    "unnamed": (lambda path: zipped(path, {"a": b"", "b": b""}, manifest_of({"a": b""})), "does not name 'b'"),
    "lacking": (lambda path: zipped(path, {"a": b""}, manifest_of({"a": b"", "b": b""})), "lacks 'b'"),
    "no digest": (lambda path: zipped(path, {"a": b""}, manifest_of({"a": b""}, files={"a": {"bytes": 0}})), "digest"),
    "other size": (lambda path: zipped(path, {"a": b"xx"}, manifest_of({"a": b"x"})), "another size"),
    "other root": (lambda path: zipped(path, {"a": b""}, manifest_of({"a": b""}, root="0" * 64)), "changed"),
    "no zip": (lambda path: path.write_bytes(b"<html>" * 50), "no zip archive"),
    "empty": (lambda path: path.write_bytes(b""), "no zip archive"),
    "missing": (lambda path: None, "cannot be read"),
    "a folder": (lambda path: path.mkdir(), "cannot be read"),
}


def write_plain(path: Path, *files: tuple[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, held in files:
            archive.writestr(name, held)


def extract_all(path: Path, out: Path) -> None:
    with Archive(path) as archive:
        for name in archive.files:
            archive.extract(name, out / name)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("how", HOSTILE)
def test_hostile_archives_are_one_line(how: str, tmp_path: Path) -> None:
    make, said = HOSTILE[how]
    path, out = tmp_path / "b.zip", tmp_path / "out"
    make(path)
    with pytest.raises(DataError, match=said) as refused:
        extract_all(path, out)
    assert len(str(refused.value).splitlines()) == 1
    assert "\x1b" not in str(refused.value)
    assert not [left for left in tmp_path.rglob("*") if left not in (path, out) and left.is_file()]


def test_other_contents_under_the_same_manifest(tmp_path: Path) -> None:
    path = zipped(tmp_path / "b.zip", {"a.json": b"[2]"}, manifest_of({"a.json": b"[1]"}))
    with Archive(path) as archive:
        for read in (archive.read, archive.check, lambda name: archive.extract(name, tmp_path / "out" / name)):
            with pytest.raises(DataError, match="not what the manifest names"):
                read("a.json")
    assert not (tmp_path / "out" / "a.json").exists()


@pytest.mark.parametrize(
    ("value", "plain"),
    [("rules@1", True), ("klt-vo?side_px=320", True), (["a", 1, None], True)]
    + [(text, False) for text in ("model@http://x", "cmd:rm", "./a.py:B", "a@b", "x@1/2", "/etc/passwd")],
)
def test_a_setting_with_a_version_is_plain_and_one_that_names_a_program_is_not(value: object, plain: bool) -> None:
    assert _is_plain(value) == plain
