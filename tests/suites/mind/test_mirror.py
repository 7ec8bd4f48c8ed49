"""The ten out-and-back paths, against the vector file of the specification."""

import math
import sys

import numpy as np
import pytest

from suites.mind.mind_data import write_published
from support.places import TESTS
from support.task_context import Given, QuietContext
from support.vectors import cases
from worldgauge.core.errors import ShapeError, UnknownNameError
from worldgauge.core.geometry import pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.metrics.frame_pairs import prepared
from worldgauge.suites.mind.actions import LEG, MIRROR_PATHS, actions_of, mirror_poses, space_of, steps_of, walk_look
from worldgauge.suites.mind.format.read import load
from worldgauge.suites.mind.format.results import results_of
from worldgauge.suites.mind.suite import Mind
from worldgauge.suites.mind.tasks import clip_of

COLUMNS = ("ws", "ad", "ud", "lr")


def test_names_stand_in_the_order_of_the_videos():
    assert list(MIRROR_PATHS) == ["w", "s", "u", "down", "a", "d", "wl", "wr", "sl", "sr"]


@pytest.mark.parametrize("case", cases("mind_mirror_paths", "cases"))
def test_vector(case):
    assert case["video"] == f"path-{1 + list(MIRROR_PATHS).index(case['name'])}.mp4"
    keys = MIRROR_PATHS[case["name"]]
    assert (keys.shape, keys.dtype) == ((2 * LEG, 4), np.uint8)
    for rows, codes in ((keys[:LEG], case["out_keys"]), (keys[LEG:], case["back_keys"])):
        assert (rows == [codes.get(column, 0) for column in COLUMNS]).all()
    space = walk_look(case["delta_p_cm_per_s"] / 100, case["delta_r_deg_per_frame"])
    poses = mirror_poses(case["name"], np.array(pose_from_yaw_pitch((0, 0, 0), 0.0)), space)
    assert poses.shape == (48, 4, 4)
    for row, moment in ((11, "after_half_out"), (23, "after_out"), (47, "after_back")):
        yaw, pitch = yaw_pitch_from_pose(poses[row])
        x, y, z = case[moment]["xyz_cm"]
        # Engine axes have y and yaw to the right.
        np.testing.assert_allclose(100 * poses[row, :3, 3], (x, -y, z), atol=1e-8)
        assert math.degrees(-yaw) == pytest.approx(case[moment]["yaw"], abs=1e-8)
        assert math.degrees(pitch) == pytest.approx(case[moment]["pitch"], abs=1e-8)


@pytest.mark.parametrize("name", MIRROR_PATHS)
@pytest.mark.parametrize("arm_m", [0.0, 2.5])
def test_the_way_back_goes_over_the_poses_of_the_way_out(name, arm_m):
    start = pose_from_yaw_pitch((3, -2, 1.7), 2.1, -0.2)
    poses = mirror_poses(name, start, walk_look(), arm_m)
    there_and_back = np.concatenate([start[None], poses])
    np.testing.assert_allclose(there_and_back, there_and_back[::-1], atol=1e-12)
    assert not np.allclose(there_and_back[LEG], start, atol=0.1)


def test_keys_of_ones_own_lead_as_far_as_they_go():
    """Three frames of forward and look left at 2 m/s and 1 degree: half a degree, then one and a half, ..."""
    poses = mirror_poses([(1, 0, 0, 1)] * 3, np.array(pose_from_yaw_pitch((0, 0, 0), 0.0)), walk_look())
    angles = np.radians([0.5, 1.5, 2.5])
    np.testing.assert_allclose(poses[-1, :2, 3], (np.cos(angles).sum() / 12, np.sin(angles).sum() / 12))


def test_what_cannot_be_meant_is_refused():
    start = np.eye(4)
    with pytest.raises(UnknownNameError, match="Did you mean 'down'"):
        mirror_poses("dwon", start, walk_look())
    for keys in ([1, 0, 0, 0], [[1, 0, 0]], [[3, 0, 0, 0]]):
        with pytest.raises(ShapeError, match="key codes"):
            actions_of(keys, walk_look())


PATH = "1st_data/mirror_test/data-0/path-1"
SERVER = TESTS / "support" / "perception_server.py"
NAMES = ("gsc_lpips", "gsc_aligned_lpips")


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    root = tmp_path_factory.mktemp("published")
    data = write_published(root, clips=1, frames=30, size=(32, 18), perspectives=("1st",))
    return next(task for task in Mind().tasks(data) if task.id == PATH)


@pytest.fixture(scope="module")
def frames():
    return np.random.default_rng(2).integers(0, 256, (48, 18, 32, 3), np.uint8)


@pytest.fixture(scope="module")
def record(task, frames, tmp_path_factory):
    return Mind().perform(task, Given(frames), QuietContext(tmp_path_factory.mktemp("record")))


def scored(record, **settings):
    return {s.metric: s for s in Mind(**settings).score(record, QuietContext(record.directory))}


@pytest.mark.usefixtures("compared_small")
def test_both_pairings_are_looked_at(task, record, frames):
    # The server's distance is the mean absolute difference of values in [-1, 1].
    found = scored(record, lpips=f"cmd:{sys.executable} -m worldgauge_serve {SERVER}:Lpips")
    states = [prepared(frame) for frame in (load(clip_of(task)).clip[0], *frames)]
    pairs = {"gsc_lpips": [(k + 1, 48 - k) for k in range(24)], "gsc_aligned_lpips": [(k, 48 - k) for k in range(24)]}
    for name in NAMES:
        expected = [2 * np.abs(states[a] - states[b]).mean(dtype=np.float64) for a, b in pairs[name]]
        assert [k for k, _ in found[name].series] == list(range(24))
        np.testing.assert_allclose([value for _, value in found[name].series], expected, rtol=1e-5)
        assert found[name].value == pytest.approx(np.mean(expected), rel=1e-5)
        assert (found[name].facts["network"]["estimator"], found[name].facts["path"]) == ("absolute", "w")
    assert found["gsc_lpips"].value != found["gsc_aligned_lpips"].value
    (entry,) = results_of(list(found.values()), [])["data"]
    (video,) = entry["video_results"]
    assert video["gsc"]["lpips"] == [value for _, value in found["gsc_lpips"].series]


@pytest.mark.parametrize(
    ("settings", "words"),
    [({}, "weights were not given"), pytest.param({"lpips": "bad"}, "0 distances", marks=pytest.mark.slow)],
)
def test_without_a_network_that_works_it_is_missing(record, settings, words, tmp_path):
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


def test_a_space_says_how_far_its_keys_lead():
    assert (steps_of(walk_look()), steps_of(space_of(0.4, 100.0))) == ((1.0, 200.0), (0.4, 100.0))


def test_codes_become_the_buttons_of_the_space():
    space = walk_look()
    for column, names in enumerate((("forward", "back"), ("left", "right"), ("look_up", "look_down"))):
        for code, name in enumerate(names, start=1):
            keys = np.zeros((1, 4), np.uint8)
            keys[0, column] = code
            actions = actions_of(keys, space)
            assert (actions.column(name)[0], actions.values.sum()) == (1, 1)
