"""Building instructions: whatever they state is read back from the words and checked on the build."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldgauge.core.errors import ShapeError
from worldgauge.suites.mineanybuild.critics.rules import holds, stated_facts
from worldgauge.suites.mineanybuild.generate.instructions import VERBS, describe, layer_bands, one_liners
from worldgauge.suites.mineanybuild.generate.structures import GeneratedStructure, structures
from worldgauge.worlds.blocks.blueprint import Blueprint

NAMES = ("stone", "stone_bricks", "oak_planks", "oak_stairs", "oak_door", "glass_pane", "cobblestone", "oak_fence")


@pytest.fixture(scope="module")
def made() -> list[GeneratedStructure]:
    return list(structures(3))


@pytest.mark.parametrize("told", [True, False], ids=["parts-known", "parts-found"])
def test_all_that_is_stated_of_the_starter_structures_is_true(made: list[GeneratedStructure], told: bool) -> None:
    for one in made:
        text = describe(one.blueprint, one.name, one.facts if told else None)
        _check(text, one.blueprint)
        if told:
            assert sum(words in text for words, _, _ in one.facts) >= min(4, len(one.facts)), text


def test_the_rule_critic_reads_sizes_counts_and_materials_as_true(made: list[GeneratedStructure]) -> None:
    for one in made:
        facts = stated_facts(describe(one.blueprint, one.name, one.facts), one.blueprint.materials)
        kinds = [fact.kind for fact in facts]
        assert kinds.count("size") == 3
        assert kinds.count("count") >= 2
        wrong = [str(fact) for fact in facts if fact.kind != "part" and holds(fact, one.blueprint) < 1]
        assert not wrong, one.name


@given(
    cells=st.lists(
        st.lists(st.lists(st.sampled_from([-1, *range(1, 9)]), min_size=3, max_size=3), min_size=2, max_size=2),
        min_size=1,
        max_size=9,
    )
)
@settings(max_examples=150, deadline=None)
def test_all_that_is_stated_of_any_build_is_true(cells: list[list[list[int]]]) -> None:
    blueprint = Blueprint.of(cells, NAMES)
    if not blueprint.blocks:
        with pytest.raises(ShapeError, match="without blocks"):
            describe(blueprint, "thing")
        return
    _check(describe(blueprint, "thing"), blueprint.trimmed())


def test_descriptions_by_hand(made: list[GeneratedStructure]) -> None:
    # Worked by hand.
    rows = [[[1, 1], [1, 1]], [[2, -1], [-1, 2]], [[3, 3], [3, 3]]]
    blueprint = Blueprint.of(rows, ("stone", "oak_log[axis=y]", "oak_slab[type=bottom]"))
    assert describe(blueprint, "oak_gate", [("two posts", 1, 1), ("a flat roof", 2, 2)]) == (
        "Build an oak gate. It is 2 blocks wide (x), 2 blocks deep (z) and 3 blocks high. "
        "Use 4 blocks of oak slab, 4 blocks of stone and 2 blocks of oak log. "
        "The lowest layer consists mainly of stone. The next layer consists mainly of oak log, with two posts. "
        "The top layer consists mainly of oak slab, with a flat roof."
    )
    # A single block is said in the singular.
    text = describe(Blueprint.of([[[1]]], ("stone",)), "thing", ())
    assert "1 block wide (x), 1 block deep (z) and 1 block high" in text
    assert "Use 1 block of stone. The only layer consists mainly of stone." in text
    # Air round a build and states change nothing.
    for one in made[:6]:
        padded = Blueprint(
            np.pad(one.blueprint.cells, ((0, 2), (1, 0), (3, 1)), constant_values=-1), one.blueprint.materials
        )
        assert describe(padded, one.name, one.facts) == describe(one.blueprint, one.name, one.facts)
        assert describe(one.blueprint.names_only(), one.name) == describe(one.blueprint, one.name)


def test_words_fit_and_bands_cover_all_layers(made: list[GeneratedStructure]) -> None:
    # Many long parts and long names still fit.
    blueprint = Blueprint.of([[[1 + y % 8]] for y in range(30)], NAMES)
    parts = [(f"a very long row of words about part number {k}", k, k) for k in range(30)]
    text = describe(blueprint, "thing", parts)
    assert 120 < len(text.split()) < 150
    assert "part number 0" in text
    _check(text, blueprint)
    assert len(describe(blueprint, "long " * 400, parts).split()) < 150
    # Bands cover all layers once and name their commonest material.
    for one in made:
        for most in (1, 3, 5):
            bands = layer_bands(one.blueprint, most)
            assert 1 <= len(bands) <= most
            assert bands[0].low == 0
            assert bands[-1].high == one.blueprint.size.height - 1
            assert all(after.low == before.high + 1 for before, after in pairwise(bands))
            for band in bands:
                _check_main(one.blueprint, band.low, band.high, band.material)


def test_one_liners_have_three_verbs_and_the_name() -> None:
    assert len(set(VERBS)) == 13
    used = set()
    for seed in range(60):
        lines = one_liners("stone_hut", np.random.default_rng(seed))
        assert all(line.endswith(" a stone hut.") for line in lines)
        verbs = [line.removesuffix(" a stone hut.") for line in lines]
        assert len(set(verbs)) == 3
        used.update(verbs)
    assert used == set(VERBS)
    assert one_liners("oak hut", np.random.default_rng(1)) == one_liners("oak hut", np.random.default_rng(1))
    assert all(line.endswith(" an oak hut.") for line in one_liners("oak hut", np.random.default_rng(1)))


def _check(text: str, blueprint: Blueprint) -> None:
    """Reads all statements of a text back and compares them with the build."""
    assert len(text.split()) < 150
    assert not re.search(r"[\[\]\n]|\d+, ?\d+,", text), "coordinates or a list"
    size = re.search(r"It is (\d+) blocks? wide \(x\), (\d+) blocks? deep \(z\) and (\d+) blocks? high\.", text)
    assert tuple(map(int, size.groups())) == (blueprint.size.width, blueprint.size.depth, blueprint.size.height)
    counts = {name.replace("_", " "): count for name, count in blueprint.names_only().counts().items()}
    used = re.search(r"Use (.*?)\. (?:The|All)", text)
    stated = re.findall(r"(\d+) blocks? of ([a-z ]+?)(?:,|$| and (?=\d))", used[1])
    assert sum(int(number) for number, _ in stated) == blueprint.blocks
    for number, name in stated:
        if name != "other kinds":
            assert counts[name] == int(number), text
    ceiling = blueprint.size.height
    low = 0
    for where, several, name in re.findall(
        r"(The lowest|The next|The top|The only|All) (?:(\d+) )?layers? consists? mainly of ([a-z ]+?)(?:,|\.)", text
    ):
        high = ceiling - 1 if where in ("All", "The only") else low + int(several or 1) - 1
        _check_main(blueprint, low, high, name.replace(" ", "_"))
        if where == "The top":
            assert high == ceiling - 1
        low = high + 1
    assert low == ceiling, "all layers are told of"


def _check_main(blueprint: Blueprint, low: int, high: int, name: str) -> None:
    plain = blueprint.names_only()
    counts = Blueprint(plain.cells[low : high + 1], plain.materials).counts()
    assert counts[name] == max(counts.values())
