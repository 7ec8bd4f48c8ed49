"""`forgetful`: draws a place just as sharp and plausible, only another one.

It obeys every action and its frames are as good as the truth's; it merely does not remember. What a
benchmark of memory must see through, and a benchmark of image quality cannot.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from worldgauge.episode import WorldFacts
from worldgauge.errors import NotApplicableError
from worldgauge.geometry import FloatArray
from worldgauge.models import models
from worldgauge.subject import Frames, ModelSpec, RolloutRequest
from worldgauge.worlds import open_world
from worldgauge.worlds.third_person import ThirdPerson, feet_of
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import GROUND
from worldgauge.worlds.voxel.eye import EYE_HEIGHT_M
from worldgauge.worlds.voxel.world import VoxelWorld

IntArray = NDArray[np.int64]
SEED_STEP = 1_000_003
_WORLDS = ("voxel", "third-person")


@models.register("forgetful")
class Forgetful:
    """Another settlement of the same kind, seen along the right path.

    The path is laid where most of it runs over free natural ground of the other place, and follows that ground.
    """

    def __init__(self) -> None:
        self.spec = ModelSpec("forgetful", control="camera", inputs=frozenset({"world"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames of the other place."""
        if request.world is None or request.world.name not in _WORLDS or request.poses is None:
            raise NotApplicableError("'forgetful' needs an embedded voxel world; published recordings have none")
        other = _other_place(request.world)
        feet = request.poses[:, :3, 3] - np.array([0.0, 0.0, EYE_HEIGHT_M])
        if isinstance(other, ThirdPerson):
            feet = feet_of(request.poses)
        poses = _lay_path(other.voxels, request.poses, feet, np.random.default_rng(request.seed))
        for pose in poses:
            yield other.view(pose, request.context.camera).rgb[None]


def _other_place(facts: WorldFacts) -> Voxel:
    params = {**facts.params, "seed": int(facts.params["seed"]) + SEED_STEP}
    world = open_world(WorldFacts(facts.name, params))
    assert isinstance(world, Voxel)
    return world


def _lay_path(
    cells: VoxelWorld, poses: FloatArray, feet: FloatArray, rng: np.random.Generator, tries: int = 64
) -> FloatArray:
    """The poses (T, 4, 4) shifted in the plane to where most of the walk is over free natural ground.

    feet: (T, 3) of the walker, which stand on that ground then; the camera stays as far from them as it was.
    """
    ground = _ground_heights(cells)
    natural = _natural(cells, ground)
    size = np.array(ground.shape)
    spot = np.floor(feet[:, :2]).astype(int)
    lens = np.floor(poses[:, :2, 3]).astype(int)
    best: tuple[float, IntArray] | None = None
    for _ in range(tries):
        shift = rng.integers(-40, 41, 2)
        share = 0.0
        for moved in (np.clip(spot + shift, 0, size - 1), np.clip(lens + shift, 0, size - 1)):
            share += float(natural[moved[:, 0], moved[:, 1]].mean())
        if best is None or share > best[0]:
            best = (share, shift)
    assert best is not None
    shift = best[1]
    moved = np.clip(spot + shift, 0, size - 1)
    laid = poses.copy()
    laid[:, :2, 3] += shift
    heights = _smooth(ground[moved[:, 0], moved[:, 1]].astype(np.float64)) + 1
    laid[:, 2, 3] = heights + (poses[:, 2, 3] - feet[:, 2])
    return laid


def _ground_heights(cells: VoxelWorld) -> IntArray:
    """z of the highest cell of natural ground in every column, (X, Y)."""
    from_top = np.argmax(GROUND[cells.states][:, :, ::-1], axis=2)
    return np.asarray(cells.shape[2] - 1 - from_top, np.int64)


def _natural(cells: VoxelWorld, ground: IntArray) -> NDArray[np.bool_]:
    """Columns whose two cells above the ground are free, (X, Y) bool: a walker fits."""
    x, y = np.indices(ground.shape)
    top = cells.shape[2] - 1
    free = [cells.states[x, y, np.minimum(ground + up, top)] == 0 for up in (1, 2)]
    return np.asarray(free[0] & free[1], np.bool_)


def _smooth(heights: FloatArray, width: int = 5) -> FloatArray:
    """Moving average: a step up takes a few frames, as a jump does."""
    padded = np.pad(heights, width // 2, mode="edge")
    return np.convolve(padded, np.ones(width) / width, mode="valid")
