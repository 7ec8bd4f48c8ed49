"""The recogniser, its features and calibration, and episodes of recognition."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from suites.worldinworld.closedloop_data import find_recognition
from worldgauge.core.errors import DataError, ShapeError, UnknownNameError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.suites.worldinworld.recognition import episodes
from worldgauge.suites.worldinworld.recognition.boxes import target_box
from worldgauge.suites.worldinworld.recognition.episodes import (
    CLARITY,
    CLEAR,
    LEAST_SIZE,
    MOST_STEPS,
    NEAR_SHARE,
    POOR,
    POOR_SHARE,
    ROUGH,
    VIEW,
    RecognitionStart,
    TargetVisibility,
    VisibilityMeter,
    Wish,
    difficulty_of,
)
from worldgauge.suites.worldinworld.recognition.format import HIDDEN
from worldgauge.suites.worldinworld.recognition.recogniser import (
    FILE_VARIABLE,
    Recogniser,
    box_features,
    in_mirror,
    load,
    recogniser,
    save,
    scene_features,
    softmax,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS, world_of
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Primitive, Stance, walked


def test_softmax_adds_up_and_does_not_overflow() -> None:
    shares = softmax(np.array([[1000.0, 999.0], [-1e4, 0.0]]))
    assert (shares.sum(-1), shares[0, 0]) == (pytest.approx([1, 1]), pytest.approx(1 / (1 + np.exp(-1))))


def picture(seed: int = 0, size: int = 192) -> np.ndarray:
    rough = np.random.default_rng(seed).integers(0, 256, (12, 12, 3), np.uint8)
    return cv2.resize(rough, (size, size), interpolation=cv2.INTER_CUBIC)


def test_resolution_plays_little_part() -> None:
    large = picture(size=384)
    small = cv2.resize(large, (128, 128), interpolation=cv2.INTER_AREA)
    off = box_features(large, (90, 120, 240, 300)) - box_features(small, (30, 40, 80, 100))
    assert np.abs(off).max() < 0.05
    assert np.abs(scene_features(large) - scene_features(small)).max() < 0.05


def test_the_box_matters_and_so_does_the_image() -> None:
    image = picture()
    one = box_features(image, (20, 20, 80, 90))
    assert one.dtype == np.float32
    assert np.isfinite(one).all()
    assert np.abs(one - box_features(image, (60, 20, 120, 90))).max() > 0.1
    assert np.abs(one - box_features(picture(1), (20, 20, 80, 90))).max() > 0.1
    assert np.array_equal(one, box_features(image.copy(), (20, 20, 80, 90)))


@pytest.mark.parametrize("box", [(0, 0, 1, 1), (191, 191, 192, 192), (0, 0, 192, 192), (-20, 50, 10, 60)])
def test_boxes_at_the_border(box: tuple[int, int, int, int]) -> None:
    assert np.isfinite(box_features(picture(), box)).all()


@pytest.mark.parametrize("box", [(10, 10, 10, 20), (30, 10, 20, 20), (192, 0, 200, 10), (0, -9, 10, 0)])
def test_boxes_without_a_pixel_are_refused(box: tuple[int, int, int, int]) -> None:
    with pytest.raises(ShapeError, match="expected a box"):
        box_features(picture(), box)


def test_other_images_are_refused() -> None:
    with pytest.raises(ShapeError, match="expected an image"):
        scene_features(picture().astype(np.float32))  # type: ignore[arg-type]
    assert np.isfinite(scene_features(np.zeros((1, 3, 3), np.uint8))).all()


def test_the_mirror_of_a_mirror_is_the_same() -> None:
    image, box = picture(), (20, 30, 80, 90)
    mirrored, there = in_mirror(image, box)
    assert there == (112, 30, 172, 90)
    assert np.array_equal(mirrored[:, 112:172], image[:, 20:80][:, ::-1])
    assert np.array_equal(in_mirror(mirrored, there)[0], image)
    assert in_mirror(mirrored, there)[1] == box


IMAGE = np.random.default_rng(3).integers(0, 256, (96, 128, 3), np.uint8)


BOX = (10, 20, 60, 70)


@pytest.fixture(scope="module")
def shipped() -> Recogniser:
    return recogniser()


def test_probabilities(shipped: Recogniser) -> None:
    shares = shipped.probabilities(IMAGE, BOX)
    assert shares.shape == (len(LABELS),)
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    assert np.array_equal(shares, shipped.probabilities(IMAGE.copy(), BOX))
    present = shipped.presence(IMAGE)
    assert present.shape == (len(LABELS),)
    assert ((present >= 0) & (present <= 1)).all()


def test_a_mirror_changes_nothing(shipped: Recogniser) -> None:
    assert shipped.probabilities(*in_mirror(IMAGE, BOX)) == pytest.approx(shipped.probabilities(IMAGE, BOX))


def test_it_is_kept_to_the_last_bit(shipped: Recogniser, tmp_path: Path) -> None:
    save(shipped, tmp_path / "deep" / "one.npz")
    again = load(tmp_path / "deep" / "one.npz")
    assert (again.digest, again.facts) == (shipped.digest, shipped.facts)
    assert np.array_equal(again.probabilities(IMAGE, BOX), shipped.probabilities(IMAGE, BOX))
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["one.npz"]


@pytest.mark.parametrize("damage", ["cut", "changed", "text", "missing", "pickled"])
def test_damage_is_found(shipped: Recogniser, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "one.npz"
    save(shipped, path)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    elif damage == "text":
        path.write_text("no zip")
    elif damage == "missing":
        path.unlink()
    else:
        with np.load(path) as content:
            arrays = dict(content)
        arrays["boxes.biases.0"] = arrays["boxes.biases.0"] + 1
        if damage == "pickled":
            arrays["boxes.biases.0"] = np.array([{"a": 1}], object)
        np.savez(path, **arrays)
    with pytest.raises(DataError, match="train it again"):
        load(path)


def test_too_large_a_file_is_not_unpacked(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", facts=np.zeros(40 * 2**20, np.uint8))
    with pytest.raises(DataError, match="more than 16777216 bytes"):
        load(tmp_path / "bomb.npz")


def test_a_named_file_is_taken_in_place_of_the_shipped_one(shipped, tmp_path, monkeypatch):
    other = replace(shipped, scenes=replace(shipped.scenes, mean=shipped.scenes.mean + 1))
    save(other, tmp_path / "named.npz")
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "named.npz"))
    assert recogniser().digest == other.digest != shipped.digest
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "none.npz"))
    with pytest.raises(DataError, match=r"none\.npz: no recogniser \(No such file or directory\); train it again"):
        recogniser()


def test_a_file_of_another_version_is_refused_in_one_line(shipped: Recogniser, tmp_path: Path) -> None:
    save(replace(shipped, facts={**shipped.facts, "version": 1}), tmp_path / "old.npz")
    with pytest.raises(DataError, match=r"^\S*old\.npz: no recogniser \(version 1, not 2\); train it again$"):
        load(tmp_path / "old.npz")


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
    assert (len(starts), len({one.target for one in starts})) == (6, 6)
    assert len({one.difficulty for one in starts}) > 1
    for one in starts:
        assert one.category == home.objects[one.target - 1].category
        assert one.category in LABELS


def test_the_target_is_seen_badly_but_its_box_can_be_drawn(found: Found) -> None:
    home, starts = found
    for one in starts:
        low, high = CLARITY[HIDDEN][one.difficulty]
        assert low <= one.sight.shown < high
        mask = home.view(one.start.eye(), FINE).instance == one.target
        assert _largest_piece(mask) >= 0.8 * LEAST_SIZE * mask.size
        assert _largest_piece(mask) / mask.size == pytest.approx(one.sight.size, rel=0.5)  # a fine grid joins pieces


def test_the_steps_lead_to_a_good_view_and_meet_nothing(found: Found) -> None:
    home, starts = found
    for one in starts:
        assert 0 < len(one.steps) <= MOST_STEPS[HIDDEN]
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
        # On a fine grid: little is seen of it.
        assert seen / whole == pytest.approx(VisibilityMeter(home, one.target).see(one.start, FINE).visible, rel=0.25)


def test_a_target_that_is_behind_is_not_seen(home: Home, found: Found) -> None:
    one = found[1][0]
    looker = VisibilityMeter(home, one.target)
    away = one.start._replace(yaw=looker.bearing(np.array(one.start[:2])) + np.pi)
    assert (looker.see(away).clarity, looker.see(away, ROUGH).visible) == (0, 0)
    assert difficulty_of(looker.see(away), HIDDEN) is None


def test_difficulty_is_told_by_visibility_angle_and_size() -> None:
    well = TargetVisibility(visible=1.0, frontal=1.0, size=0.05, near=0.0)
    small = well._replace(size=0.0004)
    for design, half in ((1, 0.12), (HIDDEN, 0.2)):
        assert difficulty_of(well, design) is None
        assert difficulty_of(well._replace(visible=half), design) == 0
        assert difficulty_of(well._replace(frontal=0.048), design) == 1
        assert difficulty_of(well._replace(visible=0.01), design) is None
    assert difficulty_of(small, 1) == 2
    assert difficulty_of(small, HIDDEN) is None, "an enlarged view would show it"


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


def test_most_ways_from_a_start_end_in_a_poor_view_also_the_nearest_and_some_in_a_clear_one(
    home: Home, found: Found
) -> None:
    """By all ways there are, where the search looked at some of them roughly."""
    poor, poor_near = [], []
    for one in found[1][:4]:
        looker = VisibilityMeter(home, one.target)
        ends = [
            (float(np.linalg.norm(looker.centre[:2] - stance[:2])), looker.see(stance).clarity)
            for _, stance in episodes.ways(episodes.HomeTargets(home, Geodesic(home.floor)), one.start, looker)
        ]
        clarities = np.array([clarity for _, clarity in sorted(ends)])
        assert max(clarities) >= CLEAR
        poor.append(np.mean(clarities < POOR))
        poor_near.append(np.mean(clarities[: round(NEAR_SHARE * len(clarities))] < POOR))
    assert min(poor) > 0.25
    assert np.mean(poor) > POOR_SHARE - 0.1
    assert np.mean(poor_near) > POOR_SHARE - 0.1


def test_no_target_is_named_from_its_start_and_most_are_from_a_good_view(found: Found) -> None:
    home, starts = found

    def label(stance: Stance, target: int, times: int = 1) -> str:
        """What the recogniser says, of the middle of the view around the box enlarged so many times."""
        view = home.view(stance.eye(), VIEW)
        x0, y0, x1, y1 = box = target_box(view.instance == target)
        if times > 1:
            grid = np.eye(2, 3) * times
            grid[:, 2] = VIEW.width / 2 - times * np.array([(x0 + x1) / 2, (y0 + y1) / 2])
            enlarged = cv2.warpAffine(view.rgb, grid, (VIEW.width, VIEW.height), borderMode=cv2.BORDER_REPLICATE)
            low, high = grid @ (x0, y0, 1), grid @ (x1, y1, 1)
            box = tuple(np.clip([*low, *high], 0, VIEW.width))
            return LABELS[int(np.argmax(recogniser().probabilities(enlarged, box)))]
        return LABELS[int(np.argmax(recogniser().probabilities(view.rgb, box)))]

    def good(one: RecognitionStart) -> Stance:
        stance = one.start
        for step in one.steps:
            stance, _ = walked(home.floor, stance, step)
        return stance

    assert not any(label(one.start, one.target) == one.category for one in starts)
    assert np.mean([label(one.start, one.target, 2) == one.category for one in starts]) <= 0.34
    assert np.mean([label(good(one), one.target) == one.category for one in starts]) >= 0.66


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
