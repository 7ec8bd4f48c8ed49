"""What can be measured of a video whose truth is not known: all of our metrics that ask for none.

Of a registered metric's value over a video: `sharpness`, `visual_quality`, `aesthetic` and `imaging` are means over
frames, `colour_change` over the frames after the first, against it. Those named `gsc` take the second half of a video
for the way back of the first; the aligned ones and `out_leg_motion` need the picture that it began with. Three more are
made of metrics: `sharpness_kept`, `motion` and `first_ssim`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np

from worldgauge.core.errors import UnknownNameError
from worldgauge.core.image import Image
from worldgauge.core.video import Clip, resize
from worldgauge.metrics._registry import metrics
from worldgauge.metrics.colour import colour_change, detail_correlation
from worldgauge.metrics.frame_pairs import mean_error, pair_error, prepared
from worldgauge.metrics.psnr_ssim import mse, sharpness, ssim_uniform
from worldgauge.perception.loading import Unavailable, open_perception
from worldgauge.perception.network_source import What
from worldgauge.suites.mind.metrics.scene_consistency import aligned_pairs, out_leg_motion, released_pairs, turn_frame
from worldgauge.suites.worldinworld.metrics import visual_quality

SAMPLED = 16
"""Frames of each video that are looked at, evenly over it."""
PAIRS = 8
"""Pairs of frames on the way out and back, evenly over it."""
MADE: Mapping[str, str] = {"sharpness_kept": "higher", "motion": "higher", "first_ssim": "higher"}
"""Measures that are made of metrics, and the direction that is taken to be preferred."""
TAKEN: Mapping[str, str] = {"sharpness": "higher", "colour_change": "lower", "out_leg_motion": "higher"}
"""Directions taken for metrics that have none."""
WEIGHTLESS = (
    "sharpness",
    "visual_quality",
    "colour_change",
    "out_leg_motion",
    *(f"gsc_{pairing}{what}" for pairing in ("", "aligned_") for what in ("mse", "psnr", "ssim", "detail")),
)
LEARNED: Mapping[str, tuple[What, str]] = {
    "aesthetic": ("aesthetic", "clip-laion"),
    "imaging": ("imaging", "musiq-spaq"),
    "gsc_lpips": ("lpips", "lpips-alex"),
    "gsc_aligned_lpips": ("lpips", "lpips-alex"),
}
"""What looks, and the network that does, of metrics that need one."""


@dataclass
class Measures:
    """The measures that are available here, as a context manager: it may hold processes of networks.

    Attributes:
        better: "higher" or "lower" by measure: the direction that is taken to be preferred.
        aside: Reason by learned metric that is not available.
    """

    better: Mapping[str, str]
    aside: Mapping[str, str]
    _networks: Mapping[What, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, networks: Mapping[str, str] | None = None) -> Measures:
        """Open what is present."""
        given = networks or {}
        for name in given:
            if name not in LEARNED:
                raise UnknownNameError("learned metric without truth", name, LEARNED)
        opened: dict[What, Any] = {}
        aside: dict[str, str] = {}
        for name, (what, network) in LEARNED.items():
            if what not in opened:
                asked = next((given[one] for one, (its, _) in LEARNED.items() if its == what and one in given), network)
                opened[what] = open_perception(asked, what)
            if isinstance(opened[what], Unavailable):
                aside[name] = opened[what].reason
        names = [*WEIGHTLESS, *(name for name in LEARNED if name not in aside)]
        better = {name: TAKEN.get(name) or str(metrics.entry(name).facts["better"]) for name in names}
        present = {what: one for what, one in opened.items() if not isinstance(one, Unavailable)}
        return cls({**better, **MADE}, aside, present)

    def __enter__(self) -> Measures:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in self._networks.values():
            one.close()

    def of(self, clip: Clip, source: Image | None) -> dict[str, float]:
        """Measure a video, given the (H, W, 3) uint8 image that it began with."""
        frames = list(clip.take(_evenly(len(clip), SAMPLED)))
        start = None if source is None else resize(source, clip.width, clip.height)
        found = {**_of_frames(frames, start), **self._of_loop(clip, start)}
        for what in ("aesthetic", "imaging"):
            if what in self.better:
                scores = self._networks[what].scores(np.stack([prepared(frame) for frame in frames]))
                found[what] = float(np.mean(scores))
        return {name: value for name, value in found.items() if value is not None and not math.isnan(value)}

    def _of_loop(self, clip: Clip, start: Image | None) -> dict[str, float | None]:
        """Of a video as one of a path out and back; without its first frame where their number is odd."""
        odd = len(clip) % 2
        if len(clip) < 2:
            return {}
        kept = _evenly(len(clip) // 2, PAIRS)
        released = [released_pairs(len(clip) - odd)[k] for k in kept]
        # A state is the frame before it: of 0 the picture that the video began with.
        aligned = [(k - 1, back - 1) for k, back in (aligned_pairs(len(clip) - odd)[k] for k in kept)]
        turn = turn_frame(len(clip) - odd)
        wanted = sorted({k for pair in (*released, *aligned) for k in pair if k >= 0} | {turn})
        shown = dict(zip(wanted, clip.take([k + odd for k in wanted]), strict=True))
        found: dict[str, float | None] = self._of_pairs("gsc", [(shown[a], shown[b]) for a, b in released])
        if start is not None:
            shown[-1] = start
            found |= self._of_pairs("gsc_aligned", [(shown[a], shown[b]) for a, b in aligned])
            found["out_leg_motion"] = out_leg_motion(start, shown[turn])
        return found

    def _of_pairs(self, name: str, pairs: list[tuple[Image, Image]]) -> dict[str, float | None]:
        alike = [(prepared(back), prepared(out)) for out, back in pairs]
        details = [one for out, back in pairs if (one := detail_correlation(back, out)) is not None]
        found: dict[str, float | None] = dict(mean_error([pair_error(*pair) for pair in alike])._asdict())
        found["detail"] = math.fsum(details) / len(details) if details else None
        if "lpips" in self._networks:
            found["lpips"] = float(np.mean(self._networks["lpips"].distances(*map(np.stack, zip(*alike, strict=True)))))
        return {f"{name}_{what}": value for what, value in found.items()}


def _of_frames(frames: list[Image], start: Image | None) -> dict[str, float | None]:
    clear = [sharpness(frame) for frame in frames]
    quarter = max(1, len(frames) // 4)
    before, after = float(np.mean(clear[:quarter])), float(np.mean(clear[-quarter:]))
    found: dict[str, float | None] = {
        "sharpness": float(np.mean(clear)),
        "visual_quality": float(np.mean([visual_quality(frame) for frame in frames])),
        "sharpness_kept": after / before if before > 0 else None,
    }
    if len(frames) > 1:
        found["colour_change"] = float(np.mean([colour_change(frame, frames[0]) for frame in frames[1:]]))
        found["motion"] = float(np.sqrt(np.mean([mse(a, b) for a, b in pairwise(frames)])))
    if start is not None:
        found["first_ssim"] = ssim_uniform(frames[0], start)
    return found


def _evenly(n: int, most: int) -> list[int]:
    wanted: list[int] = np.unique(np.linspace(0, n - 1, min(most, n)).round().astype(int)).tolist()
    return wanted
