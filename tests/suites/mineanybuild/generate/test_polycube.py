"""Figures of cubes: the vectors, every small figure counted, another way to turn them, and what is no figure."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.suites.mineanybuild.generate import mental_rotation as p

CELL = st.tuples(*[st.integers(-4, 4)] * 3)
FIGURE = st.lists(CELL, min_size=1, max_size=9, unique=True)


def turned_by_hand(cells: list[Any]) -> list[list[tuple[int, int, int]]]:
    """The 24 turns out of quarter turns about two axes, each moved to the origin and sorted."""
    seen = {}
    waiting = [tuple(np.eye(3, dtype=int).ravel())]
    quarters = [np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])]
    while waiting:
        key = waiting.pop()
        if key not in seen:
            turn = np.reshape(key, (3, 3))
            moved = np.array(cells) @ turn.T
            seen[key] = sorted(map(tuple, (moved - moved.min(axis=0)).tolist()))
            waiting += [tuple((quarter @ turn).ravel()) for quarter in quarters]
    return list(seen.values())


def grown(figures: set[bytes], blocks: int) -> set[bytes]:
    """Every connected figure of one block more, as canonical bytes."""
    more = set()
    for figure in figures:
        cells = np.frombuffer(figure, np.int64).reshape(blocks, 3)
        for place, step in itertools.product(cells, np.concatenate([np.eye(3, dtype=int), -np.eye(3, dtype=int)])):
            if not (cells == place + step).all(axis=1).any():
                more.add(p.canonical([*cells, place + step]).tobytes())
    return more


@pytest.mark.parametrize("case", cases("build_chirality", "figures"))
def test_figures_of_the_reference(case: dict[str, Any]) -> None:
    cells = case["cells"]
    assert p.canonical(cells).tolist() == case["canonical"]
    assert p.is_chiral(cells) == case["chiral"]
    assert p.symmetry_order(cells) == case["rotational_symmetry_order"]
    assert p.is_usable(cells) == case["usable_stimulus"]


@pytest.mark.parametrize("case", cases("build_chirality", "pairs"))
def test_pairs_of_the_reference(case: dict[str, Any]) -> None:
    same = p.same_by_rotation(case["a"], case["b"])
    assert same == case["same_by_rotation"]
    assert (same or p.same_by_rotation(p.mirrored(case["a"], 1), case["b"])) == case["same_up_to_mirror"]


def test_every_figure_of_up_to_six_blocks_is_counted_as_in_the_reference() -> None:
    known = {case.values[0]["n"]: case.values[0] for case in cases("build_chirality", "counts")}
    figures, achiral_without_symmetry = {np.zeros((1, 3), np.int64).tobytes()}, 0
    for n in range(1, 7):
        shapes = [np.frombuffer(figure, np.int64).reshape(n, 3) for figure in figures]
        chiral = [shape for shape in shapes if p.is_chiral(shape)]
        assert len(shapes) == known[n]["up_to_rotation"]
        assert len(shapes) - len(chiral) // 2 == known[n]["up_to_rotation_and_mirror"]
        assert len(chiral) == known[n]["chiral"]
        assert sum(map(p.is_usable, shapes)) == known[n]["usable"]
        achiral_without_symmetry = sum(p.symmetry_order(shape) == 1 and not p.is_chiral(shape) for shape in shapes)
        figures = grown(figures, n)
    assert achiral_without_symmetry == 35, "of six blocks: no symmetry is not enough"


@given(FIGURE)
def test_turned_another_way_it_is_the_same(cells: list[Any]) -> None:
    turns = turned_by_hand(cells)
    assert len(turns) == 24
    assert list(map(tuple, p.canonical(cells).tolist())) == min(turns)
    assert p.symmetry_order(cells) == sum(turn == turns[0] for turn in turns)
    mirror = turned_by_hand([(-x, y, z) for x, y, z in cells])
    assert p.is_chiral(cells) == (turns[0] not in mirror)


@given(FIGURE, st.integers(0, 23), CELL, st.randoms(use_true_random=False))
def test_turns_shifts_and_order_change_nothing(cells: list[Any], turn: int, shift: Any, random: Any) -> None:
    moved = (np.array(cells) @ p.ROTATIONS[turn].T + shift).tolist()
    random.shuffle(moved)
    assert p.same_by_rotation(cells, moved)
    assert p.symmetry_order(cells) == p.symmetry_order(moved)
    assert p.is_usable(cells) == p.is_usable(moved)


@given(FIGURE)
@settings(max_examples=50)
def test_mirrors_along_all_axes_are_one_figure(cells: list[Any]) -> None:
    mirrors = [p.mirrored(cells, axis) for axis in range(3)]
    assert p.same_by_rotation(mirrors[0], mirrors[1])
    assert p.same_by_rotation(mirrors[0], mirrors[2])
    assert p.is_chiral(cells) != p.same_by_rotation(cells, mirrors[0])


def test_rotations_and_odd_figures() -> None:
    # Rotations are the turns of a cube.
    assert p.ROTATIONS.shape == (24, 3, 3)
    assert len({turn.tobytes() for turn in p.ROTATIONS}) == 24
    assert np.array_equal(p.ROTATIONS[0], np.eye(3))
    assert np.allclose(np.linalg.det(p.ROTATIONS), 1)
    # A figure in two pieces is no stimulus.
    usable = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 1, 2)]
    assert p.is_usable(usable)
    apart = [*usable, (4, 0, 0)]
    assert p.symmetry_order(apart) == 1
    assert p.is_chiral(apart)
    assert not p.is_connected(apart)
    assert not p.is_usable(apart)
    assert not p.is_connected([(0, 0, 0), (1, 1, 0)]), "an edge is no face"
    # Cells given twice count once.
    assert p.canonical([(3, 1, 2), (3, 1, 2), (3, 2, 2)]).tolist() == [[0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    "cells",
    [
        *([], np.zeros((0, 3), int), [(1, 2)], [(0.0, 0.0, 0.0)], [[(1, 2, 3)]], [("a", "b", "c")]),
        *([(0, 0, 1 << 40)], [(0, 0, -(1 << 20))], [(-(1 << 63), 0, 0), (5, 0, 0)], [(0, 0, 1 << 63)]),
    ],
)
def test_what_is_no_figure_is_refused(cells: Any) -> None:
    with pytest.raises(ShapeError):
        p.canonical(cells)
