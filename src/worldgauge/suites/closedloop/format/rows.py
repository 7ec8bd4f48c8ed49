"""Reading the fields of one episode's row; every refusal names the field and what to give instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.fields import MAX_COORDINATE_M, number_of, short
from worldgauge.core.io import check_name
from worldgauge.suites.closedloop.format.coordinates import as_stored, our_stance
from worldgauge.worlds.walking.stance import EYE_HEIGHT_M, Stance

MAX_TEXT = 4000
"""Characters of a question, an answer or a name."""
MAX_WHOLE = 2**31 - 1
EYE_M = (0.05, 3.0)
"""Heights that an eye can have above the floor, metres."""

EpisodeRow = Mapping[str, Any]
REFUSALS = (KeyError, ValueError, TypeError, OverflowError, DataError)
"""What reading a row raises when it is no episode."""


def id_of(row: EpisodeRow, key: str) -> str:
    """A whole number, or a name that is allowed in a path.

    Raises:
        ValueError: For anything else.
    """
    value = row[key]
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"field '{key}' is {short(value)}; give a whole number or a name")
    return check_name(_plain(str(value), key), f"field '{key}'")


def text_of(row: EpisodeRow, key: str, *, lines: bool = False) -> str:
    """Text that is not empty, within `MAX_TEXT` characters and without control characters.

    Args:
        row: Row of the file.
        key: Name of the field.
        lines: Allow several lines, and tabs.

    Raises:
        ValueError: For anything else.
    """
    value = row[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"field '{key}' is {short(value)}; give words")
    return _plain(value, key, r"\n\r\t" if lines else "")


def wrong(error: Exception) -> str:
    """An error of this module as one line."""
    if isinstance(error, KeyError):
        return f"field {error} is missing"
    return " ".join(str(error).split())


def _plain(value: str, key: str, but: str = "") -> str:
    """A text without control characters but those in `but`."""
    if len(value) > MAX_TEXT:
        raise ValueError(f"field '{key}' has {len(value)} characters; give at most {MAX_TEXT}")
    if re.search(rf"[^\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff{but}]|[\u2028\u2029]", value):
        raise ValueError(f"field '{key}' is {short(value)}; leave out control characters and lone surrogates")
    return value


def eye_of(row: EpisodeRow) -> float:
    """Height of the camera above the floor: ours say it, published ones all have the same."""
    return number_of(row, "camera_height", *EYE_M) if "camera_height" in row else EYE_HEIGHT_M


def stance_of(row: EpisodeRow, which: str) -> Stance:
    """Stance of the fields `<which>_position` and `<which>_rotation`.

    The rotation is w, x, y, z; x, y, z, w, which the simulator's own files have, is no rotation of an agent that stands
    upright, so that order is accepted as well where only it makes sense.
    """
    position = _numbers(row, f"{which}_position", 3)
    rotation = _numbers(row, f"{which}_rotation", 4)
    for order in (rotation, np.roll(rotation, 1)):
        try:
            return as_stored(our_stance(position, order))
        except ShapeError:
            continue
    raise ValueError(
        f"field '{which}_rotation' is {short(rotation.tolist())}; give a turn about the vertical as w, x, y, z"
    )


def _numbers(row: EpisodeRow, key: str, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    value = row[key]
    if not isinstance(value, list) or len(value) != n:
        raise ValueError(f"field '{key}' is {short(value)}; give a list of {n} numbers")
    return np.array([number_of({key: one}, key, -MAX_COORDINATE_M, MAX_COORDINATE_M) for one in value])
