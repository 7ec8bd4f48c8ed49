"""The game without a server: its measured movement, its planner and single-action walks."""

import math

import numpy as np
import pytest

from support.toyworld import hills, meadow
from worldgauge.core.errors import WorldError
from worldgauge.worlds.minecraft.cells import AIR, Cells
from worldgauge.worlds.minecraft.names import cells_of
from worldgauge.worlds.minecraft.offline import COLUMNS, BotGoal, Offline
from worldgauge.worlds.voxel.player import Action

pytestmark = pytest.mark.minecraft

FORWARD = Action(forward=True)
WALKED = [0.098, 0.249508, 0.430232, 0.626907, 0.832291, 1.042431, 1.255168, 1.469322, 1.684250, 1.899601]
WALKED += [2.115183, 2.330890]
GLIDED = [0.117582, 0.181781, 0.216834, 0.235973, 0.246423, 0.252128, 0.255244, 0.255244]
JUMPED = [0.42, 0.7532, 1.001336, 1.166109, 1.249187, 1.252203, 1.176759, 1.024424, 0.796736, 0.495201, 0.121297, 0.0]
FORWARD_COLUMN, TURN_COLUMN = COLUMNS.index("forward"), COLUMNS.index("turn")


@pytest.fixture(scope="module")
def field(packages):
    with Offline(cells_of(meadow()), packages=packages) as offline:
        yield offline


@pytest.fixture(scope="module")
def country(packages):
    world = hills()
    with Offline(cells_of(world), packages=packages) as offline:
        yield world, offline


def test_walking_forward_covers_the_measured_distances(field):
    for yaw in (0.0, 0.7, -2.5):
        field.teleport((24.5, 24.5, 4.0), yaw)
        off = np.array([s.position for s in field.step([FORWARD] * 12)]) - (24.5, 24.5, 4.0)
        np.testing.assert_allclose(off @ [math.cos(yaw), math.sin(yaw), 0], WALKED, atol=6e-7)
        np.testing.assert_allclose(off @ [-math.sin(yaw), math.cos(yaw), 0], 0, atol=1e-9)


def test_a_body_let_go_glides_as_measured_and_a_jump_has_the_measured_heights(field):
    field.teleport((24.5, 24.5, 4.0))
    running = field.step([FORWARD] * 10)[-1].position[0]
    glide = [s.position[0] - running for s in field.step([Action()] * 8)]
    np.testing.assert_allclose(glide, GLIDED, atol=6e-7)
    field.teleport((24.5, 24.5, 4.0))
    heights = [s.position[2] - 4 for s in field.step([Action(jump=True)] * 24)]
    np.testing.assert_allclose(heights, JUMPED * 2, atol=6e-7)


@pytest.mark.parametrize(
    ("action", "speed"),
    [
        (Action(forward=True, sprint=True), 0.280617),
        (Action(forward=True, sneak=True), 0.064758),
        (Action(back=True), 0.215859),
        (Action(left=True), 0.215859),
        (Action(forward=True, left=True), 0.220264),
    ],
)
def test_speed_limits(field, action, speed):
    field.teleport((24.5, 24.5, 4.0))
    before, after = field.step([action] * 30)[-2:]
    assert math.dist(before.position, after.position) == pytest.approx(speed, abs=6e-7)


def test_many_ticks_in_one_question_are_the_same_as_one_by_one(field):
    rng = np.random.default_rng(2)
    actions = [Action(*(rng.random(7) < 0.5))._replace(yaw=float(rng.normal())) for _ in range(60)]
    field.teleport((24.5, 24.5, 4.0), 0.3)
    together = field.step(actions)
    field.teleport((24.5, 24.5, 4.0), 0.3)
    assert together == tuple(field.step([action])[0] for action in actions)
    assert field.state == together[-1]
    assert field.step([]) == ()


def test_the_view_turns_after_the_move_and_the_edge_of_the_world_is_a_wall(field):
    field.teleport((24.5, 24.5, 4.0))
    state = field.step([Action(forward=True, yaw=1.0, pitch=3.0)])[0]
    assert state.position[:2] == pytest.approx((24.598, 24.5))
    assert (state.yaw, state.pitch) == (pytest.approx(1.0), pytest.approx(math.pi / 2))
    field.teleport((46.5, 24.5, 4.0))
    assert field.step([FORWARD] * 40)[-1].position[0] == pytest.approx(47.7)


def test_a_walk_ends_in_its_cell_or_near_its_column(field):
    field.teleport((10.5, 10.5, 4.0))
    assert math.dist(field.walk([BotGoal(14, 12, 4)]).states[-1].position, (14.5, 12.5, 4.0)) < 0.5
    near = field.walk([BotGoal(20, 10, range_sq=9)])
    assert near.status == "arrived"
    assert 2 < math.dist(near.states[-1].position[:2], (20.5, 10.5)) < 3.5, "and no nearer than it must"


def test_a_walk_goes_there_and_back_one_action_at_a_time(country):
    world, offline = country
    start = (100.5, 96.5, float(world.surface(100, 96) + 1))
    offline.teleport(start)
    goals = [BotGoal(112, 90, world.surface(112, 90) + 1), BotGoal(100, 96, world.surface(100, 96) + 1)]
    walk = offline.walk(goals)
    assert (walk.status, walk.leg) == ("arrived", 2)
    assert math.dist(walk.states[-1].position[:2], start[:2]) < 0.5
    turns, forward = walk.rows[:, TURN_COLUMN], walk.rows[:, FORWARD_COLUMN] > 0
    assert not (forward & (np.abs(turns) >= 0.01)).any()
    assert (turns != 0).any()
    assert np.abs(turns).max() <= 0.1
    np.testing.assert_allclose(np.diff(walk.rows[:, 6]), turns[1:], atol=1e-12)
    np.testing.assert_array_equal(np.unique(walk.rows[:, -1]), [0, 1])
    assert offline.state == walk.states[-1]


def test_the_same_walk_is_the_same_to_the_last_bit_in_another_process(country, packages):
    world, offline = country
    walks = []
    with Offline(cells_of(world), packages=packages) as other:
        for one in (offline, other):
            one.teleport((100.5, 96.5, float(world.surface(100, 96) + 1)), 0.2)
            walks.append(one.walk([BotGoal(91, 104, range_sq=4)], turn=0.15))
    np.testing.assert_array_equal(walks[0].rows, walks[1].rows)
    assert walks[0].status == "arrived"


def test_a_walk_that_cannot_be_made_says_so(field):
    field.teleport((10.5, 10.5, 4.0))
    assert field.walk([BotGoal(14, 12, 9)]).status == "no-path"
    cut = field.walk([BotGoal(40, 40, 4)], most_ticks=5)
    assert (cut.status, len(cut.states)) == ("walking", 5)


def test_what_cannot_be_meant_is_refused_and_the_world_goes_on(field, packages):
    with pytest.raises(WorldError, match="z or a range_sq"):
        field.walk([BotGoal(1, 2)])
    with pytest.raises(WorldError, match="turn"):
        field.walk([BotGoal(1, 2, 4)], turn=1.0)
    with pytest.raises(WorldError, match="finite"):
        field.step([FORWARD._replace(yaw=1e400)])
    with pytest.raises(WorldError, match="finite"):
        field.teleport((math.nan, 0.0, 0.0))
    field.teleport((24.5, 24.5, 4.0))
    assert len(field.step([FORWARD])) == 1
    unknown = Cells((0, 0, 0), (AIR, "minecraft:no_such_block"), np.ones((4, 4, 4), np.uint16))
    with pytest.raises(WorldError, match="no_such_block"):
        Offline(unknown, packages=packages)
