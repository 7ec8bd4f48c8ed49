"""Inverse kinematics and ways of the hand that keep the arm out of what stands fast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from worldgauge.geometry import FloatArray
from worldgauge.worlds.tabletop.arm import HOME_RAD, JOINTS, TIP, joint_names
from worldgauge.worlds.tabletop.world import mujoco

REACHED_M, REACHED_RAD = 5e-4, 4e-3
STEP_M, STEP_RAD = 0.02, math.radians(6)
"""Between two points of a straight way."""
JUMP_RAD = 0.5
"""Of any joint between two points, above which the arm would have to swing around."""
HIGH_M = 0.28
"""Above the table: where a way leads that cannot go straight."""
DEEP_M = 0.002
"""How deep two shapes must lie in each other to count as a collision; touching is what hands do."""
_DAMPING = 1e-3
_TRIES = 60
_LOW = np.array([joint.low_rad for joint in JOINTS]) + 1e-3
_HIGH = np.array([joint.high_rad for joint in JOINTS]) - 1e-3


class UnreachableError(Exception):
    """Where the hand cannot get to; the text says why."""


class Motion:
    """Finds joints for poses of the hand, in a copy of the physics that nobody sees."""

    def __init__(self, model: Any) -> None:
        mj = mujoco()
        self._model = model
        self._data = mj.MjData(model)
        self._tip = model.site(TIP).id
        self._at = [int(model.joint(name).qposadr[0]) for name in joint_names()]
        self._columns = [int(model.joint(name).dofadr[0]) for name in joint_names()]
        arm = {model.body(name).id for name in (*joint_names(), "hand", "finger_left", "finger_right")}
        lowest = {model.body(name).id for name in ("arm1", "arm2")}
        self._moving = np.array([body in arm - lowest for body in model.geom_bodyid])
        self._fast = np.array([model.body_weldid[body] == 0 for body in model.geom_bodyid])

    def way(self, state: FloatArray, goal: FloatArray) -> list[FloatArray]:
        """Joints (7,) on the way from physics positions `state` (nq,) to tip pose `goal` (4, 4), the start left out.

        Straight, else up, over and down, else straight for the joints. Raises UnreachableError.
        """
        self._data.qpos[:] = state
        start = np.array(self._data.qpos[self._at])
        here = self.tip_of(start)
        last = self.solve(goal, start)
        if last is None:
            last = self.solve(goal, np.array(HOME_RAD))
        if last is None:
            raise UnreachableError("the arm cannot reach this pose")
        if self._hits(last):
            raise UnreachableError("the arm would be inside something that stands fast there")
        for stops in ([here, goal], _over(here, goal)):
            found = self._straight(start, stops)
            if found is not None:
                return found
        swing = max(2, math.ceil(np.abs(last - start).max() / 0.1))
        joints = [start + (last - start) * (k + 1) / swing for k in range(swing)]
        if any(self._hits(one) for one in joints):
            raise UnreachableError("no free way leads to this pose")
        return joints

    def solve(self, goal: FloatArray, start: FloatArray) -> FloatArray | None:
        """Joints (7,) near `start` that bring the tip to `goal` (4, 4); None where none were found.

        Damped least squares on the site's Jacobian.
        """
        mj = mujoco()
        joints = np.clip(start, _LOW, _HIGH)
        jacobian = np.zeros((6, self._model.nv))
        for _ in range(_TRIES):
            here = self.tip_of(joints)
            off = np.concatenate([goal[:3, 3] - here[:3, 3], _turn(here[:3, :3], goal[:3, :3])])
            far, bent = float(np.linalg.norm(off[:3])), float(np.linalg.norm(off[3:]))
            if far < REACHED_M and bent < REACHED_RAD:
                return joints
            off[:3] *= min(1.0, 0.1 / max(far, 1e-9))
            off[3:] *= min(1.0, 0.5 / max(bent, 1e-9))
            mj.mj_jacSite(self._model, self._data, jacobian[:3], jacobian[3:], self._tip)
            j = jacobian[:, self._columns]
            change = j.T @ np.linalg.solve(j @ j.T + _DAMPING * np.eye(6), off)
            # What is left free draws the arm towards home, so that it does not wind up.
            free = np.eye(7) - np.linalg.pinv(j, rcond=1e-3) @ j
            joints = np.clip(joints + change + free @ (0.05 * (np.array(HOME_RAD) - joints)), _LOW, _HIGH)
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
            far, bent = np.linalg.norm(other[:3, 3] - one[:3, 3]), np.linalg.norm(turn)
            count = max(1, math.ceil(max(far / STEP_M, bent / STEP_RAD)))
            for k in range(1, count + 1):
                goal = np.eye(4)
                goal[:3, 3] = one[:3, 3] + (other[:3, 3] - one[:3, 3]) * k / count
                goal[:3, :3] = _rotated(turn * k / count) @ one[:3, :3]
                joints = self.solve(goal, found[-1])
                if joints is None or np.abs(joints - found[-1]).max() > JUMP_RAD or self._hits(joints):
                    return None
                found.append(joints)
        return found[1:]

    def _hits(self, joints: FloatArray) -> bool:
        """Whether the arm lies in what stands fast; things that can be moved may be touched."""
        mj = mujoco()
        self._data.qpos[self._at] = joints
        mj.mj_kinematics(self._model, self._data)
        mj.mj_collision(self._model, self._data)
        contact = self._data.contact
        if not len(contact):
            return False
        pairs = np.asarray(contact.geom)
        deep = np.asarray(contact.dist) < -DEEP_M
        meets = (self._moving[pairs[:, 0]] & self._fast[pairs[:, 1]]) | (
            self._moving[pairs[:, 1]] & self._fast[pairs[:, 0]]
        )
        return bool((deep & meets).any())


def _over(here: FloatArray, goal: FloatArray) -> list[FloatArray]:
    """Up, over and down."""
    from worldgauge.worlds.tabletop.contract import TABLE_M

    up, above = here.copy(), goal.copy()
    up[2, 3] = max(here[2, 3], TABLE_M + HIGH_M)
    above[2, 3] = max(goal[2, 3], TABLE_M + HIGH_M)
    return [here, up, above, goal]


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
    angle = float(np.linalg.norm(turn))
    q, matrix = np.zeros(4), np.zeros(9)
    mj.mju_axisAngle2Quat(q, turn / angle if angle > 0 else np.array([1.0, 0, 0]), angle)
    mj.mju_quat2Mat(matrix, q)
    return matrix.reshape(3, 3)
