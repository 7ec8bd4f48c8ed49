"""A model of another rate: asked at its own for the same seconds, resampled at the times of the recording."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from support.task_context import QuietContext
from worldgauge.core.actions import LOOP_WALK, Actions, ActionSpace, Axis, Motion, motions
from worldgauge.core.episode import Context, Episode
from worldgauge.core.errors import ModelError, NotApplicableError, ShapeError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import Clip
from worldgauge.engine.options import options_of
from worldgauge.engine.resume import model_identity, score_key, task_key
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Record, Task
from worldgauge.engine.suite.rollout import (
    ROLLOUT,
    BridgeSettings,
    RateBridge,
    Resample,
    at_rate,
    bridge_notes,
    fit_context,
    poses_between,
    read_poses,
    shared_out,
)
from worldgauge.models.baselines.truth import TruthModel
from worldgauge.worlds.tabletop.pose_plans import slerp

FPS = 24.0
SIZE = (16, 8)
CAMERA = Camera.from_vertical_fov(*SIZE, 75)
SPACE = ActionSpace(
    "test", (Axis("forward", "button", Motion(forward=0.1)), Axis("turn", "angle", Motion(yaw=1.0))), FPS
)


def line(n: int, first: int = 0) -> FloatArray:
    """n poses a frame apart that move 0.3, -0.2 and 0.1 m and turn 0.05 rad a frame, from frame `first` on."""
    k = np.arange(first, first + n, dtype=np.float64)
    return pose_from_yaw_pitch(k[:, None] * [0.3, -0.2, 0.1], 0.05 * k, 0.0)


def greys(levels: FloatArray) -> Frames:
    """Frames of one grey level each."""
    return np.broadcast_to(np.rint(levels).astype(np.uint8)[:, None, None, None], (len(levels), *SIZE[::-1], 3)).copy()


def actions(rows: FloatArray) -> Actions:
    return Actions(SPACE, np.asarray(rows, np.float32))


def keys(pattern: str) -> Actions:
    """One row a character; # is a frame in which the key is held."""
    return actions(np.array([[one == "#", 0.0] for one in pattern], np.float64).reshape(-1, 2))


def pressed(found: Actions) -> str:
    return "".join("#" if value == 1 else "." for value in found.values[:, 0])


def request_of(horizon: int, *, context: int = 3) -> RolloutRequest:
    """A walk in a straight line; recorded frame k has the grey level 2 k, from the last frame of the context on."""
    seen = Context(
        Clip.from_array(greys(np.zeros(context)), FPS),
        line(context, 1 - context),
        actions(np.ones((context - 1, 2))),
        CAMERA,
    )
    return RolloutRequest(
        seen,
        horizon,
        seed=3,
        actions=actions(np.tile([1.0, 0.05], (horizon, 1))),
        poses=line(horizon, 1),
        truth=Clip.from_array(greys(2.0 * np.arange(1, horizon + 1)), FPS),
        truth_poses=line(horizon, 1),
    )


# worked by hand


def test_six_frames_at_24_are_four_at_16() -> None:
    bridge = RateBridge(16, 24, 6)
    assert (bridge.own_frames, bridge.frames) == (4, 6)
    own = bridge.request(request_of(6))
    assert own.horizon == 4
    assert own.poses is not None
    assert own.actions is not None
    assert own.truth is not None
    assert_allclose(own.poses[:, 0, 3], np.array([1.5, 3, 4.5, 6]) * 0.3, atol=1e-12)
    assert_allclose(own.actions.column("turn"), 1.5 * 0.05, rtol=1e-6)
    assert [int(frame[0, 0, 0]) for frame in own.truth] == [4, 6, 10, 12], "of frames 2, 3, 5, 6: half goes up"
    levels = np.array([50.0, 100, 150, 200])
    frames = np.concatenate(list(bridge.draw([greys(levels)], greys(np.zeros(1))[0])))
    assert frames[:, 0, 0, 0].tolist() == [50, 50, 100, 150, 150, 200]
    blended = np.concatenate(list(replace(bridge, resample="blend").draw([greys(levels)], greys(np.zeros(1))[0])))
    assert blended[:, 0, 0, 0].tolist() == [33, 67, 100, 133, 167, 200]


def test_half_the_rate_draws_each_frame_twice() -> None:
    bridge = RateBridge(12, 24, 6)
    frames = np.concatenate(list(bridge.draw([greys(np.array([10.0, 20, 30]))], greys(np.zeros(1))[0])))
    assert frames[:, 0, 0, 0].tolist() == [10, 10, 20, 20, 30, 30]


def test_before_half_a_frame_has_passed_the_last_frame_shown_is_nearest() -> None:
    bridge = RateBridge(6, 24, 8)
    frames = np.concatenate(list(bridge.draw([greys(np.array([40.0, 80]))], greys(np.array([7.0]))[0])))
    assert frames[:, 0, 0, 0].tolist() == [7, 40, 40, 40, 40, 80, 80, 80]


def test_a_horizon_of_no_whole_multiple_ends_with_the_last_frame_that_fits() -> None:
    bridge = RateBridge(16, 24, 97)
    assert (bridge.own_frames, bridge.frames) == (64, 96)
    assert bridge.facts == {
        "own_fps": 16,
        "fps": 24,
        "resample": "nearest",
        "keys": "majority",
        "own_frames": 64,
        "frames_asked": 97,
        "never_imagined": 1,
    }


@pytest.mark.parametrize(
    ("given", "fps", "expected"),
    [
        ("######", 16, "####"),
        ("###...", 16, "##.."),
        ("#.....", 16, "#..."),
        (".#....", 16, "#..."),  # half of its time in each of two rows: the first that it fills most
        ("##....", 12, "#.."),
        (".##...", 12, ".#."),  # half of two rows: held in the row that it begins
        ("#.#.#.", 12, "###"),
        ("...#..", 4, "#"),  # a tap is not lost
        ("...#..", 48, "......##...."),
        ("......", 16, "...."),
    ],
)
def test_a_key_is_held_where_it_was_held_for_most_of_the_time(given: str, fps: float, expected: str) -> None:
    own = round(len(given) * fps / FPS)
    assert pressed(shared_out(keys(given), np.arange(own + 1) * FPS / fps, fps)) == expected


def test_a_held_key_moves_as_far_in_the_same_time() -> None:
    own = shared_out(keys("#" * 24), np.arange(17) * 1.5, 16)
    assert motions(own).sum(axis=0)[0] == pytest.approx(2.4) == motions(keys("#" * 24)).sum(axis=0)[0]
    assert own.space.fps == 16
    assert own.space.axes[1] == SPACE.axes[1], "an angle is an amount, whatever the rate"


# against other implementations


def test_rotations_agree_with_quaternions() -> None:
    rng = np.random.default_rng(4)
    yaw, pitch = rng.uniform(-3, 3, 7), rng.uniform(-1, 1, 7)
    poses = pose_from_yaw_pitch(rng.normal(size=(7, 3)), yaw, pitch)
    at = rng.uniform(0, 6, 40)
    from scipy.spatial.transform import Rotation

    quaternions = Rotation.from_matrix(poses[:, :3, :3]).as_quat()
    lower = np.floor(at).astype(int)
    expected = Rotation.from_quat(slerp(quaternions[lower], quaternions[lower + 1], at - lower)).as_matrix()
    found = poses_between(poses, at)
    assert_allclose(found[:, :3, :3], expected, atol=1e-9)
    for axis in range(3):
        assert_allclose(found[:, axis, 3], np.interp(at, np.arange(7), poses[:, axis, 3]), atol=1e-12)
    assert_array_equal(found[:, 3], np.tile([0, 0, 0, 1], (40, 1)))


@pytest.mark.parametrize("fps", [10, 16, 20, 23, 25, 30, 60])
def test_sums_agree_with_small_steps(fps: int) -> None:
    """Each row cut into as many equal pieces as there are frames a second at the other rate, in whole numbers."""
    rows = np.random.default_rng(fps).normal(size=(48, 2))
    rows[:, 0] = 0
    own = 2 * fps
    pieces = np.repeat(rows[:, 1] / fps, fps).reshape(own, 24).sum(axis=1)
    found = shared_out(actions(rows), np.arange(own + 1) * FPS / fps, fps)
    assert_allclose(found.column("turn"), pieces, atol=1e-6)
    assert found.column("turn").sum() == pytest.approx(rows[:, 1].sum(), abs=1e-5)


@pytest.mark.parametrize(("own_fps", "fps"), [(16, 24), (24, 16), (25, 20), (7, 30), (30, 7), (16, 20), (12.5, 24)])
@pytest.mark.parametrize("asked", [1, 5, 40, 97, 300])
def test_counts_agree_with_fractions(own_fps: float, fps: float, asked: int) -> None:
    ratio = Fraction(own_fps) / Fraction(fps)
    bridge = RateBridge(own_fps, fps, asked)
    own = int(asked * ratio)
    assert (bridge.own_frames, bridge.frames) == (own, min(asked, int(own / ratio)))


# what must not change


@pytest.mark.parametrize("own_fps", [16, 12, 25, 48, 10, 37])
def test_a_straight_line_comes_back_exactly(own_fps: float) -> None:
    bridge = RateBridge(own_fps, FPS, 72)
    asked = request_of(72)
    own = bridge.request(asked).poses
    assert own is not None
    assert asked.poses is not None
    back = bridge.poses(own, asked.context.poses[-1])
    assert_allclose(back, asked.poses[: bridge.frames], atol=1e-9)


@pytest.mark.parametrize("own_fps", [16, 12, 48])
@pytest.mark.parametrize("resample", ["blend", "nearest"])
def test_frames_of_steady_change_come_back(own_fps: float, resample: Resample) -> None:
    """Blended they are exact, up to rounding; the nearest is at most half a frame of the model away."""
    bridge = RateBridge(own_fps, FPS, 96, resample)
    own = greys(2 * FPS / own_fps * np.arange(1, bridge.own_frames + 1))
    found = np.concatenate(list(bridge.draw([own[:5], own[5:]], greys(np.zeros(1))[0])))[:, 0, 0, 0].astype(float)
    off = np.abs(found - 2 * np.arange(1, 97))
    assert off.max() <= (0.5 if resample == "blend" else FPS / own_fps + 0.5)
    assert resample == "blend" or own_fps == 48 or off.max() > 0.5


@pytest.mark.parametrize("parts", [[64], [1] * 64, [3, 0, 61]])
def test_chunks_of_any_length_draw_the_same(parts: list[int]) -> None:
    bridge = RateBridge(16, 24, 96, "blend")
    own = np.random.default_rng(0).integers(0, 256, (64, *SIZE[::-1], 3), dtype=np.uint8)
    ends = np.cumsum(parts)
    chunks = [own[end - part : end] for part, end in zip(parts, ends, strict=True)]
    given = list(bridge.draw(chunks, own[0]))
    assert len(given) == len(chunks), "each chunk gives a sign of life"
    assert_array_equal(np.concatenate(given), next(bridge.draw([own], own[0])))


@pytest.mark.parametrize("fps", [FPS, 24, 24.0000000001])
def test_a_model_of_the_same_rate_is_asked_as_it_is(fps: float) -> None:
    assert RateBridge.to(ModelSpec("m", fps=fps), FPS, 10) is None
    assert RateBridge.to(ModelSpec("m"), FPS, 10) is None


# the context


def test_a_context_at_another_rate_ends_with_the_same_frame() -> None:
    clip = Clip.from_array(greys(np.arange(10.0)), 24)
    given = Context(clip, line(10), actions(np.ones((9, 2))), CAMERA, lambda index: np.full((1, 1), index, np.float32))
    own = at_rate(given, 16)
    rows = [0, 2, 3, 5, 6, 8, 9]  # at frames 0, 1.5, 3, ... 9 of the recording
    assert [int(frame[0, 0, 0]) for frame in own.clip] == rows
    assert_array_equal(own.poses, given.poses[rows])
    assert own.clip.fps == 16
    assert_allclose(own.actions.column("turn"), 1.5)
    assert pressed(own.actions) == "######"
    assert own.depth is not None
    assert own.depth(1)[0, 0] == 2, "a frame keeps its own pose and depth"


def test_the_limit_counts_recorded_frames_and_the_model_its_own() -> None:
    given = Context(Clip.from_array(greys(np.arange(40.0)), 24), line(40), actions(np.ones((39, 2))), CAMERA)
    spec = ModelSpec("m", fps=12, max_context=8)
    whole = fit_context(given, spec, None, None)
    assert [int(frame[0, 0, 0]) for frame in whole.clip] == [25, 27, 29, 31, 33, 35, 37, 39]
    assert len(fit_context(given, spec, 9, None)) == 5
    steps = fit_context(given, spec, None, None, in_steps=True)
    assert (steps.clip.fps, len(steps)) == (24, 8)
    assert int(steps.clip[0][0, 0, 0]) == 32, "frames that are steps have no rate"


# degenerate


def test_one_frame_stays_one_frame() -> None:
    one = request_of(4, context=1).context
    for fps in (1, 16, 1000):
        own = at_rate(one, fps)
        assert (len(own), len(own.actions), own.clip.fps) == (1, 0, fps)
    assert_array_equal(poses_between(line(1), [0.0]), line(1))


def test_a_far_larger_rate() -> None:
    bridge = RateBridge(2400, 24, 3, "blend")
    own = bridge.request(request_of(3))
    assert (own.horizon, bridge.frames) == (300, 3)
    assert own.actions is not None
    assert own.actions.column("turn").sum() == pytest.approx(0.15)
    levels = greys(np.arange(1, 301) / 2)
    frames = np.concatenate(list(bridge.draw([levels], levels[0])))
    assert_array_equal(frames, levels[[99, 199, 299]])


@pytest.mark.parametrize(("own_fps", "asked"), [(1, 23), (23.9, 1), (25, 1), (0.001, 20000)])
def test_a_time_without_a_frame_of_the_model_is_not_asked(own_fps: float, asked: int) -> None:
    with pytest.raises(NotApplicableError, match=f"'m' makes {own_fps:g} frames/s: none of them"):
        RateBridge.to(ModelSpec("m", fps=own_fps), FPS, asked)


def test_a_far_smaller_rate_has_one_frame() -> None:
    bridge = RateBridge.to(ModelSpec("m", fps=1), FPS, 24)
    assert bridge is not None
    assert (bridge.own_frames, bridge.frames) == (1, 24)
    bridge = RateBridge.to(ModelSpec("m", fps=1), FPS, 47)
    assert bridge is not None
    assert (bridge.own_frames, bridge.frames) == (1, 24)


def test_times_outside_the_path_are_refused() -> None:
    with pytest.raises(ShapeError, match="a path of 3 frames has no pose"):
        poses_between(line(3), [2.5])
    with pytest.raises(ShapeError, match="no rotation"):
        poses_between(np.zeros((3, 4, 4)), [0.5])


def test_a_wrong_way_of_drawing_is_refused() -> None:
    with pytest.raises(UsageError, match="'resample' must be one of nearest, blend, got 'mean'"):
        options_of(BridgeSettings, "walks", {"resample": "mean"})


# in a suite


class Walks(Suite):
    """Forty frames of a straight walk, the first ten of them shown; each frame has its number as its grey level."""

    name = "walks"
    Settings = BridgeSettings

    def episode(self, task: Task) -> tuple[Episode, int]:
        rows = np.zeros((39, len(LOOP_WALK)), np.float32)
        rows[:, LOOP_WALK.column("forward")] = 1
        clip = Clip.from_array(greys(np.arange(40.0) * 4), fps=20)
        return Episode("x", clip, line(40), Actions(LOOP_WALK, rows), CAMERA), 10


TASK = Task("walks", "x", {}, "x")


class Grey:
    """Answers with frames whose grey level is their number, and knows its path."""

    def __init__(self, fps: float | None, *, extra: int = 0, size: tuple[int, int] = SIZE) -> None:
        self.spec = ModelSpec("grey", control="camera", fps=fps)
        self._extra, self._size = extra, size
        self.asked: list[RolloutRequest] = []

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        self.asked.append(request)
        frames = greys(np.arange(1.0, request.horizon + 1 + self._extra) * 5)
        yield np.ascontiguousarray(frames[:, : self._size[1], : self._size[0]])

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        return request.poses


def perform(model: object, folder: Path, **settings: object) -> Record:
    folder.mkdir()
    return Walks(**settings).perform(TASK, model, QuietContext(folder))


def test_a_suite_asks_at_the_rate_of_the_model(tmp_path: Path) -> None:
    model = Grey(16)
    record = perform(model, tmp_path / "a")
    (request,) = model.asked
    assert (request.horizon, request.context.clip.fps, len(request.context)) == (24, 16, 8)
    assert record.facts["bridge"] == RateBridge(16, 20, 30).facts
    assert (record.facts["frames_generated"], record.facts["fps"]) == (30, 20)
    clip = Clip.open(tmp_path / "a" / ROLLOUT)
    assert (len(clip), clip.fps) == (30, 20)
    nearest = np.floor(np.arange(1, 31) * 0.8 + 0.5)
    assert_array_equal(clip.to_array()[:, 0, 0, 0], 5 * nearest)
    assert_allclose(read_poses(record), line(30, 10), atol=1e-9)


def test_the_same_rate_gives_the_same_bytes_as_none(tmp_path: Path) -> None:
    none, same = perform(Grey(None), tmp_path / "none"), perform(Grey(20), tmp_path / "same")
    assert none.facts == same.facts
    assert "bridge" not in same.facts
    for file in (tmp_path / "none").iterdir():
        assert file.read_bytes() == (tmp_path / "same" / file.name).read_bytes()


def test_the_truth_through_the_bridge_shows_what_the_bridge_costs(tmp_path: Path) -> None:
    for fps, resample, worst in ((16, "nearest", 4), (16, "blend", 2), (10, "nearest", 4), (10, "blend", 0)):
        folder = tmp_path / f"{fps}-{resample}"
        record = perform(TruthModel(fps=fps), folder, resample=resample)
        found = Clip.open(folder / ROLLOUT).to_array()[:, 0, 0, 0].astype(int)
        assert len(found) == record.facts["frames_generated"] == 30
        assert np.abs(found - 4 * np.arange(10, 40)).max() == worst


def test_what_lies_beyond_the_last_frame_was_never_imagined(tmp_path: Path) -> None:
    record = perform(Grey(7), tmp_path / "a")
    assert record.facts["bridge"]["never_imagined"] == 2
    assert record.facts["frames_generated"] == len(Clip.open(tmp_path / "a" / ROLLOUT)) == 28


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Grey(16, extra=1), "25 frames where 24 were asked for"),
        (Grey(16, extra=-1), "stopped after 23 of 24 frames"),
        (Grey(16, size=(8, 8)), r"expected shape \(n, 8, 16, 3\), got \(24, 8, 8, 3\)"),
    ],
)
def test_another_length_or_size_fails_at_the_rate_of_the_model(model: Grey, words: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=words):
        perform(model, tmp_path / "a")
    assert not list((tmp_path / "a").iterdir())


def test_a_path_of_no_rotations_is_the_failure_of_the_model(tmp_path: Path) -> None:
    for fps in (16, 24):
        for fault in (np.zeros((4, 4)), np.diag([2.0, 2, 2, 1])):  # a stretched one is a rotation to who interpolates
            model = Grey(fps)
            model.camera_path = lambda request, one=fault: np.tile(one, (request.horizon, 1, 1))  # type: ignore[method-assign]
            with pytest.raises(ModelError, match="'grey': camera_path: pose 0 is no rotation"):
                perform(model, tmp_path / f"{fps}-{fault[0, 0]}")


def test_notes_name_who_was_asked_at_another_rate() -> None:
    bridges = [RateBridge(16, 24, 97).facts, RateBridge(16, 24, 96).facts]
    own = {"own_fps": 16.0, "fps": 10.0, "resample": None, "frames_asked": 128, "never_imagined": 0}
    assert bridge_notes({"a": bridges, "b": [], "c": [own]}, ["c"]) == [
        "a generates at 16 fps, resampled to 24 fps (nearest); 1 of 193 frames lack a generated frame.",
        "c generates at 16 fps, scored at the times of its own frames. "
        "It is ground truth: its loss is the cost of the rate alone.",
    ]


def test_only_models_with_a_rate_depend_on_how_frames_are_drawn() -> None:
    nearest, blend = Walks(), Walks(resample="blend")
    plain, rated = (model_identity(ModelSpec("m", fps=fps), "m") for fps in (None, 16))
    keys = {
        (suite.options.resample, one["fps"]): task_key(suite, TASK, one, 0)
        for suite in (nearest, blend)
        for one in (plain, rated)
    }
    assert keys["nearest", None] == keys["blend", None]
    assert keys["nearest", 16] != keys["blend", 16]
    assert score_key(nearest, "k") == score_key(blend, "k"), "scores depend on it through the record"


def test_lengths_that_a_model_declares_are_lengths_at_its_own_rate(tmp_path: Path) -> None:
    """30 frames at 20 a second are 10 at 7; with the picture, the next length of 4 n + 1 is 13."""
    model, plain = Grey(7), Grey(7)
    model.spec = replace(model.spec, lengths="4n+1")
    record = perform(model, tmp_path / "a")
    assert [request.horizon for request in model.asked] == [12]
    assert record.facts == {**perform(plain, tmp_path / "b").facts, "frames_made": 12}
    assert (tmp_path / "a" / ROLLOUT).read_bytes() == (tmp_path / "b" / ROLLOUT).read_bytes()
