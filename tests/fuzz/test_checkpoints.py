"""Damaged checkpoints, where torch is there to read them."""

import pytest

from support.fuzzing import fuzz


def test_damaged_checkpoints_are_refused_in_one_line() -> None:
    pytest.importorskip("torch")
    done = fuzz("--cases", "1000", "checkpoint", "pth")
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout
    assert "| all | 2,000 |" in done.stdout
