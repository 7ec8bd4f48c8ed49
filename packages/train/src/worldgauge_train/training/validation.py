"""What a model in training can do, on clips of worlds that it is not trained on: several numbers, never one.

A blur beats a frozen picture by squared error alone, so its detail stands beside, and what the actions did to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import ActionSpace, Motion
from worldgauge.core.errors import UsageError
from worldgauge.metrics.colour import detail_correlation
from worldgauge.models.baselines.tiny import MOTION_SCALES, Rows, Told, key_width
from worldgauge_train.nets.reckoning import Poses
from worldgauge_train.training.cache import CachedClip

FrameArray = NDArray[np.uint8]
LONGEST = 216
"""Frames of a clip that are used: a third is shown, as in MIND."""
PSNR_FRAMES = (4, 24, 144)
SECONDS = (1, 2, 6)
TURNED_PX = 1.5
"""Shift to the side from which on a pair of frames counts as a turn."""
_GAP = 4
"""Frames between the two of a pair."""
_MIRRORED = ("y", "roll", "yaw")
"""Columns of a hand's pose that change their sign in a mirror, left to right, before which an arm stands."""
COLUMNS = (
    *(f"psnr_{n}" for n in PSNR_FRAMES),
    *(f"{whose}mse_{s}s" for whose in ("", "freeze_", "mean_") for s in SECONDS),
    "gain_db",
    *("turn_sign", "turn_error_px", "turn_pairs"),
    *(f"{whose}{what}_{when}" for what in ("detail", "energy") for whose in ("", "freeze_") for when in ("1s", "3_6s")),
    "frames_per_s",
)
"""Names of the numbers; those that clips are too short for are None."""


class RolloutInput(NamedTuple):
    """What a model is queried with; shapes as in `nets.drawing.Question`."""

    past: FrameArray
    rows: Rows
    past_rows: Rows
    poses: Poses


Rollout = Callable[[Sequence[RolloutInput]], list[FrameArray]]
"""Draws what follows each of several pasts of one length: (horizon, H, W, 3) uint8 each."""


@dataclass(frozen=True)
class Validation:
    """The clips of a validation; `opposite` replaces actions by their opposites: rows @ this (`opposite_of`)."""

    clips: Sequence[CachedClip]
    fps: float
    opposite: Rows
    what: str = ""

    def __post_init__(self) -> None:
        """Check the clips."""
        if self.length < 3 * _GAP:
            raise UsageError(f"clips of {self.length} frames are too short to validate with; give 12 or more")

    @property
    def length(self) -> int:
        """Frames of each clip that are used."""
        return min([LONGEST, *map(len, self.clips)])

    @property
    def shown(self) -> int:
        """Frames that are shown."""
        return max(1, self.length // 3)

    @property
    def horizon(self) -> int:
        """Frames that are asked for."""
        return self.length - self.shown

    def asked(self) -> list[RolloutInput]:
        """The questions, one a clip."""
        shown, length = self.shown, self.length
        return [
            RolloutInput(np.array(one.frames[:shown]), one.rows[shown:length], one.rows[:shown], one.poses[:length])
            for one in self.clips
        ]

    def truths(self) -> list[FrameArray]:
        """What follows each past."""
        return [np.array(one.frames[self.shown : self.length]) for one in self.clips]

    def measure(self, rollout: Rollout) -> tuple[dict[str, float | None], list[FrameArray]]:
        """Ask a model, and measure what it draws."""
        asked, truths = self.asked(), self.truths()
        began = time.monotonic()
        drawn = rollout(asked)
        taken = time.monotonic() - began
        second = min(round(self.fps), self.horizon)
        others = rollout(
            [
                one._replace(rows=(one.rows @ self.opposite)[:second], poses=one.poses[: self.shown + second])
                for one in asked
            ]
        )
        frozen = [np.broadcast_to(one.past[-1], truth.shape) for one, truth in zip(asked, truths, strict=True)]
        means = [
            np.broadcast_to(one.past.mean(0).round().astype(np.uint8), truth.shape)
            for one, truth in zip(asked, truths, strict=True)
        ]
        found: dict[str, float | None] = dict.fromkeys(COLUMNS)
        for number in PSNR_FRAMES:
            if number <= self.horizon:
                found[f"psnr_{number}"] = _mean(
                    psnr(a[number - 1 : number], b[number - 1 : number]) for a, b in zip(drawn, truths, strict=True)
                )
        for whose, frames in (("", drawn), ("freeze_", frozen), ("mean_", means)):
            for seconds in SECONDS:
                last = round(seconds * self.fps)
                if last <= self.horizon:
                    pairs = zip(frames, truths, strict=True)
                    found[f"{whose}mse_{seconds}s"] = _mean(mse(a[:last], b[:last]) for a, b in pairs)
        found["gain_db"] = _mean(
            psnr(a[:second], b[:second]) - psnr(c, b[:second]) for a, b, c in zip(drawn, truths, others, strict=True)
        )
        found |= turns(drawn, truths, 2 * second)
        late = slice(round(2 * self.fps), round(6 * self.fps))
        for whose, frames in (("", drawn), ("freeze_", frozen)):
            for when, part in (("1s", slice(0, second)), ("3_6s", late)):
                if self.horizon > part.start:
                    pairs_of = list(zip(frames, truths, strict=True))
                    found[f"{whose}detail_{when}"] = _mean(
                        each
                        for a, b in pairs_of
                        for x, y in zip(a[part], b[part], strict=True)
                        if (each := detail_correlation(np.ascontiguousarray(x), y)) is not None
                    )
                    found[f"{whose}energy_{when}"] = _mean(
                        energy(a[part]) / energy(b[part]) for a, b in pairs_of if energy(b[part]) > 0
                    )
        found["frames_per_s"] = len(drawn) * self.horizon / max(taken, 1e-9)
        return found, drawn


def opposite_of(space: ActionSpace, told: Told) -> Rows:
    """The matrix that replaces actions by their opposites: rows @ matrix; buttons without an opposite stay. A hand's
    target is mirrored left to right: its opposite would be behind the arm, where no network has seen it."""
    if told == "nothing":
        return np.eye(1, dtype=np.float32)
    count, moves = len(space), np.array([axis.motion for axis in space.axes], np.float64)
    keys = np.eye(key_width(space))
    for one, axis in enumerate(space.axes):
        if axis.kind != "button":
            keys[one, one] = -1 if axis.motion != Motion() or axis.name in _MIRRORED else 1
            continue
        for other in range(count):
            if axis.motion != Motion() and np.array_equal(moves[other], -moves[one]):
                keys[one, one], keys[one, other] = 0, 1
    # Sign of each part of the nominal motion: it is turned round where all columns that cause it can be.
    signs = []
    for part in range(len(MOTION_SCALES)):
        causes = [n for n in range(len(space)) if moves[n, part]]
        able = all(
            space.axes[n].kind != "button" or any(np.array_equal(moves[m], -moves[n]) for m in range(len(space)))
            for n in causes
        )
        signs.append(-1.0 if causes and able else 1.0)
    motion = np.diag(signs)
    if told == "keys":
        return keys.astype(np.float32)
    if told == "motion":
        return motion.astype(np.float32)
    return np.block(
        [[keys, np.zeros((len(keys), len(MOTION_SCALES)))], [np.zeros((len(MOTION_SCALES), len(keys))), motion]]
    ).astype(np.float32)


def mse(drawn: FrameArray, truth: FrameArray) -> float:
    """Mean squared error of frames whose values count from 0 to 1."""
    return float(np.square((drawn.astype(np.float32) - truth) / 255).mean())


def psnr(drawn: FrameArray, truth: FrameArray) -> float:
    """Peak signal-to-noise ratio in dB; that of an error of a tenth of a grey level at most."""
    return float(-10 * np.log10(max(mse(drawn, truth), (0.1 / 255) ** 2)))


def energy(frames: FrameArray) -> float:
    """Mean size of differences between neighbours in a row, in grey levels."""
    return float(np.abs(np.diff(frames.astype(np.float32), axis=2)).mean())


def turns(drawn: Sequence[FrameArray], truths: Sequence[FrameArray], frames: int) -> dict[str, float | None]:
    """Share of pairs, 4 frames apart, that shift sideways to the right side; mean error in pixels; number of pairs.
    Only pairs count in which the ground truth shifts clearly."""
    right, errors = [], []
    for mine, true in zip(drawn, truths, strict=True):
        for first, last in pairwise(range(0, min(frames, len(true)), _GAP)):
            wanted = sideways_px(true[first], true[last])
            if abs(wanted) >= TURNED_PX:
                got = sideways_px(mine[first], mine[last])
                right.append(float(got * wanted > 0))
                errors.append(abs(got - wanted))
    return {"turn_sign": _mean(right), "turn_error_px": _mean(errors), "turn_pairs": float(len(right))}


def sideways_px(before: FrameArray, after: FrameArray) -> float:
    """Shift of a whole (H, W, 3) image to the right between frames, in pixels, subpixel by a parabola."""
    old, new = (one.astype(np.float32).mean(2) for one in (before, after))
    width = old.shape[1]
    most = width // 4
    shifts = np.arange(-most, most + 1)
    pairs = [(new[:, max(s, 0) : width + min(s, 0)], old[:, max(-s, 0) : width - max(s, 0)]) for s in shifts]
    costs = np.array([np.square(one - other).mean() for one, other in pairs])
    best = int(costs.argmin())
    if costs[best] >= costs[most]:  # as good without a move
        best = most
    if not 0 < best < len(costs) - 1:
        return float(shifts[best])
    left, here, right = costs[best - 1 : best + 2]
    bend = left - 2 * here + right
    return float(shifts[best] + (0.5 * (left - right) / bend if bend > 0 else 0.0))


def table_of(found: Mapping[str, float | None]) -> Iterator[tuple[str, str]]:
    """The numbers for a reader: a name and a text each, those that are missing left out."""
    for name, value in found.items():
        if value is not None:
            yield name, f"{value:.4f}" if "mse" in name else f"{value:.2f}"


def _mean(values: Sequence[float] | Iterator[float]) -> float | None:
    known = list(values)
    return float(np.mean(known)) if known else None
