"""`process`: plans of a policy in its own process, such as 3D Diffuser Actor (docs/howto/policies.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.episode import Goal
from worldgauge.core.errors import ModelError, ShapeError
from worldgauge.serving import served_code
from worldgauge.serving.remote_model import Expected
from worldgauge.suites.worldinworld.policies.contract import (
    REFUSED,
    ActionPlan,
    History,
    PolicyKit,
    Rng,
    TableObservation,
    proposers,
)
from worldgauge.suites.worldinworld.policies.process_proposer import MAX_PLANS, NAME, address_of, common_options, opened
from worldgauge.worlds.tabletop.pose_plans import HandPose


def farthest_points(points: ArrayLike, count: int) -> list[int]:
    """Greedy farthest point sampling of (m, k): each next one is farthest from those picked, the earlier of equals.

    Source: World-in-World, section 5.4; that the first point comes first is our choice.
    """
    known = np.asarray(points, np.float64)
    if known.ndim != 2 or not np.isfinite(known).all():
        raise ShapeError(f"expected finite points of shape (m, k), got shape {known.shape}")
    taken: list[int] = []
    nearest_m = np.full(len(known), np.inf)
    while len(taken) < min(count, len(known)):
        taken.append(int(nearest_m.argmax()))
        nearest_m = np.minimum(nearest_m, np.linalg.norm(known - known[taken[-1]], axis=1))
        # A picked point is not picked again, even if others lie in the same place.
        nearest_m[taken] = -1.0
    return taken


LAYOUTS = ("", "things", "wrist", "things wrist")
"""Layouts of a policy: whether it is given the positions of things, and the view from the wrist."""
MAX_OFF = 0.01
"""Most deviation of a quaternion's length from 1."""


@proposers.register(NAME, tasks=("manipulation",), chat=False)
class ProcessProposer:
    """Asks a policy in another process, environment or machine for plans.

    Option policy: "cmd:...", "pipe:..." or "http://..." as for models. One process serves all episodes of a worker.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._at, self._length = address_of(kit), kit.length

    def propose(
        self, observation: TableObservation, goal: Goal, history: History, n: int, rng: Rng
    ) -> list[ActionPlan]:
        """Request up to n plans, of more those that end farthest apart; invalid poses give a plan flagged `REFUSED`."""
        policy = opened(self._at, LAYOUTS, served_code(self._at))
        wants = policy.spec.layout.split()
        executed = [pose for past in history for pose in past.executed if isinstance(pose, HandPose)]
        arrays: dict[str, NDArray[Any]] = {
            "front": observation.front,
            "depth": np.asarray(observation.depth, np.float32),
            "pose": np.asarray(observation.pose, np.float64),
            "hand": np.array(observation.hand),
            "history": np.array(executed, np.float64).reshape(-1, 8),
        }
        if "wrist" in wants:
            arrays["wrist"] = observation.wrist
        things = [vars(thing) for thing in observation.things] if "things" in wants else []
        options = common_options(goal.text, observation.camera, n, self._length, int(rng.integers(2**31)))
        answer = policy.estimate(
            arrays,
            {**options, "things": things},
            {"poses": Expected(((None, None, 8),), finite=False)},
            max_bytes=MAX_PLANS * self._length * 8 * 8,
        )
        try:
            poses = checked_poses(answer.arrays["poses"], self._length, f"policy '{policy.spec.name}'")
        except ModelError as error:
            return [ActionPlan((), NAME, aim={"text": str(error)}, flags=(REFUSED,))]
        kept = poses[farthest_points(poses[:, -1, :3], n)] if len(poses) else poses
        return [ActionPlan((), NAME, poses=tuple(HandPose(*pose) for pose in plan)) for plan in kept.tolist()]


def checked_poses(poses: NDArray[Any], length: int, who: str) -> NDArray[np.float64]:
    """Check plans (m, l, 8) of a policy and clip the gripper to [0, 1]; the table finds out what is in reach."""
    known = np.asarray(poses, np.float64).copy()
    if len(known) and not 1 <= known.shape[1] <= length:
        raise ModelError(f"{who} gives plans of {known.shape[1]} poses; a plan has 1 to {length}")
    faults = (
        (~np.isfinite(known).all(-1), "its numbers are not all finite"),
        (np.abs(np.linalg.norm(known[..., 3:7], axis=-1) - 1) > MAX_OFF, "its quaternion does not have length 1"),
        ((known[..., 7] < -MAX_OFF) | (known[..., 7] > 1 + MAX_OFF), "its gripper is not between 0 and 1"),
    )
    for bad, words in faults:
        if bad.any():
            plan, pose = (int(index) for index in np.argwhere(bad)[0])
            numbers = " ".join(f"{value:g}" for value in known[plan, pose])
            raise ModelError(f"{who}, plan {plan}, pose {pose}: {words} ({numbers})")
    known[..., 7] = known[..., 7].clip(0, 1)
    return known
