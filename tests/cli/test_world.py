"""`worldgauge world`: as people type it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import command
from support.scan_room import write_example
from worldgauge.core.image import png_size
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.structure_files import write_schem


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORLDGAUGE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WORLDGAUGE_SCENES", raising=False)
    (tmp_path / "scans").mkdir()
    write_example(tmp_path / "scans" / "flat.glb", texel_m=0.1)
    return tmp_path


def test_register_look_and_forget(folder: Path) -> None:
    done = command(folder, "world", "add", "mine", "scans")
    assert done.returncode == 0, done.stderr
    assert "mine: 1 scenes in the layout 'files', y up, 0 with a published floor" in done.stdout
    assert "mine/flat" in command(folder, "list", "scans").stdout
    done = command(folder, "world", "check", "mine/flatt")
    assert done.returncode == 2
    assert "Did you mean 'mine/flat'? See: worldgauge list scans" in " ".join(done.stderr.split())
    pictures = ("--sheet", "sheet.png", "--plan", "plan.png", "--out", "page.html")
    done = command(folder, "world", "check", "mine/flat", *pictures, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["ok"]
    assert found["facts"]["size_m"] == [4.2, 3.2, 2.7]
    assert png_size(folder / "sheet.png") == (1200, 900)
    assert png_size(folder / "plan.png")[0] == 800
    page = (folder / "page.html").read_text()
    assert page.count('src="data:image/png;base64,') == page.count("<img") == 4
    assert "This scan can be used." in page
    assert "<td>4.2, 3.2, 2.7</td>" in page
    assert "MB deleted" in command(folder, "world", "remove", "--cache").stdout
    assert command(folder, "world", "remove", "mine").returncode == 0
    assert "mine/flat" not in command(folder, "list", "scans").stdout


def test_a_check_says_what_must_be_mended(folder: Path) -> None:
    done = command(folder, "world", "check", "scans/flat.glb", "--scale", "1000")
    assert done.returncode == 1
    assert "problem: if its unit is millimetres: --scale 0.001" in done.stdout
    assert "cannot be used as it is" in done.stdout


def test_a_picture_and_an_export(folder: Path) -> None:
    done = command(folder, "world", "picture", "scans/flat.glb", "--at", "1,1,1.2", "--out", "a.png", "--size", "80x40")
    assert done.returncode == 0, done.stderr
    assert png_size(folder / "a.png") == (80, 40)
    done = command(folder, "world", "export", "indoor:seed=2", "--out", "home.glb", "--texel", "60", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["size_bytes"] == (folder / "home.glb").stat().st_size
    write_schem(folder / "hut.schem", Blueprint.of([[[1, 1], [-1, 2]]], ("stone", "oak_planks")))
    done = command(folder, "world", "export", "hut.schem", "--out", "hut.glb")
    assert "hut.glb: " in done.stdout
    assert "2 things" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("check", "none/such"), "no folder 'none' is registered: worldgauge world add none DIR"),
        (("check", "gone.glb"), "gone.glb: cannot be read"),
        (("check", "scans/flat.glb", "--up", "x"), "--up is 'x'; give y or z"),
        (("add", "mine", "nowhere"), "nowhere is no folder"),
        (("add", "mine", "scans", "--kind", "hm4d"), "no layout of scans 'hm4d'. Did you mean 'hm3d'?"),
        (("picture", "scans/flat.glb", "--at", "1,1", "--out", "a.png"), "--at is '1,1'; give 3 numbers"),
        (("export", "indor:seed=1", "--out", "a.glb"), "no world 'indor'. Did you mean 'indoor'?"),
        (("export", "tabletop", "--out", "a.glb"), "cannot be exported"),
    ],
)
def test_mistakes_are_one_line(folder: Path, words: tuple[str, ...], message: str) -> None:
    done = command(folder, "world", *words)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert message in " ".join(done.stderr.split())
    assert done.stderr.count("\n") == 1
