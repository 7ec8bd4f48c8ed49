"""`tiny`: the small learned world model that comes with worldgauge, so that every table has a learned row."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import as_file, files
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import Actions, ActionSpace, Axis, Motion, motions
from worldgauge.core.errors import DataError, NotApplicableError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.core.image import Frames
from worldgauge.core.io import digest_of, loads, read_npz
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models

Rows = NDArray[np.float32]
Told = Literal["keys", "motion", "both", "nothing"]
"""What a network is told of an action: the columns of its space, the nominal motion that they stand for, or both.
With the keys alone it must learn from frames what each does; with the motion alone it answers any keys. Told nothing,
it goes on as what it has learned from does: its film is a plan of its own."""

MOTION_SCALES = (0.1, 0.1, 0.1, 0.05, 0.05)
"""What counts as 1: metres forward, to the left and up, radians of yaw and of pitch, a frame."""

_EXCHANGED = (("left", "right"), ("look_left", "look_right"), ("turn_left", "turn_right"))
_NEGATED = ("camera_yaw", "sideways")


def action_rows(actions: Actions, camera: Camera | Panorama, told: Told = "both") -> Rows:
    """Describe the action before each frame but the first, (T, columns): action values, then scaled nominal motion.
    Directions are sines, with cosines at the end. Turns and sideways steps are scaled to a field of view of 90
    degrees."""
    if told == "nothing":
        return np.zeros((len(actions), 1), np.float32)
    nominal = motions(actions) / np.array(MOTION_SCALES)
    if isinstance(camera, Camera):
        nominal[:, 1:] *= camera.fx / (camera.width / 2)
    # The columns of the space, directions as sines, and their cosines after them.
    directions = _directions(actions.space)
    values = actions.values.astype(np.float32)
    cosines = np.cos(values[:, directions])
    values[:, directions] = np.sin(values[:, directions])
    keys = np.concatenate([values, cosines], axis=1)
    parts = {"keys": (keys,), "motion": (nominal,), "both": (keys, nominal)}[told]
    return np.concatenate([part.astype(np.float32) for part in parts], axis=1)


def row_width(space: ActionSpace, told: Told = "both") -> int:
    """Columns of `action_rows`."""
    if told == "nothing":
        return 1
    return (0 if told == "motion" else key_width(space)) + (0 if told == "keys" else len(MOTION_SCALES))


def key_width(space: ActionSpace) -> int:
    """Columns of `action_rows` that stand for those of the space."""
    return len(space) + len(_directions(space))


def mirror_of(space: ActionSpace, told: Told = "both") -> Rows:
    """The matrix (columns, columns) that mirrors `action_rows` left to right as rows @ matrix; its own inverse."""
    if told == "nothing":
        return np.eye(1, dtype=np.float32)
    names, keys = [axis.name for axis in space.axes], key_width(space)
    mirror = np.eye(row_width(space), dtype=np.float32)
    for one, other in _EXCHANGED:
        if one in names and other in names:
            pair = [names.index(one), names.index(other)]
            mirror[np.ix_(pair, pair)] = [[0, 1], [1, 0]]
    turned = [names.index(name) for name in _NEGATED if name in names]
    for column in (*turned, keys + 1, keys + 3):  # of the motion: to the left, and yaw
        mirror[column, column] = -1
    kept = {"keys": slice(0, keys), "motion": slice(keys, None), "both": slice(None)}[told]
    return mirror[kept, kept]


def _directions(space: ActionSpace) -> list[int]:
    """Columns that are directions."""

    def is_direction(axis: Axis) -> bool:
        return axis.kind == "angle" and axis.motion == Motion()

    return [number for number, axis in enumerate(space.axes) if is_direction(axis)]


Array = NDArray[np.float32]
Weights = Mapping[str, Array]

GROUPS, SINES, FLOW_SCALE = 8, 256, 4.0


def guessed_step(weights: Weights, past: Array, rows: Array) -> Array:
    """Guess a step (K, 3, H, W) from the past (C, 3, H, W) in -1..1, newest last, and action rows (K, columns)."""
    (k, _), (_, _, h, w) = rows.shape, past.shape
    e = _embedded(weights, rows)
    seen = np.concatenate([np.zeros((k, 3, h, w), np.float32), past]).reshape(-1, h, w)
    x = _conv(weights, "enter", _unshuffled(seen))
    levels = range(1 + max(int(name.split(".")[1]) for name in weights if name.startswith("down.")))
    kept = []
    for level in levels:
        x = _conv(weights, f"shrink.{level}", x, stride=2 if level else 1)
        x = _blocks(weights, f"down.{level}", x, e)
        kept.append(x)
    for level in levels:
        beside = kept.pop()
        if x.shape != beside.shape:
            x = x[:, _nearest(x.shape[1], beside.shape[1])][:, :, _nearest(x.shape[2], beside.shape[2])]
        x = _conv(weights, f"grow.{level}", np.concatenate([x, beside]))
        x = _blocks(weights, f"up.{level}", x, e)
    features = _silu(_normal(weights, "normal", x))
    return _drawn(_conv(weights, "head.out", features), past[-1], k)


def _embedded(weights: Weights, rows: Array) -> Array:
    """The embedding of a step at level 1."""
    rates = np.exp(-math.log(10_000.0) * np.arange(SINES // 2, dtype=np.float32) / (SINES // 2))
    angles = (1000.0 * rates).astype(np.float32)
    level = np.concatenate([np.cos(angles), np.sin(angles)])
    return _perceptron(weights, "embedding.level", level) + _perceptron(weights, "embedding.actions", rows.ravel())


def _perceptron(weights: Weights, name: str, x: Array) -> Array:
    return _linear(weights, f"{name}.2", _silu(_linear(weights, f"{name}.0", x)))


def _linear(weights: Weights, name: str, x: Array) -> Array:
    made: Array = weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]
    return made


def _conv(weights: Weights, name: str, x: Array, stride: int = 1) -> Array:
    """A 3x3 convolution of x (channels, h, w) with a border of zeros."""
    kernel = weights[f"{name}.weight"]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    patches = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::stride, ::stride]
    h, w = patches.shape[1:3]
    columns = patches.transpose(0, 3, 4, 1, 2).reshape(-1, h * w)
    made: Array = kernel.reshape(len(kernel), -1) @ columns + weights[f"{name}.bias"][:, None]
    return made.reshape(-1, h, w)


def _blocks(weights: Weights, name: str, x: Array, e: Array) -> Array:
    number = 0
    while f"{name}.{number}.first.weight" in weights:
        block = f"{name}.{number}"
        scale, shift = np.split(_linear(weights, f"{block}.modulation", _silu(e))[:, None, None], 2)
        y = _conv(weights, f"{block}.first", _silu(_normal(weights, f"{block}.first_normal", x)))
        y = _normal(weights, f"{block}.second_normal", y) * (1 + scale) + shift
        x = x + _conv(weights, f"{block}.second", _silu(y))
        number += 1
    return x


def _normal(weights: Weights, name: str, x: Array) -> Array:
    """Group normalisation of x (channels, h, w)."""
    groups = x.reshape(GROUPS, -1)
    mean, variance = groups.mean(1, keepdims=True), groups.var(1, keepdims=True)
    level: Array = ((groups - mean) / np.sqrt(variance + np.float32(1e-5))).reshape(x.shape)
    return level * weights[f"{name}.weight"][:, None, None] + weights[f"{name}.bias"][:, None, None]


def _silu(x: Array) -> Array:
    with np.errstate(over="ignore"):  # far below 0 it is 0
        made: Array = x / (1 + np.exp(-x))
    return made


def _unshuffled(x: Array) -> Array:
    """Squares of 2x2 pixels as channels: (channels, h, w) to (4 channels, h / 2, w / 2)."""
    c, h, w = x.shape
    return x.reshape(c, h // 2, 2, w // 2, 2).transpose(0, 2, 4, 1, 3).reshape(4 * c, h // 2, w // 2)


def _nearest(before: int, after: int) -> NDArray[np.intp]:
    return (np.arange(after) * before // after).astype(np.intp)


def _drawn(out: Array, newest: Array, k: int) -> Array:
    """Move the newest frame and add what it lacks: (15 K, h / 2, w / 2) features to frames (K, 3, h, w)."""
    _, h, w = newest.shape
    plain, motion = out[: 12 * k], out[12 * k :]
    residual = plain.reshape(3 * k, 2, 2, h // 2, w // 2).transpose(0, 3, 1, 4, 2).reshape(k, 3, h, w)
    moves = np.asarray(_doubled(h // 2) @ motion @ _doubled(w // 2).T, np.float32)
    flow = np.float32(FLOW_SCALE) * moves.reshape(k, 3, h, w)[:, :2]
    return moved(newest, flow) + residual


@cache
def _doubled(size: int) -> Array:
    """The matrix that interpolates `size` values linearly to twice as many."""
    places = np.clip((np.arange(2 * size) + 0.5) / 2 - 0.5, 0, size - 1)
    first = np.minimum(places.astype(int), size - 2) if size > 1 else np.zeros(2, int)
    share = (places - first).astype(np.float32)
    matrix = np.zeros((2 * size, size), np.float32)
    rows = np.arange(2 * size)
    matrix[rows, first] = 1 - share
    matrix[rows, np.minimum(first + 1, size - 1)] += share
    return matrix


def moved(frame: Array, flow: Array) -> Array:
    """Sample a frame (3, h, w), bicubic, at `flow` (K, 2, h, w): pixels right and down of each pixel."""
    _, h, w = frame.shape
    x, y = np.arange(w, dtype=np.float32) + flow[:, 0], np.arange(h, dtype=np.float32)[:, None] + flow[:, 1]
    left, top = np.floor(x), np.floor(y)
    across, down = _cubic(x - left), _cubic(y - top)
    made = np.zeros((3, *x.shape), np.float32)
    for row in range(4):
        line = np.clip(top + (row - 1), 0, h - 1).astype(np.intp)
        for column in range(4):
            place = np.clip(left + (column - 1), 0, w - 1).astype(np.intp)
            made += frame[:, line, place] * (down[row] * across[column])
    return made.transpose(1, 0, 2, 3)


def _cubic(t: Array) -> tuple[Array, Array, Array, Array]:
    """Weights of the four nearest values (Keys 1981, a = -0.75), t from 0 to 1 behind the second."""
    a = np.float32(-0.75)

    def near(d: Array) -> Array:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Array) -> Array:
        return ((d - 5) * d + 8) * d * a - 4 * a

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def trained_scenes(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Digests of all scenes that a checkpoint was trained on, and those that it came from."""
    rows, before = config.get("data"), config.get("parent_scenes")
    told = [row.get("scenes") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    return tuple(sorted({str(one) for part in (*told, before) if isinstance(part, list) for one in part}))


def unplaced_clips(config: Mapping[str, Any]) -> int:
    """Number of clips that a checkpoint was trained on whose scenes are not known, so that nobody can compare them."""
    rows = config.get("data")
    told = [row.get("unknown") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    return sum(one for one in told if type(one) is int and one > 0)


FILE = "tiny.npz"
SIZE, FRAMES, PAST = (64, 36), 4, 8
"""Width and height, frames a step, and past frames that it sees, as in the recipe `tiny`."""
MOST_BYTES = 8_000_000


@models.register("tiny")
class TinyModel:
    """A network of a million weights that draws 64x36 from the last third of a second and the motion that is asked for.
    Trained by `worldgauge train --recipe tiny` on generated worlds; it needs numpy only."""

    def __init__(self) -> None:
        self._weights, facts, digest = _shipped()
        self.trained_scenes = trained_scenes(facts)
        self.spec = ModelSpec("tiny", frame_size=SIZE, max_context=PAST, chunk=FRAMES, settings={"weights": digest})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Draw the frames that follow a context, a step at a time from its own last ones."""
        actions = request.actions
        assert actions is not None
        if not any(any(axis.motion) for axis in actions.space.axes):
            raise NotApplicableError(f"actions of '{actions.space.name}' move no camera, and 'tiny' is one")
        rows = action_rows(actions, request.context.camera, "motion")
        filled = np.concatenate([rows, np.zeros((-len(rows) % FRAMES, rows.shape[1]), np.float32)])
        past = request.context.clip.to_array()
        past = past[np.maximum(np.arange(len(past) - PAST, len(past)), 0)]
        seen = past.transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1
        for first in range(0, len(rows), FRAMES):
            drawn = guessed_step(self._weights, seen, filled[first : first + FRAMES]).clip(-1, 1)
            seen = np.concatenate([seen[FRAMES:], drawn])
            pixels = np.rint((drawn + 1) * 127.5).astype(np.uint8).transpose(0, 2, 3, 1)
            yield np.ascontiguousarray(pixels[: len(rows) - first])


@lru_cache(maxsize=1)
def _shipped() -> tuple[Weights, dict[str, Any], str]:
    """Weights, what they were trained on, and the digest of the file."""
    with as_file(files(__package__) / FILE) as path:
        try:
            arrays = read_npz(path, MOST_BYTES)
            facts = loads(arrays.pop("facts").tobytes().decode())
            digest = digest_of(path.read_bytes())
        except (OSError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            raise DataError(f"{path}: {error}; install worldgauge again") from None
    return {name: value.astype(np.float32) for name, value in arrays.items()}, facts, digest
