"""The journal keeps whole lines, drops a torn one, and has one writer."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worldgauge.core.errors import RunError
from worldgauge.engine.store import Journal, read_journal

REST = {"key": "k", "scores": None, "status": "done", "stage": "score", "error": None, "seconds": 0}
LINES = [{**REST, "task": f"t/{n}", "seconds": n / 7} for n in range(4)]


def write(path: Path, lines: list[dict[str, object]]) -> bytes:
    with Journal(path) as journal:
        for line in lines:
            journal.append(line)
    return path.read_bytes()


def test_what_was_appended_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(path, LINES[:2])
    write(path, [{**LINES[0], "status": "failed"}])
    with Journal(path) as journal:
        assert len(journal.lines) == 3
        assert journal.latest()["t/0"]["status"] == "failed"
    assert read_journal(path) == {"t/0": {**LINES[0], "status": "failed"}, "t/1": LINES[1]}


def test_cut_anywhere_in_the_last_two_lines_it_loses_only_what_was_torn(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    whole = write(path, LINES)
    ends = [index + 1 for index, byte in enumerate(whole) if byte == ord("\n")]
    for size in range(ends[1], len(whole) + 1):
        path.write_bytes(whole[:size])
        kept = sum(end <= size for end in ends)
        assert list(read_journal(path)) == [line["task"] for line in LINES[:kept]]
        with Journal(path) as journal:
            assert journal.lines == LINES[:kept]
            for line in LINES[kept:]:
                journal.append(line)
        assert path.read_bytes() == whole


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(
        st.fixed_dictionaries(
            {**{name: st.just(value) for name, value in REST.items()}, "task": st.text(max_size=20)}
            | {"error": st.none() | st.text(max_size=30)}
        )
    ),
    cut=st.integers(0, 400),
)
def test_any_lines_cut_anywhere_come_back_as_a_prefix(tmp_path: Path, lines: list[dict[str, object]], cut: int) -> None:
    path = tmp_path / "any.jsonl"
    path.unlink(missing_ok=True)
    whole = write(path, lines)
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    with Journal(path) as journal:
        kept = len(journal.lines)
        assert journal.lines == lines[:kept]
        if cut == 0:
            assert kept == len(lines)


def test_damage_within_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = write(path, LINES).splitlines(keepends=True)
    lacking = [json.dumps({k: v for k, v in LINES[1].items() if k != name}).encode() + b"\n" for name in LINES[1]]
    lacking.append(json.dumps({**LINES[1], "status": "../../elsewhere"}).encode() + b"\n")
    for bad in (b"{half\n", b"7\n", b"\n", b"\xff\xfe\n", b"[" * 100_000 + b"\n", *lacking):
        path.write_bytes(lines[0] + bad + lines[2])
        with pytest.raises(RunError, match="line 2 is damaged"):
            Journal(path)
        with pytest.raises(RunError, match="line 2 is damaged"):
            read_journal(path)


def test_a_journal_that_cannot_be_opened_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be written"):
        Journal(tmp_path)


def test_a_second_process_is_refused_while_the_first_writes(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    script = f"from worldgauge.engine.store import Journal\nfrom pathlib import Path\nJournal(Path({str(path)!r}))"
    with Journal(path):
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert f"another process (process {os.getpid()} on {platform.node()} since " in other.stderr
        assert "is working on this run; wait for it" in other.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["journal.jsonl"]
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_a_full_disk_leaves_no_part_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    whole = write(path, LINES[:2])
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from worldgauge.engine.store import Journal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"journal = Journal(Path({str(path)!r}))\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({len(whole) + 10}, {len(whole) + 10}))\n"
        "try:\n"
        f"    journal.append({json.loads(json.dumps(LINES[2]))!r})\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
        "journal.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.startswith("RunError")
    assert "the disk is full" in done.stdout
    assert "make room, then start the same command again" in done.stdout
    assert path.read_bytes() == whole
