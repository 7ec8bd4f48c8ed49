"""Small real data sets for every test that needs recorded walks, episodes or builds: collected once a test run."""

import fcntl
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from support.chat_endpoint import FakeEndpoint
from support.closedloop_fixture import make_closedloop_data
from support.target_fixture import make_target_data
from support.task_context import QuietContext
from worldgauge.core.episode import Episode
from worldgauge.engine.collection.kernel import collect
from worldgauge.engine.run import run
from worldgauge.engine.suite.contract import Task
from worldgauge.report import write_report
from worldgauge.suites.closedloop.recognition.recogniser.recognition import FILE_VARIABLE, save
from worldgauge.suites.closedloop.recognition.recogniser.training import train
from worldgauge.suites.loopnav.suite import LoopNav
from worldgauge.suites.loopnav.tasks import episode_of

pytest_plugins = ["support.chat_fixtures"]

os.environ["WORLDGAUGE_OFFLINE"] = "1"  # no test brings weights from anywhere but its own server

# Started in the background of a script, tests inherit that Ctrl-C is ignored, and so would all that they interrupt.
with suppress(ValueError):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# Tests start some hundred Pythons, and none of them need compile our modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder `name` that `make` has filled: by the first test process that asks, and the others wait for it."""
    root = factory.getbasetemp()
    # Test processes that run side by side have neighbouring folders.
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder, done = root / name, root / f"{name}.done"
    with open(root / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir(exist_ok=True)  # what failed here fails in the next process, too
            make(folder)
            done.touch()
    return folder


@pytest.fixture(scope="session")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of two loops (ABA and ABCA, range 5) of one settlement at 160x90."""
    few = {"settlements": 1, "ranges": (5,), "per_combination": 1, "seed": 3, "size": (160, 90)}
    return made_once(tmp_path_factory, "walks", lambda root: collect("loopnav", root, **few))


@pytest.fixture(scope="session")
def tasks(walks: Path) -> list[Task]:
    """The tasks of `walks`: ABA first."""
    return list(LoopNav().tasks(walks))


@pytest.fixture(scope="session")
def walk(tasks: list[Task]) -> tuple[Episode, int]:
    """The ABA episode and the index of its first hidden frame."""
    return episode_of(tasks[0])


@pytest.fixture
def task_context(tmp_path: Path) -> QuietContext:
    return QuietContext(tmp_path)


@pytest.fixture(scope="session")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of three Target-Bench scenarios at 160x90 and 5 frames a second: a curve, straight ahead, a turn."""
    return made_once(tmp_path_factory, "scenarios", make_target_data)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File of a recogniser of four homes: poor, but trained in seconds."""
    return made_once(tmp_path_factory, "eyes", lambda root: save(train(4, held_out=1), root / "eyes.npz")) / "eyes.npz"


@pytest.fixture(scope="session")
def eyes(trained: Path) -> Iterator[Path]:
    """What agents see with from here on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FILE_VARIABLE, str(trained))
        yield trained


@pytest.fixture(scope="session")
def episodes(tmp_path_factory: pytest.TempPathFactory, eyes: Path) -> Path:
    """Folder of closed-loop data in one home: two episodes of each task, goal images 64x36."""
    return made_once(tmp_path_factory, "episodes", lambda root: make_closedloop_data(root, 2))


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    """A language model behind an address of this machine."""
    fake = FakeEndpoint()
    yield fake
    fake.close()


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of three builds with six tasks each, 36 questions on a figure, two on rooms."""
    few = {"structures": 3, "stimuli": 1, "commonsense": 2, "views": "yaw", "size_px": 64, "seed": 3}
    return made_once(tmp_path_factory, "builds", lambda root: collect("build", root, **few))


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of MIND data in first and third person at 64x36: a clip of 48 frames and a start image of each."""
    few = {"families": ("urban",), "train": 0, "mem": 1, "action_space": 0, "mirror": 1, "frames": 48, "size": (64, 36)}
    return made_once(tmp_path_factory, "clips", lambda root: collect("mind", root, **few))


@pytest.fixture(scope="session")
def loops(episodes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent in a home, with no world model and with the oracle: records whose films the suite makes."""
    root = tmp_path_factory.mktemp("loops")
    settings = {"view_px": 48, "panorama_px": 128, "decisions": 2, "task": "navigation"}
    run("closedloop", model=["none", "oracle"], data=episodes, out=root, settings=settings)
    return root


@pytest.fixture(scope="session")
def loop_page(loops: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report([loops], tmp_path_factory.mktemp("loop_page"))
