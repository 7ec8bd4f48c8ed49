"""The Franka Panda: seven joints and a parallel gripper with the published kinematics, drawn with capsules.

Frames and limits are those of the maker's public data sheet (Craig's convention); shapes and colours are our own.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.tabletop.contract import TABLE_M
from worldgauge.worlds.tabletop.engine import mujoco


class Joint(NamedTuple):
    """A revolute joint, with the frame in the one before by modified Denavit-Hartenberg parameters."""

    a_m: float  # link length
    d_m: float  # link offset
    alpha_rad: float  # link twist
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
    body = spec.worldbody.add_body(name="base", pos=BASE_M)
    _add_geom(body, "CAPSULE", _WHITE, 3.0, fromto=(0, 0, 0.03, 0, 0, 0.14), size=(0.075, 0, 0))
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
        reach = joint.low_rad, joint.high_rad
        # Armature of the geared motors. Stable with these springs and dampers at the time step: kv * TICK_S < armature.
        add_joint(body, f"{ARM}{n}", "HINGE", (0, 0, 1), reach, damping=1.0, armature=armature)
        colour = _WHITE if n % 2 else _DARK
        _add_geom(body, "CAPSULE", colour, mass, fromto=(*start, *end), size=(radius, 0, 0))
        _add_motor(spec, f"{ARM}{n}", "JOINT", joint.torque_nm, reach, kp=kp, kv=kv)
    _add_hand(spec, body)


def _add_hand(spec: Any, flange: Any) -> None:
    mj = mujoco()
    c, s = math.cos(-math.pi / 8), math.sin(-math.pi / 8)
    hand = flange.add_body(name=HAND, pos=(0, 0, FLANGE_M), quat=(c, 0, 0, s), gravcomp=1)
    _add_geom(hand, "BOX", _DARK, 0.6, pos=(0, 0, 0.03), size=(0.03, 0.1, 0.03))
    hand.add_site(name=TIP, pos=(0, 0, TIP_M), size=(0.005, 0.005, 0.005), rgba=(0, 0, 0, 0))
    for name, side in zip(FINGERS, (1, -1), strict=True):
        finger = hand.add_body(name=name, pos=(0, 0, 0.0584), gravcomp=1)
        add_joint(finger, name, "SLIDE", (0, side, 0), (0, FINGER_M), damping=20.0, armature=0.1)
        _add_geom(finger, "BOX", _PAD, 0.05, pos=(0, side * 0.012, 0.014), size=(0.011, 0.012, 0.014))
        pad_m = (0, side * 0.006, TIP_M + PAD_M - 0.0584 - 0.0105)
        pad = _add_geom(finger, "BOX", _PAD, 0.02, pos=pad_m, size=(0.01, 0.006, 0.0105))
        # Rubber that hardly gives: with softer contacts, what is held creeps out while the hand moves.
        pad.name, pad.friction, pad.solref = f"{name}_pad", (2.0, 0.05, 0.001), _STIFF
        pad.condim, pad.priority = 4, 1
    spec.add_equality(
        name="fingers",
        type=mj.mjtEq.mjEQ_JOINT,
        name1=FINGERS[0],
        name2=FINGERS[1],
        objtype=mj.mjtObj.mjOBJ_JOINT,
        data=[0, 1, *[0] * 10],
        solref=_STIFF,
    )
    both = spec.add_tendon(name=GRIPPER)
    for name in FINGERS:
        both.wrap_joint(name, 0.5)
    _add_motor(spec, GRIPPER, "TENDON", GRIP_N, (0, FINGER_M), kp=10000.0, kv=200.0)


def add_joint(
    body: Any, name: str, kind: str, axis: Any, reach: tuple[float, float], *, damping: float, **more: Any
) -> None:
    """Add a joint with one axis and limits to a body (mujoco)."""
    kind = getattr(mujoco().mjtJoint, f"mjJNT_{kind}")
    body.add_joint(name=name, type=kind, axis=axis, range=reach, limited=True, damping=[damping, 0.0, 0.0], **more)


def _add_motor(spec: Any, name: str, kind: str, force: float, reach: tuple[float, float], **gains: float) -> None:
    limits = {"forcerange": (-force, force), "forcelimited": True, "ctrlrange": reach, "ctrllimited": True}
    kind = getattr(mujoco().mjtTrn, f"mjTRN_{kind}")
    spec.add_actuator(name=name, target=name, trntype=kind, **limits).set_to_position(**gains)


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


def _add_geom(body: Any, kind: str, rgba: Any, mass: float, **shape: Any) -> Any:
    kind = getattr(mujoco().mjtGeom, f"mjGEOM_{kind}")
    return body.add_geom(type=kind, rgba=rgba, mass=mass, contype=ARM_BIT, conaffinity=THING_BIT, **shape)


MOST_TRIANGLES = 50_000
"""Of one mesh; robosuite's largest has 12,516."""
_HIDDEN = 3
"""Of MuJoCo's groups of geoms, the first that is not drawn."""
_HEADER, _TRIANGLE = 84, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("colour", "<u2")])
_MESH_WHITE, _MESH_GREY = (0.93, 0.93, 0.95, 1), (0.5, 0.52, 0.56, 1)


def dress(spec: Any, folder: Path) -> None:
    """Draw the arm with meshes. Its capsules and boxes stay in the physics but are hidden.
    `folder` is laid out as robosuite's `models/assets/robots/panda`: meshes/link0.stl to link7.stl, hand.stl,
    finger.stl, binary STL in metres, each in the frame of its link."""
    mj = mujoco()
    links = {"base": "link0", **{name: f"link{n}" for n, name in enumerate(joint_names(), start=1)}, HAND: "hand"}
    for name, file in (links | dict.fromkeys(FINGERS, "finger")).items():
        corners = _triangles(folder / "meshes" / f"{file}.stl")
        vertices, faces = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
        spec.add_mesh(
            name=f"{name}_mesh",
            uservert=vertices.ravel(),
            userface=faces.ravel(),
            inertia=mj.mjtMeshInertia.mjMESH_INERTIA_SHELL,
        )
        body = spec.body(name)
        for geom in body.geoms:
            geom.group = _HIDDEN
        body.add_geom(
            type=mj.mjtGeom.mjGEOM_MESH,
            meshname=f"{name}_mesh",
            # Both fingers are one mesh, the right one turned around.
            quat=(0, 0, 0, 1) if name == FINGERS[1] else (1, 0, 0, 0),
            rgba=_MESH_GREY if name in FINGERS else _MESH_WHITE,
            mass=0,
            contype=0,
            conaffinity=0,
        )


def _triangles(file: Path) -> FloatArray:
    """Corners (n, 3, 3) in metres of a binary STL file."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_HEADER + MOST_TRIANGLES * _TRIANGLE.itemsize + 1)
    except OSError as error:
        raise WorldError(
            f"mesh {file}: {error.strerror}; name a folder like robosuite's models/assets/robots/panda"
        ) from error
    count = int.from_bytes(data[80:_HEADER], "little")
    if count > MOST_TRIANGLES:
        raise WorldError(f"mesh {file}: {count} triangles, at most {MOST_TRIANGLES} are drawn")
    if not count or len(data) != _HEADER + count * _TRIANGLE.itemsize:
        raise WorldError(f"mesh {file} is no binary STL file")
    corners = np.frombuffer(data, _TRIANGLE, count, _HEADER)["corners"].astype(np.float64)
    if not (np.abs(corners) < 10).all():
        raise WorldError(f"mesh {file} has corners that are not within 10 m")
    return corners


REACHED_M, REACHED_RAD = 5e-4, 4e-3
STEP_M, STEP_RAD = 0.02, math.radians(6)
"""Between two points of a straight way."""
SWING_RAD = 0.1
"""Of any joint between two points of a way that is straight for the joints."""
JUMP_RAD = 0.5
"""Of any joint between two points, above which the arm would have to swing around."""
HIGH_M = 0.28
"""Above the table: where a way leads that cannot go straight."""
DEEP_M = 0.002
"""How deep two shapes must lie in each other to count as a collision; touching is what hands do."""
_APART = 3
"""Links that are fewer joints apart than this overlap at their joints and cannot meet anywhere else."""
_DAMPING, _HOMEWARD = 1e-4, 0.05
_TRIES = 60
_LOW = np.array([joint.low_rad for joint in JOINTS]) + 1e-3
_HIGH = np.array([joint.high_rad for joint in JOINTS]) - 1e-3
_HOME = np.array(HOME_RAD)


class UnreachableError(Exception):
    """Where the hand cannot get to; the text says why."""


class ArmPlanner:
    """Finds joints for poses of the hand, in a private copy of the physics."""

    def __init__(self, model: Any) -> None:
        mj = mujoco()
        # In the copy, links meet each other too.
        self._model = model = copy.copy(model)
        links = ["base", *joint_names(), HAND, *FINGERS]
        order = {model.body(name).id: n for n, name in enumerate(links)}
        self._link = np.array([order.get(body, -1) for body in model.geom_bodyid])
        self._fast = (self._link < 0) & (model.body_weldid[model.geom_bodyid] == 0)
        model.geom_conaffinity[self._link >= 0] |= ARM_BIT
        model.body_conaffinity[list(order)] |= ARM_BIT
        self._data = mj.MjData(model)
        self._tip = model.site(TIP).id
        self._at = [int(model.joint(name).qposadr[0]) for name in joint_names()]
        self._columns = [int(model.joint(name).dofadr[0]) for name in joint_names()]

    def way(self, state: FloatArray, goal: FloatArray) -> list[FloatArray]:
        """Joints (7,) in radians along a collision-free path to a pose (4, 4) of the tip, without the start.
        Deterministic. Tries a straight line of the hand; then up, across and down; then a straight line in joint space,
        if needed by way of the home position. `state` (nq,) holds the physics positions at the start."""
        self._data.qpos[:] = state
        start = np.array(self._data.qpos[self._at])
        here = self.tip_of(start)
        near = self.solve(goal, start)
        if near is not None and self._hit(near) is None:
            up, above = here.copy(), goal.copy()
            for one in (up, above):
                one[2, 3] = max(one[2, 3], TABLE_M + HIGH_M)
            for stops in ([here, goal], [here, up, above, goal]):
                found = self._straight(start, stops)
                if found is not None:
                    return found
        reason = "the arm cannot reach this pose"
        others = (end for other in _starts(goal) if (end := self.solve(goal, other)) is not None)
        for end in others if near is None else chain([near], others):
            hit = self._hit(end)
            if hit is not None:
                reason = f"the arm would be inside {hit} there"
                continue
            for corners in ([start, end], [start, _HOME, end]):
                joints = []
                for one, other in pairwise(corners):
                    count = max(1, math.ceil(np.abs(other - one).max() / SWING_RAD))
                    joints += [one + (other - one) * (k + 1) / count for k in range(count)]
                if self._free(start, joints):
                    return joints
            reason = "no free way leads to this pose"
        raise UnreachableError(reason)

    def solve(self, goal: FloatArray, start: FloatArray) -> FloatArray | None:
        """Joints (7,) in radians near `start` for a pose (4, 4) of the tip; None if none were found.
        Damped least squares on the site's Jacobian. The redundant axis tends towards home, so that the arm does not
        wind up."""
        mj = mujoco()
        joints = np.clip(start, _LOW, _HIGH)
        jacobian = np.zeros((6, self._model.nv))
        for _ in range(_TRIES):
            here = self.tip_of(joints)
            off = np.concatenate([goal[:3, 3] - here[:3, 3], _turn(here[:3, :3], goal[:3, :3])])
            far, bent = math.hypot(*off[:3]), math.hypot(*off[3:])
            if far < REACHED_M and bent < REACHED_RAD:
                return joints
            off[:3] *= min(1.0, 0.1 / max(far, 1e-9))
            off[3:] *= min(1.0, 0.5 / max(bent, 1e-9))
            mj.mj_jacSite(self._model, self._data, jacobian[:3], jacobian[3:], self._tip)
            j = jacobian[:, self._columns]
            wish = _HOMEWARD * (_HOME - joints)
            change = wish + j.T @ np.linalg.solve(j @ j.T + _DAMPING * np.eye(6), off - j @ wish)
            # Close to a singularity the linear step leads astray.
            change *= min(1.0, JUMP_RAD / max(float(np.abs(change).max()), 1e-9))
            joints = np.clip(joints + change, _LOW, _HIGH)
        return None

    def tip_of(self, joints: FloatArray) -> FloatArray:
        """Tip pose (4, 4) with the arm at `joints` (7,), everything else as it is."""
        mj = mujoco()
        self._data.qpos[self._at] = joints
        mj.mj_kinematics(self._model, self._data)
        mj.mj_comPos(self._model, self._data)
        pose = np.eye(4)
        pose[:3, :3] = self._data.site_xmat[self._tip].reshape(3, 3)
        pose[:3, 3] = self._data.site_xpos[self._tip]
        return pose

    def _straight(self, start: FloatArray, stops: Sequence[FloatArray]) -> list[FloatArray] | None:
        """Joints along straight lines through tip poses; None where the arm would jump or hit something."""
        found = [start]
        for one, other in pairwise(stops):
            turn = _turn(one[:3, :3], other[:3, :3])
            far, bent = math.hypot(*(other[:3, 3] - one[:3, 3])), math.hypot(*turn)
            count = max(1, math.ceil(max(far / STEP_M, bent / STEP_RAD)))
            for k in range(1, count + 1):
                goal = np.eye(4)
                goal[:3, 3] = one[:3, 3] + (other[:3, 3] - one[:3, 3]) * k / count
                goal[:3, :3] = _rotated(turn * k / count) @ one[:3, :3]
                joints = self.solve(goal, found[-1])
                if joints is None or np.abs(joints - found[-1]).max() > JUMP_RAD:
                    return None
                found.append(joints)
        return found[1:] if self._free(start, found[1:]) else None

    def _free(self, start: FloatArray, joints: Sequence[FloatArray]) -> bool:
        """Whether a way hits nothing; an arm that was pressed into something may come out of it."""
        stuck = self._hit(start) is not None
        for point in joints:
            hit = self._hit(point) is not None
            if hit and not stuck:
                return False
            stuck = hit
        return not stuck

    def _hit(self, joints: FloatArray) -> str | None:
        """What the arm lies in: itself or what stands fast; things that can be moved may be touched."""
        mj = mujoco()
        self._data.qpos[self._at] = joints
        mj.mj_kinematics(self._model, self._data)
        mj.mj_collision(self._model, self._data)
        contact = self._data.contact
        if not len(contact):
            return None
        pairs = np.asarray(contact.geom)[np.asarray(contact.dist) < -DEEP_M]
        links, fast = np.sort(self._link[pairs], axis=1), self._fast[pairs]
        if ((links[:, 0] >= 0) & (links[:, 1] - links[:, 0] >= _APART)).any():
            return "itself"
        # The two lowest links turn where they stand.
        return "something that stands fast" if ((links[:, 1] > 2) & fast.any(1)).any() else None


def _starts(goal: FloatArray) -> Iterator[FloatArray]:
    """Joints (7,) to look for `goal` from: home, turned towards it, with other elbows and wrists."""
    towards = math.atan2(goal[1, 3] - BASE_M[1], goal[0, 3] - BASE_M[0])
    for shoulder, elbow, wrist, flange in (
        (0.0, 0.0, 0.0, 0.8),
        (0.0, 0.0, 0.0, -0.8),
        (0.0, 0.0, 0.0, 2.4),
        (0.0, 0.0, 0.0, -2.4),
        (0.8, -0.9, 0.0, 0.8),
        (-0.8, 0.9, 0.0, 0.8),
        (0.0, 0.0, 1.5, 0.0),
        (0.0, 0.0, -1.5, 0.0),
        (1.5, -1.5, 0.0, 0.8),
        (-1.5, 1.5, 0.0, 0.8),
        (0.0, 0.0, 1.5, 2.0),
        (0.0, 0.0, -1.5, -2.0),
    ):
        yield np.array([towards + shoulder, HOME_RAD[1], elbow, HOME_RAD[3], wrist, HOME_RAD[5], flange])


def _turn(one: FloatArray, other: FloatArray) -> FloatArray:
    """Rotation vector (3,) in the world frame that turns `one` (3, 3) into `other`."""
    mj = mujoco()
    q, turn = np.zeros(4), np.zeros(3)
    mj.mju_mat2Quat(q, np.ascontiguousarray(other @ one.T).ravel())
    mj.mju_quat2Vel(turn, q, 1.0)
    return turn


def _rotated(turn: FloatArray) -> FloatArray:
    """Matrix (3, 3) of a rotation vector (3,)."""
    mj = mujoco()
    angle = math.hypot(*turn)
    q, matrix = np.zeros(4), np.zeros(9)
    mj.mju_axisAngle2Quat(q, turn / angle if angle > 0 else np.array([1.0, 0, 0]), angle)
    mj.mju_quat2Mat(matrix, q)
    return matrix.reshape(3, 3)
