"""One small real data set for every test that needs recorded walks: collected once a test process."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from support.bench import QuietBench
from support.closedloop_fixture import make_closedloop_data
from support.target_fixture import make_target_data
from worldgauge.agents.vision.recognition import FILE_VARIABLE, save
from worldgauge.agents.vision.training import train
from worldgauge.engine.collect import collect_loopnav, collect_mind
from worldgauge.engine.collect.build import collect_build
from worldgauge.episode import Episode
from worldgauge.suites.contract import Task
from worldgauge.suites.loopnav import LoopNav
from worldgauge.suites.loopnav.tasks import episode_of

# Started in the background of a script, tests inherit that Ctrl-C is ignored, and so would all that they interrupt.
with suppress(ValueError):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of two loops (ABA and ABCA, range 5) of one settlement at 160x90."""
    root = tmp_path_factory.mktemp("walks")
    collect_loopnav(root, settlements=1, ranges=(5,), per_combination=1, seed=3, size=(160, 90))
    return root


@pytest.fixture(scope="session")
def tasks(walks: Path) -> list[Task]:
    """The tasks of `walks`: ABA first."""
    return list(LoopNav().tasks(walks))


@pytest.fixture(scope="session")
def walk(tasks: list[Task]) -> tuple[Episode, int]:
    """The ABA episode and the index of its first hidden frame."""
    return episode_of(tasks[0])


@pytest.fixture
def bench(tmp_path: Path) -> QuietBench:
    return QuietBench(tmp_path)


@pytest.fixture(scope="session")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of three Target-Bench scenarios at 160x90 and 5 frames a second: a curve, straight ahead, a turn."""
    return make_target_data(tmp_path_factory.mktemp("scenarios"))


@pytest.fixture(scope="session")
def eyes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What agents see with from here on: a recogniser of four homes, poor, but trained in seconds."""
    root = tmp_path_factory.getbasetemp()
    # Test processes that run side by side have neighbouring folders, and share the file.
    file = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "eyes.npz"
    if not file.exists():
        save(train(4, held_out=1), file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FILE_VARIABLE, str(file))
        yield file


@pytest.fixture(scope="session")
def episodes(tmp_path_factory: pytest.TempPathFactory, eyes: Path) -> Path:
    """Folder of closed-loop data in one home: two episodes of each task, goal images 64x36."""
    return make_closedloop_data(tmp_path_factory.mktemp("episodes"), 2)


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of three builds with six tasks each, 36 questions on a figure, two on rooms."""
    root = tmp_path_factory.mktemp("builds")
    collect_build(root, structures=3, stimuli=1, commonsense=2, views="yaw", size_px=64, seed=3)
    return root


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of MIND data in first and third person at 64x36: a clip of 48 frames and a start image of each."""
    root = tmp_path_factory.mktemp("clips")
    collect_mind(root, families=("urban",), train=0, mem=1, action_space=0, mirror=1, frames=48, size=(64, 36))
    return root
