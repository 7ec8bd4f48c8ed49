"""`klt-vo` on the textured test rooms: small clips always, the acceptance bar at full size when slow tests run."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import cv2
import numpy as np
import pytest

from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch, relative, rotation_angle
from worldgauge.core.video import Clip
from worldgauge.perception.decoders import DecodedPath, DecodeRequest, decoders
from worldgauge.perception.decoders._tracks import AnchorPlace
from worldgauge.perception.decoders._views import PointScene, place, rotation_of, triangulate, turn_between, two_views
from worldgauge.perception.decoders.crosscheck import align_path
from worldgauge.perception.decoders.klt import KltVo, Map, TrackedPoints
from worldgauge.worlds.indoor.textured_rooms import CLIPS, RoomClip, room_clip
from worldgauge.worlds.voxel import Voxel

MOVING = [name for name in CLIPS if name not in ("still", "spin")]
FOCAL = 380.0


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    yield
    cv2.setNumThreads(before)


@cache
def small(name: str) -> RoomClip:
    return room_clip(name, frames=25, size=(320, 180))


@cache
def decoded(name: str) -> DecodedPath:
    return KltVo().decode(request_of(small(name)))


def quickly(request: DecodeRequest) -> DecodedPath:
    """With few key frames, which is enough to see what becomes of a request."""
    return KltVo(key_frames=9).decode(request)


def request_of(clip: RoomClip, hfov_deg: float | None = 80.0) -> DecodeRequest:
    return DecodeRequest(
        Clip.from_array(clip.frames, clip.fps), clip.history_frame, clip.anchor_distance_m, hfov_deg=hfov_deg
    )


def errors(path: DecodedPath, poses: FloatArray) -> tuple[float, float]:
    """ATE after similarity alignment and FDE as given, metres."""
    assert path.positions is not None
    truth = relative(poses[0], poses)[path.frame_indices][:, :3, 3]
    apart = align_path(path.positions, truth).apply(path.positions) - truth
    return float(np.sqrt((apart**2).sum(1).mean())), float(np.linalg.norm(path.xy[-1] - truth[-1, [0, 2]]))


def test_a_walk_is_found_again() -> None:
    clip, path = small("curve"), decoded("curve")
    assert (path.status, path.reason, path.decoder) == ("ok", "", "klt-vo")
    assert path.frame_indices.tolist() == np.linspace(0, 24, 9).astype(int).tolist()
    assert path.xy.shape == (9, 2)
    assert (path.xy[0] == 0).all()
    ate, fde = errors(path, clip.poses)
    assert ate <= 0.02
    assert fde <= 0.10
    assert path.rotations is not None
    truth = relative(clip.poses[0], clip.poses)[path.frame_indices][:, :3, :3]
    assert np.degrees(rotation_angle(np.swapaxes(truth, 1, 2) @ path.rotations)).max() < 0.5
    assert path.focal_px == pytest.approx(clip.camera.fx, rel=0.02)
    assert path.scale == pytest.approx(clip.anchor_distance_m / path.anchor_estimated)
    assert path.registered.all()
    assert path.diagnostics["reprojection_px"] < 1.0
    assert path.diagnostics["points_per_frame"] > 100


def test_bytes_repeat_and_settings_are_registered() -> None:
    first, again = (quickly(request_of(small("curve"))) for _ in range(2))
    for name in ("xy", "positions", "rotations", "frame_indices", "registered"):
        assert getattr(first, name).tobytes() == getattr(again, name).tobytes()
    assert first.diagnostics == again.diagnostics
    decoder = decoders.get("klt-vo")()
    assert (decoder.name, decoder.version) == ("klt-vo", 4)
    assert set(decoder.settings) == {"key_frames", "followed", "opencv"}
    assert KltVo(side_px=320).settings == {**decoder.settings, "side_px": 320}
    path = decoded("still")
    assert path.status == "stationary"
    assert (path.xy == np.zeros((9, 2))).all()


def test_a_small_side_is_coarse_and_finds_the_walk() -> None:
    path = KltVo(key_frames=9, side_px=320).decode(request_of(small("curve")))
    assert path.status == "ok"
    ate, fde = errors(path, small("curve").poses)
    assert ate < 0.05
    assert fde < 0.3
    assert path.diagnostics["points_per_frame"] < 450


@pytest.mark.slow
def test_a_field_of_view_is_not_needed() -> None:
    clip = small("curve")
    path = quickly(request_of(clip, hfov_deg=None))
    assert path.status == "ok"
    ate, fde = errors(path, clip.poses)
    assert ate <= 0.02
    assert fde <= 0.15
    assert path.focal_px == pytest.approx(clip.camera.fx, rel=0.05)


@pytest.mark.parametrize("hfov_deg", [80.0, None])
def test_a_turn_in_place_is_no_walk(hfov_deg: float | None) -> None:
    path = quickly(request_of(small("spin"), hfov_deg))
    assert path.status == "stationary"
    assert "turns" in path.reason
    assert (path.xy == 0).all()
    assert path.diagnostics["turn_deg"] == pytest.approx(80, abs=2)
    # To the left: the last camera's z axis has turned towards -x.
    assert path.rotations[-1][0, 2] < -0.9


@pytest.mark.slow
def test_a_cut_leaves_the_part_before_it() -> None:
    clip = small("curve")
    frames = clip.frames.copy()
    frames[16:] = np.random.default_rng(0).integers(0, 256, frames[16:].shape, np.uint8)
    path = KltVo().decode(request_of(replace(clip, frames=frames)))
    assert (path.status, path.frame_indices.tolist()) == ("partial", [0, 3, 6, 9, 12, 15])
    assert path.registered.tolist() == [True] * 16 + [False] * 9
    ate, fde = errors(path, clip.poses)
    assert ate <= 0.02
    assert fde <= 0.10


def from_map(placed: int, step: float, fps: float) -> DecodedPath:
    """What becomes of a map with the first `placed` of 33 frames and those after the 14th, `step` metres apart."""
    shifts = np.zeros((33, 3))
    shifts[:, 2] = -step * np.arange(33)
    turns = np.tile(np.eye(3), (33, 1, 1))
    points = np.random.default_rng(0).uniform([-20, -20, 60], [20, 20, 90], (40, 3))
    local = points + shifts[:, None]
    xy = FOCAL * local[..., :2] / local[..., 2:]
    known = (np.arange(33) < placed) | (np.arange(33) > 14)
    built = Map(PointScene(turns, shifts, points, FOCAL), known, np.ones((33, 40), bool), np.ones(40, bool), 5.0)
    there = AnchorPlace(np.eye(3), np.array([0.0, 0.0, 1.0]), 40, 0.9, 0.5)
    image = np.zeros((180, 320, 3), np.uint8)
    request = DecodeRequest(Clip.from_array(np.tile(image, (33, 1, 1, 1)), fps), image, 1.0, max_speed_m_s=3.0)
    views = TrackedPoints(np.arange(33), xy, np.arange(33), xy)
    return KltVo()._path(request, built, there, views, np.arange(0, 33, 4), 640)


@pytest.mark.parametrize(
    ("placed", "status", "said"),
    [
        (1, "failed", "only 1 frame from the start was placed"),
        (2, "failed", "only 2 frames from the start were placed"),
        (3, "failed", "only 3 frames from the start were placed"),
        (5, "partial", "5 from the start"),
        (33, "ok", ""),
    ],
)
def test_a_start_alone_is_no_stillness(placed: int, status: str, said: str) -> None:
    path = from_map(placed, 0.5, 4.0)
    assert path.status == status
    assert said in path.reason
    assert (path.xy is None) == (status == "failed")


@pytest.mark.parametrize(
    ("halves", "status"),
    [((1.0, 1.04), "ok"), ((1.0, 1.1), "no_scale"), ((0.5, 0.5), "no_scale"), ((1.0, None), "no_scale")],
)
def test_a_scale_that_half_of_the_points_do_not_show_is_none(
    halves: tuple[float | None, float | None], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def guess(self: KltVo, request: DecodeRequest, points: slice = slice(None)) -> DecodedPath:
        scale = 1.0 if points == slice(None) else halves[points.start]
        if scale is None:
            return DecodedPath("failed", "klt-vo", "nothing")
        xyz = scale * np.linspace(0, 4, 9)[:, None] * [0.0, 0.0, 1.0]
        return DecodedPath("ok", "klt-vo", xy=xyz[:, [0, 2]], positions=xyz, frame_indices=np.arange(9), scale=scale)

    monkeypatch.setattr(KltVo, "guess", guess)
    path = KltVo().decode(request_of(small("curve")))
    assert (path.status, path.xy is None) == (status, status != "ok"), path.reason


def test_paths_without_a_sound_size() -> None:
    path = from_map(33, 1.0, 4.0)
    assert (path.status, path.xy) == ("failed", None)
    assert "4.0 m/s" in path.reason
    clip = small("curve")
    path = quickly(replace(request_of(clip), anchor=None, anchor_distance_m=None))
    assert path.status == "no_scale"
    assert "no anchor" in path.reason
    assert path.xy is None
    assert path.positions is not None
    truth = relative(clip.poses[0], clip.poses)[path.frame_indices][:, :3, 3]
    assert np.abs(align_path(path.positions, truth).apply(path.positions) - truth).max() < 0.04
    request = request_of(small("curve"))
    noise = np.random.default_rng(0).integers(0, 256, request.video[0].shape, np.uint8)
    path = quickly(replace(request, anchor=noise))
    assert path.status == "no_scale"
    assert "anchor" in path.reason
    assert path.xy is None


def test_an_anchor_is_found_only_in_its_known_direction() -> None:
    request = request_of(small("curve"))
    free, behind, ahead = (
        quickly(replace(request, anchor_xy=xy)) for xy in (None, np.array([0, -1]), np.array([0, 1]))
    )
    assert behind.xy is not None
    assert free.xy is not None
    assert np.array_equal(behind.xy, free.xy)
    assert ahead.status == "no_scale"


@pytest.mark.parametrize(
    ("frames", "status"),
    [
        (np.zeros((10, 90, 160, 3), np.uint8), "failed"),
        (np.random.default_rng(0).integers(0, 256, (10, 90, 160, 3), np.uint8), "failed"),
        (np.zeros((1, 90, 160, 3), np.uint8), "stationary"),
        (np.zeros((0, 90, 160, 3), np.uint8), "failed"),
        (np.zeros((3, 2, 3, 3), np.uint8), "failed"),
    ],
    ids=["black", "noise", "one frame", "no frame", "tiny"],
)
def test_videos_without_a_path(frames: np.ndarray, status: str) -> None:
    path = KltVo().decode(DecodeRequest(Clip.from_array(frames, 12.0), None, None, hfov_deg=80.0))
    assert path.status == status
    assert path.reason
    assert status == "stationary" or path.xy is None


def cloud(seed: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points, and the rotation vector and translation of a second view of them."""
    rng = np.random.default_rng(seed)
    return rng.uniform([-3, -2, 4], [3, 2, 9], (120, 3)), np.array([0.02, 0.1, -0.03]), np.array([0.3, 0.02, -0.5])


def seen(points: FloatArray, turn: FloatArray, shift: FloatArray) -> FloatArray:
    local = points @ rotation_of(turn).T + shift
    return FOCAL * local[:, :2] / local[:, 2:]


def test_views_of_known_points() -> None:
    points, turn, shift = cloud()
    first, second = seen(points, np.zeros(3), np.zeros(3)), seen(points, turn, shift)
    wrong = second.copy()
    wrong[:30] += 50.0
    pair = two_views(first, wrong, FOCAL)
    assert pair.rotation == pytest.approx(rotation_of(turn), abs=1e-3)
    assert pair.translation == pytest.approx(shift / np.linalg.norm(shift), abs=5e-3)
    placed = place(points, wrong, FOCAL)
    assert placed.rotation == pytest.approx(rotation_of(turn), abs=1e-6)
    assert placed.translation == pytest.approx(shift, abs=1e-6)
    assert placed.agree.tolist() == [False] * 30 + [True] * 90
    both = np.stack([np.eye(3), rotation_of(turn)]), np.stack([np.zeros(3), shift])
    found, angle, worst = triangulate(np.stack([first, second]), np.ones((2, 120), bool), *both, FOCAL)
    assert found == pytest.approx(points, abs=1e-6)
    assert worst.max() < 1e-4
    centre = -rotation_of(turn).T @ shift
    cosine = [np.dot(p, p - centre) / np.linalg.norm(p) / np.linalg.norm(p - centre) for p in points]
    assert angle == pytest.approx(np.degrees(np.arccos(cosine)), abs=1e-4)


def test_geometry_of_turns_and_of_few_points() -> None:
    points, turn, shift = cloud()
    first = seen(points, np.zeros(3), np.zeros(3))
    rotation, left = turn_between(first, seen(points, turn, np.zeros(3)), FOCAL)
    assert rotation == pytest.approx(rotation_of(turn), abs=1e-9)
    assert left < 1e-6
    assert turn_between(first, seen(points, turn, shift), FOCAL)[1] > 2.0
    points, turn, shift = cloud()
    assert place(points[:5], seen(points, turn, shift)[:5], FOCAL) is None
    rng = np.random.default_rng(0)
    assert place(points, rng.uniform(-300, 300, (120, 2)), FOCAL) is None
    assert two_views(rng.uniform(-300, 300, (120, 2)), rng.uniform(-300, 300, (120, 2)), FOCAL) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", MOVING)
def test_the_bar_is_kept_at_full_size(name: str) -> None:
    clip = room_clip(name)
    path = KltVo().decode(request_of(clip))
    assert path.status == "ok"
    ate, fde = errors(path, clip.poses)
    assert ate <= 0.02
    assert fde <= 0.10


@pytest.mark.slow
def test_equal_slabs_do_not_misplace_the_anchor() -> None:
    """A path of equal blocks a metre long looks alike a metre further back, where the anchor is not."""
    world = Voxel("plains", 3)
    start, yaw = np.array([134.72, 133.93]), -0.0084
    metres = np.concatenate([[-1.07], np.linspace(0, 4.34, 49)])
    ground = start + metres[:, None] * [np.cos(yaw), np.sin(yaw)]
    height = world.voxels.surface(int(start[0]), int(start[1])) + 1.45
    sway = np.radians(0.7) * np.sin(np.arange(50) / 3)
    poses = pose_from_yaw_pitch(np.column_stack([ground, np.full(50, height)]), yaw + sway, 0.5 * sway)
    camera = Camera(640, 360, 381.36, 381.36, 320, 180)
    frames = np.stack([world.view(pose, camera).rgb for pose in poses])
    path = KltVo().decode(DecodeRequest(Clip.from_array(frames[1:], 6.0), frames[0], 1.07, hfov_deg=80.0))
    assert path.status == "ok"
    ate, fde = errors(path, poses[1:])
    assert ate <= 0.02
    assert fde <= 0.15
