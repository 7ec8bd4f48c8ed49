"""How long after a change of keys does the imagined camera change its motion? (ours; the paper does not ask)

The motion around every change is compared with the recording's own, which answers at once, shifted by a whole number of
frames. Only its course counts, not its size: gains, and a drift that never ends, are divided or taken away.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.metrics._registry import metric
from worldgauge.suites.mind.metrics.step_cosines import camera_steps

BEFORE, AFTER = 8, 16
"""Frames of motion that are compared before and after a change. No phase of recorded keys is shorter than 8."""
LATEST = 24
"""Latest answer that is looked for, in frames."""
LEAST_LIKENESS = 0.7
"""Correlation of courses below which a change counts as not answered."""
LEAST_CHANGE = {"walk": 5e-3, "look": math.radians(0.1)}
"""Standard deviation of the true motion around a change, metres or radians a frame, below which there is no change to
be seen, such as before a wall."""

Keys = Literal["walk", "look"]
_COLUMNS: dict[Keys, tuple[slice, slice]] = {"walk": (slice(0, 2), slice(0, 3)), "look": (slice(2, 4), slice(3, 6))}
"""Kind of keys -> columns of their codes, and of the motion that they make."""
_SOURCE = "own: lag of the imagined motion after a change of keys"


class Answer(NamedTuple):
    """What follows on a change of keys.

    Attributes:
        step: The first step under the new keys; step i leads from frame i to i + 1.
        keys: Which keys change.
        frames: Frames from the true change of motion to the imagined one; None where nothing answers.
        likeness: Correlation of the two courses at that lag; 0 where the imagined camera rests.
    """

    step: int
    keys: Keys
    frames: int | None
    likeness: float


def key_answers(truth: ArrayLike, generated: ArrayLike, keys: ArrayLike) -> list[Answer]:
    """Find the answer to every change of keys that the recorded camera shows.

    Changes nearer to an end than the motion that is compared, or with unknown poses around them, are not judged.

    Args:
        truth: (n, 4, 4) true camera-to-world, metres.
        generated: (n, 4, 4) imagined, in any world frame and unit; NaN where unknown.
        keys: (n, 4) key codes ws, ad, ud, lr; row i leads to frame i.

    Returns:
        The answers, in order; a change of walking and looking keys at once has two.

    Raises:
        ShapeError: Other shapes.
    """
    q, p, codes = camera_steps(truth), camera_steps(generated), np.asarray(keys)
    if p.shape != q.shape or codes.shape != (len(q) + 1, 4):
        raise ShapeError(
            f"two paths of one length and a row of four key codes a frame are compared, got {len(q) + 1} and "
            f"{len(p) + 1} poses and codes {codes.shape}"
        )
    found = []
    # Row i leads to frame i, so what changes from row i to i + 1 is seen in step i at first.
    for step in range(BEFORE, len(q) - AFTER - LATEST + 1):
        for kind, (rows, columns) in _COLUMNS.items():
            if (codes[step + 1, rows] != codes[step, rows]).any():
                answer = _answer(q[:, columns], p[:, columns], step, kind)
                found += [] if answer is None else [answer]
    return found


@metric("key_latency", unit="s", better="lower", bounds=(0.0, math.inf), version=1, source=_SOURCE)
def key_latency(truth: ArrayLike, generated: ArrayLike, keys: ArrayLike, fps: float) -> float | None:
    """Median time from a change of keys to the change of the imagined motion, over answered changes.

    Args:
        truth: As for `key_answers`.
        generated: As for `key_answers`.
        keys: As for `key_answers`.
        fps: Frames per second.

    Returns:
        Seconds, 0 or more; None where no change is answered.

    Raises:
        ShapeError: Other shapes.
    """
    return median_s(key_answers(truth, generated, keys), fps)


@metric("keys_answered", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source=_SOURCE)
def keys_answered(truth: ArrayLike, generated: ArrayLike, keys: ArrayLike) -> float | None:
    """Share of the changes of keys that the imagined camera answers within `LATEST` frames.

    Args:
        truth: As for `key_answers`.
        generated: As for `key_answers`.
        keys: As for `key_answers`.

    Returns:
        0 to 1; None without a change that can be judged.

    Raises:
        ShapeError: Other shapes.
    """
    return answered(key_answers(truth, generated, keys))


def median_s(answers: list[Answer], fps: float) -> float | None:
    """Median latency of answers in seconds; None without one."""
    frames = [one.frames for one in answers if one.frames is not None]
    return float(np.median(frames)) / fps if frames else None


def answered(answers: list[Answer]) -> float | None:
    """Share of changes that are answered; None without a change."""
    return sum(one.frames is not None for one in answers) / len(answers) if answers else None


def _answer(true: FloatArray, shown: FloatArray, step: int, kind: Keys) -> Answer | None:
    """The answer to one change; None where it cannot be judged."""
    window = true[step - BEFORE : step + AFTER]
    later = shown[step - BEFORE : step + AFTER + LATEST]
    course = window - window.mean(0)
    size = float(np.linalg.norm(course))
    if not np.isfinite(later).all() or not size >= LEAST_CHANGE[kind] * math.sqrt(len(window)):
        return None
    likeness = _likeness(course / size, later)
    lag = int(likeness.argmax())
    best = float(likeness[lag])
    return Answer(step, kind, lag if best >= LEAST_LIKENESS else None, best)


def _likeness(course: FloatArray, shown: FloatArray) -> NDArray[np.float64]:
    """Correlation of a centred course (w, k) of unit size with each stretch of `shown` (w + LATEST, k), by lag."""
    stretches = np.lib.stride_tricks.sliding_window_view(shown, len(course), axis=0)  # (lags, k, w)
    centred = stretches - stretches.mean(-1, keepdims=True)
    sizes = np.sqrt((centred**2).sum((1, 2)))
    products = np.einsum("lkw,wk->l", centred, course)
    found: NDArray[np.float64] = np.divide(products, sizes, out=np.zeros(len(sizes)), where=sizes > 1e-9)
    return found
