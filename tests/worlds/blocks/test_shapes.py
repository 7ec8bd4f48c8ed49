from itertools import product

import numpy as np
import pytest

from worldgauge.worlds.blocks import table
from worldgauge.worlds.blocks.fittings import SIDES, Shape, along, covered, flipped, squares_of, turned
from worldgauge.worlds.blocks.mesh import shape_of

COMPASS = ("north", "east", "south", "west")
UNSEEN = {"air", "cave_air", "void_air", "structure_void", "barrier", "light", "moving_piston"}


def filled(shape: Shape) -> np.ndarray:
    """(16, 16, 16) [x, y, z], the sixteenths that the boxes fill."""
    space = np.zeros((16, 16, 16), bool)
    for (x0, y0, z0, x1, y1, z1), _ in shape.parts:
        space[x0:x1, max(y0, 0) : y1, z0:z1] = True
    return space


def boxes_of(name: str, **states: str) -> set[tuple[int, ...]]:
    return {part.box for part in shape_of(name, states).parts}


@pytest.mark.parametrize("facing", COMPASS)
@pytest.mark.parametrize("half", ["bottom", "top"])
@pytest.mark.parametrize("corner", ["straight", "inner_left", "inner_right", "outer_left", "outer_right"])
def test_stairs_are_a_slab_and_quarters(facing, half, corner):
    # Quarters of the upper half as seen by somebody who faces `facing`: ahead left, ahead right, behind left and right.
    quarters = {
        "straight": {"ahead left", "ahead right"},
        "inner_left": {"ahead left", "ahead right", "behind left"},
        "inner_right": {"ahead left", "ahead right", "behind right"},
        "outer_left": {"ahead left"},
        "outer_right": {"ahead right"},
    }[corner]
    ahead = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
    (ax, az), (rx, rz) = ahead[facing], ahead[COMPASS[(COMPASS.index(facing) + 1) % 4]]
    expected = np.zeros((16, 16, 16), bool)
    expected[:, :8] = True
    for quarter in quarters:
        a, r = (1 if "ahead" in quarter else -1), (1 if "right" in quarter else -1)
        x, z = a * ax + r * rx, a * az + r * rz
        expected[slice(8, 16) if x > 0 else slice(0, 8), 8:, slice(8, 16) if z > 0 else slice(0, 8)] = True
    if half == "top":
        expected = expected[:, ::-1]
    shape = shape_of("oak_stairs", {"facing": facing, "half": half, "shape": corner})
    assert (filled(shape) == expected).all()


def test_shapes_of_the_specification():
    post = (6, 0, 6, 10, 16, 10)
    assert boxes_of("oak_fence") == {post}
    assert boxes_of("oak_fence", north="true") == {post, (7, 6, 0, 9, 9, 6), (7, 12, 0, 9, 15, 6)}
    assert boxes_of("oak_fence", east="true") == {post, (10, 6, 7, 16, 9, 9), (10, 12, 7, 16, 15, 9)}
    assert boxes_of("cobblestone_wall", up="true") == {(4, 0, 4, 12, 16, 12)}
    assert boxes_of("cobblestone_wall", up="false", north="low", south="tall") == {
        (5, 0, 0, 11, 14, 8),
        (5, 0, 8, 11, 16, 16),
    }
    assert boxes_of("glass_pane", west="true") == {(7, 0, 7, 9, 16, 9), (0, 0, 7, 7, 16, 9)}
    assert {(0, 5, 7, 2, 16, 9), (14, 5, 7, 16, 16, 9)} < boxes_of("oak_fence_gate")
    assert {(7, 5, 0, 9, 16, 2), (7, 5, 14, 9, 16, 16)} < boxes_of("oak_fence_gate", facing="east")
    assert boxes_of("white_carpet") == {(0, 0, 0, 16, 1, 16)}
    assert boxes_of("snow", layers="3") == {(0, 0, 0, 16, 6, 16)}
    assert boxes_of("stone_pressure_plate") == {(1, 0, 1, 15, 1, 15)}
    assert boxes_of("stone_button", face="floor") == {(5, 0, 6, 11, 2, 10)}
    assert boxes_of("stone_button", face="wall", facing="north") == {(5, 6, 14, 11, 10, 16)}
    assert filled(shape_of("torch", {}))[7:9, :10, 7:9].all()
    assert filled(shape_of("torch", {})).sum() == 2 * 10 * 2
    assert len(shape_of("poppy", {}).sheets) == 4
    assert shape_of("poppy", {}).parts == ()


def test_gates_swing_open_to_where_they_face():
    # Facing north: both leaves reach to the low z side and leave the middle free.
    gate = filled(shape_of("oak_fence_gate", {"facing": "north", "open": "true"}))
    assert not gate[2:14].any()
    assert gate[:2, 6:15, 1:7].any()
    assert not gate[:, :, 9:].any()
    lowered = shape_of("oak_fence_gate", {"in_wall": "true"})
    assert min(part.box[1] for part in lowered.parts) == 2


def test_doors_are_leaves_that_some_have_openings_in():
    for states in ({"facing": "south"}, {"facing": "west", "open": "true", "hinge": "right"}):
        leaf = filled(shape_of("oak_door", {"half": "lower", **states}))
        upper = filled(shape_of("oak_door", {"half": "upper", **states}))
        assert leaf.sum() == 16 * 16 * 3
        assert leaf.sum() - upper.sum() == 2 * 4 * 8 * 3
        assert not (upper & ~leaf).any()
        assert filled(shape_of("dark_oak_door", {"half": "upper", **states})).sum() == leaf.sum()


def test_fluids_fall_by_level_and_fill_under_their_own():
    heights = [filled(shape_of("water", {"level": str(level)})).any((0, 2)).sum() for level in range(9)]
    assert heights == [14, 12, 10, 8, 6, 4, 2, 1, 16]
    assert filled(shape_of("water", {"full": "true"})).all()


def test_every_block_in_every_state_has_a_shape():
    for name in table.names():
        properties = table.properties(name)
        combinations = list(product(*properties.values()))
        for values in combinations[:: max(1, len(combinations) // 60)]:
            shape = shape_of(name, dict(zip(properties, values, strict=True)))
            assert bool(shape.parts or shape.sheets) != (name in UNSEEN), (name, values)
            for (x0, y0, z0, x1, y1, z1), _ in shape.parts:
                assert 0 <= x0 <= x1 <= 16, (name, values)
                assert 0 <= z0 <= z1 <= 16, (name, values)
                assert -16 <= y0 <= y1 <= 32, (name, values)
            for corners, _ in shape.sheets:
                flat = np.array(corners)
                assert flat.min() >= 0, (name, values)
                assert flat.max() <= 17, (name, values)
                normal = np.cross(flat[1] - flat[0], flat[2] - flat[0])
                assert normal.any(), (name, values)
                assert (((flat - flat[0]) @ normal) == 0).all(), "its four corners lie in one plane"


def test_what_faces_another_way_is_the_same_turned():
    for name in ("oak_stairs", "oak_door", "ladder", "red_bed", "chest", "oak_wall_sign", "wall_torch", "lectern"):
        north = filled(shape_of(name, {"facing": "north"}))
        for quarter, facing in enumerate(COMPASS):
            # From above x to the right and z down: a turn to the right takes (x, z) to (-z, x).
            turned_space = np.rot90(north, quarter, (0, 2))
            assert (filled(shape_of(name, {"facing": facing})) == turned_space).all(), (name, facing)


def test_unknown_names_are_full_cubes():
    assert filled(shape_of("no_such_block", {"facing": "up"})).all()
    assert filled(shape_of("modded_stairs", {})).all()
    assert filled(shape_of("modded_torch", {})).all()
    for name in ("sea_lantern", "jack_o_lantern", "soul_sand", "shulker_box", "pumpkin"):
        assert filled(shape_of(name, {})).all()


def test_turning_four_times_and_flipping_twice_change_nothing():
    for name in ("rail", "lever", "lantern", "wheat", "oak_stairs"):
        shape = shape_of(name, {"shape": "ascending_east"})
        whole = shape
        for _ in range(4):
            whole = turned(whole, "east")
        assert whole == shape
        assert flipped(flipped(shape)) == shape
    chain = shape_of("chain", {"axis": "x"})
    assert {part.box for part in chain.parts} == {(0, 7, 7, 16, 9, 9)}
    assert along(shape_of("chain", {"axis": "y"}), "y") == shape_of("chain", {"axis": "y"})


def test_covered_squares_are_those_that_touch_the_side():
    space = filled(shape_of("oak_stairs", {"facing": "east", "shape": "outer_left"}))
    bits = covered(shape_of("oak_stairs", {"facing": "east", "shape": "outer_left"}))
    for side, normal in enumerate(SIDES):
        axis = side // 2
        layer = np.take(space, 15 if sum(normal) > 0 else 0, axis)
        assert bits[side].bit_count() == layer.sum()
        assert bits[side] == sum(1 << 16 * a + b for a, b in np.argwhere(layer).tolist())
    assert squares_of((1, 0, 1, 15, 4, 15), 2) == 0
