"""Scores of one record: frames against the recording, the way back against the way out, the camera against its keys.

The camera's errors are relative pose errors: overall, by group and by action (paper 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, NotApplicableError, ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.core.io import digest_of_file
from worldgauge.core.video import Clip, header_frames, resize, side_by_side
from worldgauge.engine.suite.contract import Record, Score, TaskContext
from worldgauge.engine.suite.drift import ColourMeter, both_colours
from worldgauge.engine.suite.returned import returned_frames, returned_scores
from worldgauge.engine.suite.rollout import crop_camera, open_rollout, read_poses
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.metrics.colour import ColourMoments, detail_correlation
from worldgauge.metrics.frame_pairs import SIZE, PairError, Prepared, prepared_pair, scored_frames
from worldgauge.perception.colmap import read_images_txt
from worldgauge.perception.pose_track import PoseTrack, recover_poses
from worldgauge.perception.score_device import Means, pairs_at_once
from worldgauge.suites.mind.format.files import IMAGES, MindClip
from worldgauge.suites.mind.format.read import keys_of, video_path
from worldgauge.suites.mind.metrics import action_accuracy as accuracy
from worldgauge.suites.mind.mirror_scores import (
    PERIOD,
    LearnedScores,
    MotionMeter,
    mirror_scores,
    missing_learned,
    submitted_scores,
)
from worldgauge.suites.mind.protocol import ClipQuestion, question_of, reachable
from worldgauge.suites.mind.settings import MindSettings
from worldgauge.suites.mind.tasks import clip_of

RELEASED_POSES = 97
"""Fewer in images.txt, and the release decodes the real video instead."""


def action_scores(
    record: Record, clip: MindClip, question: ClipQuestion, rollout: Clip, settings: MindSettings, *, prefix: str
) -> Iterator[Score]:
    """Errors (unit of the ground truth, degrees), directions and responses in the first `action_frames` frames."""
    facts: dict[str, Any] = {"source": settings.poses, "frames": settings.action_frames}
    try:
        paths = _paths(record, clip, question, rollout, settings, facts)
    except (DataError, ShapeError) as error:
        paths = str(error).split("\n")[0]
    yield from _relative_errors(record, paths, settings, facts, prefix)
    yield from _cosines(record, paths, prefix)
    yield from _answers(record, paths, question.episode.clip.fps, prefix)


class _Paths(NamedTuple):
    """Paths (n, 4, 4), the generated one NaN if unknown, maybe shorter. Row i of `keys` (n, 4) leads to frame i."""

    truth: FloatArray
    generated: FloatArray
    keys: NDArray[np.uint8]
    labels: list[str]


def _paths(
    record: Record, clip: MindClip, question: ClipQuestion, rollout: Clip, settings: MindSettings, facts: dict[str, Any]
) -> _Paths | str:
    """The paths, or why there are none. Raises DataError or ShapeError likewise."""
    frames = min(settings.action_frames, len(question))
    truth, facts["truth_poses"] = _true_poses(record, clip, question, frames, settings)
    shown = rollout[:frames]
    known = read_poses(record)
    content = digest_of_file(record.directory / str(record.rollout))
    name = f"{record.model}/{record.task.id}"
    track = _track(shown, content, name, None if known is None else known[: len(shown)], question, settings)
    facts |= {"status": track.status, "diagnostics": dict(track.diagnostics)}
    if track.poses is None:
        return f"no camera path in the video: {track.reason}"
    # Row t of our actions leads from frame t - 1 of the question to frame t: it is the file's row mark_time + t.
    keys = keys_of(clip)[clip.mark_time : clip.mark_time + frames]
    labels = accuracy.labels_of(keys[1 if settings.action_rows == "after" else 0 :])
    return _Paths(truth[:frames], track.filled(len(shown)), keys, labels)


def _relative_errors(
    record: Record, paths: _Paths | str, settings: MindSettings, facts: dict[str, Any], prefix: str
) -> Iterator[Score]:
    """Relative pose errors, as the release defines them."""
    if isinstance(paths, str):
        judged = accuracy.ActionAccuracy(None, paths)
    else:
        rules: dict[str, Any] = {"groups": settings.action_groups, "nan": settings.nan_poses}
        try:
            judged = accuracy.action_accuracy(paths.truth, paths.generated, paths.labels, **rules)
        except (DataError, ShapeError) as error:
            judged = accuracy.ActionAccuracy(None, str(error).split("\n")[0])
    overall, steps = judged.overall, judged.steps
    # What the tables need: plain JSON values.
    plain = asdict(replace(judged, steps=None))
    facts |= {name: value for name, value in plain.items() if name not in ("reason", "target_shape", "steps")}
    facts |= {"frozen_trans_m": judged.frozen_trans_m, "dropped": judged.dropped._asdict()}
    reason = None if overall is not None else judged.reason
    for metric, mean, each in (("rpe_trans", "trans_mean", "trans"), ("rpe_rot_deg", "rot_deg_mean", "rot_deg")):
        value, count = (None, 0) if overall is None else (getattr(overall, mean), overall.count)
        errors = [] if steps is None else zip((steps.index + 1).tolist(), getattr(steps, each).tolist(), strict=True)
        series = list(errors)
        yield make_score(record, metric, value, n=count, reason=reason, series=series, facts=facts, prefix=prefix)


def _cosines(record: Record, paths: _Paths | str, prefix: str) -> Iterator[Score]:
    """The direction of every step, whatever its size."""
    cosines = None if isinstance(paths, str) else accuracy.step_cosines(*_common(paths))
    for metric, kind in (("move_cosine", "move"), ("turn_cosine", "turn")):
        values = [] if cosines is None else getattr(cosines, kind).tolist()
        series = [(step + 1, value) for step, value in enumerate(values) if not math.isnan(value)]
        reason = paths if isinstance(paths, str) else "no step in which the true camera moves this way"
        yield make_mean_score(record, metric, series, reason=reason, prefix=prefix)


def _answers(record: Record, paths: _Paths | str, fps: float, prefix: str) -> Iterator[Score]:
    """The answer to every change of keys."""
    answers = (
        [] if isinstance(paths, str) else accuracy.key_answers(*_common(paths), paths.keys[: len(paths.generated)])
    )
    reason = paths if isinstance(paths, str) else "no change of keys that can be judged"
    facts = {"answers": [one._asdict() for one in answers], "fps": fps}
    share, latency = accuracy.answered(answers), accuracy.median_s(answers, fps)
    known = sum(one.frames is not None for one in answers)
    none = None if latency is not None else reason if share is None else "no change of keys is answered"
    yield make_score(record, "key_latency", latency, n=known, reason=none, facts=facts, prefix=prefix)
    why = reason if share is None else None
    yield make_score(record, "keys_answered", share, n=len(answers), reason=why, prefix=prefix)


def _common(paths: _Paths) -> tuple[FloatArray, FloatArray]:
    """Both paths over the frames that both have."""
    m = min(len(paths.truth), len(paths.generated))
    return paths.truth[:m], paths.generated[:m]


def _true_poses(
    record: Record, clip: MindClip, question: ClipQuestion, frames: int, settings: MindSettings
) -> tuple[FloatArray, str]:
    """Poses (n, 4, 4) in any world frame and unit, and their source, by the rule in force; DataError without any."""
    rule = settings.truth_poses
    path = clip.folder / IMAGES
    if rule == "images_txt" or (rule == "released" and path.is_file()):
        _, poses = read_images_txt(path, reader="released" if settings.images_reader == "released" else "ours")
        if len(poses) >= (RELEASED_POSES if rule == "released" else frames):
            return poses, IMAGES
        if rule == "images_txt":
            raise DataError(f"{path}: holds {len(poses)} poses, {frames} are needed; take truth_poses=engine")
    if rule in ("decoded", "released"):
        assert question.truth is not None
        shown = question.truth[:frames]
        content = f"{digest_of_file(video_path(clip))}-{clip.mark_time}"
        track = _track(shown, content, f"truth/{record.task.id}", question.poses[:frames], question, settings)
        if track.poses is None:
            raise DataError(f"no camera path in the real video: {track.reason}")
        return track.filled(len(shown)), f"decoded by {track.source}"
    return question.poses, "engine"


def _track(
    shown: Clip, content: str, name: str, known: FloatArray | None, question: ClipQuestion, settings: MindSettings
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


PREFIX = {"mem": "lcm/", "action_space": "asg/"}
"""Test -> beginning of the names of its scores: long context memory, action space generalisation."""
PIXEL = {"mse": "mse_720p", "psnr": "psnr_720p", "ssim": "ssim_720p"}
"""Field of `PairError` -> metric."""
DETAIL = "detail"
"""Metric that stands beside them: of frames as large as the model draws them, since larger ones have no more detail."""


def score(record: Record, task_context: TaskContext, settings: MindSettings) -> list[Score]:
    """Score one record."""
    clip = clip_of(record.task)
    if clip.is_submitted:
        submitted = submitted_scores(record, clip, _rollout(record, settings), settings, task_context.means)
        return sorted(submitted, key=lambda s: s.metric)
    question = question_of(clip, settings)
    rollout = _in_shape(_rollout(record, settings), record, question)
    if clip.part == "mirror_test":
        scores = list(mirror_scores(record, clip, question, rollout, settings, task_context.means))
    else:
        question, rollout = _held(record, question, rollout)
        scores = [
            *_frame_scores(record, clip, question, rollout, settings, task_context),
            *_memory_scores(record, clip, question, rollout, settings),
            *action_scores(record, clip, question, rollout, settings, prefix=prefix_of(record)),
        ]
    return sorted(scores, key=lambda s: s.metric)


def memory_scores(record: Record, settings: MindSettings) -> list[Score]:
    """Score surfaces that came back into view."""
    clip = clip_of(record.task)
    question = question_of(clip, settings)
    rollout = _in_shape(_rollout(record, settings), record, question)
    return list(_memory_scores(record, clip, question, rollout, settings))


def compared_clips(record: Record, settings: MindSettings) -> tuple[Clip, Clip]:
    """Return the frames of the recording and of the rollout that are compared, at the rollout's size."""
    clip = clip_of(record.task)
    if clip.part == "mirror_test":
        raise NotApplicableError("frames of a mirrored path are compared with each other, not with a recording")
    question = question_of(clip, settings)
    rollout = _in_shape(_rollout(record, settings), record, question)
    count = scored_frames(min(len(rollout), asked_frames(clip, question, settings)), settings.window)
    if question.truth is None or count == 0:
        raise NotApplicableError("no frame to compare")
    return question.truth[:count].resized(rollout.width, rollout.height), rollout[:count]


def asked_frames(clip: MindClip, question: ClipQuestion, settings: MindSettings) -> int:
    """Number of frames that are asked for: up to the last row, or to the end that the file states, as released."""
    if settings.clip_end == "rows":
        return len(question)
    return max(0, min(len(question), clip.total_time - clip.mark_time))


def prefix_of(record: Record) -> str:
    """Beginning of the names of a record's scores; empty for the ten paths."""
    return PREFIX.get(str(record.task.group["test"]), "")


def _rollout(record: Record, settings: MindSettings) -> Clip:
    """The video of a record; frame_count="header" trusts the container, as released: a silent header means 0."""
    clip = open_rollout(record)
    if settings.frame_count == "decoding":
        return clip
    return clip[: header_frames(record.directory / str(record.rollout))]


def _in_shape(rollout: Clip, record: Record, question: ClipQuestion) -> Clip:
    """A rollout in its context's shape, since models get the whole view squeezed; finished videos are of its centre."""
    if record.facts["finished_video"] is not None or len(rollout) == 0:
        return rollout
    whole = question.episode.clip
    if record.facts["crop"]:
        whole = whole.cropped(*record.facts["crop"])
    if rollout.width * whole.height == rollout.height * whole.width:
        return rollout
    return rollout.resized(whole.width, whole.height)


def _held(record: Record, question: ClipQuestion, rollout: Clip) -> tuple[ClipQuestion, Clip]:
    """Both clips with the frames held that pixel metrics and those of memory look at."""
    truth, start = question.truth, question.context_end
    if prefix_of(record) != PREFIX["mem"] or truth is None:
        return question, rollout
    shared = [at - start for at in returned_frames(question.episode, start)]
    held = (clip.holding(at for at in shared if at < len(clip)) for clip in (truth, rollout))
    return replace(question, truth=next(held)), next(held)


def _memory_scores(
    record: Record, clip: MindClip, question: ClipQuestion, rollout: Clip, settings: MindSettings
) -> Iterator[Score]:
    """Surfaces that came back into view, in the test of memory."""
    prefix = prefix_of(record)
    if prefix != PREFIX["mem"] or question.truth is None:
        return
    crop = record.facts["crop"]
    truth = question.truth.cropped(*crop) if crop else question.truth
    asked = rollout[: asked_frames(clip, question, settings)]
    yield from returned_scores(record, question.episode, question.context_end, truth, asked, prefix=prefix)


def _frame_scores(
    record: Record,
    clip: MindClip,
    question: ClipQuestion,
    rollout: Clip,
    settings: MindSettings,
    task_context: TaskContext,
) -> Iterator[Score]:
    """Pair every frame with the recorded one, at 720p; the learned metrics take theirs on the way."""
    prefix = prefix_of(record)
    asked = asked_frames(clip, question, settings)
    present = min(len(rollout), asked)
    count = scored_frames(present, settings.window)
    facts: dict[str, Any] = {
        "frames": len(rollout),
        "frames_scored": count,
        "frames_asked": scored_frames(reachable(record, asked), settings.window),
        "is_longer": len(rollout) > clip.frames - clip.mark_time,
        "horizon": settings.frames_asked,
        "mark_time": clip.mark_time,
        "total_time": clip.total_time,
        "control": record.facts["control"],
        "posed": record.facts["control"] == "camera" or "poses" in record.facts.get("inputs", ()),
        "fps": record.facts["fps"],
        "recorded_fps": question.episode.clip.fps,
    }
    assert question.truth is not None  # only of mirrored paths it may be unknown
    if count == 0:
        why = f"window=released scores 100 * floor(({present} - 1) / 100) = 0 frames"
        if not present:
            why = "frame_count=header: the file does not say how many frames it has"
        for metric in (*PIXEL.values(), DETAIL):
            yield make_score(record, metric, None, reason=why, prefix=prefix, facts=facts)
        yield from missing_learned(record, prefix, why)
        return
    crop = record.facts["crop"]
    truth = question.truth.cropped(*crop) if crop else question.truth
    series: dict[str, list[tuple[int, float | None]]] = {field: [] for field in (*PIXEL, DETAIL)}
    learned = LearnedScores(record, settings, prefix)
    ours, real, colours = MotionMeter(), MotionMeter(), ColourMeter()
    of_colours = prefix == PREFIX["mem"]
    compare = partial(_compared, task_context.means, learned.is_looking, of_colours)
    pairs = side_by_side(rollout[:count], truth[:count])
    # Prepared pairs wait for the networks, 22 MB each: of batches there would be 2.8 GB with eight threads.
    at_once = 1 if learned.is_looking else pairs_at_once(*SIZE)
    compared = task_context.means.each(compare, pairs, at_once=at_once)
    for index, (got, want, error, detail, seen, prepared) in enumerate(compared):
        for field in PIXEL:
            series[field].append((index, getattr(error, field)))
        series[DETAIL].append((index, detail))
        if prepared is not None:
            learned.see(index, *prepared)
        if seen is not None:
            colours.add(index, *seen)
        if index % PERIOD == 0 or index == count - 1:
            ours.see(got)
            real.see(want)
        task_context.progress(index + 1, count)
    facts |= {"motion": ours.mean, "real_motion": real.mean}
    for field, metric in (PIXEL | {DETAIL: DETAIL}).items():
        yield make_mean_score(record, metric, series[field], prefix=prefix, **facts)
    yield from learned.scores()
    if prefix == PREFIX["mem"]:
        yield from colours.scores(record, question.episode.clip.fps, prefix=prefix)


_Colours = tuple[ColourMoments, ColourMoments]
_Compared = tuple[Image, Image, PairError, float | None, _Colours | None, tuple[Prepared, Prepared] | None]


def _compared(means: Means, is_looked_at: bool, of_colours: bool, pairs: Sequence[Any]) -> list[_Compared]:
    """Errors, detail correlation, and optionally colours and 720p frames of pairs (generated, recorded)."""
    # Networks see the processor's frames wherever errors are computed, so that their answers are found again.
    ready = [prepared_pair(*pair) for pair in pairs] if is_looked_at else None
    kept: Sequence[tuple[Prepared, Prepared] | None] = ready or [None] * len(pairs)
    return [
        (
            got,
            want,
            error,
            detail_correlation(got, resize(want, got.shape[1], got.shape[0])),
            both_colours(got, want) if of_colours else None,
            both,
        )
        for (got, want), error, both in zip(pairs, means.errors_of(pairs, ready), kept, strict=True)
    ]
