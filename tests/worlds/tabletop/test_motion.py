"""Inverse kinematics over the workspace, and ways that hit nothing."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from worldgauge.core.geometry import FloatArray, rotation_angle
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import TABLE_M
from worldgauge.worlds.tabletop.franka_arm import (
    HOME_RAD,
    JOINTS,
    JUMP_RAD,
    REACHED_M,
    REACHED_RAD,
    ArmPlanner,
    UnreachableError,
    tip_pose,
)
from worldgauge.worlds.tabletop.simulation import Simulation

LOW = np.array([joint.low_rad for joint in JOINTS])
HIGH = np.array([joint.high_rad for joint in JOINTS])
DOWN = np.diag([1.0, -1.0, -1.0])


@pytest.fixture(scope="module")
def table() -> Simulation:
    return Simulation(Tabletop("push_buttons", 0, seed=0))


@pytest.fixture
def motion(table: Simulation) -> ArmPlanner:
    return ArmPlanner(table.model)


def turned(axis: str, angle: float) -> FloatArray:
    one, two = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    matrix = np.eye(3)
    matrix[one, one] = matrix[two, two] = np.cos(angle)
    matrix[two, one] = np.sin(angle)
    matrix[one, two] = -np.sin(angle)
    return matrix


def at(x: float, y: float, z: float, rotation: FloatArray = DOWN) -> FloatArray:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, (x, y, z)
    return pose


def assert_leads(motion: ArmPlanner, start: FloatArray, way: list[FloatArray], goal: FloatArray) -> None:
    """Within limits, without jumps, through nothing, to the goal."""
    end = motion.tip_of(way[-1])
    assert np.linalg.norm(end[:3, 3] - goal[:3, 3]) < REACHED_M
    assert rotation_angle(end[:3, :3].T @ goal[:3, :3]) < REACHED_RAD
    for one, other in pairwise([start, *way]):
        assert ((other >= LOW) & (other <= HIGH)).all()
        assert np.abs(other - one).max() <= JUMP_RAD
        assert motion._hit(other) is None


def test_every_place_over_the_table_is_reached_from_above(motion: ArmPlanner, table: Simulation) -> None:
    rng = np.random.default_rng(1)
    state = np.array(table.data.qpos)
    for _ in range(40):
        yaw = rng.uniform(-np.pi, np.pi)
        goal = at(*rng.uniform((0.05, -0.28, TABLE_M + 0.08), (0.42, 0.28, 1.1)), turned("z", yaw) @ DOWN)
        assert_leads(motion, np.array(HOME_RAD), motion.way(state, goal), goal)


def test_most_of_what_joints_allow_is_found_tilted_too(motion: ArmPlanner, table: Simulation) -> None:
    rng = np.random.default_rng(2)
    state = np.array(table.data.qpos)
    found = tried = 0
    while tried < 40:
        joints = rng.uniform(LOW, HIGH)
        goal = tip_pose(joints)
        x, y, z = goal[:3, 3]
        inside = -0.2 < x < 0.7 and abs(y) < 0.5 and TABLE_M + 0.03 < z < 1.5
        if not inside or goal[2, 2] > -0.5 or motion._hit(joints) is not None:
            continue
        tried += 1
        try:
            way = motion.way(state, goal)
        except UnreachableError:
            continue
        found += 1
        assert_leads(motion, np.array(HOME_RAD), way, goal)
    assert found >= 0.9 * tried


def test_joints_that_are_there_already_stay(motion: ArmPlanner) -> None:
    joints = np.array(HOME_RAD)
    np.testing.assert_array_equal(motion.solve(motion.tip_of(joints), joints), joints)


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        (at(0.69, 0.49, 1.59), "cannot reach"),
        (at(0.69, -0.49, 0.8), "cannot reach"),
        (at(0.2, 0.0, 0.8, np.eye(3)), "inside something that stands fast"),
        (at(0.3, 0.1, TABLE_M - 0.05), "inside something that stands fast"),
    ],
)
def test_what_cannot_be_reached_is_said(motion: ArmPlanner, table: Simulation, goal: FloatArray, reason: str) -> None:
    with pytest.raises(UnreachableError, match=reason):
        motion.way(np.array(table.data.qpos), goal)


def test_links_that_meet_are_noticed_and_neighbours_are_not(motion: ArmPlanner) -> None:
    assert motion._hit(np.array(HOME_RAD)) is None
    # Folded up, with the hand between lower arm and column.
    assert motion._hit(np.array([0.0, 0.0, 0.0, -3.05, 0.0, np.pi / 2, np.pi / 4])) == "itself"


def test_a_way_leads_over_what_stands_between(furnished: Callable[..., Simulation]) -> None:
    simulation = furnished((0.1, 0.02, 0.08), 0.25, 0.0, 0.08)
    motion = ArmPlanner(simulation.model)
    before = np.array(simulation.model.geom_conaffinity)
    state = np.array(simulation.data.qpos)
    simulation.data.qpos[:7] = start = motion.way(state, at(0.25, -0.15, TABLE_M + 0.05))[-1]
    goal = at(0.25, 0.15, TABLE_M + 0.05)
    way = motion.way(np.array(simulation.data.qpos), goal)
    assert_leads(motion, start, way, goal)
    assert max(motion.tip_of(joints)[2, 3] for joints in way) > TABLE_M + 0.16
    np.testing.assert_array_equal(simulation.model.geom_conaffinity, before)


def test_what_can_be_pushed_is_not_in_the_way(furnished: Callable[..., Simulation]) -> None:
    simulation = furnished((0.1, 0.02, 0.08), 0.25, 0.0, 0.08, mass=0.1)
    motion = ArmPlanner(simulation.model)
    simulation.data.qpos[:7] = motion.way(np.array(simulation.data.qpos), at(0.25, -0.15, TABLE_M + 0.05))[-1]
    way = motion.way(np.array(simulation.data.qpos), at(0.25, 0.15, TABLE_M + 0.05))
    assert max(motion.tip_of(joints)[2, 3] for joints in way) < TABLE_M + 0.06


def test_an_arm_that_was_pressed_into_the_table_comes_out_of_it(motion: ArmPlanner, table: Simulation) -> None:
    pressed = motion.solve(at(0.3, 0.1, TABLE_M - 0.005), np.array(HOME_RAD))
    assert pressed is not None
    assert motion._hit(pressed) is not None
    state = np.array(table.data.qpos)
    state[:7] = pressed
    goal = at(0.3, 0.1, TABLE_M + 0.2)
    end = motion.tip_of(motion.way(state, goal)[-1])
    assert np.linalg.norm(end[:3, 3] - goal[:3, 3]) < REACHED_M
