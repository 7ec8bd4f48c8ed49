"""Matching of builds: the reference's cases, counting cell by cell, moves tried one by one, invariances, edges."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.suites.mineanybuild.metrics import blueprint_matching as m
from worldgauge.worlds.blocks.blueprint import Blueprint

MATERIALS = ("stone", "minecraft:oak_stairs[facing=north]", "glass", "oak_stairs[facing=south]", "cave_air")


@pytest.mark.parametrize("case", cases("build_matching", "cases"))
def test_scores_of_the_reference(case: dict[str, Any]) -> None:
    truth = Blueprint.of(case["gt_blueprint"], case["gt_materials"], unknown="air")
    built = Blueprint.of(case["pred_blueprint"], case["pred_materials"], unknown="air")
    count = m.overlap(truth, built)
    found = {
        "N": count.truth,
        "M": count.matched,
        "P": count.built,
        "matching_score": m.matching_score(truth, built),
        "precision": m.matching_precision(truth, built),
        "typed_iou": m.typed_iou(truth, built),
        "occupancy_iou": m.occupancy_iou(truth, built),
        "best_shift_M": m.best_shift(truth, built).matched,
    }
    assert found == pytest.approx(case["expect"], abs=1e-6)


def build(seed: int, most: int = 6, materials: tuple[str, ...] = MATERIALS) -> Blueprint:
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, len(materials) + 1, rng.integers(1, most + 1, 3))
    return Blueprint(np.where(cells == 0, -1, cells).astype(np.int32), materials)


def named_cells(blueprint: Blueprint) -> dict[tuple[int, int, int], str]:
    """Independent of arrays: place to base name, without air."""
    found = {}
    for y, layer in enumerate(blueprint.rows()):
        for z, row in enumerate(layer):
            for x, number in enumerate(row):
                name = "air" if number < 0 else blueprint.materials[number - 1].split("[")[0].removeprefix("minecraft:")
                if not name.endswith("air"):
                    found[y, z, x] = name
    return found


SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, SEEDS)
@settings(deadline=None, max_examples=60)
def test_counts_as_one_does_cell_by_cell(one: int, other: int) -> None:
    truth, built = build(one), build(other)
    a, b = named_cells(truth), named_cells(built)
    matched = sum(b.get(place) == name for place, name in a.items())
    assert m.overlap(truth, built) == (len(a), len(b), matched, len(a.keys() & b.keys()))
    if a:
        assert m.matching_f1(truth, built) == pytest.approx(2 * matched / (len(a) + len(b)))
        assert m.typed_iou(truth, built) == pytest.approx(matched / len(a.items() | b.items()) if matched else 0.0)
        assert m.occupancy_iou(truth, built) == pytest.approx(len(a.keys() & b.keys()) / len(a.keys() | b.keys()))


def tried(truth: Blueprint, built: Blueprint) -> tuple[int, int, int, int]:
    """The best move by trying all; of equal ones the shortest, then the first in order."""
    a, b = named_cells(truth), named_cells(built)
    ranges = [range(-q + 1, p) for p, q in zip(truth.cells.shape, built.cells.shape, strict=True)]
    found = [
        (-sum(a.get((y + i, z + j, x + k)) == name for (y, z, x), name in b.items()), abs(i) + abs(j) + abs(k), i, j, k)
        for i, j, k in itertools.product(*ranges)
    ]
    best = min(found)
    return -best[0], *best[2:]


@pytest.mark.parametrize("pairs_a_move", [0, m._PAIRS_A_MOVE], ids=["transforms", "pairs"])
@pytest.mark.parametrize("seed", range(12))
def test_the_best_move_is_that_of_trying_all(seed: int, pairs_a_move: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(m, "_PAIRS_A_MOVE", pairs_a_move)
    truth, built = build(seed, 5), build(seed + 1000, 5)
    assert m.best_shift(truth, built) == tried(truth, built)


@given(SEEDS, st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)))
@settings(deadline=None, max_examples=40)
def test_a_moved_build_is_moved_back(seed: int, by: tuple[int, int, int]) -> None:
    truth = build(seed)
    padded = Blueprint(np.pad(truth.cells, [(step, 0) for step in by], constant_values=-1), truth.materials)
    best = m.best_shift(truth, padded)
    assert best.matched == truth.blocks
    if truth.blocks:
        assert m.best_shift_score(truth, padded) == 10
        assert m.best_shift(truth, truth) == (truth.blocks, 0, 0, 0)


@given(SEEDS, SEEDS, st.sampled_from([0, 1, 2]))
@settings(deadline=None, max_examples=40)
def test_mirroring_both_changes_nothing(one: int, other: int, axis: int) -> None:
    """Invariance: of one shape, both mirrored; and exchanged, where the measure is symmetric."""
    truth, built = build(one), build(other)
    shape = tuple(max(pair) for pair in zip(truth.cells.shape, built.cells.shape, strict=True))

    def padded(blueprint: Blueprint, flip: bool) -> Blueprint:
        around = [(0, full - side) for full, side in zip(shape, blueprint.cells.shape, strict=True)]
        cells = np.pad(blueprint.cells, around, constant_values=-1)
        return Blueprint(np.flip(cells, axis) if flip else cells, blueprint.materials)

    plain = (padded(truth, False), padded(built, False))
    flipped = (padded(truth, True), padded(built, True))
    assert m.overlap(*plain) == m.overlap(*flipped) == m.overlap(truth, built)
    assert m.best_shift(*plain).matched == m.best_shift(*flipped).matched
    if truth.blocks and built.blocks:
        for measure in (m.matching_f1, m.typed_iou, m.occupancy_iou):
            assert measure(truth, built) == pytest.approx(measure(built, truth))


def test_a_truth_without_blocks_has_no_scores() -> None:
    nothing, some = Blueprint.of([[[-1, 1]]], ["air"]), Blueprint.of([[[1, -1]]], ["stone"])
    for measure in (
        m.matching_score,
        m.matching_precision,
        m.matching_f1,
        m.typed_iou,
        m.occupancy_iou,
        m.best_shift_score,
    ):
        assert measure(nothing, some) is None
        assert measure(some, nothing) == 0
    assert m.best_shift(nothing, nothing) == (0, 0, 0, 0)


def test_the_largest_builds_take_seconds() -> None:
    """Bounded: 50 x 80 x 80 full of five materials, by transforms."""
    rng = np.random.default_rng(0)
    cells = rng.integers(1, 4, (50, 80, 80)).astype(np.int32)
    truth = Blueprint(cells, ("stone", "glass", "dirt"))
    moved = Blueprint(np.roll(cells, 7, axis=2), truth.materials)
    best = m.best_shift(truth, moved)
    assert best[1:] == (0, 0, -7)
    assert best.matched == 50 * 80 * 73


def test_too_many_moves_are_not_tried() -> None:
    wide = Blueprint(np.ones((3, 1500, 1500), np.int32), ("stone",))
    assert m.best_shift_score(wide, wide) is None
