"""Inverse kinematics, and ways of the hand that keep the arm out of what stands fast and out of itself."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.tabletop.contract import TABLE_M
from worldgauge.worlds.tabletop.engine import mujoco
from worldgauge.worlds.tabletop.franka_arm import ARM_BIT, BASE_M, FINGERS, HAND, HOME_RAD, JOINTS, TIP, joint_names

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


class Motion:
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
        """Plan a collision-free path of the arm.

        Tries a straight line of the hand, then up, across and down, then a straight line in joint space, by way of the
        home position if needed. Deterministic.

        Args:
            state: Physics positions (nq,) at the start.
            goal: Pose (4, 4) of the tip.

        Returns:
            Joint positions (7,) in radians along the path, without the start.

        Raises:
            UnreachableError: No path was found.
        """
        self._data.qpos[:] = state
        start = np.array(self._data.qpos[self._at])
        here = self.tip_of(start)
        near = self.solve(goal, start)
        if near is not None and self._hit(near) is None:
            for stops in ([here, goal], _over(here, goal)):
                found = self._straight(start, stops)
                if found is not None:
                    return found
        reason = "the arm cannot reach this pose"
        for end in self._ends(goal, near):
            hit = self._hit(end)
            if hit is not None:
                reason = f"the arm would be inside {hit} there"
                continue
            for corners in ([start, end], [start, _HOME, end]):
                joints = [point for one, other in pairwise(corners) for point in _swing(one, other)]
                if self._free(start, joints):
                    return joints
            reason = "no free way leads to this pose"
        raise UnreachableError(reason)

    def solve(self, goal: FloatArray, start: FloatArray) -> FloatArray | None:
        """Solve inverse kinematics by damped least squares on the site's Jacobian.

        The redundant axis is drawn towards home, so that the arm does not wind up.

        Args:
            goal: Pose (4, 4) of the tip.
            start: Joint positions (7,) to start from, radians.

        Returns:
            Joint positions (7,) near `start`; None if none were found.
        """
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

    def _ends(self, goal: FloatArray, near: FloatArray | None) -> Iterator[FloatArray]:
        """Joints at `goal`: `near`, then those found from elsewhere."""
        if near is not None:
            yield near
        for start in _starts(goal):
            end = self.solve(goal, start)
            if end is not None:
                yield end

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


def _over(here: FloatArray, goal: FloatArray) -> list[FloatArray]:
    """Up, over and down."""
    up, above = here.copy(), goal.copy()
    up[2, 3] = max(here[2, 3], TABLE_M + HIGH_M)
    above[2, 3] = max(goal[2, 3], TABLE_M + HIGH_M)
    return [here, up, above, goal]


def _swing(one: FloatArray, other: FloatArray) -> list[FloatArray]:
    """Joints between two, straight."""
    count = max(1, math.ceil(np.abs(other - one).max() / SWING_RAD))
    return [one + (other - one) * (k + 1) / count for k in range(count)]


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
