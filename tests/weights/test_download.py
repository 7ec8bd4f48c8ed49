"""Files over the network: whatever the host does, a file has its name only when it is right."""

import errno
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.places import TESTS
from weights.local_host import Answer, LocalHost, sha256, toy_file, toy_set
from worldgauge.core.errors import DataError
from worldgauge.weights import PullError, WeightFile, WeightSet, digest_of, download, opened, pull, standing

DATA = random.Random(5).randbytes(300_000)
Known = Callable[[WeightSet], WeightSet]


def only(folder: Path) -> set[str]:
    """Names in a set's folder, but for those of the lock and the record."""
    return {path.name for path in folder.iterdir()} - {".lock", ".record.json"}


def test_a_set_comes_is_checked_and_recorded(host: LocalHost, known: Known, store: Path) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA), toy_file(host, "b.json", b"{}", bytes=None, sha256="")))
    told: list[tuple[str, int, int]] = []
    pulled = pull("toy", lambda *step: told.append(step))
    assert pulled.brought == ("a.bin", "b.json")
    assert (store / "toy" / "a.bin").read_bytes() == DATA
    assert only(store / "toy") == {"a.bin", "b.json"}
    assert told[-2:] == [("a.bin", len(DATA), len(DATA)), ("b.json", 2, 2)]
    assert [done for name, done, _ in told if name == "a.bin"] == sorted({done for name, done, _ in told[:-1]})
    record = json.loads((store / "toy" / ".record.json").read_text())["files"]
    assert record["b.json"]["sha256"] == sha256(b"{}")
    assert opened("toy").digest == digest_of(store / "toy", ["b.json", "a.bin"])
    assert pull("toy").brought == ()
    assert len(host.asked) == 2
    assert all("Authorization" not in headers for _, headers in host.asked)


@pytest.mark.parametrize("etag", ['"one"', 'W/"one"', ""])
def test_what_was_cut_off_goes_on(host: LocalHost, known: Known, store: Path, etag: str) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA)))
    host.answers["/a.bin"] = Answer(DATA, etag=etag, cuts=[100_000, 50_000])
    pull("toy")
    assert (store / "toy" / "a.bin").read_bytes() == DATA
    assert host.ranges() == ["", "bytes=100000-", "bytes=150000-"]
    assert host.asked[1][1].get("If-Range") == (etag if etag.startswith('"') else None)


def test_hosts_without_ranges_and_prefixes(host: LocalHost, known: Known, store: Path) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA)))
    host.answers["/a.bin"] = Answer(DATA, ranges=False, cuts=[100_000])
    pull("toy")
    assert (store / "toy" / "a.bin").read_bytes() == DATA
    known(toy_set(toy_file(host, "a.bin", DATA, sha256=sha256(DATA)[:8])))
    pull("toy")
    known(toy_set(toy_file(host, "b.bin", DATA, sha256="0badc0de"), name="other"))
    with pytest.raises(DataError, match=r"expected sha256 0badc0de\.\.\., got "):
        pull("other")


@pytest.mark.parametrize("if_range", [True, False])
def test_a_file_that_changes_meanwhile_begins_anew(host: LocalHost, known: Known, store: Path, if_range: bool) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA)))
    host.answers["/a.bin"] = Answer(b"x" * len(DATA), cuts=[100_000, 0, 0, 0])
    with pytest.raises(PullError, match="cut off after 100000 of 300000 bytes; the part that is here is kept"):
        pull("toy")
    assert standing("toy").state == "partial"
    host.answers["/a.bin"] = Answer(DATA, etag='"two"', if_range=if_range)
    pull("toy")
    assert (store / "toy" / "a.bin").read_bytes() == DATA


def test_beginnings_that_are_whole_or_unknown(host: LocalHost, known: Known, store: Path) -> None:
    file = toy_file(host, "a.bin", DATA, bytes=None)
    known(toy_set(file))
    (store / "toy").mkdir(parents=True)
    (store / "toy" / "a.bin.part").write_bytes(DATA)
    note = {"url": file.url, "etag": '"one"', "sha256": ""}
    (store / "toy" / "a.bin.part.json").write_text(json.dumps(note))
    pull("toy")
    assert (host.ranges(), only(store / "toy")) == ([f"bytes={len(DATA)}-"], {"a.bin"})
    known(toy_set(toy_file(host, "a.bin", DATA)))
    (store / "toy" / "a.bin").unlink()
    (store / "toy" / "a.bin.part").write_bytes(b"?" * 1000)
    pull("toy")
    assert (host.ranges()[-1], (store / "toy" / "a.bin").read_bytes()) == ("", DATA)


def test_a_size_that_is_announced_wrongly_is_refused_before_anything_is_taken(
    host: LocalHost, known: Known, store: Path
) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA)))
    host.answers["/a.bin"] = Answer(b"<html>log in</html>")
    with pytest.raises(DataError, match=r"a\.bin: expected 300000 bytes, the host announces 19; nothing was taken"):
        pull("toy")
    assert only(store / "toy") == set()


def test_no_more_is_written_than_was_expected(
    host: LocalHost, known: Known, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA)))
    host.answers["/a.bin"] = Answer(DATA + b"x" * 1_000_000, chunked=True)
    most = 0

    def tell(name: str, done: int, total: int) -> None:
        nonlocal most
        most = max(most, done)

    with pytest.raises(DataError, match="more than the 300000 bytes that were expected; not kept"):
        pull("toy", tell)
    assert 0 < most <= len(DATA)
    assert only(store / "toy") == set()

    known(toy_set(toy_file(host, "b.bin", DATA, bytes=None)))
    monkeypatch.setattr(download, "MOST_UNSTATED_BYTES", 5000)
    host.answers["/b.bin"] = Answer(DATA, chunked=True)
    with pytest.raises(DataError, match="more than the 5000 bytes"):
        pull("toy")
    host.answers["/b.bin"] = Answer(DATA, announce=10**12)
    with pytest.raises(DataError, match="1000000000000 bytes; no more than 20000000000 are taken"):
        pull("toy")


def test_wrong_bytes_are_named_and_not_kept(host: LocalHost, known: Known, store: Path) -> None:
    wrong = DATA[:-1] + bytes([DATA[-1] ^ 1])
    known(toy_set(toy_file(host, "a.bin", DATA)))
    host.answers["/a.bin"] = Answer(wrong)
    with pytest.raises(DataError, match=f"expected sha256 {sha256(DATA)}, got {sha256(wrong)}; not kept"):
        pull("toy")
    assert only(store / "toy") == set()


def test_without_a_published_digest_the_first_copy_counts(host: LocalHost, known: Known, store: Path) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA, bytes=None, sha256="")))
    pull("toy")
    (store / "toy" / "a.bin").unlink()
    host.answers["/a.bin"] = Answer(DATA[::-1], etag='"new"')
    with pytest.raises(DataError, match=f"expected sha256 {sha256(DATA)}, as its first copy was recorded, got"):
        pull("toy")
    host.answers["/a.bin"] = Answer(DATA)
    assert pull("toy").brought == ("a.bin",)
    shutil.rmtree(store / "toy")
    host.answers["/a.bin"] = Answer(DATA[::-1])
    pull("toy")
    assert (store / "toy" / "a.bin").read_bytes() == DATA[::-1]


def test_what_a_hub_says_of_a_large_file_is_held_to(host: LocalHost, known: Known) -> None:
    """Hugging Face gives digest and size where it sends on to the place of a large file."""
    known(toy_set(toy_file(host, "a.bin", DATA, bytes=None, sha256="")))
    host.answers["/blob"] = Answer(DATA, cuts=[100_000], etag="")
    linked = {"Location": "/blob?key=secret", "X-Linked-Etag": f'"{sha256(DATA)}"', "X-Linked-Size": str(len(DATA))}
    host.answers["/blob?key=secret"] = host.answers["/blob"]
    host.answers["/a.bin"] = Answer(statuses=[302] * 9, headers=linked)
    pull("toy")
    assert host.ranges() == ["", "", "bytes=100000-", "bytes=100000-"]

    known(toy_set(toy_file(host, "b.bin", DATA, bytes=None, sha256=""), name="other"))
    host.answers["/b.bin"] = Answer(statuses=[302] * 9, headers=linked)
    host.answers["/blob?key=secret"] = Answer(DATA[::-1])
    with pytest.raises(DataError, match=f"expected sha256 {sha256(DATA)}, got {sha256(DATA[::-1])}"):
        pull("other")
    known(toy_set(toy_file(host, "c.bin", DATA[::-1]), name="third"))
    host.answers["/c.bin"] = Answer(statuses=[302] * 9, headers=linked)
    asked = len(host.asked)
    with pytest.raises(DataError, match="its owner now has"):
        pull("third")
    assert host.asked[asked:][0][0] == "/c.bin"


def test_a_token_goes_to_the_owner_and_to_nobody_else(
    host: LocalHost, known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    known(toy_set(toy_file(host, "a.bin", DATA), gated=True))
    host.answers["/a.bin"] = Answer(statuses=[302], headers={"Location": "/b.bin"})
    host.answers["/b.bin"] = Answer(statuses=[302], headers={"Location": host.url("/c.bin", "localhost")})
    host.answers["/c.bin"] = Answer(DATA)
    pull("toy")
    sent = {path: headers.get("Authorization") for path, headers in host.asked}
    assert sent == {"/a.bin": "Bearer hf_secret", "/b.bin": "Bearer hf_secret", "/c.bin": None}

    known(toy_set(toy_file(host, "open.bin", DATA), name="other"))
    pull("other")
    assert "Authorization" not in host.asked[-1][1]
    monkeypatch.setenv("HF_TOKEN", "two words")
    known(toy_set(toy_file(host, "d.bin", DATA), name="third", gated=True))
    with pytest.raises(PullError, match="HF_TOKEN holds characters that no token has") as error:
        pull("third")
    assert "two" not in str(error.value)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("http://owner.example/a.bin?key=secret", "http://owner.example/a.bin is not https"),
        ("file:///etc/passwd", "is no address"),
        ("ftp://owner.example/a.bin", "is not https"),
        ("https://name:word@owner.example/a.bin", "is no address"),
        ("/a.bin", "more than 5 redirects"),
    ],
)
def test_redirects_lead_only_to_safe_places(host: LocalHost, known: Known, place: str, why: str) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA)))
    host.answers["/a.bin"] = Answer(statuses=[302] * 9, headers={"Location": place})
    with pytest.raises(PullError, match=why) as error:
        pull("toy")
    assert "secret" not in str(error.value)


def test_plain_http_and_silent_hosts(known: Known, host: LocalHost) -> None:
    known(toy_set(WeightFile("a.bin", "http://owner.example/a.bin")))
    with pytest.raises(PullError, match="is not https, so nothing is fetched from there"):
        pull("toy")
    known(toy_set(toy_file(host, "a.bin", DATA)))
    host.close()
    with pytest.raises(PullError, match=r"no connection \(.*\)\. Where .*: worldgauge weights pull --from FOLDER"):
        pull("toy")


def test_refusals_say_what_to_do(host: LocalHost, known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA), gated=True))
    accept = "accept the Toy License at https://owner.example/toy with an account, then set HF_TOKEN"
    host.answers["/a.bin"] = Answer(statuses=[401] * 9)
    with pytest.raises(PullError, match=rf"'toy': its host asks who you are \(401 Unauthorized\): {accept}"):
        pull("toy")
    assert len(host.asked) == 1
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    host.answers["/a.bin"] = Answer(statuses=[403] * 9)
    with pytest.raises(PullError, match=r"refuses the token in HF_TOKEN \(403 Forbidden\)") as error:
        pull("toy")
    assert "hf_secret" not in str(error.value)
    host.answers["/a.bin"] = Answer(statuses=[404])
    with pytest.raises(
        PullError, match=r"is no longer there \(404 Not Found\); see https://owner.example/toy\. A copy"
    ):
        pull("toy")
    known(toy_set(toy_file(host, "a.bin", DATA)))
    host.answers["/a.bin"] = Answer(statuses=[403])
    with pytest.raises(PullError, match="answered 403 Forbidden; see"):
        pull("toy")
    host.answers["/a.bin"] = Answer(DATA, headers={"Content-Encoding": "gzip"})
    with pytest.raises(PullError, match="packs what it sends"):
        pull("toy")


def test_a_busy_host_is_asked_again(host: LocalHost, known: Known, store: Path) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA)))
    host.answers["/a.bin"] = Answer(DATA, statuses=[503, 429, 500])
    pull("toy")
    assert len(host.asked) == 4
    (store / "toy" / "a.bin").unlink()
    host.answers["/a.bin"] = Answer(DATA, statuses=[503] * 9)
    with pytest.raises(PullError, match=r"503 Service Unavailable\. Where there is no network"):
        pull("toy")
    assert len(host.asked) == 8


def test_offline_nothing_is_asked(host: LocalHost, known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA)))
    monkeypatch.setenv("WORLDGAUGE_OFFLINE", "1")
    with pytest.raises(PullError, match="WORLDGAUGE_OFFLINE is set, so nothing is fetched"):
        pull("toy")
    assert host.asked == []
    monkeypatch.setenv("WORLDGAUGE_OFFLINE", "0")
    pull("toy")


def test_a_full_disk_is_no_trouble_of_the_network(
    host: LocalHost, known: Known, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA)))
    with monkeypatch.context() as patch:
        usage = namedtuple("usage", "total used free")
        patch.setattr(download.shutil, "disk_usage", lambda place: usage(9, 9, 1000))
        with pytest.raises(PullError, match="300000 bytes are to come and 1000 are free"):
            pull("toy")
    with monkeypatch.context() as patch:
        patch.setattr(download.PartialDownload, "open", lambda self, start, version: _Full())
        with pytest.raises(PullError, match=r"a\.bin\.part: the disk is full; the part that is here is kept"):
            pull("toy")
    assert len(host.asked) == 2
    pull("toy")


class _Full:
    def __enter__(self) -> "_Full":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def write(self, block: bytes) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_two_pulls_at_once_bring_one_file(host: LocalHost, known: Known, store: Path) -> None:
    known(toy_set(toy_file(host, "a.bin", DATA)))
    host.answers["/a.bin"].pause_s = 0.002
    brought: list[tuple[str, ...]] = []
    threads = [threading.Thread(target=lambda: brought.append(pull("toy").brought)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sorted(brought), len(host.asked)) == ([(), (), ("a.bin",)], 1)
    assert hashlib.sha256((store / "toy" / "a.bin").read_bytes()).hexdigest() == sha256(DATA)


PULL = """
import sys
from worldgauge.weights import WeightFile, catalogue, pull
from weights.local_host import toy_set
catalogue["toy"] = toy_set(WeightFile("a.bin", sys.argv[1], int(sys.argv[2]), sys.argv[3]))
pull("toy")
"""


def test_after_a_kill_it_goes_on(host: LocalHost, known: Known, store: Path) -> None:
    file = toy_file(host, "a.bin", DATA)
    known(toy_set(file))
    host.answers["/a.bin"].pause_s = 0.02
    words = [sys.executable, "-c", PULL, file.url, str(len(DATA)), sha256(DATA)]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    process = subprocess.Popen(words, env=environment)
    part = store / "toy" / "a.bin.part"
    until = time.monotonic() + 60
    while not (part.is_file() and part.stat().st_size > 0):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    came = part.stat().st_size
    assert 0 < came < len(DATA)
    assert standing("toy").state == "partial"
    assert not (store / "toy" / "a.bin").exists()
    host.answers["/a.bin"].pause_s = 0.0
    pull("toy")
    assert (host.ranges(), (store / "toy" / "a.bin").read_bytes()) == (["", f"bytes={came}-"], DATA)
    assert only(store / "toy") == {"a.bin"}
