"""The body's movement against vectors measured in the game (1.16.5, flat grass, start at rest)."""

import itertools

import numpy as np
import pytest

from worldgauge.core.errors import WorldError
from worldgauge.worlds.voxel.blocks import block
from worldgauge.worlds.voxel.player import Action, PlayerState, step
from worldgauge.worlds.voxel.world import VoxelWorld

GROUND = 4
FORWARD = Action(forward=True)
WALKED = [0.098, 0.249508, 0.430232, 0.626907, 0.832291, 1.042431, 1.255168, 1.469322, 1.684250, 1.899601]
WALKED += [2.115183, 2.330890]
GLIDED = [0.117582, 0.181781, 0.216834, 0.235973, 0.246423, 0.252128, 0.255244, 0.255244]
JUMPED = [0.42, 0.7532, 1.001336, 1.166109, 1.249187, 1.252203, 1.176759, 1.024424, 0.796736, 0.495201, 0.121297, 0.0]


def field(*blocks: tuple[int, int, int, str]) -> VoxelWorld:
    """A flat meadow, 48 x 48, grass up to z = 4, with single blocks put into it."""
    states = np.zeros((48, 48, 16), np.uint8)
    states[:, :, :GROUND] = block("grass_block")
    for x, y, z, name in blocks:
        states[x, y, z] = block(name)
    return VoxelWorld("plains", 0, states, np.zeros(states.shape, np.uint16), (24, 24))


def walk(world: VoxelWorld, state: PlayerState, action: Action, ticks: int) -> list[PlayerState]:
    states = [state]
    for _ in range(ticks):
        states.append(step(world, states[-1], action))
    return states[1:]


def at(x: float = 24.5, y: float = 24.5, z: float = GROUND, yaw: float = 0.0) -> PlayerState:
    return PlayerState.standing((x, y, z), yaw)


@pytest.mark.parametrize("yaw", [0.0, 0.7, np.pi / 2, -2.5])
def test_walking_forward_covers_the_measured_distances_in_every_heading(yaw):
    states = walk(field(), at(yaw=yaw), FORWARD, 12)
    offsets = np.array([s.position for s in states])[:, :2] - 24.5
    along = offsets @ [np.cos(yaw), np.sin(yaw)]
    np.testing.assert_allclose(along, WALKED, atol=6e-7)
    np.testing.assert_allclose(offsets @ [-np.sin(yaw), np.cos(yaw)], 0, atol=1e-9)


def test_gliding_and_jumping_are_as_measured():
    world = field()
    running = walk(world, at(), FORWARD, 10)[-1]
    glide = [s.position[0] - running.position[0] for s in walk(world, running, Action(), 8)]
    np.testing.assert_allclose(glide, GLIDED, atol=6e-7)
    assert glide[-1] == glide[-2]
    # Jump heights are the measured ones and the next jump follows at once.
    heights = [s.position[2] - GROUND for s in walk(field(), at(), Action(jump=True), 24)]
    np.testing.assert_allclose(heights, JUMPED * 2, atol=6e-7)


@pytest.mark.parametrize(
    ("action", "speed"),
    [
        (FORWARD, 0.215859),
        (Action(forward=True, sprint=True), 0.280617),
        (Action(forward=True, sneak=True), 0.064758),
        (Action(back=True), 0.215859),
        (Action(left=True), 0.215859),
        (Action(forward=True, left=True), 0.220264),
    ],
)
def test_speed_limits(action, speed):
    world = field()
    before, after = walk(world, at(x=14.5), action, 30)[-2:]
    moved = np.subtract(after.position, before.position)
    assert np.hypot(moved[0], moved[1]) == pytest.approx(speed, abs=6e-7)


def test_keys_and_turns():
    assert walk(field(), at(yaw=0), Action(left=True), 3)[-1].position[1] > 24.6
    assert walk(field(), at(yaw=0), Action(right=True), 3)[-1].position[1] < 24.4
    # Opposite keys cancel.
    assert walk(field(), at(), Action(forward=True, back=True, left=True, right=True), 5)[-1].position[:2] == (
        24.5,
        24.5,
    )
    # The turn comes after the move and pitch is limited.
    state = step(field(), at(), Action(forward=True, yaw=1.0, pitch=3.0))
    assert state.position[:2] == pytest.approx((24.598, 24.5))
    assert state.yaw == 1.0
    assert state.pitch == pytest.approx(np.pi / 2)


def test_what_stops_a_body():
    wall = [(26, y, z, "stone") for y in range(48) for z in (GROUND, GROUND + 1)]
    world = field(*wall)
    final = walk(world, at(yaw=0.5), FORWARD, 40)[-1]
    assert final.position[0] == pytest.approx(26 - 0.3, abs=1e-6)
    assert final.position[1] > 27
    assert final.velocity[0] == 0
    # Stairs from the high side and full blocks need a jump.
    for name in ("oak_stairs[facing=west]", "stone"):
        world = field(*[(26, y, GROUND, name) for y in range(48)])
        assert walk(world, at(), FORWARD, 20)[-1].position[0] == pytest.approx(25.7)
        jumping = [s.position for s in walk(world, at(), Action(forward=True, jump=True), 20)]
        assert any(x > 26 and z >= GROUND + 1 for x, _, z in jumping)
    # Nobody walks through posts and panes but through plants and torches.
    for name in ("oak_fence", "lantern_post", "glass_pane"):
        world = field((26, 24, GROUND, name), (26, 24, GROUND + 1, name))
        # The thinnest, a pane, begins 7/16 of a metre into its cell.
        assert walk(world, at(), FORWARD, 30)[-1].position[0] <= 26 + 7 / 16 - 0.3 + 1e-9
    # A web lets a body through at 0.0245 m a tick.
    for name, ticks in (("poppy", 30), ("torch", 30), ("tall_grass", 30), ("cobweb", 90)):
        assert walk(field((26, 24, GROUND, name)), at(), FORWARD, ticks)[-1].position[0] > 27
    # A ceiling stops a jump.
    world = field((24, 24, GROUND + 2, "stone"))
    heights = [s.position[2] - GROUND for s in walk(world, at(), Action(jump=True), 5)]
    assert max(heights) == pytest.approx(0.2)
    # The edge of the world is a wall.
    final = walk(field(), at(x=46.5), FORWARD, 60)[-1]
    assert final.position[0] == pytest.approx(47.7)


@pytest.mark.parametrize(
    ("name", "top"),
    [("oak_slab", 0.5), ("white_carpet", 0.0625), ("snow_layer", 0.125), ("oak_stairs[facing=east]", 1.0)],
)
def test_low_blocks_are_climbed_without_a_jump(name, top):
    world = field(*[(26, y, GROUND, name) for y in range(48)])
    heights = [s.position[2] - GROUND for s in walk(world, at(), FORWARD, 14)]
    assert max(heights) == pytest.approx(top)


def test_edges_are_fallen_off_unless_one_sneaks():
    world = field(*[(x, y, GROUND, "stone") for x in range(20, 26) for y in range(48)])
    states = walk(world, at(z=GROUND + 1), FORWARD, 25)
    assert states[-1].position[2] == GROUND
    assert states[-1].on_ground
    assert any(not s.on_ground for s in states)
    # Sneaking does not fall off an edge.
    final = walk(world, at(z=GROUND + 1), Action(forward=True, sneak=True), 120)[-1]
    assert final.position[2] == GROUND + 1
    assert 25.8 < final.position[0] < 26.3


def test_water_slows_and_ice_is_slippery():
    pond = [(x, y, z, "water") for x in range(24, 30) for y in range(48) for z in (GROUND - 1, GROUND - 2)]
    world = field(*pond)
    wet = walk(world, at(x=25.5, z=GROUND - 2), Action(), 5)[-1]
    assert wet.in_water
    swimming = walk(world, at(x=25.5, z=GROUND - 2), Action(forward=True, jump=True), 80)
    speeds = np.diff([s.position[0] for s in swimming[:20]])
    assert speeds.max() < 0.15
    assert swimming[-1].position[0] > 30
    assert swimming[-1].position[2] >= GROUND
    # Ice is slippery.
    world = field()
    ice = field(*[(x, y, GROUND - 1, "ice") for x, y in itertools.product(range(48), range(48))])
    slide = [walk(w, walk(w, at(x=14), FORWARD, 15)[-1], Action(), 20) for w in (world, ice)]
    glides = [states[-1].position[0] - states[0].position[0] for states in slide]
    assert glides[1] > 5 * glides[0]


def test_long_walks_are_pure_and_keep_out_of_blocks():
    rng = np.random.default_rng(3)
    world = field(*[(x, y, GROUND, "stone") for x, y in rng.integers(0, 48, (200, 2))])
    actions = [Action(*(rng.random(7) < 0.4), *rng.uniform(-0.1, 0.1, 2)) for _ in range(300)]

    def replay() -> list[PlayerState]:
        states = [at(z=GROUND + 1)]
        for action in actions:
            states.append(step(world, states[-1], action))
        return states

    first, second = replay(), replay()
    assert first == second
    assert hash(first[0]) == hash(at(z=GROUND + 1))
    # A body never ends up inside a block.
    rng = np.random.default_rng(5)
    names = ["stone", "oak_slab", "oak_stairs[facing=north]", "oak_top_slab", "oak_fence"]
    cells = [(x, y, GROUND + int(z), names[n]) for x, y, z, n in rng.integers(0, (48, 48, 3, 5), (1500, 4))]
    world = field(*cells)
    state = at(x=24.5, z=GROUND + 4)
    for _ in range(1500):
        action = Action(forward=True, jump=bool(rng.random() < 0.5), yaw=float(rng.normal(0, 0.3)))
        state = step(world, state, action)
        x, y, z = state.position
        for dx, dy in itertools.product((-0.29, 0.29), repeat=2):
            for dz in (0.65, 1.75):
                cell = world.states[int(x + dx), int(y + dy), int(z + dz)]
                assert cell != block("stone")


def test_values_that_are_not_finite_are_refused():
    with pytest.raises(WorldError, match="not finite"):
        step(field(), PlayerState.standing((float("nan"), 0.0, 4.0)), FORWARD)
    with pytest.raises(WorldError, match="not finite"):
        step(field(), at(), Action(yaw=float("inf")))
