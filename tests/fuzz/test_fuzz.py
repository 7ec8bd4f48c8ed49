"""A short look with the fuzzer, what it once found, and that it would find what it is for."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from support.fuzzing import fuzz, fuzz_started

SECONDS = 10


def test_damaged_files_of_every_format_are_read_or_refused_in_one_line() -> None:
    done = fuzz("--hours", str(SECONDS / 3600))
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines()[2:]]
    assert len(rows) > 40
    cases = {row[0].strip(): int(row[1].replace(",", "")) for row in rows}
    assert all(cases.values())
    assert cases["all"] > 1000
    # Damage that nobody notices would be none.
    assert 20 < int(rows[-1][2].strip(" %")) < 95


def test_what_once_crashed_does_not() -> None:
    done = fuzz("--replay")
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout
    held = [path for path in (Path(__file__).parent / "corpus").rglob("*") if path.is_file()]
    assert f"| all | {len(held)} |" in done.stdout


def test_planted_faults_are_found() -> None:
    done = fuzz(module="fuzz.planted")
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert "ZeroDivisionError" in told["divides"]
    assert "several lines" in told["talks"]
    assert "no end within" in told["hangs"]
    assert "MB of memory" in told["swells"] or "MemoryError" in told["swells"]
    assert "processor time" in told["slow"]
    assert "ended with status" in told["dies"]
    assert told["sound"] == "nothing"


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_stopped_prints_its_table(ending: signal.Signals) -> None:
    started = fuzz_started("--hours", "9", "a.ply", "journal", round_s=0.3)
    assert started.stderr
    for line in started.stderr:
        if line.startswith("journal: "):
            break
    started.send_signal(ending)
    told, _ = started.communicate(timeout=60)
    assert started.returncode == 128 + ending
    cases = {row.split("|")[1].strip(): int(row.split("|")[2].replace(",", "")) for row in told.splitlines()[2:]}
    assert list(cases) == ["a.ply", "journal", "all"]
    assert cases["all"] == cases["journal"] + cases["a.ply"] > 100
