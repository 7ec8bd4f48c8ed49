"""Does the camera go where the keys send it? Relative pose errors: overall, by group and by action (paper 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.io import digest_of_file
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Record, Score
from worldgauge.engine.suite.rollout import crop_camera, read_poses
from worldgauge.engine.suite.scores import make_score
from worldgauge.perception.pose_track import PoseTrack, recover_poses
from worldgauge.suites.mind import format as mind
from worldgauge.suites.mind.format import MindClip
from worldgauge.suites.mind.format.layout import IMAGES
from worldgauge.suites.mind.metrics.action_accuracy import ActionAccuracy, action_accuracy, labels_of
from worldgauge.suites.mind.protocol import ClipQuestion
from worldgauge.suites.mind.settings import Settings

RELEASED_POSES = 97
"""Fewer in images.txt, and the release decodes the real video instead."""


class Truth(NamedTuple):
    """The true camera.

    Attributes:
        poses: (n, 4, 4), in any world frame and unit.
        source: Where they come from.
    """

    poses: FloatArray
    source: str


def action_scores(
    record: Record, clip: MindClip, question: ClipQuestion, rollout: Clip, settings: Settings, *, prefix: str
) -> Iterator[Score]:
    """Errors per frame of the first `action_frames` frames, in the truth's unit and in degrees.

    Args:
        record: What the model gave.
        clip: The clip.
        question: What was asked.
        rollout: Generated frames.
        settings: Decoder of poses, and rules of the metric.
        prefix: Beginning of the names of the scores.
    """
    facts: dict[str, Any] = {"source": settings.poses, "frames": settings.action_frames}
    try:
        judged = _judged(record, clip, question, rollout, settings, facts)
    except (DataError, ShapeError) as error:
        judged = ActionAccuracy(None, str(error).split("\n")[0])
    overall = judged.overall
    facts |= _facts(judged)
    steps = judged.steps
    for metric, value in (
        ("rpe_trans", None if overall is None else overall.trans_mean),
        ("rpe_rot_deg", None if overall is None else overall.rot_deg_mean),
    ):
        values = [] if steps is None else (steps.trans if metric == "rpe_trans" else steps.rot_deg).tolist()
        series = [] if steps is None else list(zip((steps.index + 1).tolist(), values, strict=True))
        yield make_score(
            record,
            metric,
            value,
            n=0 if overall is None else overall.count,
            reason=None if overall is not None else judged.reason,
            series=series,
            facts=facts,
            prefix=prefix,
        )


def _judged(
    record: Record, clip: MindClip, question: ClipQuestion, rollout: Clip, settings: Settings, facts: dict[str, Any]
) -> ActionAccuracy:
    frames = min(settings.action_frames, len(question))
    truth = _true_poses(record, clip, question, frames, settings)
    facts["truth_poses"] = truth.source
    shown = rollout[:frames]
    known = read_poses(record)
    content = digest_of_file(record.directory / str(record.rollout))
    name = f"{record.subject}/{record.task.id}"
    track = _track(shown, content, name, None if known is None else known[: len(shown)], question, settings)
    facts |= {"status": track.status, "diagnostics": dict(track.diagnostics)}
    if track.poses is None:
        return ActionAccuracy(None, f"no camera path in the video: {track.reason}")
    # Row t of our actions leads from frame t - 1 of the question to frame t: it is the file's row mark_time + t.
    first = clip.mark_time + (1 if settings.action_rows == "after" else 0)
    labels = labels_of(mind.keys_of(clip)[first : clip.mark_time + frames])
    return action_accuracy(
        truth.poses[:frames],
        track.filled(len(shown)),
        labels,
        groups=settings.action_groups,
        nan=settings.nan_poses,
    )


def _true_poses(record: Record, clip: MindClip, question: ClipQuestion, frames: int, settings: Settings) -> Truth:
    """By the rule in force. Raises DataError where it gives none."""
    rule = settings.truth_poses
    path = clip.folder / IMAGES
    if rule == "images_txt" or (rule == "released" and path.is_file()):
        _, poses = mind.read_images_txt(path, reader="released" if settings.images_reader == "released" else "ours")
        if len(poses) >= (RELEASED_POSES if rule == "released" else frames):
            return Truth(poses, IMAGES)
        if rule == "images_txt":
            raise DataError(f"{path}: holds {len(poses)} poses, {frames} are needed; take truth_poses=engine")
    if rule in ("decoded", "released"):
        assert question.truth is not None
        shown = question.truth[:frames]
        content = f"{digest_of_file(mind.video_path(clip))}-{clip.mark_time}"
        track = _track(shown, content, f"truth/{record.task.id}", question.poses[:frames], question, settings)
        if track.poses is None:
            raise DataError(f"no camera path in the real video: {track.reason}")
        return Truth(track.filled(len(shown)), f"decoded by {track.source}")
    return Truth(question.poses, "engine")


def _track(
    shown: Clip, content: str, name: str, known: FloatArray | None, question: ClipQuestion, settings: Settings
) -> PoseTrack:
    """The camera of the first frames of a video. content: what the whole of it is."""
    return recover_poses(
        shown,
        settings.poses,
        content=f"{content}-{len(shown)}",
        name=name,
        hfov_deg=crop_camera(question.episode.camera, shown).hfov_deg if question.episode.world is not None else None,
        poses=known,
    )


def _facts(judged: ActionAccuracy) -> dict[str, Any]:
    """What the tables need: plain JSON values."""
    return {
        "overall": None if judged.overall is None else asdict(judged.overall),
        "groups": {name: asdict(stats) for name, stats in judged.groups.items()},
        "released_groups": {name: asdict(stats) for name, stats in judged.released_groups.items()},
        "actions": {name: asdict(stats) for name, stats in judged.actions.items()},
        "scale": judged.scale,
        "truth_step_m": judged.truth_step_m,
        "frozen_trans_m": judged.frozen_trans_m,
        "frozen_rot_deg": judged.frozen_rot_deg,
        "shape": judged.shape,
        "source_shape": judged.source_shape,
        "n_expected": judged.n_expected,
        "dropped": judged.dropped._asdict(),
    }
