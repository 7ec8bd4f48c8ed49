"""Data types of a benchmark: tasks, records, scores and tables, and what a report and a demo show of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar, runtime_checkable

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Frames, Image
from worldgauge.core.io import Stamp, dumps, stamp_of
from worldgauge.core.model import Blinding, RolloutRequest, WorldModel, checked_batch, checked_rollout, holds_videos
from worldgauge.core.video import Clip
from worldgauge.worlds.blocks.mesh import Mesh
from worldgauge_serve import forget_gpu_peak, forget_notes, gpu_peak_bytes, notes

if TYPE_CHECKING:
    from worldgauge.perception.score_device import Means


Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Task:
    """One question of a suite.

    Attributes:
        suite: Name of the suite.
        id: Stable id, unique in the suite: words of [A-Za-z0-9._-] joined by `/`.
        sample: Plain JSON values, enough to perform the task in another process.
        fingerprint: Digest of the data that the task is made of.
        group: Values that tables group by, such as {"type": "ABA", "range": 5}.
        skip: Why the task is not asked. None when it is asked.
        cluster: Name of what it shares with other tasks, such as its scene: their scores are not independent. Empty
            where `Suite.cluster_of` tells it from the id and the group.

    Examples:
        >>> Task("spin", "spin-000", {"path": "spin-000.mp4"}, fingerprint="f00d", group={"turn": "full"}).group["turn"]
        'full'
    """

    suite: str
    id: str
    sample: Mapping[str, Any]
    fingerprint: str
    group: Mapping[str, Any] = field(default_factory=dict)
    skip: str | None = None
    cluster: str = ""


@dataclass(frozen=True)
class Record:
    """Everything that one model did on one task.

    Attributes:
        task: The task.
        model: Name of the model.
        directory: Folder of the record.
        facts: Plain JSON values.
        rollout: Name of the video in the folder. None where there is none.

    Examples:
        >>> from pathlib import Path
        >>> record = Record(Task("spin", "spin-000", {}, "f00d"), "my-model", Path("record"), rollout="rollout.mp4")
        >>> record.task.id, record.rollout
        ('spin-000', 'rollout.mp4')
    """

    task: Task
    model: str
    directory: Path
    facts: Mapping[str, Any] = field(default_factory=dict)
    rollout: str | None = None


@dataclass(frozen=True)
class Score:
    """One number of a task, with name, unit and direction.

    Attributes:
        task: Id of the task.
        metric: Name of the metric.
        value: The value. None when it is missing, with a `reason`. Infinite values are allowed.
        unit: Unit of the value.
        better: Direction of better values.
        n: Number of frames that the value is a mean over.
        reason: Why the value is missing.
        series: Values per frame for curves, pairs of frame index and value or None.
        group: Group of the task.
        facts: Plain JSON values needed for variants and aggregation.
        cluster: Cluster of the task, which the engine fills in. Empty for a task that stands alone.

    Examples:
        >>> Score("spin-000", "psnr", 30.5, unit="dB").better
        'higher'
        >>> Score("spin-000", "psnr", None)
        Traceback (most recent call last):
        worldgauge.core.errors.UsageError: score 'psnr' of 'spin-000' has no value and no reason
    """

    task: str
    metric: str
    value: float | None
    unit: str = "1"
    better: Better = "higher"
    n: int = 0
    reason: str | None = None
    series: Sequence[tuple[int, float | None]] = ()
    group: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    cluster: str = ""

    def __post_init__(self) -> None:
        if self.value is None and not self.reason:
            raise UsageError(f"score '{self.metric}' of '{self.task}' has no value and no reason")
        if self.value is not None and math.isnan(self.value):
            raise UsageError(f"score '{self.metric}' of '{self.task}' is NaN; give None and a reason")


@dataclass(frozen=True)
class Failure:
    """A task without scores, because it failed."""

    task: str
    group: Mapping[str, Any]
    error: str


@dataclass(frozen=True)
class Cell:
    """Mean over trajectories with its spread and interval.

    Attributes:
        mean: Mean of the values. None where `n` is 0.
        std: Population standard deviation. None where `n` is 0 or 1.
        n: Number of values.
        low: Lower end of the 95% interval of the mean.
        high: Upper end of the interval.
        expected: Number of values that there should be.
        clusters: Number of clusters that the values are of. None where it is not known, as for published numbers.
        method: How the interval was made: "hall" for means (see `balanced_interval`), "wilson" for rates, "jackknife".
            Empty without an interval, or if it is not known.

    Examples:
        >>> cell = Cell(0.83, std=0.1, n=8, low=0.76, high=0.91, method="hall")
        >>> f"{cell.mean} [{cell.low}, {cell.high}], n = {cell.n}"
        '0.83 [0.76, 0.91], n = 8'
    """

    mean: float | None
    std: float | None
    n: int
    low: float | None = None
    high: float | None = None
    expected: int | None = None
    clusters: int | None = None
    method: str = field(default="", compare=False)


@dataclass(frozen=True)
class TableRow:
    """One row of a table.

    Attributes:
        label: Name of the model.
        cells: One cell per column.
        kind: "model", "baseline" or "published", so that a baseline is not taken for a competitor.
        flag: A few words where the values are misleading, such as "does not move". They are shown next to the label,
            and the row cannot be the best one.
        marks: What a reader must know of a row that may win, a few words each, such as "8 frames/s".
        group: What sets a model apart, such as "given poses". Only models of one group are ranked together.

    Examples:
        >>> TableRow("freeze", (Cell(18.5, std=2.0, n=8),), kind="baseline", flag="does not move").flag
        'does not move'
    """

    label: str
    cells: tuple[Cell, ...]
    kind: Literal["model", "baseline", "published"] = "model"
    flag: str = ""
    marks: tuple[str, ...] = ()
    group: str = ""


@dataclass(frozen=True)
class Table:
    """A table of one metric, with models as rows.

    Attributes:
        metric: Name of the metric.
        title: Title of the table.
        unit: Unit of the values.
        better: Direction of better values.
        columns: Names of the columns.
        rows: The rows.
        notes: Lines below the table, such as the smallest resolvable difference, or what is left out.
        betters: One direction per column where the columns are of several metrics, as in a paper's own table. Empty
            where `better` holds for all columns.
        bars: Whether the table is also drawn as bars with intervals.
        alarms: Lines below the table that say, in red, why rows of it are no test.

    Examples:
        >>> row = TableRow("my-model", (Cell(30.5, std=2.0, n=8),))
        >>> table = Table("psnr", "PSNR", "dB", "higher", columns=("all",), rows=(row,))
        >>> [(row.label, row.cells[0].mean) for row in table.rows]
        [('my-model', 30.5)]
    """

    metric: str
    title: str
    unit: str
    better: Better
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()
    betters: tuple[Better, ...] = ()
    bars: bool = False
    alarms: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskView:
    """What a report shows of a task.

    Attributes:
        truth: The hidden clip; frame k belongs to frame k of the rollout. A single frame where the continuation is not
            known; it is shown as the start image.
        poses: Camera-to-world poses of the whole walk, (N, 4, 4), in metres.
        generated_from: Index in `poses` of the first frame of `truth`.
        world: The world. None when it is not known.
        marks: Named places, such as "A", at (x, y) in metres of the world frame.
        camera: Camera that took `truth` at those poses. None where it is not told.
        shown: What every model is shown before it answers; the last frame is where the answer begins. None where that
            is not told.

    Examples:
        >>> from worldgauge.data import Clip
        >>> truth = Clip.from_array(np.zeros((4, 8, 8, 3), np.uint8), fps=10)
        >>> view = TaskView(truth, poses=np.tile(np.eye(4), (12, 1, 1)), generated_from=8, marks={"A": (0.0, 0.0)})
        >>> len(view.poses) - view.generated_from == len(view.truth)
        True
    """

    truth: Clip
    poses: FloatArray
    generated_from: int
    world: WorldFacts | None = None
    marks: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    camera: Camera | None = None
    shown: Clip | None = None


@dataclass(frozen=True)
class TaskDetails:
    """Details of a task in addition to its films: plans on the map, and how they were found.

    Attributes:
        paths: Paths by name, (n, 2), in metres of the world frame of `TaskView.poses`. A name is the label of a model
            or another one such as "truth path".
        corridor: Circles in which a good path stays, (m, 3): x, y and radius in metres.
        stills: Indices of the frames of a rollout that were looked at, by label of the model.
        diagnostics: Plain values by column, by label of the model.
        caption: The question in words.

    Examples:
        >>> details = TaskDetails(paths={"truth path": np.array([[0.0, 0.0], [0.0, 2.0]])}, caption="Go to the chair.")
        >>> list(details.paths)
        ['truth path']
    """

    paths: Mapping[str, FloatArray] = field(default_factory=dict)
    corridor: FloatArray | None = None
    stills: Mapping[str, Sequence[int]] = field(default_factory=dict)
    diagnostics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    caption: str = ""


@dataclass(frozen=True)
class EpisodeFilms:
    """The two films of an episode of an agent, in step.

    Attributes:
        seen: What the agent saw.
        imagined: What was imagined of the plans that were taken, or None where nothing was.
        imagined_at: The frame of `seen` that each frame of `imagined` foresees.

    Examples:
        >>> from worldgauge.data import Clip
        >>> seen = Clip.from_array(np.zeros((4, 8, 8, 3), np.uint8), fps=10)
        >>> films = EpisodeFilms(seen, imagined=seen[2:], imagined_at=(2, 3))
        >>> len(films.imagined) == len(films.imagined_at)
        True
    """

    seen: Clip
    imagined: Clip | None = None
    imagined_at: Sequence[int] = ()


@dataclass(frozen=True)
class AnswerView:
    """One answer as a gallery shows it.

    Attributes:
        picture: (H, W, 3) uint8. None where there is none.
        text: The complete text of the answer.
        verdict: The result in a few words.
        reasons: Reasons for the result, one line each.
        solid: A mesh that a viewer can turn.

    Examples:
        >>> AnswerView(text="B", verdict="wrong", reasons=("The answer is A.",)).verdict
        'wrong'
    """

    picture: Image | None = None
    text: str = ""
    verdict: str = ""
    reasons: tuple[str, ...] = ()
    solid: Mesh | None = None


@dataclass(frozen=True)
class AnswerCard:
    """What a report shows of a task that has answers instead of films.

    Attributes:
        asked: The question in words.
        shown: Pictures that came with the question, pairs of a caption and (H, W, 3) uint8.
        plates: Answers by label of the model. The expected answer comes first under the name "expected", where it can
            be shown.

    Examples:
        >>> plates = {"expected": AnswerView(text="2"), "my-agent": AnswerView(text="3")}
        >>> card = AnswerCard("How many doors?", plates=plates)
        >>> {label: plate.text for label, plate in card.plates.items()}
        {'expected': '2', 'my-agent': '3'}
    """

    asked: str
    shown: tuple[tuple[str, Image], ...] = ()
    plates: Mapping[str, AnswerView] = field(default_factory=dict)


class TaskContext(Protocol):
    """What the engine provides to a suite while it performs or scores one task.

    Attributes:
        directory: Folder of the record.
        seed: Seed of the task.
        speed: Measures the answers of the model.
        means: What scores are computed with.
        blinding: Hides the id of the task from the model.
        is_built_in: Whether the model is a baseline of worldgauge.
        with_decoy: Gives a request the context of an arm of the decoy test. None outside of the test.

    Examples:
        >>> class Printed(TaskContext):  # for a test of a suite
        ...     seed = 7
        ...     def progress(self, done, total):
        ...         print(f"{done} of {total} frames")
        >>> Printed().progress(3, total=8)
        3 of 8 frames
    """

    directory: Path
    """The record's own folder: the only place a suite may write."""
    seed: int
    """Of this task, whatever the order of tasks and the number of workers."""
    speed: Stopwatch
    """Through it the model is asked (`write_rollout` does so), so that tables can tell how fast it is."""
    blinding: Blinding
    """`speed` applies it to every request; a suite of agents applies it to a problem."""
    means: Means
    """Threads, and a device where one is asked for. No score may depend on it but in its last digits."""
    is_built_in: bool
    """Only a built-in baseline reports its own camera path. The path of any other model is decoded or missing."""
    with_decoy: Callable[[RolloutRequest], RolloutRequest] | None

    def progress(self, done: int, total: int) -> None:
        """Report progress, which also keeps the task alive. Call it after every frame or chunk.

        Args:
            done: Number of frames done.
            total: Number of frames in total.
        """
        ...


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """Mean of the values that are not None; None when there is none.

    Examples:
        >>> mean_of_known([1.0, None, 2.0])
        1.5
    """
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


@dataclass(frozen=True)
class DemoSet:
    """A data set of a suite, and the models that are shown on it.

    Attributes:
        place: Place of the suite on the page.
        question: What the suite asks, in one sentence.
        options: Options of the collection of the suite's name.
        models: Models or agents as text.
        stand_in: The one of `models` that takes the part of the user's.
        settings: Settings of the suite.
        core_seconds: Processor time that it took when measured. Orders the work and gives the time left.
        megabytes: Disk space that it needs.

    Examples:
        >>> DemoSet(6, "Does it come back?", options={"spins": 2}, models=("truth", "drift"), stand_in="drift").options
        {'spins': 2}
    """

    place: int
    question: str
    options: Mapping[str, Any]
    models: tuple[str, ...]
    stand_in: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    core_seconds: float = 60.0
    megabytes: float = 50.0


@runtime_checkable
class TellsOfAnswer(Protocol):
    """A model in another process that may tell of its last answer."""

    gpu_peak_bytes: int | None
    """Most GPU memory that tensors took, in bytes; None where it is not known."""
    notes: tuple[str, ...]
    """What the model has told with `worldgauge_serve.note`."""


class Stopwatch:
    """Measures all answers that a model gives to one task."""

    def __init__(self, blinding: Blinding | None = None) -> None:
        self.notes: list[str] = []
        self.blinding = blinding or Blinding()
        self._questions = self._frames = 0
        self._first_s = self._seconds = 0.0
        self._gpu_peak_bytes: int | None = None

    def rollout(self, model: WorldModel, request: RolloutRequest) -> Iterator[Frames]:
        """Run one rollout in chunks (n, H, W, 3) uint8, checked by `checked_rollout`. It counts when it has ended."""
        return self.timed(model, checked_rollout(model, self.blinded(model, request)))

    def blinded(self, model: WorldModel, request: RolloutRequest) -> RolloutRequest:
        """The request without what tells the model which task it is of; finished videos are found by their task."""
        return request if holds_videos(model) else self.blinding.request(request)

    def timed(
        self, model: WorldModel, chunks: Iterable[Any], count: Callable[[Any], int] = len
    ) -> Generator[Any, None, None]:
        """Measure one answer of a model, whoever checks it. It counts when it has ended."""
        forget_gpu_peak()
        forget_notes()
        first_s, waited_s, frames = math.nan, 0.0, 0
        waiting = iter(chunks)
        try:
            while True:
                asked = time.perf_counter()
                try:
                    chunk = next(waiting)
                except StopIteration:
                    waited_s += time.perf_counter() - asked
                    break
                waited_s += time.perf_counter() - asked
                first_s = first_s if frames else waited_s
                frames += count(chunk)
                yield chunk
        finally:
            if isinstance(waiting, Generator):
                waiting.close()
        self._add(model, first_s, waited_s, frames)

    def batch(self, model: WorldModel, requests: Sequence[RolloutRequest]) -> list[Frames]:
        """Run a batch of rollouts, checked by `checked_batch`: one array (horizon, H, W, 3) uint8 per request."""
        if len(requests) < 2 or not hasattr(model, "rollout_batch"):
            return [np.concatenate(list(self.rollout(model, request))) for request in requests]
        forget_gpu_peak()
        forget_notes()
        asked = time.perf_counter()
        answers = checked_batch(model, [self.blinded(model, request) for request in requests])
        waited_s = time.perf_counter() - asked
        self._add(model, waited_s, waited_s, sum(map(len, answers)))
        return answers

    def plain(self) -> dict[str, Any] | None:
        """What was measured, as JSON values; None without a rollout. "first_s" is the mean time to the first frame."""
        if not self._questions:
            return None
        return {
            "questions": self._questions,
            "first_s": round(self._first_s / self._questions, 6),
            "frames": self._frames,
            "seconds": round(self._seconds, 6),
            "gpu_peak_bytes": self._gpu_peak_bytes,
        }

    def _add(self, model: WorldModel, first_s: float, waited_s: float, frames: int) -> None:
        self._questions += 1
        self._first_s += first_s
        self._seconds += waited_s
        self._frames += frames
        behind = getattr(model, "behind", model)  # of a calibrated model
        if isinstance(behind, TellsOfAnswer):
            peak, told = behind.gpu_peak_bytes, behind.notes
        else:
            peak, told = gpu_peak_bytes(), notes()
        self.notes += [one for one in told if one not in self.notes]
        if peak is not None:
            self._gpu_peak_bytes = max(peak, self._gpu_peak_bytes or 0)


T = TypeVar("T")
P = ParamSpec("P")
_FOLDERS = 2
"""Data folders whose indexes a process keeps."""


class TaskData(Generic[T]):
    """Finds what a task is made of. It is read again when that has another fingerprint than the task.

    Args:
        read: Reads what a task is made of, of a data folder and the task's id. A suite with a file per recording reads
            that recording alone; one with a file for all reads all. Returns what was read by task id, without that of
            `id` where it is gone.
        fingerprint: Fingerprint of that, with the content of files as it is now (`core.io.digest_of_file`).
        files: Files of which `read` takes more than the fingerprint holds; None for one that is missing.

    Examples:
        >>> spins = TaskData(read=lambda folder, name: {name: {"frames": 80}}, fingerprint=str)
        >>> spins(Task("spin", "spin-000", {"source": "data"}, fingerprint="{'frames': 80}"))
        {'frames': 80}
        >>> spins(Task("spin", "spin-000", {"source": "data"}, fingerprint="{'frames': 24}"))
        Traceback (most recent call last):
        worldgauge.core.errors.DataError: data: the data of 'spin-000' changed after the run was planned; run again
    """

    def __init__(
        self,
        read: Callable[[Path, str], Mapping[str, T]],
        fingerprint: Callable[[T], str],
        files: Callable[[T], Iterable[Path | None]] = lambda _: (),
    ) -> None:
        self._read, self._fingerprint, self._files = read, fingerprint, files
        self._held: dict[str, dict[str, tuple[T, list[Stamp | None]]]] = {}
        self._lock = Lock()

    def __call__(self, task: Task) -> T:
        """Return what a task is made of. `task.sample["source"]` is the data folder.

        Raises:
            DataError: It is gone, or is not what it was when the task was planned.
        """
        source = str(task.sample["source"])
        found = self._find(self._held.get(source, {}), task)
        if found is None:
            read = self._read(Path(source), task.id)
            if task.id not in read:
                raise DataError(f"{source}: '{task.id}' is gone; run again")
            found = self._find(self.hold(source, read), task)
            if found is None:
                raise changed(task)
        return found[0]

    def hold(self, source: str, read: Mapping[str, T]) -> Mapping[str, tuple[T, list[Stamp | None]]]:
        """Cache what tasks are made of, so that the process that plans them does not read it again."""
        added = {name: (one, self._stamps(one)) for name, one in read.items()}
        with self._lock:
            self._held[source] = held = {**self._held.pop(source, {}), **added}
            if len(self._held) > _FOLDERS:
                del self._held[next(iter(self._held))]
        return held

    def _find(self, held: Mapping[str, tuple[T, list[Stamp | None]]], task: Task) -> tuple[T, ...] | None:
        """What is held of a task, alone in a tuple; None where it is missing or another one."""
        one, stamps = held.get(task.id, (None, None))
        if one is None or stamps != self._stamps(one) or self._fingerprint(one) != task.fingerprint:
            return None
        return (one,)

    def _stamps(self, one: T) -> list[Stamp | None]:
        return [None if path is None else stamp_of(path) for path in self._files(one)]


def changed(task: Task) -> DataError:
    """The error of a task whose data are not those that it was planned with."""
    return DataError(f"{task.sample['source']}: the data of '{task.id}' changed after the run was planned; run again")


def cached_by_task(maxsize: int) -> Callable[[Callable[Concatenate[Task, P], T]], Callable[Concatenate[Task, P], T]]:
    """Cache the last results of a function by its task's fingerprint and sample, and its other positional arguments.

    Keyword arguments are not part of the key.

    Args:
        maxsize: Number of results.

    Examples:
        >>> @cached_by_task(maxsize=8)
        ... def count_frames(task):
        ...     print("reads", task.id)
        ...     return 24
        >>> task = Task("spin", "spin-000", {}, "f00d")
        >>> count_frames(task) + count_frames(task)
        reads spin-000
        48
    """

    def decorate(function: Callable[Concatenate[Task, P], T]) -> Callable[Concatenate[Task, P], T]:
        @lru_cache(maxsize=maxsize)
        def held(call: _Call) -> T:
            kwargs, call.kwargs = call.kwargs, {}  # the cache holds the call, and they may be large
            return function(call.task, *call.args, **kwargs)

        @wraps(function)
        def cached(task: Task, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return held(_Call(task, args, kwargs))

        return cached

    return decorate


class _Call:
    """A call as a cache key."""

    def __init__(self, task: Task, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.task, self.args, self.kwargs = task, args, kwargs
        self._key = (task.suite, task.id, task.fingerprint, dumps(task.sample), args)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and self._key == other._key
