"""Bodies at thin walls, cacti, webs and in currents.

Every number is what the physics of the 1.16.5 game (prismarine-physics 1.11.1) did in these cells, as worlds.minecraft
steps it without a server, from rest at the same place by the same keys. Ends of walks are also plain sums: a block's
side in sixteenths of a metre and half the width of a body, 0.3 m.
"""

import numpy as np
import pytest

from support.toyworld import meadow
from worldgauge.worlds.voxel.player import Action, PlayerState, step

GROUND = 4
FORWARD = Action(forward=True)
SNEAK = Action(forward=True, sneak=True)
WEB = {(x, 24, z): "cobweb" for x in range(20, 30) for z in (GROUND, GROUND + 1, GROUND + 2)}
WATER = {(x, y, z): "water" for x in range(22, 30) for y in range(20, 30) for z in (2, 3)}
# A floor over the far half of the pond, from x = 26 on.
POND = WATER | {(x, y, 3): "stone" for x in range(26, 30) for y in range(20, 30)}


def walk(blocks, position, actions, yaw=0.0):
    world, body = meadow(blocks=blocks), PlayerState.standing(position, yaw)
    states = []
    for action in actions:
        body = step(world, body, action)
        states.append(body)
    return states


def end(blocks, position=(24.5, 24.5, GROUND), action=FORWARD, ticks=60, yaw=0.0):
    return walk(blocks, position, [action] * ticks, yaw)[-1].position


@pytest.mark.parametrize(
    ("name", "sixteenths"),
    [("oak_fence", 6), ("cobblestone_wall", 4), ("glass_pane", 7), ("steel_rail", 7), ("cactus", 1)],
)
def test_a_body_comes_up_to_what_there_is_of_a_block_from_every_side(name, sixteenths):
    lonely = {(26, 24, GROUND): name, (26, 24, GROUND + 1): name}
    side = sixteenths / 16
    starts = {(24.5, 24.5): 0.0, (28.5, 24.5): np.pi, (26.5, 22.5): np.pi / 2, (26.5, 26.5): -np.pi / 2}
    found = [end(lonely, (*start, GROUND), yaw=yaw) for start, yaw in starts.items()]
    stops = [(26 + side - 0.3, 24.5), (27 - side + 0.3, 24.5), (26.5, 24 + side - 0.3), (26.5, 25 - side + 0.3)]
    np.testing.assert_allclose([place[:2] for place in found], stops, atol=1e-9)


def test_posts_walls_and_cactuses():
    fence = {(26, 24, GROUND): "oak_fence"}
    # The post ends at y = 24.625, so a body is clear of it from 24.925 on.
    assert end(fence, (24.5, 24.90, GROUND))[0] == pytest.approx(26.075)
    assert end(fence, (24.5, 24.95, GROUND), ticks=30)[0] == pytest.approx(30.716172, abs=6e-7)
    # Over the arm that the wall puts out to the stone, x from 26.3125 to 26.6875; beside it the stone is the floor.
    wall = {(26, 24, GROUND): "cobblestone_wall", (26, 25, GROUND): "stone"}
    heights = [end(wall, (x, 25.1, 7.0), Action())[2] for x in (26.5, 26.95, 27.0)]
    assert heights == [GROUND + 1.5, GROUND + 1.5, GROUND + 1.0]
    # A cactus is a sixteenth lower than its cell.
    assert end({(26, 24, GROUND): "cactus"}, (26.5, 24.5, 7.0), Action())[2] == GROUND + 15 / 16


@pytest.mark.parametrize("other", ["oak_fence", "glass_pane", "cobblestone_wall"])
def test_two_thin_walls_side_by_side_leave_no_gap(other):
    assert end({(26, 24, GROUND): "oak_fence", (26, 25, GROUND): other}, (24.5, 24.95, GROUND))[0] < 26.075 + 1e-9


@pytest.mark.parametrize(("other", "height"), [("stone", 1.5), ("oak_slab", 0.5), ("poppy", 0.0)])
def test_an_arm_reaches_out_to_a_full_block_but_to_nothing_less(other, height):
    # The post ends at y = 24.625 and the body over it begins at 24.8: only an arm can carry it above the other block.
    blocks = {(26, 24, GROUND): "oak_fence", (26, 25, GROUND): other}
    assert end(blocks, (26.5, 25.1, 7.0), Action())[2] == GROUND + height


@pytest.mark.parametrize(("name", "stop"), [("oak_fence", 26.075), ("cobblestone_wall", 25.95)])
def test_nobody_jumps_over_a_metre_and_a_half(name, stop):
    row = {(26, y, GROUND): name for y in range(48)}
    states = walk(row, (24.5, 24.5, GROUND), [FORWARD._replace(jump=True)] * 60)
    assert states[-1].position[0] == pytest.approx(stop)
    assert max(s.position[2] for s in states) == pytest.approx(GROUND + 1.252203, abs=6e-7)


@pytest.mark.parametrize(("name", "there"), [("glass_pane", 33.791399752), ("stone", 33.353899752)])
def test_a_pane_is_one_metre_high_and_is_jumped_over(name, there):
    row = {(26, y, GROUND): name for y in range(48)}
    assert end(row, action=FORWARD._replace(jump=True))[0] == pytest.approx(there, abs=1e-8)


def test_webs_slow_walks_and_falls():
    states = walk(WEB, (22.5, 24.5, GROUND), [Action()] + [FORWARD] * 8)
    np.testing.assert_allclose([s.position[0] - 22.5 for s in states], 0.0245 * np.arange(9), atol=6e-7)
    leaps = walk(WEB, (22.5, 24.5, GROUND), [Action()] + [FORWARD._replace(sprint=True, jump=True)] * 8)
    heights = [0, 0.021, 0.01708, 0.01316, 0.00924, 0.00532, 0.0014, 0, 0]
    np.testing.assert_allclose([s.position[2] - GROUND for s in leaps], heights, atol=6e-7)
    along = [0, 0.08185, 0.08822, 0.09459, 0.10096, 0.10733, 0.1137, 0.12007, 0.15192]
    np.testing.assert_allclose([s.position[0] - 22.5 for s in leaps], along, atol=6e-7)
    # A fall into a web becomes a twentieth.
    heights = [3.9216, 3.766368, 3.535841, 3.231524, 2.854893, 2.832518, 2.828598, 2.824678, 2.820758]
    states = walk(WEB, (22.5, 24.5, 8.0), [Action()] * 9)
    np.testing.assert_allclose([s.position[2] - GROUND for s in states], heights, atol=6e-7)


def test_water_flows_to_ledges():
    states = walk(POND, (25.0, 24.5, 2.0), [Action()] * 16)
    drift = [0.014, 0.0392, 0.07336, 0.114688, 0.16175, 0.2134, 0.26872, 0.326976, 0.387581, 0.450065, 0.514052]
    drift += [0.579241, 0.645393, 0.7, 0.7, 0.7]
    np.testing.assert_allclose([s.position[0] - 25 for s in states], drift, atol=6e-7)
    still = walk(WATER, (25.0, 24.5, 2.0), [Action()] * 5)
    assert still[-1].position == (25.0, 24.5, 2.0)
    # In a corner water flows to both ledges no faster.
    corner = POND | {(x, y, 3): "stone" for x in range(22, 30) for y in range(26, 30)}
    states = walk(corner, (25.5, 25.5, 2.0), [Action()] * 8)
    drift = [0.009899, 0.027719, 0.051873, 0.081097, 0.114375, 0.150897, 0.190014, 0.2]
    for axis in (0, 1):
        np.testing.assert_allclose([s.position[axis] - 25.5 for s in states], drift, atol=6e-7)
    # A body swims up along a ledge and out of the water.
    states = walk(POND, (25.0, 24.5, 2.0), [FORWARD._replace(jump=True)] * 30)
    heights = [2.0, 2.035, 2.098, 2.1834, 2.28672, 2.404376, 2.533501, 2.671801, 2.817441, 2.968952, 3.125162, 3.28513]
    heights += [3.448104, 3.788104, 4.088104, 4.303704, 4.436592, 4.488422, 4.460816, 4.355361, 4.173616, 4.0]
    np.testing.assert_allclose([s.position[2] for s in states[:22]], heights, atol=6e-7)
    assert states[-1].position[0] == pytest.approx(27.534158, abs=6e-7)


def test_a_sneaking_body_stays_on_an_edge_unless_something_stands_beside_it():
    floor = {(x, y, GROUND): "stone" for x in range(20, 26) for y in range(48)}
    assert end(floor, (25.0, 24.5, 5.0), SNEAK) == pytest.approx((26.296789845, 24.5, 5.0), abs=1e-8)
    # The game looks into the cells that the body is in, not whether what is there carries it.
    beside = floor | {(26, 25, GROUND + 1): "lantern_post"}
    assert end(beside, (25.0, 24.8, 5.0), SNEAK) == pytest.approx((28.742430532, 24.8, 4.0), abs=1e-8)
