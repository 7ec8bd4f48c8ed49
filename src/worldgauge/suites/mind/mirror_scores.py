"""Scores of mirrored paths: is a scene generated the same on the way back? And scores by learned features.

Where a network is missing, the score carries the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.video import Clip, resize
from worldgauge.engine.suite.contract import Record, Score, mean_of_known
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.metrics.frame_pairs import PairError
from worldgauge.metrics.lpips_fvd import dino_mse
from worldgauge.perception.loading import Perception, Unavailable, load_network
from worldgauge.perception.network_source import What
from worldgauge.perception.score_device import Means
from worldgauge.suites.mind.actions import Perspective
from worldgauge.suites.mind.format.files import FPS, MindClip, Part
from worldgauge.suites.mind.format.read import discover, fingerprint_of, load
from worldgauge.suites.mind.metrics import scene_consistency as scene
from worldgauge.suites.mind.metrics.scene_consistency import BothPairings
from worldgauge.suites.mind.protocol import ClipQuestion, reachable
from worldgauge.suites.mind.settings import MindSettings

Prepared = NDArray[np.float32]

METRICS: Mapping[What, str] = {
    "lpips": "lpips_720p",
    "dino": "dino_mse",
    "aesthetic": "aesthetic",
    "imaging": "imaging",
}
"""What is looked with -> the metric it gives."""


class LearnedScores:
    """All learned scores of one record, from pairs of frames in order; at most one batch is held.

    A network that fails on frames gives a missing score; one that cannot be loaded fails the scoring.
    """

    def __init__(self, record: Record, settings: MindSettings, prefix: str) -> None:
        self._record = record
        self._prefix = prefix
        self._series: dict[What, list[tuple[int, float | None]]] = {what: [] for what in METRICS}
        self._reasons: dict[What, str] = {}
        self._open: dict[What, Perception] = {}
        self._batch: list[tuple[int, Prepared, Prepared]] = []
        for what in METRICS:
            found = _network_of(getattr(settings, what), what, settings.dino_input)
            if isinstance(found, Unavailable):
                self._reasons[what] = found.reason
            else:
                self._open[what] = found

    @property
    def is_looking(self) -> bool:
        """Whether any network looks at frames."""
        return bool(self._open)

    def see(self, index: int, x: Prepared, y: Prepared) -> None:
        """Add one pair of frames, (720, 1280, 3) float32 in [0, 1]."""
        self._batch.append((index, x, y))
        if len(self._batch) == max(network.at_once for network in self._open.values()):
            self._look()

    def scores(self) -> Iterator[Score]:
        """One score per metric, after all frames have been seen."""
        self._look()
        for what, metric in METRICS.items():
            facts: dict[str, Any] = {} if what not in self._open else {"network": dict(self._open[what].settings)}
            reason = self._reasons.get(what, "no frame was looked at")
            series = [] if what in self._reasons else self._series[what]
            yield make_mean_score(self._record, metric, series, reason=reason, prefix=self._prefix, **facts)

    def _look(self) -> None:
        if not self._batch:
            return
        indices = [index for index, _, _ in self._batch]
        x, y = (np.stack([pair[side] for pair in self._batch]) for side in (1, 2))
        self._batch = []
        for what, network in self._open.items():
            if what in self._reasons:
                continue
            try:
                values = _values(network, x, y)
            except WorldgaugeError as error:
                self._reasons[what] = str(error).split("\n")[0]
                continue
            self._series[what] += zip(indices, values, strict=True)


def missing_learned(record: Record, prefix: str, why: str) -> Iterator[Score]:
    """Yield the learned scores of a record without any frame to compare."""
    return (make_score(record, metric, None, reason=why, prefix=prefix) for metric in METRICS.values())


class SceneLpips(NamedTuple):
    """LPIPS of the pairs of a path out and back, or the reason why there are none."""

    distances: BothPairings[float] = BothPairings()
    reason: str | None = None
    facts: Mapping[str, Any] = {}


def scene_lpips(video: Clip, start: Image | None, settings: MindSettings) -> SceneLpips:
    """LPIPS of both pairings, the aligned one where there is a start image."""
    network = _network_of(settings.lpips, "lpips", settings.dino_input)
    if isinstance(network, Unavailable):
        return SceneLpips(reason=network.reason)
    assert hasattr(network, "distances")
    facts = {"network": dict(network.settings)}
    try:
        return SceneLpips(scene.scene_distances(video, network.distances, start, batch=network.at_once), facts=facts)
    except WorldgaugeError as error:
        return SceneLpips(reason=str(error).split("\n")[0], facts=facts)


def _network_of(text: str | None, what: What, dino_input: str) -> Perception | Unavailable:
    return load_network(text, what, parity="released" if what == "dino" and dino_input == "twice" else None)


def _values(network: Perception, x: Prepared, y: Prepared) -> list[float]:
    if hasattr(network, "tokens"):
        pairs = zip(network.tokens(x), network.tokens(y), strict=True)
        return [dino_mse(one, other) for one, other in pairs]
    found = network.distances(x, y) if hasattr(network, "distances") else network.scores(x)  # type: ignore[union-attr]
    return [float(value) for value in found]


PERIOD = 24
"""Frames between two that are compared: a leg of the mirrored paths, one second."""
_CLIPS, _WINDOWS = 8, 4
"""Real clips that are looked at, and legs of each."""


def leg_motion(start: Image, out: Clip) -> float:
    """How far the way out gets from the start image; the median of its second half guards against one odd frame."""
    half = scene.motions(start, out[len(out) // 2 :])
    return float(min(half[-1], np.median(half)))


class MotionMeter:
    """Mean change of a video over `PERIOD` frames, from each PERIOD-th frame and the last."""

    def __init__(self) -> None:
        self._last: Image | None = None
        self._seen: list[float] = []

    def see(self, frame: Image) -> None:
        """Add the next of these frames, (H, W, 3)."""
        if self._last is not None:
            self._seen.append(scene.out_leg_motion(self._last, frame))
        self._last = frame

    @property
    def mean(self) -> float | None:
        """Mean squared change; None for a single frame."""
        return mean_of_known(self._seen)


def real_motion(source: str, perspective: Perspective) -> float | None:
    """Median change of real clips over one leg; a fixed order of parts makes it the same for every model."""
    parts: tuple[Part, ...] = ("mem_test", "train", "action_space_test")
    for part in parts:
        clips = discover(Path(source), parts=(part,), perspectives=(perspective,))
        sound = [clip for clip in clips if clip.fault is None][:_CLIPS]
        found = [change for clip in sound for change in _changes(clip, fingerprint_of(clip))]
        if found:
            return float(np.median(found))
    return None


@lru_cache(maxsize=64)
def _changes(clip: MindClip, fingerprint: str) -> list[float]:
    """Changes over legs that are spread evenly over a clip; none of one that cannot be read, whose own task fails."""
    try:
        frames = load(clip).clip
        last = len(frames) - 1 - PERIOD
        starts = np.unique(np.linspace(0, last, _WINDOWS).round().astype(int)).tolist() if last >= 0 else []
        return [scene.out_leg_motion(frames[start], frames[start + PERIOD]) for start in starts]
    except DataError:
        return []


BATCH = 10
"""Pairs of frames that the release compares at once."""


def mirror_scores(
    record: Record, clip: MindClip, question: ClipQuestion, rollout: Clip, settings: MindSettings, means: Means
) -> Iterator[Score]:
    """Score a mirrored path by both pairings; the start image has the context's pixels, the rollout's shape."""
    seen = question.episode.clip.cropped(rollout.width, rollout.height)[0]
    start = resize(resize(seen, *record.facts["resolution"]), rollout.width, rollout.height)
    real = real_motion(record.task.sample["source"], clip.perspective)
    if real is None and question.truth is not None:
        real = scene.out_leg_motion(start, question.truth[scene.turn_frame(len(question))])
    path = _Path(record, clip, rollout, len(question), question.episode.clip.fps)
    yield from _scores(path, start, real, _odd(rollout, question), settings, means)


def submitted_scores(
    record: Record, clip: MindClip, rollout: Clip, settings: MindSettings, means: Means
) -> Iterator[Score]:
    """Score a submitted path whose start image is missing: released pairing only, with the first frame for motion."""
    real = real_motion(record.task.sample["source"], clip.perspective)
    why = "the data hold no start image of this path"
    yield from _scores(_Path(record, clip, rollout, clip.frames, FPS), None, real, why, settings, means)


class _Path(NamedTuple):
    """A video of a path out and back, the number of frames asked for, and their rate."""

    record: Record
    clip: MindClip
    rollout: Clip
    asked: int
    fps: float


def _scores(
    path: _Path, start: Image | None, real: float | None, unaligned: str | None, settings: MindSettings, means: Means
) -> Iterator[Score]:
    """Scores of both pairings. unaligned: why states of the path cannot be paired; None where they can."""
    record, count = path.record, len(path.rollout)
    rollout = path.rollout.holding(range(count))
    even = count > 0 and count % 2 == 0
    shown = None if unaligned else start
    # First of all that looks at frames: it reads them in their order, and the rest finds them held.
    found = scene.scene_errors(rollout, shown, means=means) if even else BothPairings()
    motion = None
    if even:
        motion = leg_motion(rollout[0] if start is None else start, rollout[: scene.turn_frame(count) + 1])
    facts: dict[str, Any] = {
        "frames": count,
        "frames_scored": min(count, path.asked),
        "frames_asked": reachable(record, path.asked),
        "motion": motion,
        "real_motion": real,
        "moves": scene.moves(motion, real) if motion is not None and real else None,
        "control": record.facts["control"],
        "posed": record.facts["control"] == "camera" or "poses" in record.facts.get("inputs", ()),
        "fps": record.facts["fps"],
        "recorded_fps": path.fps,
        "path": path.clip.path,
    }
    uneven = None if even else f"the video holds {count} frames, which cannot be split in two halves"
    yield make_score(record, "out_leg_motion", motion, reason=uneven, facts=facts)
    yield from _means(record, "gsc_aligned_", found.aligned, unaligned, facts)
    lone = settings.lone_frame == "error" and len(found.released) % BATCH == 1
    if lone:
        uneven = f"lone_frame=error: the last batch of {len(found.released)} pairs holds a single one"
    yield from _means(record, "gsc_", () if lone else found.released, uneven, facts)
    details = scene.scene_details(rollout, shown, means=means) if even else BothPairings()
    for prefix, likeness, why in (
        ("gsc_aligned_", details.aligned, unaligned),
        ("gsc_", () if lone else details.released, uneven),
    ):
        reason = why or "no pair of frames with detail"
        yield make_mean_score(record, f"{prefix}detail", list(enumerate(likeness)), reason=reason, **facts)
    lpips = scene_lpips(rollout, shown, settings) if even else SceneLpips()
    released = () if lone else lpips.distances.released
    for prefix, values, why in (("gsc_aligned_", lpips.distances.aligned, unaligned), ("gsc_", released, uneven)):
        reason = why or lpips.reason or "no pair of frames"
        yield make_mean_score(record, f"{prefix}lpips", list(enumerate(values)), reason=reason, **facts, **lpips.facts)


def _means(
    record: Record, prefix: str, errors: Sequence[PairError], why: str | None, facts: dict[str, Any]
) -> Iterator[Score]:
    for field in PairError._fields:
        series = [(k, getattr(error, field)) for k, error in enumerate(errors)]
        yield make_mean_score(record, prefix + field, series, reason=why or "no pair of frames", **facts)


def _odd(rollout: Clip, question: ClipQuestion) -> str | None:
    """Why frames of the video are not the states of the path; None where they are."""
    asked, given = len(question), len(rollout)
    if asked % 2:
        return f"a path of {asked} steps has no way back as long as the way out"
    if given == asked:
        return None
    hint = "; one that begins with the start image has one too many" if given == asked + 1 else ""
    return f"the video holds {given} frames where the path has {asked}{hint}"
