"""Kill, fill the disk, press Ctrl-C: started again, the run ends with the same bytes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from worldgauge.engine.run import run

pytestmark = pytest.mark.process

SCRIPT = """
import resource, sys
from worldgauge.engine.run import run
if len(sys.argv) > 3:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    result = run("echo", model="enginedoubles:Unhurried", data=sys.argv[1], out=sys.argv[2], workers=2,
                 settings={"video": True})
except KeyboardInterrupt:
    sys.exit(130)
except Exception as error:
    print(type(error).__name__, error)
    sys.exit(2)
print(result.counts)
"""
LABEL = "steady"


def start(data: Path, out: Path, *limits: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(data), str(out), *map(str, limits)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def expected(data: Path, tmp_path: Path, doubles: ModuleType) -> bytes:
    """scores.jsonl of an uninterrupted run of eight tasks."""
    doubles.make_data(data, 8, skip=[5])
    run("echo", model=doubles.Steady(), data=data, out=tmp_path / "whole", settings={"video": True})
    return (tmp_path / "whole" / LABEL / "scores.jsonl").read_bytes()


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 20))])
def test_killed_at_random_moments_it_ends_with_the_same_bytes(
    seed: int, data: Path, tmp_path: Path, expected: bytes
) -> None:
    rng = random.Random(seed)
    out = tmp_path / "out"
    journal = out / LABEL / "journal.jsonl"
    kills = 0
    for _ in range(30):
        process = start(data, out)
        # A few tasks further on than the last attempt, at any moment within a task.
        further = count(journal) + rng.randint(2, 5)
        while process.poll() is None and count(journal) < further:
            time.sleep(0.002)
        try:
            output, errors = process.communicate(timeout=rng.uniform(0, 0.05))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            continue
        assert process.returncode == 0, errors
        assert output == "8 expected = 7 scored + 1 skipped + 0 failed\n"
        break
    assert kills > 0
    assert (out / LABEL / "scores.jsonl").read_bytes() == expected
    left_over = [path for path in out.rglob("*") if path.name.startswith(".")]
    assert left_over == []
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [line["error"] for line in lines if line["status"] == "failed"] == []
    done = [line["task"] for line in lines]
    assert len(set(done)) == 8
    assert len(done) == 8, "a finished task was done again"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_stop_is_clean(number: signal.Signals, data: Path, tmp_path: Path, expected: bytes) -> None:
    cli = [
        sys.executable,
        "-m",
        "worldgauge.cli.main",
        "run",
        "echo",
        "--data",
        str(data),
        "--out",
        str(tmp_path / "out"),
    ]
    command = [*cli, "--model", "enginedoubles:Steady?wait=0.05", "--set", "video=true"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "out" / "steady-wait-0.05" / "journal.jsonl"
    while process.poll() is None and count(journal) < 3:
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors.endswith("stopped; finished work is kept, and the same command continues from here\n")
    assert "Traceback" not in errors
    assert list((tmp_path / "out").rglob(".*")) == []
    assert children_of(process.pid) == []


def test_a_full_disk_is_one_clear_line_and_the_run_goes_on_later(data: Path, tmp_path: Path, expected: bytes) -> None:
    out = tmp_path / "out"
    process = start(data, out, 1500)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 2, errors
    assert output.startswith("RunError")
    assert output.count("\n") == 1
    assert "then start the same command again" in output
    assert list(out.rglob(".*")) == []
    process = start(data, out)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert output == "8 expected = 7 scored + 1 skipped + 0 failed\n"
    assert (out / LABEL / "scores.jsonl").read_bytes() == expected


def test_a_torn_journal_line_is_done_again(data: Path, tmp_path: Path, doubles: ModuleType) -> None:
    model = doubles.Steady()
    out = tmp_path / "out"
    run("echo", model=model, data=data, out=out)
    journal, scores = out / "steady" / "journal.jsonl", out / "steady" / "scores.jsonl"
    whole = scores.read_bytes()
    text = journal.read_bytes()
    journal.write_bytes(text[:-7])
    scores.unlink()
    assert run("echo", model=model, data=data, out=out).ok
    assert scores.read_bytes() == whole
    lines = [json.loads(line)["task"] for line in journal.read_text().splitlines()]
    assert sorted(lines) == ["even/0", "even/2", "odd/1", "odd/3"]


def count(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def children_of(pid: int) -> list[str]:
    """Command lines of processes whose parent is `pid`."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if f"\nPPid:\t{pid}\n" in status.read_text():
                found.append(os.readlink(status.parent / "exe"))
        except OSError:
            continue
    return found
