"""Questions of the conformance checks about one short real walk, and the answers of a model."""

from __future__ import annotations

import math
import re
import time
import traceback
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import worldgauge
from worldgauge.core.actions import LOOP_WALK, Actions, camera_path, walk_look
from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import NotApplicableError, SubjectError, WorldgaugeError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, WorldModel
from worldgauge.core.video import Clip
from worldgauge.engine.workers.worker import Progress, one_line
from worldgauge.suites.loopnav.format.trajectories import aligned_actions
from worldgauge.suites.loopnav.protocol import make_request
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.suites.loopnav.walks.loops import record_loop
from worldgauge.suites.loopnav.walks.sites import VoxelSite
from worldgauge.tools.check_model.steps import SIZES, steps_question
from worldgauge.worlds import open_world
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.eye import VERTICAL_FOV_DEG

SIZE = (160, 90)
"""Width and height asked of a model that draws any size; also of the recording that smaller models are shown."""
STANDARD_SIZE = (640, 360)
"""Of the recordings of loopnav."""
START, OTHER_START = 203, 227
"""Frames of the walk at which the future begins, in the plain and in another question: some steps, then a turn."""
CONTEXT, HORIZON, SEED = 24, 8, 7
LONG_HORIZON, LONG_S = 100, 60.0

_WORLD = WorldFacts("voxel", {"kind": "plains", "seed": 1, "size": (160, 160, 56)})
_RADIUS = 15
_MAX_EMPTY = 20
_PLACE = re.compile(r'File "([^"\n]+)", line (\d+), in (\S+)')
_OURS = Path(worldgauge.__file__).parent


CheckedSuite = Literal["loopnav", "mind", "closedloop"]
"""Suites whose actions a model can be asked with."""


def longest_horizon(start: int = START) -> int:
    """Longest horizon that can be asked: the number of frames of the walk from frame `start` on."""
    return len(_walk()[0]) - start


def make_question(
    spec: ModelSpec,
    *,
    start: int = START,
    context: int = CONTEXT,
    horizon: int = HORIZON,
    seed: int = SEED,
    size: tuple[int, int] | None = None,
    turn: float | None = None,
    suite: CheckedSuite = "loopnav",
) -> RolloutRequest:
    """A question in the form of loopnav about a walk in an embedded settlement. It shares no data with other questions.

    The walk is labelled with the rate of the model. For closedloop it is a walk in a home with one frame of context,
    whatever `context` is; see `steps_question`.

    Args:
        spec: What the model declares.
        start: First frame to imagine.
        context: Number of frames shown.
        horizon: Number of frames to imagine.
        seed: Seed of the question.
        size: Width and height of the recording, by default small for models that draw any size.
        turn: Radians per frame to the left, instead of the recorded future.
        suite: Suite whose actions are used. With the keys of mind a turn is a held key.

    Returns:
        The question.

    Raises:
        NotApplicableError: For models that draw panoramas, which only closedloop has.
    """
    if suite == "closedloop":
        return steps_question(spec, start=start, horizon=horizon, seed=seed, size=size, turn=turn)
    if spec.view == "panorama":
        raise NotApplicableError(f"it draws panoramas, and those of {suite} are none; check it with --suite closedloop")
    walked, keys = _walk()
    poses = walked[start - context : start + horizon].copy()
    values = keys[start - context : start + horizon - 1].copy()
    space = LOOP_WALK
    if turn is not None:
        values[context - 1 :] = 0
        values[context - 1 :, space.column("camera_yaw")] = turn
    if suite == "mind":
        space, values = walk_look(), _as_keys(values)
    if spec.fps is not None:
        space = replace(space, fps=float(spec.fps))
    if turn is not None:
        poses[context:] = camera_path(Actions(space, values[context - 1 :]), poses[context - 1])
    larger = spec.frame_size is not None and spec.frame_size[0] > SIZE[0]
    camera = Camera.from_vertical_fov(*(size or (STANDARD_SIZE if larger else SIZE)), VERTICAL_FOV_DEG)
    clip = Clip(_Scenes(poses, camera), range(len(poses)), space.fps, (camera.width, camera.height))
    episode = Episode("check", clip, poses, Actions(space, values), camera, _WORLD)
    request = make_request(episode, context, spec, LoopNavSettings(), seed=seed)
    frames = Clip.from_array(request.context.clip.to_array(), space.fps)
    return replace(request, context=replace(request.context, clip=frames), task="check")


def _as_keys(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """A loop walk (n, 4) as the keys of mind (n, 8): each key that would move in the same direction is held."""
    forward, _, yaw, pitch = values.T
    none = np.zeros_like(forward)
    columns = (forward, none, none, none, pitch > 0, pitch < 0, yaw > 0, yaw < 0)
    return np.stack(columns, axis=1).astype(np.float32)


class ModelAnswer:
    """The answer to one question while it arrives: every chunk, and its copy from the moment when it came.

    Attributes:
        error: The model's exception in one line that begins with a verb.
        went_on: Whether more came after the last frame that was asked for.
        seconds: Time that the model has taken so far.
        first_s: Time for its first chunk.
    """

    def __init__(self, model: WorldModel, request: RolloutRequest, report: Progress, *, keep: bool = True) -> None:
        """Begin a question.

        Args:
            model: The model.
            request: The question.
            report: Called with the number of frames so far and the horizon.
            keep: Whether frames are kept. False keeps only their shapes.
        """
        self.request = request
        self.chunks: list[Any] = []
        self.copies: list[NDArray[Any] | None] = []
        self.error: str | None = None
        self.went_on = False
        self.seconds = 0.0
        self.first_s: float | None = None
        self._report = report
        self._keep = keep
        self._before = _contents(request)
        self._chunks = self._answers(model)

    def step(self) -> bool:
        """Take one chunk. Returns False when there is nothing more to take."""
        began = time.monotonic()
        try:
            chunk = next(self._chunks)
            self._report(self.count, self.request.horizon)
        except StopIteration:
            return False
        except NotApplicableError:
            raise
        except (Exception, SystemExit) as error:
            verb = "failed:" if isinstance(error, WorldgaugeError) else "raised"
            self.error = f"{verb} {one_line(error)} (after {frames_in_words(self.count)}{_place(error)})"
            return False
        finally:
            self.seconds += time.monotonic() - began
        array = array_of(chunk)
        if self.count >= self.request.horizon and not (array is not None and array.size == 0):
            self.went_on = True
            return False
        self.first_s = self.seconds if self.first_s is None else self.first_s
        if self._keep:
            self.chunks.append(chunk)
            self.copies.append(None if array is None else array.copy())
        else:  # an array of one shared zero takes no memory
            self.copies.append(None if array is None else np.broadcast_to(np.uint8(0), array.shape))
        return not _all_empty(self.copies[-_MAX_EMPTY:])

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
        return sum(len(copy) if copy is not None and copy.ndim == 4 else 1 for copy in self.copies)

    @property
    def touched(self) -> list[str]:
        """Parts of the request that the model has changed."""
        after = _contents(self.request)
        return [name for name, before in self._before.items() if not np.array_equal(before, after[name])]

    @property
    def described(self) -> str:
        """The question in words."""
        request = self.request
        how = "actions" if request.actions is not None else "a camera path" if request.poses is not None else "text"
        width, height = request.frame_size
        return (
            f"{frames_in_words(request.horizon)} of {width}x{height} "
            f"after {frames_in_words(len(request.context))} of context, "
            f"driven by {how}, seed {request.seed}"
        )

    def _answers(self, model: WorldModel) -> Generator[Any]:
        """A generator, so that what `rollout` does before its first chunk is timed and caught as well."""
        chunks: Any = model.rollout(self.request)
        if chunks is None:
            raise SubjectError("rollout returned None; yield chunks of frames, or return a list of them")
        yield from chunks


class Trial:
    """A model and its answers, in one process, for one check after another.

    Args:
        model: The model.
        deadline_s: Seconds without a chunk after which the model has failed, for models that cannot be stopped from
            outside.
        suite: Suite whose actions control the model.
    """

    def __init__(self, model: WorldModel, deadline_s: float | None = None, suite: CheckedSuite = "loopnav") -> None:
        self.model = model
        self.suite = suite
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

    def question(self, **question: Any) -> RolloutRequest:
        """A question to this model; see `make_question`."""
        return make_question(self.spec, suite=self.suite, **question)

    def start(self, *, keep: bool = True, **question: Any) -> ModelAnswer:
        """Begin a question (see `make_question`). The caller takes the chunks."""
        asked = ModelAnswer(self.model, self.question(**question), self._heard, keep=keep)
        self.asked.append(asked.described)
        self._heard(0, 0)
        return asked

    def ask(self, *, keep: bool = True, **question: Any) -> ModelAnswer:
        """The complete answer to a question (see `make_question`)."""
        asked = self.start(keep=keep, **question)
        while asked.step():
            pass
        asked.drop()
        return asked

    def plain(self) -> ModelAnswer:
        """The answer to the plain question. It is asked once, as the first question to the model in this process.

        Raises:
            SubjectError: When there is no answer.
        """
        plain = self._once("plain")
        if plain.error is not None or not plain.copies:
            raise SubjectError(f"It {plain.error}." if plain.error else "It gave no frame at all.")
        return plain

    def long(self) -> ModelAnswer:
        """The answer to a long question at the size of the suite's recordings, asked once: 100 frames or a minute."""
        plain = self.plain()
        small, standard = SIZES[self.spec.view] if self.suite == "closedloop" else (SIZE, STANDARD_SIZE)
        size = None if self.spec.frame_size else standard
        larger = 1.0 if size is None else math.prod(standard) / math.prod(small)
        affordable = int(LONG_S * plain.count / max(plain.seconds * larger, 1e-6))
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
            raise SubjectError(f"it gave nothing for {waited:.0f} s, and {self._deadline_s:g} s are allowed")
        self._report(done, total)


def frames_of(chunks: Iterable[Any]) -> list[NDArray[Any]]:
    """All frames of some chunks. A chunk without four axes counts as one frame."""
    arrays = [array for array in map(array_of, chunks) if array is not None]
    return [frame for array in arrays for frame in (array if array.ndim == 4 else [array])]


def array_of(chunk: Any) -> NDArray[Any] | None:
    """A chunk as a numeric array.

    Args:
        chunk: What the model gave.

    Returns:
        The array. Zeros of the same shape where the chunk has a shape but cannot be read, such as a tensor on a GPU.
        None
        where it cannot be an array.
    """
    try:
        array = np.asarray(chunk)
    except Exception:  # whatever a foreign type raises
        shape = getattr(chunk, "shape", None)
        return None if shape is None else np.broadcast_to(np.uint8(0), tuple(shape))
    return array if array.dtype.kind in "biuf" else None


def frames_in_words(frames: int) -> str:
    """A number of frames in words."""
    return "1 frame" if frames == 1 else f"{frames} frames"


@lru_cache(maxsize=1)
def _walk() -> tuple[FloatArray, NDArray[np.float32]]:
    """Poses (N, 4, 4) and action values (N - 1, 4) of one loop of 379 frames in a small settlement."""
    world = open_world(_WORLD)
    assert isinstance(world, Voxel)
    walk = record_loop(VoxelSite(world.voxels), kind="ABA", radius=_RADIUS, rng=np.random.default_rng(1))
    return walk.poses, aligned_actions(walk).values


class _Scenes:
    """Frames of a clip that are drawn on demand, since most futures are never used."""

    def __init__(self, poses: FloatArray, camera: Camera) -> None:
        self._poses = poses
        self._camera = camera

    def frame(self, index: int) -> Frames:
        return _picture(self._poses[index].tobytes(), self._camera).copy()

    def read(self, indices: Iterable[int]) -> Iterator[Frames]:
        return (self.frame(index) for index in indices)


@lru_cache(maxsize=192)
def _picture(pose: bytes, camera: Camera) -> Frames:
    return open_world(_WORLD).view(np.frombuffer(pose).reshape(4, 4), camera).rgb


def _contents(request: RolloutRequest) -> dict[str, NDArray[Any]]:
    """Copies of all arrays that a model could write to."""
    context = request.context
    parts: dict[str, NDArray[Any]] = {
        "the context frames": context.clip.to_array(),
        "the context poses": context.poses.copy(),
        "the context actions": context.actions.values.copy(),
    }
    if request.actions is not None:
        parts["the future actions"] = request.actions.values.copy()
    if request.poses is not None:
        parts["the future poses"] = request.poses.copy()
    return parts


def _place(error: BaseException) -> str:
    """Place in the model's own code where an error was raised. Empty when it is not known."""
    told = _PLACE.findall("\n".join(getattr(error, "__notes__", ())))  # by a model's own process
    lines = told or [(each.filename, each.lineno, each.name) for each in traceback.extract_tb(error.__traceback__)]
    own = [(Path(file), line, function) for file, line, function in lines if not _is_library(Path(file))]
    if not own:
        return ""
    file, line, function = own[-1]
    return f"; {file.name}, line {line}, in {function}"


def _is_library(file: Path) -> bool:
    return file.is_relative_to(_OURS) or file.name == "worldgauge_serve.py" or "site-packages" in file.parts


def _all_empty(copies: list[NDArray[Any] | None]) -> bool:
    """Whether so many chunks were empty that no frame is expected."""
    return len(copies) == _MAX_EMPTY and all(copy is not None and copy.size == 0 for copy in copies)
