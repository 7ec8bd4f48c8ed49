"""Loops in scans of real rooms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import command
from worldgauge.core.episode import WorldFacts
from worldgauge.worlds import open_world
from worldgauge.worlds.scan import Scan


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WORLDGAUGE_SCENES", raising=False)


def test_loops_are_walked_in_a_scan(tmp_path: Path) -> None:
    words = "--types ABA --ranges 2 --per-combination 1 --size 32x18 --no-look-around --out data"
    done = command(tmp_path, "collect", "loopnav", "--world", "scan", "--scenes", "example", *words.split())
    assert done.returncode == 0, done.stderr
    manifest = next(path for path in (tmp_path / "data").glob("*.json") if "settings" in path.read_text())
    content = json.loads(manifest.read_text())
    assert content["settings"]["scenes"] == "example/room"
    (held,) = content["locations"].values()
    world = open_world(WorldFacts(held["world"], held["params"], held["digest"]))
    assert isinstance(world, Scan)
    # Whoever gets the data learns no path of this machine.
    for path in (tmp_path / "data").rglob("*.json"):
        assert str(tmp_path) not in path.read_text()
        assert "room.glb" not in path.read_text()
    done = command(tmp_path, "check", "loopnav", "--data", "data")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--world", "scan"], "--world scan and --scenes go together"),
        (["--scenes", "example"], "--world scan and --scenes go together"),
        (["--world", "scan", "--scenes", "exampel"], "no folder of scans 'exampel'. Did you mean 'example'?"),
        (["--world", "scan", "--scenes", "example/hall"], "scene 'example/hall' is not in"),
        (["--world", "scan", "--scenes", ","], "no scenes are named"),
    ],
)
def test_scenes_that_are_not_there(tmp_path: Path, words: list[str], message: str) -> None:
    done = command(tmp_path, "collect", "loopnav", *words, "--out", "data")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
