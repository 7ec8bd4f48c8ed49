"""calibration.json: how much of what is asked a model does, control by control, and how late. Read and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from worldgauge.core.actions import Control
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import digest_of, dumps, parse_json, read_bytes
from worldgauge.core.model import PRIVILEGED, ModelSpec

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
class Gain:
    """What one control does.

    Attributes:
        status: See `Status`.
        gain: Motion shown for motion asked; negative where it moves the other way. None unless it follows.
        a_frame: What it moves in one frame while it is held at the middle speed, metres or radians. None likewise.
    """

    status: Status
    gain: float | None = None
    a_frame: float | None = None


@dataclass(frozen=True)
class Calibration:
    """What is needed to undo a model's gains, signs and delay.

    Attributes:
        model: Name of the model.
        spec: Digest of its spec (`digest_of_spec`).
        source: Where the model came from, with the fingerprint of its code and files; empty in older calibrations.
        control: Form of the future that it was driven by.
        axes: Names of the axes of its action space; empty where others than actions drove it.
        delay: Frames from a control to its effect; None where that is not known.
        gains: What each control of `DIRECTIONS` does.
        moving: Whose speed it walks at.
        turning: Whose speed it turns at.
        digest: SHA-256 of the file.
    """

    model: str
    spec: str
    control: str
    axes: tuple[str, ...]
    delay: int | None
    gains: Mapping[str, Gain]
    moving: Speed
    turning: Speed
    digest: str
    source: str = ""

    def speed_of(self, direction: str) -> Speed:
        """Whose speed the model has in a direction."""
        return self.turning if direction in TURNS else self.moving


def digest_of_spec(spec: ModelSpec) -> str:
    """SHA-256 of everything that a model declares, in hexadecimal: another model, or other settings, have another.

    What it leaves at its default is not counted, so that a spec may get further fields.
    """
    plain = ModelSpec(spec.name)
    values = {each.name: getattr(spec, each.name) for each in fields(spec)}
    said = {name: value for name, value in values.items() if name == "name" or value != getattr(plain, name)}
    return digest_of(dumps({name: _plain(value) for name, value in said.items()}))


def motion_word(settings: Mapping[str, Any], inputs: frozenset[str]) -> Words:
    """What is known about a model's unit of motion.

    Args:
        settings: Settings of its spec. "motion" in them declares the unit, such as {"motion": "metres"}.
        inputs: Extra inputs; a reference that draws the world itself moves in its metres.

    Returns:
        The word for tables.
    """
    if "calibration" in settings:
        return "calibrated"
    return "declared" if settings.get("motion") or inputs & PRIVILEGED else "unknown"


def read_calibration(path: Path) -> Calibration:
    """Read a calibration.

    Args:
        path: The file, or the folder that `worldgauge calibrate` wrote.

    Returns:
        The calibration.

    Raises:
        DataError: The file cannot be read, is no calibration, or is of another version.
    """
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
        found = _checked(content, digest_of(data))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"has no {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{path}: damaged calibration: {what}; calibrate the model again") from None
    return found


def check_owner(calibration: Calibration, spec: ModelSpec, path: str, source: str = "") -> None:
    """Refuse a calibration that is not of this model, or that knows nothing.

    Args:
        calibration: The calibration.
        spec: Spec of the model.
        path: Where the calibration lies, for the message.
        source: Where the model comes from; empty where that is not known.

    Raises:
        UsageError: It does not fit.
    """
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


def _gain(name: str, given: Mapping[str, Any]) -> Gain:
    status = _one_of(given["status"], Status)
    if status != "follows":
        return Gain(status)
    gain, a_frame = given["gain"]["mean"], given["a_frame"]
    for value in (gain, a_frame):
        if type(value) not in (int, float) or not math.isfinite(value):
            raise ValueError(f"{name} has no number for its gain")
    if not SMALLEST_GAIN <= abs(gain) <= LARGEST_GAIN:
        raise ValueError(f"{name} has a gain of {gain:g}")
    if a_frame <= 0:
        raise ValueError(f"{name} moves {a_frame:g} a frame")
    return Gain(status, float(gain), float(a_frame))


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
