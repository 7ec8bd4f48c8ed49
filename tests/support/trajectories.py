"""Trajectories by the recipes of the vector files mind_rpe and mind_action_metric."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

FloatArray = NDArray[np.float64]


def trajectory(rng: np.random.Generator, n: int, rot: float, tr: float) -> FloatArray:
    """(n, 4, 4) from the identity on, by random steps: standard deviations in radians and metres."""
    turns, moves = rng.normal(size=(n, 3)) * rot, rng.normal(size=(n, 3)) * tr
    poses = np.tile(np.eye(4), (n, 1, 1))
    for i in range(1, n):
        step = np.eye(4)
        step[:3, :3], step[:3, 3] = Rotation.from_rotvec(turns[i]).as_matrix(), moves[i]
        poses[i] = poses[i - 1] @ step
    return poses


def perturbed(rng: np.random.Generator, poses: FloatArray, case: dict[str, Any]) -> FloatArray:
    """`poses` with noise nrot, ntr, then scaled and moved by `scale` and `g` of a case."""
    n = len(poses)
    noise = Rotation.from_rotvec(rng.normal(size=(n, 3)) * case["nrot"]).as_matrix()
    shift = rng.normal(size=(n, 3)) * case["ntr"]
    turn = Rotation.from_rotvec(case["g"][:3]).as_matrix()
    moved = np.tile(np.eye(4), (n, 1, 1))
    moved[:, :3, :3] = turn @ poses[:, :3, :3] @ noise
    moved[:, :3, 3] = case["scale"] * (poses[:, :3, 3] + shift) @ turn.T + case["g"][3:]
    return moved


def pair(case: dict[str, Any]) -> tuple[FloatArray, FloatArray, np.random.Generator]:
    """True and generated poses of a case before anything is cut, and the generator where the recipe goes on."""
    rng = np.random.default_rng(case["seed"])
    truth = trajectory(rng, case["n"], case["rot"], case["tr"])
    return truth, perturbed(rng, truth, case), rng
