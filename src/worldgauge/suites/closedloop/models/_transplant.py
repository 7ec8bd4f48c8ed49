"""Pictures of a table in which the arm, and what it moves, are taken from pictures of another table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray, invert
from worldgauge.core.image import Frames
from worldgauge.suites.closedloop.models._backdrop import Backdrop, Mask, differs, grown

SPECK_SHARE = 1e-4
"""Of the pixels of a picture, that a thing has at least."""
MOVED_SHARE = 0.3
"""Of the pixels of a thing, that change when it moves."""


def transplanted(
    backdrop: Backdrop, start: Frames, now: Frames, recorded: Sequence[Frames], asked: FloatArray, was: FloatArray
) -> Iterator[Frames]:
    """Frames (H, W, 3) of a table, the arm and what it moves taken from a recording.

    start: the first frame of this table, arm at home; now: the last. recorded: the first frame of the recording, one in
    which the hand is about where it is now, then one for each frame to make. asked, was: column, row and depth (n + 1,
    3) of the hand, asked for and recorded, of now and of each frame. The arm, and what is in its hand, is put where the
    hand is asked to be; what lies apart from it to where that was when the hand was nearest.
    """
    first, here, *later = recorded
    before, start = backdrop.cleared(first), backdrop.cleared(start)
    table = _without_arm(now, start, _put(_parts(here, before) == 1, asked[0], was[0]))
    for k, frame in enumerate(later, start=1):
        made = table.copy()
        parts = _parts(frame, before)
        # The arm comes last, as it is above all else.
        for part in range(int(parts.max()), 0, -1):
            mask = parts == part
            if part > 1 and differs(frame, here)[mask].mean() < MOVED_SHARE:
                continue
            at = k if part == 1 else _nearest(mask, was[: k + 1])
            shown = _put(mask, asked[at], was[at])
            made[shown] = _put(frame, asked[at], was[at])[shown]
        yield made


def in_picture(places: FloatArray, camera: Camera, camera_pose: FloatArray) -> FloatArray:
    """Column, row and depth (n, 3) of places (n, 3) in the world."""
    T_camera_world = invert(camera_pose)
    pixels, depth = camera.project(places @ T_camera_world[:3, :3].T + T_camera_world[:3, 3])
    return np.column_stack([pixels, depth])


def _without_arm(now: Frames, start: Frames, arm: Mask) -> Frames:
    """What is seen now; where the arm is, what was there at the start. arm: about where it is."""
    parts = _parts(now, start)
    touched = np.setdiff1d(parts[grown(arm)], [0])
    return np.where(grown(np.isin(parts, touched))[..., None], start, now)


def _parts(frame: Frames, before: Frames) -> NDArray[np.int32]:
    """(H, W) what has changed in a frame, by its parts: 1 the largest, which is the arm; 0 where nothing has."""
    import cv2

    changed = differs(frame, before)
    # Parts of an arm that look like what is behind them would cut it in pieces.
    _, labels, stats, _ = cv2.connectedComponentsWithStats(grown(changed).astype(np.uint8))
    areas = stats[1:, cv2.CC_STAT_AREA]
    number = np.zeros(len(stats), np.int32)
    for rank, one in enumerate(np.argsort(-areas, kind="stable"), start=1):
        number[one + 1] = rank if areas[one] >= SPECK_SHARE * changed.size else 0
    return np.where(changed, number[labels], 0).astype(np.int32)


def _nearest(mask: Mask, hand: FloatArray) -> int:
    """When the hand (n, 3) was nearest to the middle of a mask, in the picture."""
    rows, columns = np.nonzero(mask)
    return int(np.argmin(np.hypot(hand[:, 0] - columns.mean(), hand[:, 1] - rows.mean())))


def _put(picture: NDArray[Any], asked: FloatArray, was: FloatArray) -> NDArray[Any]:
    """A picture, or a mask, moved so that the hand comes to where it is asked to be, and is as large as it is there."""
    import cv2

    scale = float(was[2] / asked[2])
    shift = asked[:2] - scale * was[:2]
    matrix = np.array([[scale, 0, shift[0]], [0, scale, shift[1]]])
    height, width = picture.shape[:2]
    # An arm leaves the picture at its edge: what comes in from there is arm, too.
    moved = cv2.warpAffine(picture.astype(np.uint8), matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(moved, picture.dtype)
