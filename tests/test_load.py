"""Many tasks, and machines that misbehave: short forms of the benchmarks, which must also go on working themselves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from benchmarks import faults, load, resume


def test_finding_what_is_done_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume, "TASKS", 20)
    assert {"ours", "reference"} <= resume.run().keys()


@pytest.mark.slow
def test_a_run_its_report_and_the_viewer_are_measured_as_it_grows(tmp_path: Path) -> None:
    found = load.measure(40, tmp_path)
    assert [step["tasks"] for step in found["steps"]] == list(range(4, 41, 4))
    assert all(one["resume"] > 0 for one in found["us_a_task"].values())
    assert found["page_mb"] > 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="no mkfs.ext4 here")
def test_full_disks_broken_disks_jumping_clocks_and_other_drivers_cost_nothing() -> None:
    found = faults.measure(2)
    if "not_run" in found:
        pytest.skip(found["not_run"])
    for name, one in found["kinds"].items():
        assert "not_run" in one or (one["same_bytes"] and one["one_line_each"] and one["hits"]), (name, one)
