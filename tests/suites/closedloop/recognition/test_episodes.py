"""Starts of active recognition: seen badly, told from an independent count of pixels, and seen well a few steps on."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from suites.closedloop.closedloop_data import find_recognition
from worldgauge.core.errors import UnknownNameError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.suites.closedloop.recognition import episodes
from worldgauge.suites.closedloop.recognition.episodes import (
    CLARITY,
    CLEAR,
    LEAST_SIZE,
    MOST_STEPS,
    POOR,
    POOR_SHARE,
    ROUGH,
    RecognitionStart,
    TargetVisibility,
    VisibilityMeter,
    Wish,
    difficulty_of,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS, world_of
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Primitive, Stance, walked

FINE = Camera.from_horizontal_fov(512, 512, 90.0)
Found = tuple[Home, list[RecognitionStart]]


@pytest.fixture(scope="module")
def home() -> Home:
    return Home(int(world_of("home-train-0003").params["seed"]))


@pytest.fixture(scope="module")
def found(home: Home) -> Found:
    return home, find_recognition(home, Geodesic(home.floor), np.random.default_rng(5), 6)


def test_as_many_as_asked_for_with_labels_and_difficulties_by_turns(found: Found) -> None:
    home, starts = found
    assert len(starts) == 6
    assert len({one.target for one in starts}) == 6
    assert len({one.difficulty for one in starts}) > 1
    for one in starts:
        assert one.category == home.objects[one.target - 1].category
        assert one.category in LABELS


def test_the_target_is_seen_badly_but_its_box_can_be_drawn(found: Found) -> None:
    home, starts = found
    for one in starts:
        low, high = CLARITY[one.difficulty]
        assert low <= one.sight.clarity < high
        mask = home.view(one.start.eye(), FINE).instance == one.target
        assert _largest_piece(mask) >= 0.8 * LEAST_SIZE * mask.size
        assert _largest_piece(mask) / mask.size == pytest.approx(one.sight.size, rel=0.5)  # a fine grid joins pieces


def test_the_steps_lead_to_a_good_view_and_meet_nothing(found: Found) -> None:
    home, starts = found
    for one in starts:
        assert 0 < len(one.steps) <= MOST_STEPS
        stance = one.start
        for step in one.steps:
            stance, met = walked(home.floor, stance, step)
            assert not met
        assert one.good.clarity >= CLEAR > one.sight.clarity
        assert VisibilityMeter(home, one.target).see(stance) == one.good
        mask = home.view(stance.eye(), FINE).instance == one.target
        assert mask.sum() >= (home.view(one.start.eye(), FINE).instance == one.target).sum() * 0.9


def test_the_walker_can_stand_at_the_start_and_nothing_covers_the_lens(found: Found) -> None:
    home, starts = found
    for one in starts:
        assert home.floor.clearance_at(one.start[:2]) >= 0.1
        assert (home.view(one.start.eye(), FINE).depth < 0.35).mean() < 0.35
        assert tuple(one.start) == tuple(round(value, 6) for value in one.start)


def test_same_generator_same_episodes_and_fewer_are_the_first_of_more(home: Home, found: Found) -> None:
    wishes = [Wish(one.category, one.difficulty) for one in found[1]]
    geodesic = Geodesic(home.floor)
    two = find_recognition(home, geodesic, np.random.default_rng(9), 2, wishes=wishes)
    three = find_recognition(home, geodesic, np.random.default_rng(9), 3, wishes=wishes)
    assert three[:2] == two


def test_visible_share_agrees_with_rays_into_all_directions(home: Home, found: Found) -> None:
    """Independently: a panorama of the home without everything else, and one with it, counted in solid angle."""
    from worldgauge.worlds.indoor.camera import BoxScene, render

    panorama = Panorama(1024, 512)
    rays = panorama.rays()
    weight = np.cos((0.5 - (np.arange(512) + 0.5) / 512) * np.pi)[:, None].repeat(1024, 1)
    within = (rays[..., 2] > 0) & (np.abs(rays[..., :2]).max(-1) <= rays[..., 2])
    for one in found[1][:3]:
        boxes = home.plan.boxes
        alone = BoxScene.of(boxes.kept(boxes.instance == one.target))
        whole = weight[render(alone, one.start.eye(), panorama).instance == one.target].sum()
        seen = weight[(home.view(one.start.eye(), panorama).instance == one.target) & within].sum()
        assert seen / whole == pytest.approx(one.sight.visible, rel=0.25)  # small things fill 50 pixels


def test_a_target_that_is_behind_is_not_seen(home: Home, found: Found) -> None:
    one = found[1][0]
    looker = VisibilityMeter(home, one.target)
    away = one.start._replace(yaw=looker.bearing(np.array(one.start[:2])) + np.pi)
    assert looker.see(away).clarity == 0
    assert looker.see(away, ROUGH).visible == 0
    assert difficulty_of(looker.see(away)) is None


def test_difficulty_is_told_by_visibility_angle_and_size() -> None:
    well = TargetVisibility(visible=1.0, frontal=1.0, size=0.05, near=0.0)
    assert difficulty_of(well) is None
    assert difficulty_of(well._replace(visible=0.12)) == 0
    assert difficulty_of(well._replace(frontal=0.048)) == 1
    assert difficulty_of(well._replace(size=0.0004)) == 2
    assert difficulty_of(well._replace(visible=0.01)) is None


def test_a_label_that_the_home_has_no_more_of_is_replaced(home: Home) -> None:
    wishes = [Wish("bathtub", 0)] * 2
    assert [thing.category for thing in home.objects].count("bathtub") == 1
    found = find_recognition(home, Geodesic(home.floor), np.random.default_rng(0), 2, wishes=wishes)
    assert len(found) == 2
    assert found[1].category != "bathtub"


def test_things_of_thin_parts_can_be_targets_too(home: Home) -> None:
    """An exercise bike covers a third of its box from wherever one looks."""
    number = next(thing.instance for thing in home.objects if thing.category == "gym equipment")
    looker = VisibilityMeter(home, number)
    places = home.floor.points_of(np.argwhere(home.floor.clearance_m > 0.15))
    away = np.linalg.norm(places - looker.centre[:2], axis=1)
    seen = []
    for x, y in places[(away > 1.0) & (away < 2.5)][::25]:
        seen.append(looker.see(Stance(float(x), float(y), looker.bearing(np.array([x, y])))).clarity)
    assert max(seen) >= CLEAR


def test_most_ways_from_a_start_end_in_a_poor_view_and_some_in_a_clear_one(home: Home, found: Found) -> None:
    """By all ways there are, where the search looked at some of them roughly."""
    poor = []
    for one in found[1][:4]:
        looker = VisibilityMeter(home, one.target)
        clarities = [
            looker.see(stance).clarity
            for _, stance in episodes.ways(episodes.HomeTargets(home, Geodesic(home.floor)), one.start, looker)
        ]
        assert max(clarities) >= CLEAR
        poor.append(np.mean(np.array(clarities) < POOR))
    assert min(poor) > 0.25
    assert np.mean(poor) > POOR_SHARE - 0.1


def test_a_rough_look_is_near_the_fine_one(home: Home, found: Found) -> None:
    off = []
    for one in found[1]:
        looker = VisibilityMeter(home, one.target)
        for _, stance in list(episodes.ways(episodes.HomeTargets(home, Geodesic(home.floor)), one.start, looker))[::5]:
            off.append(abs(looker.see(stance, ROUGH).clarity - looker.see(stance).clarity))
    assert np.median(off) < 0.05
    assert np.mean(np.array(off) < 0.1) > 0.6


def test_a_label_that_there_is_not_is_refused(home: Home) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'chest of drawers'"):
        find_recognition(home, Geodesic(home.floor), np.random.default_rng(0), 1, wishes=[Wish("chest_of_drawers", 0)])


def test_steps_end_facing_the_target(found: Found) -> None:
    home, starts = found
    for one in starts:
        stance = one.start
        for step in one.steps:
            stance, _ = walked(home.floor, stance, step)
        off = VisibilityMeter(home, one.target).bearing(np.array(stance[:2])) - stance.yaw
        assert abs((off + np.pi) % (2 * np.pi) - np.pi) <= np.radians(11.25) + 1e-6
        assert Primitive.STOP not in one.steps


def test_why_there_is_no_episode():
    reasons = Counter()
    walls = SimpleNamespace(things=[SimpleNamespace(instance=1, category="wall")])
    wish = episodes.Wish(LABELS[0], 0)
    assert not list(episodes.recognitions(walls, np.random.default_rng(0), [wish, wish], reasons))
    assert reasons == {"none of the things has a label that the recogniser knows": 1}


def _largest_piece(mask: np.ndarray) -> int:
    """Flood fill with 8 neighbours, by hand."""
    left, best = set(map(tuple, np.argwhere(mask))), 0
    while left:
        front, count = [left.pop()], 0
        while front:
            y, x = front.pop()
            count += 1
            near = {(y + dy, x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)} & left
            left -= near
            front += near
        best = max(best, count)
    return best
