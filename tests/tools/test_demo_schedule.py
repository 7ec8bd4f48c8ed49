"""The folder of the demo, the order of its parts, and the time that is left."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest

from worldgauge.core.errors import RunError
from worldgauge.engine.suite.contract import DemoSet
from worldgauge.tools.demo import CARD, MANIFEST, Demo, Part, open_demo, ordered, perform

SHOWN = DemoSet(1, "Why?", {}, ("a", "b", "c"), core_seconds=10)
Usage = namedtuple("Usage", "total used free")


def part(name: str, seconds: float, **state: object) -> Part:
    return Part(name, Path(name), replace(SHOWN, core_seconds=seconds), **state)  # type: ignore[arg-type]


def test_the_page_has_the_suites_in_their_places(tmp_path: Path) -> None:
    opened = open_demo(tmp_path / "demo", full=False, workers=2)
    places = [one.shown.place for one in opened.parts]
    assert places == sorted(set(places))
    assert opened.slots == 2


def test_the_longest_part_starts_first_and_the_shortest_with_it() -> None:
    parts = [part("a", 20), part("b", 5), part("c", 90), part("d", 40)]
    assert [one.suite for one in ordered(parts, 2)] == ["c", "b", "d", "a"]
    assert [one.suite for one in ordered(parts, 1)] == ["b", "c", "d", "a"]
    assert ordered([], 2) == []


def test_time_left_follows_from_the_work_done() -> None:
    now = time.monotonic()
    half = part("a", 100, stage=2, done=0, total=1, started=now)
    waiting = part("b", 50)
    demo = Demo(Path("x"), False, 1, [half, waiting], started=now - 95)
    left = demo.seconds_left()
    assert left == pytest.approx(95 / 95 * (5 + 50), rel=0.01)
    assert Demo(Path("x"), False, 1, [waiting], started=now).seconds_left() is None


def test_what_is_complete_already_does_not_count_as_work_of_now() -> None:
    now = time.monotonic()
    before = part("a", 1000, ended=now, card={})
    running = part("b", 100, stage=1, done=1, total=2, started=now)
    left = Demo(Path("x"), False, 2, [before, running], started=now - 65).seconds_left()
    assert left == pytest.approx(35, rel=0.05)


def test_an_interrupted_demo_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    first = open_demo(folder, full=False, workers=1)
    (folder / "build").mkdir()
    (folder / "build" / CARD).write_text(json.dumps({"suite": "build"}))
    again = open_demo(folder, full=False, workers=1)
    assert [one.suite for one in again.parts if one.card is None] == [
        one.suite for one in first.parts if one.suite != "build"
    ]


def test_a_damaged_card_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    open_demo(folder, full=False, workers=1)
    (folder / "build").mkdir()
    (folder / "build" / CARD).write_text("{")
    assert all(one.card is None for one in open_demo(folder, full=False, workers=1).parts)


def test_a_folder_with_another_demo_is_left_alone(tmp_path: Path) -> None:
    open_demo(tmp_path / "demo", full=False, workers=1)
    with pytest.raises(RunError, match=r"holds another demo \(quick, of worldgauge .*--out"):
        open_demo(tmp_path / "demo", full=True, workers=1)


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RunError, match="is not empty and holds no demo"):
        open_demo(tmp_path, full=False, workers=1)
    (tmp_path / MANIFEST).write_text("nonsense")
    with pytest.raises(RunError, match="choose another folder with --out"):
        open_demo(tmp_path, full=False, workers=1)
    assert (tmp_path / "thesis.tex").read_text() == "x"


def test_a_full_disk_is_told_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10**12, 10**12, 5_000_000))
    with pytest.raises(RunError, match=r"needs about .* MB and .* has 5 MB left"):
        open_demo(tmp_path / "demo", full=False, workers=1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(RunError, match="demo"):
        open_demo(tmp_path / "demo", full=False, workers=1)


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("")
    with pytest.raises(RunError, match="demo"):
        open_demo(tmp_path / "demo", full=False, workers=1)


def test_two_demos_in_one_folder_are_one_too_many(tmp_path: Path) -> None:
    opened = open_demo(tmp_path / "demo", full=False, workers=1)
    with (tmp_path / "demo" / MANIFEST).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RunError, match="a demo is running in"):
            perform(opened, 1, lambda _: None)


def test_a_part_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    opened = open_demo(tmp_path / "demo", full=False, workers=2)
    opened.parts = [Part(name, opened.folder / name, SHOWN) for name in ("nosuch", "neither")]
    seen: list[int] = []
    perform(opened, 2, lambda demo: seen.append(sum(one.ended is not None for one in demo.parts)))
    assert seen[-1] == 2
    assert [one.card for one in opened.parts] == [None, None]
    assert all(one.suite in one.error for one in opened.parts)
