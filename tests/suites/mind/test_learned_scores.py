"""LPIPS of the ten paths: from a served network, of both pairings, or missing with the reason."""

import sys
from pathlib import Path

import numpy as np
import pytest

from suites.mind.mind_data import write_published
from support.places import TESTS
from support.task_context import Given, QuietContext
from worldgauge.core.image import Frames
from worldgauge.engine.suite.contract import Record, Score, Task
from worldgauge.metrics.frame_pairs import prepared
from worldgauge.suites.mind import format as mind
from worldgauge.suites.mind.format.results import results_of
from worldgauge.suites.mind.suite import Mind
from worldgauge.suites.mind.tasks import clip_of

PATH = "1st_data/mirror_test/data-0/path-1"
SERVER = TESTS / "support" / "perception_server.py"
NAMES = ("gsc_lpips", "gsc_aligned_lpips")


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    root = tmp_path_factory.mktemp("published")
    data = write_published(root, clips=1, frames=30, size=(32, 18), perspectives=("1st",))
    return next(task for task in Mind().tasks(data) if task.id == PATH)


@pytest.fixture(scope="module")
def frames() -> Frames:
    return np.random.default_rng(2).integers(0, 256, (48, 18, 32, 3), np.uint8)


@pytest.fixture(scope="module")
def record(task: Task, frames: Frames, tmp_path_factory: pytest.TempPathFactory) -> Record:
    return Mind().perform(task, Given(frames), QuietContext(tmp_path_factory.mktemp("record")))


def scored(record: Record, **settings: str | None) -> dict[str, Score]:
    return {s.metric: s for s in Mind(**settings).score(record, QuietContext(record.directory))}


@pytest.mark.usefixtures("compared_small")
def test_both_pairings_are_looked_at(task: Task, record: Record, frames: Frames) -> None:
    # The server's distance is the mean absolute difference of values in [-1, 1].
    found = scored(record, lpips=f"cmd:{sys.executable} -m worldgauge_serve {SERVER}:Lpips")
    states = [prepared(frame) for frame in (mind.load(clip_of(task)).clip[0], *frames)]
    pairs = {"gsc_lpips": [(k + 1, 48 - k) for k in range(24)], "gsc_aligned_lpips": [(k, 48 - k) for k in range(24)]}
    for name in NAMES:
        expected = [2 * np.abs(states[a] - states[b]).mean(dtype=np.float64) for a, b in pairs[name]]
        assert [k for k, _ in found[name].series] == list(range(24))
        np.testing.assert_allclose([value for _, value in found[name].series], expected, rtol=1e-5)
        assert found[name].value == pytest.approx(np.mean(expected), rel=1e-5)
        assert found[name].facts["network"]["estimator"] == "absolute"
        assert found[name].facts["path"] == "w"
    assert found["gsc_lpips"].value != found["gsc_aligned_lpips"].value
    (entry,) = results_of(list(found.values()), []).data
    (video,) = entry.video_results  # type: ignore[union-attr]
    assert video.gsc is not None
    assert video.gsc.lpips == [value for _, value in found["gsc_lpips"].series]


@pytest.mark.parametrize(
    ("settings", "words"),
    [({}, "weights were not given"), pytest.param({"lpips": "bad"}, "0 distances", marks=pytest.mark.slow)],
)
def test_without_a_network_that_works_it_is_missing(
    record: Record, settings: dict[str, str], words: str, tmp_path: Path
) -> None:
    if settings:
        server = tmp_path / "bad.py"
        server.write_text(
            "from worldgauge_serve import EstimatorSpec\n"
            "class Bad:\n"
            "    spec = EstimatorSpec('bad', kind='lpips')\n"
            "    def estimate(self, arrays, options):\n"
            "        raise RuntimeError('0 distances')\n"
        )
        settings = {"lpips": f"cmd:{sys.executable} -m worldgauge_serve {server}:Bad"}
    found = scored(record, **settings)
    for name in NAMES:
        assert found[name].value is None
        assert words in str(found[name].reason)
    assert found["gsc_mse"].n == found["gsc_aligned_mse"].n == 24
