"""`worldgauge data` as one types it."""

from __future__ import annotations

import json
from pathlib import Path

from support.commands import command
from worldgauge.engine.sets import open_set


def test_sets_are_listed(tmp_path: Path) -> None:
    done = command(tmp_path, "data", "list", "--json")
    assert done.returncode == 0
    sets = {one["name"]: one for one in json.loads(done.stdout)["sets"]}
    assert sets["worldgauge-mini"]["frozen"]
    assert sets["worldgauge-mini"]["suites"]["loopnav"]["tasks"] == 16


def test_a_folder_without_a_set_is_one_line(tmp_path: Path) -> None:
    done = command(tmp_path, "data", "check", "mini", "--data", str(tmp_path))
    assert done.returncode == 2
    assert "holds no part of worldgauge-mini" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_check_says_how_many_files_it_compared(tmp_path: Path) -> None:
    known = min(open_set("mini").part("loopnav").files)
    for name in (known, "more.txt"):
        (tmp_path / "loopnav" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "loopnav" / name).write_text("")
    done = command(tmp_path, "data", "check", "mini", "--data", ".", "--only", "loopnav")
    assert done.returncode == 1
    assert "1 file compared: 1 differ, 32 missing, 1 too many" in done.stdout


def test_an_unknown_part_is_one_line(tmp_path: Path) -> None:
    done = command(tmp_path, "data", "make", "mini", "--out", str(tmp_path / "x"), "--only", "loopnv", "--dry-run")
    assert done.returncode == 2
    assert "Did you mean 'loopnav'" in done.stderr


def test_a_set_has_a_folder_of_its_own_unless_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "sets/mini/build").mkdir(parents=True)
    (tmp_path / "sets/mini/build/worldgauge.json").write_text("{")
    done = command(tmp_path, "data", "make", "mini", "--only", "build", "--dry-run")
    assert done.returncode == 2
    assert "sets/mini/build/worldgauge.json" in done.stderr


def test_a_plan_tells_what_is_frozen_and_how_long_it_takes(tmp_path: Path) -> None:
    done = command(tmp_path, "data", "make", "1", "--only", "build,loopnav", "--dry-run", "--json")
    rows = {row["suite"]: row for row in json.loads(done.stdout)["suites"]}
    assert rows["build"]["frozen"]
    assert rows["loopnav"]["frozen"]
    assert rows["loopnav"]["minutes"] > 10 * rows["build"]["minutes"]
    assert not list(tmp_path.iterdir())
