"""Landmarks: thresholds of section 7, numbers that stay, and when one is visited."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.suites.closedloop.questions.landmarks import Detection, Landmarks, exact, kept, turn_pose

CAMERA = Camera.from_horizontal_fov(100, 80, 90.0)
EAST = pose_from_yaw_pitch([0.0, 0.0, 1.0], 0.0)


def block(x0, x1, y0=30, y1=50):
    mask = np.zeros((80, 100), bool)
    mask[y0:y1, x0:x1] = True
    return mask


def names(found):
    return sorted(one.name for one in found)


def test_masks_too_small_or_too_large_and_low_scores_are_no_landmarks():
    found = [
        Detection("small", block(0, 4, 0, 5)),
        Detection("fine", block(50, 70)),
        Detection("large", np.ones((80, 100), bool)),
        Detection("doubtful", block(20, 40), score=0.29),
        Detection("wall", block(80, 99)),
    ]
    assert names(kept(found)) == ["fine"]
    assert kept([Detection("edge", block(0, 4, 0, 6))]), "0.3 % is enough"


def test_passages_skip_score_and_size():
    found = kept([Detection("door", block(0, 2, 0, 2), score=0.1)])
    assert names(found) == ["door"]


def test_of_two_like_masks_the_better_stays():
    found = [Detection("sofa", block(10, 50), 0.5), Detection("couch", block(10, 51), 0.9)]
    assert names(kept(found)) == ["couch"]


def test_of_two_near_centres_the_larger_stays():
    found = [Detection("lamp", block(40, 50), 0.9), Detection("table", block(35, 75), 0.5)]
    assert names(kept(found, merge_px=20)) == ["table"]
    assert names(kept(found, merge_px=2)) == ["lamp", "table"]


def test_what_lies_in_another_is_cut_out_of_it():
    frame, picture = Detection("cabinet", block(10, 60, 10, 70)), Detection("picture", block(15, 25, 15, 25))
    found = {one.name: one.mask for one in kept([frame, picture])}
    assert not (found["cabinet"] & found["picture"]).any()
    assert found["cabinet"].sum() == frame.mask.sum() - picture.mask.sum()


def test_detections_of_exact_numbers_name_what_is_known():
    class Thing:
        name = "sofa"

    seen = np.zeros((4, 4), np.uint16)
    seen[0] = 7
    seen[1] = 9
    (found,) = exact(SimpleNamespace(instances=lambda side: seen, things={7: Thing()}), "front")
    assert (found.name, found.instance, int(found.mask.sum())) == ("sofa", 7, 4)


def test_the_same_thing_from_elsewhere_keeps_its_number_and_another_gets_a_new_one():
    known = Landmarks()
    wall = np.full((80, 100), 4.0, np.float32)
    (first,) = known.add([Detection("sofa", block(40, 60))], wall, CAMERA, EAST)
    # A metre to the left of where it was seen first, so it is seen farther right: 12.5 pixels a metre at 4 m.
    left = pose_from_yaw_pitch([0.0, 1.0, 1.0], 0.0)
    (again,) = known.add([Detection("sofa", block(52, 72))], wall, CAMERA, left)
    (other,) = known.add([Detection("sofa", block(0, 10))], wall, CAMERA, EAST)
    (named,) = known.add([Detection("bench", block(40, 60))], wall, CAMERA, EAST)
    assert (first, again, other, named) == (1, 1, 2, 3)
    assert known[1].centre == pytest.approx([4.0, 0.0, 1.0], abs=0.1)
    assert known[1].radius_m == pytest.approx(0.8, abs=0.06)


def test_visited_is_within_its_radius_and_1_2_m_of_its_centre_and_stays():
    known = Landmarks()
    wall = np.full((80, 100), 4.0, np.float32)
    known.add([Detection("sofa", block(40, 60)), Detection("door", block(80, 100))], wall, CAMERA, EAST)
    sofa = next(one for one in known if one.name == "sofa")
    reach = 1.2 + sofa.radius_m
    x = float(sofa.centre[0])
    known.reach(pose_from_yaw_pitch([x - reach - 0.01, 0.0, 1.0], 0.0))
    assert not known.visited(sofa.number)
    known.reach(pose_from_yaw_pitch([x - reach + 0.01, 0.0, 1.0], 0.0))
    known.reach(EAST)
    assert known.visited(sofa.number)
    door = next(one for one in known if one.passage)
    known.reach(pose_from_yaw_pitch([*door.centre[:2], 1.0], 0.0))
    assert not known.visited(door.number)


def test_bearing_and_aim_of_a_landmark():
    known = Landmarks()
    (number,) = known.add([Detection("sofa", block(0, 20))], np.full((80, 100), 4.0, np.float32), CAMERA, EAST)
    sofa = known[number]
    assert sofa.left_rad(EAST) == pytest.approx(math.atan2(sofa.centre[1], sofa.centre[0]))
    assert sofa.left_rad(turn_pose(EAST, "left")) == pytest.approx(sofa.left_rad(EAST) - math.pi / 2)
    aim = sofa.aim("left", "there")
    assert (aim["landmark"], aim["view"], aim["text"]) == (number, "left", "there")
    assert aim["centre"] == pytest.approx(sofa.centre, abs=1e-4)


def test_poses_of_the_sides():
    yaws = [float(yaw_pitch_from_pose(turn_pose(EAST, side))[0]) for side in ("front", "left", "right", "back")]
    assert yaws == pytest.approx([0.0, math.pi / 2, -math.pi / 2, -math.pi]) or yaws[3] == pytest.approx(math.pi)


def test_depth_that_was_not_measured_makes_no_landmark_and_one_that_does_not_fit_is_an_error():
    known = Landmarks()
    assert not known.add([Detection("sofa", block(40, 60))], np.full((80, 100), np.inf, np.float32), CAMERA, EAST)
    with pytest.raises(ShapeError, match="100x80"):
        known.add([], np.zeros((8, 8), np.float32), CAMERA, EAST)
    with pytest.raises(UsageError, match="no landmark 3"):
        known[3]
