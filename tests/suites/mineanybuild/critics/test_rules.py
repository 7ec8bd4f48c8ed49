"""The critic by rules: truth at the top, nothing at the bottom, boxes and noise low, losses never rewarded, facts."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldgauge.core.errors import UsageError
from worldgauge.core.image import Image
from worldgauge.suites.mineanybuild.critics import DIMENSIONS, CriticKit, Grades, Submission, critics
from worldgauge.suites.mineanybuild.critics.marking import mark_by_rules
from worldgauge.suites.mineanybuild.critics.rules import RulesCritic, StatedFact, holds, stated_facts, true_facts
from worldgauge.suites.mineanybuild.format import Kind
from worldgauge.suites.mineanybuild.generate.instructions import describe
from worldgauge.suites.mineanybuild.generate.structures import GeneratedStructure, structures
from worldgauge.worlds.blocks.blueprint import Blueprint

MATERIALS = ("oak_planks", "stone_bricks", "oak_door[half=lower]", "glass_pane", "oak_stairs[facing=north]", "torch")
INSTRUCTION = (
    "Build a hut that is 7 blocks wide (x), 6 blocks deep (z) and 6 blocks high. The lowest layer is a floor of 42 "
    "blocks of stone bricks. Four walls of oak planks with a door and windows of glass pane carry a roof of oak stairs."
)
CRITIC = RulesCritic(CriticKit())
GRADED: tuple[Kind, ...] = ("planning", "understanding", "creativity")


def unseen() -> Image:
    raise AssertionError("rules look at no picture")


def hut() -> Blueprint:
    cells = np.full((6, 6, 7), -1, np.int32)
    cells[0] = 2
    cells[1:4, 0] = cells[1:4, 5] = cells[1:4, :, 0] = cells[1:4, :, 6] = 1
    cells[1:3, 5, 3] = 3
    cells[2, 2:4, 0] = cells[2, 2:4, 6] = 4
    for step in range(2):
        cells[4 + step, step : 6 - step, :] = 5
    cells[5, 2, 3] = 6
    return Blueprint(cells, MATERIALS)


def solid(materials: tuple[str, ...], *size: int) -> Blueprint:
    return Blueprint(np.ones(size or (8, 8, 8), np.int32), materials)


def noise(materials: tuple[str, ...], seed: int = 0) -> Blueprint:
    cells = np.random.default_rng(seed).integers(0, len(materials) + 1, (8, 8, 8)).astype(np.int32)
    return Blueprint(np.where(cells == 0, -1, cells), materials)


def nothing(materials: tuple[str, ...]) -> Blueprint:
    return Blueprint(np.full((1, 1, 1), -1, np.int32), materials)


def submission(kind: Kind, built: Blueprint, truth: Blueprint | None = None, said: str = INSTRUCTION) -> Submission:
    return Submission("task", kind, said, built, unseen, reference=None if kind == "creativity" else truth)


def grade(kind: Kind, built: Blueprint, truth: Blueprint | None = None, said: str = INSTRUCTION) -> Grades:
    return CRITIC.grade(submission(kind, built, truth, said), seed=0)


def lost(truth: Blueprint, places: np.ndarray[Any, Any]) -> Blueprint:
    cells = truth.cells.copy()
    cells[tuple(places.T)] = -1
    return Blueprint(cells, truth.materials)


@pytest.fixture(scope="module")
def made() -> list[GeneratedStructure]:
    return list(structures(0, 66))


def test_it_is_registered_as_one_that_asks_nobody() -> None:
    facts = critics.entry("rules").facts
    assert (facts["chat"], facts["version"]) == (False, 2)
    assert isinstance(critics.get("rules")(CriticKit()), RulesCritic)


@pytest.mark.parametrize("kind", GRADED)
def test_grades_are_of_all_dimensions_with_comments(kind: Kind) -> None:
    for built in (hut(), solid(MATERIALS), noise(MATERIALS), nothing(MATERIALS)):
        found = grade(kind, built, hut())
        assert set(found.grades) == set(found.comments) == set(DIMENSIONS[kind])
        assert all(1 <= value <= 10 for value in found.grades.values())
        assert all(found.comments.values())
        assert found == grade(kind, built, hut()), "the same again"


@pytest.mark.parametrize("kind", ["planning", "understanding"])
def test_the_truth_gets_the_top_and_nothing_the_bottom(kind: Kind, made: list[GeneratedStructure]) -> None:
    for one in made:
        truth = one.blueprint
        said = describe(truth, one.name, one.facts)
        assert set(grade(kind, truth, truth, said).grades.values()) == {10}, one.name
        assert set(grade(kind, nothing(truth.materials), truth, said).grades.values()) == {1}, one.name
        assert set(grade(kind, truth, truth, "99 blocks wide, a door, 7 blocks of " + one.name).grades.values()) == {10}


def test_structures_boxes_and_noise(made: list[GeneratedStructure]) -> None:
    # Boxes and noise are graded low beside a reference.
    for one in made[::5]:
        truth = one.blueprint
        for bad in (solid(truth.materials), noise(truth.materials)):
            found = grade("planning", bad, truth, describe(truth, one.name, one.facts)).grades
            assert max(found.values()) <= 3.5, (one.name, found)
            assert grade("understanding", bad, truth).grades["completeness"] <= 3.5, one.name
    # Creativity tells structures from boxes and noise.
    large = [one for one in made if one.blueprint.blocks > 100]
    assert len(large) > 20
    for one in large:
        materials = one.blueprint.materials
        good = grade("creativity", one.blueprint, said="Build a thing.").grades
        for bad in (solid(materials), noise(materials), nothing(materials)):
            poor = grade("creativity", bad, said="Build a thing.").grades
            assert max(poor.values()) < 3, poor
            assert all(good[name] > poor[name] + 2 for name in good), (one.name, good, poor)


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.integers(0, 60))
@settings(deadline=None, max_examples=40)
def test_losing_blocks_never_raises_completeness(seed: int, first: int, more: int) -> None:
    truth = hut()
    places = np.random.default_rng(seed).permutation(np.argwhere(truth.solid))
    some, fewer = lost(truth, places[:first]), lost(truth, places[: first + more])
    for kind in ("planning", "understanding"):
        before, after = grade(kind, some, truth), grade(kind, fewer, truth)  # type: ignore[arg-type]
        assert after.grades["completeness"] <= before.grades["completeness"]


def test_the_more_is_wrong_the_lower_all_grades() -> None:
    """On the average of ten draws, in every dimension, beside a reference and without."""
    truth = hut()
    for kind in GRADED:
        means = []
        for share in (0.0, 0.15, 0.4, 0.8):
            drawn = []
            for seed in range(10):
                rng = np.random.default_rng(seed)
                strewn = rng.integers(0, len(MATERIALS) + 1, truth.cells.shape)
                cells = np.where(rng.random(truth.cells.shape) < share, np.where(strewn == 0, -1, strewn), truth.cells)
                drawn.append(list(grade(kind, Blueprint(cells.astype(np.int32), MATERIALS), truth).grades.values()))
            means.append(np.mean(drawn, axis=0))
        assert all((better >= worse).all() for better, worse in itertools.pairwise(means)), (kind, means)


def test_the_truth_stands_above_strewn_and_moved_builds(made: list[GeneratedStructure]) -> None:
    # Full marks are for the truth alone.
    truth = Blueprint(np.ones((12, 12, 12), np.int32), MATERIALS)
    nearly = lost(truth, np.array([[6, 6, 6]]))
    for kind in ("planning", "understanding"):
        assert grade(kind, nearly, truth).grades["completeness"] == 9.9
    # Materials strewn over a good shape are graded lower.
    for one in made:
        truth = one.blueprint
        if truth.blocks > 100:
            numbers = np.random.default_rng(0).integers(1, len(truth.materials) + 1, truth.cells.shape)
            strewn = Blueprint(np.where(truth.solid, numbers, -1).astype(np.int32), truth.materials)
            good, poor = (grade("creativity", built).grades["creativity"] for built in (truth, strewn))
            assert poor < good - 2, one.name
    # A moved build is nearly right.
    truth = hut()
    moved = Blueprint(np.pad(truth.cells, ((0, 0), (2, 0), (1, 0)), constant_values=-1), MATERIALS)
    assert 8 <= grade("planning", moved, truth).grades["completeness"] < 10
    assert "best where moved" in grade("understanding", moved, truth).comments["completeness"]


def test_facts_are_read_as_stated() -> None:
    facts = stated_facts(INSTRUCTION, MATERIALS)
    assert facts == (
        StatedFact("size", "width", 7),
        StatedFact("size", "depth", 6),
        StatedFact("size", "height", 6),
        StatedFact("count", "stone_bricks", 42),
        StatedFact("material", "glass_pane"),
        StatedFact("material", "oak_planks"),
        StatedFact("material", "oak_stairs"),
        StatedFact("part", "door"),
        StatedFact("part", "windows"),
        StatedFact("part", "roof"),
    )
    assert true_facts(facts, hut()) == facts
    assert stated_facts("Use 3 blocks of stone bricks.", ["stone"]) == (StatedFact("count", "stone", 3),)
    assert stated_facts("Use 3 blocks of stone bricks.", ["stone", "stone_bricks"]) == (
        StatedFact("count", "stone_bricks", 3),
    )
    assert stated_facts("Build a duck.", MATERIALS) == ()


@pytest.mark.parametrize(
    ("fact", "share"),
    [
        (StatedFact("size", "width", 7), 1),
        (StatedFact("size", "width", 8), 0.5),
        (StatedFact("size", "width", 9), 0),
        (StatedFact("count", "stone_bricks", 40), 0.5),
        (StatedFact("count", "stone_bricks", 60), 0),
        (StatedFact("count", "glass", 1), 0),
        (StatedFact("material", "torch"), 1),
        (StatedFact("material", "glass"), 0),
        (StatedFact("part", "door"), 1),
        (StatedFact("part", "roof"), 1),
        (StatedFact("part", "fence"), 0),
    ],
)
def test_facts_are_tried_on_the_build(fact: StatedFact, share: float) -> None:
    assert holds(fact, hut()) == share
    assert holds(fact, nothing(MATERIALS)) == 0


def test_facts_that_do_not_hold_are_said() -> None:
    cells = hut().cells.copy()
    cells[1:3, 5, 3] = 1
    cells[0, :, 3:] = 1
    comment = grade("planning", Blueprint(cells, MATERIALS), hut()).comments["completeness"]
    assert "not: 42 blocks of stone bricks, door" in comment


@given(st.text(max_size=200), st.lists(st.text(max_size=12), max_size=4))
@settings(deadline=None, max_examples=100)
def test_no_instruction_breaks_it(text: str, materials: list[str]) -> None:
    for fact in stated_facts(text, materials):
        assert 0 <= holds(fact, hut()) <= 1


def test_long_instructions_and_comparisons() -> None:
    # Long instructions take no longer.
    assert stated_facts("7 blocks of " * 100_000, MATERIALS) == ()
    assert stated_facts("1" * 10**6 + " blocks wide", MATERIALS) == ()
    # Of two the better wins wherever it is shown.
    truth = hut()
    better, worse = submission("planning", truth, truth), submission("planning", solid(MATERIALS), truth)
    assert CRITIC.compare(better, worse, 0).first
    assert not CRITIC.compare(worse, better, 0).first
    one, other = (submission("creativity", noise(MATERIALS, seed)) for seed in (1, 2))
    assert CRITIC.compare(one, other, 0).first != CRITIC.compare(other, one, 0).first
    # Equal grades are decided by the build not the place.
    one, other = (submission("creativity", solid(MATERIALS, side, 3, 3)) for side in (3, 4))
    assert CRITIC.grade(one, 0).grades == CRITIC.grade(other, 0).grades
    assert CRITIC.compare(one, other, 0).first != CRITIC.compare(other, one, 0).first
    assert CRITIC.compare(one, one, 0).first
    # Marks are those of the answers rules.
    asked = ("Is the way to the door free?", "No, the table stands in the way.", "No, a table blocks it.")
    assert CRITIC.mark(*asked, seed=0) == mark_by_rules(*asked)


def test_what_can_be_graded_without_a_reference() -> None:
    # What is no build is not graded.
    with pytest.raises(UsageError, match="'reasoning' is no build"):
        grade("reasoning", hut())
    # Without the reference builds are graded as they are made.
    assert grade("planning", hut()).grades["completeness"] > grade("planning", solid(MATERIALS)).grades["completeness"]
    assert set(grade("understanding", hut()).grades) == {"completeness"}
