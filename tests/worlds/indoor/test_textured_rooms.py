"""The textured test rooms: their walks, and what their clips show."""

import numpy as np
import pytest

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import rotation_angle, wrap_angle, yaw_pitch_from_pose
from worldgauge.worlds.indoor.textured_rooms import (
    CLIPS,
    HISTORY_M,
    KEPT_OFF_M,
    PATH_M,
    ROOM_CAMERA,
    ROOM_M,
    WALKS,
    TexturedRoom,
    room_clip,
    room_walk,
    with_noise,
)


def test_camera_noise_and_unknown_names() -> None:
    assert (ROOM_CAMERA.width, ROOM_CAMERA.height) == (640, 360)
    assert np.degrees(2 * np.arctan(320 / ROOM_CAMERA.fx)) == pytest.approx(80)
    assert ROOM_CAMERA.fx == pytest.approx(ROOM_CAMERA.fy)
    # Noise has the deviation asked for and follows its generator.
    grey = np.full((2, 60, 80, 3), 128, np.uint8)
    one, two = (with_noise(grey, 2.5, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(one, two)
    assert one.astype(float).std() == pytest.approx(2.52, abs=0.1)
    assert with_noise(grey, 0, np.random.default_rng(3)) is grey
    # Unknown names and seeds are refused.
    for call in (
        lambda: TexturedRoom("maze"),
        lambda: room_walk("maze"),
        lambda: room_clip("maze"),
        lambda: TexturedRoom(seed=-1),
    ):
        with pytest.raises(WorldError):
            call()


@pytest.mark.parametrize("kind", WALKS)
def test_walks_and_what_keeps_off_them(kind: str) -> None:
    walk = room_walk(kind, 97, seed=3)
    assert walk.poses.shape == (97, 4, 4)
    assert walk.fps == 12
    xy = walk.poses[:, :2, 3]
    length = np.linalg.norm(np.diff(xy, axis=0), axis=1).sum()
    assert length == pytest.approx(0 if kind in ("still", "spin") else PATH_M, abs=0.01)
    assert np.linalg.norm(walk.history[:2, 3] - xy[0]) == pytest.approx(HISTORY_M, abs=0.02)
    assert np.abs(walk.poses[:, 2, 3] - 0.45).max() <= 0.0101
    yaw, pitch = yaw_pitch_from_pose(walk.poses)
    turned = np.degrees(wrap_angle(yaw[-1] - yaw[0]))
    expected = {"curve": 30, "turn": -90, "straight": 0, "still": 0, "spin": 80}[kind]
    assert turned == pytest.approx(expected, abs=5)
    if kind == "still":
        assert (rotation_angle(walk.poses[0, :3, :3].T @ walk.poses[:, :3, :3]) == 0).all()
    else:
        assert 0.2 < np.degrees(pitch).std() < 0.9
    # Seven boxes keep off the path and one another.
    for seed in range(5):
        room, walk = TexturedRoom(kind, seed), room_walk(kind, 40, seed)
        held = room.boxes.bounds[room.boxes.category == room.categories.index("box")]
        assert len(held) == 7
        for x0, y0, z0, x1, y1, z1 in held:
            assert 0 <= x0 < x1 <= ROOM_M[0]
            assert 0 <= y0 < y1 <= ROOM_M[1]
            assert 0 == z0 < z1 < ROOM_M[2]
            for xy in [walk.history[:2, 3], *walk.poses[:, :2, 3]]:
                gap = np.maximum(np.maximum((x0, y0) - xy, xy - (x1, y1)), 0)
                assert np.linalg.norm(gap) > KEPT_OFF_M - 0.02
        for i, one in enumerate(held):
            for other in held[:i]:
                assert not ((one[:2] < other[3:5]) & (other[:2] < one[3:5])).all()


def test_textures_contrast_and_detail() -> None:
    room, repeated = TexturedRoom("turn", 2), TexturedRoom("turn", 2, repeat=True)
    assert len(np.unique(room.boxes.face_seeds)) == room.boxes.face_seeds.size
    assert len(np.unique(repeated.boxes.face_seeds)) == 3
    np.testing.assert_array_equal(room.boxes.bounds, repeated.boxes.bounds)
    # Contrast scales what is seen.
    pose = room_walk("curve").poses[0]
    full, low = (TexturedRoom("curve", 1, contrast=c).view(pose, ROOM_CAMERA).rgb.astype(float) for c in (1.0, 0.15))
    assert 0.08 < low.std() / full.std() < 0.5
    assert full.std() > 35
    # Every wall is closed and rich in detail.
    walk = room_walk("straight")
    view = TexturedRoom("straight", 4).view(walk.poses[48], ROOM_CAMERA)
    assert np.isfinite(view.depth).all()
    grey = view.rgb.mean(-1)
    tiles = grey[:360, :640].reshape(9, 40, 16, 40).std((1, 3))
    assert np.median(tiles) > 12


def test_clips_differ_from_their_plain_walk_as_named() -> None:
    size = (160, 90)
    clips = {name: room_clip(name, frames=5, size=size, noise=0) for name in CLIPS}
    assert all(clip.frames.shape == (5, 90, 160, 3) for clip in clips.values())
    assert all(clip.anchor_distance_m == pytest.approx(HISTORY_M, abs=0.02) for clip in clips.values())
    plain = clips["curve"]
    assert all((clips["still"].frames[0] == frame).all() for frame in clips["still"].frames)
    assert not np.array_equal(clips["still"].history_frame, clips["still"].frames[0])
    assert (
        np.abs(np.diff(clips["blur"].frames.astype(int), axis=2)).mean()
        < 0.95 * np.abs(np.diff(plain.frames.astype(int), axis=2)).mean()
    )
    moved = np.abs(clips["moving_box"].frames.astype(int) - plain.frames).sum(-1) > 30
    columns = [np.flatnonzero(frame.any(0)).mean() for frame in moved]
    assert columns[-1] > columns[0] + 20, "the box goes from left to right"
    assert np.array_equal(clips["moving_box"].poses, plain.poses)
