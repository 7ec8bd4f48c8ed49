"""Run folders of made-up models, written once; the suite they belong to is registered for these tests only."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from report.toybench import ToyLoop, write_run
from report.toypaths import ERROR as PATH_SUBJECTS
from report.toypaths import ToyPaths, write_paths
from report.toyplans import SAYS, ToyPlans, write_plans
from worldgauge.core.registry import Entry
from worldgauge.report import write_report
from worldgauge.suites import suites

ERROR = "model '<b>x</b>' raised ValueError: <script>alert(1)</script> \"quoted\" & 'more'"


@pytest.fixture(scope="session", autouse=True)
def _toys(toyloop: None) -> None:
    """Every test of a report has them; those of the viewer share only what they ask for."""


@pytest.fixture(scope="session")
def toyloop() -> Iterator[None]:
    suites.names()
    toys = {"toyloop": ToyLoop, "toyplans": ToyPlans, "toypaths": ToyPaths}
    suites._entries.update({name: Entry(name, "tests", toy) for name, toy in toys.items()})
    yield
    for name in toys:
        suites._entries.pop(name, None)  # another folder's tests may have taken them along already


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, toyloop: None) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for model in ("keeper", "truth", "freeze", "noise", "forgetful"):
        write_run(root / model, model, each=1)
    write_run(root / "dreamer", "dreamer", each=1, error=ERROR)
    return root


@pytest.fixture(scope="session")
def page(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report([runs], tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="session")
def plan_runs(tmp_path_factory: pytest.TempPathFactory, toyloop: None) -> Path:
    """Models that plan paths; films of other lengths, rates and shapes than the truth, one task that failed."""
    root = tmp_path_factory.mktemp("plan_runs")
    for model in SAYS:
        size = (60, 60) if model == "vague" else (96, 54)
        write_plans(root / model, model, size=size, fail=model == "sleeper")
    return root


@pytest.fixture(scope="session")
def plan_page(plan_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report([plan_runs], tmp_path_factory.mktemp("plan_page"))


@pytest.fixture(scope="session")
def path_runs(tmp_path_factory: pytest.TempPathFactory, toyloop: None) -> Path:
    """Flagged models, bars, a paper's tables, tasks of which nobody knows the truth."""
    root = tmp_path_factory.mktemp("path_runs")
    for model in PATH_SUBJECTS:
        write_paths(root / model, model)
    return root


@pytest.fixture(scope="session")
def path_page(path_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report([path_runs], tmp_path_factory.mktemp("path_page"))
