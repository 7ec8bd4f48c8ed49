"""`wrong-action`: the simulator itself with the plan mirrored. Right physics, wrong control."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from worldgauge.core.actions import HAND_POSES
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models
from worldgauge.worlds import open_world
from worldgauge.worlds.tabletop.pose_plans import from_actions, inside_workspace, slerp

STRAIGHT_M, STRAIGHT_COSINE = 2e-3, 1 - 1e-4
"""How far a pose may lie from a straight way, and the least cosine of half the angle to it, to be a part of it."""


@models.register("wrong-action", space=HAND_POSES.name)
class WrongAction:
    """What comes of the plan mirrored left to right: right physics, wrong control.

    Whoever decides by its pictures learns how things move on the table, and not what the plan does. The present moment
    is not mirrored: the hand goes from where it is to the mirrored poses.
    """

    def __init__(self) -> None:
        self.spec = ModelSpec("wrong-action", max_context=1, inputs=frozenset({"world"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk.

        Raises:
            NotApplicableError: Without a table, and for actions of other spaces.
        """
        if request.world is None or request.world.name != "tabletop":
            raise NotApplicableError("'wrong-action' needs the table that is acted on, and this task has none")
        if request.actions is None or request.actions.space != HAND_POSES:
            raise NotApplicableError(f"'wrong-action' mirrors poses of a hand, actions of '{HAND_POSES.name}'")
        return _frames(request, open_world(request.world), from_actions(request.actions))


def _frames(request: RolloutRequest, world: Any, poses: FloatArray) -> Iterator[Frames]:
    """What the front camera sees of the mirrored poses, a frame each."""
    # With the engine comes an extra, which listing the models does without.
    from worldgauge.worlds.tabletop.simulation import Simulation, UnstableError

    simulation = Simulation(world)
    camera: Any = request.context.camera
    way = np.vstack([simulation.hand, poses])
    start = 0
    for stop in stops(way):
        try:
            states = simulation.move(mirrored(way[stop])).states or (simulation.state(),)
        except UnstableError:
            # Of a table that blew up nothing is known: it stays as it was.
            states = (simulation.state(),)
        for share in np.arange(1, stop - start + 1) / (stop - start):
            simulation.restore(states[max(0, round(float(share) * len(states)) - 1)])
            yield simulation.rgb(request.context.poses[-1], camera)[None]
        start = stop


def mirrored(pose: FloatArray) -> FloatArray:
    """A hand pose (8,) seen in a mirror that stands on the plane y = 0, where the arm is; inside the workspace.

    Turns about x and z change their sense. The hand is its own mirror image.
    """
    seen = pose * (1, -1, 1, -1, 1, -1, 1, 1)
    seen[:3] = inside_workspace(seen[:3])
    return seen


def stops(way: FloatArray) -> list[int]:
    """Where a way (n, 8) ends a straight and steady stretch, or opens or closes the hand; the last row is always one.

    What lies between needs no command of its own: the hand comes by.
    """
    found, start = [], 0
    while start < len(way) - 1:
        stop = start + 1
        while stop < len(way) - 1 and way[stop, 7] == way[start, 7] and _is_straight(way[start : stop + 2]):
            stop += 1
        found.append(stop)
        start = stop
    return found


def _is_straight(poses: FloatArray) -> bool:
    """Whether poses (n, 8) lie evenly between the first and the last of them."""
    shares = np.linspace(0, 1, len(poses))
    first, last = (np.repeat(poses[[row]], len(poses), axis=0) for row in (0, -1))
    off = first[:, :3] + shares[:, None] * (last[:, :3] - first[:, :3]) - poses[:, :3]
    cosines = np.abs(np.sum(slerp(first[:, 3:7], last[:, 3:7], shares) * poses[:, 3:7], axis=1))
    return bool(np.linalg.norm(off, axis=1).max() <= STRAIGHT_M and cosines.min() >= STRAIGHT_COSINE)
