"""The reviser of a table: likeness to the goal."""

import json
import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.video import resize
from worldgauge.suites.worldinworld.manipulation import reviser as goal_similarity
from worldgauge.suites.worldinworld.manipulation.reviser import (
    CARRIED,
    DIFFERS,
    FULLY,
    NEITHER,
    SHADED,
    SHADED_THING,
    SHADOW,
    SOFT_PX,
    SPREAD,
    STEEP,
    WIDTH_PX,
    GoalSimilarity,
)
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    PolicyKit,
    Rollout,
    revisers,
)
from worldgauge.worlds.tabletop.pose_plans import HandPose


@pytest.fixture(autouse=True)
def sharp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values by hand are those of sharp edges."""
    monkeypatch.setattr(goal_similarity, "SOFT_PX", 0.01)


WOOD, RED, BLUE, ARM = (180, 155, 125), (220, 30, 30), (30, 60, 200), (40, 45, 50)


def table(
    *blocks: tuple[int, int],
    blue: tuple[int, int] | None = None,
    arm: tuple[slice, slice] | None = None,
    size: int = WIDTH_PX,
) -> Any:
    """A table with red blocks of 16 x 16 px, and a blue one, at (row, column)."""
    picture = np.full((WIDTH_PX, WIDTH_PX, 3), WOOD, np.uint8)
    for colour, (row, column) in [*((RED, block) for block in blocks), *([(BLUE, blue)] if blue else [])]:
        picture[row : row + 16, column : column + 16] = colour
    if arm:
        picture[arm] = ARM
    return resize(picture, size, size)


HERE, THERE = (40, 20), (90, 100)


FAR = math.dist(HERE, THERE)


LEFT_THERE = slice(90, 106), slice(100, 116)


def reached(view: Any) -> float:
    return GoalSimilarity(table(HERE), table(THERE)).reached(view)


def test_by_hand() -> None:
    assert reached(table(HERE)) == pytest.approx(0, abs=2e-3)
    assert reached(table(THERE)) == pytest.approx(1, abs=2e-3)
    assert reached(table()) == pytest.approx(0.5, abs=2e-3), "taken away, not yet put down"
    assert reached(table(HERE, THERE)) == pytest.approx(0.25, abs=2e-3), "another one is there"
    assert reached(table((40, 28), (0, 0))) == pytest.approx(0.25, abs=2e-3), "half of its place is left"
    half_there = (0.5 + 1 - 8 / FAR) / 2
    assert reached(table((90, 108))) == pytest.approx((1 + half_there) / 2, abs=2e-3), "seen, and by its place"


def test_a_thing_above_its_place_is_nearly_there_and_one_behind_the_hand_counts_by_what_is_left() -> None:
    above = table((70, 100))
    assert reached(above) == pytest.approx((1 + CARRIED) / 2, abs=2e-3)
    assert reached(table((90, 40))) < reached(table((70, 84))) < reached(above)
    too_high = reached(table((50, 100)))
    assert reached(table()) < too_high < reached(above)
    held = table((70, 100), arm=(slice(50, 72), slice(90, 126)))
    assert reached(held) == pytest.approx(reached(above), abs=0.02)


def test_a_thing_that_lies_off_its_place_counts_by_how_far_and_not_as_one_above_it() -> None:
    beside, behind = (reached(table(place)) for place in ((90, 104), (90 - 4, 100)))
    assert beside - behind == pytest.approx((STEEP - 1) * 4 / FAR / 4, abs=1e-3), "a row is a longer way than a column"
    turned = table(THERE)
    for corner in ((90, 100), (90, 112), (102, 100), (102, 112)):
        turned[corner[0] : corner[0] + 4, corner[1] : corner[1] + 4] = WOOD
    lost = 4 * 16 / 256
    assert reached(turned) == pytest.approx(1 - lost / 4, abs=2e-3), "what its turn hides counts a half"


def test_each_of_two_things_is_looked_for_by_itself() -> None:
    two = GoalSimilarity(table(HERE, blue=(140, 30)), table((90, 100), blue=(106, 100)))
    start = two.reached(table(HERE, blue=(140, 30)))
    held = two.reached(table((80, 60), blue=(140, 30)))
    over = two.reached(table((70, 104), blue=(140, 30)))
    put = two.reached(table((90, 100), blue=(140, 30)))
    carrying = two.reached(table((90, 100), blue=(86, 100)))
    assert start < held < over < put < carrying < 1
    assert two.reached(table((90, 100), blue=(106, 100))) == pytest.approx(1, abs=0.07), "its own middle is not both's"


def test_a_hand_as_dark_as_a_grey_thing_in_shadow_is_hardly_taken_for_it() -> None:
    grey, hand = (130, 130, 135), (80, 80, 83)

    def coloured(colour: tuple[int, int, int], place: tuple[int, int]) -> Any:
        picture = np.full((WIDTH_PX, WIDTH_PX, 3), WOOD, np.uint8)
        picture[place[0] : place[0] + 16, place[1] : place[1] + 16] = colour
        return picture

    likeness = GoalSimilarity(coloured(grey, HERE), coloured(grey, THERE))
    assert likeness.reached(coloured(grey, THERE)) > likeness.reached(coloured(hand, THERE)) + 0.05


def test_the_shadow_of_the_arm_changes_nothing() -> None:
    def shaded(picture: Any) -> Any:
        picture = picture.copy()
        picture[30:130, 10:140] = np.rint(picture[30:130, 10:140] * SHADOW)
        return picture

    for view in (table(HERE), table(THERE), table((70, 100))):
        assert reached(shaded(view)) == pytest.approx(reached(view), abs=0.03)


def test_what_the_arm_covers_is_neither_and_a_thing_that_is_not_found_is_not_there() -> None:
    assert reached(table(arm=LEFT_THERE)) == pytest.approx((1 + 0.5 / 2) / 2, abs=5e-3)
    assert reached(table(HERE, arm=LEFT_THERE)) == pytest.approx((0 + 0.5 / 2) / 2, abs=5e-3)
    both = slice(30, 120), slice(0, WIDTH_PX)
    assert reached(table(arm=both)) == pytest.approx((0.5 + 0.5 / 2) / 2, abs=5e-3)


def test_what_does_not_have_to_change_is_not_looked_at() -> None:
    elsewhere = table((0, 140), HERE, arm=(slice(140, 160), slice(0, 160)))
    assert reached(elsewhere) == reached(table(HERE))


def test_by_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    before, goal, view = rng.integers(0, 256, (3, 4, WIDTH_PX, 3)).astype(np.uint8)
    goal[:, ::3] = before[:, ::3] + 9  # off by 16 at most: does not count
    view[:, 1::2] = goal[:, 1::2]

    def likeness(seen: list[float], known: list[float], shade: float) -> float:
        lit, shaded = (math.exp(-((math.dist(seen, [k * c for c in known]) / SPREAD) ** 2) / 2) for k in (1, SHADOW))
        return max(lit, shade * shaded)

    pixels = [
        tuple(picture[row, column].astype(float).tolist() for picture in (before, goal, view))
        for row in range(4)
        for column in range(WIDTH_PX)
    ]
    differing = [n for n, (b, g, _) in enumerate(pixels) if math.dist(b, g) >= DIFFERS]
    columns = range(min(n % WIDTH_PX for n in differing), max(n % WIDTH_PX for n in differing) + 1)
    box = [pixels[WIDTH_PX * row + column][which] for row in range(4) for column in columns for which in (0, 1)]
    background = [statistics.median(colour[c] for colour in box) for c in range(3)]
    shares = []
    for left in (True, False):
        total = weight = 0.0
        for n in differing:
            b, g, v = pixels[n]
            if (math.dist(g, background) < math.dist(b, background)) is not left:
                continue
            of_b, of_g = (SHADED_THING, SHADED) if left else (SHADED, SHADED_THING)
            one, other = likeness(v, b, of_b), likeness(v, g, of_g)
            neither = math.exp(-((NEITHER / SPREAD) ** 2) / 2)
            weight += min(math.dist(b, g), FULLY)
            total += min(math.dist(b, g), FULLY) * (1 + (other - one) / (one + other + neither)) / 2
        shares.append(total / weight)
    assert GoalSimilarity(before, goal).reached(view) == pytest.approx((shares[0] + shares[1] / 2) / 2, rel=1e-9)


def test_a_mirrored_table_and_exchanged_colours_change_nothing() -> None:
    pictures = table(HERE), table(THERE), table((90, 108), arm=(slice(0, 60), slice(60, 90)))
    plain = GoalSimilarity(*pictures[:2]).reached(pictures[2])
    for change in (np.fliplr, lambda one: one[..., ::-1]):
        before, goal, view = (np.ascontiguousarray(change(one)) for one in pictures)
        assert GoalSimilarity(before, goal).reached(view) == pytest.approx(plain, abs=1e-9)


@pytest.mark.parametrize("size", [80, 224, 448, 480])
def test_pictures_of_other_sizes_tell_the_same(size: int) -> None:
    other = GoalSimilarity(table(HERE, size=480), table(THERE, size=480))
    for view in (table(HERE), table(), table((90, 108)), table(THERE)):
        assert other.reached(resize(view, size, size)) == pytest.approx(reached(view), abs=0.03)
    assert GoalSimilarity(table(HERE, size=480), table(THERE, size=448)).reached(table(THERE)) == pytest.approx(
        1, abs=0.03
    )


def test_a_little_nearer_is_a_little_more() -> None:
    shares = [reached(table((90, 116 - shift))) for shift in range(0, 17, 2)]
    assert all(one < other for one, other in pairwise(shares))


def test_a_shade_on_the_table_is_not_the_goal() -> None:
    shaded = (table(HERE) * 0.93).astype(np.uint8)
    assert reached(shaded) < 0.05


def test_a_goal_that_is_reached_already_is_reached_by_all() -> None:
    same = GoalSimilarity(table(HERE), table(HERE))
    assert same.reached(table(THERE)) == same.reached(table(HERE)) == 1.0


CHANGES: dict[str, Callable[[Any], Any]] = {
    "tint": lambda view: view * np.array([1.06, 1, 0.92]),
    "brighter": lambda view: view + 25.0,
    "contrast": lambda view: (view - 128.0) * 1.12 + 146,
    "half size": lambda view: resize(resize(view, WIDTH_PX // 2, WIDTH_PX // 2), WIDTH_PX, WIDTH_PX),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_harmless_changes_move_it_little(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], Any]) -> None:
    monkeypatch.setattr(goal_similarity, "SOFT_PX", SOFT_PX)
    for view in (table(HERE), table((70, 101)), table(THERE), table(THERE, arm=(slice(0, 60), slice(60, 90)))):
        changed = np.clip(np.rint(change(view)), 0, 255).astype(np.uint8)
        assert reached(changed) == pytest.approx(reached(view), abs=0.02)


POSE = HandPose(0.1, 0.0, 0.9, 1.0, 0.0, 0.0, 0.0, 1.0)


def picture(block: int, size: int = 64) -> Any:
    """A table with a red block in one of eight columns."""
    table = np.full((size, size, 3), (180, 155, 125), np.uint8)
    side = size // 8
    table[3 * side : 4 * side, block * side : (block + 1) * side] = (220, 30, 30)
    return table


GOAL = Goal(text="slide the block to the right", image=picture(6), before=picture(1))


def candidate(*blocks: int | None, valid: int | None = None, size: int = 64) -> Candidate:
    """A plan in whose frames after the first the block is in these columns; nothing was imagined for none."""
    plan = ActionPlan((), "test", poses=(POSE._replace(x=0.01 * (blocks[-1] or 0)),) * max(len(blocks), 1))
    if blocks[0] is None:
        return Candidate(plan, None, lambda: None)
    frames = np.stack([picture(1, size), *(picture(int(block or 0), size) for block in blocks)])
    count = len(frames) if valid is None else valid
    camera = Camera.from_vertical_fov(size, size, 40)
    return Candidate(plan, Rollout(frames, "perspective", camera, np.arange(len(frames)), count), lambda: None)


def decision(*candidates: Candidate, goal: Goal = GOAL, reviser: Any = None) -> Decision:
    reviser = reviser or revisers.get("similarity")(PolicyKit("manipulation", 5))
    return reviser.revise(candidates, SimpleNamespace(), goal, [], np.random.default_rng(0))


def test_the_plan_that_ends_as_the_goal_is_taken() -> None:
    made = decision(candidate(1, 2), candidate(3, 6), candidate(6, 1))
    assert made.chosen == 1
    assert made.scores[1:] == pytest.approx((1.0, 0.0), abs=0.02), "of the last frame alone"
    assert 0.5 < made.scores[0] < 0.6, "gone from its place, and a little nearer"
    assert made.plan.poses[0].x == pytest.approx(0.06)


def test_frames_beyond_the_plan_are_not_looked_at() -> None:
    cut_off, short = decision(candidate(2, 6, valid=2), candidate(2, 2)).scores
    assert cut_off == short


def test_of_equal_ones_the_first() -> None:
    assert decision(candidate(3), candidate(6), candidate(6)).chosen == 1


def test_a_plan_without_a_frame_has_no_score_and_is_taken_last() -> None:
    made = decision(candidate(None), candidate(6, valid=1), candidate(1))
    assert made.chosen == 2
    assert made.scores[:2] == (None, None)
    assert json.loads(json.dumps(made.scores, allow_nan=False))[2] == pytest.approx(0, abs=0.02)


def test_where_nothing_was_imagined_the_first_is_taken() -> None:
    made = decision(candidate(None), candidate(None))
    assert (made.chosen, made.scores) == (0, ())
    assert decision(candidate(6, valid=1), candidate(6, valid=1)).chosen == 0


def test_rollouts_of_another_size_than_the_goal() -> None:
    made = decision(candidate(2, size=96), candidate(6, size=96), candidate(1, size=96))
    assert made.chosen == 1


def test_rollouts_that_show_the_centre_of_the_view() -> None:
    whole = candidate(2), candidate(6), candidate(1)
    cut = []
    for one in whole:
        frames, camera = one.rollout.frames[:, :, 8:56], one.rollout.camera.cropped(48, 64)
        cut.append(replace(one, rollout=replace(one.rollout, frames=frames, camera=camera)))
    assert decision(*cut).scores == pytest.approx(decision(*whole).scores, abs=0.02)


def test_another_goal_is_another_comparison() -> None:
    reviser = revisers.get("similarity")(PolicyKit("manipulation", 5))
    assert decision(candidate(6), candidate(4), reviser=reviser).chosen == 0
    other = Goal(image=picture(4), before=picture(1))
    assert decision(candidate(6), candidate(4), goal=other, reviser=reviser).chosen == 1


@pytest.mark.parametrize("goal", [Goal(text="push"), Goal(image=picture(6)), Goal(before=picture(6))])
def test_a_goal_without_both_pictures_is_refused(goal: Goal) -> None:
    with pytest.raises(UsageError, match="needs images of the table at the start and at the goal"):
        decision(candidate(6), goal=goal)


@pytest.mark.parametrize(("name", "chosen"), [("none", 0), ("oracle", 2)])
def test_the_others_serve_an_arm_too(name: str, chosen: int) -> None:
    assert "manipulation" in revisers.entry(name).facts["tasks"]
    values = (0.2, None, 0.7)
    candidates = [Candidate(candidate(6).plan, None, lambda value=value: value) for value in values]  # type: ignore[misc]
    made = revisers.get(name)(PolicyKit("manipulation", 5)).revise(candidates, None, GOAL, [], np.random.default_rng(0))
    assert made.chosen == chosen
