"""Many tasks, and machines that misbehave: short forms of the benchmarks, which must also go on working themselves."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from worldgauge.suites import suites


@pytest.fixture(scope="module")
def benches() -> Iterator[Any]:
    """The benchmarks, whose suite is known only as long as these tests run."""
    from benchmarks import clients, faults, load, resume

    yield SimpleNamespace(clients=clients, faults=faults, load=load, resume=resume)
    del suites._entries["bench-bare"]


def test_finding_what_is_done_is_measured(monkeypatch: pytest.MonkeyPatch, benches: Any) -> None:
    monkeypatch.setattr(benches.resume, "TASKS", 20)
    assert {"ours", "reference"} <= benches.resume.run().keys()


@pytest.mark.slow
def test_a_run_its_report_and_the_viewer_are_measured_as_it_grows(tmp_path: Path, benches: Any) -> None:
    found = benches.load.measure(40, tmp_path)
    assert [step["tasks"] for step in found["steps"]] == list(range(4, 41, 4))
    assert all(one["resume"] > 0 for one in found["us_a_task"].values())
    assert found["page_mb"] > 0


@pytest.mark.slow
def test_a_server_under_slow_and_lying_clients_answers_the_others(benches: Any) -> None:
    found = benches.clients.measure(20, 2)
    assert found["answers"] == {"right": 20}
    assert found["met"], found


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="no mkfs.ext4 here")
def test_full_disks_broken_disks_jumping_clocks_and_other_drivers_cost_nothing(benches: Any) -> None:
    found = benches.faults.measure(2)
    if "not_run" in found:
        pytest.skip(found["not_run"])
    for name, one in found["kinds"].items():
        assert "not_run" in one or (one["same_bytes"] and one["one_line_each"] and one["hits"]), (name, one)
