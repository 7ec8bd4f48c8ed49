"""Walks in MIND's scenes that are drawn while a model trains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from worldgauge.core.actions import ActionSpace
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera
from worldgauge.core.io import digest_of, dumps
from worldgauge.core.video import Clip
from worldgauge.engine.collection.kernel import world_seed_of
from worldgauge.engine.options import option
from worldgauge.suites.mind.actions import space_of
from worldgauge.suites.mind.format import PERSPECTIVES, Perspective
from worldgauge.suites.mind.format.layout import FPS, SHARED_SPACE
from worldgauge.suites.mind.format.read import HORIZONTAL_FOV_DEG
from worldgauge.suites.mind.walks.key_walks import KeyWalkFailedError, record_key_walk
from worldgauge.suites.mind.walks.plan import SPACES, WORLD_CELLS, WORLDS
from worldgauge.worlds import open_world
from worldgauge.worlds.voxel.world import FAMILIES
from worldgauge.worlds.walking.floor import Walkable
from worldgauge_train.training.clip import Split, TrainingClip
from worldgauge_train.training.walks import PER_WORLD, walk_sources

_WORLDS_TRIED = 16
_FIRST_PLACE = 2**20
"""Above the places of collections."""


@walk_sources.register("walks")
@dataclass(frozen=True)
class MindWalks:
    """Walks driven by keys in MIND's eight kinds of scene."""

    families: tuple[str, ...] = option(FAMILIES, "Kinds of scene, used in turn.", choices=FAMILIES)
    perspectives: tuple[str, ...] = option(("1st",), "Perspectives, used in turn.", choices=PERSPECTIVES)
    spaces: Literal["shared", "all"] = option("shared", "What keys do: the shared space, or all five in turn.")
    frames: int = option(216, "Frames of a walk.", low=8, high=20_000)

    @property
    def fps(self) -> float:
        """Frames a second."""
        return FPS

    @property
    def space(self) -> ActionSpace:
        """The shared space."""
        return space_of(*SHARED_SPACE)

    @property
    def space_names(self) -> tuple[str, ...]:
        """Names of all action spaces."""
        used = SPACES if self.spaces == "all" else (SHARED_SPACE,)
        return tuple(sorted({space_of(*one).name for one in used}))

    def clip(self, number: int, seed: int, split: Split, size: tuple[int, int]) -> TrainingClip:
        """Draw a clip; see `WalkSource.clip`.

        Args:
            number: Its number.
            seed: Seed of all clips.
            split: Split of its world.
            size: (width, height) of its frames.

        Raises:
            WorldError: No walk was found in any of 16 worlds.
        """
        world, _ = divmod(number, PER_WORLD)
        turn, at = divmod(world, len(self.families))
        perspective = cast(Perspective, self.perspectives[turn % len(self.perspectives)])
        space = space_of(*(SPACES[number % len(SPACES)] if self.spaces == "all" else SHARED_SPACE))
        for attempt in range(_WORLDS_TRIED):
            place = _FIRST_PLACE + world * _WORLDS_TRIED + attempt
            params = {"kind": self.families[at], "seed": world_seed_of(seed, place, split), "size": list(WORLD_CELLS)}
            here = cast(Walkable, open_world(WorldFacts(WORLDS[perspective], params)))
            rng = np.random.default_rng([seed, place, number])
            try:
                walk = record_key_walk(
                    here, rng, frames=self.frames, mark_time=self.frames // 3, space=space, perspective=perspective
                )
            except KeyWalkFailedError:
                continue
            camera, poses = Camera.from_horizontal_fov(*size, HORIZONTAL_FOV_DEG), walk.poses
            frames = Clip.from_array(np.stack([here.view(pose, camera).rgb for pose in poses]), FPS)
            told = dumps(["walks", split, seed, number, perspective, self.spaces, self.frames, list(self.families)])
            return TrainingClip(
                f"{number:07d}", "walks", split, digest_of(told), frames, walk.actions, poses, camera, world=here.facts
            )
        raise WorldError(f"walk {number}: no walk of {self.frames} frames in {_WORLDS_TRIED} worlds; ask for fewer")
