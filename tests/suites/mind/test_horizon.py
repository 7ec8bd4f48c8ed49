"""Long horizons and the answer to a key: what is asked, what is skipped, and delays that are found exactly."""

import re

import numpy as np
import pytest

from suites.mind.mind_data import write_published
from support.task_context import QuietContext
from worldgauge.core.actions import Actions, ActionSpace, Axis, Motion, camera_path
from worldgauge.core.errors import DataError
from worldgauge.core.model import ModelSpec
from worldgauge.engine.resume import task_key
from worldgauge.suites.mind.suite import Mind

pytestmark = pytest.mark.usefixtures("compared_small")
MEM = "1st_data/mem_test/data-25"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Walks of 8 s at 24 frames/s, of which two thirds are asked for."""
    root = tmp_path_factory.mktemp("long")
    return write_published(root, clips=1, frames=192, size=(64, 36), perspectives=("1st",))


class Slow:
    """The true future, `delay` frames late."""

    def __init__(self, delay):
        self._delay = delay
        self.spec = ModelSpec("slow", inputs=frozenset({"truth"}), settings={"delay": delay})

    def rollout(self, request):
        return (request.truth[max(0, k - self._delay)][None] for k in range(request.horizon))

    def camera_path(self, request):
        late = np.concatenate([np.repeat(request.context.poses[-1:], self._delay, 0), request.truth_poses])
        return late[: request.horizon]


def scores(delay, data, folder, **settings):
    suite = Mind(poses="exact", tests="mem", **settings)
    task = next(task for task in suite.tasks(data) if task.id == MEM)
    folder.mkdir(parents=True)
    record = suite.perform(task, Slow(delay), QuietContext(folder))
    return {one.metric: one for one in suite.score(record, QuietContext(folder))}


@pytest.mark.parametrize("delay", [0, 1, 9])
def test_a_made_up_delay_is_found_exactly(delay, data, tmp_path):
    found = scores(delay, data, tmp_path / "r", horizon_s=5.0)
    latency = found["lcm/key_latency"]
    assert latency.n > 2
    assert latency.value == delay / 24
    assert {one["frames"] for one in latency.facts["answers"]} == {delay}
    assert found["lcm/keys_answered"].value == 1
    assert found["lcm/rpe_trans"].n == 119, "with horizon_s the camera is judged over all of it"
    if delay == 0:
        assert (found["lcm/colour_drift"].value, found["lcm/move_cosine"].value) == (0, pytest.approx(1))
        assert found["lcm/turn_cosine"].value == pytest.approx(1)


class Listener:
    """Draws nothing, and goes where a chain of sentences says, each heard `delay` frames late."""

    def __init__(self, delay):
        self._delay = delay
        self.spec = ModelSpec("listener", control="text")

    def rollout(self, request):
        return (request.context.clip[-1][None] for _ in range(request.horizon))

    def camera_path(self, request):
        steps = np.zeros((request.horizon + self._delay, 5))
        ends = [*(one.frame for one in request.prompts[1:]), request.horizon]
        for (first, text), end in zip(request.prompts, ends, strict=True):
            for word, amount in re.findall(r"(forward|backward|left|right|up|down) ([\d.]+) ", text):
                column, sign = {"forward": (0, 1), "backward": (0, -1), "up": (4, 1), "down": (4, -1)}.get(
                    word, (3 if "turn" in text.lower() else 1, 1 if word == "left" else -1)
                )
                unit = 1.0 if column < 3 else np.pi / 180
                steps[first + self._delay : end + self._delay, column] = sign * unit * float(amount) / (end - first)
        space = ActionSpace(
            "steps", tuple(Axis(str(k), "length", Motion(*row)) for k, row in enumerate(np.eye(5))), 24.0
        )
        return camera_path(Actions(space, steps[: request.horizon].astype(np.float32)), request.context.poses[-1])


@pytest.mark.parametrize("delay", [0, 6])
def test_a_model_of_text_follows_a_chain_of_sentences(delay, data, tmp_path):
    suite = Mind(poses="exact", tests="mem", horizon_s=5.0)
    task = next(task for task in suite.tasks(data) if task.id == MEM)
    record = suite.perform(task, Listener(delay), QuietContext(tmp_path))
    found = {one.metric: one for one in suite.score(record, QuietContext(tmp_path))}
    assert (found["lcm/key_latency"].value, found["lcm/keys_answered"].value) == (pytest.approx(delay / 24), 1)
    if delay == 0:
        assert found["lcm/move_cosine"].value == pytest.approx(1, abs=0.02)
        assert found["lcm/turn_cosine"].value == pytest.approx(1, abs=0.02)


def test_tables_over_time(data, tmp_path):
    made = {"slow": list(scores(9, data, tmp_path / "slow", horizon_s=5.0).values())}
    tables = {one.metric: one for one in Mind().summarize(made, {"slow": "model"}, {})}
    for name in ("mse_720p", "colour_drift", "move_cosine"):
        assert tables[f"lcm/{name}/over_time"].columns == ("0 to 2 s", "2 to 5 s")
    assert tables["lcm/key_latency"].rows[0].cells[0].mean == 9 / 24
    assert [row.label for row in tables["lcm/colour_change/over_time"].rows if row.kind == "baseline"]


def test_a_horizon_in_seconds(data):
    suite = Mind(horizon_s=2.0)
    assert suite.options.frames_asked == 48
    assert not any(task.skip for task in suite.tasks(data))
    with pytest.raises(DataError, match=r"longest ends 5\.33 s after its context.*--frames 2160"):
        list(Mind(horizon_s=60).tasks(data))


def test_a_walk_that_ends_sooner_is_skipped_with_the_reason(data, tmp_path):
    short = write_published(tmp_path, clips=2, frames=60, size=(64, 36), perspectives=("1st",))
    (short / "1st_data/test/mem_test/data-26").rename(data / "1st_data/test/mem_test/data-26")
    tasks = {task.id: task.skip for task in Mind(horizon_s=3.0).tasks(data)}
    assert tasks[MEM] is None
    reason = tasks["1st_data/mem_test/data-26"]
    assert "the recording ends 1.67 s after what is shown, horizon_s asks for 3 s" in reason
    assert tasks["1st_data/mirror_test/data-0/path-1"] is None


def test_records_without_a_horizon_keep_their_identity(data):
    """A setting that is not given is as if it had never been there: old runs go on."""
    task = next(iter(Mind().tasks(data)))
    keys = {task_key(suite, task, {}, 0) for suite in (Mind(), Mind(horizon_s=None), Mind(horizon_s=2.0))}
    assert len(keys) == 2
