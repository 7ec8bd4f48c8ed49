"""A target followed by masks: a stand-in goes by colour, in pictures whose every pixel is known."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.standins import ColourMasks, standing_in
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.geometry import Camera
from worldgauge.core.panorama import perspective
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Candidate, PolicyKit, Rollout
from worldgauge.suites.closedloop.recognition.boxes import target_box
from worldgauge.suites.closedloop.recognition.chat import TrackedCandidate
from worldgauge.suites.closedloop.recognition.tracking import (
    BoxTracker,
    Target,
    TrackedView,
    follower,
    track_by_geometry,
)
from worldgauge.worlds.walking.primitives import Primitive

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


def target(box: Any = BOX) -> Target:
    return Target(box, frame(box), np.full((48, 64), 2.0, np.float32), CAMERA)


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
    assert left is not None
    assert left[0] == pytest.approx(32 - CAMERA.fx * math.tan(math.radians(22.5)))
    assert target().box_seen_by(CAMERA, math.radians(-120)) is None


def test_a_plan_is_followed_to_the_first_empty_mask() -> None:
    one = rollout(BOX, None, BOX)
    assert [seen.frame for seen in seen_in(one, (1, 2, 3))] == [1]
    assert seen_in(one, (3,)) == [], "what comes back is not found again"
    assert seen_in(one, (9,)) == []
    assert seen_in(one, ()) == []


def test_a_target_that_the_first_frame_does_not_show_is_not_followed() -> None:
    masks = ColourMasks()
    assert seen_in(rollout(BOX), (1,), masks, ActionPlan((F,), "test", math.pi)) == []
    assert masks.boxes == []


def test_boxes_up_to_all_of_a_view_are_kept_but_no_lines() -> None:
    whole, line = (0, 0, 64, 48), (10, 20, 40, 21)
    found = seen_in(rollout(whole, line, BOX), (1, 2, 3))
    assert [(seen.frame, seen.box) for seen in found] == [(1, whole), (3, (9, 19, 21, 31))]


def test_a_clip_is_looked_at_once_and_kept() -> None:
    masks = ColourMasks()
    first, again = seen_in(rollout(BOX, BOX), (1, 2), masks), seen_in(rollout(BOX, BOX), (2,), masks)
    assert len(masks.boxes) == 1
    assert again[0].box == first[1].box
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
    assert shown is not None
    assert [(seen.frame, seen.box) for seen in shown.close] == [(3, (12, 19, 24, 31)), (5, (14, 19, 26, 31))]
    assert len(shown.film_strip(0)) == 1
    assert asked == [6, 3]


def test_geometry_unless_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert follower(PolicyKit("recognition", 4)) is track_by_geometry
    assert follower(PolicyKit("recognition", 4, options={"tracker": "geometry"})) is track_by_geometry
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "none"))
    follow = follower(PolicyKit("recognition", 4, options={"tracker": "sam2"}))
    with pytest.raises(WorldgaugeError, match="worldgauge weights pull sam2"):
        list(follow(target(), ActionPlan((F,), "test"), rollout(BOX), (1,)))
