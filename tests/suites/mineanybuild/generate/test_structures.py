"""Structures of our own: types, tiers, names, what quality filters ask, and parts where they are said to be."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest
from scipy import ndimage

from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.generate.structure_brush import Draw, designs_of
from worldgauge.suites.mineanybuild.generate.structures import TIERS, TYPES, GeneratedStructure, structures
from worldgauge.worlds.blocks.blueprint import base_name, difficulty_factor, states_of, tier_of
from worldgauge.worlds.blocks.table import known, properties

SEED = 5
DESIGNS = [(type_, tier, drawn) for type_ in TYPES for tier in TIERS for drawn in designs_of(type_, tier)]


@pytest.fixture(scope="module")
def made() -> list[GeneratedStructure]:
    return list(structures(SEED))


def test_types_tiers_and_seeds(made: list[GeneratedStructure]) -> None:
    # Every type comes in every tier.
    assert len(made) == 66
    found = Counter()
    for one in made:
        factor = difficulty_factor(one.blueprint.blocks, one.blueprint.size)
        assert factor is not None
        found[one.type, tier_of(factor)] += 1
    assert found == Counter({(type_, tier): 1 for type_ in TYPES for tier in TIERS})
    # The types are those of the paper.
    assert len(TYPES) == len(set(TYPES)) == 22
    assert TYPES[0] == "houses"
    assert TYPES[-1] == "others"
    # The same seed gives the same ones and another one others.
    again = list(islice(structures(SEED), 9))
    assert [one.blueprint.digest for one in again] == [one.blueprint.digest for one in made[:9]]
    assert [(one.name, one.facts) for one in again] == [(one.name, one.facts) for one in made[:9]]
    others = list(structures(SEED + 1, 9))
    assert sum(a.blueprint.digest != b.blueprint.digest for a, b in zip(others, made, strict=False)) >= 8


def test_longer_runs_and_none() -> None:
    # A longer run begins with the shorter one and repeats nothing.
    many = list(structures(2, 90))
    assert [one.name for one in structures(2, 6)] == [one.name for one in many[:6]]
    assert len({one.name for one in many}) == 90
    seen = set()
    for one in many:
        names = one.blueprint.names_only().named()
        turns = [np.rot90(side, k, (1, 2)) for side in (names, names[:, :, ::-1]) for k in range(4)]
        keys = {(turn.shape, turn.tobytes()) for turn in turns}
        assert not keys & seen, f"{one.name} is a turned copy of an earlier one"
        seen |= keys
    # None and fewer than none.
    assert list(structures(0, 0)) == []
    with pytest.raises(UsageError, match="count"):
        next(structures(0, -1))


def test_what_the_filters_of_curation_ask(made: list[GeneratedStructure]) -> None:
    for one in made:
        blueprint, solid = one.blueprint, one.blueprint.solid
        assert blueprint.blocks >= 8
        assert len(blueprint.counts()) == len(blueprint.materials), f"{one.name}: a material is not used"
        assert len(blueprint.names_only().counts()) >= 2, one.name
        assert blueprint.trimmed() == blueprint, one.name
        assert solid[0].any(), one.name
        labels, _ = ndimage.label(solid, np.ones((3, 3, 3)))
        assert np.bincount(labels.ravel())[1:].max() >= 0.95 * blueprint.blocks, one.name
        width, height, depth = blueprint.size
        assert height <= 50, one.name
        assert max(width, depth) <= 80, one.name


def test_materials_are_the_games_in_order_of_occurrence(made: list[GeneratedStructure]) -> None:
    # Materials and their states are the games.
    for text in sorted({text for one in made for text in one.blueprint.materials}):
        name, states = states_of(text)
        assert known(name), name
        for key, value in states.items():
            assert value in dict(properties(name))[key], text
    # Materials come in the order they are first met.
    for one in made[:30]:
        walk = one.blueprint.cells.transpose(2, 0, 1).ravel()
        numbers, first = np.unique(walk[walk > 0], return_index=True)
        assert (np.argsort(first) == np.arange(len(numbers))).all(), one.name


def test_doors_have_two_halves_and_something_to_stand_on(made: list[GeneratedStructure]) -> None:
    doors = 0
    for one in made:
        named = one.blueprint.named()
        for y, z, x in np.argwhere(np.char.find(named, "_door[") >= 0):
            name, states = states_of(str(named[y, z, x]))
            doors += 1
            other = y + 1 if states["half"] == "lower" else y - 1
            twin, rest = states_of(str(named[other, z, x]))
            assert (twin, rest["facing"]) == (name, states["facing"]), one.name
            assert rest["half"] != states["half"], one.name
            if states["half"] == "lower" and y > 0:
                assert base_name(str(named[y - 1, z, x])) != "air", f"{one.name}: a door over nothing"
    assert doors > 20


@pytest.mark.parametrize("case", DESIGNS, ids=lambda case: f"{case[0]}-{case[1]}-{case[2].__name__}")
def test_a_design_keeps_to_its_tier_with_many_seeds(case) -> None:
    _, tier, drawn = case
    kept, looks = 0, set()
    count = 5 if tier == "hard" else 12
    for seed in range(count):
        canvas = drawn(Draw(np.random.default_rng([SEED, seed])))
        blueprint = canvas.blueprint()
        factor = difficulty_factor(blueprint.blocks, blueprint.size)
        kept += factor is not None and tier_of(factor) == tier
        looks.add(blueprint.digest)
        labels, _ = ndimage.label(blueprint.solid, np.ones((3, 3, 3)))
        assert np.bincount(labels.ravel())[1:].max() >= 0.95 * blueprint.blocks
        assert canvas.description.endswith(".")
        for words, low, high in canvas.parts():
            assert 0 <= low <= high < blueprint.size.height, words
            assert blueprint.solid[low : high + 1].any(axis=(1, 2)).all(), f"{words}: a layer of it is empty"
            assert not set(words) & set(",."), words
    assert kept >= 0.6 * count
    assert len(looks) >= 0.3 * count
