"""The demo: the card of one suite, the order of its parts, what it prints, its page."""

from __future__ import annotations

import fcntl
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest
from rich.console import Console

from support.commands import command
from support.registered import own_names
from worldgauge.core.errors import RunError
from worldgauge.engine.suite.base import suites
from worldgauge.engine.suite.contract import DemoSet
from worldgauge.report.overview import INDEX
from worldgauge.tools.demo import CARD, MANIFEST, STAGES, Demo, DemoPart, demo_set, open_demo, ordered, perform
from worldgauge.tools.demo_view import OWN_MODEL, DemoView, clock, commands_for_own_model, doing, ending, write_index

Usage = namedtuple("Usage", "total used free")
ROWS = (("truth", 1.0), ("drift-step_m-0.01", 0.5), ("<script>alert(1)</script>", 0.0))
SHOWN = {
    **{"suite": "loopnav", "question": "<b>Why?</b>", "title": "Scene Graph Consistency Score"},
    **{"unit": "1", "better": "higher", "open": {"drift-step_m-0.01": ["truth"]}, "answerer_kind": "model"},
    **{"tested": ["drift-step_m-0.01"], "notes": [], "film": None, "error": "", "report": "loopnav/report.html"},
    **{"claim_metrics": ""},
    **{"verdict": "Nothing shows that drift-step_m-0.01 redraws it."},
    "rows": [
        {"label": label, "mean": mean, "low": mean, "high": mean, "n": 8, "rank": "1-3", "flag": ""}
        for label, mean in ROWS
    ],
    "previews": [{"label": "truth", "encoded": "data:image/webp;base64,AAAA"}],
}


def part(name: str, seconds: float = 10, **state: object) -> DemoPart:
    shown = DemoSet(1, "Why?", {}, ("a", "b", "c"), "b", core_seconds=seconds)
    return DemoPart(name, Path(name), shown, **state)  # type: ignore[arg-type]


def demo_in(folder: Path) -> Demo:
    parts = [part("loopnav", card=SHOWN, ended=1.0), part("mind", error="no <space>", ended=1.0)]
    for one in parts:
        one.folder = folder / one.suite
    return Demo(folder, False, 1, parts)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("suite", own_names(suites))
def test_every_suite_has_a_demo_with_a_stand_in_and_all_floors(suite: str, full: bool) -> None:
    shown, kind = demo_set(suite, full), suites.get(suite)
    assert shown.stand_in in shown.models
    names = {text.partition("?")[0] for text in shown.models}
    assert names >= set(kind.floor_baselines)
    assert shown.stand_in.partition("?")[0] not in kind.floor_baselines
    assert shown.question.endswith("?")
    kind(**shown.settings)  # its settings are known and allowed


@pytest.mark.slow
def test_a_part_makes_data_runs_report_and_card_and_ranks_the_model_in_the_part_of_yours(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "worldgauge.tools.demo", "mineanybuild", str(tmp_path / "mineanybuild")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    stages = [json.loads(line)["stage"] for line in done.stdout.splitlines()]
    assert stages == sorted(stages, key=STAGES.index)
    assert set(stages) == set(STAGES)
    card = json.loads((tmp_path / "mineanybuild" / CARD).read_text())
    assert card["open"] == {"degraded": []}
    assert [one["label"] for one in card["rows"]][:3] == ["degraded", "truth", "reader"]
    assert card["rows"][0]["rank"] == "2"
    assert card["counts"]["failed"] == card["counts"]["left"] == 0
    report = (tmp_path / "mineanybuild" / "report.html").read_text("utf-8")
    # Mental rotation is in it; understanding is not shown, since words alone get full marks.
    claim = "degraded plans builds, rotates figures mentally and judges rooms"
    assert card["verdict"] == f"{claim}, better than baselines that cannot plan."
    assert f"<h1>{claim}.</h1>" in report
    assert "represents your model" in report
    facts = json.loads((tmp_path / "mineanybuild" / "runs" / "degraded" / "run.json").read_text())["model"]
    assert (facts["kind"], facts["stands_in"], facts["inputs"]) == ("model", True, ["truth"])
    assert all(one["encoded"].startswith("data:image/webp;base64,") for one in card["previews"])


def test_a_part_that_cannot_be_made_says_why_in_one_line(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "worldgauge.tools.demo", "nosuch", str(tmp_path / "part")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "nosuch" in json.loads(done.stdout)["error"]


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
    # What is complete already does not count as work of now.
    before = part("a", 1000, ended=now, card={})
    running = part("b", 100, stage=1, done=1, total=2, started=now)
    left = Demo(Path("x"), False, 2, [before, running], started=now - 65).seconds_left()
    assert left == pytest.approx(35, rel=0.05)


def test_an_interrupted_demo_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    first = open_demo(folder, full=False, workers=1)
    (folder / "mineanybuild").mkdir()
    (folder / "mineanybuild" / CARD).write_text(json.dumps({"suite": "mineanybuild"}))
    again = open_demo(folder, full=False, workers=1)
    assert [one.suite for one in again.parts if one.card is None] == [
        one.suite for one in first.parts if one.suite != "mineanybuild"
    ]
    (folder / "mineanybuild" / CARD).write_text("{")  # a damaged card is made again
    assert all(one.card is None for one in open_demo(folder, full=False, workers=1).parts)


def test_a_folder_with_another_demo_or_something_else_is_left_alone(tmp_path: Path) -> None:
    opened = open_demo(tmp_path / "demo", full=False, workers=1)
    with pytest.raises(RunError, match=r"holds another demo \(quick, of worldgauge .*--out"):
        open_demo(tmp_path / "demo", full=True, workers=1)
    with (tmp_path / "demo" / MANIFEST).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RunError, match="a demo is running in"):
            perform(opened, 1, lambda _: None)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="file"):
        open_demo(tmp_path / "file", full=False, workers=1)
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


def test_a_part_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    opened = open_demo(tmp_path / "demo", full=False, workers=2)
    opened.parts = [DemoPart(name, opened.folder / name, part(name).shown) for name in ("nosuch", "neither")]
    seen: list[int] = []
    perform(opened, 2, lambda demo: seen.append(sum(one.ended is not None for one in demo.parts)))
    assert seen[-1] == 2
    assert [one.card for one in opened.parts] == [None, None]
    assert all(one.suite in one.error for one in opened.parts)


def printed(one: DemoPart, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(ending(one, width))
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_table_of_a_part_is_never_cut(width: int) -> None:
    text = printed(part("loopnav", card=SHOWN, started=1.0, ended=8.0), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert "[0.50, 0.50]" in text
    assert "(represents" in text
    assert ("n=8" in text) == (width >= 60)


def test_what_a_part_is_doing_is_said_in_words() -> None:
    assert "loopnav: failed: no space" in printed(part("loopnav", error="no space", ended=1.0), 80)
    assert [clock(None), clock(7.2), clock(125)] == ["?", "7 s", "2 min 05 s"]
    assert doing(part("loopnav")) == "waiting"
    assert doing(part("loopnav", stage=0, done=3, total=8, started=1.0)) == "collecting 3/8"
    assert doing(part("loopnav", stage=2, total=1, started=1.0)) == "writing the report"
    assert doing(part("loopnav", stage=2, started=1.0, ended=2.0, card=SHOWN)) == "done"
    assert doing(part("loopnav", ended=2.0, error="x")) == "failed"


def test_without_a_terminal_a_few_lines_are_printed_in_all(capsys: pytest.CaptureFixture[str]) -> None:
    parts = [part(name, card=SHOWN, started=1.0, ended=9.0) for name in "abcde"]
    demo = Demo(Path("x"), False, 2, parts, time.monotonic())
    with DemoView(demo) as view:
        for _ in range(50):
            view(demo)
    view.end(Path("x/index.html"), ["worldgauge run ..."])
    found = capsys.readouterr()
    assert len((found.err + found.out).splitlines()) <= 40
    assert "\x1b" not in found.err + found.out


def test_the_page_shows_cards_and_failures_and_escapes_what_it_shows(tmp_path: Path) -> None:
    text = write_index(demo_in(tmp_path)).read_text("utf-8")
    assert (tmp_path / INDEX).is_file()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "Nothing shows that drift-step_m-0.01 redraws it." in text
    assert "does not separate drift-step_m-0.01 from truth." in text
    assert "no &lt;space&gt;" in text
    assert 'href="loopnav/report.html"' in text
    assert 'href="mind/report.html"' not in text
    assert "http://" not in text
    assert "https://" not in text


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


def test_the_model_to_start_from_is_the_one_of_the_readme_and_is_not_overwritten(tmp_path: Path) -> None:
    demo = demo_in(tmp_path)
    write_index(demo)
    _, code = (tmp_path / OWN_MODEL).read_text("utf-8").split('"""\n\n')
    assert code in (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    (tmp_path / OWN_MODEL).write_text("mine")
    write_index(demo)
    assert (tmp_path / OWN_MODEL).read_text() == "mine"
    demo.parts = demo.parts[1:]  # without a complete part there is no command
    assert commands_for_own_model(demo) == []
