"""World-in-World's primitives, and what a list of them is to a world model: keys, a camera path, or words.

One primitive is one frame. A plan of n primitives is a clip of n + 1 frames: frame 0 is what is seen now, frame k the
view after primitive k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from worldgauge.actions import Actions, ActionSpace, Axis, Motion

STEP_M = 0.2
"""Metres of one forward step (task setup of the paper)."""
TURN_DEG = 22.5
"""Degrees of one turn."""


class Primitive(IntEnum):
    """What an agent can do in one step. The numbers are those of the published wire format, where 4 also means null."""

    FORWARD = 1
    TURN_LEFT = 2
    TURN_RIGHT = 3
    STOP = 4


Steps = tuple[Primitive, ...]

NAV_STEPS = ActionSpace(
    "nav-steps",
    (
        Axis("forward", "button", Motion(forward=STEP_M)),
        Axis("turn_left", "button", Motion(yaw=math.radians(TURN_DEG))),
        Axis("turn_right", "button", Motion(yaw=-math.radians(TURN_DEG))),
    ),
    fps=5.0,
)
"""The primitives as keys, one a frame; stopping is no key. The rate is ours: 1 m/s, the paper has none."""


def as_actions(steps: Sequence[Primitive]) -> Actions:
    """Keys (n, 3) of n primitives; a row of zeros for STOP."""
    values = np.zeros((len(steps), len(NAV_STEPS)), np.float32)
    for row, step in enumerate(steps):
        if step is not Primitive.STOP:
            values[row, int(step) - 1] = 1.0
    return Actions(NAV_STEPS, values)
