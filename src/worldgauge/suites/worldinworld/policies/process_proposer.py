"""`process` of those who walk: plans of a policy that runs in a process of its own (docs/howto/policies.md)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Goal
from worldgauge.core.errors import ModelError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.serving import RemoteEstimator, is_served, open_estimator, served_code
from worldgauge.serving.remote_model import Expected
from worldgauge.suites.worldinworld.policies.contract import (
    REFUSED,
    SIDES,
    ActionPlan,
    History,
    HomeObservation,
    PolicyKit,
    Rng,
)
from worldgauge.worlds.walking.primitives import Primitive, Steps, letters

NAME, KIND = "process", "policy"
"""Name of the proposers that ask one, and kind of estimator that it is."""
MAX_PLANS = 256
"""Most plans of an answer."""


def address_of(kit: PolicyKit) -> str:
    """Where the policy of a run is: "cmd:...", "pipe:..." or "http://..." as for models."""
    at = str(kit.options.get("policy", ""))
    if not is_served(at):
        raise UsageError(
            f"the proposer '{NAME}' asks a policy of yours, got '{at}'; "
            'give --set "policy=cmd:python -m worldgauge_serve my_policy.py:Mine" (docs/howto/policies.md)'
        )
    return at


@lru_cache(maxsize=4)
def opened(at: str, layouts: tuple[str, ...], code: str = "") -> RemoteEstimator:
    """Return the policy at `at`, opened once: loading a network takes longer than an episode."""
    remote = open_estimator(at, KIND)
    if remote.spec.kind != KIND or remote.spec.layout not in layouts:
        remote.close()
        what = f"of kind '{remote.spec.kind}', layout '{remote.spec.layout}'"
        wanted = " or ".join(f"'{layout}'" for layout in layouts)
        raise UsageError(f"'{remote.spec.name}' is {what}; a policy is of kind '{KIND}', layout {wanted}")
    return remote


def common_options(instruction: str | None, camera: Camera, n: int, length: int, seed: int) -> dict[str, Any]:
    """Options that are passed to every policy."""
    numbers = {name: getattr(camera, name) for name in ("width", "height", "fx", "fy", "cx", "cy")}
    return {"instruction": instruction or "", "n": n, "length": length, "seed": seed, "camera": numbers}


LAYOUT = "steps"
"""Layout of a policy that walks."""
STEPS = {1: Primitive.FORWARD, 2: Primitive.TURN_LEFT, 3: Primitive.TURN_RIGHT}
"""Steps by their number in an answer; 0 is padding after the last one."""


class StepsProcess:
    """Asks a policy for plans of a walker's primitives."""

    def __init__(self, kit: PolicyKit) -> None:
        self._at, self._task, self._length = address_of(kit), kit.task, kit.length

    def propose(self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: Rng) -> list[ActionPlan]:
        """Request up to n plans, of more the first n; invalid numbers give one empty plan, flagged `REFUSED`."""
        policy = opened(self._at, (LAYOUT,), served_code(self._at))
        arrays: dict[str, NDArray[Any]] = {"views": np.stack([observation.view(side) for side in SIDES])}
        if goal.image is not None:
            arrays["goal"] = np.asarray(goal.image, np.uint8)
        if observation.box is not None:
            arrays["box"] = np.array(observation.box, np.float64)
        options = {
            **common_options(goal.text, observation.camera, n, self._length, int(rng.integers(2**31))),
            "task": self._task,
            "views": list(SIDES),
            "steps": {primitive.name.lower(): number for number, primitive in STEPS.items()},
            "history": [letters(tuple(past.executed)) for past in history],
            "collided": [any(past.collided) for past in history],
        }
        expected = Expected(((None, None),), dtypes=("uint8", "int64", "float32", "float64"), finite=False)
        answer = policy.estimate(arrays, options, {"steps": expected}, max_bytes=MAX_PLANS * self._length * 8)
        try:
            plans = checked_steps(answer.arrays["steps"], self._length, f"policy '{policy.spec.name}'")
        except ModelError as error:
            return [ActionPlan((), NAME, aim=aim_of(self._task, str(error)), flags=(REFUSED,))]
        return [ActionPlan(steps, NAME, aim=aim_of(self._task, "steps of a policy")) for steps in plans[:n]]


def checked_steps(answer: NDArray[Any], length: int, who: str) -> list[Steps]:
    """Read the plans of a policy. `answer`: (m, l) numbers: 1 ahead, 2 left, 3 right, 0 after the last step."""
    if len(answer) and not 1 <= answer.shape[1] <= length:
        raise ModelError(f"{who} gives plans of {answer.shape[1]} steps; a plan has 1 to {length}")
    plans = []
    for number, row in enumerate(answer.tolist()):
        steps = row[: row.index(0)] if 0 in row else row
        if any(row[len(steps) :]) or not all(step in STEPS for step in steps):
            raise ModelError(f"{who}, plan {number}: steps are 1, 2 or 3, and 0 after the last one (got {row})")
        plans.append(tuple(STEPS[int(step)] for step in steps))
    return [plan for plan in plans if plan]


def aim_of(task: str, text: str) -> dict[str, Any]:
    """What a plan is said to be for; that of a question tells where it looks, and that its steps are the way."""
    looking = {"view": "front", "landmark": None, "as_planned": True} if task == "questions" else {}
    return {**looking, "text": text}
