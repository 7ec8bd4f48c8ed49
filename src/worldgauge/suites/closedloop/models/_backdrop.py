"""What lies behind an arm at home, learned from frames in which it is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.image import Frames

LEVELS = 18
"""By which a pixel differs from another, in its most different colour, when it shows something else."""
CLOSE_SHARE = 0.012
"""Of a picture's height, across which parts of one thing may lie apart."""
LASTING_SHARE = 0.3
"""Of frames with the arm elsewhere, that agree on what is behind it."""

Mask = NDArray[np.bool_]


class Backdrop(NamedTuple):
    """The table that demonstrations share. home, empty: (H, W, 3) with the arm at home, and without it.

    covered: (H, W) where arm or shadow lie when it is at home, and hardly ever else.
    """

    home: Frames
    empty: Frames
    covered: Mask

    @classmethod
    def of(cls, starts: Sequence[Frames], later: Sequence[Frames]) -> Backdrop:
        """Of frames with the arm at home, and of ones with it elsewhere."""
        home, empty = np.median(np.stack(starts), axis=0).astype(np.uint8), _lasting(np.stack(later))
        lasting = np.mean([~differs(frame, home) for frame in later], axis=0)
        return cls(home, empty, grown(differs(home, empty) & (lasting < LASTING_SHARE)))

    def cleared(self, start: Frames) -> Frames:
        """A frame with the arm at home, without the arm; what lies in its shadow stays as it is."""
        is_arm = self.covered & ~differs(start, self.home)
        return np.where(is_arm[..., None], self.empty, start)


def differs(one: Frames, other: Frames) -> Mask:
    """(H, W) where two frames show something else."""
    found: Mask = np.abs(one.astype(np.int16) - other).max(axis=-1) > LEVELS
    return found


def grown(mask: Mask) -> Mask:
    """A mask with all that is close to it."""
    import cv2

    reach = max(1, round(CLOSE_SHARE * mask.shape[0]))
    kernel = np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)
    return np.asarray(cv2.dilate(mask.astype(np.uint8), kernel), np.bool_)


def _lasting(frames: Frames) -> Frames:
    """Of each pixel of frames (n, H, W, 3) the brightest colour that a share of them agree on, (H, W, 3).

    In the light and in the shadow a table looks alike in many of them; arms and things come and go.
    """
    count = max(1, round(LASTING_SHARE * len(frames)))
    grey = frames.sum(axis=-1, dtype=np.int16)
    order = np.argsort(-grey, axis=0, kind="stable")
    falling = np.take_along_axis(grey, order, 0)
    agreed = falling[: len(frames) - count + 1] - falling[count - 1 :] <= LEVELS
    at = np.where(agreed.any(0), agreed.argmax(0) + (count - 1) // 2, len(frames) // 2)
    chosen = np.take_along_axis(order, at[None], 0)
    colours: Frames = np.take_along_axis(frames, chosen[..., None], 0)[0]
    return colours
