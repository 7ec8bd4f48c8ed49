"""Damaged builds: exactly as wrong as they say, more of the same with every dose, and none where nothing changes."""

import itertools

import numpy as np
import pytest

from worldgauge.suites.mineanybuild.generate.structures import structures
from worldgauge.suites.mineanybuild.metrics.blueprint_matching import overlap
from worldgauge.worlds.blocks.blueprint import AIR, Blueprint, shared_blocks
from worldgauge_lab import critic_damage as d

TRUTHS = [made.blueprint for made in structures(3, 9)]
BY_NAME = {one.name: one for one in (*d.DAMAGES, *d.SAME)}


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def made(name: str, truth: Blueprint, dose: float = 1.0) -> Blueprint:
    found = BY_NAME[name].made(truth, dose, rng())
    assert found is not None
    return found


def wrong(truth: Blueprint, built: Blueprint) -> set[tuple[int, ...]]:
    """Cells of the truth's box that hold another block by name."""
    box = tuple(slice(0, side) for side in truth.cells.shape)
    cells = np.pad(built.cells, [(0, side) for side in truth.cells.shape], constant_values=AIR)[box]
    other = Blueprint(cells, built.materials).names_only().named()
    return set(map(tuple, np.argwhere(other != truth.names_only().named()).tolist()))


@pytest.mark.parametrize("truth", TRUTHS)
def test_doses_are_exact(truth: Blueprint) -> None:
    for share in BY_NAME["exchanged"].doses:
        count = max(1, round(share * truth.blocks))
        exchanged, removed, added = (made(name, truth, share) for name in ("exchanged", "removed", "added"))
        assert (exchanged.solid == truth.solid).all()
        assert shared_blocks(truth, exchanged) == truth.blocks - count
        assert removed.blocks == shared_blocks(truth, removed) == truth.blocks - count
        assert added.blocks == truth.blocks + count
        assert shared_blocks(truth, added) == truth.blocks
        assert set(added.counts()) == set(truth.counts())


@pytest.mark.parametrize("name", ["exchanged", "removed", "added", "truncated"])
@pytest.mark.parametrize("truth", TRUTHS[:3])
def test_a_larger_dose_holds_the_smaller(name: str, truth: Blueprint) -> None:
    doses = BY_NAME[name].doses
    assert list(doses) == sorted(set(doses))
    for less, more in itertools.pairwise(doses):
        one, other = made(name, truth, less), made(name, truth, more)
        assert wrong(truth, one) <= wrong(truth, other)
        assert one == made(name, truth, less), "the same again"


@pytest.mark.parametrize("truth", TRUTHS)
def test_what_is_moved_keeps_its_blocks(truth: Blueprint) -> None:
    for name, dose in (("shifted", 2), ("lifted", 4), ("turned", 1), ("mirrored", 1)):
        assert made(name, truth, dose).counts() == truth.counts()
    cells = made("shifted", truth, 2).cells
    assert (cells[:, 2:, 2:] == truth.cells).all()
    lifted = made("lifted", truth, 3)
    half = (truth.size.height + 1) // 2
    assert (lifted.cells[:half] == truth.cells[:half]).all()
    assert (lifted.cells[half : half + 3] == AIR).all()
    assert (lifted.cells[half + 3 :] == truth.cells[half:]).all()
    around = truth
    for _ in range(4):
        around = made("turned", around)
    assert around == truth == made("mirrored", made("mirrored", truth))


def test_single_damages_by_hand() -> None:
    truth = Blueprint(np.ones((3, 3, 4), np.int32), ("stone", "dirt"))
    truth.cells[0, 0, 0] = 2
    recoloured = made("recoloured", truth)
    assert recoloured.counts() == {"dirt": 1, "oak_planks": 35}
    hollow = made("hollowed", truth)
    assert hollow.blocks == 36 - 2
    assert (hollow.cells[1, 1, 1:3] == AIR).all()
    box = made("boxed", made("truncated", hollow, 0.75))
    assert (box.size, box.counts()) == ((4, 1, 3), {"stone": 12})
    one = Blueprint.of([[[1]]], ["stone"])
    assert made("exchanged", one).counts() == {"oak_planks": 1}
    assert BY_NAME["lifted"].made(one, 1, rng()) is None


@pytest.mark.parametrize("truth", TRUTHS)
def test_what_is_the_same_matches_in_full(truth: Blueprint) -> None:
    for one in d.SAME:
        built = one.made(truth, 1, rng())
        if built is not None:
            count = overlap(truth, built)
            assert count.matched == count.truth == count.built
            assert built != truth


def test_other_states_are_other_states() -> None:
    stairs = Blueprint.of([[[1, 2]]], ["oak_stairs[facing=north,half=top]", "oak_stairs[facing=south,half=top]"])
    built = made("restated", stairs)
    assert built.materials == ("oak_stairs[facing=south,half=bottom]", "oak_stairs[facing=north,half=bottom]")
    assert BY_NAME["restated"].made(Blueprint.of([[[1]]], ["stone"]), 1, rng()) is None
