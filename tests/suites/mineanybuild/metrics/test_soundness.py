"""Soundness of builds: houses by hand, independent counts, invariances, edges, what random blocks get."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldgauge.suites.mineanybuild.metrics import soundness as s
from worldgauge.worlds.blocks.blueprint import Blueprint, Size

MATERIALS = ("oak_planks", "oak_door", "glass", "sand", "minecraft:torch")
SHARES = (s.supported_share, s.connected_share, s.symmetry, s.order, s.alike_share, s.evenness, s.reachable_share)


def house(door: bool = True) -> Blueprint:
    """A hollow box of planks, 5 x 5 x 5: 98 blocks, 27 cells inside; a door of two blocks and a window of one."""
    cells = np.ones((5, 5, 5), np.int32)
    cells[1:4, 1:4, 1:4] = -1
    if door:
        cells[1:3, 4, 2] = 2
    cells[2, 0, 2] = 3
    return Blueprint(cells, MATERIALS)


def build(seed: int, most: int = 6) -> Blueprint:
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, len(MATERIALS) + 1, rng.integers(1, most + 1, 3))
    return Blueprint(np.where(rng.random(cells.shape) < 0.4, -1, np.where(cells == 0, -1, cells)), MATERIALS)


def test_houses_by_hand() -> None:
    # A house by hand.
    found = s.soundness(house())
    assert (found.blocks, found.size, found.materials, found.layers) == (98, Size(5, 5, 5), 3, 4)
    assert (found.inside, found.doors, found.windows) == (29, 1, 1), "the two cells of the door are inside too"
    assert found.fill == 98 / 125
    assert found.supported == found.connected == found.reachable == 1
    assert found.symmetry == 1, "mirrored in x"
    shares = [95 / 98, 2 / 98, 1 / 98]
    assert found.evenness == pytest.approx(-sum(p * math.log(p) for p in shares) / math.log(3))
    # Without a door nobody comes in.
    assert s.reachable_share(house(door=False)) == 0
    cells = house(door=False).cells.copy()
    cells[1, 4, 2] = -1
    assert s.reachable_share(Blueprint(cells, MATERIALS)) == 0, "a hole of one block is too low"
    cells[2, 4, 2] = -1
    assert s.reachable_share(Blueprint(cells, MATERIALS)) == 1


def test_what_floats_and_what_falls() -> None:
    cells = np.full((4, 3, 3), -1, np.int32)
    cells[0] = 1
    cells[3, 1, 1] = 1
    assert s.supported_share(Blueprint(cells, MATERIALS)) == pytest.approx(9 / 10)
    assert s.connected_share(Blueprint(cells, MATERIALS)) == pytest.approx(9 / 10)
    cells[1, 1, 1] = cells[2, 1, 1] = 4
    assert s.supported_share(Blueprint(cells, MATERIALS)) == 1, "sand on sand on planks stands"
    cells[1, 1, 1] = -1
    cells[2:, :, 0] = cells[:2, 0, 0, None] = 1
    cells[2, 1, 1] = 4
    assert s.supported_share(Blueprint(cells, MATERIALS)) == pytest.approx(1 - 1 / (cells > 0).sum()), (
        "over air it falls"
    )


def neighbours(a: tuple[int, ...], b: tuple[int, ...], least: int) -> bool:
    steps = [abs(p - q) for p, q in zip(a, b, strict=True)]
    return max(steps) == 1 and sum(steps) <= least


def parts(cells: set[tuple[int, ...]], most_steps: int) -> list[set[tuple[int, ...]]]:
    """Independent of the flood: join lists until none touch."""
    found: list[set[tuple[int, ...]]] = []
    for cell in cells:
        touching = [part for part in found if any(neighbours(cell, other, most_steps) for other in part)]
        found = [part for part in found if part not in touching] + [{cell}.union(*touching)]
    return found


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_counts_as_one_does_by_lists(seed: int) -> None:
    built = build(seed, 4).trimmed()
    cells = {tuple(place): int(built.cells[tuple(place)]) for place in np.argwhere(built.solid).tolist()}
    if not cells:
        return
    assert s.connected_share(built) == pytest.approx(max(map(len, parts(set(cells), 3))) / len(cells))
    grounded = set().union(*(part for part in parts(set(cells), 2) if any(place[0] == 0 for place in part)))
    falling = {p for p, number in cells.items() if number == 4 and p[0] and (p[0] - 1, *p[1:]) not in cells}
    assert s.supported_share(built) == pytest.approx(len(grounded - falling) / len(cells))
    height, depth, width = built.cells.shape
    everywhere = {place: cells.get(place, -1) for place in product(range(height), range(depth), range(width))}
    pairs = [(a, b) for a in everywhere for b in everywhere if a < b and neighbours(a, b, 1)]
    shares = [count / len(everywhere) for count in Counter(everywhere.values()).values()]
    chance = sum(p * p for p in shares)
    if pairs and chance < 1:
        alike = sum(everywhere[a] == everywhere[b] for a, b in pairs) / len(pairs)
        assert s.order(built) == pytest.approx(max(-1, (alike - chance) / (1 - chance)))
    touching = [cells[a] == cells[b] for a, b in pairs if a in cells and b in cells]
    assert s.alike_share(built) == pytest.approx(np.mean(touching) if touching else 1)


@given(st.integers(0, 2**32 - 1), st.integers(0, 3), st.booleans())
@settings(deadline=None, max_examples=60)
def test_turns_mirrors_and_room_around_change_nothing(seed: int, turns: int, mirrored: bool) -> None:
    built = build(seed)
    cells = np.rot90(built.cells, turns, axes=(1, 2))
    cells = np.pad(cells[:, :, ::-1] if mirrored else cells, ((0, 2), (1, 0), (2, 1)), constant_values=-1)
    one, other = s.soundness(built), s.soundness(Blueprint(cells, MATERIALS))
    names = (
        "supported",
        "connected",
        "symmetry",
        "order",
        "alike",
        "evenness",
        "reachable",
        "inside",
        "doors",
        "layers",
    )
    for name in names:
        assert getattr(one, name) == pytest.approx(getattr(other, name)), name


def test_empty_single_and_random_builds() -> None:
    # Builds without blocks and of one.
    for nothing in (Blueprint.of([[[-1]]], MATERIALS), Blueprint.of([[[1]]], ["air"])):
        assert all(measure(nothing) is None for measure in SHARES)
        found = s.soundness(nothing)
        assert (found.blocks, found.size, found.inside, found.layers, found.fill) == (0, (0, 0, 0), 0, 0, 0)
    one = Blueprint.of([[[1]]], MATERIALS)
    assert [measure(one) for measure in SHARES] == [1, 1, 1, 1, 1, 0, None]
    assert s.offered_used(one, MATERIALS) == 1 / 5
    assert s.offered_used(one, ["air"]) is None
    # Blocks at random have no order and a house has.
    rng = np.random.default_rng(0)
    for materials in (1, 3, 6):
        cells = rng.integers(0, materials + 1, (8, 8, 8)).astype(np.int32)
        cells[cells == 0] = -1
        assert abs(s.order(Blueprint(cells, tuple(f"wool_{k}" for k in range(materials))))) < 0.1
    assert s.order(house()) > 0.3


def test_strewn_and_large_builds() -> None:
    # A box of 5 x 5 x 5 has 300 pairs of blocks, 54 within its inside of 3 x 3 x 3 and 54 from there to the shell.
    shell = house(door=False)
    cells = shell.cells.copy()
    cells[2, 0, 2] = 1
    assert s.alike_share(Blueprint(cells, MATERIALS)) == 1
    assert s.alike_share(shell) == pytest.approx(188 / 192), "one window touches four blocks"
    strewn = np.where(shell.solid, np.random.default_rng(0).integers(1, 6, cells.shape), -1)
    assert abs(s.alike_share(Blueprint(strewn, MATERIALS)) - 1 / 5) < 0.1
    assert s.alike_share(Blueprint.of([[[1, -1, 2]]], MATERIALS)) == 1, "none touch"
    # The largest builds take little time.
    cells = np.random.default_rng(0).integers(-1, 3, (50, 80, 80)).astype(np.int32)
    found = s.soundness(Blueprint(np.where(cells == 0, -1, cells), MATERIALS))
    assert found.blocks > 100_000


@pytest.mark.parametrize(
    ("pattern", "meant", "others"),
    [
        (
            s.PASSABLE,
            ("oak_door", "oak_fence_gate", "wall_torch", "short_grass", "snow"),
            ("grass_block", "snow_block", "glowstone"),
        ),
        (s.FALLING, ("sand", "white_concrete_powder", "chipped_anvil"), ("sandstone", "white_concrete")),
        (s.WINDOWS, ("red_stained_glass_pane", "iron_bars"), ("spyglass",)),
        (s.DOORS, ("oak_door",), ("oak_trapdoor",)),
    ],
)
def test_names(pattern: "s.re.Pattern[str]", meant: tuple[str, ...], others: tuple[str, ...]) -> None:
    assert all(map(pattern.search, meant))
    assert not any(map(pattern.search, others))
