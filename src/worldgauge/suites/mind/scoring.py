"""Scores of one record: frames against the recording, the way back against the way out, the camera against its keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from worldgauge.core.errors import NotApplicableError
from worldgauge.core.image import Image
from worldgauge.core.video import Clip, header_frames, resize, side_by_side
from worldgauge.engine.suite.contract import Record, Score, TaskContext
from worldgauge.engine.suite.drift import ColourMeter, both_colours
from worldgauge.engine.suite.returned import returned_scores
from worldgauge.engine.suite.rollout import open_rollout
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.metrics.colour import ColourMoments, detail_correlation
from worldgauge.metrics.frame_pairs import SIZE, PairError, Prepared, prepared_pair, scored_frames
from worldgauge.perception.score_device import Means, pairs_at_once
from worldgauge.suites.mind.action_scores import action_scores
from worldgauge.suites.mind.format import MindClip
from worldgauge.suites.mind.learned_scores import LearnedScores, missing_learned
from worldgauge.suites.mind.mirror_scores import mirror_scores, submitted_scores
from worldgauge.suites.mind.motion import PERIOD, MotionMeter
from worldgauge.suites.mind.protocol import ClipQuestion, question_of, reachable
from worldgauge.suites.mind.settings import Settings
from worldgauge.suites.mind.tasks import clip_of

PREFIX = {"mem": "lcm/", "action_space": "asg/"}
"""Test -> beginning of the names of its scores: long context memory, action space generalisation."""
PIXEL = {"mse": "mse_720p", "psnr": "psnr_720p", "ssim": "ssim_720p"}
"""Field of `PairError` -> metric."""
DETAIL = "detail"
"""Metric that stands beside them: of frames as large as the model draws them, since larger ones have no more detail."""


def score(record: Record, task_context: TaskContext, settings: Settings) -> list[Score]:
    """Score one record.

    Args:
        record: The record.
        task_context: Folder and progress.
        settings: Settings of the suite.

    Returns:
        Scores, sorted by name.

    Raises:
        DataError: The stored rollout does not fit its facts.
    """
    clip = clip_of(record.task)
    if clip.is_submitted:
        submitted = submitted_scores(record, clip, _rollout(record, settings), settings, task_context.means)
        return sorted(submitted, key=lambda s: s.metric)
    question = question_of(clip, settings)
    rollout = _in_shape(_rollout(record, settings), record, question)
    if clip.part == "mirror_test":
        scores = list(mirror_scores(record, clip, question, rollout, settings, task_context.means))
    else:
        scores = [
            *_frame_scores(record, clip, question, rollout, settings, task_context),
            *_memory_scores(record, clip, question, rollout, settings),
            *action_scores(record, clip, question, rollout, settings, prefix=prefix_of(record)),
        ]
    return sorted(scores, key=lambda s: s.metric)


def compared_clips(record: Record, settings: Settings) -> tuple[Clip, Clip]:
    """Return the frames of the recording and of the rollout that are compared, at the rollout's size.

    Args:
        record: The record.
        settings: Settings of the suite.

    Raises:
        NotApplicableError: A mirrored path, whose frames are compared with each other, or no frame to compare.
    """
    clip = clip_of(record.task)
    if clip.part == "mirror_test":
        raise NotApplicableError("frames of a mirrored path are compared with each other, not with a recording")
    question = question_of(clip, settings)
    rollout = _in_shape(_rollout(record, settings), record, question)
    count = scored_frames(min(len(rollout), asked_frames(clip, question, settings)), settings.window)
    if question.truth is None or count == 0:
        raise NotApplicableError("no frame to compare")
    return question.truth[:count].resized(rollout.width, rollout.height), rollout[:count]


def asked_frames(clip: MindClip, question: ClipQuestion, settings: Settings) -> int:
    """Number of frames that are asked for: up to the last row, or to the end that the file states, as released."""
    if settings.clip_end == "rows":
        return len(question)
    return max(0, min(len(question), clip.total_time - clip.mark_time))


def prefix_of(record: Record) -> str:
    """Beginning of the names of a record's scores; empty for the ten paths."""
    return PREFIX.get(str(record.task.group["test"]), "")


def _rollout(record: Record, settings: Settings) -> Clip:
    """The video of a record.

    frame_count="header" believes the container, as the release does: a video whose header is silent has no frames.
    """
    clip = open_rollout(record)
    if settings.frame_count == "decoding":
        return clip
    return clip[: header_frames(record.directory / str(record.rollout))]


def _in_shape(rollout: Clip, record: Record, question: ClipQuestion) -> Clip:
    """A rollout in the shape of what its model was shown: one of another shape was handed a squeezed view, all of it.

    Finished videos show the centre of the view where their shape is another.
    """
    if record.facts["finished_video"] is not None or len(rollout) == 0:
        return rollout
    whole = question.episode.clip
    if record.facts["crop"]:
        whole = whole.cropped(*record.facts["crop"])
    if rollout.width * whole.height == rollout.height * whole.width:
        return rollout
    return rollout.resized(whole.width, whole.height)


def _memory_scores(
    record: Record, clip: MindClip, question: ClipQuestion, rollout: Clip, settings: Settings
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
    record: Record, clip: MindClip, question: ClipQuestion, rollout: Clip, settings: Settings, task_context: TaskContext
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


class _Compared(NamedTuple):
    """A pair of frames and what was found of it.

    Attributes:
        got: Imagined frame.
        want: Recorded one.
        error: Errors at 720p.
        detail: Correlation of detail, at the size of the imagined frame.
        colours: Of both; None where they do not count.
        prepared: Both at 720p; None where no network looks at them.
    """

    got: Image
    want: Image
    error: PairError
    detail: float | None
    colours: tuple[ColourMoments, ColourMoments] | None
    prepared: tuple[Prepared, Prepared] | None


def _compared(means: Means, is_looked_at: bool, of_colours: bool, pairs: Sequence[Any]) -> list[_Compared]:
    """Everything about pairs of an imagined and a recorded frame that no other pair matters to; in a thread."""
    # Networks see the processor's frames wherever errors are computed, so that their answers are found again.
    ready = [prepared_pair(*pair) for pair in pairs] if is_looked_at else None
    kept: Sequence[tuple[Prepared, Prepared] | None] = ready or [None] * len(pairs)
    return [
        _Compared(
            got,
            want,
            error,
            detail_correlation(got, resize(want, got.shape[1], got.shape[0])),
            both_colours(got, want) if of_colours else None,
            both,
        )
        for (got, want), error, both in zip(pairs, means.errors_of(pairs, ready), kept, strict=True)
    ]
