"""`check-world` passes a server that keeps its word, and names what another one breaks."""

from pathlib import Path

import pytest

from support.commands import command
from support.served import MODELS, PYTHON

pytestmark = pytest.mark.process


def checked(folder: Path, settings: str) -> tuple[int, list[str]]:
    """Exit code and lines of the command on a server of small tables."""
    done = command(
        folder, "check-world", f"cmd:{PYTHON} -m worldgauge_serve '{MODELS / 'tables.py'}:Tables?{settings}'"
    )
    return done.returncode, done.stdout.splitlines() or done.stderr.splitlines()


def test_a_server_that_keeps_its_word(tmp_path: Path) -> None:
    code, lines = checked(tmp_path, "tasks=2&slow_s=0.02")
    assert code == 0
    assert lines[0] == "ok    describes itself: straight: 2 tasks, views front, wrist, exact"
    names = [line[6:].partition(":")[0] for line in lines[1:-1]]
    assert names == [
        *("reach-0", "reach-1", "wrong names", "three tables at once", "two processes at once", "killed while it acts")
    ]
    assert lines[-1] == "7 of 7 checks ok"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("fault=leaves+out", "FAIL  reach-0: the state after pose 1 differs"),
        ("fault=leaves+out&exact=false", "ok    reach-0: hands within 0.50 mm"),
        ("fault=pictures", "FAIL  reach-0: states are the same, but pictures differ"),
    ],
)
def test_a_server_that_does_not(settings: str, said: str, tmp_path: Path) -> None:
    code, lines = checked(tmp_path, settings)
    assert any(line.startswith(said) for line in lines), lines
    assert code == int(said.startswith("FAIL"))


def test_what_serves_no_table_is_one_line(tmp_path: Path) -> None:
    done = command(tmp_path, "check-world", "cmd:no-such-program")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'no-such-program' cannot be started: there is no such program" in done.stderr
