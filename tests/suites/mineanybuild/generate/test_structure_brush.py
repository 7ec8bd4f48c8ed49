"""The brushes that structures are drawn with."""

import numpy as np
import pytest

from worldgauge.suites.mineanybuild.generate.structure_brush import BlockCanvas, Draw
from worldgauge.worlds.blocks.blueprint import states_of


@pytest.fixture
def canvas() -> BlockCanvas:
    return BlockCanvas("thing", "A thing.")


def test_a_box_holds_both_its_corners_and_may_lie_below_zero(canvas: BlockCanvas) -> None:
    canvas.box((-2, -1, 3), (0, 0, 6), "stone")
    blueprint = canvas.blueprint()
    assert blueprint.size == (3, 2, 4)
    assert blueprint.blocks == 24
    assert canvas.holds(-2, -1, 3)
    assert not canvas.holds(1, 0, 3)


def test_none_takes_blocks_away(canvas: BlockCanvas) -> None:
    canvas.box((0, 0, 0), (2, 2, 2), "stone")
    canvas.put(1, 1, 1, None)
    assert canvas.blueprint().blocks == 26
    assert not canvas.holds(1, 1, 1)


def test_walls_leave_the_inside_and_corners_are_four_edges(canvas: BlockCanvas) -> None:
    canvas.walls((0, 0, 0), (4, 1, 3), "stone")
    assert canvas.blueprint().blocks == 2 * (2 * 5 + 2 * 2)
    canvas.corners((0, 0, 0), (4, 1, 3), "oak_log")
    assert canvas.blueprint().counts() == {"oak_log": 8, "stone": 20}


@pytest.mark.parametrize("radius", [2.3, 3.0, 4.5])
def test_a_ball_is_the_cells_within_its_radius(canvas: BlockCanvas, radius: float) -> None:
    canvas.ball((0, 0, 0), (radius,) * 3, "stone")
    grid = np.arange(-6, 7)
    x, y, z = np.meshgrid(grid, grid, grid)
    assert canvas.blueprint().blocks == int((x * x + y * y + z * z <= radius**2).sum())


def test_a_hollow_ball_is_its_skin(canvas: BlockCanvas) -> None:
    canvas.ball((0, 0, 0), (4.3, 4.3, 4.3), "stone", hollow=True)
    cells = canvas.blueprint().solid
    assert not cells[4, 4, 4]
    padded = np.pad(cells, 1)
    # Nothing of the skin has blocks on all six sides.
    inner = padded[1:-1, 1:-1, 1:-1].copy()
    for axis in range(3):
        for step in (1, -1):
            inner &= np.roll(padded, step, axis)[1:-1, 1:-1, 1:-1]
    assert not inner.any()


@pytest.mark.parametrize(("axis", "size"), [("y", (5, 3, 5)), ("x", (3, 5, 5)), ("z", (5, 5, 3))])
def test_a_disc_lies_across_its_axis(canvas: BlockCanvas, axis: str, size: tuple[int, int, int]) -> None:
    canvas.disc((0, 0), 2.3, 4, 6, "stone", axis=axis)
    assert canvas.blueprint().size == size
    assert canvas.blueprint().blocks == 3 * 21


def test_a_disc_takes_its_centre_in_the_order_of_the_axes(canvas: BlockCanvas) -> None:
    canvas.disc((7, 2), 0.5, 5, 5, "stone", axis="x")
    assert canvas.holds(5, 7, 2)
    canvas.disc((7, 2), 0.5, 5, 5, "stone", axis="z")
    assert canvas.holds(7, 2, 5)
    canvas.disc((7, 2), 0.5, 5, 5, "stone", axis="y")
    assert canvas.holds(7, 5, 2)


def test_a_line_has_one_block_a_step_and_both_ends(canvas: BlockCanvas) -> None:
    canvas.line((0, 0, 0), (6, 3, -2), "stone")
    assert canvas.blueprint().blocks == 7
    assert canvas.holds(0, 0, 0)
    assert canvas.holds(6, 3, -2)


def test_a_gable_rises_to_its_ridge_and_faces_it(canvas: BlockCanvas) -> None:
    top = canvas.gable((0, 0, 0), (4, 2), "oak_stairs", "oak_slab")
    assert top == 2
    named = canvas.blueprint().named()
    assert named[0, :, 0].tolist() == ["oak_stairs[facing=east]"] * 3
    assert named[0, :, 4].tolist() == ["oak_stairs[facing=west]"] * 3
    assert named[2, :, 2].tolist() == ["oak_slab"] * 3


def test_a_hip_faces_inward_on_all_sides_with_outer_corners(canvas: BlockCanvas) -> None:
    top = canvas.hip((0, 0, 0), (4, 4), "oak_stairs", "stone")
    assert top == 2
    assert canvas.blueprint().named()[2, 2, 2] == "stone"
    named = canvas.blueprint().named()[0]
    assert states_of(str(named[0, 2]))[1] == {"facing": "south"}
    assert states_of(str(named[4, 2]))[1] == {"facing": "north"}
    assert states_of(str(named[0, 0]))[1] == {"facing": "east", "shape": "outer_right"}


def test_what_hangs_in_the_air_is_dropped(canvas: BlockCanvas) -> None:
    canvas.box((0, 0, 0), (3, 0, 3), "stone")
    canvas.put(4, 1, 4, "stone")
    canvas.put(0, 5, 0, "stone")
    canvas.drop_loose()
    assert canvas.blueprint().blocks == 17


def test_parts_count_from_the_lowest_block(canvas: BlockCanvas) -> None:
    canvas.box((0, -3, 0), (0, 2, 0), "stone")
    canvas.part("a foot", -3, -2)
    canvas.part("a tip", 2, 2)
    assert canvas.parts() == (("a foot", 0, 1), ("a tip", 5, 5))
    assert canvas.top() == 2


def test_two_drawn_names_differ_and_numbers_keep_to_their_bounds() -> None:
    draw = Draw(np.random.default_rng(0))
    names = ("a", "b", "c")
    assert all(len(set(draw.two(names))) == 2 for _ in range(50))
    assert {draw.whole(2, 4) for _ in range(100)} == {2, 3, 4}
    assert {draw.odd(5, 9) for _ in range(100)} == {5, 7, 9}
    assert {draw.pick(names) for _ in range(100)} == set(names)
