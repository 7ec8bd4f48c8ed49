"""Scores of one episode: what the agent achieved, and what its world model's imagination was worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import NotApplicableError, WorldgaugeError
from worldgauge.core.image import Frames
from worldgauge.core.video import Clip, resize
from worldgauge.engine.suite.contract import Record, Score, TaskContext, mean_of_known
from worldgauge.engine.suite.scores import make_score
from worldgauge.perception.loading import Perception, Unavailable, load_network
from worldgauge.perception.network_source import What
from worldgauge.suites.worldinworld import metrics as controllability
from worldgauge.suites.worldinworld.loop import FALLBACK
from worldgauge.suites.worldinworld.metrics import SIZE_PX, controllability_lpips, model_calls
from worldgauge.suites.worldinworld.task import ClosedLoopTask, LoopSettings, TaskEnv, closed_loop_tasks, task_names
from worldgauge.suites.worldinworld.task_index import open_task
from worldgauge.suites.worldinworld.trace import COMPARED, read_trace

METRICS: Mapping[What, str] = {"lpips": "controllability_lpips", "aesthetic": "aesthetic", "imaging": "imaging"}
"""What is looked with -> the metric it gives. Each is a setting of that name."""


def learned_scores(record: Record, imagined: Frames, real: Frames, settings: LoopSettings) -> Iterator[Score]:
    """One score per metric over all frames (n, H, W, 3) at 384 x 384, the paper's size; missing without network."""
    for what, metric in METRICS.items():
        network = load_network(getattr(settings, what), what)
        if isinstance(network, Unavailable):
            yield make_score(record, metric, None, reason=network.reason)
            continue
        facts = {"network": dict(network.settings)}
        try:
            size = network.at_once
            parts = (slice(start, start + size) for start in range(0, len(imagined), size))
            values = [one for part in parts for one in _values(network, imagined[part], real[part])]
        except WorldgaugeError as error:
            yield make_score(record, metric, None, reason=str(error).split("\n")[0], facts=facts)
            continue
        value = controllability_lpips(values) if what == "lpips" else mean_of_known(values)
        yield make_score(record, metric, value, n=len(values), facts=facts)


def _values(network: Perception, imagined: Frames, real: Frames) -> list[float]:
    seen = _floats(imagined)
    if hasattr(network, "distances"):
        return [float(one) for one in network.distances(seen, _floats(real))]
    return [float(one) for one in network.scores(seen)]  # type: ignore[union-attr]


def _floats(frames: Frames) -> NDArray[np.float32]:
    return np.stack([resize(frame, SIZE_PX, SIZE_PX) for frame in frames]).astype(np.float32) / np.float32(255)


HEADLINE = "task/success"
"""What an episode came to, in percent: success, or the answer score."""
QUALITY = ("controllability_psnr", "controllability_ssim", "visual_quality")
NOTHING_IMAGINED = "nothing was imagined"


def metric_names() -> frozenset[str]:
    """Metrics of all scores: of every episode, and in the tables of the tasks."""
    own = (column.rpartition("/")[2] for name in task_names() for column in closed_loop_tasks.get(name).columns)
    return frozenset({"success", "decision_regret", "model_calls", *QUALITY, *METRICS.values(), *own})


def score(record: Record, task_context: TaskContext, settings: LoopSettings) -> list[Score]:
    """All scores of one record; what cannot be known has no value, with the reason."""
    task = open_task(record.task, settings)
    trace = read_trace(record.directory)
    found = list(task.scores(record))
    task_context.progress(1, 2)
    chances = [([one["true_value"] for one in line["candidates"]], line["chosen"]) for line in trace]
    of_each = [controllability.decision_regret(values, chosen) for values, chosen in chances if len(values) > 1]
    regrets = [one for one in of_each if one is not None]
    why = None if regrets else "no decision chose among known candidates"
    found.append(make_score(record, "decision_regret", mean_of_known(regrets), n=len(regrets), reason=why))
    found.append(make_score(record, "model_calls", model_calls(record.facts["calls"]), facts=_counts(trace)))
    found += _score_imagination(record, trace, task)
    return sorted(found, key=lambda one: one.metric)


def compared_clips(record: Record, settings: LoopSettings) -> tuple[Clip, Clip]:
    """Stored rollouts: what the simulator shows and what was imagined for the same steps."""
    trace = read_trace(record.directory)
    found = _compared(record, trace, open_task(record.task, settings))
    if found is None:
        raise NotApplicableError(NOTHING_IMAGINED)
    imagined, real = found
    return Clip.from_array(real, 1.0), Clip.from_array(imagined, 1.0)


def _counts(trace: list[dict[str, Any]]) -> dict[str, int]:
    """What an episode took beside rollouts: candidates, decisions that fell back on something, queries and tokens."""
    by = ("proposals", "asks", "steps")  # the proposer, the reviser, and what carries a plan out
    queries = [one for line in trace for name in by for one in line["notes"].get(name, ())]
    flagged = [flag for line in trace for one in line["candidates"] for flag in one["flags"]]
    fell = sum(any("fallback" in key for key in line["notes"]) for line in trace)
    return {
        "decisions": len(trace),
        "candidates": sum(len(line["candidates"]) for line in trace),
        "fallbacks": fell + flagged.count(FALLBACK),
        "queries": sum(int(one.get("asks", 0)) for one in queries),
        "tokens": sum(int(one.get(key) or 0) for one in queries for key in ("input_tokens", "output_tokens")),
    }


def _score_imagination(
    record: Record, trace: list[dict[str, Any]], task: ClosedLoopTask[Any, Any, Any]
) -> Iterator[Score]:
    """Scores of stored rollouts against the simulator's frames, as one video, so that a chance hit counts little."""
    found = _compared(record, trace, task)
    if found is None:
        for metric in (*QUALITY, *METRICS.values()):
            yield make_score(record, metric, None, reason=NOTHING_IMAGINED)
        return
    imagined, real = found
    n = len(imagined)
    quality = float(np.mean([controllability.visual_quality(frame) for frame in imagined]))
    yield make_score(record, "controllability_psnr", controllability.controllability_psnr(imagined, real), n=n)
    yield make_score(record, "controllability_ssim", controllability.controllability_ssim(imagined, real), n=n)
    yield make_score(record, "visual_quality", quality, n=n)
    yield from learned_scores(record, imagined, real, task.settings)


def _compared(
    record: Record, trace: list[dict[str, Any]], task: ClosedLoopTask[Any, Any, Any]
) -> tuple[Frames, Frames] | None:
    """Frames that were imagined, and the simulator's of the same steps; None where nothing was."""
    path = record.directory / COMPARED
    kept = [(line, one) for line in trace for one in line["candidates"] if one["compared"]]
    if not kept or not path.exists():
        return None
    env = task.make_env()
    return Clip.open(path).to_array(), np.concatenate([_simulated(task, env, line, one) for line, one in kept])


def _simulated(
    task: ClosedLoopTask[Any, Any, Any], env: TaskEnv, line: Mapping[str, Any], candidate: Mapping[str, Any]
) -> Frames:
    """The frames of the simulator for those of a candidate that the model drew, of as much as the model shows."""
    camera = env.camera
    across, down = candidate["shown"]
    cut = camera.cropped(round(camera.width * min(across, 1.0)), round(camera.height * min(down, 1.0)))
    return task.simulated(env, line, candidate, cut).resized(camera.width, camera.height).to_array()
