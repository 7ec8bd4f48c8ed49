"""Run folders of made-up subjects, written once; the suite they belong to is registered for these tests only."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from report.toybench import ToyLoop, write_run
from worldgauge.registry import Entry
from worldgauge.report import write_report
from worldgauge.suites import suites

ERROR = "model '<b>x</b>' raised ValueError: <script>alert(1)</script> \"quoted\" & 'more'"


@pytest.fixture(scope="session", autouse=True)
def toyloop() -> Iterator[None]:
    suites.names()
    suites._entries["toyloop"] = Entry("toyloop", "tests", ToyLoop)
    yield
    del suites._entries["toyloop"]


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, toyloop: None) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for subject in ("keeper", "truth", "freeze", "noise", "forgetful"):
        write_run(root / subject, subject, each=1)
    write_run(root / "dreamer", "dreamer", each=1, error=ERROR)
    return root


@pytest.fixture(scope="session")
def page(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report([runs], tmp_path_factory.mktemp("page"))
