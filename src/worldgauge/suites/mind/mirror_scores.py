"""Ten paths out and back: does the model come back to what it left? (generated scene consistency)"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from worldgauge.core.image import Image
from worldgauge.core.video import Clip, resize
from worldgauge.engine.suite.contract import Record, Score
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.metrics.frame_pairs import PairError
from worldgauge.perception.score_device import Means
from worldgauge.suites.mind.format import MindClip
from worldgauge.suites.mind.format.layout import FPS
from worldgauge.suites.mind.learned_scores import SceneLpips, scene_lpips
from worldgauge.suites.mind.metrics.out_leg_motion import moves, out_leg_motion
from worldgauge.suites.mind.metrics.scene_consistency import (
    SceneDetails,
    SceneErrors,
    scene_details,
    scene_errors,
    turn_frame,
)
from worldgauge.suites.mind.motion import leg_motion, real_motion
from worldgauge.suites.mind.protocol import ClipQuestion, reachable
from worldgauge.suites.mind.settings import Settings

BATCH = 10
"""Pairs of frames that the release compares at once."""


def mirror_scores(
    record: Record, clip: MindClip, question: ClipQuestion, rollout: Clip, settings: Settings, means: Means
) -> Iterator[Score]:
    """Score a mirrored path by both pairings, and whether there was any motion to be undone.

    The start image is compared as the model was shown it: with as many pixels, and in the shape of the rollout.

    Args:
        record: The record.
        clip: The recording.
        question: What was asked.
        rollout: The imagined frames.
        settings: Settings of the suite.
        means: What scores are computed with.
    """
    seen = question.episode.clip.cropped(rollout.width, rollout.height)[0]
    start = resize(resize(seen, *record.facts["resolution"]), rollout.width, rollout.height)
    real = real_motion(record.task.sample["source"], clip.perspective)
    if real is None and question.truth is not None:
        real = out_leg_motion(start, question.truth[turn_frame(len(question))])
    yield from _scores(
        _Path(record, clip, rollout, len(question), question.episode.clip.fps),
        start,
        real,
        _odd(rollout, question),
        settings,
        means,
    )


def submitted_scores(
    record: Record, clip: MindClip, rollout: Clip, settings: Settings, means: Means
) -> Iterator[Score]:
    """Score a path of a submission whose start image the data do not hold: the released pairing needs none.

    The aligned pairing is missing. The first frame stands for the start image where motion is judged.

    Args:
        record: The record.
        clip: The path.
        rollout: The frames of the video.
        settings: Settings of the suite.
        means: What scores are computed with.
    """
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
    path: _Path, start: Image | None, real: float | None, unaligned: str | None, settings: Settings, means: Means
) -> Iterator[Score]:
    """Scores of both pairings. unaligned: why states of the path cannot be paired; None where they can."""
    record, rollout = path.record, path.rollout
    count = len(rollout)
    even = count > 0 and count % 2 == 0
    motion = None
    if even:
        motion = leg_motion(rollout[0] if start is None else start, rollout[: turn_frame(count) + 1])
    facts: dict[str, Any] = {
        "frames": count,
        "frames_scored": min(count, path.asked),
        "frames_asked": reachable(record, path.asked),
        "motion": motion,
        "real_motion": real,
        "moves": moves(motion, real) if motion is not None and real else None,
        "control": record.facts["control"],
        "fps": record.facts["fps"],
        "recorded_fps": path.fps,
        "path": path.clip.path,
    }
    uneven = None if even else f"the video holds {count} frames, which cannot be split in two halves"
    yield make_score(record, "out_leg_motion", motion, reason=uneven, facts=facts)
    shown = None if unaligned else start
    found = scene_errors(rollout, shown, means=means) if even else SceneErrors((), ())
    yield from _means(record, "gsc_aligned_", found.aligned, unaligned, facts)
    lone = settings.lone_frame == "error" and len(found.released) % BATCH == 1
    if lone:
        uneven = f"lone_frame=error: the last batch of {len(found.released)} pairs holds a single one"
    yield from _means(record, "gsc_", () if lone else found.released, uneven, facts)
    details = scene_details(rollout, shown, means=means) if even else SceneDetails((), ())
    for prefix, likeness, why in (
        ("gsc_aligned_", details.aligned, unaligned),
        ("gsc_", () if lone else details.released, uneven),
    ):
        reason = why or "no pair of frames with detail"
        yield make_mean_score(record, f"{prefix}detail", list(enumerate(likeness)), reason=reason, **facts)
    looked = scene_lpips(rollout, shown, settings) if even else SceneLpips()
    released = () if lone else looked.distances.released
    for prefix, values, why in (("gsc_aligned_", looked.distances.aligned, unaligned), ("gsc_", released, uneven)):
        reason = why or looked.reason or "no pair of frames"
        yield make_mean_score(record, f"{prefix}lpips", list(enumerate(values)), reason=reason, **facts, **looked.facts)


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
