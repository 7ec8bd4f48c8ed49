"""`forgetful`: draws a place that is as sharp and plausible as the true one, but another place.

It obeys every action, and its frames are as good as the truth; it only does not remember. A benchmark of memory must
detect this, and a benchmark of image quality cannot.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.models import models
from worldgauge.worlds import World, open_world
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.third_person import ThirdPerson, feet_of
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import GROUND
from worldgauge.worlds.voxel.world import EYE_HEIGHT_M, VoxelWorld
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.primitives import stands

IntArray = NDArray[np.int64]
SEED_STEP = 1_000_003
_WORLDS = ("voxel", "third-person", "indoor")


@models.register("forgetful")
class Forgetful:
    """Another settlement or home of the same kind, seen along the correct path.
    The path is where most of it has free ground of the other place. In a home it starts at the same place for all
    requests from one position, and stops at walls and furniture."""

    def __init__(self, view: View = "perspective") -> None:
        self.spec = ModelSpec("forgetful", control="camera", view=view, inputs=frozenset({"world"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Render the other place."""
        if request.world is None or request.world.name not in _WORLDS or request.poses is None:
            raise NotApplicableError("'forgetful' needs a village or home; scans and published recordings have none")
        other = _other_place(request.world)
        if isinstance(other, Home):
            poses = _lay_indoors(other.floor, request.context.path[-1, :3, 3], request.poses)
        else:
            assert isinstance(other, Voxel)
            third = isinstance(other, ThirdPerson)
            feet = feet_of(request.poses) if third else request.poses[:, :3, 3] - np.array([0.0, 0.0, EYE_HEIGHT_M])
            poses = _lay_path(other.voxels, request.poses, feet, np.random.default_rng(request.seed))
        for pose in poses:
            yield other.view(pose, request.context.camera).rgb[None]


def _other_place(facts: WorldFacts) -> World:
    params = {**facts.params, "seed": int(facts.params["seed"]) + SEED_STEP}
    return open_world(WorldFacts(facts.name, params))


def _lay_indoors(floor: FloorPlan, start: FloatArray, poses: FloatArray, tries: int = 16) -> FloatArray:
    """Move poses to the free place of another home with most room of `tries`; the place depends only on the start. Each
    step goes as far as the floor is free."""
    rng = np.random.default_rng(np.frombuffer((np.round(start, 3) + 0.0).tobytes(), np.uint32))
    free = np.argwhere(stands(floor.clearance_m))
    spots = floor.points_of(free[rng.integers(0, len(free), tries)])
    here = spots[floor.clearance_at(spots).argmax()]
    laid = poses.copy()
    moves = np.diff(np.concatenate([start[None, :2], poses[:, :2, 3]]), axis=0)
    for pose, move in zip(laid, moves, strict=True):
        way = here + np.linspace(0, 1, 21)[:, None] * move
        met = np.flatnonzero(~stands(floor.clearance_at(way)))
        here = way[-1] if len(met) == 0 else way[max(met[0] - 1, 0)]
        pose[:2, 3] = here
    return laid


def _lay_path(
    cells: VoxelWorld, poses: FloatArray, feet: FloatArray, rng: np.random.Generator, tries: int = 64
) -> FloatArray:
    """Shift poses to where most of the path is over free natural ground, with the feet (T, 3) on that ground."""
    from_top = np.argmax(GROUND[cells.states][:, :, ::-1], axis=2)
    ground = np.asarray(cells.shape[2] - 1 - from_top, np.int64)
    # Columns whose two cells above the ground are free, (X, Y) bool: a walker fits.
    x, y = np.indices(ground.shape)
    top = cells.shape[2] - 1
    free = [cells.states[x, y, np.minimum(ground + up, top)] == 0 for up in (1, 2)]
    natural = np.asarray(free[0] & free[1], np.bool_)
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


def _smooth(heights: FloatArray, width: int = 5) -> FloatArray:
    """Moving average: a step up takes a few frames, as a jump does."""
    padded = np.pad(heights, width // 2, mode="edge")
    return np.convolve(padded, np.ones(width) / width, mode="valid")
