"""What is tested: the WorldModel protocol, and ModelSpec, which declares what a model takes and returns."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, Protocol, TypeGuard, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import Actions, Control, Prompt, prompts
from worldgauge.core.episode import Context, WorldFacts
from worldgauge.core.errors import DataError, ModelError, NotApplicableError, UsageError
from worldgauge.core.geometry import FloatArray, invert, yaw_pitch_from_pose
from worldgauge.core.image import MAX_PIXELS, Frames, locked
from worldgauge.core.video import Clip
from worldgauge_serve import last_length, next_length, pose_fault, resting

View = Literal["perspective", "panorama"]
PRIVILEGED = frozenset({"truth", "world"})
INPUTS = frozenset({"actions", "caption", "depth", "poses", "text", *PRIVILEGED})
FORM_OF: Mapping[Control, str] = {"actions": "actions", "camera": "poses", "text": "text"}
"""Field of a request that each kind of control is driven by."""


@dataclass(frozen=True)
class ModelSpec:
    """What a world model takes and returns.

    Attributes:
        name: Shown in tables.
        control: Which form of the future drives it; other forms come with it where they are known, but poses only if
            the model declares them.
        view: Kind of image that it takes and returns. A panorama is equirectangular: the camera of its context is a
            `geometry.Panorama`, and its depth is in metres along the ray.
        frame_size: (width, height) in pixels that it takes and returns; None for the size of the context.
        fps: Its own rate in frames per second; None for any. Where recordings have another rate, it is asked at its
            own for the same seconds, and its frames are drawn at their times. In closed loops a frame is a step.
        max_context: Longest context in frames; None for no limit.
        chunk: Frames that it makes at once; None for any number. A hint: a rollout may come in chunks of any length.
        inputs: What it cannot do without besides the context and its control: "caption", or another form of the same
            future ("actions", "poses", "text"), where a task that lacks it is skipped; "depth" of the context; "world"
            and "truth", which are for references. Every table marks the models that had them.
        crop: (width, height) ratio of the centre part of the truth that it can draw, such as (4, 3); None for all.
        settings: Everything that changes its output, as plain JSON values; part of a task's identity.
        lengths: Numbers of frames that a rollout may have, the picture that it goes on from counted with them: a rule
            ("4n+1", "57+40n", "8n+1 to 961", n from 0) or a sequence of numbers; None for any. A horizon that does not
            fit is asked longer, standing still at its end, and cut afterwards; one that is too long is not asked.
        context_lengths: The same for the frames of its context, which is cut to its last ones, or filled up in front
            with its first frame.
        action_spaces: Names of the spaces of actions that it knows, or what they begin with up to a hyphen; None for
            any. Where actions drive it, or it requires them, tasks of other spaces are skipped.

    Raises:
        UsageError: A field is out of range, or does not fit the others.

    Examples:
        >>> ModelSpec("mine", control="camera", fps=16).privileged
        False
        >>> ModelSpec("mine", control="keys")
        Traceback (most recent call last):
        ...
        worldgauge.core.errors.UsageError: model 'mine': control is 'keys'; give one of actions, camera, text
    """

    name: str
    control: Control = "actions"
    view: View = "perspective"
    frame_size: tuple[int, int] | None = None
    fps: float | None = None
    max_context: int | None = None
    chunk: int | None = None
    inputs: frozenset[str] = frozenset()
    crop: tuple[int, int] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    lengths: str | Sequence[int] | None = None
    context_lengths: str | Sequence[int] | None = None
    action_spaces: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Check all fields."""
        unknown = self.inputs - INPUTS
        if unknown:
            raise UsageError(f"model '{self.name}' wants unknown inputs {sorted(unknown)}; known: {sorted(INPUTS)}")
        for name, fine, rule in (
            ("control", self.control in get_args(Control), f"one of {', '.join(get_args(Control))}"),
            ("view", self.view in get_args(View), f"one of {', '.join(get_args(View))}"),
            ("frame_size", _is_size(self.frame_size), f"width and height, at most {MAX_PIXELS} pixels in all"),
            ("fps", self.fps is None or _is_positive(self.fps, Real), "frames a second"),
            ("max_context", self.max_context is None or _is_positive(self.max_context, Integral), "at least 1 frame"),
            ("chunk", self.chunk is None or _is_positive(self.chunk, Integral), "at least 1 frame"),
            ("crop", _is_pair(self.crop, Real), "a ratio such as (4, 3)"),
            ("lengths", _is_rule(self.lengths, 2), _RULES),
            ("context_lengths", _is_rule(self.context_lengths, 1), _RULES),
            ("action_spaces", _are_names(self.action_spaces), "names such as ('loop-walk',)"),
        ):
            if not fine:
                raise UsageError(f"model '{self.name}': {name} is {getattr(self, name)!r}; give {rule}")
        if self.crop is not None and self.view == "panorama":
            raise UsageError(f"model '{self.name}': crop is {self.crop!r}; a panorama has no centre part, leave it out")

    @property
    def told(self) -> dict[str, Any]:
        """All fields as plain JSON values, but for the fields after `settings` that are left at their default."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        later = [name for name in ("lengths", "context_lengths", "action_spaces") if told[name] is None]
        return {**{name: told[name] for name in told if name not in later}, "inputs": sorted(self.inputs)}

    @property
    def privileged(self) -> bool:
        """True when the model sees what a tested model must not: it is a reference, not a competitor."""
        return bool(self.inputs & PRIVILEGED)


def receives_poses(control: str, inputs: Collection[str]) -> bool:
    """Whether a model with this control and these inputs declares that it needs camera poses."""
    return control == "camera" or "poses" in inputs


@dataclass(frozen=True)
class RolloutRequest:
    """One request to a world model; it holds all state, so it can be repeated anywhere.

    `actions`, `poses` and `text` are three forms of the same future. The one that `ModelSpec.control` names is always
    there and binds; the others are there where they are known.

    Attributes:
        context: What the model has seen.
        horizon: Number of frames to imagine.
        seed: Seed of all randomness.
        actions: `horizon` rows; row 0 leads from the last context frame to the first imagined one.
        poses: (horizon, 4, 4) camera-to-world, metres, if the model declares control "camera" or the input "poses". The
            world is that of `Context.poses`.
        text: Instruction in words.
        caption: What the first frame of the context shows, in a sentence without motion. None where
            it is not known. Every model gets it.
        world: The world in which the context was recorded, for models that ask for it.
        truth: The recorded future, for models that ask for it.
        truth_poses: (horizon, 4, 4) camera-to-world poses of `truth`, where they are known.
        task: Salted hash of the task's id, for names of files; empty when there is none.

    Examples:
        >>> from worldgauge.data import LOOP_WALK, Actions, Clip, Context
        >>> from worldgauge.world import Camera
        >>> clip = Clip.from_array(np.zeros((1, 6, 8, 3), np.uint8), fps=20)
        >>> context = Context(clip, None, Actions(LOOP_WALK, np.zeros((0, 4), np.float32)), Camera(8, 6, 5, 5, 4, 3))
        >>> RolloutRequest(context, horizon=10, seed=0, text="Walk forward 2 metres.").frame_size
        (8, 6)
    """

    context: Context
    horizon: int
    seed: int
    actions: Actions | None = None
    poses: FloatArray | None = None
    text: str | None = None
    caption: str | None = None
    world: WorldFacts | None = None
    truth: Clip | None = None
    truth_poses: FloatArray | None = None
    task: str = ""

    @property
    def prompts(self) -> tuple[Prompt, ...] | None:
        """The future as a chain of sentences, each from a frame on; None where no actions are known."""
        return None if self.actions is None else prompts(self.actions)

    @property
    def frame_size(self) -> tuple[int, int]:
        """(width, height) in pixels of the requested frames."""
        return self.context.camera.width, self.context.camera.height


@dataclass(frozen=True)
class Blinding:
    """Hides from a model which task it answers. Runs of earlier versions have no salt, and hide nothing."""

    salt: str | None = None
    seed: int = 0

    def name(self, task: str) -> str:
        """What a model gets as the id of a task."""
        if self.salt is None or not task:
            return task
        return hashlib.sha256(f"{self.salt}/{task}".encode()).hexdigest()[:32]

    def seed_of(self, plain: int, words: str, *arrays: NDArray[Any]) -> int:
        """A 32-bit seed of the run and of what the model sees anyway. A seed of the public id would reveal the task."""
        if self.salt is None:
            return plain
        digest = hashlib.sha256(f"{self.seed}/{words}".encode())
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
        return int.from_bytes(digest.digest()[:4])

    def request(self, request: RolloutRequest) -> RolloutRequest:
        """The request with a salted id, and a seed of its last frame, horizon and text."""
        if self.salt is None:
            return request
        seed = self.seed_of(request.seed, f"{request.horizon}/{request.text or ''}/", request.context.clip[-1])
        return replace(request, task=self.name(request.task), seed=seed)


@dataclass(frozen=True)
class Needs:
    """Share of a machine that one copy of a model takes.

    A model declares it as the attribute `needs` of its class, a mapping such as {"gpus": 1, "memory_gb": 24}, so that
    it can be read before the model is made.

    Attributes:
        gpus: Graphics processors; may be a fraction.
        cpus: Processor cores.
        memory_gb: Memory in GB; 0 when it was not stated.

    Examples:
        >>> class Large:
        ...     needs = {"gpus": 1, "memory_gb": 24}
        >>> Needs.of(Large)
        Needs(gpus=1, cpus=1.0, memory_gb=24)
    """

    gpus: float = 0.0
    cpus: float = 1.0
    memory_gb: float = 0.0

    @classmethod
    def of(cls, model: Any) -> Needs:
        """Read the needs that a model declares.

        Args:
            model: The model, or its class.

        Returns:
            The declared needs, or the default.

        Raises:
            UsageError: A name is unknown, or an amount is not a finite number >= 0.
        """
        declared = getattr(model, "needs", {})
        if isinstance(declared, Needs):
            return declared
        known = tuple(each.name for each in fields(cls))
        name = getattr(model, "__name__", type(model).__name__)
        if not isinstance(declared, Mapping) or not set(declared) <= set(known):
            raise UsageError(f"model '{name}': needs is {declared!r}; give a mapping of {', '.join(known)} to numbers")
        for key, amount in declared.items():
            if not isinstance(amount, (int, float)) or isinstance(amount, bool) or not 0 <= amount < math.inf:
                raise UsageError(f"model '{name}': needs {key} is {amount!r}; give a number, 0 or more")
        return cls(**declared)


@runtime_checkable
class WorldModel(Protocol):
    """A model that imagines frames.

    It may also have a method `rollout_batch`, and declare `needs` (see `Needs`).

    Attributes:
        spec: What it takes and returns.

    Examples:
        >>> class Black:
        ...     spec = ModelSpec("black")
        ...
        ...     def rollout(self, request):
        ...         width, height = request.frame_size
        ...         yield np.zeros((request.horizon, height, width, 3), np.uint8)
        >>> isinstance(Black(), WorldModel)
        True
    """

    spec: ModelSpec

    def rollout(self, request: RolloutRequest) -> Iterable[Frames]:
        """Imagine the future of a context.

        Args:
            request: The context and the control of the future.

        Returns:
            Chunks (n, H, W, 3) uint8 RGB, `request.horizon` frames in all, in order.
        """
        ...


@runtime_checkable
class TellsPath(Protocol):
    """A built-in baseline that knows the poses of its camera."""

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Camera-to-world poses (horizon, 4, 4) of the frames; None if unknown. `request` has poses of the world."""
        ...


@runtime_checkable
class TellsScenes(Protocol):
    """A world model that declares its training scenes, so that a test on them is reported.

    Attributes:
        trained_scenes: Digests (`WorldFacts.scene`). An attribute `unplaced_clips` may count clips of unknown scenes.
    """

    trained_scenes: Sequence[str]


@runtime_checkable
class HoldsVideos(WorldModel, Protocol):
    """A world model whose videos are finished, each with its own length and rate."""

    def video_of(self, task: str) -> Path:
        """The video of a task."""
        ...

    def video_tasks(self) -> Collection[str]:
        """Ids of the tasks that it has a video of."""
        ...


def holds_videos(model: Any) -> TypeGuard[HoldsVideos]:
    """Whether a model is a built-in one of finished videos: no other code gets the ids of tasks."""
    kind = type(model)
    is_ours = getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind
    return is_ours and kind.__module__.startswith("worldgauge.") and isinstance(model, HoldsVideos)


def rollout_batch(model: WorldModel, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
    """Run a batch of rollouts: with the model's own `rollout_batch` if it has one, else one by one."""
    own = getattr(model, "rollout_batch", None)
    if own is not None:
        return [list(chunks) for chunks in own(requests)]
    return [list(checked_rollout(model, request)) for request in requests]


def imagines(model: Any) -> bool:
    """Whether a model imagines anything, by its class attribute; False for a baseline that means having no model."""
    return bool(getattr(model, "imagines", True))


def checked_batch(model: WorldModel, requests: Sequence[RolloutRequest]) -> list[Frames]:
    """Run and check a batch of rollouts, if possible by `rollout_batch`: one (horizon, H, W, 3) uint8 per request."""
    asked = [_read_only(visible(fitted(request, model.spec), model.spec)) for request in requests]
    own = getattr(model, "rollout_batch", None)
    if own is None or len(requests) < 2:
        return [_joined(checked_rollout(model, request)) for request in requests]
    name, count = model.spec.name, len(requests)
    with _blaming(name, lambda: f"in a batch of {count}"):
        answers = [list(chunks) for chunks in own(asked)]
    if len(answers) != count:
        raise ModelError(f"model '{name}' gave {len(answers)} answers to a batch of {count}")
    frames = []
    for at, (request, chunks) in enumerate(zip(asked, answers, strict=True), start=1):
        try:
            frames.append(_joined(_checked(name, chunks, request))[: requests[at - 1].horizon])
        except ModelError as error:
            raise ModelError(f"{error} (request {at} of a batch of {count})") from None
    return frames


def checked_rollout(model: WorldModel, request: RolloutRequest) -> Iterator[Frames]:
    """Run one rollout, and check each chunk (n, H, W, 3) uint8 as it arrives."""
    asked = _read_only(visible(fitted(request, model.spec), model.spec))
    return _cut(_checked(model.spec.name, _unchecked(model, asked), asked), request.horizon)


def fitted(request: RolloutRequest, spec: ModelSpec) -> RolloutRequest:
    """Check a request, and extend it at rest to a length that the model declares. Callers cut the extra frames."""
    forms = {form for form in FORM_OF.values() if getattr(request, form) is not None}
    space = None if request.actions is None else request.actions.space.name
    require(spec, forms | {"caption"} if request.caption else forms, space)
    check_poses(request)
    length = next_length(spec.lengths, 1 + request.horizon)
    if length is None:
        raise NotApplicableError(
            f"'{spec.name}' makes {_in_words(spec.lengths)} frames with the picture it goes on from, "
            f"and this task asks for {1 + request.horizon}"
        )
    more = length - 1 - request.horizon
    actions, poses = request.actions, request.poses
    if more and actions is not None:
        actions = Actions(actions.space, np.concatenate([actions.values, resting(actions, more)]))
    if more and poses is not None:
        poses = np.concatenate([poses, np.repeat(poses[-1:], more, axis=0)])
    context = _fitted_context(request.context, spec.context_lengths)
    if not more and context is request.context:
        return request
    return replace(request, context=context, horizon=length - 1, actions=actions, poses=poses)


def visible(request: RolloutRequest, spec: ModelSpec) -> RolloutRequest:
    """The request with the poses that a model may see: those of the world only for a privileged baseline.

    Models that declare poses see them from the last context frame: camera at the origin, heading x, z up.
    """
    if PRIVILEGED & set(spec.inputs):  # a spec of worldgauge_serve has the fields alone
        return request
    context = request.context
    if not receives_poses(spec.control, spec.inputs):
        return replace(request, context=replace(context, poses=None), poses=None)
    if context.poses is None:
        return request
    back = invert(_origin_of(context.poses[-1]))
    if np.allclose(back, np.eye(4), rtol=0, atol=1e-9):  # a wrapped model: done already
        return request
    poses = None if request.poses is None else back @ request.poses
    return replace(request, context=replace(context, poses=back @ context.poses), poses=poses)


def _origin_of(pose: FloatArray) -> FloatArray:
    """The frame (4, 4) at a camera, with its heading as x and z up."""
    yaw = float(yaw_pitch_from_pose(pose)[0])
    origin = np.eye(4)
    origin[:2, :2] = [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
    origin[:3, 3] = pose[:3, 3]
    return origin


def check_poses(request: RolloutRequest) -> None:
    """Refuse a request whose poses are none. Interpolation would make rotations of what is close to none."""
    for name, poses in (("context poses", request.context.poses), ("poses", request.poses)):
        if poses is not None and (fault := pose_fault(poses)) is not None:
            raise DataError(f"task '{request.task}': {name}: {fault}")


def _read_only(request: RolloutRequest) -> RolloutRequest:
    """The request with arrays that the model cannot write to: they are the recording's own, as scores see it."""
    context, inner = request.context, request.context.depth
    seen = replace(
        context,
        clip=context.clip.read_only(),
        poses=None if context.poses is None else locked(context.poses),
        actions=_locked_actions(context.actions),
        depth=None if inner is None else (lambda index: locked(inner(index))),
    )
    return replace(
        request,
        context=seen,
        actions=None if request.actions is None else _locked_actions(request.actions),
        poses=None if request.poses is None else locked(request.poses),
        truth=None if request.truth is None else request.truth.read_only(),
        truth_poses=None if request.truth_poses is None else locked(request.truth_poses),
    )


def _locked_actions(actions: Actions) -> Actions:
    return Actions(actions.space, locked(actions.values))


def _fitted_context(context: Context, rule: Any) -> Context:
    """The last frames of a context, as many as a rule allows; filled up in front where there are too few."""
    length = last_length(rule, len(context))
    if length is not None:
        return context if length == len(context) else context.last(length)
    length = next_length(rule, len(context))
    assert length is not None, "a rule allows some number"
    more, inner, clip, actions = length - len(context), context.depth, context.clip, context.actions
    frames = np.concatenate([np.repeat(clip[0][None], more, axis=0), clip.to_array()])
    still = np.zeros((more, len(actions.space)), np.float32)
    return Context(
        Clip.from_array(frames, clip.fps),
        None if (poses := context.poses) is None else np.concatenate([np.repeat(poses[:1], more, axis=0), poses]),
        Actions(actions.space, np.concatenate([still, actions.values])),
        context.camera,
        None if inner is None else (lambda index: inner(max(0, index - more))),
    )


def _cut(chunks: Iterable[Frames], horizon: int) -> Iterator[Frames]:
    """The first `horizon` frames; the rest is taken, so that it is checked, and dropped."""
    done = 0
    for chunk in chunks:
        kept = chunk[: max(0, horizon - done)]
        done += len(chunk)
        if len(kept):
            yield kept


def _in_words(rule: Any) -> str:
    return rule if isinstance(rule, str) else " or ".join(str(one) for one in rule or ())


def require(spec: ModelSpec, known: Collection[str], space: str | None = None) -> None:
    """Check that what is known of all futures of a task is enough for a model, before anything is asked."""
    for name, words in _TOLD.items():
        if name not in known and (name in spec.inputs or name == FORM_OF[spec.control]):
            raise NotApplicableError(f"'{spec.name}' needs {words}, and this task has none")
    if space is not None and not knows(spec, space):
        names = " and ".join(spec.action_spaces or ())
        raise NotApplicableError(f"'{spec.name}' knows the actions of {names}, and those of this task are {space}")


def knows(spec: ModelSpec, space: str) -> bool:
    """Whether a model can be asked with the actions of a space: it knows them, or does not look at actions."""
    if spec.action_spaces is None or not (spec.control == "actions" or "actions" in spec.inputs):
        return True
    return any(space == one or space.startswith(f"{one}-") for one in spec.action_spaces)


_TOLD: Mapping[str, str] = {
    "actions": "actions",
    "poses": "a camera path",
    "text": "the future in words",
    "caption": "a caption of the scene",
}


def _checked(name: str, chunks: Iterable[Frames], request: RolloutRequest) -> Iterator[Frames]:
    """`chunks` of model `name`, each checked as it comes; raises ModelError."""
    width, height = request.frame_size
    done = 0
    for chunk in chunks:
        if done == request.horizon:
            raise ModelError(f"model '{name}' returned more than the {request.horizon} frames asked for")
        check_chunk(name, chunk, done, request.horizon, (height, width))
        done += len(chunk)
        yield chunk
    if done < request.horizon:
        raise ModelError(f"model '{name}' stopped after {done} of {request.horizon} frames")


def check_chunk(name: str, chunk: Any, done: int, horizon: int, size: tuple[int, int]) -> None:
    """Check one chunk of a rollout; `size` is (H, W)."""
    where = f"model '{name}', chunk at frame {done}"
    if not isinstance(chunk, np.ndarray):
        raise ModelError(f"{where}: expected a numpy array, got {type(chunk).__name__}")
    if np.issubdtype(chunk.dtype, np.floating) and not np.isfinite(chunk).all():
        bad = int(np.argwhere(~np.isfinite(chunk))[0][0])
        raise ModelError(f"{where}: frame {done + bad} holds NaN or infinite values")
    if chunk.dtype != np.uint8:
        raise ModelError(f"{where}: expected uint8 frames in 0..255, got {chunk.dtype}")
    if chunk.ndim != 4 or chunk.shape[1:] != (*size, 3):
        raise ModelError(f"{where}: expected shape (n, {size[0]}, {size[1]}, 3), got {chunk.shape}")
    if len(chunk) == 0:
        raise ModelError(f"{where}: an empty chunk; leave it out or return frames")
    if done + len(chunk) > horizon:
        raise ModelError(f"{where}: {done + len(chunk)} frames where {horizon} were asked for")


def _unchecked(model: WorldModel, request: RolloutRequest) -> Iterator[Frames]:
    """The chunks as they come. What the model raises, also after its last frame, is its failure; bad data is not."""
    done = 0
    with _blaming(model.spec.name, lambda: f"at frame {done}"):
        for chunk in model.rollout(request):
            yield chunk
            done += len(chunk)


@contextmanager
def _blaming(name: str, where: Callable[[], str]) -> Iterator[None]:
    """Turn what the code of model `name` raises into a ModelError; errors of this package pass unchanged."""
    try:
        yield
    except (NotApplicableError, DataError, ModelError):
        raise
    except (Exception, SystemExit) as error:
        raise ModelError(f"model '{name}' raised {type(error).__name__} {where()}: {error}") from error


def _joined(chunks: Iterable[Frames]) -> Frames:
    return np.concatenate(list(chunks))


def _is_size(given: Any) -> bool:
    return _is_pair(given, Integral) and (given is None or int(given[0]) * int(given[1]) <= MAX_PIXELS)


def _is_pair(given: Any, kind: Any) -> bool:
    if given is None:
        return True
    return isinstance(given, (tuple, list)) and len(given) == 2 and all(_is_positive(one, kind) for one in given)


def _is_positive(given: Any, kind: Any) -> bool:
    return isinstance(given, kind) and not isinstance(given, bool) and 0 < given < math.inf


_RULES = "a rule such as '4n+1', '57+40n' or '8n+1 to 961', or numbers, of at least 2 frames"


def _is_rule(given: Any, least: int) -> bool:
    """Whether `given` is a rule of lengths that allows some number of at least `least` frames."""
    try:
        return next_length(given, least) is not None
    except ValueError:
        return False


def _are_names(given: Any) -> bool:
    if given is None:
        return True
    return isinstance(given, (tuple, list)) and len(given) > 0 and all(isinstance(one, str) and one for one in given)
