"""One row of a published episode file as an episode, or a DataError that names field and value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.fields import MAX_COORDINATE_M, number_of, short, whole_of
from worldgauge.core.io import check_name
from worldgauge.suites.closedloop.format.episode import (
    GOAL_RADIUS_M,
    HFOV_DEG,
    ManipulationEpisode,
    NavigationEpisode,
    QuestionEpisode,
    RecognitionEpisode,
)
from worldgauge.suites.closedloop.format.frame import as_stored, our_stance
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.walking.stance import EYE_HEIGHT_M, Stance

MAX_TEXT = 4000
"""Characters of a question, an answer or a name."""
MAX_WHOLE = 2**31 - 1
EYE_M = (0.05, 3.0)
"""Heights that an eye can have above the floor, metres."""

Row = Mapping[str, Any]


def recognition_of(row: Row) -> RecognitionEpisode:
    """Raises KeyError, ValueError or DataError naming the field (specification, 5.1)."""
    start, floor = _stance(row, "start")
    label = text_of(row, "target_categrory").strip().replace("_", " ")  # so spelled in the files
    if label not in LABELS:
        raise ValueError(f"field 'target_categrory' is {short(label)}; give one of the {len(LABELS)} labels")
    return RecognitionEpisode(
        id=id_of(row, "id" if "id" in row else "episode_id"),
        scene=text_of(row, "scene_id"),
        difficulty=whole_of(row, "difficulty", 0, 2),
        target=whole_of(row, "target_id", 0, MAX_WHOLE),
        category=label,
        start=start,
        height_m=_eye(row),
        floor_m=floor,
    )


def navigation_of(row: Row) -> NavigationEpisode:
    """As `recognition_of` (specification, 5.2); the image is looked up by the caller."""
    start, floor = _stance(row, "start")
    goal, _ = _stance(row, "goal")
    return NavigationEpisode(
        id=id_of(row, "datum_id"),
        scene=text_of(row, "scene_relpath"),
        start=start,
        goal=goal,
        radius_m=number_of(row, "goal_radius", 1e-3, 100.0) if "goal_radius" in row else GOAL_RADIUS_M,
        step_to_goal=whole_of(row, "step_to_goal", 0, 100_000),
        height_m=_eye(row),
        floor_m=floor,
    )


def question_of(row: Row) -> QuestionEpisode:
    """As `recognition_of` (specification, 5.3); what the files beside it say is added by the caller."""
    start, floor = _stance(row, "start")
    extra = row.get("extra_answers") or []
    if not isinstance(extra, list) or len(extra) > 100:
        raise ValueError(f"field 'extra_answers' is {short(extra)}; give a list of at most 100 texts")
    return QuestionEpisode(
        id=id_of(row, "question_id"),
        scene=text_of(row, "scene_id"),
        question=text_of(row, "question", lines=True),
        answer=text_of(row, "answer", lines=True),
        extra_answers=tuple(text_of({"extra_answers": one}, "extra_answers", lines=True) for one in extra),
        category=text_of(row, "category"),
        start=start,
        hfov_deg=number_of(row, "hfov", 10.0, 170.0) if row.get("hfov") is not None else HFOV_DEG,
        height_m=_eye(row),
        floor_m=floor,
    )


def manipulation_of(row: Row) -> ManipulationEpisode:
    """As `recognition_of`."""
    wordings = row.get("wordings") or []
    if not isinstance(wordings, list) or len(wordings) > 100:
        raise ValueError(f"field 'wordings' is {short(wordings)}; give a list of at most 100 texts")
    return ManipulationEpisode(
        id=id_of(row, "episode_id"),
        scene=text_of(row, "scene_id"),
        table_task=check_name(text_of(row, "table_task"), "field 'table_task'"),
        variation=whole_of(row, "variation", 0, MAX_WHOLE),
        instruction=text_of(row, "instruction"),
        wordings=tuple(text_of({"wordings": one}, "wordings") for one in wordings),
        reference_poses=whole_of(row, "reference_poses", 0, 100_000) if "reference_poses" in row else 0,
    )


def id_of(row: Row, key: str) -> str:
    """A whole number or a name that can be a part of a path."""
    value = row[key]
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"field '{key}' is {short(value)}; give a whole number or a name")
    return check_name(_plain(str(value), key), f"field '{key}'")


def text_of(row: Row, key: str, *, lines: bool = False) -> str:
    """Words that are not empty, within `MAX_TEXT` characters and without control characters.

    lines: there may be several, and tabs.
    """
    value = row[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"field '{key}' is {short(value)}; give words")
    return _plain(value, key, r"\n\r\t" if lines else "")


def wrong(error: Exception) -> str:
    """What an error of this module says, in one line."""
    if isinstance(error, KeyError):
        return f"field {error} is missing"
    return " ".join(str(error).split())


REFUSALS = (KeyError, ValueError, TypeError, OverflowError, DataError)
"""What the functions above raise on rows that are none."""


def _plain(value: str, key: str, but: str = "") -> str:
    """A text without control characters but those in `but`."""
    if len(value) > MAX_TEXT:
        raise ValueError(f"field '{key}' has {len(value)} characters; give at most {MAX_TEXT}")
    if re.search(rf"[^\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff{but}]|[\u2028\u2029]", value):
        raise ValueError(f"field '{key}' is {short(value)}; leave out control characters and halves of characters")
    return value


def _eye(row: Row) -> float:
    """Height of the camera above the floor: ours say it, published ones all have the same."""
    return number_of(row, "camera_height", *EYE_M) if "camera_height" in row else EYE_HEIGHT_M


def _stance(row: Row, which: str) -> tuple[Stance, float]:
    """Stance and floor of the fields `<which>_position` and `<which>_rotation`.

    The rotation is w, x, y, z; x, y, z, w, which the simulator's own files have, cannot be meant by an agent that
    stands upright, so it is taken as well where only it makes sense.
    """
    position = _numbers(row, f"{which}_position", 3)
    rotation = _numbers(row, f"{which}_rotation", 4)
    for order in (rotation, np.roll(rotation, 1)):
        try:
            stance, floor = our_stance(position, order)
        except ShapeError:
            continue
        return as_stored(stance), round(floor, 9) + 0.0
    raise ValueError(
        f"field '{which}_rotation' is {short(rotation.tolist())}; give a turn about the vertical as w, x, y, z"
    )


def _numbers(row: Row, key: str, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    value = row[key]
    if not isinstance(value, list) or len(value) != n:
        raise ValueError(f"field '{key}' is {short(value)}; give a list of {n} numbers")
    return np.array([number_of({key: one}, key, -MAX_COORDINATE_M, MAX_COORDINATE_M) for one in value])
