"""What an evaluation costs, and which tasks fit a budget.

The cost of a suite is measured: a stand-in with the model's own spec answers a few tasks, and counts its requests.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.paired_tests import FEWEST_CLUSTERS, power_of
from worldgauge.engine.model_run import RunStep
from worldgauge.engine.open_suite import clusters_of, kind_of, list_tasks, open_suite, spread_tasks
from worldgauge.engine.run import RunRequest, execute
from worldgauge.engine.sets import SetPart, membership, named_sets
from worldgauge.engine.store import read_journal
from worldgauge.engine.suite.base import ActedSuite, Suite
from worldgauge.engine.suite.contract import Task
from worldgauge.engine.suite.decoy import arms_for, arms_of
from worldgauge.tools.check_model import ModelReport
from worldgauge.tools.model_trial import ModelSpeed
from worldgauge_serve import last_length, next_length

SIZES = ((128, 72), (256, 144), (640, 360))
"""Frame sizes at which the speed of a model without a size of its own is measured."""
MOST_FRAMES = 100_000
"""Frames that a model without a limit makes."""
PILOT_TASKS = 3
"""Tasks of each suite that the stand-in answers."""
TURN_PX = 2
"""Pixels by which the stand-in turns each frame: what moves is costlier to store and to score."""
START_S = 4.0
"""Seconds until the first request of a run."""
PAGE_S = 15.0
"""Seconds for the report of a suite."""
LEAST_HORIZON_S = 1.0
"""Seconds to imagine below which a suite says nothing about a model."""
BYTES_PER_PIXEL = 1.9
"""Of a lossless video of the embedded worlds, measured at 192x108. A still picture takes a 25th."""
FILM_MB = 0.5
"""Disk space of an episode of a closed loop, before one is measured."""
BASELINE_COST = 1.6
"""Cost of a task for a baseline, in costs for a model that takes no time: some of them draw."""


class Meter:
    """A model with the spec of another one. It turns the last frame, and counts its requests."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        inputs = frozenset(spec["inputs"])
        self.spec = ModelSpec(**{**spec, "name": "meter", "settings": {}, "inputs": inputs})
        self.frames: Counter[str] = Counter()
        self.questions: Counter[str] = Counter()

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Turn the last frame."""
        width, height = request.frame_size
        self.frames[f"{width}x{height}"] += request.horizon
        self.questions[f"{width}x{height}"] += 1
        frame = np.roll(request.context.clip[-1], np.random.default_rng().integers(width), axis=1)  # in no cache
        for _ in range(request.horizon):
            frame = np.roll(frame, TURN_PX, axis=1)
            yield frame[None]


@dataclass(frozen=True)
class TaskCost:
    """What a task costs on average, for one model.

    Attributes:
        frames: Generated frames by frame size in pixels ("256x144"); `questions`: requests by frame size.
        scoring_s: Seconds for everything except the model: reading, storing and scoring.
        asked: Share of the tasks that fit the model, from 0 to 1; `skipped`: why the others do not.
        lengths: Length of each task by its id, relative to the average task. 1 if it is not known.
    """

    frames: Mapping[str, float] = field(default_factory=dict)
    questions: Mapping[str, float] = field(default_factory=dict)
    scoring_s: float = 0.0
    asked: float = 1.0
    skipped: str = ""
    lengths: Mapping[str, float] = field(default_factory=dict)

    def length(self, tasks: Sequence[Task]) -> float:
        """Mean length of some tasks, in frames of the average task."""
        return fmean([self.lengths.get(task.id, 1.0) for task in tasks] or [1.0])

    @property
    def moving_mb(self) -> float:
        """Disk space of the frames in a lossless video that moves."""
        return sum(frames * _pixels(size) * BYTES_PER_PIXEL / 1e6 for size, frames in self.frames.items())

    def model_s(self, speeds: Mapping[str, ModelSpeed]) -> float:
        """Seconds that a model of these speeds takes for a task."""
        total = 0.0
        for size, frames in self.frames.items():
            speed = speed_at(speeds, size)
            total += frames * speed.frame_s + self.questions[size] * speed.question_s
        return total


def speed_at(speeds: Mapping[str, ModelSpeed], size: str) -> ModelSpeed:
    """Speed at a frame size, between the measured ones in proportion to the number of pixels."""
    known = sorted((_pixels(one), speed) for one, speed in speeds.items())
    at, pixels = _pixels(size), [count for count, _ in known]
    frame_s, question_s = (float(np.interp(at, pixels, [speed[k] for _, speed in known])) for k in (0, 1))
    return ModelSpeed(frame_s, question_s)


def _pixels(size: str) -> int:
    """Number of pixels of a size such as "256x144"."""
    width, height = size.split("x")
    return int(width) * int(height)


@dataclass(frozen=True)
class SuitePlan:
    """The planned run of one suite; without tasks it is left out, for a `reason`.

    Attributes:
        rollouts: Number of tasks and of arms of the decoy test, for one model.
        frames: Frames that all models under test generate; `gpu_s` counts those that declare GPUs.
        effect: Difference found with 80 % power, in standard deviations over clusters. None below six clusters.
        difference: The same in the headline's unit. None if the data set does not say how much clusters differ.
        only: Ids of the tasks that every model can do. Empty for all.
    """

    suite: str
    tasks: int = 0
    of: int = 0
    clusters: int = 0
    rollouts: int = 0
    frames: int = 0
    seconds: float = 0.0
    gpu_s: float = 0.0
    megabytes: float = 0.0
    effect: float | None = None
    difference: float | None = None
    reason: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    only: Sequence[str] = field(default_factory=list)


@dataclass(frozen=True)
class SuiteCost:
    """A suite, the tasks that every model can do, and the cost of one for each model that the suite fits.

    Attributes:
        data: None if it is not made yet.
        megabytes: Disk space of a rollout, at most.
        spread: Standard deviation over clusters of a paired difference, in the headline's unit.
    """

    suite: Suite
    data: Path | None
    tasks: Sequence[Task]
    costs: Mapping[str, TaskCost]
    reports: Mapping[str, ModelReport]
    baselines: float
    megabytes: float
    asked_settings: Mapping[str, Any] = field(default_factory=dict)
    spread: float | None = None
    too_long: int = 0

    @property
    def reason(self) -> str:
        """Why no model fits it. Empty if one does."""
        found = [cost.skipped for cost in self.costs.values() if not cost.asked]
        return found[0] if found and len(found) == len(self.costs) else ""

    def plan(self, tasks: int, workers: int) -> SuitePlan:
        """The plan for a number of tasks."""
        chosen = spread_tasks(self.suite, self.tasks, tasks)
        clusters = clusters_of(self.suite, chosen)
        power = power_of(clusters, 1)
        tested = self.suite.claims_memory and self.data is not None
        arms = arms_of(self.suite, chosen, self.tasks) if tested else []
        rollouts = gpu_s = seconds = frames = 0.0
        for label, cost in self.costs.items():
            report = self.reports[label]
            asked = cost.asked * (len(chosen) + len(arms_for(self.suite, report.identity, arms)))
            rollouts = max(rollouts, asked)
            generated, model_s = asked * cost.length(chosen), cost.model_s(report.speeds)
            frames += generated * sum(cost.frames.values())
            seconds += generated * (model_s + cost.scoring_s)
            gpu_s += report.gpus * generated * model_s
        each_s = max((cost.length(chosen) * cost.scoring_s for cost in self.costs.values()), default=0.0)
        seconds += self.baselines * len(chosen) * each_s * BASELINE_COST
        return SuitePlan(
            self.suite.name,
            len(chosen),
            len(self.tasks) + self.too_long,
            len(set(clusters)),
            round(rollouts),
            round(frames),
            START_S + seconds / workers + PAGE_S,
            gpu_s,
            self.megabytes * (rollouts * len(self.costs) + self.baselines * len(chosen)),
            power.effect,
            None if power.effect is None or self.spread is None else power.effect * self.spread,
            settings=self.asked_settings,
            only=[task.id for task in self.tasks] if self.too_long else [],
        )

    @property
    def fewest(self) -> int:
        """Number of tasks below which no test can be made."""
        for tasks in range(FEWEST_CLUSTERS, len(self.tasks) + 1):
            if len(set(clusters_of(self.suite, spread_tasks(self.suite, self.tasks, tasks)))) >= FEWEST_CLUSTERS:
                return tasks
        return len(self.tasks)


def measure_suite(
    name: str, data: Path, reports: Mapping[str, ModelReport], *, baselines: float, settings: Mapping[str, Any]
) -> SuiteCost:
    """Measure what a task of a suite costs each model; `baselines` counts those without stored results."""
    suite = open_suite(name, settings)
    known = [task for task in list_tasks(suite, data) if task.skip is None]
    seconds = lengths_s(suite, known)
    tasks = fitting_tasks(suite, known, seconds, [report.spec for report in reports.values()])
    if len(set(clusters_of(suite, tasks))) < min(FEWEST_CLUSTERS, len(set(clusters_of(suite, known)))):
        tasks = known
    costs: dict[str, TaskCost] = {}
    megabytes = 0.0
    scoring = suite.scoring_s is None
    # A first task takes what the others do not.
    run_pilot(name, Meter(any_model().spec), data, settings, 1, scoring=scoring)
    for label, report in reports.items():
        meter = Meter(report.spec)
        only = [task.id for task in tasks]
        pilot = run_pilot(name, meter, data, settings, PILOT_TASKS, only, scoring=scoring)
        if not pilot.done:
            costs[label] = TaskCost(asked=0.0, skipped=pilot.skipped or "no task of the data fits the model")
            continue
        costs[label] = TaskCost(
            {size: frames / pilot.done for size, frames in meter.frames.items()},
            {size: asked / pilot.done for size, asked in meter.questions.items()},
            (suite.scoring_s or 0.0) + pilot.task_s,
            pilot.done / pilot.tasks,
            pilot.skipped,
            relative_lengths(suite, tasks, asked_frames(report.spec, suite, tasks, seconds, pilot)),
        )
        megabytes = max(megabytes, pilot.megabytes, costs[label].moving_mb if seconds else 0.0)
    held = membership(name, known, data=data)
    spread = named_sets()[held["name"]].part(name).spread if held else None
    too_long = len(known) - len(tasks)
    return SuiteCost(suite, data, tasks, costs, reports, baselines, megabytes, settings, spread, too_long)


def lengths_s(suite: Suite, tasks: Iterable[Task]) -> dict[str, float]:
    """Seconds that a model generates for each task, as far as the suite knows them before a run."""
    found: dict[str, float] = {}
    for task in tasks:
        with suppress(DataError):  # the run reports it
            if (seconds := suite.rollout_s(task)) is not None:
                found[task.id] = seconds
    return found


def relative_lengths(suite: Suite, tasks: Sequence[Task], seconds: Mapping[str, float]) -> dict[str, float]:
    """Length of each task in mean lengths of those that a pilot runs."""
    pilot = [seconds[task.id] for task in spread_tasks(suite, tasks, PILOT_TASKS) if task.id in seconds]
    return {task.id: seconds[task.id] / fmean(pilot) for task in tasks if task.id in seconds} if sum(pilot) else {}


def fitting_tasks(
    suite: Suite, tasks: Iterable[Task], seconds: Mapping[str, float], specs: Iterable[Mapping[str, Any]]
) -> list[Task]:
    """Tasks that are short enough for every model of these specs, and those of unknown length."""
    limited = [spec for spec in specs if spec.get("lengths") is not None]

    def fits(task: Task) -> bool:
        rate = max(suite.rates(task))
        return all(frames_for(spec, seconds[task.id], rate) is not None for spec in limited)

    return [task for task in tasks if not limited or task.id not in seconds or fits(task)]


def frames_for(spec: Mapping[str, Any], seconds: float, fps: float) -> int | None:
    """Frames that a model generates for some seconds of a recording; None if it cannot generate so many."""
    length = next_length(spec.get("lengths"), 1 + math.ceil(seconds * (spec.get("fps") or fps) - 1e-6))
    return None if length is None else length - 1


def asked_frames(
    spec: Mapping[str, Any], suite: Suite, tasks: Sequence[Task], seconds: Mapping[str, float], pilot: Pilot
) -> dict[str, float]:
    """Frames that a model generates for each task: by its length in seconds, or as for the pilot's task of its kind."""
    exact = {
        task.id: frames_for(spec, seconds[task.id], max(suite.rates(task))) for task in tasks if task.id in seconds
    }
    return by_kind(tasks, pilot.frames) | {task: frames for task, frames in exact.items() if frames is not None}


def by_kind(tasks: Sequence[Task], measured: Mapping[str, float]) -> dict[str, float]:
    """A number for each task: that of the measured task of its kind, or the mean of all measured tasks."""
    kinds = {kind_of(task): measured[task.id] for task in tasks if task.id in measured}
    return {task.id: kinds.get(kind_of(task), fmean(kinds.values())) for task in tasks} if kinds else {}


@dataclass(frozen=True)
class Pilot:
    """What a short run took; `frames` and `questions` are by task. `megabytes` and `task_s` are per scored task.
    `task_s` is CPU time: a busy machine must not change the plan."""

    tasks: int
    done: int
    task_s: float
    megabytes: float
    skipped: str
    frames: Mapping[str, float]
    questions: Mapping[str, float]


def run_pilot(
    name: str,
    model: Meter,
    data: Path,
    settings: Mapping[str, Any],
    tasks: int,
    only: Collection[str] = (),
    *,
    scoring: bool,
) -> Pilot:
    """Run a few tasks of a suite, spread over its clusters and kinds."""
    frames, questions = dict[str, float](), dict[str, float]()

    def count(step: RunStep) -> None:
        if step.task is not None and step.status is not None:
            frames[step.task] = model.frames.total() - sum(frames.values())
            questions[step.task] = model.questions.total() - sum(questions.values())

    with tempfile.TemporaryDirectory() as folder:
        began = _cpu_s()
        asked = RunRequest(name, models=(model,), data=data, out=Path(folder), settings=settings, limit=tasks)
        run = execute(replace(asked, only=tuple(only), scoring=scoring), count).folders[0]
        spent = _cpu_s() - began
        ended = list(read_journal(run.journal_path).values())
        done = sum(line["status"] == "done" for line in ended)
        size = sum(path.stat().st_size for path in run.directory.rglob("*") if path.is_file())
        skipped = next((str(line["error"]) for line in ended if line["error"]), "")
        return Pilot(len(ended), done, spent / max(1, done), size / 1e6 / max(1, done), skipped, frames, questions)


def set_costs(report: ModelReport) -> list[tuple[str, str, int, float]]:
    """What each benchmark set costs a model: set, suite, generated frames, and seconds with one worker."""
    parts = [(named.name, part) for named in named_sets().values() for part in named.parts if part.frames]
    reports = {report.model: report}
    plans = [(name, declared_suite(part, reports, baselines=0).plan(part.tasks_count, 1)) for name, part in parts]
    return [(name, plan.suite, plan.frames, plan.seconds) for name, plan in plans if plan.suite not in report.unfit]


def any_model() -> ModelReport:
    """A model without limits that takes no time."""
    speeds = {"1x1": ModelSpeed(0.0, 0.0)}
    return ModelReport("any", (), 0.0, ModelSpec("any").told, {"source": "any", "inputs": []}, speeds)


def _cpu_s() -> float:
    """CPU seconds of this process, and of its children that have ended."""
    return sum(os.times()[:4])


def declared_suite(part: SetPart, reports: Mapping[str, ModelReport], *, baselines: float) -> SuiteCost:
    """Cost of a task per model by a set's metadata, not its data; `baselines` counts those without stored results."""
    costs = {label: _declared_cost(part, report.spec) for label, report in reports.items()}
    clusters = max(part.clusters, 1)
    tasks = [Task(part.suite, str(n), {}, "", cluster=str(n % clusters)) for n in range(part.tasks_count)]
    suite = open_suite(part.suite, {})
    moving_mb = max((cost.moving_mb for cost in costs.values()), default=0.0)
    megabytes = FILM_MB if isinstance(suite, ActedSuite) else moving_mb
    return SuiteCost(suite, None, tasks, costs, reports, baselines, megabytes, spread=part.spread)


def _declared_cost(part: SetPart, spec: Mapping[str, Any]) -> TaskCost:
    """What a task costs a model of a spec, by the mean length of a request."""
    width, height = spec.get("frame_size") or part.options.get("size", (256, 144))
    requests = part.requests or part.tasks_count
    mean, questions = part.frames / max(requests, 1), requests / max(part.tasks_count, 1)
    rules = spec if part.fps else {"lengths": spec.get("lengths")}
    frames = frames_for(rules, mean / (part.fps or 1.0), part.fps or 1.0)
    frames = frames or (last_length(rules["lengths"], MOST_FRAMES) or 2) - 1
    return TaskCost({f"{width}x{height}": frames * questions}, {f"{width}x{height}": questions}, part.task_s)


def fitting_horizon(cost: SuiteCost) -> float | None:
    """Seconds that every model can generate, if the suite's horizon is too long for one; else None."""
    limited = [report.spec for label, report in cost.reports.items() if cost.costs[label].asked < 1]
    lengths = [spec for spec in limited if spec.get("lengths") is not None]
    if "horizon_s" not in cost.suite.settings or not lengths or not cost.tasks:
        return None
    rate = max(cost.suite.rates(cost.tasks[0]))
    longest = min(((last_length(spec["lengths"], MOST_FRAMES) or 1) - 1) / (spec["fps"] or rate) for spec in lengths)
    if longest < LEAST_HORIZON_S:
        return None
    for seconds in (math.floor(longest * 4) / 4, *range(int(longest), 0, -1)):
        with suppress(UsageError):  # some suites take certain horizons only
            open_suite(cost.suite.name, {**cost.asked_settings, "horizon_s": seconds})
            return float(seconds)
    return None


def choose_tasks(costs: Sequence[SuiteCost], budget_s: float | None, workers: int = 1) -> list[SuitePlan]:
    """Choose each suite's tasks so that the largest detectable difference is as small as the budget allows. `budget_s`:
    wall-clock seconds of all suites; None for all tasks. A suite that does not fit has no tasks, and a reason."""
    plans = {cost.suite.name: SuitePlan(cost.suite.name, of=len(cost.tasks), reason=cost.reason) for cost in costs}
    able = [cost for cost in costs if not cost.reason]
    if budget_s is None:
        plans |= {cost.suite.name: cost.plan(len(cost.tasks), workers) for cost in able}
        return list(plans.values())
    needs: list[float] = []
    while able:
        least = {cost.suite.name: cost.plan(cost.fewest, workers) for cost in able}
        if sum(plan.seconds for plan in least.values()) <= budget_s:
            break
        costly = max(able, key=lambda cost: least[cost.suite.name].seconds)
        able.remove(costly)
        needs.append(least[costly.suite.name].seconds)
        minutes = math.ceil(needs[-1] / 60)
        plans[costly.suite.name] = replace(
            plans[costly.suite.name], reason=f"{FEWEST_CLUSTERS} clusters need about {minutes} min of the budget"
        )
    if needs and not able:
        minutes = math.ceil(min(needs) / 60)
        raise UsageError(
            f"the budget of {budget_s / 60:.0f} min is too small for any suite; the cheapest needs about {minutes} min"
        )
    # The suite with the largest detectable difference gets more tasks, as long as the budget allows.
    tasks = {cost.suite.name: cost.fewest for cost in able}
    chosen = {cost.suite.name: cost.plan(tasks[cost.suite.name], workers) for cost in able}
    growing = {cost.suite.name: cost for cost in able}
    while growing:
        name = max(growing, key=lambda name: chosen[name].effect or math.inf)
        cost = growing[name]
        step = max(1, tasks[name] // 8)
        more = cost.plan(min(len(cost.tasks), tasks[name] + step), workers)
        others = sum(plan.seconds for suite, plan in chosen.items() if suite != name)
        if more.tasks == tasks[name] or others + more.seconds > budget_s:
            del growing[name]
            continue
        tasks[name], chosen[name] = more.tasks, more
    return list((plans | chosen).values())
