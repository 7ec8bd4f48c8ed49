"""Workers and drivers are killed at random, again and again: the run ends with the bytes of one that was let alone."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from engine.test_run import contents

MARK = "WORLDGAUGE_TEST_MARK"
"""Variable in the environment of a driver and of everything that it starts."""

LABEL = "parent"
SCRIPT = """
import sys
from worldgauge.engine.run import run
result = run("echo", model="enginedoubles:Parent", data=sys.argv[1], out=sys.argv[2], workers=2)
sys.exit(0 if result.ok else 1)
"""


@dataclass
class Kills:
    workers: int = 0
    drivers: int = 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "between", "drivers"), [(60, 15, 1), pytest.param(1000, 25, 4, marks=pytest.mark.timeout(1800))]
)
def test_whatever_is_killed_every_task_is_done_once_with_the_same_bytes(
    tasks: int,
    between: int,
    drivers: int,
    data: Path,
    tmp_path: Path,
    doubles: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """between: tasks between two kills, on average. drivers: how often the driver is killed, too."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    doubles.make_data(data, tasks, skip=[7])
    assert start(data, tmp_path / "whole").wait() == 0
    limit = tmp_path / "limit"
    monkeypatch.setenv("ENGINE_DOUBLES_GATE", f"{journal(tmp_path / 'out')}:{limit}")
    kills = disturb(data, tmp_path / "out", limit, mark, random.Random(tasks), tasks, between, drivers)

    assert kills.drivers == drivers
    assert kills.workers >= tasks / between / 3
    assert contents(tmp_path / "out" / LABEL) == contents(tmp_path / "whole" / LABEL)
    assert list((tmp_path / "out").rglob(".*")) == []
    lines = [json.loads(line) for line in journal(tmp_path / "out").read_text().splitlines()]
    assert set(Counter(line["task"] for line in lines if line["status"] == "done").values()) == {1}
    assert Counter(line["status"] for line in lines)["done"] == tasks - 1
    assert sum(len(line.get("lost", ())) for line in lines) > 0, "of so many kills none hit a task"
    assert gone_within(10.0, mark), f"still there: {marked(mark)}"


def disturb(
    data: Path, out: Path, limit: Path, mark: str, rng: random.Random, tasks: int, between: int, drivers: int
) -> Kills:
    """Run to the end, killing on the way; a driver that was killed, or left lost tasks behind, is started again.

    limit: file that tells the models how many tasks may end before the next kill, so that none comes too late.
    """
    kills = Kills()
    fatal = sorted(rng.sample(range(5, tasks - 5), drivers))
    due = rng.randint(1, between)
    write_file(limit, str(min([due, *fatal])))
    process = start(data, out)
    try:
        while (code := process.poll()) != 0:
            if code is not None:
                process = start(data, out)
            done = count_lines(journal(out))
            if fatal and done >= fatal[0]:
                fatal.pop(0)
                process.kill()
                process.wait()
                kills.drivers += 1
            elif done >= due and (workers := marked(mark, "worldgauge.engine.workers.worker", parent=process.pid)):
                kill(rng.choice(workers))
                kills.workers += 1
                due = done + rng.randint(1, 2 * between)
            write_file(limit, str(min([due, *fatal])))
            time.sleep(rng.uniform(0, 0.02))
    finally:
        process.kill()
    return kills


def start(data: Path, out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(data), str(out)])


def journal(out: Path) -> Path:
    return out / LABEL / "journal.jsonl"


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def write_file(path: Path, text: str) -> None:
    """Never seen half written."""
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)


def marked(mark: str, command: str = "", parent: int | None = None) -> list[int]:
    """Processes with `mark` in their environment, `command` in their command line, and this parent; without us."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (
                f"{MARK}={mark}".encode() in (folder / "environ").read_bytes()
                and command.encode() in (folder / "cmdline").read_bytes()
                and (parent is None or f"\nPPid:\t{parent}\n" in (folder / "status").read_text())
                and int(folder.name) != os.getpid()
            ):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):  # it ended by itself
        os.kill(pid, signal.SIGKILL)


def gone_within(seconds: float, mark: str) -> bool:
    until = time.monotonic() + seconds
    while marked(mark):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
