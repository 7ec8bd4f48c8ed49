"""`worldgauge data` as one types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import command
from worldgauge.engine.sets import open_set


def test_sets_are_listed(tmp_path: Path) -> None:
    done = command(tmp_path, "list", "data", "--json")
    assert done.returncode == 0
    sets = {one["name"]: one for one in json.loads(done.stdout)["sets"]}
    loopnav = sets["worldgauge-small"]["suites"]["loopnav"]
    assert (loopnav["frozen"], loopnav["tasks"], loopnav["clusters"]) == (True, 32, 16)
    assert all(part["frozen"] for one in sets.values() for part in one["suites"].values())


def test_a_folder_without_a_set_is_one_line(tmp_path: Path) -> None:
    done = command(tmp_path, "check", "mini", "--data", str(tmp_path))
    assert done.returncode == 2
    assert "holds no part of worldgauge-mini" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_check_says_how_many_files_it_compared(tmp_path: Path) -> None:
    known = min(open_set("small").part("loopnav").files)
    for name in (known, "more.txt"):
        (tmp_path / "loopnav" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "loopnav" / name).write_text("")
    done = command(tmp_path, "check", "small", "--data", ".", "--only", "loopnav")
    assert done.returncode == 1
    assert "1 file compared: 1 differ, 64 missing, 1 too many" in done.stdout


def test_an_unknown_part_is_one_line(tmp_path: Path) -> None:
    done = command(tmp_path, "data", "make", "mini", "--out", str(tmp_path / "x"), "--only", "loopnv", "--dry-run")
    assert done.returncode == 2
    assert "Did you mean 'loopnav'" in done.stderr


def test_a_set_is_made_in_the_cache_unless_a_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "cache/sets" / f"worldgauge-mini-{open_set('mini').version}" / "build/worldgauge.json"
    place.parent.mkdir(parents=True)
    place.write_text("{")
    done = command(tmp_path, "data", "make", "mini", "--only", "mineanybuild", "--dry-run")
    assert done.returncode == 2
    assert str(place) in done.stderr


def test_what_is_neither_a_folder_nor_a_set_is_one_line(tmp_path: Path) -> None:
    for words in (["run", "loopnav", "--model", "freeze"], ["questions", "mind", "--out", "q"], ["check", "mind"]):
        done = command(tmp_path, *words, "--data", "worldgauge-smal")
        assert done.returncode == 2
        assert "worldgauge-smal: no such folder, and no benchmark set" in done.stderr
        assert "Did you mean 'small'" in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_check_finds_a_set_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    done = command(tmp_path, "check", "mini", "--data", "mini")
    assert done.returncode == 2
    assert f"worldgauge-mini-{open_set('mini').version}: holds no part of worldgauge-mini" in done.stderr


def test_a_plan_tells_what_is_frozen_and_how_long_it_takes(tmp_path: Path) -> None:
    done = command(tmp_path, "data", "make", "1", "--only", "build,loopnav", "--dry-run", "--json")
    rows = {row["suite"]: row for row in json.loads(done.stdout)["suites"]}
    assert rows["loopnav"]["frozen"]
    assert rows["loopnav"]["minutes"] > 10 * rows["mineanybuild"]["minutes"]
    assert not list(tmp_path.iterdir())
