"""XFeat: turns in place, parts tied by shared points, and what cannot be placed, on exact points and matches."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from adapters.xfeat import XFeat, camera_path, pairs_of

from worldgauge.core.geometry import invert, pose_from_yaw_pitch

SIZE, HFOV_DEG = (640, 360), 90.0
FOCAL_PX = SIZE[0] / 2 / math.tan(math.radians(HFOV_DEG) / 2)
LEFT = [(-1, 0, 0), (0, 0, 0), (1.5, 0, 0), (3, 0, 0), (3, 0, 40), (3, 0, 80), (3.3, 1.5, 80), (3.6, 3, 80)]
"""Anchor and frames: x and y in metres, heading in degrees. A walk, a turn to the left in place, and a walk."""
BACK = [*LEFT[:4], (3, 0, 60), (3, 0, 120), (3, 0, 180), (1.5, 0, 180), (0, 0, 180)]
AT_ONCE = [(-1, 0, 0), (0, 0, 0), (0, 0, 60), (0, 0, 120), (0, 0, 180), (-1.5, 0, 180), (-3, 0, 170), (-4.5, 0, 170)]


class Room:
    """Points on walls, and what a camera sees of them: 0.2 px off, every fourth as another one."""

    identity = {"weights": "none"}  # noqa: RUF012

    def __init__(self, places: list[tuple[float, float, float]]) -> None:
        self.rng = np.random.default_rng(1)
        turns = self.rng.uniform(0, 2 * np.pi, 4000)
        far = self.rng.uniform(6, 12, (4000, 1))
        self.points = np.concatenate([far * np.c_[np.cos(turns), np.sin(turns)], self.rng.uniform(-3, 3, (4000, 1))], 1)
        x, y, heading = np.array(places, float).T
        self.poses = pose_from_yaw_pitch(np.stack([x, y, 0 * x], -1), np.radians(heading), -0.05)
        self.seen = [self._seen(invert(pose)) for pose in self.poses]

    def _seen(self, camera: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = self.points @ camera[:3, :3].T + camera[:3, 3]
        pixels = own[:, :2] / own[:, 2:] * FOCAL_PX + np.array(SIZE) / 2
        inside = np.flatnonzero((own[:, 2] > 0.1) & ((pixels > 0) & (pixels < SIZE)).all(1))
        return inside, pixels[inside] + self.rng.normal(0, 0.2, (len(inside), 2))

    def features(self, image: np.ndarray) -> int:
        """The number of an image: its grey."""
        return int(image[0, 0, 0])

    def places(self, number: int) -> np.ndarray:
        return self.seen[number][1]

    def matches(self, one: int, other: int) -> np.ndarray:
        _, a, b = np.intersect1d(self.seen[one][0], self.seen[other][0], return_indices=True)
        b = b.copy()
        b[::4] = b[::4][::-1]
        return np.stack([a, b], -1)


def decoded(places: list[tuple[float, float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Camera-to-world poses (n, 4, 4) in the frame of image 1, and the true ones."""
    room = Room(places)
    matches = {pair: room.matches(*pair) for pair in combinations(range(len(places)), 2)}
    found = camera_path([pixels for _, pixels in room.seen], matches, FOCAL_PX, SIZE)
    return found[1] @ np.linalg.inv(found), invert(room.poses[1]) @ room.poses


def turned_deg(poses: np.ndarray) -> np.ndarray:
    return np.degrees(np.arccos(np.clip((np.trace(poses[:, :3, :3], axis1=1, axis2=2) - 1) / 2, -1, 1)))


def test_a_turn_within_the_view_keeps_the_scale() -> None:
    found, true = decoded(LEFT)
    scale = 1 / np.linalg.norm(found[0, :3, 3])  # the anchor is 1 m behind
    np.testing.assert_allclose(found[:, :3, 3] * scale, true[:, :3, 3], atol=0.08)
    assert turned_deg(invert(true) @ found).max() < 0.5


def test_after_a_turn_to_the_back_nothing_is_placed_as_its_scale_is_unknown() -> None:
    found, true = decoded(BACK)
    assert np.isfinite(found[:, 0, 0]).tolist() == [True] * 7 + [False] * 2
    assert turned_deg(invert(true[:7]) @ found[:7]).max() < 0.5
    np.testing.assert_allclose(found[4:7, :3, 3], found[[3, 3, 3], :3, 3], atol=1e-9)


def test_frames_that_turn_before_they_walk_are_a_shape_without_an_anchor() -> None:
    found, true = decoded(AT_ONCE)
    assert np.isnan(found[0]).all()
    assert turned_deg(invert(true[1:]) @ found[1:]).max() < 0.5
    scale = 4.5 / np.linalg.norm(found[-1, :3, 3])
    np.testing.assert_allclose(found[1:, :3, 3] * scale, true[1:, :3, 3], atol=0.05)


def test_the_anchor_is_first_in_time_and_last_in_the_answer() -> None:
    room = Room(LEFT)
    images = np.broadcast_to(np.arange(len(LEFT), dtype=np.uint8)[:, None, None, None], (len(LEFT), *SIZE[::-1], 3))
    arrays = {"anchor": images[0], "frames": images[1:]}
    answer, facts = XFeat(backend=room).estimate(arrays, {"hfov_deg": HFOV_DEG})
    assert answer["poses"].shape == (len(LEFT), 3, 4)
    np.testing.assert_allclose(answer["poses"][-1], np.eye(3, 4), atol=1e-9)
    assert facts["focal_px"] == pytest.approx(FOCAL_PX)
    with pytest.raises(ValueError, match="state no field of view; give hfov_deg=DEGREES"):
        XFeat(backend=room).estimate(arrays, {"hfov_deg": None})
    other: dict[str, Any] = {**arrays, "anchor": images[0, :100]}
    with pytest.raises(ValueError, match=r"the anchor is \(100, 640, 3\), the frames are \(360, 640, 3\)"):
        XFeat(backend=room, hfov_deg=90).estimate(other, {})


def test_few_images_are_all_matched_and_many_with_later_ones() -> None:
    assert pairs_of(4) == list(combinations(range(4), 2))
    assert [pair for pair in pairs_of(40) if pair[0] == 30] == [(30, 31), (30, 32), (30, 33), (30, 34), (30, 38)]
