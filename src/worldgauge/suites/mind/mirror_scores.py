"""Ten paths out and back: does the model come back to what it left? (generated scene consistency)"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from worldgauge.core.video import Clip, resize
from worldgauge.engine.suite.contract import Record, Score
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.metrics.frame_pairs import PairError
from worldgauge.suites.mind.format import MindClip
from worldgauge.suites.mind.learned_scores import SceneLpips, scene_lpips
from worldgauge.suites.mind.metrics.out_leg_motion import moves, out_leg_motion
from worldgauge.suites.mind.metrics.scene_consistency import SceneErrors, scene_errors, turn_frame
from worldgauge.suites.mind.motion import leg_motion, real_motion
from worldgauge.suites.mind.protocol import ClipQuestion
from worldgauge.suites.mind.settings import Settings

BATCH = 10
"""Pairs of frames that the release compares at once."""


def mirror_scores(
    record: Record, clip: MindClip, question: ClipQuestion, rollout: Clip, settings: Settings
) -> Iterator[Score]:
    """Score a mirrored path by both pairings, and whether there was any motion to be undone.

    The start image is compared as the model was shown it: with as many pixels, and in the shape of the rollout.

    Args:
        record: The record.
        clip: The recording.
        question: What was asked.
        rollout: The imagined frames.
        settings: Settings of the suite.
    """
    seen = question.episode.clip.cropped(rollout.width, rollout.height)[0]
    start = resize(resize(seen, *record.facts["resolution"]), rollout.width, rollout.height)
    odd = _odd(rollout, question)
    even = len(rollout) > 0 and len(rollout) % 2 == 0
    motion = leg_motion(start, rollout[: turn_frame(len(rollout)) + 1]) if even else None
    real = real_motion(record.task.sample["source"], clip.perspective)
    if real is None and question.truth is not None:
        real = out_leg_motion(start, question.truth[turn_frame(len(question))])
    facts: dict[str, Any] = {
        "frames": len(rollout),
        "frames_scored": min(len(rollout), len(question)),
        "frames_asked": len(question),
        "motion": motion,
        "real_motion": real,
        "moves": moves(motion, real) if motion is not None and real else None,
        "control": record.facts["control"],
        "fps": record.facts["fps"],
        "recorded_fps": question.episode.clip.fps,
        "path": clip.path,
    }
    uneven = None if even else f"the video holds {len(rollout)} frames, which cannot be split in two halves"
    yield make_score(record, "out_leg_motion", motion, reason=uneven, facts=facts)
    found = scene_errors(rollout, None if odd else start) if even else SceneErrors((), ())
    yield from _means(record, "gsc_aligned_", found.aligned, odd, facts)
    lone = settings.lone_frame == "error" and len(found.released) % BATCH == 1
    if lone:
        uneven = f"lone_frame=error: the last batch of {len(found.released)} pairs holds a single one"
    yield from _means(record, "gsc_", () if lone else found.released, uneven, facts)
    looked = scene_lpips(rollout, None if odd else start, settings) if even else SceneLpips()
    released = () if lone else looked.distances.released
    for prefix, values, why in (("gsc_aligned_", looked.distances.aligned, odd), ("gsc_", released, uneven)):
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
