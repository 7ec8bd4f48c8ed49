"""Splits of homes: disjoint, and named so that a name leads back to its home."""

import itertools

import numpy as np
import pytest

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.worlds import open_world
from worldgauge.worlds.indoor.homes import SPLIT_SIZE, SPLITS, scene_name, scene_seed, world_of


def test_no_home_is_in_two_splits() -> None:
    ranges = [(scene_seed(split, 0), scene_seed(split, SPLIT_SIZE - 1)) for split in SPLITS]
    assert all(last - first == SPLIT_SIZE - 1 for first, last in ranges)
    for (_, last), (first, _) in itertools.pairwise(ranges):
        assert last < first
    assert ranges[0][0] > 100_000, "seeds used elsewhere are small"


def test_names_lead_to_their_homes() -> None:
    assert scene_name("test", 7) == "home-test-0007"
    rng = np.random.default_rng(0)
    for split in SPLITS:
        for number in (0, 9999, 10_000, SPLIT_SIZE - 1, *rng.integers(SPLIT_SIZE, size=20).tolist()):
            facts = world_of(scene_name(split, number))
            assert (facts.name, facts.params, facts.digest) == ("indoor", {"seed": scene_seed(split, number)}, None)
    assert open_world(world_of("home-val-0003")).facts.params == {"seed": scene_seed("val", 3)}


@pytest.mark.parametrize(
    "name",
    [
        "",
        "home-test-7",
        "home-test-00007",
        "home-tests-0007",
        "../home-test-0007",
        "home-test-0007\n",
        "home-test-٠٠٠٧",
    ],
)
def test_other_names_are_no_homes(name: str) -> None:
    with pytest.raises(UsageError, match="no home is called"):
        world_of(name)


def test_other_splits_and_numbers_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'train'"):
        scene_seed("trian", 0)
    for number in (-1, SPLIT_SIZE):
        with pytest.raises(UsageError, match="has homes 0 to"):
            scene_name("val", number)
