"""The Franka Panda: seven joints and a parallel gripper with the published kinematics, drawn with capsules.

Frames and limits are those of the maker's public data sheet (Craig's convention); shapes and colours are our own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.geometry import FloatArray


class Joint(NamedTuple):
    """A revolute joint, with the frame in the one before by modified Denavit-Hartenberg parameters.

    Attributes:
        a_m: Link length, metres.
        d_m: Link offset, metres.
        alpha_rad: Link twist, radians.
        low_rad: Lower limit, radians.
        high_rad: Upper limit, radians.
        torque_nm: Largest torque, newton metres.
        speed_rad_s: Largest speed, radians per second.
    """

    a_m: float
    d_m: float
    alpha_rad: float
    low_rad: float
    high_rad: float
    torque_nm: float
    speed_rad_s: float


_RIGHT = math.pi / 2
JOINTS = (
    Joint(0.0, 0.333, 0.0, -2.8973, 2.8973, 87.0, 2.1750),
    Joint(0.0, 0.0, -_RIGHT, -1.7628, 1.7628, 87.0, 2.1750),
    Joint(0.0, 0.316, _RIGHT, -2.8973, 2.8973, 87.0, 2.1750),
    Joint(0.0825, 0.0, _RIGHT, -3.0718, -0.0698, 87.0, 2.1750),
    Joint(-0.0825, 0.384, -_RIGHT, -2.8973, 2.8973, 12.0, 2.6100),
    Joint(0.0, 0.0, _RIGHT, -0.0175, 3.7525, 12.0, 2.6100),
    Joint(0.088, 0.0, _RIGHT, -2.8973, 2.8973, 12.0, 2.6100),
)
FLANGE_M = 0.107
TIP_M = 0.1034
"""From the flange to the point between the finger tips."""
PAD_M = 0.004
"""How far the pads of the fingers reach beyond that point."""
FINGER_M = 0.04
"""Way of each finger; the gripper opens 8 cm."""
HOME_RAD = (0.0, -math.pi / 4, 0.0, -3 * math.pi / 4, 0.0, math.pi / 2, math.pi / 4)
BASE_M = (-0.31, 0.0, 0.75)
"""Where the arm stands: at the edge of the table, on its top."""
GRIP_N = 40.0
THING_BIT, ARM_BIT = 1, 2
"""Of contacts: links of the arm meet things and the table (contype 1, conaffinity 3), not each other."""
ARM, HAND, TIP, GRIPPER = "arm", "hand", "tip", "gripper"
FINGERS = ("finger_left", "finger_right")
_STIFF = (0.005, 1.0)
"""Time constant and damping of constraints that must not give; twice the time step is the least that is stable."""
_WHITE, _DARK, _PAD = (0.93, 0.93, 0.95, 1), (0.34, 0.37, 0.42, 1), (0.2, 0.21, 0.24, 1)


def joint_names() -> tuple[str, ...]:
    """Of the seven joints, from the base."""
    return tuple(f"{ARM}{n}" for n in range(1, len(JOINTS) + 1))


def add_arm(spec: Any) -> None:
    """Put the arm, its motors and the site of its tip into `spec`, a mujoco.MjSpec."""
    import mujoco

    body = spec.worldbody.add_body(name="base", pos=BASE_M)
    _capsule(body, (0, 0, 0.03), (0, 0, 0.14), 0.075, _WHITE, 3.0)
    bones: tuple[tuple[tuple[float, ...], tuple[float, ...], float, float], ...] = (
        ((0, 0, -0.19), (0, 0, -0.06), 0.062, 3.0),
        ((0, 0, -0.06), (0, 0, 0.06), 0.062, 3.0),
        ((0, 0, -0.16), (0, 0, -0.06), 0.06, 2.5),
        ((0, 0, -0.05), (0, 0, 0.05), 0.058, 2.5),
        ((0, 0.02, -0.25), (0, 0.07, -0.04), 0.05, 2.0),
        ((0, 0, -0.05), (0.06, 0, 0.03), 0.05, 1.5),
        ((0, 0, -0.02), (0, 0, 0.07), 0.045, 0.7),
    )
    for n, (joint, (start, end, radius, mass)) in enumerate(zip(JOINTS, bones, strict=True), start=1):
        armature, kp, kv = (0.6, 4500.0, 180.0) if joint.torque_nm > 50 else (0.2, 2000.0, 40.0)
        c, s = math.cos(joint.alpha_rad / 2), math.sin(joint.alpha_rad / 2)
        sine, cosine = math.sin(joint.alpha_rad), math.cos(joint.alpha_rad)
        place = (joint.a_m, -joint.d_m * sine, joint.d_m * cosine)
        body = body.add_body(name=f"{ARM}{n}", pos=place, quat=(c, s, 0, 0), gravcomp=1)
        body.add_joint(
            name=f"{ARM}{n}",
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=(0, 0, 1),
            range=(joint.low_rad, joint.high_rad),
            limited=True,
            damping=[1.0, 0.0, 0.0],
            # Of the geared motors. Stable with these springs and dampers at the time step: kv * TICK_S < armature.
            armature=armature,
        )
        _capsule(body, start, end, radius, _WHITE if n % 2 else _DARK, mass)
        motor = spec.add_actuator(
            name=f"{ARM}{n}",
            target=f"{ARM}{n}",
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            forcerange=(-joint.torque_nm, joint.torque_nm),
            forcelimited=True,
            ctrlrange=(joint.low_rad, joint.high_rad),
            ctrllimited=True,
        )
        motor.set_to_position(kp=kp, kv=kv)
    _add_hand(spec, body)


def _add_hand(spec: Any, flange: Any) -> None:
    import mujoco

    c, s = math.cos(-math.pi / 8), math.sin(-math.pi / 8)
    hand = flange.add_body(name=HAND, pos=(0, 0, FLANGE_M), quat=(c, 0, 0, s), gravcomp=1)
    _box(hand, (0, 0, 0.03), (0.03, 0.1, 0.03), _DARK, 0.6)
    hand.add_site(name=TIP, pos=(0, 0, TIP_M), size=(0.005, 0.005, 0.005), rgba=(0, 0, 0, 0))
    for name, side in zip(FINGERS, (1, -1), strict=True):
        finger = hand.add_body(name=name, pos=(0, 0, 0.0584), gravcomp=1)
        finger.add_joint(
            name=name,
            type=mujoco.mjtJoint.mjJNT_SLIDE,
            axis=(0, side, 0),
            range=(0, FINGER_M),
            limited=True,
            damping=[20.0, 0.0, 0.0],
            armature=0.1,
        )
        _box(finger, (0, side * 0.012, 0.014), (0.011, 0.012, 0.014), _PAD, 0.05)
        pad = _box(finger, (0, side * 0.006, TIP_M + PAD_M - 0.0584 - 0.0105), (0.01, 0.006, 0.0105), _PAD, 0.02)
        # Rubber that hardly gives: with softer contacts, what is held creeps out while the hand moves.
        pad.name, pad.friction, pad.solref = f"{name}_pad", (2.0, 0.05, 0.001), _STIFF
        pad.condim, pad.priority = 4, 1
    spec.add_equality(
        name="fingers",
        type=mujoco.mjtEq.mjEQ_JOINT,
        name1=FINGERS[0],
        name2=FINGERS[1],
        objtype=mujoco.mjtObj.mjOBJ_JOINT,
        data=[0, 1, *[0] * 10],
        solref=_STIFF,
    )
    both = spec.add_tendon(name=GRIPPER)
    for name in FINGERS:
        both.wrap_joint(name, 0.5)
    motor = spec.add_actuator(
        name=GRIPPER,
        target=GRIPPER,
        trntype=mujoco.mjtTrn.mjTRN_TENDON,
        forcerange=(-GRIP_N, GRIP_N),
        forcelimited=True,
        ctrlrange=(0, FINGER_M),
        ctrllimited=True,
    )
    motor.set_to_position(kp=10000.0, kv=200.0)


def tip_pose(joints_rad: FloatArray) -> FloatArray:
    """The tip in the world, (4, 4), for joints (7,) in radians: forward kinematics, written out."""
    pose = np.eye(4)
    pose[:3, 3] = BASE_M
    for joint, angle in zip(JOINTS, joints_rad, strict=True):
        ca, sa, c, s = math.cos(joint.alpha_rad), math.sin(joint.alpha_rad), math.cos(angle), math.sin(angle)
        pose = pose @ np.array(
            [
                [c, -s, 0, joint.a_m],
                [s * ca, c * ca, -sa, -joint.d_m * sa],
                [s * sa, c * sa, ca, joint.d_m * ca],
                [0, 0, 0, 1],
            ]
        )
    c, s = math.cos(-math.pi / 4), math.sin(-math.pi / 4)
    hand = np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, FLANGE_M + TIP_M], [0, 0, 0, 1]])
    return np.asarray(pose @ hand, np.float64)


def _capsule(body: Any, start: Any, end: Any, radius: float, rgba: Any, mass: float) -> Any:
    import mujoco

    return body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=(*start, *end),
        size=(radius, 0, 0),
        rgba=rgba,
        mass=mass,
        contype=ARM_BIT,
        conaffinity=THING_BIT,
    )


def _box(body: Any, pos: Any, half: Any, rgba: Any, mass: float) -> Any:
    import mujoco

    return body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=pos,
        size=half,
        rgba=rgba,
        mass=mass,
        contype=ARM_BIT,
        conaffinity=THING_BIT,
    )
