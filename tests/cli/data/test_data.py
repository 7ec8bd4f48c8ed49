"""`worldgauge data` as one types it."""

from __future__ import annotations

import json
from pathlib import Path

from support.commands import command


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


def test_what_is_not_frozen_says_so_before_it_is_made(tmp_path: Path) -> None:
    done = command(tmp_path, "data", "make", "1", "--only", "build,loopnav", "--dry-run", "--json")
    rows = {row["suite"]: row for row in json.loads(done.stdout)["suites"]}
    assert rows["build"]["frozen"]
    assert not rows["loopnav"]["frozen"]
    assert rows["loopnav"]["minutes"] > 10 * rows["build"]["minutes"]
    assert not list(tmp_path.iterdir())
