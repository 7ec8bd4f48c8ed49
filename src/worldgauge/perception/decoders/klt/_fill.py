"""Frames between key frames, seen from a finished map: one camera each, the map stays as it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worldgauge.core.geometry import FloatArray, invert
from worldgauge.perception.decoders.bundle import Scene, Sightings, squared_errors
from worldgauge.perception.decoders.frames import Indices
from worldgauge.perception.decoders.klt._map import Map
from worldgauge.perception.decoders.klt._views import AGREE_PX, refined
from worldgauge.perception.decoders.poses import between

_LEAST, _LEAST_SHARE = 12, 0.4


class Views(NamedTuple):
    """Where points were seen: at key frames `keys` (K,) as `keyed` (K, P, 2), at `frames` (M,), keys among them, as
    `every` (M, P, 2); pixels from the image centre, NaN where unseen."""

    keys: Indices
    keyed: FloatArray
    frames: Indices
    every: FloatArray


def seen_from(built: Map, kept: Indices, views: Views) -> tuple[Indices, FloatArray, FloatArray]:
    """Add cameras between key frames to a finished map, each starting halfway between its neighbours.

    A frame that sees too few of the points it should see is left out.

    Args:
        built: The map.
        kept: (k,) key frames that have a camera, ascending.
        views: The tracks.

    Returns:
        Frames (n,) that have a camera, their rotations (n, 3, 3) and translations (n, 3), world to camera.
    """
    keys = views.keys[kept]
    rotations, translations = built.scene.rotations[kept], built.scene.translations[kept]
    others = views.frames[(views.frames > keys[0]) & (views.frames < keys[-1]) & ~np.isin(views.frames, keys)]
    if len(others) == 0:
        return keys, rotations, translations
    start = between(_poses(rotations, translations), keys, others)
    found = []
    for frame, guess in zip(others.tolist(), invert(start), strict=True):
        pose = _placed(built, views.every[int(np.searchsorted(views.frames, frame))], guess)
        if pose is not None:
            found.append((frame, *pose))
    frames = np.concatenate([keys, [frame for frame, _, _ in found]]).astype(np.int64)
    order = np.argsort(frames)
    turns = np.concatenate([rotations, np.array([turn for _, turn, _ in found]).reshape(-1, 3, 3)])
    shifts = np.concatenate([translations, np.array([shift for _, _, shift in found]).reshape(-1, 3)])
    return frames[order], turns[order], shifts[order]


def _placed(built: Map, xy: FloatArray, guess: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Pose near `guess` (4, 4) of a frame that sees points at `xy` (P, 2)."""
    chosen = np.flatnonzero(built.known & np.isfinite(xy[:, 0]))
    if len(chosen) < _LEAST:
        return None
    points, seen = built.scene.points[chosen], xy[chosen]
    turn, shift = refined(guess[:3, :3], guess[:3, 3], points, seen, built.scene.focal)
    index = np.arange(len(points))
    squared, valid = squared_errors(
        Scene(turn[None], shift[None], points, built.scene.focal), Sightings(np.zeros_like(index), index, seen)
    )
    agreeing = int((valid & (squared < AGREE_PX**2)).sum())
    return (turn, shift) if agreeing >= max(_LEAST, _LEAST_SHARE * len(points)) else None


def _poses(rotations: FloatArray, translations: FloatArray) -> FloatArray:
    """Camera-to-world (n, 4, 4)."""
    poses = np.zeros((len(rotations), 4, 4))
    poses[:, :3, :3], poses[:, :3, 3], poses[:, 3, 3] = rotations, translations, 1.0
    return invert(poses)
