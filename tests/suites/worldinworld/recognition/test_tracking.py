"""Tracking of a target by geometry and by masks, and boxes of masks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.standins import ColourMasks, standing_in
from support.vectors import cases
from worldgauge.core.errors import ShapeError, WorldgaugeError
from worldgauge.core.geometry import Camera, Panorama, relative
from worldgauge.core.image import Box, Image
from worldgauge.core.panorama import perspective
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, Candidate, PolicyKit, Rollout
from worldgauge.suites.worldinworld.recognition.boxes import mask_box, target_box
from worldgauge.suites.worldinworld.recognition.chat import TrackedCandidate
from worldgauge.suites.worldinworld.recognition.tracking import (
    BoxTracker,
    TrackedTarget,
    TrackedView,
    follower,
    track_by_geometry,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.primitives import Primitive, Stance, Steps, walked

F, L = Primitive.FORWARD, Primitive.TURN_LEFT


CAMERA = Camera.from_horizontal_fov(64, 48, 90)


RED, GREY = (200, 0, 0), (90, 90, 90)


BOX = (10, 20, 20, 30)


WIDE, HIGH = 360, 180


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path))


def frame(box: Any, height: int = 48, width: int = 64) -> Any:
    image = np.full((height, width, 3), GREY, np.uint8)
    if box is not None:
        x0, y0, x1, y1 = box
        image[y0:y1, np.arange(x0, x1) % width] = RED
    return image


def target(box: Any = BOX) -> TrackedTarget:
    return TrackedTarget(box, frame(box), np.full((48, 64), 2.0, np.float32), CAMERA)


def rollout(*boxes: Any) -> Rollout:
    numbers = np.arange(len(boxes) + 1)
    return Rollout(np.stack([frame(BOX), *map(frame, boxes)]), "perspective", CAMERA, numbers, len(numbers))


def around(*boxes: Any, rule: Any = "clean") -> Rollout:
    """Panoramas of a pixel a degree."""
    frames = np.stack([frame(box, HIGH, WIDE) for box in boxes])
    numbers = np.arange(len(boxes))
    return Rollout(frames, "panorama", CAMERA, numbers, len(numbers), rule=rule)


def seen_in(one: Rollout, frames: Any, masks: ColourMasks | None = None, plan: Any = None) -> list[TrackedView]:
    track = BoxTracker(standing_in(masks or ColourMasks()))
    return list(track(target(), plan or ActionPlan((F, F, F), "test"), one, frames))


def test_boxes_are_those_of_the_masks_grown_as_the_real_ones() -> None:
    boxes = (12, 20, 22, 30), (30, 10, 50, 30)
    one = rollout(*boxes)
    found = seen_in(one, (1, 2))
    assert [(seen.frame, seen.action) for seen in found] == [(1, 1), (2, 2)]
    for seen, box in zip(found, boxes, strict=True):
        assert seen.box == target_box((frame(box) == RED).all(-1))
        assert seen.image is one.frames[seen.frame] or (seen.image == one.frames[seen.frame]).all()
    assert math.tan(found[1].off_rad) == pytest.approx((40 - CAMERA.cx) / CAMERA.fx)


def test_it_begins_with_the_real_box_in_frame_0() -> None:
    masks = ColourMasks()
    seen_in(rollout(BOX), (1,), masks)
    assert masks.boxes == [pytest.approx(BOX)]


def test_the_first_box_is_where_the_models_own_camera_sees_it() -> None:
    twice = CAMERA.resized(128, 96)
    assert target().box_seen_by(twice, 0.0) == pytest.approx((20, 40, 40, 60))
    cut = CAMERA.cropped(40, 48)
    assert target().box_seen_by(cut, 0.0) == pytest.approx((0, 20, 8, 30))
    left = target((32, 20, 40, 28)).box_seen_by(CAMERA, math.radians(-22.5))
    assert left[0] == pytest.approx(32 - CAMERA.fx * math.tan(math.radians(22.5)))
    assert target().box_seen_by(CAMERA, math.radians(-120)) is None


def test_a_plan_is_followed_to_the_first_empty_mask() -> None:
    one = rollout(BOX, None, BOX)
    assert [seen.frame for seen in seen_in(one, (1, 2, 3))] == [1]
    assert seen_in(one, (3,)) == [], "what comes back is not found again"
    assert (seen_in(one, (9,)), seen_in(one, ())) == ([], [])


def test_a_target_that_the_first_frame_does_not_show_is_not_followed() -> None:
    masks = ColourMasks()
    assert (seen_in(rollout(BOX), (1,), masks, ActionPlan((F,), "test", math.pi)), masks.boxes) == ([], [])


def test_boxes_up_to_all_of_a_view_are_kept_but_no_lines() -> None:
    whole, line = (0, 0, 64, 48), (10, 20, 40, 21)
    found = seen_in(rollout(whole, line, BOX), (1, 2, 3))
    assert [(seen.frame, seen.box) for seen in found] == [(1, whole), (3, (9, 19, 21, 31))]


def test_a_clip_is_looked_at_once_and_kept() -> None:
    masks = ColourMasks()
    first, again = seen_in(rollout(BOX, BOX), (1, 2), masks), seen_in(rollout(BOX, BOX), (2,), masks)
    assert (len(masks.boxes), again[0].box) == (1, first[1].box)
    seen_in(rollout(BOX, (11, 20, 21, 30)), (2,), masks)
    assert len(masks.boxes) == 2


def test_views_of_panoramas_are_turned_towards_it() -> None:
    """The box of the front view lies from 35 to 20.6 degrees to the left."""
    start = (145, 90, 160, 100)
    masks = ColourMasks()
    found = seen_in(around(start, (170, 85, 190, 105), (250, 85, 270, 105)), (1, 2), masks)
    x0, _, x1, _ = masks.boxes[0]
    assert (x0 + x1) / 2 == pytest.approx(180, abs=1), "the clip is rolled"
    assert x1 - x0 == pytest.approx(math.degrees(math.atan(22 / 32) - math.atan(12 / 32)), abs=1e-6)
    assert [math.degrees(seen.off_rad) for seen in found] == pytest.approx([0, 80], abs=1)
    for seen in found:
        assert seen.image.shape == (48, 64, 3)
        assert (seen.box[0] + seen.box[2]) / 2 == pytest.approx(32, abs=1)
        assert tuple(seen.image[seen.box[1] + 3, 32]) == RED


def test_the_seam_of_a_panorama_does_not_matter() -> None:
    """Ten degrees a frame to the left, from straight ahead to all around."""
    boxes = [(146 - 10 * k, 90, 162 - 10 * k, 100) for k in range(36)]
    found = seen_in(around(*boxes), range(1, 36))
    assert len(found) == 35
    widths = {seen.box[2] - seen.box[0] for seen in found}
    assert max(widths) - min(widths) <= 2
    turned = np.unwrap([seen.off_rad for seen in found])
    assert np.degrees(np.diff(turned)) == pytest.approx(-10, abs=1e-6)
    assert all(abs(seen.off_rad) <= math.pi for seen in found)


def test_of_a_turned_view_a_box_fills_half_at_most() -> None:
    small, large = (140, 85, 165, 105), (120, 60, 200, 120)
    assert [seen.frame for seen in seen_in(around(small, large, small), (1, 2))] == [2]


def test_turning_before_a_plan_moves_where_it_is_in_panoramas() -> None:
    """After a turn of 90 degrees to the left, what was 28 to the left is 62 to the right."""
    turned = (235, 90, 250, 100)
    (seen,) = seen_in(around(turned, turned), (1,), plan=ActionPlan((F,), "test", math.pi / 2))
    assert math.degrees(seen.off_rad) == pytest.approx(62, abs=1)


def test_views_are_cut_by_the_rule_of_the_rollout() -> None:
    one = around((146, 90, 162, 100), (146, 90, 162, 100), rule="released")
    (seen,) = seen_in(one, (1,))
    released = perspective(one.frames[1], CAMERA, yaw_right_deg=math.degrees(seen.off_rad), rule="released")
    assert (seen.image == released).all()
    (clean,) = seen_in(replace(one, rule="clean"), (1,))
    assert (seen.image != clean.image).any()


def test_the_language_model_is_shown_the_boxes_of_the_masks() -> None:
    one = replace(rollout(*[(10 + k, 20, 20 + k, 30) for k in range(1, 6)]), valid_len=3)
    here: Any = SimpleNamespace(box=BOX, front=frame(BOX), camera=CAMERA, depth=lambda side: np.ones((48, 64)))
    asked: list[int] = []

    def follow(*given: Any) -> Any:
        asked.append(len(given[2].frames))
        return BoxTracker(standing_in(ColourMasks()))(*given)

    (shown,) = TrackedCandidate.of([Candidate(ActionPlan((F, F), "test"), one, lambda: None)], here, follow)
    assert [(seen.frame, seen.box) for seen in shown.close] == [(3, (12, 19, 24, 31)), (5, (14, 19, 26, 31))]
    assert (len(shown.film_strip(0)), asked) == (1, [6, 3])


def test_geometry_unless_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert follower(PolicyKit("recognition", 4)) is track_by_geometry
    assert follower(PolicyKit("recognition", 4, options={"tracker": "geometry"})) is track_by_geometry
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "none"))
    follow = follower(PolicyKit("recognition", 4, options={"tracker": "sam2"}))
    with pytest.raises(WorldgaugeError, match="worldgauge weights pull sam2"):
        list(follow(target(), ActionPlan((F,), "test"), rollout(BOX), (1,)))


F_TRACKING, L_TRACKING, R = Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.TURN_RIGHT


CAMERA_TRACKING = Camera.from_horizontal_fov(96, 96, 90)


class Place:
    """A home, a stance from which something is well in view, and where steps lead from there."""

    def __init__(self) -> None:
        self.home = Home(7)
        rng = np.random.default_rng(2)
        floor = self.home.floor
        places = floor.points_of(np.argwhere(floor.clearance_m > 0.5))
        while True:
            x, y = places[rng.integers(len(places))]
            self.start = Stance(float(x), float(y), float(rng.uniform(-3, 3)))
            self.view = self.home.view(self.start.eye(), CAMERA_TRACKING)
            numbers, pixels = np.unique(self.view.instance[24:72, 36:60], return_counts=True)
            self.target = int(numbers[np.argmax(pixels * (numbers > 0))])
            hit = [walked(floor, stance, F_TRACKING)[1] for stance in self.along((F_TRACKING, F_TRACKING))]
            share = (self.view.instance == self.target).mean()
            if self.target and 0.02 < share < 0.2 and not any(hit):
                return

    def along(self, steps: Steps) -> list[Stance]:
        stances = [self.start]
        for step in steps:
            stances.append(walked(self.home.floor, stances[-1], step)[0])
        return stances

    def box(self, stance: Stance) -> Box:
        rows, columns = np.nonzero(self.home.view(stance.eye(), CAMERA_TRACKING).instance == self.target)
        return int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1

    @property
    def seen(self) -> TrackedTarget:
        return TrackedTarget(self.box(self.start), self.view.rgb, self.view.depth, CAMERA_TRACKING)

    def rollout(self, stances: Sequence[Stance], *, panorama: bool = False) -> Rollout:
        eye = Panorama(384, 192) if panorama else CAMERA_TRACKING
        frames = np.stack([self.home.view(stance.eye(), eye).rgb for stance in stances])
        numbers = np.arange(len(stances))
        return Rollout(frames, "panorama" if panorama else "perspective", CAMERA_TRACKING, numbers, len(stances))


@pytest.fixture(scope="module")
def place() -> Place:
    return Place()


def overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    both = max(0, across) * max(0, down)
    return both / (sum(areas) - both)


def test_motion_is_read_from_pixels(place: Place) -> None:
    for step in (F_TRACKING, L_TRACKING, R):
        stance = place.along((step,))[1]
        frame = place.home.view(stance.eye(), CAMERA_TRACKING).rgb
        moved = place.seen.moved(np.eye(4), step, frame, CAMERA_TRACKING)
        assert moved == pytest.approx(relative(place.start.eye(), stance.eye()), abs=1e-6)
        still = place.seen.moved(np.eye(4), step, place.view.rgb, CAMERA_TRACKING)
        assert still == pytest.approx(np.eye(4))


@pytest.mark.parametrize("steps", [(F_TRACKING, F_TRACKING), (L_TRACKING,), (R,), (L_TRACKING, F_TRACKING)])
def test_the_box_follows_true_frames(place: Place, steps: Steps) -> None:
    stances = place.along(steps)
    found = list(
        track_by_geometry(place.seen, ActionPlan(steps, "test"), place.rollout(stances), range(1, len(stances)))
    )
    assert [seen.frame for seen in found] == list(range(1, len(stances)))
    assert [seen.action for seen in found] == [seen.frame for seen in found]
    for seen in found:
        assert overlap(seen.box, place.box(stances[seen.frame])) > 0.5


def test_frozen_frames_keep_the_box_where_it_is(place: Place) -> None:
    for steps in ((F_TRACKING, F_TRACKING), (L_TRACKING, L_TRACKING), (R, F_TRACKING)):
        found = list(track_by_geometry(place.seen, ActionPlan(steps, "test"), place.rollout([place.start] * 3), (1, 2)))
        assert (len(found), found[0].box) == (2, found[1].box)
        assert overlap(found[0].box, place.box(place.start)) > 0.5


def test_it_ends_where_the_target_leaves_the_view(place: Place) -> None:
    stances = place.along((L_TRACKING,) * 6)
    found = list(
        track_by_geometry(place.seen, ActionPlan((L_TRACKING,) * 6, "test"), place.rollout(stances), range(1, 7))
    )
    assert 1 <= len(found) <= 4
    assert [seen.frame for seen in found] == list(range(1, len(found) + 1))


def test_panoramas_are_turned_towards_it(place: Place) -> None:
    stances = place.along((L_TRACKING,) * 6)
    rollout = place.rollout(stances, panorama=True)
    found = list(track_by_geometry(place.seen, ActionPlan((L_TRACKING,) * 6, "test"), rollout, range(1, 7)))
    assert len(found) == 6
    for seen in found:
        assert seen.image.shape == (96, 96, 3)
        assert seen.box[0] < 48 < seen.box[2]
    assert found[5].off_rad - found[0].off_rad == pytest.approx(np.radians(5 * 22.5), abs=1e-6)


def test_frames_that_are_not_asked_for_are_still_followed(place: Place) -> None:
    stances = place.along((F_TRACKING, F_TRACKING))
    whole = list(
        track_by_geometry(place.seen, ActionPlan((F_TRACKING, F_TRACKING), "test"), place.rollout(stances), (1, 2))
    )
    last = list(
        track_by_geometry(place.seen, ActionPlan((F_TRACKING, F_TRACKING), "test"), place.rollout(stances), (2, 9))
    )
    assert [seen.box for seen in last] == [whole[1].box]


def test_without_depth_nothing_is_followed(place: Place) -> None:
    blind = TrackedTarget((10, 10, 30, 30), place.view.rgb, np.full((96, 96), np.inf, np.float32), CAMERA_TRACKING)
    assert not blind.known
    assert (
        list(track_by_geometry(blind, ActionPlan((F_TRACKING,), "test"), place.rollout([place.start] * 2), (1,))) == []
    )


def test_views_are_cut_by_the_rule_of_the_rollout_of_tracking(place: Place) -> None:
    rollout = replace(place.rollout(place.along((L_TRACKING,)), panorama=True), rule="released")
    (seen,) = track_by_geometry(place.seen, ActionPlan((L_TRACKING,), "test"), rollout, (1,))
    turned = float(np.degrees(seen.off_rad))
    released = perspective(rollout.frames[1], CAMERA_TRACKING, yaw_right_deg=turned, rule="released")
    assert np.abs(seen.image.astype(int) - released).max() <= 3  # levels, for its colours are fitted to the real view
    clean = perspective(rollout.frames[1], CAMERA_TRACKING, yaw_right_deg=turned).astype(int)
    assert np.abs(clean - released).max() > 10


@pytest.mark.parametrize(
    "change",
    [
        lambda video: video + 25.0,
        lambda video: (video - 128.0) * 1.12 + 146,
        lambda video: video * np.array([1.06, 1, 0.92]),
    ],
    ids=["brighter", "contrast", "tint"],
)
def test_views_have_the_colours_of_the_real_view(place: Place, change: Callable[[Image], Image]) -> None:
    true = place.rollout(place.along((L_TRACKING, F_TRACKING)))
    changed = np.clip(np.rint(change(true.frames)), 0, 255).astype(np.uint8)
    changed[0] = true.frames[0]
    plan = ActionPlan((L_TRACKING, F_TRACKING), "test")
    want = list(track_by_geometry(place.seen, plan, true, (1, 2)))
    got = list(track_by_geometry(place.seen, plan, replace(true, frames=changed), (1, 2)))
    assert len(want) == len(got) == 2
    for one, other in zip(want, got, strict=True):
        assert np.abs(one.image.astype(int) - other.image).mean() < 3
        assert np.abs(changed[one.frame].astype(int) - true.frames[one.frame]).mean() > 5


def test_a_view_of_something_else_keeps_its_colours(place: Place) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    assert np.array_equal(place.seen.in_real_colours(noise, CAMERA_TRACKING, np.eye(4)), noise)


MASKS = [case for case in cases("wiw_loop", "cases") if case.values[0]["kind"] == "mask_box"]


def mask_of(*rectangles: tuple[int, int, int, int], size: tuple[int, int] = (60, 80)) -> np.ndarray:
    mask = np.zeros(size, bool)
    for y, x, height, width in rectangles:
        mask[y : y + height, x : x + width] = True
    return mask


@pytest.mark.parametrize("case", MASKS)
def test_mask_box_vectors(case: dict[str, Any]) -> None:
    mask = mask_of(*case["rect_y_x_h_w"], size=(case["H"], case["W"]))
    found = mask_box(mask, tuple(case["area_range"]))
    box, centre = case["expected"]["box"], case["expected"]["centre"]
    assert found.box == (None if box is None else (box["x_min"], box["y_min"], box["x_max"], box["y_max"]))
    if centre is None:
        assert found.shift_px is None
        assert found.turn_left_deg is None
    else:
        assert found.shift_px == pytest.approx(centre["shift_px"])
        assert found.turn_left_deg == pytest.approx(centre["angle_deg"])


def test_limits_of_the_area_are_outside() -> None:
    mask = mask_of((0, 0, 7, 9))  # (7 - 1) * (9 - 1) = 48 of 4800
    assert mask_box(mask, (0.01, 0.5)).box is None
    assert mask_box(mask, (0.0099, 0.01)).box is None
    assert mask_box(mask, (0.0099, 0.0101)).box == (0, 0, 8, 6)


def test_target_box_grows_about_its_middle() -> None:
    assert target_box(mask_of((20, 30, 20, 20))) == (28, 18, 52, 42)  # 1.5 on each side, outwards
    assert target_box(mask_of((20, 30, 20, 20)), grown=1.0) == (30, 20, 50, 40)


def test_target_box_is_of_the_largest_part_and_corners_touch() -> None:
    apart = mask_of((0, 0, 5, 5), (20, 20, 6, 6), (40, 40, 4, 4))
    assert target_box(apart, grown=1.0) == (20, 20, 26, 26)
    touching = mask_of((0, 0, 5, 5), (5, 5, 5, 5), (20, 20, 6, 6))
    assert target_box(touching, grown=1.0) == (0, 0, 10, 10)


def test_target_box_stays_in_the_image_and_moves_with_the_mask() -> None:
    assert target_box(np.ones((60, 80), bool)) == (0, 0, 80, 60)
    mask = mask_of((20, 30, 13, 7))
    x0, y0, x1, y1 = target_box(mask)  # type: ignore[misc]
    assert target_box(np.roll(mask, (5, -8), (0, 1))) == (x0 - 8, y0 + 5, x1 - 8, y1 + 5)


def test_no_mask_no_box() -> None:
    assert target_box(np.zeros((6, 8), bool)) is None
    with pytest.raises(ShapeError):
        target_box(np.zeros((6, 8), np.uint8))  # type: ignore[arg-type]
    with pytest.raises(ShapeError):
        mask_box(np.zeros((2, 6, 8), bool), (0, 1))
