"""What the demo prints while it runs."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from rich.console import Console

from worldgauge.engine.suite.contract import DemoSet
from worldgauge.tools.demo import Demo, Part
from worldgauge.tools.demo_view import DemoView, clock, doing, ending

CARD = {
    "title": "Scene Graph Consistency Score",
    "column": "all",
    "unit": "1",
    "better": "higher",
    "rows": [
        {"label": label, "mean": mean, "low": mean, "high": mean, "n": 8}
        for label, mean in (("truth", 1.0), ("drift-step_m-0.01", 0.5), ("freeze", 0.0))
    ],
}


def part(name: str = "loopnav", **state: object) -> Part:
    return Part(name, Path(name), DemoSet(1, "Why?", {}, ("a",)), **state)  # type: ignore[arg-type]


def printed(one: Part, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(ending(one, width))
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_table_of_a_part_is_never_cut(width: int) -> None:
    text = printed(part(card=CARD, started=1.0, ended=8.0), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert "[0.50, 0.50]" in text
    assert ("n=8" in text) == (width >= 60)


def test_a_part_that_failed_says_why() -> None:
    assert "loopnav: failed: no space" in printed(part(error="no space", ended=1.0), 80)


def test_what_a_part_is_doing_is_said_in_words() -> None:
    assert doing(part()) == "waiting"
    assert doing(part(stage=0, done=3, total=8, started=1.0)) == "collecting 3/8"
    assert doing(part(stage=2, total=1, started=1.0)) == "writing the report"
    assert doing(part(stage=2, started=1.0, ended=2.0, card=CARD)) == "done"
    assert doing(part(ended=2.0, error="x")) == "failed"


def test_times_are_words() -> None:
    assert [clock(None), clock(7.2), clock(125)] == ["?", "7 s", "2 min 05 s"]


def test_without_a_terminal_a_few_lines_are_printed_in_all(capsys: pytest.CaptureFixture[str]) -> None:
    parts = [part(name, card=CARD, started=1.0, ended=9.0) for name in "abcde"]
    demo = Demo(Path("x"), False, 2, parts, time.monotonic())
    with DemoView(demo) as view:
        for _ in range(50):
            view(demo)
    view.end(Path("x/index.html"), ["worldgauge run ..."])
    found = capsys.readouterr()
    assert len((found.err + found.out).splitlines()) <= 40
    assert "\x1b" not in found.err + found.out
