"""The target in imagined frames: its place, and from where they were imagined, by pixels."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from worldgauge.core.geometry import Camera, Panorama, relative
from worldgauge.core.image import Box, Image
from worldgauge.core.panorama import perspective
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Rollout
from worldgauge.suites.closedloop.recognition.tracking import Target, track_by_geometry
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.primitives import Primitive, Stance, Steps, walked

F, L, R = Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.TURN_RIGHT
CAMERA = Camera.from_horizontal_fov(96, 96, 90)


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
            self.view = self.home.view(self.start.eye(), CAMERA)
            numbers, pixels = np.unique(self.view.instance[24:72, 36:60], return_counts=True)
            self.target = int(numbers[np.argmax(pixels * (numbers > 0))])
            hit = [walked(floor, stance, F)[1] for stance in self.along((F, F))]
            share = (self.view.instance == self.target).mean()
            if self.target and 0.02 < share < 0.2 and not any(hit):
                return

    def along(self, steps: Steps) -> list[Stance]:
        stances = [self.start]
        for step in steps:
            stances.append(walked(self.home.floor, stances[-1], step)[0])
        return stances

    def box(self, stance: Stance) -> Box:
        rows, columns = np.nonzero(self.home.view(stance.eye(), CAMERA).instance == self.target)
        return int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1

    @property
    def seen(self) -> Target:
        return Target(self.box(self.start), self.view.rgb, self.view.depth, CAMERA)

    def rollout(self, stances: Sequence[Stance], *, panorama: bool = False) -> Rollout:
        eye = Panorama(384, 192) if panorama else CAMERA
        frames = np.stack([self.home.view(stance.eye(), eye).rgb for stance in stances])
        numbers = np.arange(len(stances))
        return Rollout(frames, "panorama" if panorama else "perspective", CAMERA, numbers, len(stances))


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
    for step in (F, L, R):
        stance = place.along((step,))[1]
        frame = place.home.view(stance.eye(), CAMERA).rgb
        moved = place.seen.moved(np.eye(4), step, frame, CAMERA)
        assert moved == pytest.approx(relative(place.start.eye(), stance.eye()), abs=1e-6)
        still = place.seen.moved(np.eye(4), step, place.view.rgb, CAMERA)
        assert still == pytest.approx(np.eye(4))


@pytest.mark.parametrize("steps", [(F, F), (L,), (R,), (L, F)])
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
    for steps in ((F, F), (L, L), (R, F)):
        found = list(track_by_geometry(place.seen, ActionPlan(steps, "test"), place.rollout([place.start] * 3), (1, 2)))
        assert len(found) == 2
        assert found[0].box == found[1].box
        assert overlap(found[0].box, place.box(place.start)) > 0.5


def test_it_ends_where_the_target_leaves_the_view(place: Place) -> None:
    stances = place.along((L,) * 6)
    found = list(track_by_geometry(place.seen, ActionPlan((L,) * 6, "test"), place.rollout(stances), range(1, 7)))
    assert 1 <= len(found) <= 4
    assert [seen.frame for seen in found] == list(range(1, len(found) + 1))


def test_panoramas_are_turned_towards_it(place: Place) -> None:
    stances = place.along((L,) * 6)
    rollout = place.rollout(stances, panorama=True)
    found = list(track_by_geometry(place.seen, ActionPlan((L,) * 6, "test"), rollout, range(1, 7)))
    assert len(found) == 6
    for seen in found:
        assert seen.image.shape == (96, 96, 3)
        assert seen.box[0] < 48 < seen.box[2]
    assert found[5].off_rad - found[0].off_rad == pytest.approx(np.radians(5 * 22.5), abs=1e-6)


def test_frames_that_are_not_asked_for_are_still_followed(place: Place) -> None:
    stances = place.along((F, F))
    whole = list(track_by_geometry(place.seen, ActionPlan((F, F), "test"), place.rollout(stances), (1, 2)))
    last = list(track_by_geometry(place.seen, ActionPlan((F, F), "test"), place.rollout(stances), (2, 9)))
    assert [seen.box for seen in last] == [whole[1].box]


def test_without_depth_nothing_is_followed(place: Place) -> None:
    blind = Target((10, 10, 30, 30), place.view.rgb, np.full((96, 96), np.inf, np.float32), CAMERA)
    assert not blind.known
    assert list(track_by_geometry(blind, ActionPlan((F,), "test"), place.rollout([place.start] * 2), (1,))) == []


def test_views_are_cut_by_the_rule_of_the_rollout(place: Place) -> None:
    rollout = replace(place.rollout(place.along((L,)), panorama=True), rule="released")
    (seen,) = track_by_geometry(place.seen, ActionPlan((L,), "test"), rollout, (1,))
    turned = float(np.degrees(seen.off_rad))
    released = perspective(rollout.frames[1], CAMERA, yaw_right_deg=turned, rule="released")
    assert np.abs(seen.image.astype(int) - released).max() <= 3  # levels, for its colours are fitted to the real view
    clean = perspective(rollout.frames[1], CAMERA, yaw_right_deg=turned).astype(int)
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
    true = place.rollout(place.along((L, F)))
    changed = np.clip(np.rint(change(true.frames)), 0, 255).astype(np.uint8)
    changed[0] = true.frames[0]
    plan = ActionPlan((L, F), "test")
    want = list(track_by_geometry(place.seen, plan, true, (1, 2)))
    got = list(track_by_geometry(place.seen, plan, replace(true, frames=changed), (1, 2)))
    assert len(want) == len(got) == 2
    for one, other in zip(want, got, strict=True):
        assert np.abs(one.image.astype(int) - other.image).mean() < 3
        assert np.abs(changed[one.frame].astype(int) - true.frames[one.frame]).mean() > 5


def test_a_view_of_something_else_keeps_its_colours(place: Place) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (96, 96, 3), dtype=np.uint8)
    assert np.array_equal(place.seen.in_real_colours(noise, CAMERA, np.eye(4)), noise)
