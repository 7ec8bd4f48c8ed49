"""What all tests share. Each suite offers its data as the fixture `<name>_data` in `suites/<name>/fixtures.py`."""

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support import kernels
from support.chat_endpoint import FakeEndpoint
from support.task_context import QuietContext

_SUITES = sorted(path.parent.name for path in (Path(__file__).parent / "tests/suites").glob("*/fixtures.py"))
pytest_plugins = ["support.chat_fixtures", "support.glow_fixtures", *(f"suites.{name}.fixtures" for name in _SUITES)]

os.environ["WORLDGAUGE_OFFLINE"] = "1"  # no test brings weights from anywhere but its own server

# Tests of one session share a cache, and leave that of the user alone.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _cache = tempfile.TemporaryDirectory(prefix="worldgauge-cache-")
    os.environ["WORLDGAUGE_CACHE"] = _cache.name

# A loaded machine is slow to draw examples, which says nothing about the code.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# Started in the background of a script, tests inherit that Ctrl-C is ignored, and so would all that they interrupt.
with suppress(ValueError):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# Tests start some hundred Pythons, and none of them need compile our modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the process that starts the others
        kernels.take()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        kernels.give()


LONGEST = (
    "test_docs.py",
    "engine/test_own_suites.py",
    "engine/test_run.py",
    "cli/test_main.py",
    "test_tutorial.py",
    "test_conformance.py",
    "tools/test_check_model.py",
    "report/test_browser.py",
    "engine/workers",
    "serving",
    "cli",
    "suites",
)
"""Files and folders of long tests, which begin first: none is left for one process at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        path = item.path.as_posix()
        return next((n for n, long in enumerate(LONGEST) if f"/tests/{long}" in path), len(LONGEST))

    items.sort(key=place)


def pytest_collection_finish() -> None:
    # Thousands of collected tests stay in memory; each collection of garbage would scan them.
    gc.freeze()


@pytest.fixture
def task_context(tmp_path: Path) -> QuietContext:
    return QuietContext(tmp_path)


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    """A language model behind an address of this machine."""
    fake = FakeEndpoint()
    yield fake
    fake.close()
