"""Questions in the form of mind about a walk by keys in an embedded settlement."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, cast

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.engine.suite.trial_questions import Sizes, TrialQuestions, episode_of_walk, with_frames_drawn
from worldgauge.suites.mind.format import SHARED_SPACE, space_of
from worldgauge.suites.mind.format.read import HORIZONTAL_FOV_DEG
from worldgauge.suites.mind.protocol import ClipQuestion, request_of
from worldgauge.suites.mind.settings import Settings
from worldgauge.suites.mind.walks.key_walks import KeyWalk, record_key_walk
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.floor import Walkable

FRAMES = 360
_WORLD = WorldFacts("voxel", {"kind": "plains", "seed": 1, "size": (160, 160, 56)})
_SEED = 2


class KeyQuestions(TrialQuestions):
    """One walk in first person; a turn is a held key."""

    sizes: ClassVar[Sizes] = {"perspective": ((160, 90), (640, 360))}
    starts = (194, 214)
    action_space = space_of(*SHARED_SPACE).name

    @property
    def frames(self) -> int:
        """Number of frames of the walk."""
        return len(_walk())

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
        """A question about the walk; see `TrialQuestions.question`."""
        walk = _walk()
        first, stop = start - context, start + horizon
        camera = Camera.from_horizontal_fov(*(size or self.recorded_size(spec)), HORIZONTAL_FOV_DEG)
        turned = None
        if turn is not None:
            turned = np.zeros(len(walk.space), np.float32)
            turned[walk.space.column("look_left" if turn > 0 else "look_right")] = 1
        episode = episode_of_walk(
            walk.poses[first:stop],
            walk.actions[first : stop - 1],
            _WORLD,
            camera,
            context=context,
            fps=spec.fps,
            turned=turned,
        )
        asked = ClipQuestion(
            episode, context, episode.actions[context - 1 :], episode.poses[context:], episode.clip[context:]
        )
        return with_frames_drawn(request_of(asked, spec, Settings(), seed=seed))


@lru_cache(maxsize=1)
def _walk() -> KeyWalk:
    """A walk in a small settlement."""
    return record_key_walk(
        cast("Walkable", open_world(_WORLD)),
        np.random.default_rng(_SEED),
        frames=FRAMES,
        mark_time=FRAMES // 3,
        space=space_of(*SHARED_SPACE),
        perspective="1st",
    )
