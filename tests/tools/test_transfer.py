"""Data on the way: pushed and pulled through real file systems, interrupted, tampered with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("fsspec", reason="extra remote")

from support.canary import CANARY, LOGIN, holding, plant, tells
from support.commands import command
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import digest_of
from worldgauge.tools import transfer as indexes
from worldgauge.tools import transfer_remote as remote
from worldgauge.tools.transfer import pull, push, read_index

pulling = sys.modules["worldgauge.tools.transfer"]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "WAITS_S", (0.0,))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    root = tmp_path / "data"
    for name, content in {
        "README.md": b"# card",
        "LICENSE": b"free",
        "spin/worldgauge.json": b"{}",
        "spin/walks/a/states.json": b"[1, 2]",
        "spin/walks/-a.json": b"[3]",  # as MIND names the keys of a walk
        "spin/walks/a/video.mp4": bytes(range(256)) * 9000,
        "spin/walks/b/video.mp4": bytes(range(255)) * 7000,
        "spin/walks/c/video.mp4": bytes(range(255)) * 7000,
        "spin/.hidden": b"no",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def contents(root: Path) -> dict[str, bytes]:
    files = {path.relative_to(root): path for path in root.rglob("*") if path.is_file()}
    return {
        name.as_posix(): path.read_bytes() for name, path in files.items() if not any(p[0] == "." for p in name.parts)
    }


@pytest.fixture(params=["folder", "memory", "s3"])
def address(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "folder":
        return str(tmp_path / "place")
    if request.param == "memory":
        return f"memory://{tmp_path.name}"
    url = request.getfixturevalue("s3")  # first: it skips where there is none
    import fsspec
    import s3fs

    options = {"endpoint_url": url, "key": "k", "secret": "s"}
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setitem(fsspec.config.conf, "s3", options)
    s3fs.S3FileSystem.clear_instance_cache()
    bucket = f"bucket-{digest_of(str(tmp_path))[:12]}"
    s3fs.S3FileSystem(**options).mkdir(bucket)
    return f"s3://{bucket}/sets/toy"


def test_what_was_pushed_comes_back(data: Path, address: str, tmp_path: Path) -> None:
    there = push(data, address)
    assert there.sent == 3  # a Parquet file, and two videos that differ
    back = pull(address, tmp_path / "back")
    assert contents(tmp_path / "back") == contents(data)
    assert (back.root, back.files, back.bytes) == (there.root, 8, there.bytes)
    assert push(data, address).sent == 0
    assert pull(address, tmp_path / "back").sent == 0
    (tmp_path / "back/spin/walks/a/states.json").write_bytes(b"[9, 9]")  # what was changed here is brought again
    assert pull(address, tmp_path / "back").sent == 1
    assert contents(tmp_path / "back") == contents(data)


@pytest.mark.parametrize("kind", ["data", "videos"])
def test_what_was_damaged_at_the_place_is_mended(data: Path, address: str, tmp_path: Path, kind: str) -> None:
    import fsspec

    push(data, address)
    files, base = fsspec.core.url_to_fs(address)
    (victim, *_) = sorted(files.ls(f"{base}/{kind}", detail=False))
    whole = files.cat_file(victim)
    files.pipe_file(victim, bytes([whole[0] ^ 1]) + whole[1:])
    with pytest.raises(DataError, match="not what the index says; push the data set again, with --check"):
        pull(address, tmp_path / "back")
    assert push(data, address).sent == 0  # its name and size are right
    assert push(data, address, check=True).sent == 1
    pull(address, tmp_path / "back")
    assert contents(tmp_path / "back") == contents(data)
    assert push(data, address, check=True).sent == 0


def test_an_interrupted_push_goes_on(data: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    send = remote.Remote.send

    def failing(self: Any, sources: Mapping[str, Path]) -> None:
        if len(sent) == 1:
            raise DataError("the network is gone")
        sent.extend(sources)
        send(self, sources)

    monkeypatch.setattr(remote.Remote, "send", failing)
    with pytest.raises(DataError, match="the network is gone"):
        push(data, address)
    with pytest.raises(DataError, match=r"index.json: not there; the address is wrong, or the push is not finished"):
        pull(address, tmp_path / "back")
    monkeypatch.setattr(remote.Remote, "send", send)
    assert push(data, address).sent == 2
    pull(address, tmp_path / "back")
    assert contents(tmp_path / "back") == contents(data)


def test_a_pull_resumes_within_a_file(
    data: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(data, address)
    copied = []

    def failing(file: Any, out: Any, left: int) -> None:
        copied.append(left)
        out.write(file.read(left // 2))
        raise ConnectionResetError("reset by peer")

    with monkeypatch.context() as patch:
        patch.setattr(remote, "_copy", failing)
        with pytest.raises(DataError, match="reset by peer; start the same command again, it goes on from here"):
            pull(address, tmp_path / "back")
    assert copied[1] == copied[0] - copied[0] // 2  # the second attempt asked for the rest only
    assert not contents(tmp_path / "back")
    assert pull(address, tmp_path / "back").sent == 3
    assert contents(tmp_path / "back") == contents(data)


@pytest.fixture
def published(tmp_path: Path) -> dict[str, bytes]:
    """Files as others publish them, in the layout of the videos of Target-Bench."""
    names = [f"{model}/sample_{n}_custom_segment_000_049.mp4" for model in ("gt_video", "odd 2.5") for n in (83, 96)]
    return {name: name.encode() * 20_000 for name in names} | {"README.md": b"# card", ".gitattributes": b"*.mp4 lfs"}


def publish(files: Mapping[str, bytes], address: str) -> Any:
    import fsspec

    place, base = fsspec.core.url_to_fs(address)
    for name, content in files.items():
        place.makedirs(f"{base}/{name}".rpartition("/")[0], exist_ok=True)
        place.pipe_file(f"{base}/{name}", content)
    return place, base


def test_files_that_others_published_come_with_a_manifest(
    published: dict[str, bytes], address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(published, address)
    shown = {Path(name): content for name, content in published.items() if name != ".gitattributes"}
    out, copied = tmp_path / "wm_videos", []

    def failing(file: Any, part: Any, left: int) -> None:
        copied.append(left)
        part.write(file.read(left // 2))
        raise ConnectionResetError("reset by peer")

    with monkeypatch.context() as patch:
        patch.setattr(remote, "_copy", failing)
        with pytest.raises(DataError, match="reset by peer; start the same command again, it goes on from here"):
            pull(address, out)
    assert copied[1] == copied[0] - copied[0] // 2
    assert not contents(out)
    first = pull(address, out)
    assert contents(out) == {name.as_posix(): content for name, content in shown.items()}
    assert (first.files, first.bytes, first.sent) == (5, sum(map(len, shown.values())), 5)
    manifest = json.loads((out / ".pulled.json").read_text())
    assert manifest == {"address": address, "files": {str(name): digest_of(data) for name, data in shown.items()}}
    assert pull(address, out).sent == 0
    damaged = next(name for name in shown if name.suffix == ".mp4")
    (out / damaged).write_bytes(b"x" * len(shown[damaged]))  # of the same size: the manifest has its digest
    assert (pull(address, out).sent, (out / damaged).read_bytes()) == (1, shown[damaged])
    assert pull(address, out).root == first.root


@pytest.mark.parametrize("name", ["b/c\\d.mp4", "wälder.mp4", "-" * 301, "A"])
def test_published_names_that_a_folder_may_not_hold_are_refused(name: str, tmp_path: Path) -> None:
    publish({"a": b"1", name: b"2"}, f"memory://{tmp_path.name}")
    with pytest.raises(DataError, match="has no plain name or usable size, or comes twice"):
        pull(f"memory://{tmp_path.name}", tmp_path / "out")
    assert not (tmp_path / "out").exists()


DIGEST = digest_of(b"x")


LOOSE = f"videos/{DIGEST}"
ELSEWHERE = ("../x", "/etc/x", "a/../../x", "a//b", ".ssh/keys", "a/.x", "a\\b", "x\n", "C:/x", "a" * 301)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        *(([[path, DIGEST, 1, LOOSE]], "not one of plain names") for path in ELSEWHERE),
        ([["a", DIGEST, 1, "videos/../../x"]], "no name of a file there"),
        ([["a", DIGEST, 1, "data/part-00000-0000000000000000.parquet"]], "no name of a file there"),
        ([["a", DIGEST, 1, f"videos/{digest_of(b'y')}"]], "no name of a file there"),
        ([["a", "0", 1, LOOSE]], "no usable digest"),
        ([["a", DIGEST, -1, LOOSE]], "no usable digest or size"),
        ([["a", DIGEST, 1 << 60, LOOSE]], "no usable digest or size"),
        ([["a", DIGEST, "1", LOOSE]], "damaged"),
        ([["a", DIGEST, True, LOOSE]], "damaged"),
        ([[]], "damaged"),
        ([7], "damaged"),
        ([["a", DIGEST, 1, LOOSE], ["A", DIGEST, 1, LOOSE]], "comes twice"),
    ],
)
def test_rows_that_no_push_writes_are_refused(rows: list[Any], words: str) -> None:
    content = {"format": indexes.FORMAT, "version": indexes.VERSION, "root": "", "parts": [], "files": rows}
    with pytest.raises(DataError, match=words):
        read_index(json.dumps(content).encode(), "there")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{}", "not the index"),
        (b"[]", "not the index"),
        (b'{"format": "worldgauge-data", "version": 9}', "update worldgauge"),
        (b'{"format": "worldgauge-data", "version": 1, "parts": [], "files": [], "root": "0"}', "do not follow"),
        (b"{", "there"),
    ],
)
def test_another_index_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_index(content, "there")


def test_a_link_in_the_folder_leads_nowhere(data: Path, tmp_path: Path) -> None:
    push(data, str(tmp_path / "place"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "spin").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="a link that leads out"):
        pull(str(tmp_path / "place"), tmp_path / "back")
    assert not list((tmp_path / "elsewhere").iterdir())
    # The Parquet file is one that others read.
    rows = pd.read_parquet(next((tmp_path / "place" / "data").iterdir())).set_index("path")
    assert rows.loc["spin/walks/a/states.json", "content"] == b"[1, 2]"
    assert rows.loc["LICENSE", "sha256"] == digest_of(b"free")
    assert (tmp_path / "place" / "README.md").read_bytes() == b"# card"


def test_what_cannot_be_pushed_is_one_line(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        push(Path("."), "nowhere://x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no files"):
        push(tmp_path / "empty", str(tmp_path / "place"))
    (data / "spin" / "wälder.json").write_bytes(b"x")
    with pytest.raises(DataError, match=r"wälder.json'; give it a plain one. Nothing was pushed"):
        push(data, str(tmp_path / "place"))
    assert not (tmp_path / "place").exists()


def lie(place: Path, content: bytes, rows: int, claimed: int) -> None:
    """A place whose one Parquet file repeats a content, which Parquet stores once."""
    import pyarrow
    import pyarrow.parquet

    names = [f"f{n:04d}" for n in range(rows)]
    indices = pyarrow.array([0] * rows, pyarrow.int32())
    column = pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array([content], pyarrow.large_binary()))
    table = pyarrow.table({"path": names, "content": column})
    made = place / "part.parquet"
    place.mkdir(parents=True)
    pyarrow.parquet.write_table(table, made, dictionary_pagesize_limit=1 << 30, compression="zstd", store_schema=False)
    digest = digest_of(made.read_bytes())
    part = indexes.TransferPart(f"data/part-00000-{digest[:16]}.parquet", digest, made.stat().st_size)
    (place / "data").mkdir()
    made.rename(place / part.name)
    files = tuple(indexes.Held(name, digest_of(b"x"), claimed, part.name) for name in names)
    (place / "index.json").write_bytes(indexes.Index(files, (part,)).to_bytes())


PULLED = """
import re, sys
from pathlib import Path
import pyarrow.parquet
from worldgauge.core.errors import DataError
from worldgauge.tools.transfer import pull

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10

before = peak()
try:
    pull(sys.argv[1], Path(sys.argv[2]))
except DataError as error:
    print(error)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_part_that_repeats_a_large_content_takes_no_memory(tmp_path: Path) -> None:
    lie(tmp_path / "place", bytes(4 << 20), rows=100, claimed=1)  # 400 MB, if all rows were read at once
    command = [sys.executable, "-c", PULLED, str(tmp_path / "place"), str(tmp_path / "out")]
    said, grown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "not what the index says" in said
    assert int(grown) < 150
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file() and ".pull" not in path.parts]


def test_a_part_of_too_many_bytes_or_other_rows_is_refused(tmp_path: Path) -> None:
    lie(tmp_path / "large", b"x", rows=3, claimed=100 << 20)
    with pytest.raises(DataError, match="the limit is"):
        pull(str(tmp_path / "large"), tmp_path / "out")
    lie(tmp_path / "rows", b"x", rows=3, claimed=1)
    content = json.loads((tmp_path / "rows" / "index.json").read_bytes())
    files = tuple(indexes.Held(*row) for row in content["files"][:2])
    parts = tuple(indexes.TransferPart(*row) for row in content["parts"])
    (tmp_path / "rows" / "index.json").write_bytes(indexes.Index(files, parts).to_bytes())
    with pytest.raises(DataError, match="holds 3 files, not 2"):
        pull(str(tmp_path / "rows"), tmp_path / "out")
    assert not (tmp_path / "out" / "f0000").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("file systems can only be made by root on Linux")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_pull_without_room_is_refused_before_anything_comes(data: Path, small_disk: Path, tmp_path: Path) -> None:
    push(data, str(tmp_path / "place"))
    with pytest.raises(DataError, match=r"0\.01 GB are still to come, and 0\.00 GB are free.*Nothing was pulled"):
        pull(str(tmp_path / "place"), small_disk / "new" / "back")
    assert not list(small_disk.iterdir())


def test_a_disk_that_fills_up_is_one_line_and_the_pull_goes_on(
    data: Path, small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(data, str(tmp_path / "place"))
    attempts = []
    monkeypatch.setattr(pulling, "_check_room", lambda *_: None)  # as where others write to the disk meanwhile
    monkeypatch.setattr(remote.time, "sleep", attempts.append)
    with pytest.raises(DataError, match=r"the disk is full\); make room, then start the same command again") as caught:
        pull(str(tmp_path / "place"), small_disk / "back")
    assert "\n" not in str(caught.value)
    assert not attempts, "waiting makes no room"
    subprocess.run(["mount", "-o", "remount,size=20m", small_disk], check=True)
    pull(str(tmp_path / "place"), small_disk / "back")
    assert contents(small_disk / "back") == contents(data)


def test_what_a_place_repeats_of_secrets_is_not_told(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import fsspec.implementations.memory

    def refuse(*_: object, **__: object) -> None:
        raise OSError(f"GET {LOGIN}/x with the key {CANARY}")

    plant(monkeypatch)
    for name in ("ls", "open"):
        monkeypatch.setattr(fsspec.implementations.memory.MemoryFileSystem, name, refuse)
    for act in (lambda: push(data, "memory://x"), lambda: pull("memory://x", tmp_path / "back")):
        with pytest.raises(DataError, match="GET http") as caught:
            act()
        assert not tells(str(caught.value) + caplog.text)


def test_keys_of_the_environment_reach_no_bucket_and_no_file(
    data: Path, s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import s3fs

    plant(monkeypatch)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3)
    s3fs.S3FileSystem.clear_instance_cache()
    there = s3fs.S3FileSystem()
    there.mkdir("canaries")
    told = ""
    for words, ending in (
        (("push", data, "s3://canaries/set"), 0),
        (("pull", "s3://canaries/set", "--out", "back"), 0),
        (("pull", "s3://canaries/none", "--out", "none"), 2),
    ):
        done = command(tmp_path, "data", *words)
        assert done.returncode == ending, done.stderr
        told += done.stdout + done.stderr
    found = there.find("canaries")
    assert len(found) == 6
    for number, path in enumerate(found):
        (tmp_path / f"seen-{number}").write_bytes(there.cat_file(path))
    assert not holding(tmp_path)
    assert not tells(told + caplog.text)
