"""Views cut out of equirectangular panoramas, and panoramas that are turned (World-in-World, section 4).

A panorama (H, W, C) or (H, W) covers 360 x 180 degrees whatever its shape. Its centre column is straight ahead,
longitude grows to the right and latitude upwards (`worldgauge.core.geometry.Panorama`). Depth of a panorama is in
metres along the ray, depth of a view in metres along its axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama

Side = Literal["front", "left", "right", "back"]
SIDES: tuple[Side, ...] = ("front", "left", "right", "back")
"""Sides in the published order."""
YAW_RIGHT_DEG: Mapping[Side, float] = {"front": 0.0, "left": -90.0, "right": 90.0, "back": 180.0}

Rule = Literal["clean", "released"]
"""clean: pixels are squares about their centres. released: the published conversion, which is off by about one pixel of
the panorama and has a seam at the back; use it only to compare with published pictures."""

_Value = TypeVar("_Value", bound=np.generic)
_WHOLE = 1e-6
"""Shifts this close to a whole number of pixels count as whole."""


def perspective(
    image: NDArray[_Value],
    camera: Camera,
    *,
    yaw_right_deg: float = 0.0,
    pitch_up_deg: float = 0.0,
    rule: Rule = "clean",
    nearest: bool = False,
) -> NDArray[_Value]:
    """Cut the view (h, w[, C]) of a camera out of a panorama (H, W[, C]), in its dtype; integers are rounded."""
    pixels = _checked(image)
    if not (math.isfinite(yaw_right_deg) and math.isfinite(pitch_up_deg)):
        raise UsageError(f"a view needs finite angles, got yaw {yaw_right_deg} and pitch {pitch_up_deg} degrees")
    height, width = pixels.shape[:2]
    if rule == "clean":
        columns, rows = _clean_places(camera, pitch_up_deg, width, height)
        seen = _sampled(pixels, columns, rows, yaw_right_deg / 360 * width, wrap=True, nearest=nearest)
    elif rule == "released":
        turned = np.roll(pixels, -int(width * yaw_right_deg / 360), axis=1)
        twice = _sampled(turned.astype(np.float64), *_grid(width, height, 2 * height), wrap=False, nearest=nearest)
        columns, rows = _released_places(camera, pitch_up_deg, height)
        seen = _sampled(twice, columns, rows, wrap=False, nearest=nearest)
        seen = (np.rint(seen) if np.issubdtype(pixels.dtype, np.integer) else seen).astype(pixels.dtype)
    else:
        raise UsageError(f"no rule '{rule}' for views of panoramas; take 'clean' or 'released'")
    return seen[..., 0] if image.ndim == 2 else seen


def views(image: NDArray[_Value], camera: Camera, rule: Rule = "clean") -> dict[Side, NDArray[_Value]]:
    """Views (h, w[, C]) of a camera to the front, left, right and back in a panorama (H, W[, C])."""
    return {side: perspective(image, camera, yaw_right_deg=YAW_RIGHT_DEG[side], rule=rule) for side in SIDES}


def rolled(panorama: NDArray[_Value], right_deg: float, *, nearest: bool = False) -> NDArray[_Value]:
    """The panorama (H, W[, C]) after a turn to the right; exact for whole columns, else two columns are mixed."""
    pixels = _checked(panorama)
    if not math.isfinite(right_deg):
        raise UsageError(f"a panorama turns by a finite angle, got {right_deg} degrees")
    height, width = pixels.shape[:2]
    shift = right_deg / 360 * width
    whole = math.floor(shift + 0.5)
    if nearest or abs(shift - whole) < _WHOLE:
        return np.roll(panorama, -whole, axis=1)
    columns, rows = _grid(width, height, width)
    return _sampled(pixels, columns, rows, shift, wrap=True, nearest=False).reshape(panorama.shape)


def painted(
    image: NDArray[_Value],
    camera: Camera,
    panorama: Panorama,
    *,
    yaw_right_deg: float = 0.0,
    pitch_up_deg: float = 0.0,
    nearest: bool = False,
) -> tuple[NDArray[_Value], NDArray[np.bool_]]:
    """A panorama with the view (h, w[, C]) of a camera and 0 elsewhere, and the mask (H, W) of the view's pixels."""
    pixels = _checked(image)
    if pixels.shape[:2] != (camera.height, camera.width):
        raise ShapeError(f"image of shape {image.shape} does not fit a {camera.width}x{camera.height} camera")
    places, depth = camera.project(panorama.rays() @ _rotation(yaw_right_deg, pitch_up_deg))
    u, v = places[..., 0], places[..., 1]
    with np.errstate(invalid="ignore"):
        inside = (depth > 0) & (u >= 0) & (u < camera.width) & (v >= 0) & (v < camera.height)
    columns, rows = np.where(inside, u - 0.5, 0), np.where(inside, v - 0.5, 0)
    whole = _sampled(pixels, columns, rows, wrap=False, nearest=nearest)
    whole[~inside] = 0
    return (whole[..., 0] if image.ndim == 2 else whole), inside


def lon_lat(
    camera: Camera, *, pitch_up_deg: float = 0.0, rule: Rule = "clean"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Longitude to the right and latitude upwards, (h, w) radians, of the pixels of a camera that looks ahead."""
    corner = Camera(camera.width, camera.height, camera.fx, camera.fy, camera.cx + 0.5, camera.cy + 0.5)
    x, y, z = np.moveaxis((corner if rule == "released" else camera).rays() @ _rotation(0.0, pitch_up_deg).T, -1, 0)
    return np.arctan2(x, z), np.arctan2(-y, np.hypot(x, z))


def _rotation(yaw_right_deg: float, pitch_up_deg: float) -> FloatArray:
    """Camera to panorama, (3, 3), x right, y down, z ahead: first up, then to the right."""
    yaw, pitch = math.radians(yaw_right_deg), math.radians(pitch_up_deg)
    c, s = math.cos(yaw), math.sin(yaw)
    up, rise = math.cos(pitch), math.sin(pitch)
    around = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    tilt = np.array([[1, 0, 0], [0, up, -rise], [0, rise, up]])
    rotation: FloatArray = around @ tilt
    return rotation


@lru_cache(maxsize=8)
def _clean_places(camera: Camera, pitch_up_deg: float, width: int, height: int) -> tuple[FloatArray, FloatArray]:
    """Columns and rows (h, w) of a panorama at which a view samples it."""
    lon, lat = lon_lat(camera, pitch_up_deg=pitch_up_deg)
    return _frozen((lon / (2 * np.pi) + 0.5) * width - 0.5, (0.5 - lat / np.pi) * height - 0.5)


@lru_cache(maxsize=8)
def _released_places(camera: Camera, pitch_up_deg: float, height: int) -> tuple[FloatArray, FloatArray]:
    """The same of the published conversion, in a panorama of twice its height."""
    lon, lat = lon_lat(camera, pitch_up_deg=pitch_up_deg, rule="released")
    columns = (lon / (2 * np.pi) * 2 * height + height + 0.5) % (2 * height)
    return _frozen(columns, (height / 2 - lat / np.pi * height + 0.5) % height)


@lru_cache(maxsize=8)
def _grid(width: int, height: int, wide: int) -> tuple[FloatArray, FloatArray]:
    """Columns and rows that resample a panorama of this size to `wide` columns."""
    columns = (np.arange(wide) + 0.5) * width / wide - 0.5
    return _frozen(*np.meshgrid(columns, np.arange(height, dtype=np.float64)))


def _frozen(*arrays: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Make arrays read-only, so that a cache can share them."""
    one, other = (np.ascontiguousarray(array) for array in arrays)
    one.flags.writeable = other.flags.writeable = False
    return one, other


def _sampled(
    image: NDArray[Any], columns: FloatArray, rows: FloatArray, shift: float = 0.0, *, wrap: bool, nearest: bool
) -> NDArray[Any]:
    out = np.empty((*columns.shape, image.shape[2]), image.dtype)
    if nearest:
        _nearest(image, columns, rows, shift, wrap, out)
    else:
        _bilinear(image, columns, rows, shift, wrap, bool(np.issubdtype(image.dtype, np.integer)), out)
    return out


def _checked(image: NDArray[_Value]) -> NDArray[_Value]:
    """The image as (H, W, C)."""
    if image.ndim not in (2, 3) or 0 in image.shape:
        raise ShapeError(f"a panorama is (H, W) or (H, W, C) and not empty, got shape {image.shape}")
    return np.ascontiguousarray(image if image.ndim == 3 else image[..., None])


_fast = njit(cache=True, nogil=True, error_model="numpy")


@_fast
def _bilinear(
    image: NDArray[Any],
    columns: NDArray[np.float64],
    rows: NDArray[np.float64],
    shift: float,
    wrap: bool,
    rounded: bool,
    out: NDArray[Any],
) -> None:
    """Fill `out` (h, w, C) from `image` (H, W, C) at `columns` + shift and `rows` (h, w)."""
    height, width, channels = image.shape
    for i in range(columns.shape[0]):
        for j in range(columns.shape[1]):
            x, y = columns[i, j] + shift, rows[i, j]
            left, top = math.floor(x), math.floor(y)
            part, under = x - left, y - top
            right, bottom = left + 1, top + 1
            if wrap:
                left, right = left % width, right % width
            left, right = min(max(left, 0), width - 1), min(max(right, 0), width - 1)
            top, bottom = min(max(top, 0), height - 1), min(max(bottom, 0), height - 1)
            for c in range(channels):
                upper = image[top, left, c] * (1 - part) + image[top, right, c] * part
                lower = image[bottom, left, c] * (1 - part) + image[bottom, right, c] * part
                value = upper * (1 - under) + lower * under
                out[i, j, c] = np.rint(value) if rounded else value


@_fast
def _nearest(
    image: NDArray[Any],
    columns: NDArray[np.float64],
    rows: NDArray[np.float64],
    shift: float,
    wrap: bool,
    out: NDArray[Any],
) -> None:
    """As `_bilinear`, but with the value of the nearest pixel."""
    height, width, channels = image.shape
    for i in range(columns.shape[0]):
        for j in range(columns.shape[1]):
            x, y = math.floor(columns[i, j] + shift + 0.5), math.floor(rows[i, j] + 0.5)
            if wrap:
                x = x % width
            x, y = min(max(x, 0), width - 1), min(max(y, 0), height - 1)
            for c in range(channels):
                out[i, j, c] = image[y, x, c]
