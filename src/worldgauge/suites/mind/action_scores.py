"""Does the camera go where the keys send it? Relative pose errors: overall, by group and by action (paper 4.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.io import digest_of_file
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Record, Score
from worldgauge.engine.suite.rollout import crop_camera, read_poses
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.perception.pose_track import PoseTrack, recover_poses
from worldgauge.suites.mind import format as mind
from worldgauge.suites.mind.format import MindClip
from worldgauge.suites.mind.format.layout import IMAGES
from worldgauge.suites.mind.metrics.action_accuracy import ActionAccuracy, action_accuracy, labels_of
from worldgauge.suites.mind.metrics.key_latency import answered, key_answers, median_s
from worldgauge.suites.mind.metrics.step_cosines import step_cosines
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
    """Errors, directions and answers of the camera in the first `action_frames` frames.

    Errors are in the truth's unit and in degrees.

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
        paths = _paths(record, clip, question, rollout, settings, facts)
    except (DataError, ShapeError) as error:
        paths = str(error).split("\n")[0]
    yield from _relative_errors(record, paths, settings, facts, prefix)
    yield from _cosines(record, paths, prefix)
    yield from _answers(record, paths, question.episode.clip.fps, prefix)


class _Paths(NamedTuple):
    """Two paths (n, 4, 4), NaN where the generated one is unknown, which may be shorter; and key codes (n, 4).

    Row i of `keys` leads to frame i; `labels` name the steps, by the rule in force.
    """

    truth: FloatArray
    generated: FloatArray
    keys: NDArray[np.uint8]
    labels: list[str]


def _paths(
    record: Record, clip: MindClip, question: ClipQuestion, rollout: Clip, settings: Settings, facts: dict[str, Any]
) -> _Paths | str:
    """The paths, or why there are none. Raises DataError or ShapeError likewise."""
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
        return f"no camera path in the video: {track.reason}"
    # Row t of our actions leads from frame t - 1 of the question to frame t: it is the file's row mark_time + t.
    keys = mind.keys_of(clip)[clip.mark_time : clip.mark_time + frames]
    labels = labels_of(keys[1 if settings.action_rows == "after" else 0 :])
    return _Paths(truth.poses[:frames], track.filled(len(shown)), keys, labels)


def _relative_errors(
    record: Record, paths: _Paths | str, settings: Settings, facts: dict[str, Any], prefix: str
) -> Iterator[Score]:
    """Relative pose errors, as the release defines them."""
    try:
        judged = _judged(paths, settings)
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


def _judged(paths: _Paths | str, settings: Settings) -> ActionAccuracy:
    if isinstance(paths, str):
        return ActionAccuracy(None, paths)
    return action_accuracy(
        paths.truth, paths.generated, paths.labels, groups=settings.action_groups, nan=settings.nan_poses
    )


def _cosines(record: Record, paths: _Paths | str, prefix: str) -> Iterator[Score]:
    """The direction of every step, whatever its size."""
    found = None if isinstance(paths, str) else step_cosines(*_common(paths))
    for metric in ("move_cosine", "turn_cosine"):
        values = [] if found is None else (found.move if metric == "move_cosine" else found.turn).tolist()
        series = [(step + 1, value) for step, value in enumerate(values) if not math.isnan(value)]
        reason = paths if isinstance(paths, str) else "no step in which the true camera moves this way"
        yield make_mean_score(record, metric, series, reason=reason, prefix=prefix)


def _answers(record: Record, paths: _Paths | str, fps: float, prefix: str) -> Iterator[Score]:
    """The answer to every change of keys."""
    answers = [] if isinstance(paths, str) else key_answers(*_common(paths), paths.keys[: len(paths.generated)])
    reason = paths if isinstance(paths, str) else "no change of keys that can be judged"
    facts = {"answers": [one._asdict() for one in answers], "fps": fps}
    share, latency = answered(answers), median_s(answers, fps)
    known = sum(one.frames is not None for one in answers)
    none = None if latency is not None else reason if share is None else "no change of keys is answered"
    yield make_score(record, "key_latency", latency, n=known, reason=none, facts=facts, prefix=prefix)
    why = reason if share is None else None
    yield make_score(record, "keys_answered", share, n=len(answers), reason=why, prefix=prefix)


def _common(paths: _Paths) -> tuple[FloatArray, FloatArray]:
    """Both paths over the frames that both have."""
    m = min(len(paths.truth), len(paths.generated))
    return paths.truth[:m], paths.generated[:m]


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
