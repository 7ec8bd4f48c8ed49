"""Answers that are kept: what is asked again and what is not, and that nothing on the disk can spoil one."""

import json
import os
import struct
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.places import TESTS
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.perception import cache
from worldgauge.perception.cache import Packs, cached, cached_rows

IDENTITY = {"network": "sums", "version": 1, "weights": "ab" * 32, "precision": "float32"}
LIMIT = 10**9
Arrays = Mapping[str, np.ndarray]


class Network:
    """Answers row by row, and remembers how many rows it was asked at a time."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, arrays: Arrays) -> dict[str, np.ndarray]:
        x = arrays["x"]
        self.asked.append(len(x))
        return {
            "sums": x.sum((1, 2), dtype=np.float64),
            "halves": (x / 2).astype(np.float16),
            "bright": x > 0,
            "counts": (x > 0).sum((1, 2)).astype(np.uint8),
        }


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path))
    monkeypatch.delenv("WORLDGAUGE_CACHE_GB", raising=False)
    cache._open.clear()
    yield tmp_path / "answers"
    cache._open.clear()


@pytest.fixture
def network() -> Network:
    return Network()


def rows(*seeds: int) -> np.ndarray:
    return np.stack([np.random.default_rng(seed).normal(size=(3, 4)).astype(np.float32) for seed in seeds])


def ask(network: Network, *seeds: int, **more: Any) -> dict[str, np.ndarray]:
    return cached_rows(IDENTITY | more, {"x": rows(*seeds)}, network)


def same(got: Arrays, expected: Arrays) -> bool:
    def facts(arrays: Arrays) -> Any:
        return [(name, each.dtype, each.shape, each.tobytes()) for name, each in arrays.items()]

    return facts(got) == facts(expected)


def as_new() -> None:
    """Forget what this process knows, as another process does not know it."""
    cache._open.clear()


def packs(root: Path) -> list[Path]:
    return sorted(root.glob("*/*.pack"), key=lambda path: path.stat().st_mtime_ns)


def test_only_unknown_rows_are_computed_and_once(network: Network) -> None:
    assert same(ask(network, 1, 2, 3), Network()({"x": rows(1, 2, 3)}))
    assert same(ask(network, 3, 1), Network()({"x": rows(3, 1)}))
    assert same(ask(network, 4, 2, 4, 5, 1, 5), Network()({"x": rows(4, 2, 4, 5, 1, 5)}))
    as_new()
    assert same(ask(network, 5, 4, 3, 2, 1), Network()({"x": rows(5, 4, 3, 2, 1)}))
    assert network.asked == [3, 2]
    assert same(ask(network, 7, 7, 7), Network()({"x": rows(7, 7, 7)}))
    assert network.asked == [3, 2, 1]
    assert same(cached_rows(IDENTITY, {"x": rows(1)[:0]}, network), Network()({"x": rows(1)[:0]}))
    for _ in range(2):
        answer = ask(network, 8, 9)
        answer["sums"][:] = 0
    assert same(ask(network, 8, 9), Network()({"x": rows(8, 9)}))


def test_whatever_decides_an_answer_tells_rows_apart(network: Network) -> None:
    x = rows(1)
    ask(network, 1)
    ask(network, 1, version=2)
    ask(network, 1, weights="cd" * 32)
    for array in (x.astype(np.float64), x.reshape(1, 4, 3), x * np.float32(1 + 2**-23)):
        cached_rows(IDENTITY, {"x": array}, network)
    cached_rows(IDENTITY, {"x": x, "y": x}, network)
    cached_rows(IDENTITY, {"y": x, "x": x}, network)  # known: names, not their order
    cached_rows(IDENTITY, {"x": np.asfortranarray(x)}, network)  # known: values, not how they lie
    assert network.asked == [1] * 7


def test_answers_of_no_rows() -> None:
    made: list[int] = []

    def make() -> dict[str, np.ndarray]:
        made.append(1)
        return {"masks": np.arange(12).reshape(2, 2, 3) % 2 == 0, "count": np.array(2), "none": np.zeros((0, 4))}

    for content in (b"a frame", b"a frame", "a frame", b"another"):
        assert same(cached(IDENTITY, content, make), make())
    as_new()
    for _ in range(2):
        known = cached(IDENTITY, "a frame", make)
        assert same(known, make())
        known["masks"][:] = True
    cached(IDENTITY | {"prompt": "tree"}, b"a frame", make)
    assert len(made) - 6 == 3


def test_rows_as_wide_as_their_company_are_asked_together() -> None:
    def padded(arrays: Arrays) -> dict[str, np.ndarray]:
        lengths = arrays["n"]
        return {"found": np.where(np.arange(lengths.max()) < lengths[:, None], 1.0, np.nan)}

    for given in ([1, 2], [3], [1, 2, 3], [2, 1]):
        n = np.array(given)
        assert same(cached_rows(IDENTITY, {"n": n}, padded), padded({"n": n}))


def test_what_is_no_array_of_rows_is_refused(network: Network) -> None:
    for wrong in ({"x": rows(1, 2), "y": rows(1)}, {"x": np.array(1.0)}, {"x": np.array([object()])}, {}):
        with pytest.raises(ShapeError, match="arrays"):
            cached_rows(IDENTITY, wrong, network)
    with pytest.raises(ShapeError, match="answered 1 rows to 2"):
        cached_rows(IDENTITY, {"x": rows(1, 2)}, lambda arrays: {"sums": np.zeros(1)})
    with pytest.raises(ShapeError, match="answers: 'words'"):
        cached(IDENTITY, b"x", lambda: {"words": np.array(["a"])})


def test_off(root: Path, network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("WORLDGAUGE_CACHE", "off"), ("WORLDGAUGE_CACHE_GB", "0")):
        with monkeypatch.context() as now:
            now.setenv(name, value)
            ask(network, 1)
            ask(network, 1)
    assert network.asked == [1] * 4
    assert not root.exists()
    for wrong in ("much", "-1", "nan", "inf"):
        monkeypatch.setenv("WORLDGAUGE_CACHE_GB", wrong)
        with pytest.raises(UsageError, match="WORLDGAUGE_CACHE_GB"):
            ask(network, 1)


def test_many_answers_are_one_file(root: Path, network: Network) -> None:
    for seed in range(100):
        ask(network, seed)
    assert len(packs(root)) == 1
    as_new()
    ask(network, *range(100))
    assert network.asked == [1] * 100


def known_after(pack: Path, data: bytes, keys: list[bytes]) -> list[bool]:
    """Which of `keys` are known where `pack` is `data`; what is known is what was written."""
    pack.write_bytes(data)
    found = Packs(pack.parent, LIMIT).read(keys)
    assert all(same(found[key], answer(i)) for i, key in enumerate(keys) if key in found)
    return [key in found for key in keys]


def answer(i: int) -> dict[str, np.ndarray]:
    return {"sums": np.full((2, 2), i, np.float32), "count": np.array(i, np.int64)}


@pytest.fixture
def three(tmp_path: Path) -> tuple[Path, list[bytes]]:
    """A pack of three answers, and their keys."""
    keys = [bytes([i]) * 32 for i in range(3)]
    Packs(tmp_path / "three", LIMIT).write({key: answer(i) for i, key in enumerate(keys)})
    (pack,) = (tmp_path / "three").iterdir()
    return pack, keys


def test_a_pack_cut_anywhere_gives_what_is_whole(three: tuple[Path, list[bytes]]) -> None:
    whole = three[0].read_bytes()
    for length in range(len(whole) + 1):
        n = 3 * length // len(whole)
        assert known_after(three[0], whole[:length], three[1]) == [i < n for i in range(3)], length


def test_damage_spoils_one_answer_at_most(three: tuple[Path, list[bytes]]) -> None:
    whole = three[0].read_bytes()
    for place in range(len(whole)):
        data = whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :]
        hit = 3 * place // len(whole)
        assert known_after(three[0], data, three[1]) == [i != hit for i in range(3)], place


def test_what_is_damaged_or_torn_is_asked_and_kept_anew(root: Path, network: Network) -> None:
    ask(network, 1, 2)
    (pack,) = packs(root)
    whole = bytearray(pack.read_bytes())
    whole[-20] ^= 1
    for data in (whole, whole[:-30]):
        pack.write_bytes(data)
        as_new()
        network.asked.clear()
        for _ in range(2):
            assert same(ask(network, 1, 2), Network()({"x": rows(1, 2)}))
        as_new()
        ask(network, 1, 2)
        assert network.asked == [1]
        for other in set(packs(root)) - {pack}:
            other.unlink()


@pytest.mark.parametrize(
    "header",
    [
        b"no json",
        b"[" * 60_000,
        b"{}",
        b"[[1]]",
        b'[["sums", "|O8", [1]]]',
        b'[["sums", "<f8", [99999999999999]]]',
        b'[["sums", "<f8", [-1]]]',
        b'[["sums", "<f8", []], ["sums", "<f8", [1]]]',
    ],
)
def test_a_record_that_says_nonsense_is_no_answer(root: Path, network: Network, header: bytes) -> None:
    ask(network, 1)
    (pack,) = packs(root)
    key = pack.read_bytes()[4:36]
    start = struct.pack("<4s32sIQ", b"WGA\x01", key, len(header), 8)
    body = header + bytes(8)
    pack.write_bytes(start + struct.pack("<I", zlib.crc32(start)) + body + struct.pack("<I", zlib.crc32(body)))
    as_new()
    assert same(ask(network, 1), Network()({"x": rows(1)}))
    assert network.asked == [1, 1]


def test_a_record_that_claims_to_be_huge_takes_no_memory(
    three: tuple[Path, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pack, keys = three
    monkeypatch.setattr(cache, "PACK_BYTES", 20 << 20)
    start = struct.pack("<4s32sIQ", b"WGA\x01", keys[0], 8, 30 << 20)
    with pack.open("wb") as file:
        file.write(start + struct.pack("<I", zlib.crc32(start)))
        file.truncate(31 << 20)  # of holes
    tracemalloc.start()
    try:
        assert Packs(pack.parent, LIMIT).read(keys) == {}
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


WRITER = """
import sys, json, numpy as np
from worldgauge.perception.cache import cached_rows
identity, seeds = json.loads(sys.argv[1]), json.loads(sys.argv[2])
sys.path.insert(0, sys.argv[3])
from perception.test_cache import Network, rows
for seed in seeds:
    cached_rows(identity, {"x": rows(seed)}, Network())
    print(seed, flush=True)
sys.stdin.read()
"""


def writer(*seeds: int) -> subprocess.Popen[str]:
    tests = str(TESTS)
    command = [sys.executable, "-c", WRITER, json.dumps(IDENTITY), json.dumps(seeds), tests]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_processes_write_at_once_and_read_each_other(root: Path, network: Network) -> None:
    others = [writer(*range(50)), writer(*range(25, 75))]
    ask(network, 100)  # looks before they have written
    for other in others:
        assert other.stdout is not None
        assert [next(other.stdout) for _ in range(50)]
    assert same(ask(network, *range(75), 100), Network()({"x": rows(*range(75), 100)}))
    assert (network.asked, len(packs(root))) == ([1], 3)
    for other in others:
        other.communicate("")
        assert other.returncode == 0


def test_what_others_append_later_is_found(tmp_path: Path) -> None:
    ours, theirs = (Packs(tmp_path / "who", LIMIT) for _ in range(2))
    for i in range(3):
        key = bytes([i]) * 32
        assert ours.read([key]) == {}
        theirs.write({key: answer(i)})
        assert same(ours.read([key])[key], answer(i))
        assert len(ours._index[key]) == len(theirs._index[key]) == 1  # looked through once
    assert len(list((tmp_path / "who").iterdir())) == 1


def test_what_another_is_writing_is_found_when_it_is_written(three: tuple[Path, list[bytes]]) -> None:
    pack, keys = three
    whole = pack.read_bytes()
    ours = Packs(pack.parent, LIMIT)
    for length in (len(whole) // 3 + 70, len(whole) - 9):
        pack.write_bytes(whole[:length])
        assert ours.read(keys).keys() == set(keys[: 3 * length // len(whole)])
    pack.write_bytes(whole)
    assert ours.read(keys).keys() == set(keys)


def test_of_two_that_asked_the_same_the_whole_answer_is_taken(three: tuple[Path, list[bytes]]) -> None:
    pack, keys = three
    whole = pack.read_bytes()
    damaged = whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:]
    pack.unlink()
    for contents in ((whole, damaged), (damaged, whole)):
        for name, content in zip(("one.pack", "two.pack"), contents, strict=True):
            (pack.parent / name).write_bytes(content)
        packs = Packs(pack.parent, LIMIT)
        assert packs.read(keys).keys() == set(keys)
        (pack.parent / "two.pack").unlink()
        assert packs.read(keys).keys() == set(keys[: 3 if contents[0] is whole else 2])


def test_a_fork_writes_to_a_pack_of_its_own(root: Path, network: Network) -> None:
    ask(network, 1)
    child = os.fork()
    if child == 0:
        ask(network, 2)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    ask(network, 3, 2)
    assert (network.asked, len(packs(root))) == ([1, 1], 2)


def test_the_oldest_go_first(root: Path, network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    record = 4 * 1000 + 200
    monkeypatch.setenv("WORLDGAUGE_CACHE_GB", str(40 * record / 1e9))

    def wide(seed: int) -> None:
        for identity in (IDENTITY, IDENTITY | {"version": 2}):  # one limit for all networks
            x = np.random.default_rng(seed).normal(size=(1, 1000)).astype(np.float32)
            cached_rows(identity, {"x": x}, lambda arrays: network.asked.append(1) or dict(arrays))

    for seed in range(100):
        wide(seed)
        assert sum(path.stat().st_size for path in packs(root)) <= 44 * record
    assert sum(path.stat().st_size for path in packs(root)) > 20 * record
    network.asked.clear()
    wide(99)
    assert network.asked == []
    wide(0)
    assert network.asked == [1, 1]


def test_an_answer_too_large_is_not_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE_GB", "1e-6")
    asked = []
    for _ in range(2):
        cached(IDENTITY, b"x", lambda: asked.append(1) or {"mask": np.zeros(1000)})
    assert (len(asked), packs(root)) == (2, [])


def test_a_cache_that_goes_away_is_done_without(root: Path, network: Network) -> None:
    ask(network, 1)
    for pack in packs(root):
        pack.unlink()
        pack.parent.rmdir()
    assert same(ask(network, 1, 2), Network()({"x": rows(1, 2)}))
    as_new()
    assert same(ask(network, 1, 2), Network()({"x": rows(1, 2)}))


def test_a_place_that_cannot_be_written_is_done_without(root: Path, network: Network) -> None:
    root.write_text("a file where the folder should be")
    for _ in range(2):
        assert same(ask(network, 1), Network()({"x": rows(1)}))
    assert network.asked == [1, 1]


def test_a_full_disk_is_done_without(root: Path, network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(network, 1)
    (pack,) = packs(root)
    before = pack.read_bytes()
    opened: Callable[..., Any] = Path.open
    tries = []

    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def __enter__(self) -> "Full":
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: bytes) -> int:
            tries.append(1)
            self.file.write(data[:10])
            raise OSError(28, "No space left on device")

    def full(path: Path, mode: str = "r", *rest: Any) -> Any:
        file = opened(path, mode, *rest)
        return Full(file) if "a" in mode else file

    monkeypatch.setattr(Path, "open", full)
    for _ in range(2):
        assert same(ask(network, 1, 2), Network()({"x": rows(1, 2)}))
    assert (network.asked, tries, pack.read_bytes()) == ([1, 1, 1], [1], before)


def test_a_pack_does_not_outgrow_what_is_read(monkeypatch: pytest.MonkeyPatch, root: Path, network: Network) -> None:
    monkeypatch.setattr(cache, "PACK_BYTES", 1000)
    for seed in range(20):
        ask(network, seed)
    assert len(packs(root)) > 3
    as_new()
    ask(network, *range(20))
    assert network.asked == [1] * 20
