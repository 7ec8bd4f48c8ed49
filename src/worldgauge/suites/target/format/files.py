"""Reading the files of a scenario: path, metadata, side-car, words, frames. Every error names its file and field."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.fields import MAX_COORDINATE_M, camera_of, number_of, poses_of, short, whole_of, world_of
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.io import read_json_object, read_text
from worldgauge.suites.target.format.scenario import Label
from worldgauge.worlds.walking.floor import Landmark

MAX_TEXT_BYTES = 16 * 2**20
"""Of a path, a metadata file or a side-car; published ones have some 10 kB, side-cars 70 kB."""

SECONDS_A_ROW = (1 / 240, 1.0)
GAPS = ("", "nan", "na", "n/a", "null", "none")
"""What stands for no value in a csv, in any case."""

SIDECAR_FORMAT = "worldgauge-target"
SIDECAR_VERSION = 1


class Path2D(NamedTuple):
    """A path file. xy: (T, 2) float64 metres without the rows that have a gap; kept: (T,) their numbers in the file."""

    xy: FloatArray
    kept: np.ndarray[Any, np.dtype[np.int64]]
    n_rows: int


class SideCar(NamedTuple):
    """What an embedded world adds to the published files. poses: (T, 4, 4) camera-to-world of every row."""

    world: WorldFacts
    camera: Camera
    poses: FloatArray
    history_rows: int
    dt: float
    target: Landmark | None
    wordings: Mapping[str, str]
    label: Label
    category: str
    split: str
    place: str


def read_path(path: Path) -> Path2D:
    """A csv with the columns x and y, metres; rows with an empty or NaN value are left out, as released.

    Raises DataError for missing columns and for values that are no numbers, infinite or beyond a million metres.
    """
    rows = csv.reader(io.StringIO(read_text(path, MAX_TEXT_BYTES)))
    values: list[tuple[float, float]] = []
    kept: list[int] = []
    number = -1
    with _whole_csv(path):
        header = [name.strip().lower() for name in next(rows, [])]
        if not {"x", "y"} <= set(header):
            raise DataError(f"{path}: needs the columns x and y, has {', '.join(header) or 'none'}")
        columns = header.index("x"), header.index("y")
        for row in rows:
            if not row:
                continue
            number += 1
            x, y = (_cell(row, column, f"{path}: row {number}") for column in columns)
            if not (math.isnan(x) or math.isnan(y)):
                values.append((x, y))
                kept.append(number)
    return Path2D(np.array(values, np.float64).reshape(-1, 2), np.array(kept, np.int64), number + 1)


def number_at(content: Mapping[str, Any], *keys: str) -> float | None:
    """The number under nested keys; None where a key is missing or it is no finite number."""
    value: Any = content
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= MAX_COORDINATE_M:
        return None
    return float(value)


def read_labels(path: Path) -> dict[str, Label]:
    """Label of every scenario in a csv with the columns name and is_explicit (1 or 0).

    Raises DataError for missing columns, other values, and a name with two labels.
    """
    with _whole_csv(path):
        return _labels_of(csv.DictReader(io.StringIO(read_text(path, MAX_TEXT_BYTES))), path)


def _labels_of(rows: csv.DictReader[str], path: Path) -> dict[str, Label]:
    if not {"name", "is_explicit"} <= set(rows.fieldnames or ()):
        raise DataError(f"{path}: needs the columns name and is_explicit, has {', '.join(rows.fieldnames or ())}")
    words: dict[str, Label] = {"1": "explicit", "1.0": "explicit", "true": "explicit"}
    words |= {"0": "implicit", "0.0": "implicit", "false": "implicit"}
    labels: dict[str, Label] = {}
    for number, row in enumerate(rows):
        name, value = (row["name"] or "").strip(), (row["is_explicit"] or "").strip().lower()
        if value not in words:
            raise DataError(f"{path}: row {number}: is_explicit is {value!r}; give 1 or 0")
        if labels.get(name, words[value]) != words[value]:
            raise DataError(f"{path}: row {number}: '{name}' is there twice with two labels; leave one")
        labels[name] = words[value]
    return labels


def read_sidecar(path: Path) -> SideCar:
    """What an embedded world adds. Raises DataError naming the field that is not what it should be.

    All of it is checked, since whoever renders believes it: no pose, camera or time goes on that cannot be.
    """
    content = read_json_object(path)
    if content.get("format") != SIDECAR_FORMAT:
        raise DataError(f"{path}: field 'format' is not '{SIDECAR_FORMAT}'; remove or repair the file")
    if content.get("version") != SIDECAR_VERSION:
        version = short(content.get("version"))
        raise DataError(f"{path}: version {version} is not {SIDECAR_VERSION}; collect the data again")
    try:
        json.dumps(content, allow_nan=False, ensure_ascii=False).encode()  # 1e999 is infinite; lone surrogates
        poses = poses_of(content["poses"])
        target = content["target"]
        return SideCar(
            world=world_of(content["world"]),
            camera=camera_of(content["camera"]),
            poses=poses,
            history_rows=whole_of(content, "history_rows", 0, len(poses) - 1),
            dt=number_of(content, "dt", *SECONDS_A_ROW),
            target=None if target is None else _landmark(target),
            wordings={str(key): str(text) for key, text in content["wordings"].items()},
            label=content["label"] if content["label"] in ("explicit", "implicit") else "unknown",
            category=str(content["category"]),
            split=str(content["split"]),
            place=str(content["place"]),
        )
    except KeyError as error:
        raise DataError(f"{path}: field {error} is missing; collect the data again") from error
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise DataError(f"{path}: not a side-car of ours ({error}); collect the data again") from error


def _cell(row: list[str], column: int, where: str) -> float:
    """A number; NaN for an empty, missing or NaN one."""
    text = row[column].strip() if column < len(row) else ""
    try:
        value = math.nan if text.lower() in GAPS else float(text)
    except ValueError as error:
        raise DataError(f"{where}: {text[:40]!r} is no number") from error
    if abs(value) > MAX_COORDINATE_M:
        raise DataError(f"{where}: {text[:40]} is beyond +-{MAX_COORDINATE_M:.0e} m")
    return value


@contextmanager
def _whole_csv(path: Path) -> Iterator[None]:
    try:
        yield
    except csv.Error as error:
        raise DataError(f"{path}: not a readable csv ({error}); write or download it again") from error


def _landmark(row: Mapping[str, Any]) -> Landmark:
    corners = []
    for key in ("low", "high"):
        named = dict(zip("xyz", row[key], strict=True))
        x, y, z = (number_of(named, axis, -MAX_COORDINATE_M, MAX_COORDINATE_M) for axis in "xyz")
        corners.append((x, y, z))
    return Landmark(str(row["category"]), whole_of(row, "instance", 0, 2**16 - 1), corners[0], corners[1])
