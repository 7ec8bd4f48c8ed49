"""Words for every thing that can be a target: one sentence names it, the other does not."""

import re

import numpy as np
import pytest

from worldgauge.core.errors import UnknownNameError
from worldgauge.suites.target.walks import EXPLICIT_SHARE, VAGUE, categories, draw_label, wording_of
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.floor import CATEGORIES, NAMES
from worldgauge.worlds.voxel.world import KINDS


@pytest.mark.parametrize("category", categories())
def test_explicit_names_it_and_implicit_does_not(category: str) -> None:
    explicit, implicit = wording_of(category)
    assert category in explicit
    for text in (explicit, implicit):
        assert re.fullmatch(r"Walk to [^.]+\.", text)
    said = re.findall(r"[a-z]+", implicit.lower())
    for word in category.split():
        stem = word.removesuffix("s").removesuffix("ie").removesuffix("y")
        told = [one for one in said if (one.startswith(stem[:5]) and len(stem) > 3) or one == word]
        assert told == [], implicit


def test_sentences_are_different_ones() -> None:
    """Two categories share a sentence only where they are two names of one thing."""
    sentences: dict[str, list[str]] = {}
    for category in categories():
        sentences.setdefault(wording_of(category).implicit, []).append(category)
    assert [names for names in sentences.values() if len(names) > 1] == [
        ["bookcase", "bookshelf"],
        ["counter", "kitchen counter"],
        ["fridge", "refrigerator"],
        ["plant", "potted plant"],
    ]


@pytest.mark.parametrize("seed", range(4))
def test_every_landmark_of_both_worlds_has_words(seed: int) -> None:
    worlds = [Voxel(KINDS[seed % len(KINDS)], seed, (160, 160, 56)), Home(seed)]
    for world in worlds:
        found = {landmark.category for landmark in world.landmarks}
        assert len(found - VAGUE) >= 12
        for category in found:
            wording_of(category)


def test_all_that_settlements_can_name_has_words() -> None:
    assert {category for drawn, category in CATEGORIES.items() if drawn not in NAMES} <= set(categories())


def test_unknown_categories_are_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'boulder'"):
        wording_of("bolder")


def test_labels_come_in_the_published_share_and_from_the_generator() -> None:
    drawn = [draw_label(np.random.default_rng([1, n])) for n in range(3000)]
    assert drawn.count("explicit") / 3000 == pytest.approx(EXPLICIT_SHARE, abs=0.03)
    assert set(drawn) == {"explicit", "implicit"}
    assert draw_label(np.random.default_rng(4)) == draw_label(np.random.default_rng(4))
