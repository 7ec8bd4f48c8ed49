"""One bar on a terminal; otherwise a line now and then."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

from worldgauge.engine.model_run import RunStep
from worldgauge.terminal import progress
from worldgauge.terminal.progress import ProgressBar, RunProgress


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    found = capsys.readouterr()
    assert found.out == "", "progress never stands on stdout"
    return found.err.splitlines()


def test_a_line_every_tenth(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar() as bar:
        for done in range(201):
            bar.show("frames", done, 200)
            bar.note(f"frame {done}")
    told = lines(capsys)
    assert len(told) == 10
    assert (told[0], told[-1]) == ("[20/200] frames, 10%", "[200/200] frames, 100%")
    now = iter(range(0, 10_000, 20))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with ProgressBar() as bar:  # a slow item is heard of after a while
        for done in range(8):
            bar.show("frames", done, 1000)
    assert 2 <= len(lines(capsys)) <= 4


def test_verbose_brings_a_line_an_item_and_no_others(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar(verbose=True) as bar:
        for done in range(1, 4):
            bar.show("walks", done, 3)
            bar.note(f"[{done}/3] walk {done}")
    assert lines(capsys) == ["[1/3] walk 1", "[2/3] walk 2", "[3/3] walk 3"]


def steps() -> list[RunStep]:
    return [
        RunStep("a", 0, 2),
        RunStep("b", 1, 2),
        RunStep("a", 0, 2, "the recogniser", (3, 3), preparing=True),
        RunStep("a", 0, 2, "t/0", (5, 10)),
        RunStep("a", 1, 2, "t/0", status="done"),
        RunStep("a", 2, 2, "t/1", status="failed", error="no such latent", lost=("gone",)),
        RunStep("b", 2, 2, "t/1", status="skipped", error="too short"),
    ]


def test_a_run_counts_the_tasks_of_all_subjects_and_tells_what_went_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress(["note: no homes"]) as watch:
        for step in steps():
            watch(step)
    assert lines(capsys) == [
        "note: no homes",
        "[3/3] the recogniser, 100%",
        "[1/4] tasks, 38%",
        "[2/4] tasks, 50%",
        "[2/2] a t/1 lost and asked again: gone",
        "[2/2] a t/1 failed: no such latent",
        "[3/4] tasks, 75%",
        "[4/4] tasks, 100%",
    ]
    with RunProgress() as watch:  # an episode of an agent: decisions so far, of nobody knows how many
        for step in (RunStep("a", 0, 2, "t/0", (7, 0)), RunStep("a", 1, 2, "t/0", status="done")):
            watch(step)
    assert lines(capsys) == ["[1/2] tasks, 50%"]


def test_a_verbose_run_has_a_line_a_task(capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress(verbose=True) as watch:
        for step in steps():
            watch(step)
    assert lines(capsys) == [
        "[1/2] a t/0 done",
        "[2/2] a t/1 lost and asked again: gone",
        "[2/2] a t/1 failed: no such latent",
        "[2/2] b t/1 skipped: too short",
    ]
    with RunProgress(verbose=True) as bar:  # of a length that nobody knows
        bar(RunStep("a", 3, 0, "t/0", status="done"))
    assert lines(capsys) == ["[3] a t/0 done"]


DRAWN = """
import time
from worldgauge.terminal.progress import ProgressBar
with ProgressBar() as bar:
    for done in range(12):
        bar.show("frames", done, 20)
        time.sleep(0.02)
    bar.warn("what went wrong")
"""


@pytest.mark.parametrize("columns", [40, 100])
@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_a_terminal_has_one_bar_with_rate_and_time_left(columns: int, terminal: str) -> None:
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": terminal, "COLUMNS": str(columns)}
    done = subprocess.Popen([sys.executable, "-c", DRAWN], stderr=theirs, env=env)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # at the end of what the other side has written
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)
    assert done.wait() == 0
    text = shown.decode()
    assert "what went wrong" in text
    if terminal == "dumb":
        assert "\x1b" not in text
        assert "[2/20] frames, 10%" in text
    else:
        assert "11/20" in text
        assert "/s" in text
        assert "…" not in text


@pytest.mark.parametrize("total", [0, 2, -1])
def test_no_share_without_a_total(
    total: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter(range(0, 10_000, 40))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with ProgressBar() as bar:
        for done in range(3, 6):
            bar.show("walks", done, total)
    told = lines(capsys)
    assert told[-1] == "[5] walks"
    assert not any("%" in line or "/" in line for line in told)
    with ProgressBar() as bar:  # a total that was too small is forgotten
        bar.show("walks", 1, 2)
        assert bar._progress.tasks[0].total == 2
        bar.show("walks", 3, 2)
        assert bar._progress.tasks[0].total is None
