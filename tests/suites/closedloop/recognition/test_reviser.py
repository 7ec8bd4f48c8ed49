"""Joint action-answer decisions of the recogniser."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from support.standins import standing_in
from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Candidate, Decision, PolicyKit, Rollout, revisers
from worldgauge.suites.closedloop.recognition import reviser as module
from worldgauge.suites.closedloop.recognition import tracking as box_tracking
from worldgauge.suites.closedloop.recognition.boxes import target_box
from worldgauge.suites.closedloop.recognition.recogniser import identity, softmax
from worldgauge.suites.closedloop.recognition.reviser import RecogniserReviser, combine_views, mean_confidence
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.walking.primitives import Primitive, Stance, Steps, walked

F, L, R = Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.TURN_RIGHT
CAMERA = Camera.from_horizontal_fov(96, 96, 90)
PLANS = ((L, L, F, F), (F, R, F, F))


class Here:
    """What is sensed from a stance; the part of an observation that the reviser looks at."""

    camera = CAMERA

    def __init__(self, home: Home, stance: Stance, target: int) -> None:
        self._view = home.view(stance.eye(), CAMERA)
        self.pose = stance.eye()
        self.front = self._view.rgb
        self.box = target_box(self._view.instance == target)

    def depth(self, side: str) -> np.ndarray:
        assert side == "front"
        return self._view.depth


@pytest.fixture(scope="module")
def home() -> Home:
    return Home(11)


@pytest.fixture(scope="module")
def scene(home: Home) -> tuple[Stance, int]:
    """A stance that sees a thing with a label in the middle of its view."""
    floor = home.floor
    places = floor.points_of(np.argwhere(floor.clearance_m > 0.4))
    rng = np.random.default_rng(0)
    while True:
        x, y = places[rng.integers(len(places))]
        stance = Stance(float(x), float(y), float(rng.uniform(-3, 3)))
        seen = home.view(stance.eye(), CAMERA).instance
        number = int(seen[56, 48])
        if number and home.objects[number - 1].category in LABELS and 0.02 < (seen == number).mean() < 0.2:
            return stance, number


def rollouts(home: Home, start: Stance, kind: str) -> list[Rollout | None]:
    found: list[Rollout | None] = []
    for plan in PLANS:
        stances = [start]
        for step in (*plan, *(F,) * 9):
            stances.append(walked(home.floor, stances[-1], step)[0])
        if kind == "frozen":
            stances = [start] * 14
        frames = np.stack([home.view(stance.eye(), CAMERA).rgb for stance in stances])
        numbers = np.arange(14)
        found.append(
            None if kind == "none" else Rollout(frames, "perspective", CAMERA, np.where(numbers < 5, numbers, -1), 5)
        )
    return found


def decided(
    home: Home, stance: Stance, target: int, kind: str, plans: Sequence[Steps] = PLANS, **options: str
) -> Decision:
    candidates = [
        Candidate(ActionPlan(plan, "test"), rollout, lambda: None)
        for plan, rollout in zip(plans, rollouts(home, stance, kind)[: len(plans)], strict=True)
    ]
    reviser = RecogniserReviser(PolicyKit("recognition", 4, options=options))
    goal = Goal(target=str(target), choices=LABELS)
    here = Here(home, stance, target)
    return reviser.revise(candidates, here, goal, (), np.random.default_rng(0))  # type: ignore[arg-type]


def test_without_rollouts_the_real_view_answers_and_the_first_plan_is_taken(
    home: Home, scene: tuple[Stance, int]
) -> None:
    decision = decided(home, *scene, "none")
    assert decision.chosen == 0
    assert decision.plan is not None
    assert decision.plan.steps == PLANS[0]
    assert decision.scores == (None, None)
    assert decision.answer in LABELS
    assert decision.notes["views"] == 0
    assert decision.notes["now"] == decision.notes["all"]


def test_true_rollouts_are_looked_at_and_the_better_plan_is_taken(home: Home, scene: tuple[Stance, int]) -> None:
    decision = decided(home, *scene, "true")
    assert decision.notes["views"] > 2
    assert all(score is not None and 0 <= score <= 1 for score in decision.scores)
    assert decision.chosen == int(np.argmax([score or 0 for score in decision.scores]))
    assert 0 < (decision.confidence or 0) <= 1
    assert decision == decided(home, *scene, "true")


def test_frozen_rollouts_change_next_to_nothing(home: Home, scene: tuple[Stance, int]) -> None:
    none, frozen = decided(home, *scene, "none"), decided(home, *scene, "frozen")
    assert frozen.chosen == 0, "equal scores go to the first plan"
    assert frozen.scores[0] == frozen.scores[1]
    assert frozen.answer == none.answer
    assert frozen.confidence == pytest.approx(none.confidence, abs=0.3)


class KnownMasks:
    """A tracker that is never wrong, of rollouts that are known."""

    def __init__(self, masks: Mapping[bytes, np.ndarray]) -> None:
        self._masks = masks

    def track(self, frames: Image, box: object) -> np.ndarray:
        return self._masks[frames.tobytes()]


def test_masks_are_followed_in_place_of_points(
    home: Home, scene: tuple[Stance, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the first frame that does not show it; the boxes that are looked at are those of the masks."""
    stance, target = scene
    known, shown = {}, []
    for plan, rollout in zip(PLANS, rollouts(home, stance, "true"), strict=True):
        assert rollout is not None
        stances = [stance]
        for step in (*plan, *(F,) * 9):
            stances.append(walked(home.floor, stances[-1], step)[0])
        masks = np.stack([home.view(one.eye(), CAMERA).instance == target for one in stances])
        known[rollout.frames.tobytes()] = masks
        gone = next((n for n in range(1, 14) if not masks[n].any()), 14)
        frames = [n for n in (1, 2, 3, 4, 5, 7, 9, 11, 13) if n < gone]
        shown.append([(n, list(target_box(masks[n]) or ())) for n in frames])
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path))
    monkeypatch.setattr(box_tracking, "network", lambda name: standing_in(KnownMasks(known)))
    decision = decided(home, stance, target, "true", tracker="sam2")
    assert [[(n, box) for n, box, _ in own] for own in decision.notes["followed"]] == shown
    assert any(shown)
    assert decision != decided(home, stance, target, "true")


def test_without_a_box_there_is_no_answer(home: Home, scene: tuple[Stance, int]) -> None:
    away = scene[0].turned(np.pi)
    decision = decided(home, away, scene[1], "true")
    assert decision.answer is None
    assert decision.confidence is None
    assert decision.chosen == 0


def test_no_plans(home: Home, scene: tuple[Stance, int]) -> None:
    decision = decided(home, *scene, "none", plans=())
    assert decision.plan is None
    assert decision.chosen is None
    assert decision.answer in LABELS


def test_views_that_repeat_change_nothing_and_disagreement_makes_less_sure() -> None:
    one, other = np.log([0.7, 0.2, 0.1]), np.log([0.2, 0.7, 0.1])
    assert combine_views(one, []) == pytest.approx(softmax(one))
    assert combine_views(one, [one] * 5) == pytest.approx([0.7, 0.2, 0.1])
    assert combine_views(one, [other])[:2] == pytest.approx([combine_views(one, [other])[0]] * 2)
    assert combine_views(one, [other]).max() < 0.7
    vague = np.log([0.32, 0.34, 0.34])
    assert combine_views(one, [vague])[0] > softmax((one + vague) / 2)[0]


def test_mean_confidence_counts_only_the_frames_of_the_plan_that_show_the_target() -> None:
    def glimpse(action: int, sure: float) -> module.Glimpse:
        image: Image = np.zeros((1, 1, 3), np.uint8)
        seen = module.TrackedView(abs(action), action, image, (0, 0, 1, 1), 1.0, 0.0)
        return module.Glimpse(seen, np.log([sure, 1 - sure]), True)

    assert mean_confidence([glimpse(1, 0.8), glimpse(2, 0.6), glimpse(-1, 0.99)], 4) == pytest.approx(1.4 / 4)
    assert mean_confidence([], 4) == 0


def test_it_is_registered() -> None:
    entry = revisers.entry("recogniser")
    facts = {"identity": identity, "tasks": ("recognition",), "chat": False, "imagines": True}
    assert entry.facts == facts
