"""Landmarks: exact and detected."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.standins import ColourDetector, ColourMasks, standing_in
from worldgauge.core.episode import Goal
from worldgauge.core.errors import ShapeError, UsageError, WorldgaugeError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.perception.networks.segmentation import DetectedBox
from worldgauge.suites.worldinworld.policies.contract import SIDES, PolicyKit, proposers
from worldgauge.suites.worldinworld.questions import landmarks as detecting
from worldgauge.suites.worldinworld.questions.chat import QuestionPrompter
from worldgauge.suites.worldinworld.questions.landmarks import (
    IGNORED,
    VOCABULARY,
    Detector,
    LandmarkDetection,
    Landmarks,
    exact,
    finder,
    kept,
    turn_pose,
)
from worldgauge.suites.worldinworld.questions.proposer import BESIDE, WANTED
from worldgauge.worlds.indoor import Home

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
        LandmarkDetection("small", block(0, 4, 0, 5)),
        LandmarkDetection("fine", block(50, 70)),
        LandmarkDetection("large", np.ones((80, 100), bool)),
        LandmarkDetection("doubtful", block(20, 40), score=0.29),
        LandmarkDetection("wall", block(80, 99)),
    ]
    assert names(kept(found)) == ["fine"]
    assert kept([LandmarkDetection("edge", block(0, 4, 0, 6))]), "0.3 % is enough"


def test_passages_skip_score_and_size():
    found = kept([LandmarkDetection("door", block(0, 2, 0, 2), score=0.1)])
    assert names(found) == ["door"]


def test_of_two_like_masks_the_better_stays():
    found = [LandmarkDetection("sofa", block(10, 50), 0.5), LandmarkDetection("couch", block(10, 51), 0.9)]
    assert names(kept(found)) == ["couch"]


def test_of_two_near_centres_the_larger_stays():
    found = [LandmarkDetection("lamp", block(40, 50), 0.9), LandmarkDetection("table", block(35, 75), 0.5)]
    assert (names(kept(found, merge_px=20)), names(kept(found, merge_px=2))) == (["table"], ["lamp", "table"])


def test_what_lies_in_another_is_cut_out_of_it():
    frame, picture = (
        LandmarkDetection("cabinet", block(10, 60, 10, 70)),
        LandmarkDetection("picture", block(15, 25, 15, 25)),
    )
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
    (first,) = known.add([LandmarkDetection("sofa", block(40, 60))], wall, CAMERA, EAST)
    # A metre to the left of where it was seen first, so it is seen farther right: 12.5 pixels a metre at 4 m.
    left = pose_from_yaw_pitch([0.0, 1.0, 1.0], 0.0)
    (again,) = known.add([LandmarkDetection("sofa", block(52, 72))], wall, CAMERA, left)
    (other,) = known.add([LandmarkDetection("sofa", block(0, 10))], wall, CAMERA, EAST)
    (named,) = known.add([LandmarkDetection("bench", block(40, 60))], wall, CAMERA, EAST)
    assert (first, again, other, named) == (1, 1, 2, 3)
    assert known[1].centre == pytest.approx([4.0, 0.0, 1.0], abs=0.1)
    assert known[1].radius_m == pytest.approx(0.8, abs=0.06)


def test_visited_is_within_its_radius_and_1_2_m_of_its_centre_and_stays():
    known = Landmarks()
    wall = np.full((80, 100), 4.0, np.float32)
    known.add([LandmarkDetection("sofa", block(40, 60)), LandmarkDetection("door", block(80, 100))], wall, CAMERA, EAST)
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
    (number,) = known.add([LandmarkDetection("sofa", block(0, 20))], np.full((80, 100), 4.0, np.float32), CAMERA, EAST)
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
    assert not known.add(
        [LandmarkDetection("sofa", block(40, 60))], np.full((80, 100), np.inf, np.float32), CAMERA, EAST
    )
    with pytest.raises(ShapeError, match="100x80"):
        known.add([], np.zeros((8, 8), np.float32), CAMERA, EAST)
    with pytest.raises(UsageError, match="no landmark 3"):
        known[3]


CAMERA_DETECTING = Camera.from_horizontal_fov(100, 80, 105.0)


RED, BLUE, GREEN, GREY = (200, 0, 0), (0, 0, 200), (0, 200, 0), (90, 90, 90)


THINGS = {"sofa": (RED, 0.5), "bed": (BLUE, 0.9), "door": (GREEN, 0.15)}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path))


def view(*blocks: tuple[tuple[int, int, int], int, int], rows: tuple[int, int] = (30, 50)) -> Any:
    """Colours from one column to another, on grey."""
    image = np.full((80, 100, 3), GREY, np.uint8)
    for colour, x0, x1 in blocks:
        image[rows[0] : rows[1], x0:x1] = colour
    return image


def observation(**views: Any) -> Any:
    """Everything is 4 m ahead."""
    return SimpleNamespace(
        pose=pose_from_yaw_pitch([0.0, 0.0, 1.0], 0.0),
        camera=CAMERA_DETECTING,
        view=lambda side: views.get(side, view()),
        depth=lambda side: np.full((80, 100), 4.0, np.float32),
        panorama_depth=np.full((48, 96), 4.0, np.float32),
        things={},
    )


def detector(things: Any = THINGS) -> tuple[Detector, ColourDetector, ColourMasks]:
    boxes, masks = ColourDetector(things), ColourMasks()
    return Detector(standing_in(boxes), standing_in(masks)), boxes, masks


def test_boxes_become_detections_with_masks_the_surest_first() -> None:
    find, _, _ = detector()
    image = view((RED, 10, 30), (BLUE, 50, 70))
    bed, sofa = find(observation(front=image), "front")
    assert (bed.name, bed.score, bed.instance) == ("bed", 0.9, 0)
    assert (sofa.name, sofa.score) == ("sofa", 0.5)
    assert (bed.mask == (image == BLUE).all(-1)).all()
    assert (sofa.mask == (image == RED).all(-1)).all()


def test_of_low_scores_only_passages_are_given_a_mask() -> None:
    find, _, masks = detector({"sofa": (RED, 0.29), "bed": (BLUE, 0.3), "door": (GREEN, 0.1), "oven": (GREY, 0.09)})
    found = find(observation(front=view((RED, 0, 20), (BLUE, 30, 50), (GREEN, 60, 80))), "front")
    assert [each.name for each in found] == ["bed", "door"]
    assert masks.boxes == [(30, 30, 50, 50), (60, 30, 80, 50)]


def test_nothing_found_asks_for_no_masks_and_empty_masks_are_no_detections() -> None:
    find, _, masks = detector()
    assert (find(observation(), "left"), masks.boxes) == ([], [])
    blind = SimpleNamespace(segment_boxes=lambda rgb, boxes: np.zeros((len(boxes), 80, 100), bool))
    find = Detector(standing_in(ColourDetector(THINGS)), standing_in(blind))
    assert find(observation(front=view((RED, 10, 30))), "front") == []


def test_the_same_view_is_asked_about_once_and_kept() -> None:
    find, boxes, masks = detector()
    seen = observation(front=view((RED, 10, 30)), left=view((RED, 10, 31)))
    first = find(seen, "front")
    again, _, _ = detector()
    for one in (find(seen, "front"), again(seen, "front")):
        assert [(each.name, each.score) for each in one] == [(each.name, each.score) for each in first]
        assert (one[0].mask == first[0].mask).all()
        assert one[0].mask.dtype == np.bool_
    assert (boxes.asked, len(masks.boxes)) == (1, 1)
    find(seen, "left")
    assert (boxes.asked, len(masks.boxes)) == (2, 2)


def test_numbers_stay_from_look_to_look() -> None:
    known = Landmarks(detector()[0])
    seen = known.look(observation(front=view((RED, 10, 30), (BLUE, 50, 70)), back=view((GREEN, 40, 60))))
    names = {side: {number: known[number].name for number in masks} for side, masks in seen.items()}
    assert names == {"front": {1: "bed", 2: "sofa"}, "left": {}, "right": {}, "back": {3: "door"}}
    again = known.look(observation(front=view((RED, 10, 30))))
    assert list(again["front"]) == [2]


def test_what_is_looked_for_is_what_things_are_called() -> None:
    assert not set(VOCABULARY) & IGNORED
    assert {thing.name for seed in (0, 1) for thing in Home(seed).objects} - IGNORED <= set(VOCABULARY)


class AllKnowing:
    """Both networks at once, never wrong: pictures are looked up."""

    def __init__(self, place: Any) -> None:
        self.views = {place.view(side).tobytes(): exact(place, side) for side in SIDES}

    def detect(self, rgb: Any, names: Any, *, score: float) -> list[DetectedBox]:
        found = [each for each in self.views[rgb.tobytes()] if each.name in names]
        return [DetectedBox(each.name, each.score, box(each.mask)) for each in found]

    def segment_boxes(self, rgb: Any, boxes: Any) -> Any:
        found = [each for each in self.views[rgb.tobytes()] if each.name in VOCABULARY]
        assert [box(each.mask) for each in found] == [tuple(one) for one in boxes]
        return np.stack([each.mask for each in found])


def box(mask: Any) -> Any:
    rows, columns = np.nonzero(mask)
    return (float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))


def test_networks_that_are_never_wrong_find_the_exact_landmarks() -> None:
    from worldgauge.suites.worldinworld.home_env import HomeTaskEnv
    from worldgauge.worlds.walking.geodesic import Geodesic
    from worldgauge.worlds.walking.primitives import Stance

    home = Home(3)
    x, y = Geodesic(home.floor).random_point(np.random.default_rng(2))
    place = HomeTaskEnv(home, Stance(x, y, 0.5), camera=CAMERA_DETECTING, panorama=Panorama(96, 48)).observe()
    knowing = standing_in(AllKnowing(place))
    seen, truth = Landmarks(Detector(knowing, knowing)), Landmarks()
    masks, true = seen.look(place), truth.look(place)
    assert len(truth) > 4
    assert [(one.name, one.number) for one in seen] == [(one.name, one.number) for one in truth]
    for side in SIDES:
        assert list(masks[side]) == list(true[side])
        assert all((masks[side][number] == true[side][number]).all() for number in true[side])


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> None:
    standins: dict[str, Any] = {"grounding-dino": ColourDetector(THINGS), "sam2": ColourMasks()}
    monkeypatch.setattr(detecting, "network", lambda name: standing_in(standins[name]))


def test_the_proposer_names_what_was_detected(opened: None) -> None:
    """The bed is in a bedroom, for all that is known of beds: it is what is asked for, and the sofa is not."""
    seen = observation(front=view((RED, 10, 30)), left=view((BLUE, 40, 60)))
    kit = PolicyKit("questions", 13, options={"landmarks": "detected"})
    plans = proposers.get("landmarks")(kit).propose(
        seen, Goal(text="What colour is the bed in the bedroom?"), [], 3, np.random.default_rng(0)
    )
    told = [(plan.aim or {}) for plan in plans]
    assert (told[0]["text"], told[0]["view"]) == (WANTED, "left")
    assert np.degrees(plans[0].turn_left_rad) == pytest.approx(90, abs=2)
    assert not any(aim["text"] == WANTED for aim in told[1:])
    assert any(aim["text"] == BESIDE and aim["view"] == "front" for aim in told)


def test_the_language_model_is_shown_what_was_detected(opened: None) -> None:
    kit = PolicyKit("questions", 13, chat=SimpleNamespace(), options={"landmarks": "detected"})
    scene = QuestionPrompter(kit).look(observation(front=view((RED, 10, 30))), Goal(text="Where is the sofa?"), [])
    assert (list(scene.masks["front"]), scene.landmarks[1].name) == ([1], "sofa")


def test_exact_ones_unless_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert finder(PolicyKit("questions", 13)) is exact
    assert finder(PolicyKit("questions", 13, options={"landmarks": "exact"})) is exact
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "none"))
    find = finder(PolicyKit("questions", 13, options={"landmarks": "detected"}))
    with pytest.raises(WorldgaugeError, match="worldgauge weights pull grounding-dino"):
        find(observation(), "front")
