"""The arm against its data sheet, and its forward kinematics against the engine's."""

import math

import numpy as np
import pytest

from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.engine import mujoco
from worldgauge.worlds.tabletop.franka_arm import BASE_M, FINGERS, HOME_RAD, JOINTS, joint_names, tip_pose
from worldgauge.worlds.tabletop.simulation import Simulation


@pytest.fixture(scope="module")
def world() -> Tabletop:
    return Tabletop("push_buttons", 0, seed=1)


def test_kinematics_written_out_are_those_of_the_engine(world: Tabletop) -> None:
    mj = mujoco()
    data = mj.MjData(world.model)
    rng = np.random.default_rng(0)
    for _ in range(50):
        joints = np.array([rng.uniform(joint.low_rad, joint.high_rad) for joint in JOINTS])
        for name, angle in zip(joint_names(), joints, strict=True):
            data.joint(name).qpos[0] = angle
        mj.mj_kinematics(world.model, data)
        expected = tip_pose(joints)
        np.testing.assert_allclose(data.site("tip").xpos, expected[:3, 3], atol=1e-12)
        np.testing.assert_allclose(data.site("tip").xmat.reshape(3, 3), expected[:3, :3], atol=1e-12)


def test_stretched_out_and_at_home_the_hand_points_down_where_the_maker_says() -> None:
    # All joints 0: up 0.333 + 0.316 + 0.384 m, then 0.088 m forward and down by flange and hand.
    pose, home = tip_pose(np.zeros(7)), tip_pose(np.array(HOME_RAD))
    np.testing.assert_allclose(pose[:3, 3] - BASE_M, [0.088, 0.0, 1.033 - 0.107 - 0.1034], atol=1e-12)
    np.testing.assert_allclose(pose[:3, 2], [0, 0, -1], atol=1e-12)
    np.testing.assert_allclose(home[:3, :3], np.diag([1, -1, -1]), atol=1e-12)
    np.testing.assert_allclose(home[:3, 3] - BASE_M, [0.3069, 0.0, 0.4869], atol=1e-4)


def test_a_turn_of_the_first_joint_turns_the_hand_about_the_base() -> None:
    rng = np.random.default_rng(3)
    joints = np.array([rng.uniform(joint.low_rad, joint.high_rad) for joint in JOINTS])
    turned = joints + np.array([0.4, 0, 0, 0, 0, 0, 0])
    c, s = math.cos(0.4), math.sin(0.4)
    around = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    one, other = tip_pose(joints), tip_pose(turned)
    np.testing.assert_allclose(around @ (one[:3, 3] - BASE_M), other[:3, 3] - BASE_M, atol=1e-12)
    np.testing.assert_allclose(around @ one[:3, :3], other[:3, :3], atol=1e-12)


def test_its_joints_have_the_published_limits(world: Tabletop) -> None:
    for name, joint in zip(joint_names(), JOINTS, strict=True):
        made = world.model.joint(name)
        assert tuple(made.range) == pytest.approx((joint.low_rad, joint.high_rad))
        assert made.limited[0]
        assert tuple(world.model.actuator(name).forcerange) == (-joint.torque_nm, joint.torque_nm)


def test_it_holds_still_and_its_fingers_go_together() -> None:
    simulation = Simulation(Tabletop("push_buttons", 0, seed=1))
    before = np.array(simulation.hand[:3])
    closed = simulation.move((*simulation.hand[:7], 0.0))
    assert closed.reason is None
    assert np.linalg.norm(np.array(simulation.hand[:3]) - before) < 1e-4
    left, right = (simulation.joint(finger) for finger in FINGERS)
    assert left == pytest.approx(right, abs=1e-5)
    assert abs(left) < 1e-3
