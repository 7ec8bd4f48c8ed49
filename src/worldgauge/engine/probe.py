"""Ask a model in training a few tasks of a suite, within a time limit, without disturbing the training.

probe = Probe("loopnav", tasks=8, seconds=60)  # once
result = probe(model, step)                    # in the loop
"""

from __future__ import annotations

import math
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np

from worldgauge.core.errors import RunError, UsageError, WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.io import digest_of, dumps
from worldgauge.core.model import WorldModel
from worldgauge.core.video import Clip
from worldgauge.engine.collect import collect, open_collection
from worldgauge.engine.model_entries import live_entry
from worldgauge.engine.model_run import ModelRun, RunStep
from worldgauge.engine.open_suite import list_tasks, open_suite, suite_name
from worldgauge.engine.resume import PlannedTask
from worldgauge.engine.run_manifest import describe_run
from worldgauge.engine.store import RunFolder, read_record
from worldgauge.engine.suite.base import ActedSuite, Suite, acted_by, suites
from worldgauge.engine.suite.contract import Record, Score, Task
from worldgauge.engine.suite.rollout import open_rollout
from worldgauge.engine.suite.scores import score_cell
from worldgauge.engine.workers.worker import one_line
from worldgauge.metrics._registry import metric_bounds
from worldgauge.perception.cache import data_cache, locked
from worldgauge.version import __version__


@dataclass(frozen=True)
class ProbeValue:
    """Mean of a probe over the tasks with a value, and its 95% interval: None for fewer than two values."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None


@dataclass(frozen=True)
class ProbeResult:
    """What one call of a probe found.

    Attributes:
        suite: Name of the suite.
        step: Step of the training.
        values: Numbers by metric.
        missing: Why a task has no scores, by its id.
        strip: Frames of the first tasks, (H, W, 3) uint8: the recording above, the model below. None where no task was
            performed.
        seconds: Duration of the call.

    Examples:
        >>> wg.ProbeResult("mind", step=100, missing={"a": "no time"}).rows()
        {'mind/seconds': 0.0, 'mind/missing': 1}
    """

    suite: str
    step: int
    values: Mapping[str, ProbeValue] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    strip: Image | None = None
    seconds: float = 0.0

    def rows(self) -> dict[str, float]:
        """The numbers by the names that experiment trackers show. What is missing has no row.

        Returns:
            For each metric its mean as "SUITE/METRIC", and below that "/low", "/high" and "/n"; the seconds, and the
            number of tasks without scores.
        """
        rows: dict[str, float] = {}
        for metric, value in self.values.items():
            parts = {"": value.mean, "/low": value.low, "/high": value.high, "/n": value.n or None}
            rows |= {f"{self.suite}/{metric}{end}": part for end, part in parts.items() if part is not None}
        return {**rows, f"{self.suite}/seconds": self.seconds, f"{self.suite}/missing": len(self.missing)}

    def to_tensorboard(self, writer: Any) -> None:
        """Write to TensorBoard.

        Args:
            writer: A `SummaryWriter`, of torch or of tensorboardX.
        """
        for name, value in self.rows().items():
            writer.add_scalar(name, value, self.step)
        if self.strip is not None:
            writer.add_image(f"{self.suite}/strip", self.strip, self.step, dataformats="HWC")
        if self.missing:
            writer.add_text(f"{self.suite}/missing", _as_list(self.missing), self.step)

    def to_trackio(self, run: Any) -> None:
        """Log to trackio.

        Args:
            run: What `trackio.init` returned.
        """
        import trackio

        run.log({**self.rows(), **self._picture(trackio.Image)}, step=self.step)

    def to_wandb(self, run: Any) -> None:
        """Log to Weights & Biases, which takes steps in rising order only.

        Args:
            run: What `wandb.init` returned.
        """
        import wandb

        run.log({**self.rows(), **self._picture(wandb.Image)}, step=self.step)

    def _picture(self, kind: Any) -> dict[str, Any]:
        return {} if self.strip is None else {f"{self.suite}/strip": kind(self.strip)}


def summarize_scores(scores: Iterable[Score]) -> dict[str, ProbeValue]:
    """Mean and interval of each metric over tasks. Missing and infinite values are left out."""
    by_metric: dict[str, list[Score]] = {}
    for score in scores:
        by_metric.setdefault(score.metric, []).append(score)
    return {metric: _value_of(metric, own) for metric, own in sorted(by_metric.items())}


def _value_of(metric: str, scores: list[Score]) -> ProbeValue:
    cell = score_cell(scores, metric_bounds(metric))
    reasons = [score.reason or "its value is infinite" for score in scores]
    return ProbeValue(cell.mean, cell.low, cell.high, cell.n, None if cell.n else reasons[0])


def _as_list(missing: Mapping[str, str]) -> str:
    return "\n".join(f"- {task}: {reason}" for task, reason in missing.items())


class TrainingState:
    """State of the training at one moment; torch modules may be the model, its attributes, or in containers there."""

    def __init__(self, model: Any) -> None:
        self._torch = cast("Any", sys.modules.get("torch"))
        self._python = random.getstate()
        self._numpy = np.random.get_state()  # noqa: NPY002 - whatever the training uses
        self._modules = [] if self._torch is None else list(_modules_in(model, self._torch))
        self._modes = [(part, part.training) for module in self._modules for part in module.modules()]
        self._uses_cuda = self._torch is not None and self._torch.cuda.is_initialized()
        self._cpu = None if self._torch is None else self._torch.get_rng_state()
        self._gpus = self._torch.cuda.get_rng_state_all() if self._uses_cuda else None
        self._stream = self._torch.cuda.current_stream() if self._uses_cuda else None

    def set_evaluation(self) -> None:
        """Put all modules into evaluation mode: in training mode a rollout would change running statistics."""
        for module in self._modules:
            module.eval()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """In another thread: the training's GPU and stream, and no gradients. torch has them per thread."""
        with ExitStack() as stack:
            if self._torch is not None:
                stack.enter_context(self._torch.no_grad())
            if self._stream is not None:
                stack.enter_context(self._torch.cuda.stream(self._stream))
            yield

    def restore(self) -> None:
        """Put everything back."""
        random.setstate(self._python)
        np.random.set_state(self._numpy)  # noqa: NPY002
        for module, mode in self._modes:
            module.training = mode
        if self._cpu is not None:
            self._torch.set_rng_state(self._cpu)
        if self._gpus is not None:
            self._torch.cuda.set_rng_state_all(self._gpus)

    def release_memory(self) -> None:
        """Give back the GPU memory that torch keeps in reserve. Waits for the GPU."""
        if self._uses_cuda:
            self._torch.cuda.empty_cache()


def _modules_in(model: Any, torch: Any) -> Iterator[Any]:
    held = [model, *getattr(model, "__dict__", {}).values()]
    for one in held:
        inner = one if isinstance(one, (list, tuple)) else one.values() if isinstance(one, Mapping) else (one,)
        for each in inner:
            if isinstance(each, torch.nn.Module):
                yield each


SHOWN = 4
"""Number of tasks in the strip of frames."""
COLUMNS, WIDTH_PX, GAP_PX = 6, 160, 2
_WHITE = 255
_MOST_WORKERS = 4
_RESERVE_S, _RESERVE_SHARE = 1.0, 0.1
"""Part of the time that is left for putting everything back: so many seconds, or this share where that is less."""


class Probe:
    """A few tasks of a suite for a model in training. Make it once, before training; that may take minutes.

    Attributes:
        suite: The suite.
        data: Folder of the data set.
        tasks: The tasks, the same in every call.
        seconds: Longest duration of a call.

    Examples:
        >>> from worldgauge.models.baselines.trivial import Freeze
        >>> probe = wg.Probe("mind", data="data", tasks=1)
        >>> probe(Freeze(), step=100).step
        100
    """

    def __init__(
        self,
        suite: str,
        *,
        tasks: int = 8,
        seconds: float = 60.0,
        data: Path | str | None = None,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        """Open the suite and choose the tasks.

        Args:
            suite: A suite of world models: its name, "./file.py:Class" or "package.module:Class".
            tasks: Number of tasks; of a larger data set as many, spread evenly over it.
            seconds: Longest duration of a call, on the clock.
            data: Folder of a data set. By default a small one is collected into the user's cache on first use.
            settings: Settings of the suite, plain values.
            seed: Seed of the tasks, as for `engine.run.run`.

        Raises:
            WorldgaugeError: When the suite asks no world models or has no data, or for a value that is not allowed.
        """
        if tasks < 1:
            raise UsageError(f"a probe asks at least 1 task, got {tasks}")
        if not 0 < seconds < math.inf:
            raise UsageError(f"seconds of a probe must be more than 0, got {seconds:g}")
        self.suite = open_suite(suite_name(suite), settings or {})
        _check_kind(self.suite)
        if acted_by(self.suite, "") is not None:
            raise UsageError(f"a person would act in these tasks of {suite}, and a probe waits for nobody")
        self.seconds = seconds
        self.data = small_data_set(self.suite, tasks) if data is None else Path(data)
        self.tasks = _choose_tasks(list_tasks(self.suite, self.data, None), tasks, self.data)
        if isinstance(self.suite, ActedSuite):
            self.suite.prepare(self.tasks, lambda what, done, of: None)
        self._seed = seed
        self._call: _Call | None = None

    def __call__(self, model: WorldModel, step: int) -> ProbeResult:
        """Ask the model all tasks, as far as the time allows.

        The call returns within `seconds`, and raises no error of the model. Between two chunks of a rollout it stops by
        itself. Where the time ends within a chunk, the rest is missing, and later calls return at once until that chunk
        has ended: a live object cannot be stopped from outside.

        Args:
            model: A live object, as for `engine.run.run`.
            step: Step of the training.

        Returns:
            The numbers, and what is missing.
        """
        began = time.monotonic()
        if self._call is not None and self._call.is_alive():
            reason = f"not evaluated: the call of step {self._call.step} still waits for the model"
            return ProbeResult(self.suite.name, step, missing={task.id: reason for task in self.tasks})
        state = TrainingState(model)
        until = began + self.seconds - min(_RESERVE_S, _RESERVE_SHARE * self.seconds)
        call = self._call = _Call(self, model, step, state, until, self._seed)
        try:
            state.set_evaluation()
            call.start()
            call.join(max(0.0, until - time.monotonic()))
        finally:
            call.stop = True
            state.restore()
        if not call.is_alive():
            state.release_memory()
            self._call = None  # holds the model
        return call.result(time.monotonic() - began)


class _OutOfTimeError(WorldgaugeError):
    """Ends a task between two chunks."""


class _Call(threading.Thread):
    """One call of a probe. What it has found so far can be read at any time."""

    def __init__(
        self, probe: Probe, model: WorldModel, step: int, state: TrainingState, until: float, seed: int
    ) -> None:
        super().__init__(name=f"worldgauge-probe-{step}", daemon=True)
        self.step = step
        self.stop = False
        self._probe = probe
        self._model = model
        self._state = state
        self._until = until
        self._seed = seed
        self._last = time.monotonic()
        self._asked: str | None = None
        self._error: str | None = None
        self._reasons: dict[str, str] = {}
        self._scores: dict[str, Sequence[Score]] = {}
        self._strips: list[Image] = []

    def run(self) -> None:
        """Perform and score the tasks in a folder of their own, which is removed at the end."""
        try:
            with self._state.entered(), TemporaryDirectory(prefix="worldgauge-probe-") as folder:
                self._perform(Path(folder))
        except (Exception, SystemExit) as error:
            self._error = one_line(error)

    def result(self, seconds: float) -> ProbeResult:
        """What was found."""
        scores = dict(self._scores)  # copied first: the thread may still run
        missing = {task.id: self._reason(task) for task in self._probe.tasks if task.id not in scores}
        values = summarize_scores(score for own in scores.values() for score in own)
        strip = stack_strips(list(self._strips))
        return ProbeResult(self._probe.suite.name, self.step, values, missing, strip, seconds)

    def _perform(self, folder: Path) -> None:
        probe = self._probe
        with ExitStack() as stack:
            entry = live_entry(self._model)
            run = ModelRun(probe.suite, probe.tasks, entry, RunFolder(folder / entry.label), self._seed, stack)
            run.start(describe_run(probe.suite, probe.tasks, entry, seed=self._seed, data=probe.data, limit=None))
            taken = 0.0
            places = {task.id: place for place, task in enumerate(probe.tasks)}
            # In the order of the data set: where time runs out, every step has answered the same tasks.
            for planned in sorted(run.todo, key=lambda one: places[one.task.id]):
                began = time.monotonic()
                if self.stop or began + taken > self._until:  # the next one may take as long as the last
                    return
                self._asked = planned.task.id
                step = run.perform_live(planned, self._watch)
                if step.status == "done":
                    self._keep(run, planned)
                else:
                    self._reasons[planned.task.id] = step.error or ""
                taken = time.monotonic() - began

    def _watch(self, step: RunStep) -> None:
        """Called after every chunk: stop where the next one would come too late, if it took as long as this one."""
        now = time.monotonic()
        taken, self._last = now - self._last, now
        if self.stop or now + taken > self._until:
            raise _OutOfTimeError(f"the {self._probe.seconds:g} s of the probe were over")

    def _keep(self, run: ModelRun, planned: PlannedTask) -> None:
        task = planned.task
        run.derive_scores()
        self._scores[task.id] = [score for _, score in run.folder.scores() if score.task == task.id]
        if len(self._strips) < SHOWN:
            strip = strip_of(run.suite, read_record(run.folder.record(task.id), task, planned.key))
            self._strips += [] if strip is None else [strip]

    def _reason(self, task: Task) -> str:
        if task.id in self._reasons:
            return self._reasons[task.id]
        if self._error is not None:
            return self._error
        if task.id == self._asked:
            return f"the {self._probe.seconds:g} s of the probe ended while the model was asked"
        return f"not evaluated: the {self._probe.seconds:g} s of the probe were over"


def _check_kind(suite: Suite) -> None:
    if suite.answerer_kind != "model":
        able = sorted(entry.name for entry in suites if suites.get(entry.name).answerer_kind == "model")
        raise UsageError(
            f"suite '{suite.name}' evaluates agents, and a probe is for world models; take one of {', '.join(able)}"
        )


def _choose_tasks(tasks: Sequence[Task], count: int, data: Path) -> list[Task]:
    """At most `count` tasks that can be asked, spread evenly."""
    able = [task for task in tasks if task.skip is None]
    if not able:
        raise UsageError(f"{data}: no task can be asked: {tasks[0].skip}")
    chosen = np.linspace(0, len(able) - 1, min(count, len(able))).round().astype(int)
    return [able[number] for number in chosen]


def small_data_set(suite: Suite, tasks: int) -> Path:
    """Folder of a small data set of a suite. It is made where it is missing, and shared by all processes."""
    options = dict(suite.probe_options(tasks))
    cache = data_cache()
    settings = open_collection(suite.name, cache, options).settings()
    made_of = dumps({"worldgauge": __version__, "suite": suite.name, "settings": settings})
    folder = cache / "probe" / f"{suite.name}-{digest_of(made_of)[:16]}"
    with locked(folder):
        if not folder.exists():
            part = folder.with_name(f".{folder.name}.part")  # a collection that was stopped goes on
            collected = collect(suite.name, part, workers=min(_MOST_WORKERS, os.cpu_count() or 1), **options)
            if not collected.items:
                raise RunError(f"no data for a probe of '{suite.name}': {'; '.join(collected.failures[:1])}")
            os.replace(part, folder)
    return folder


def strip_of(suite: Suite, record: Record) -> Image | None:
    """Six moments of a record, (H, W, 3) uint8: two rows, or one without a comparison; None without frames."""
    looks: tuple[Callable[[Record], tuple[Clip, ...]], ...] = (suite.compared_clips, _rollout_of)
    for clips_of in looks:
        with suppress(Exception):  # a picture costs no number: suites need not compare frames, nor keep a video
            return stack_strips([_row(clip) for clip in clips_of(record) if len(clip)])
    return None


def stack_strips(strips: Sequence[Image]) -> Image | None:
    """Put strips of one width below each other, with a white line between. None where there is none."""
    if not strips:
        return None
    gap = np.full((GAP_PX, strips[0].shape[1], 3), _WHITE, np.uint8)
    return np.concatenate([part for strip in strips for part in (gap, strip)][1:])


def _rollout_of(record: Record) -> tuple[Clip, ...]:
    return (open_rollout(record),)


def _row(clip: Clip) -> Image:
    height = max(1, round(WIDTH_PX * clip.height / clip.width))
    moments = np.linspace(0, len(clip) - 1, COLUMNS).round().astype(int).tolist()
    gap = np.full((height, GAP_PX, 3), _WHITE, np.uint8)
    frames = clip.resized(WIDTH_PX, height).take(moments)
    return np.concatenate([part for frame in frames for part in (gap, frame)][1:], axis=1)
