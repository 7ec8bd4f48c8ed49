"""Landmarks by networks, which stand-ins that go by colour are here: what becomes of boxes, scores and masks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.standins import ColourDetector, ColourMasks, standing_in
from worldgauge.core.episode import Goal
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.perception.networks.segmentation import Detection
from worldgauge.suites.closedloop.policies.contract import SIDES, PolicyKit, proposers
from worldgauge.suites.closedloop.questions import landmarks as detecting
from worldgauge.suites.closedloop.questions.chat import QuestionPrompter
from worldgauge.suites.closedloop.questions.landmarks import IGNORED, VOCABULARY, Detector, Landmarks, exact, finder
from worldgauge.suites.closedloop.questions.proposer import BESIDE, WANTED
from worldgauge.worlds.indoor import Home

CAMERA = Camera.from_horizontal_fov(100, 80, 105.0)
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
        camera=CAMERA,
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
    assert find(observation(), "left") == []
    assert masks.boxes == []
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

    def detect(self, rgb: Any, names: Any, *, score: float) -> list[Detection]:
        found = [each for each in self.views[rgb.tobytes()] if each.name in names]
        return [Detection(each.name, each.score, box(each.mask)) for each in found]

    def segment_boxes(self, rgb: Any, boxes: Any) -> Any:
        found = [each for each in self.views[rgb.tobytes()] if each.name in VOCABULARY]
        assert [box(each.mask) for each in found] == [tuple(one) for one in boxes]
        return np.stack([each.mask for each in found])


def box(mask: Any) -> Any:
    rows, columns = np.nonzero(mask)
    return (float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1))


def test_networks_that_are_never_wrong_find_the_exact_landmarks() -> None:
    from worldgauge.suites.closedloop.home_env import HomeEnv
    from worldgauge.worlds.walking.geodesic import Geodesic
    from worldgauge.worlds.walking.primitives import Stance

    home = Home(3)
    x, y = Geodesic(home.floor).random_point(np.random.default_rng(2))
    place = HomeEnv(home, Stance(x, y, 0.5), camera=CAMERA, panorama=Panorama(96, 48)).observe()
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
    assert list(scene.masks["front"]) == [1]
    assert scene.landmarks[1].name == "sofa"


def test_exact_ones_unless_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert finder(PolicyKit("questions", 13)) is exact
    assert finder(PolicyKit("questions", 13, options={"landmarks": "exact"})) is exact
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "none"))
    find = finder(PolicyKit("questions", 13, options={"landmarks": "detected"}))
    with pytest.raises(WorldgaugeError, match="worldgauge weights pull grounding-dino"):
        find(observation(), "front")
