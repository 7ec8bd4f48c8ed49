"""What all tests share. Each suite offers its data as the fixture `<name>_data` in `suites/<name>/fixtures.py`."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from support.chat_endpoint import FakeEndpoint
from support.task_context import QuietContext

_SUITES = sorted(path.parent.name for path in (Path(__file__).parent / "suites").glob("*/fixtures.py"))
pytest_plugins = ["support.chat_fixtures", *(f"suites.{name}.fixtures" for name in _SUITES)]

os.environ["WORLDGAUGE_OFFLINE"] = "1"  # no test brings weights from anywhere but its own server

# Started in the background of a script, tests inherit that Ctrl-C is ignored, and so would all that they interrupt.
with suppress(ValueError):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# Tests start some hundred Pythons, and none of them need compile our modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.fixture
def task_context(tmp_path: Path) -> QuietContext:
    return QuietContext(tmp_path)


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    """A language model behind an address of this machine."""
    fake = FakeEndpoint()
    yield fake
    fake.close()
