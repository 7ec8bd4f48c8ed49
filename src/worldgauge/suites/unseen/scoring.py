"""Scores of an episode: what the last frames show of the thing, whether the model looked away, and the room itself."""

from __future__ import annotations

import numpy as np

from worldgauge.core.episode import Episode
from worldgauge.core.errors import DataError
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Record, Score, Task, cached_by_task
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.metrics.alternatives import DIFFERS
from worldgauge.metrics.psnr_ssim import psnr
from worldgauge.metrics.reobservation import returned_detail
from worldgauge.suites.unseen import metrics
from worldgauge.suites.unseen.format import FPS, SHOWN, STILL, TURN
from worldgauge.suites.unseen.reading import Alternatives, alternatives_of, looks_away, read_end

METRICS = ("advanced", "as_left", "looked_away", "progress", "returned_detail", "psnr")


def scores(record: Record, episode: Episode, truth: Clip, rollout: Clip) -> list[Score]:
    """Score a rollout; `truth` has its size. All is compared at the smaller size of recording and rollout."""
    if len(rollout) != len(truth):
        return _missing(record, f"the rollout has {len(rollout)} of {len(truth)} frames, and does not look back")
    width, height = min((rollout.width, rollout.height), (episode.camera.width, episode.camera.height))
    want, got = (clip.resized(width, height) for clip in (truth, rollout))
    crop = tuple(record.facts.get("crop") or ())
    shown = _alternatives(record.task, (width, height), crop, episode=episode)
    away_s, (hidden, _) = episode.facts["away_s"], episode.facts["unseen"]
    middle = TURN + FPS * away_s // 2
    whole = episode.clip.cropped(*crop) if crop else episode.clip
    in_view = np.stack(list(whole[SHOWN - 1 : hidden].resized(width, height)))
    try:
        away = looks_away(got[middle], want[middle], in_view)
        found = read_end(list(got[len(got) - STILL :]), want[-1], episode, shown)
    except DataError as error:  # a picture of a few pixels
        return _missing(record, f"at {width}x{height} the states look alike ({error})")
    outcome: metrics.Outcome = found.outcome if away else "did not look away"
    way = found.progress if away else None
    rest_s = (len(episode) - SHOWN) / FPS
    back = (shown.frames.max(0) - shown.frames.min(0) <= DIFFERS).all(-1) * np.float32(rest_s)
    detail = returned_detail([(want[-1], got[-1], back)])
    no_way = "a lamp has colours, no way" if found.state is not None else "no state can be read"
    return [
        make_score(record, "advanced", metrics.advanced(outcome), facts={**found._asdict(), "outcome": outcome}),
        make_score(record, "as_left", metrics.as_left(outcome)),
        make_score(record, "looked_away", metrics.looked_away(outcome)),
        make_score(record, "progress", way, n=found.readable, reason=no_way if way is None else None),
        make_score(record, "returned_detail", detail, reason="the room has no detail" if detail is None else None),
        make_mean_score(record, "psnr", [(n, psnr(a, b)) for n, (a, b) in enumerate(zip(got, want, strict=True))]),
    ]


def _missing(record: Record, reason: str) -> list[Score]:
    return [make_score(record, name, None, reason=reason) for name in METRICS]


@cached_by_task(maxsize=16)
def _alternatives(task: Task, size: tuple[int, int], crop: tuple[int, ...], *, episode: Episode) -> Alternatives:
    """What every model is compared with."""
    camera = episode.camera
    if crop:
        clip = episode.clip.cropped(*crop)
        camera = camera.cropped(clip.width, clip.height)
    return alternatives_of(episode, camera, size)
