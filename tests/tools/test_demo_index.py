"""The page of the demo, and the commands at its end."""

from __future__ import annotations

import shlex
from pathlib import Path

from support.commands import command
from worldgauge.engine.suite.contract import DemoSet
from worldgauge.tools.demo import Demo, Part
from worldgauge.tools.demo_view import INDEX, OWN_MODEL, commands_for_own_model, write_index

CARD = {
    "suite": "loopnav",
    "question": "<b>Why?</b>",
    "title": "SGCS",
    "column": "all",
    "unit": "1",
    "better": "higher",
    "rows": [{"label": "<script>alert(1)</script>", "mean": 1.0, "low": None, "high": None, "n": 1}],
    "ranked": False,
    "beside": ["tiny"],
    "subject_kind": "model",
    "previews": [{"label": "truth", "encoded": "data:image/webp;base64,AAAA"}],
}


def demo_in(folder: Path) -> Demo:
    shown = DemoSet(1, "Why?", {}, ("truth",))
    parts = [
        Part("loopnav", folder / "loopnav", shown, card=CARD, ended=1.0),
        Part("mind", folder / "mind", shown, error="no <space>", ended=1.0),
    ]
    return Demo(folder, False, 1, parts)


def test_the_page_shows_cards_and_failures_and_escapes_what_it_shows(tmp_path: Path) -> None:
    text = write_index(demo_in(tmp_path)).read_text("utf-8")
    assert (tmp_path / INDEX).is_file()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "no &lt;space&gt;" in text
    assert 'href="loopnav/report.html"' in text
    assert 'href="mind/report.html"' not in text
    assert "http://" not in text
    assert "https://" not in text


def test_a_model_of_ones_own_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / OWN_MODEL).write_text("mine")
    write_index(demo_in(tmp_path))
    assert (tmp_path / OWN_MODEL).read_text() == "mine"


def test_the_next_commands_work_as_pasted(tmp_path: Path, walks: Path) -> None:
    demo = demo_in(tmp_path / "de mo")
    demo.folder.mkdir()
    (demo.folder / "loopnav").mkdir()
    (demo.folder / "loopnav" / "data").symlink_to(walks)
    write_index(demo)
    for line in commands_for_own_model(demo):
        done = command(tmp_path, *shlex.split(line)[1:])
        assert done.returncode == 0, done.stderr
    assert "my-model" in (demo.folder / "loopnav" / "report.html").read_text("utf-8")


def test_without_a_complete_part_there_is_no_command(tmp_path: Path) -> None:
    demo = demo_in(tmp_path)
    demo.parts = demo.parts[1:]
    assert commands_for_own_model(demo) == []


def test_the_model_to_start_from_is_the_one_of_the_readme(tmp_path: Path) -> None:
    write_index(demo_in(tmp_path))
    _, code = (tmp_path / OWN_MODEL).read_text("utf-8").split('"""\n\n')
    assert code in (Path(__file__).parents[2] / "README.md").read_text("utf-8")
