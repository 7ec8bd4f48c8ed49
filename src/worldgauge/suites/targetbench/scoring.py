"""Scores of one record: the path in its video against the path that was walked, under every profile.

A re-planned record also says what the drive came to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core import geometry
from worldgauge.core.errors import NotApplicableError, ShapeError
from worldgauge.core.geometry import FloatArray, yaw_pitch_from_pose
from worldgauge.core.paired_tests import paired_difference
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Better, Cell, Failure, Record, Score, Table, TableRow, TaskContext
from worldgauge.engine.suite.rollout import open_rollout
from worldgauge.engine.suite.scores import cluster_of_score, make_cell, make_score, row_kind
from worldgauge.perception.decoders import N_POINTS, DecodedPath
from worldgauge.suites.targetbench import metrics
from worldgauge.suites.targetbench.decoding import SCORED, decoded, decoder_of, truth_at
from worldgauge.suites.targetbench.format.scenario import Scenario, rebase
from worldgauge.suites.targetbench.metrics import PROFILES, PathScores, evaluate, reach_metre, resample
from worldgauge.suites.targetbench.planners import current_pose, speed_of
from worldgauge.suites.targetbench.settings import TargetSettings
from worldgauge.suites.targetbench.tasks import scenario_of

REACHED = "drive/reached"
END_DISTANCE = "drive/end_distance"
COLUMNS: Mapping[str, tuple[str, str, Better, float]] = {
    REACHED: ("reached", "1", "higher", 1.0),
    END_DISTANCE: ("from the end (m)", "m", "lower", math.inf),
    "drive/length_ratio": ("length / truth", "1", "neither", math.inf),
    "drive/contacts": ("contacts", "1", "lower", math.inf),
    "drive/asks": ("asks", "1", "neither", math.inf),
}
"""Metric -> column, unit, direction, largest value. Reached: within 1 m of the end of the true path. Contacts: plans
that ran into something. Asks: questions to the model."""


def driven_path(record: Record, scenario: Scenario, settings: TargetSettings) -> DecodedPath:
    """The driven path from the current pose, evenly spaced; without any plan it failed, and did not decide to stay."""
    decoder, asks = decoder_of(settings).name, record.facts["asks"]
    if record.facts["once"] is None:
        return DecodedPath("failed", decoder, f"no plan in {len(asks)} videos, the last: {asks[-1]['reason']}")
    points = _seen_from_start(record.facts["driven"], scenario)
    along = geometry.along(points)
    metres = np.linspace(0, along[-1], N_POINTS)
    xy = geometry.at(points, metres)
    rows = np.interp(metres, along, np.arange(len(along))).astype(np.int64)
    diagnostics = {
        "plans": [str(each["status"]) for each in asks],
        "contacts": sum(bool(each["contact"]) for each in asks),
    }
    return DecodedPath("ok", decoder, xy=xy, frame_indices=rows, diagnostics=diagnostics)


def drive_scores(record: Record, scenario: Scenario, settings: TargetSettings) -> Iterator[Score]:
    """Yield scores of the drive. `facts["once"]` of each has the result of the first plan alone."""
    decoder = decoder_of(settings).name
    once, asks = record.facts["once"], record.facts["asks"]
    values: dict[str, float] = {}
    alone: dict[str, float] = {}
    if once is not None:
        contacts = sum(bool(one["contact"]) for one in asks)
        values = _values(record.facts["driven"], scenario, contacts, len(asks))
        alone = _values(once["xy"], scenario, int(once["contact"]), 1)
    for metric, (_, unit, better, _) in COLUMNS.items():
        yield Score(
            record.task.id,
            metric,
            values.get(metric),
            unit=unit,
            better=better,
            n=int(metric in values),
            reason=None if metric in values else "no plan was found in any of its videos",
            group=record.task.group,
            facts={"once": alone.get(metric), "decoder": decoder},
        )


def comparison(
    scores: Mapping[str, Sequence[Score]],
    kinds: Mapping[str, str],
    failed: Mapping[str, Sequence[Failure]],
    decoders: str,
) -> Table | None:
    """Compare re-planning with the first plan alone, two rows per model."""
    rows: list[TableRow] = []
    notes = ["Reached: within 1 m of the end of the true path. The first plan alone is driven to its end unseen."]
    for model, own in scores.items():
        by_metric = {metric: [s for s in own if s.metric == metric] for metric in COLUMNS}
        if not by_metric[REACHED]:
            continue
        kind = row_kind(kinds[model])
        lost = len(failed.get(model, ()))
        rows.append(TableRow(f"{model}, re-planning", _cells(by_metric, lost, again=True), kind))
        rows.append(TableRow(f"{model}, first plan alone", _cells(by_metric, lost, again=False), kind))
        notes += _compared(model, by_metric[END_DISTANCE])
    if not rows:
        return None
    return Table(
        metric=REACHED,
        title=f"Re-planning against the first plan alone, decoder {decoders}",
        unit="1",
        better="higher",
        columns=tuple(column for column, _, _, _ in COLUMNS.values()),
        rows=tuple(rows),
        notes=tuple(notes),
        betters=tuple(better for _, _, better, _ in COLUMNS.values()),
    )


def _values(xy: Any, scenario: Scenario, contacts: int, asks: int) -> dict[str, float]:
    path, truth = _seen_from_start(xy, scenario), scenario.future_xy
    length = geometry.length(truth)
    return {
        REACHED: reach_metre(path, truth),
        END_DISTANCE: float(np.hypot(*(path[-1] - truth[-1]))),
        **({"drive/length_ratio": geometry.length(path) / length} if length > 0 else {}),
        "drive/contacts": float(contacts),
        "drive/asks": float(asks),
    }


def _seen_from_start(xy: Any, scenario: Scenario) -> FloatArray:
    """Points (n, 2) of the world's plane as seen from the scenario's current pose."""
    pose = current_pose(scenario)
    points = np.vstack([pose[:2, 3], np.asarray(xy, np.float64)])
    return rebase(points, 0, float(yaw_pitch_from_pose(pose)[0]))[1:]


def _cells(scores: Mapping[str, Sequence[Score]], lost: int, *, again: bool) -> tuple[Cell, ...]:
    """One row: of the drives with re-planning, or of the first plans alone. lost: scenarios without a record."""
    return tuple(
        make_cell(
            [score.value if again else score.facts["once"] for score in scores[metric]],
            (0.0, most),
            expected=len(scores[metric]) + lost,
            clusters=map(cluster_of_score, scores[metric]),
        )
        for metric, (_, _, _, most) in COLUMNS.items()
    )


def _compared(model: str, scores: Sequence[Score]) -> Iterator[str]:
    """By how much re-planning ends nearer to the end of the true path, over the scenarios."""
    again, alone = {s.task: s.value for s in scores}, {s.task: s.facts["once"] for s in scores}
    clusters = {score.task: cluster_of_score(score) for score in scores}
    found = paired_difference(again, alone, cluster=clusters)
    if found.mean is not None and found.p is not None and found.n > 1:
        nearer = "nearer to" if found.mean < 0 else "farther from"
        yield (
            f"{model}: re-planning ends {abs(found.mean):.2f} m {nearer} the end of the true path than the first "
            f"plan alone (n = {found.n}, p = {found.p:.2g}, Student's paired test)."
        )


HEADLINE = "path/overall"
METRICS = {
    field: f"path/{field}" for field in ("overall", "soft_endpoint", "approach_consistency", "ade", "fde", "miss_rate")
}
"""Field of `PathScores` -> metric, in the order of the tables."""
SHOWN_PROFILES = ("released", "aligned", "paper_text")
"""Always computed; another one in addition when it is asked for."""


def compared_clips(record: Record, settings: TargetSettings) -> tuple[Clip, Clip]:
    """Return the real frames at the times of the imagined ones, and the imagined ones, at the rollout's size."""
    scenario = scenario_of(record.task, settings, parity=settings.parity)
    if "driven" in record.facts:
        raise NotApplicableError("a robot that drives by itself sees other frames than the recording")
    if scenario.video is None:
        raise NotApplicableError("the scenario has no video")
    rollout = open_rollout(record)
    truth = truth_at(scenario, len(rollout), record.facts["fps"])
    return truth.resized(rollout.width, rollout.height), rollout


def score(record: Record, task_context: TaskContext, settings: TargetSettings) -> list[Score]:
    """Score one record. A path that was not found gives scores without a value, with the reason."""
    scenario = scenario_of(record.task, settings, parity=settings.parity)
    task_context.progress(0, 1)
    is_drive = "driven" in record.facts
    path = driven_path(record, scenario, settings) if is_drive else decoded(record, scenario, settings)
    task_context.progress(1, 1)
    xy = path.xy if path.status in SCORED else None
    values = {} if xy is None else _under_profiles(xy, scenario, settings)
    chosen, why = values.get(settings.profile), None
    if xy is None:
        why = f"no path: {path.status.replace('_', ' ')}" + (f", {path.reason}" if path.reason else "")
    elif chosen is not None and not chosen.valid:
        why = chosen.reason
    decoder_facts = {"profile": settings.profile, "decoder": path.decoder, "status": path.status}
    found = []
    head_facts = {**decoder_facts, **_facts(record, scenario, path, values, settings)}
    for field, metric in METRICS.items():
        value = None if chosen is None or not chosen.valid else float(getattr(chosen, field))
        facts = head_facts if metric == HEADLINE else decoder_facts
        series: Sequence[tuple[int, float | None]] = ()
        if field == "ade" and value is not None and xy is not None:
            series = _errors(path, xy, scenario, settings, record.facts["fps"])
        reason = None if value is not None else why
        found.append(make_score(record, metric, value, reason=reason, series=series, facts=facts))
    if is_drive:
        found += drive_scores(record, scenario, settings)
    if settings.extras:
        found += _extras(record, scenario, path, None if why else xy, why, decoder_facts)
    return sorted(found, key=lambda one: one.metric)


def profiles_of(settings: TargetSettings) -> tuple[str, ...]:
    """The profiles to compute, the chosen one first."""
    return tuple(dict.fromkeys((settings.profile, *SHOWN_PROFILES)))


def _under_profiles(xy: FloatArray, scenario: Scenario, settings: TargetSettings) -> dict[str, PathScores]:
    rules: dict[str, Any] = {"history_rows": scenario.history_rows, "parity": settings.parity}
    return {
        name: evaluate(xy, scenario.path_xy, PROFILES[name], settings.mode, **rules) for name in profiles_of(settings)
    }


def _facts(
    record: Record, scenario: Scenario, path: DecodedPath, values: Mapping[str, PathScores], settings: TargetSettings
) -> dict[str, Any]:
    """All that tables and pictures need besides the number itself."""
    led = settings.parity is None and "driven" not in record.facts and record.facts["finished_video"] is None
    return {
        "decoder_version": decoder_of(settings).version,
        "reason": path.reason,
        "profiles": {name: _numbers(one) for name, one in values.items()},
        "xy": None if path.xy is None else np.asarray(path.xy, np.float64).tolist(),
        "frame_indices": [int(index) for index in path.frame_indices],
        # Frames of the stored video that the points belong to; for the current picture before it, its first one.
        "frames_shown": [max(0, int(index) - led) for index in path.frame_indices],
        "scale": path.scale,
        "anchor_estimated": path.anchor_estimated,
        "anchor_real_m": path.anchor_real,
        "focal_px": path.focal_px,
        "registered": [int(np.count_nonzero(path.registered)), len(path.registered)],
        "diagnostics": dict(path.diagnostics),
        "baselines": {
            name: {profile: _numbers(one) for profile, one in _under_profiles(line, scenario, settings).items()}
            for name, line in baselines(scenario).items()
        },
        "horizon_s": scenario.horizon_s,
        "is_driven": "driven" in record.facts,
        "control": record.facts["control"],
        "planner": record.facts["planner"],
        "warnings": list(scenario.warnings),
    }


def _numbers(scores: PathScores) -> dict[str, float] | None:
    return {field: float(getattr(scores, field)) for field in METRICS} if scores.valid else None


def _errors(
    path: DecodedPath, xy: FloatArray, scenario: Scenario, settings: TargetSettings, fps: float
) -> Sequence[tuple[int, float | None]]:
    """Metres from each decoded point to its row of the true path, by the recording's frame, so rates agree."""
    start = scenario.history_rows if PROFILES[settings.profile].cut_history else 0
    rows = np.rint(np.linspace(start, len(scenario.path_xy) - 1, len(xy))).astype(int)
    apart = np.linalg.norm(np.asarray(xy) - scenario.path_xy[rows], axis=1)
    frames = np.rint(path.frame_indices / fps / scenario.dt).astype(int)
    frames = np.clip(frames, 0, len(scenario.future_xy) - 1)
    # A video of few frames may have two points at one of them; a series has one value a place.
    return list(dict(zip(frames.tolist(), apart.tolist(), strict=True)).items())


def _extras(
    record: Record,
    scenario: Scenario,
    path: DecodedPath,
    xy: FloatArray | None,
    why: str | None,
    decoder_facts: Mapping[str, Any],
) -> Iterator[Score]:
    given: dict[str, tuple[float | None, str]] = {}
    if xy is not None:
        given = extra_values(xy, path.frame_indices, record.facts["fps"], scenario)
    elif path.status == "no_scale" and path.positions is not None:
        shape = metrics.scale_free_ade(path.positions[:, [0, 2]], scenario.future_xy)
        given = {"path/scale_free_ade": (shape, _STILL)}
    for metric in EXTRAS:
        value, reason = given.get(metric, (None, why or "no path"))
        yield make_score(record, metric, value, reason=None if value is not None else reason, facts=decoder_facts)


TRUTH_PATH, DO_NOTHING, STRAIGHT_LINE = NAMES = ("truth path", "do nothing", "straight line")


def baselines(scenario: Scenario) -> dict[str, FloatArray]:
    """Baseline paths by name, (9, 2) metres seen from the current pose, as a decoder would give them."""
    future = scenario.future_xy
    seconds = (len(future) - 1) * scenario.dt
    ahead = np.linspace(0, speed_of(scenario) * seconds, N_POINTS)
    return {
        TRUTH_PATH: resample(future, N_POINTS),
        DO_NOTHING: np.zeros((N_POINTS, 2)),
        STRAIGHT_LINE: np.column_stack([np.zeros(N_POINTS), ahead]),
    }


_STILL = "the true path has no length"
EXTRAS: Mapping[str, tuple[Callable[..., float | None], str]] = {
    "path/time_aligned_ade": (metrics.time_aligned_ade, ""),
    "path/arc_aligned_ade": (metrics.arc_aligned_ade, ""),
    "path/scale_free_ade": (metrics.scale_free_ade, _STILL),
    "path/end_heading_error": (metrics.end_heading, f"one of the two paths is shorter than {metrics.HEADING_M} m"),
    "path/length_ratio": (metrics.length_ratio, _STILL),
    "path/reach_half_metre": (metrics.reach_half_metre, ""),
    "path/reach_metre": (metrics.reach_metre, ""),
}
"""Extra metric -> the function of a path and the truth, and why it has no value where it has none."""


def extra_values(
    xy: FloatArray, frames: NDArray[np.int64], fps: float, scenario: Scenario
) -> dict[str, tuple[float | None, str]]:
    """Values of the extra metrics of a decoded path (n, 2) whose points belong to `frames` (n,) of the video."""
    truth, times = scenario.future_xy, np.asarray(frames, np.float64) / fps
    values: dict[str, tuple[float | None, str]] = {}
    for metric, (function, undefined) in EXTRAS.items():
        paths = (xy, times, truth, scenario.dt) if metric == "path/time_aligned_ade" else (xy, truth)
        try:
            values[metric] = function(*paths), undefined
        except ShapeError as error:
            values[metric] = None, str(error)
    return values
