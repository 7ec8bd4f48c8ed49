"""Questions in the form of loopnav about a loop in an embedded settlement."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import numpy as np

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.engine.suite.trial_questions import Sizes, TrialQuestions, Workload, episode_of_walk, with_frames_drawn
from worldgauge.suites.loopnav.format.trajectories import aligned_actions
from worldgauge.suites.loopnav.protocol import make_request
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.suites.loopnav.walks.loops import record_loop
from worldgauge.suites.loopnav.walks.sites import VoxelSite
from worldgauge.worlds import open_world
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.eye import VERTICAL_FOV_DEG

FRAMES_TO_IMAGINE, WALKS = 34_000, 144
"""Of the standard evaluation: 18 trajectories x 8 cells. Frames from the mean lengths that the paper prints: less 60 of
look-around, half of an ABA walk is the way back, and a third of an ABCA walk."""

_WORLD = WorldFacts("voxel", {"kind": "plains", "seed": 1, "size": (160, 160, 56)})
_RADIUS = 15


class LoopQuestions(TrialQuestions):
    """One loop of 379 frames; its camera changes by any angle."""

    sizes: ClassVar[Sizes] = {"perspective": ((160, 90), (640, 360))}
    starts = (203, 227)
    workload = Workload(FRAMES_TO_IMAGINE, f"{WALKS} walks", LOOP_WALK.fps)
    action_space = LOOP_WALK.name
    by_default = True

    @property
    def frames(self) -> int:
        """Number of frames of the loop."""
        return len(_walk()[0])

    def question(
        self,
        spec: ModelSpec,
        *,
        start: int,
        context: int,
        horizon: int,
        seed: int,
        size: tuple[int, int] | None = None,
        turn: float | None = None,
    ) -> RolloutRequest:
        """A question about the loop; see `TrialQuestions.question`."""
        poses, actions = _walk()
        first, stop = start - context, start + horizon
        camera = Camera.from_vertical_fov(*(size or self.recorded_size(spec)), VERTICAL_FOV_DEG)
        turned = None
        if turn is not None:
            turned = np.zeros(len(LOOP_WALK), np.float32)
            turned[LOOP_WALK.column("camera_yaw")] = turn
        episode = episode_of_walk(
            poses[first:stop],
            actions[first : stop - 1],
            _WORLD,
            camera,
            context=context,
            fps=spec.fps,
            turned=turned,
        )
        return with_frames_drawn(make_request(episode, context, spec, LoopNavSettings(), seed=seed))


@lru_cache(maxsize=1)
def _walk() -> tuple[FloatArray, Actions]:
    """Poses (N, 4, 4) and N - 1 actions of one loop in a small settlement."""
    world = open_world(_WORLD)
    assert isinstance(world, Voxel)
    walk = record_loop(VoxelSite(world.voxels), kind="ABA", radius=_RADIUS, rng=np.random.default_rng(1))
    return walk.poses, aligned_actions(walk)
