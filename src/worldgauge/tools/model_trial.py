"""The questions that a model is tried with, its answers, and what a check of them consists of."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import Actions, describe
from worldgauge.core.errors import ModelError, NotApplicableError, UsageError, WorldgaugeError
from worldgauge.core.model import Needs, RolloutRequest, WorldModel, fitted, visible
from worldgauge.engine.collection import counted
from worldgauge.engine.suite.base import suites
from worldgauge.engine.suite.contract import Stopwatch
from worldgauge.engine.suite.trial_questions import TrialQuestions
from worldgauge.engine.workers.worker import Progress, one_line
from worldgauge_serve import last_length

CONTEXT, HORIZON, SEED = 24, 8, 7
LONG_HORIZON, LONG_S = 100, 60.0

_MAX_EMPTY = 20
_PLACE = re.compile(r'File "([^"\n]+)", line (\d+), in (\S+)')
_OURS = Path(__file__).parents[1]


class ModelAnswer:
    """The answer to one request while it arrives: every chunk, and its copy from the moment when it came."""

    def __init__(self, model: WorldModel, request: RolloutRequest, report: Progress, *, keep: bool = True) -> None:
        """Begin a question."""
        self.request = request
        self.chunks: list[Any] = []
        self.copies: list[NDArray[Any] | None] = []
        self.digests: list[bytes] = []  # of frames that are not kept
        self.error: str | None = None
        self.went_on = False  # whether more came after the last requested frame
        self.speed = Stopwatch()  # counts when the answer has ended
        self._report = report
        self._control = model.spec.control
        self._keep = keep
        self._before = _contents(request)
        self._chunks = self.speed.timed(model, self._answers(model), _frames_in)

    def step(self) -> bool:
        """Take one chunk. Returns False when there is nothing more to take."""
        try:
            chunk = next(self._chunks)
            self._report(self.count, self.request.horizon)
        except StopIteration:
            return False
        except NotApplicableError:
            raise
        except (Exception, SystemExit) as error:
            verb = "failed:" if isinstance(error, WorldgaugeError) else "raised"
            self.error = f"{verb} {one_line(error)} (after {counted(self.count, 'frame')}{_place(error)})"
            return False
        array = array_of(chunk)
        if self.count >= self.request.horizon and not (array is not None and array.size == 0):
            self.went_on = True
            return False
        if self._keep:
            self.chunks.append(chunk)
            self.copies.append(None if array is None else array.copy())
        else:  # an array of one shared zero takes no memory
            self.copies.append(None if array is None else np.broadcast_to(np.uint8(0), array.shape))
            self.digests += [hashlib.sha256(frame.tobytes()).digest() for frame in frames_of([array])]
        last = self.copies[-_MAX_EMPTY:]  # after so many empty chunks no frame is expected
        return len(last) < _MAX_EMPTY or not all(copy is not None and copy.size == 0 for copy in last)

    def drop(self) -> None:
        """Abandon the rest of the answer, like a run that is stopped."""
        self._chunks.close()

    @property
    def frames(self) -> list[NDArray[Any]]:
        """The frames as they were when they came, in any form. Chunks that are not numeric are left out."""
        return frames_of(self.copies)

    @property
    def count(self) -> int:
        """Number of frames so far. A chunk without four axes counts as one."""
        return sum(map(_frames_in, self.copies))

    @property
    def touched(self) -> list[str]:
        """Parts of the request that the model has changed."""
        after = _contents(self.request)
        return [name for name, before in self._before.items() if not np.array_equal(before, after[name])]

    @property
    def described(self) -> str:
        """The question in words."""
        request = self.request
        how = "a camera path" if self._control == "camera" else self._control
        width, height = request.frame_size
        return (
            f"{counted(request.horizon, 'frame')} of {width}x{height} "
            f"after {counted(len(request.context), 'frame')} of context, "
            f"driven by {how}, seed {request.seed}"
        )

    def _answers(self, model: WorldModel) -> Generator[Any]:
        """A generator, so that what `rollout` does before its first chunk is timed and caught as well."""
        chunks: Any = model.rollout(self.request)
        if chunks is None:
            raise ModelError("rollout returned None; yield chunks of frames, or return a list of them")
        yield from chunks


class Trial:
    """A model and its answers in all checks; `deadline_s` per chunk is for models that nothing outside can stop."""

    def __init__(
        self, model: WorldModel, suite: str, questions: TrialQuestions, deadline_s: float | None = None
    ) -> None:
        self.model = model
        self.suite = suite
        self.questions = questions
        self.start, self.other_start = questions.starts
        self.longest_horizon = questions.frames - self.start
        self.spec = model.spec
        self._deadline_s = deadline_s
        self._kept: dict[str, ModelAnswer] = {}
        self.begin(lambda done, total: None)

    def begin(self, report: Progress) -> None:
        """Begin a check. Its questions and measurements are collected in `asked` and `measured`."""
        self.asked: list[str] = []
        self.measured: dict[str, Any] = {}
        self._report = report
        self._alive = time.monotonic()

    def question(self, **changed: Any) -> RolloutRequest:
        """The plain request with `changed` values, and lengths that the model declares; `alter` in them maps it."""
        if self.spec.view not in self.questions.sizes:
            having = [name for name, other in trial_questions().items() if self.spec.view in other.sizes]
            raise NotApplicableError(
                f"it draws {self.spec.view}s, and those of {self.suite} are none; "
                f"check it with --suite {' or '.join(having)}"
            )
        plain = {"start": self.start, "context": CONTEXT, "horizon": HORIZON, "seed": SEED}
        alter = changed.pop("alter", None)
        request = self.questions.question(self.spec, **{**plain, **changed})
        return visible(fitted(request if alter is None else alter(request), self.spec), self.spec)

    def begin_answer(self, *, keep: bool = True, **question: Any) -> ModelAnswer:
        """Begin a question (see `question`). The caller takes the chunks."""
        asked = ModelAnswer(self.model, self.question(**question), self._heard, keep=keep)
        self.asked.append(asked.described)
        self._heard(0, 0)
        return asked

    def ask(self, *, keep: bool = True, **question: Any) -> ModelAnswer:
        """The complete answer to a question (see `question`)."""
        asked = self.begin_answer(keep=keep, **question)
        while asked.step():
            pass
        asked.drop()
        return asked

    def plain(self) -> ModelAnswer:
        """The answer to the plain question. It is asked once, as the first question to the model in this process."""
        plain = self._once("plain")
        if plain.error is not None or not plain.copies:
            raise ModelError(f"It {plain.error}." if plain.error else "It gave no frame at all.")
        return plain

    def long(self) -> ModelAnswer:
        """The answer to a long question at the size of the suite's recordings, asked once: 100 frames or a minute."""
        plain = self.plain()
        small, standard = self.questions.sizes[self.spec.view]
        size = None if self.spec.frame_size else standard
        larger = 1.0 if size is None else math.prod(standard) / math.prod(small)
        seconds = (plain.speed.plain() or {"seconds": 0.0})["seconds"]
        affordable = int(LONG_S * plain.count / max(seconds * larger, 1e-6))
        horizon = max(2 * HORIZON, min(LONG_HORIZON, affordable))
        return self._once("long", horizon=horizon, size=size, keep=False)

    def _once(self, name: str, **question: Any) -> ModelAnswer:
        if name in self._kept:
            self.asked.append(self._kept[name].described)
        else:
            self._kept[name] = self.ask(**question)
        return self._kept[name]

    def _heard(self, done: int, total: int) -> None:
        waited, self._alive = time.monotonic() - self._alive, time.monotonic()
        if total and self._deadline_s is not None and waited > self._deadline_s:
            raise ModelError(f"it gave nothing for {waited:.0f} s, and {self._deadline_s:g} s are allowed")
        self._report(done, total)


def trial_questions() -> dict[str, TrialQuestions]:
    """Questions of every suite that has some without a data set, by its name."""
    offered = {entry.name: entry.load().trial_questions() for entry in suites}
    return {name: questions for name, questions in offered.items() if questions is not None}


def model_facts(model: WorldModel, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of `ModelReport` about a model, as JSON values: spec, identity, suites that skip it, and GPUs."""
    try:
        gpus = Needs.of(model).gpus
    except UsageError:  # `spec` reports it
        gpus = 0.0
    facts = {"spec": model.spec.told, "identity": identity, "unfit": unfit_suites(model), "gpus": gpus}
    return dict(json.loads(json.dumps(facts, default=repr)))


def unfit_suites(model: WorldModel) -> dict[str, str]:
    """Why a suite skips a model, by suite."""
    found = {}
    for name, questions in trial_questions().items():
        try:
            Trial(model, name, questions).question()
        except NotApplicableError as error:
            found[name] = str(error)
    return found


class ModelSpeed(NamedTuple):
    """How fast a model answers: seconds per generated frame, and further seconds per request."""

    frame_s: float
    question_s: float


TIMED_S = 20.0
"""Seconds that the longer of the two timed rollouts may take."""


def speeds_of(trial: Trial, sizes: Sequence[tuple[int, int]]) -> dict[str, ModelSpeed]:
    """Speed by frame size, from a short and a long rollout at each."""
    own = trial.spec.frame_size
    found = {}
    most = min(trial.longest_horizon, (last_length(trial.spec.lengths, trial.longest_horizon) or 2) - 1)
    for size in dict.fromkeys([own] if own else sizes):
        asked = trial.ask(horizon=2, size=size, keep=False)  # some models compile for every size
        asked = trial.ask(horizon=2, size=size, keep=False)
        told = asked.speed.plain() or {"seconds": 0.0}
        frames = max(1, asked.count)
        horizon = max(frames + 2, int(TIMED_S * frames / max(told["seconds"], 1e-6)))
        long = trial.ask(horizon=min(most, horizon), size=size, keep=False)
        more = long.speed.plain() or told
        if long.count > frames:
            frame_s = max(0.0, more["seconds"] - told["seconds"]) / (long.count - frames)
        else:  # it makes so many frames whatever it is asked
            frame_s = more["seconds"] / frames
        found["{}x{}".format(*size)] = ModelSpeed(frame_s, max(0.0, told["seconds"] - frames * frame_s))
    return found


def period_of(frames: Sequence[Hashable]) -> int | None:
    """After how many frames, at least two, frames begin again from the first; None where they do not, thrice."""
    found = next((n for n in range(1, len(frames) // 3 + 1) if frames[n:] == frames[:-n]), 1)
    return found if found > 1 else None


def stopped(request: RolloutRequest) -> RolloutRequest:
    """The same question, but nothing moves from its middle on."""
    half, actions, poses, text = request.horizon // 2, request.actions, request.poses, request.text
    if actions is not None:
        actions = Actions(actions.space, np.where(np.arange(len(actions))[:, None] < half, actions.values, 0))
        text = describe(actions)
    if poses is not None:
        poses = poses[np.minimum(np.arange(len(poses)), half - 1)]
    return replace(request, actions=actions, poses=poses, text=text)


def to_bytes(kind: str, low: float, high: float) -> str:
    """Expression that converts values in [low, high] of a dtype's `kind` to bytes."""
    if kind == "b":
        return "frames.astype(np.uint8) * 255"
    if kind == "f" and max(-low, high) <= 2:  # meant as 0..1 or -1..1: decoders overshoot both
        if low < -0.25:
            frames = "frames" if low >= -1 and high <= 1 else "np.clip(frames, -1, 1)"
            return f"(({frames} + 1) * 127.5).round().astype(np.uint8): they look like -1..1"
        frames = "frames" if low >= 0 and high <= 1 else "np.clip(frames, 0, 1)"
        return f"({frames} * 255).round().astype(np.uint8)"
    if low < 0 or high > 255:
        return "np.clip(frames, 0, 255).round().astype(np.uint8), if 0..255 is meant"
    return "frames.round().astype(np.uint8)" if kind == "f" else "frames.astype(np.uint8)"


def frames_of(chunks: Iterable[Any]) -> list[NDArray[Any]]:
    """All frames of some chunks. A chunk without four axes counts as one frame."""
    arrays = [array for array in map(array_of, chunks) if array is not None]
    return [frame for array in arrays for frame in (array if array.ndim == 4 else [array])]


def array_of(chunk: Any) -> NDArray[Any] | None:
    """A chunk as a numeric array: zeros if unreadable, such as a tensor on a GPU; None if it is not an array."""
    try:
        array = np.asarray(chunk)
    except Exception:  # whatever a foreign type raises
        shape = getattr(chunk, "shape", None)
        return None if shape is None else np.broadcast_to(np.uint8(0), tuple(shape))
    return array if array.dtype.kind in "biuf" else None


def _frames_in(chunk: Any) -> int:
    """Number of frames of a chunk: 1 where it has not four axes."""
    array = array_of(chunk)
    return len(array) if array is not None and array.ndim == 4 else 1


def _contents(request: RolloutRequest) -> dict[str, NDArray[Any]]:
    """Copies of all arrays that a model could write to."""
    context = request.context
    parts: dict[str, NDArray[Any]] = {
        "the context frames": context.clip.to_array(),
        "the context actions": context.actions.values.copy(),
    }
    if request.actions is not None:
        parts["the future actions"] = request.actions.values.copy()
    if request.poses is not None:
        parts["the context poses"], parts["the future poses"] = context.path.copy(), request.poses.copy()
    return parts


def _place(error: BaseException) -> str:
    """Place in the model's own code where an error was raised. Empty when it is not known."""
    notes = _PLACE.findall("\n".join(getattr(error, "__notes__", ())))  # by a model's own process
    lines = notes or [(each.filename, each.lineno, each.name) for each in traceback.extract_tb(error.__traceback__)]
    for name, line, function in reversed(lines):
        file = Path(name)
        if not (file.is_relative_to(_OURS) or file.name == "worldgauge_serve.py" or "site-packages" in file.parts):
            return f"; {file.name}, line {line}, in {function}"
    return ""


ROUNDING = 2
"""Grey levels by which two answers may differ and still count as the same: sums on a graphics card vary by as much."""


@dataclass(frozen=True)
class CheckFinding:
    """One problem of a model: a broken promise if `grave`, else a warning."""

    explanation: str
    advice: str
    grave: bool = True


@dataclass(frozen=True)
class ModelCheck:
    """One check of a model, run if all in `after` succeed; if `grave`, a crash or hang in it breaks a promise."""

    name: str
    question: str
    find: Callable[[Trial], Iterator[CheckFinding]]
    after: tuple[str, ...]
    grave: bool


def check(
    question: str, *, after: tuple[str, ...] = ("answers",), grave: bool = True
) -> Callable[[Callable[[Trial], Iterator[CheckFinding]]], ModelCheck]:
    """Decorator that makes a check from a function."""
    return lambda find: ModelCheck(find.__name__.replace("_", "-"), question, find, after, grave)


def complaints(asked: ModelAnswer, advice: str) -> Iterator[CheckFinding]:
    """Find problems with the form of an answer to a special question."""
    if asked.error is not None:
        yield CheckFinding(f"Asked for {asked.described}, it {asked.error}.", advice)
        return
    yield from miscounted(asked, advice)
    width, height = asked.request.frame_size
    for found, times in Counter(frame.shape for frame in asked.frames).items():
        if found != (height, width, 3):
            yield CheckFinding(
                f"Asked for frames ({height}, {width}, 3), it gave {counted(times, 'frame')} of shape {found}.", advice
            )


def miscounted(asked: ModelAnswer, advice: str | None = None) -> Iterator[CheckFinding]:
    """Find problems with the number of frames."""
    wanted = asked.request.horizon
    if asked.count < wanted:
        ended = "stopped after" if asked.count else "gave nothing, not one of"
        yield CheckFinding(
            f"Asked for {counted(wanted, 'frame')}, it {ended} {counted(asked.count or wanted, 'frame')}.",
            advice or "Go on until request.horizon frames are made; it is the number of steps of the future.",
        )
    elif asked.count > wanted or asked.went_on:
        more = f"gave {asked.count}" if asked.count > wanted else "went on after them"
        yield CheckFinding(
            f"Asked for {counted(wanted, 'frame')}, it {more}.",
            advice or "Stop at request.horizon frames: cut the last chunk to chunk[: request.horizon - done].",
        )


def changed(first: ModelAnswer, again: ModelAnswer, when: str, *, grave: bool = True) -> Iterator[CheckFinding]:
    """Find differences between two answers to the same question. Those within ROUNDING do not count."""
    advice = "Keep no state between calls of rollout: make caches, generators and hidden states inside it each time."
    if again.error is not None:
        yield CheckFinding(f"{when}, the same question {again.error}.", advice, grave)
    elif (found := difference(first.frames, again.frames)) and not found.small:
        yield CheckFinding(f"{when}, for the same question {found.words}.", advice, grave)


class Difference(NamedTuple):
    """Difference between two answers in words; `small` if it is no more than ROUNDING."""

    words: str
    small: bool


def difference(first: Sequence[NDArray[Any]], again: Sequence[NDArray[Any]]) -> Difference | None:
    """Compare the frames of two answers."""
    if len(first) != len(again):
        return Difference(f"it gave {counted(len(again), 'frame')} instead of {len(first)}", False)
    worst, differing = 0.0, []
    for at, (one, two) in enumerate(zip(first, again, strict=True)):
        if one.shape != two.shape or one.dtype != two.dtype:
            return Difference(f"frame {at} is {two.dtype} {two.shape} instead of {one.dtype} {one.shape}", False)
        if not np.array_equal(one, two, equal_nan=one.dtype.kind == "f"):
            differing.append(at)
            worst = max(worst, float(np.nanmax(np.abs(one.astype(float) - two.astype(float)))))
    if not differing:
        return None
    rounding = ROUNDING / 255 if first[0].dtype.kind == "f" else ROUNDING
    words = f"{len(differing)} of {counted(len(first), 'frame')} differed (first: {differing[0]}), by up to {worst:.3g}"
    return Difference(words, worst <= rounding)
