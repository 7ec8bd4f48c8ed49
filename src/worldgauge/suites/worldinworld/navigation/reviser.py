"""`similarity`: takes the plan whose imagined end is most like the goal: its place, or the state of a table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Image
from worldgauge.core.panorama import perspective
from worldgauge.core.video import resize
from worldgauge.suites.worldinworld.manipulation.reviser import GoalSimilarityReviser
from worldgauge.suites.worldinworld.metrics import ranked_by_distance
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidates,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    Reviser,
    Rng,
    Rollout,
    revisers,
)
from worldgauge.suites.worldinworld.real_colours import RealColours

SIDE_PX = 64
SOFT_PX = 1.3
"""Deviation of the blur of all that is compared: without it noise and compression look like another place."""
HEADINGS = 16
BANDS, LEVELS = 4, 8
SPREAD = (0.43, 0.31)
"""Standard deviations of the two distances over those places: the units in which they are added."""
_PANORAMA = (256, 128)
_PATCH = 4
_ZOOMS = (8, 16)
"""Width in pixels of a patch of 4 samples, in views and panoramas."""
_EVERY = 5
"""One in so many of the panorama's overlapping patches is matched: ranks stay the same to two digits."""
_POLES = 6
"""The top and bottom of a panorama, one part in so many each, are too distorted to be matched."""


class PlaceSimilarity:
    """Distances of views with `hfov_deg` to the place of a real panorama (H, W, 3), cut by the clean rule."""

    def __init__(self, panorama: Image, hfov_deg: float = 90.0) -> None:
        small = soft_panorama(panorama)
        camera = Camera.from_horizontal_fov(SIDE_PX, SIDE_PX, hfov_deg)
        turns = np.arange(HEADINGS) * 360 / HEADINGS
        self._colours = np.stack([_colours(perspective(small, camera, yaw_right_deg=turn)) for turn in turns])
        margin = _PANORAMA[1] // _POLES
        self._patches = np.ascontiguousarray(_patches(small[margin:-margin])[::_EVERY])

    def distance(self, view: Image) -> float:
        """Return the distance of a view (H, W, 3) uint8: 0 or more, smaller for a more similar place."""
        square = soft_view(view)
        colours = float(np.linalg.norm(self._colours - _colours(square), axis=1).min())
        return colours / SPREAD[0] + float(np.sqrt(_nearest(self._patches, _patches(square))).mean()) / SPREAD[1]


def soft_view(view: Image) -> Image:
    """The view as (64, 64, 3), without its finest detail."""
    return _softened(resize(view, SIDE_PX, SIDE_PX))


def soft_panorama(panorama: Image) -> Image:
    """The panorama as (128, 256, 3), without its finest detail."""
    return _softened(resize(panorama, *_PANORAMA))


def _softened(image: Image) -> Image:
    import cv2

    return np.asarray(cv2.GaussianBlur(image, (0, 0), SOFT_PX), np.uint8)


@njit(cache=True, nogil=True, fastmath=True)
def _nearest(wanted: NDArray[np.float32], offered: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the squared distance of each row of one to the nearest row of the other."""
    # A matrix product would start threads, which cost more than they save for so few rows.
    found = np.empty(len(wanted), np.float32)
    for n in range(len(wanted)):
        best = np.float32(np.inf)
        for m in range(len(offered)):
            total = np.float32(0)
            for k in range(wanted.shape[1]):
                off = wanted[n, k] - offered[m, k]
                total += off * off
            best = min(best, total)
        found[n] = best
    return found


def _colours(square: Image) -> FloatArray:
    """Return roots of the shares of 512 colours in each of four bands, from the top: distances are Hellinger's."""
    bins = _lab(square).astype(np.int64) // (256 // LEVELS)
    codes = (bins[..., 0] * LEVELS + bins[..., 1]) * LEVELS + bins[..., 2]
    counts = [np.bincount(band.ravel(), minlength=LEVELS**3) for band in np.split(codes, BANDS)]
    return np.sqrt(np.concatenate(counts) / (codes.size / BANDS))


def _patches(image: Image) -> NDArray[np.float32]:
    """Return patches (n, 51) of 4 x 4 samples at two sizes, half a patch apart: mean colour, and the residual."""
    import cv2

    lab = _lab(image).astype(np.float32)
    found = []
    for zoom in _ZOOMS:
        size = image.shape[1] * _PATCH // zoom, image.shape[0] * _PATCH // zoom
        small = np.asarray(cv2.resize(lab, size, interpolation=cv2.INTER_AREA), np.float32)
        windows = np.lib.stride_tricks.sliding_window_view(small, (_PATCH, _PATCH), axis=(0, 1))[::2, ::2]
        values = windows.reshape(-1, 3, _PATCH * _PATCH)
        mean = values.mean(-1, keepdims=True)
        # Lightness changes with the lighting, colour less, so colour weighs more.
        detail = (values - mean) * np.array([0.5, 1.0, 1.0], np.float32)[:, None]
        tint = mean[..., 0] * np.array([1.0, 3.0, 3.0], np.float32)
        found.append(np.concatenate([detail.reshape(len(values), -1), tint], 1))
    return np.asarray(np.concatenate(found) / 40, np.float32)


def _lab(image: Image) -> Image:
    import cv2

    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2LAB), np.uint8)


@revisers.register("similarity", tasks=("navigation", "manipulation"), imagines=True)
def similarity_reviser(kit: PolicyKit) -> Reviser[Any]:
    """Make the reviser of the task: it takes the plan whose last frame is most like the goal, without weights."""
    return GoalSimilarityReviser(kit) if kit.task == "manipulation" else PlaceSimilarityReviser(kit)


class PlaceSimilarityReviser:
    """Takes the plan whose last frame has the least distance to the goal (`place_similarity`), the first of equals.

    On 60 paths with true rollouts the paper's mean over frames reached 14, the last frame alone 18. Without rollouts it
    takes the first plan.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._goal: Image | None = None
        self._likeness: PlaceSimilarity | None = None

    def revise(
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """Choose the plan that seems to lead nearest to the goal; see `Reviser.revise`."""
        if any(candidate.rollout is None for candidate in candidates):
            return Decision(candidates[0].plan, 0)
        if goal.image is None:
            raise UsageError("the reviser 'similarity' needs a goal image")
        if self._likeness is None or self._goal is not goal.image:
            self._goal, self._likeness = goal.image, PlaceSimilarity(goal.image, observation.camera.hfov_deg)
        likeness, colours = self._likeness, RealColours(observation)
        distances = [_last(one.plan, one.rollout, likeness, colours) for one in candidates if one.rollout is not None]
        ranking = ranked_by_distance(distances)
        scores = tuple(reward if math.isfinite(reward) else None for reward in ranking.rewards)
        return Decision(candidates[ranking.best].plan, ranking.best, scores=scores)


def _last(plan: ActionPlan, rollout: Rollout, likeness: PlaceSimilarity, colours: RealColours) -> list[float]:
    """Return the distance of the plan's end in real colours; empty where nothing follows the real view."""
    if rollout.valid_len < 2:
        return []
    return [likeness.distance(colours.restored(rollout.seen(rollout.valid_len - 1), rollout.camera, plan))]
