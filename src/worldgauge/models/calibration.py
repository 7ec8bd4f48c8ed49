"""The file of a calibration, and a model whose gains, signs and delay are undone, by what it is sent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import Actions, ActionSpace, Control, Motion, describe
from worldgauge.core.errors import DataError, NotApplicableError, UsageError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, wrap_angle, yaw_pitch_from_pose
from worldgauge.core.image import Frames
from worldgauge.core.io import digest_of, dumps, parse_json, read_bytes
from worldgauge.core.model import (
    PRIVILEGED,
    ModelSpec,
    Needs,
    RolloutRequest,
    TellsPath,
    WorldModel,
    checked_batch,
    checked_rollout,
    imagines,
)
from worldgauge_serve import resting

FORMAT, VERSION = "worldgauge calibration", 1
NAME = "calibration.json"
MAX_BYTES = 4 << 20
MAX_DELAY = 64
SMALLEST_GAIN, LARGEST_GAIN = 1e-3, 1e3

Status = Literal["follows", "does not follow", "unknown"]
"""follows: it moves by this control. does not follow: the camera was found, and did not. unknown: it was not found."""
Speed = Literal["asked", "own", "between", "unknown"]
"""Whose speed a model moves at. asked: twice as fast when asked to. own: the same, whatever is asked. between: neither.
"""
Words = Literal["calibrated", "declared", "unknown"]
"""What is known about a model's unit of motion, as tables say it."""

DIRECTIONS: Mapping[str, tuple[int, int]] = {
    "forward": (0, 1),
    "back": (0, -1),
    "left": (1, 1),
    "right": (1, -1),
    "yaw_left": (3, 1),
    "yaw_right": (3, -1),
    "pitch_up": (4, 1),
    "pitch_down": (4, -1),
}
"""The controls: index in `core.actions.Motion`, and the sign of what they ask for."""
TURNS = frozenset({"yaw_left", "yaw_right", "pitch_up", "pitch_down"})


@dataclass(frozen=True)
class ControlGain:
    """What one control does.

    Attributes:
        gain: Shown per requested motion, negative if reversed. None unless it follows.
        a_frame: Motion per frame at the middle speed, metres or radians. None unless it follows.
    """

    status: Status
    gain: float | None = None
    a_frame: float | None = None


@dataclass(frozen=True)
class Calibration:
    """What is needed to undo a model's gains, signs and delay.

    Attributes:
        axes: Names of the axes of its action space; empty if something other than actions drove it.
        delay: Frames from a control to its effect. None if unknown.
    """

    model: str
    spec: str
    control: str
    axes: tuple[str, ...]
    delay: int | None
    gains: Mapping[str, ControlGain]
    moving: Speed
    turning: Speed
    digest: str
    source: str = ""

    def speed_of(self, direction: str) -> Speed:
        """Whose speed the model has in a direction."""
        return self.turning if direction in TURNS else self.moving


def digest_of_spec(spec: ModelSpec) -> str:
    """SHA-256 of what a spec declares. Defaults do not count, so that a spec may get further fields."""
    plain = ModelSpec(spec.name)
    values = {each.name: getattr(spec, each.name) for each in fields(spec)}
    said = {name: value for name, value in values.items() if name == "name" or value != getattr(plain, name)}
    return digest_of(dumps({name: _plain(value) for name, value in said.items()}))


def motion_word(settings: Mapping[str, Any], inputs: frozenset[str]) -> Words:
    """What is known about a model's unit of motion; {"motion": "metres"} in `settings` declares it."""
    if "calibration" in settings:
        return "calibrated"
    return "declared" if settings.get("motion") or inputs & PRIVILEGED else "unknown"


def read_calibration(path: Path) -> Calibration:
    """Read a calibration."""
    path = path / NAME if path.is_dir() else path
    data = read_bytes(path, MAX_BYTES)
    content = parse_json(data, str(path))
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{path}: not a calibration; make one with: worldgauge calibrate --model MODEL --out FOLDER")
    if content.get("version") != VERSION:
        raise DataError(
            f"{path}: version {content.get('version')!r} of the format, and this worldgauge reads {VERSION}; "
            "calibrate the model again"
        )
    try:
        return _checked(content, digest_of(data))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"has no {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{path}: damaged calibration: {what}; calibrate the model again") from None


def check_owner(calibration: Calibration, spec: ModelSpec, path: str, source: str = "") -> None:
    """Refuse a calibration that is not of this model, or that knows nothing."""
    if calibration.spec != digest_of_spec(spec):
        other = (
            f"of model '{calibration.model}'" if calibration.model != spec.name else "of other settings of this model"
        )
        raise UsageError(f"{path}: a calibration {other}, not of '{spec.name}' as it is given; calibrate it")
    if source and calibration.source and source != calibration.source:
        raise UsageError(
            f"{path}: '{spec.name}' has other code or weights than when it was calibrated; calibrate it again"
        )
    if not any(gain.status == "follows" for gain in calibration.gains.values()):
        raise UsageError(f"{path}: no control of '{spec.name}' was found to work, so there is nothing to undo")


def _checked(content: Mapping[str, Any], digest: str) -> Calibration:
    model, controls, speed = content["model"], content["controls"], content["speed"]
    if not isinstance(controls, Mapping):
        raise ValueError("its controls are no object")
    delay = content["delay"]["frames"]
    if delay is not None and not (type(delay) is int and 0 <= delay <= MAX_DELAY):
        raise ValueError(f"a delay of {delay!r} frames")
    if unknown := sorted(set(controls) - set(DIRECTIONS)):
        raise ValueError(f"there is no control {unknown[0]!r}")
    if content["control"] not in get_args(Control):
        raise ValueError(f"control is {content['control']!r}")
    axes = content["space"]["axes"]
    if not isinstance(axes, list) or not all(isinstance(axis, str) for axis in axes):
        raise ValueError("the axes of its action space are no names")
    return Calibration(
        _text(model["name"]),
        _text(model["spec"]),
        content["control"],
        tuple(axes),
        delay,
        {name: _gain(name, controls[name]) for name in controls},
        _one_of(speed["moving"]["whose"], Speed),
        _one_of(speed["turning"]["whose"], Speed),
        digest,
        _text(model.get("source", "")),
    )


def _gain(name: str, given: Mapping[str, Any]) -> ControlGain:
    status = _one_of(given["status"], Status)
    if status != "follows":
        return ControlGain(status)
    gain, a_frame = given["gain"]["mean"], given["a_frame"]
    for value in (gain, a_frame):
        if type(value) not in (int, float) or not math.isfinite(value):
            raise ValueError(f"{name} has no number for its gain")
    if not SMALLEST_GAIN <= abs(gain) <= LARGEST_GAIN:
        raise ValueError(f"{name} has a gain of {gain:g}")
    if a_frame <= 0:
        raise ValueError(f"{name} moves {a_frame:g} a frame")
    return ControlGain(status, float(gain), float(a_frame))


def _one_of(value: Any, choices: Any) -> Any:
    if value not in get_args(choices):
        raise ValueError(f"{value!r} is none of {', '.join(get_args(choices))}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value


def _plain(value: Any) -> Any:
    """A field of a spec as plain JSON values; sets in order."""
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value


NAME_OF = {found: name for name, found in DIRECTIONS.items()}
ROUNDING = 1.02
"""How much faster than the model may be asked for before it counts as too fast: its speed is a measurement."""


def undone_poses(poses: FloatArray, start: FloatArray, calibration: Calibration) -> FloatArray:
    """Poses (n, 4, 4) to send: moves and turns of each step divided by their gains; roll and height stay. If the model
    has a fixed speed, only signs are undone."""
    every = np.concatenate([start[None], poses])
    yaw, pitch = yaw_pitch_from_pose(every)
    roll = np.swapaxes(pose_from_yaw_pitch(np.zeros((len(every), 3)), yaw, pitch)[:, :3, :3], -1, -2) @ every[:, :3, :3]
    steps = np.diff(every[:, :3, 3], axis=0)
    cosine, sine = np.cos(yaw[:-1]), np.sin(yaw[:-1])
    moves = [steps[:, 0] * cosine + steps[:, 1] * sine, steps[:, 1] * cosine - steps[:, 0] * sine]
    wanted = np.stack([*moves, steps[:, 2], wrap_angle(np.diff(yaw)), np.diff(pitch)], 1)
    sent = np.array([[_amount(axis, value, calibration) for axis, value in enumerate(row)] for row in wanted.tolist()])
    sent = sent.reshape(-1, 5)
    turned = yaw[0] + np.concatenate([[0.0], np.cumsum(sent[:, 3])])
    cosine, sine = np.cos(turned[:-1]), np.sin(turned[:-1])
    across = np.stack([sent[:, 0] * cosine - sent[:, 1] * sine, sent[:, 0] * sine + sent[:, 1] * cosine, sent[:, 2]], 1)
    path = pose_from_yaw_pitch(start[:3, 3] + np.cumsum(across, axis=0), turned[1:], pitch[0] + np.cumsum(sent[:, 4]))
    path[:, :3, :3] = path[:, :3, :3] @ roll[1:]
    return path


def undone_actions(actions: Actions, calibration: Calibration) -> Actions:
    """Actions to send: lengths and angles divided by the gain, and reversed keys swapped. At a fixed speed of the
    model, a key is held for a share of the frames."""
    values = np.zeros_like(actions.values)
    axes = list(actions.space.axes)
    for column, axis in enumerate(actions.space.axes):
        given = actions.values[:, column]
        moved = [(k, amount) for k, amount in enumerate(axis.motion) if amount]
        if len(moved) != 1:
            values[:, column] += given
            continue
        ((k, amount),) = moved
        if axis.kind != "button":
            values[:, column] += [_amount(k, float(value) * amount, calibration) / amount for value in given]
            continue
        used, gain = _control(k, 1 if amount > 0 else -1, calibration)
        target = column if gain is None else _column_of(actions.space, used, column)
        if gain is None:
            values[:, column] = np.maximum(values[:, column], given)
            continue
        speed = calibration.speed_of(used)
        if speed == "asked":
            own = axes[target]
            axes[target] = replace(own, motion=_only(k, math.copysign(abs(amount / gain), own.motion[k])))
        elif speed == "own" and calibration.control == "actions":
            given = _shared(given, abs(amount), abs(calibration.gains[used].a_frame or 0.0), axis.name)
        values[:, target] = np.maximum(values[:, target], given)
    return Actions(replace(actions.space, axes=tuple(axes)), values)


def _amount(k: int, wanted: float, calibration: Calibration) -> float:
    """What to send along a component of motion so that `wanted` comes of it."""
    if not wanted or not any(k == component for component, _ in DIRECTIONS.values()):
        return wanted
    used, gain = _control(k, 1 if wanted > 0 else -1, calibration)
    if gain is None:
        return wanted
    return wanted / gain if calibration.speed_of(used) == "asked" else math.copysign(wanted, wanted * gain)


def _control(k: int, sign: int, calibration: Calibration) -> tuple[str, float | None]:
    """The control that moves in a direction, and its gain; the direction's own, without a gain, where none does."""
    if (k, sign) not in NAME_OF:
        return "", None
    own, opposite = NAME_OF[k, sign], NAME_OF[k, -sign]
    for name, turned in ((own, 1), (opposite, -1)):
        gain = calibration.gains[name].gain if name in calibration.gains else None
        if gain is not None and gain * turned > 0:
            return name, gain
    return own, None


def _column_of(space: ActionSpace, control: str, otherwise: int) -> int:
    """Column of the key of a control."""
    k, sign = DIRECTIONS[control]
    keys = [(n, axis.motion) for n, axis in enumerate(space.axes) if axis.kind == "button"]
    return next((n for n, motion in keys if motion[k] * sign > 0 and sum(map(bool, motion)) == 1), otherwise)


def _shared(given: NDArray[np.float32], wanted: float, a_frame: float, name: str) -> NDArray[np.float32]:
    """Frames of `given`, held for the share that makes `wanted` a frame of `a_frame` a frame, evenly spread."""
    share = wanted / a_frame
    if share > ROUNDING and given.any():
        raise NotApplicableError(
            f"the model moves at its own speed, {a_frame:.3g} a frame by '{name}', and {wanted:.3g} is asked for"
        )
    # Halves are rounded up at the first frame, so that a share of 1 holds every frame.
    sums = np.floor(np.cumsum(given.astype(np.float64)) * min(share, 1.0) + 0.5)
    held: NDArray[np.float32] = np.diff(sums, prepend=0.0).astype(np.float32)
    return np.minimum(held, given)


def _only(k: int, amount: float) -> Motion:
    return Motion(*(amount if at == k else 0.0 for at in range(len(Motion._fields))))


class Calibrated:
    """A model that is sent what makes it do what is asked.

    Controls are divided by their measured gains, swapped ones are swapped back, and a delay is waited for: the model is
    asked for as many frames more, of which the first are dropped. What the calibration does not know is sent as it is.

    Args:
        source: Where it comes from, with its fingerprint; a calibration of another one is refused.

    Attributes:
        spec: That of the model, with the digest of the calibration in its settings. It has no lengths: what is asked is
            brought to those of the model when the frames that are waited for are with it.

    Examples:
        >>> Calibrated(models.get("freeze")(), "no-such-file.json")
        Traceback (most recent call last):
        ...
        worldgauge.core.errors.DataError: no-such-file.json: cannot be read (...)
    """

    def __init__(self, model: WorldModel, file: str | Path, source: str = "") -> None:
        self._model = model
        self._calibration = read_calibration(Path(file).expanduser())
        check_owner(self._calibration, model.spec, str(file), source)
        self.behind: WorldModel = getattr(model, "behind", model)
        settings = {**model.spec.settings, "calibration": self._calibration.digest[:16]}
        self.spec = replace(model.spec, settings=settings, lengths=None)
        self.needs = Needs.of(model)
        self.imagines = imagines(model)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The frames that the model draws for what it is sent."""
        sent = undone(request, self._calibration)
        late = sent.horizon - request.horizon
        for chunk in checked_rollout(self._model, sent):
            kept = chunk[late:]
            late = max(0, late - len(chunk))
            if len(kept):
                yield kept

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        """One chunk for each request; the model gets them together."""
        sent = [undone(request, self._calibration) for request in requests]
        answers = checked_batch(self._model, sent)
        return [
            [frames[one.horizon - request.horizon :]]
            for frames, one, request in zip(answers, sent, requests, strict=True)
        ]

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Poses (horizon, 4, 4) of the frames where the model knows them."""
        if not isinstance(self._model, TellsPath):
            return None
        sent = undone(request, self._calibration)
        path = self._model.camera_path(sent)
        return None if path is None else path[sent.horizon - request.horizon :]


def undone(request: RolloutRequest, calibration: Calibration) -> RolloutRequest:
    """The request that makes a model do what `request` says; all forms of the future change alike."""
    late = calibration.delay or 0
    actions, poses, text = request.actions, request.poses, None
    if actions is None and calibration.control == "text":
        raise NotApplicableError("calibrated, and told in words alone, which no gain can change")
    if actions is not None:
        names = tuple(axis.name for axis in actions.space.axes)
        if calibration.control == "actions" and names != calibration.axes:
            raise NotApplicableError(
                f"calibrated for the actions {', '.join(calibration.axes)}, and asked for {', '.join(names)}; "
                "calibrate it for these with --space"
            )
        changed = undone_actions(actions, calibration)
        actions = replace(changed, values=np.concatenate([changed.values, resting(changed, late)]))
        text = None if request.text is None else describe(actions)
    if poses is not None:
        changed_poses = undone_poses(poses, request.context.path[-1], calibration)
        poses = np.concatenate([changed_poses, np.repeat(changed_poses[-1:], late, axis=0)])
    return replace(request, horizon=request.horizon + late, actions=actions, poses=poses, text=text)
