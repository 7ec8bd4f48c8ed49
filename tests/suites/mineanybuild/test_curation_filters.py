"""Quality filters, each set off alone; duplicates under turns and mirrors; parts that hang together."""

import numpy as np
import pytest

from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.curation import REASONS, canonical, rejections_of, select_structures
from worldgauge.suites.mineanybuild.metrics.soundness import connected_share
from worldgauge.worlds.blocks.blueprint import Blueprint


def hut(seed: int = 0) -> Blueprint:
    """A box of 5 x 4 x 3 with two materials; the seed takes blocks from its top."""
    cells = np.ones((4, 3, 5), np.int32)
    cells[1:3, 1, 1:4] = -1
    cells[1, 0, 2] = 2
    cells[3] = np.where(np.random.default_rng(seed).random((3, 5)) < 0.4, 2, cells[3])
    return Blueprint(cells, ("oak_planks", "glass"))


def changed(cells: np.ndarray, *materials: str) -> Blueprint:
    return Blueprint(cells, materials or ("oak_planks", "glass"))


def floating() -> Blueprint:
    return changed(np.pad(hut().cells, ((1, 0), (0, 0), (0, 0)), constant_values=-1))


def far_away() -> Blueprint:
    cells = np.full((4, 3, 12), -1, np.int32)
    cells[:, :, :5] = hut().cells
    cells[0:2, 0:2, 10:] = 1
    return changed(cells)


def tall() -> Blueprint:
    cells = np.ones((51, 1, 1), np.int32)
    cells[::2] = 2
    return changed(cells)


@pytest.mark.parametrize(
    ("blueprint", "reasons"),
    [
        (hut(), []),
        (Blueprint.of([[[1, 2]]], ["oak_planks", "glass"]), ["few_blocks"]),
        (Blueprint.of([[[1] * 9]], ["oak_planks"]), ["few_materials"]),
        (Blueprint.of([[[1, 2] * 5]], ["oak_stairs[half=top]", "oak_stairs[half=bottom]"]), ["few_materials"]),
        (changed(np.pad(hut().cells, ((0, 0), (0, 0), (1, 0)), constant_values=-1)), ["loose_box"]),
        (changed(np.pad(hut().cells, ((0, 2), (0, 0), (0, 0)), constant_values=-1)), ["loose_box"]),
        (floating(), ["loose_box", "above_ground"]),
        (far_away(), ["scattered"]),
        (Blueprint(hut().cells, ("oak_planks", "no_such_block")), ["unknown_names"]),
        (Blueprint(hut().cells, ("oak_planks", "some_mod:glass[lit=true]")), ["unknown_names"]),
        (Blueprint(hut().cells, ("oak_planks", "minecraft:oak_planks[a=b]")), ["few_materials"]),
        (tall(), ["too_large"]),
        (Blueprint(hut().cells, ("oak_planks", "minecraft:chain_command_block[facing=up]")), ["machine_blocks"]),
        (Blueprint.of([[[-1]]], []), ["few_blocks", "few_materials"]),
    ],
)
def test_each_filter(blueprint: Blueprint, reasons: list[str]) -> None:
    assert [problem.reason for problem in rejections_of(blueprint)] == reasons


def test_reasons_and_scattered_parts() -> None:
    # Every reason has a case above.
    marks = test_each_filter.pytestmark[0].args[1]
    assert {reason for _, reasons in marks for reason in reasons} == set(REASONS)
    # Five per cent may stand apart.
    cells = np.full((1, 3, 24), -1, np.int32)
    cells[0, 0, :19] = 1
    cells[0, 2, 23] = 2
    assert connected_share(changed(cells)) == 0.95
    assert "scattered" not in [one.reason for one in rejections_of(changed(cells))]
    cells[0, 0, 18] = -1
    assert "scattered" in [one.reason for one in rejections_of(changed(cells))]


@pytest.mark.parametrize("seed", range(30))
def test_together_agrees_with_a_plain_flood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    solid = rng.random(rng.integers(1, 14, 3)) < rng.choice([0.03, 0.1, 0.3, 0.9])
    left, sizes = set(map(tuple, np.argwhere(solid))), [0]
    while left:
        part = [left.pop()]
        for y, z, x in part:
            near = {(y + i - 1, z + j - 1, x + k - 1) for i, j, k in np.ndindex(3, 3, 3)} & left
            left -= near
            part += near
        sizes.append(len(part))
    expected = max(sizes) / solid.sum() if solid.any() else None
    assert connected_share(changed(np.where(solid, 1, -1))) == pytest.approx(expected)


def test_together_follows_a_long_way() -> None:
    solid = np.zeros((1, 79, 79), bool)
    solid[0, ::2] = True
    solid[0, 1::4, -1] = solid[0, 3::4, 0] = True
    assert connected_share(changed(np.where(solid, 1, -1))) == 1.0
    solid[0, 39] = False
    assert connected_share(changed(np.where(solid, 1, -1))) < 0.6


def orientations(blueprint: Blueprint) -> list[Blueprint]:
    sides = (blueprint.cells, blueprint.cells[:, :, ::-1])
    return [Blueprint(np.rot90(side, k, (1, 2)), blueprint.materials) for side in sides for k in range(4)]


@pytest.mark.parametrize("seed", range(6))
def test_turns_mirrors_order_of_materials_states_and_air_around_make_no_difference(seed: int) -> None:
    blueprint = hut(seed)
    form = canonical(blueprint)
    assert {canonical(one) for one in orientations(blueprint)} == {form}
    swapped = Blueprint(np.array([-1, 2, 1])[np.maximum(blueprint.cells, 0)], ("glass", "oak_planks", "dirt"))
    assert canonical(swapped) == form
    assert canonical(Blueprint(np.pad(blueprint.cells, 2, constant_values=-1), blueprint.materials)) == form
    assert canonical(Blueprint(blueprint.cells, ("minecraft:oak_planks", "glass[a=b]"))) == form


def test_upside_down_another_material_and_one_block_more_make_a_difference() -> None:
    blueprint = hut()
    others = [
        Blueprint(blueprint.cells[::-1], blueprint.materials),
        Blueprint(blueprint.cells, ("spruce_planks", "glass")),
        Blueprint(np.where(blueprint.cells == -1, 1, blueprint.cells), blueprint.materials),
        Blueprint(blueprint.cells.reshape(4, 5, 3), blueprint.materials),
    ]
    assert len({canonical(one) for one in [blueprint, *others]}) == 5


def test_the_first_that_passes_stays() -> None:
    told = [
        ("broken", floating()),
        ("one", hut(1)),
        ("turned", orientations(hut(1))[6]),
        ("two", hut(2)),
        ("again", hut(1)),
    ]
    found = select_structures(told)
    assert found.accepted == ("one", "two")
    assert {name: [one.reason for one in why] for name, why in found.rejected.items()} == {
        "broken": ["loose_box", "above_ground"]
    }
    assert found.duplicates == {"turned": "one", "again": "one"}


def test_a_waived_reason_is_overlooked_alone() -> None:
    told = [("floating", floating()), ("wool", Blueprint.of([[[1] * 9]], ["red_wool"]))]
    assert select_structures(told, waive=["few_materials"]).accepted == ("wool",)
    assert select_structures(told, waive=["loose_box"]).accepted == ()
    with pytest.raises(UsageError, match="no reason"):
        select_structures(told, waive=["ugly"])  # type: ignore[list-item]
