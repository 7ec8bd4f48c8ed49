"""Reading a Target-Bench folder: its scenarios, their labels, and all files of one.

What is wrong with one scenario is stored in it; every error names its file and field.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core import episode
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.io import check_inside, digest_of, read_caption, read_csv, read_json_object
from worldgauge.suites.targetbench.format.scenario import (
    DT_S,
    HORIZONS_S,
    TANGENT_M,
    Compat,
    Label,
    Scenario,
    cut_history,
    cut_released,
    heading_at,
    path_of_poses,
)
from worldgauge.worlds.walking.floor import Landmark

LABELS_FILE = "im_ex_test_only.csv"
INSIDE = ("", "Benchmark", "dataset/Benchmark")
"""Where the scenario folders may lie below the folder that is given."""


def discover(
    root: Path, horizon_s: float = 8.0, *, labels: Path | None = None, compat: Compat = None
) -> list[Scenario]:
    """All scenarios of a folder, sorted by id, without opening pictures or videos; errors become a scenario's `fault`.

    Shorter horizons begin at the frame of `<s>_2s.png` or `<s>_4s.png`, without history, turned to the heading there.
    """
    (found,) = discover_horizons(root, (horizon_s,), labels=labels, compat=compat)
    return found


def discover_horizons(
    root: Path, horizons_s: Sequence[float] = HORIZONS_S, *, labels: Path | None = None, compat: Compat = None
) -> list[list[Scenario]]:
    """The same for several horizons, one list each; what they share is read once."""
    for horizon_s in horizons_s:
        if horizon_s not in HORIZONS_S:
            raise UsageError(f"horizon is {horizon_s} s; give one of {', '.join(f'{h:g}' for h in HORIZONS_S)}")
    place = scenarios_folder(root)
    known, broken = (load_labels(labels), None) if labels is not None else labels_beside(Path(root))
    split = "benchmark" if place.resolve().name.lower() == "benchmark" else "unknown"
    found = [
        _load(folder, horizons_s, compat, "unknown" if broken else known.get(folder.name)) for folder in _folders(place)
    ]

    def told(scenario: Scenario) -> Scenario:
        warnings = (*scenario.warnings, broken) if broken else scenario.warnings
        return replace(scenario, warnings=warnings, split=split if scenario.split == "unknown" else scenario.split)

    return [[told(scenarios[n]) for scenarios in found] for n in range(len(horizons_s))]


def scenarios_folder(root: Path) -> Path:
    """The folder that holds the scenario folders: `root`, or one of `INSIDE` below it."""
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder")
    places = [root / inside for inside in INSIDE]
    return next((place for place in places if place.is_dir() and _folders(place)), root)


def labels_file(root: Path) -> Path | None:
    """The labels file in `root`, next to the scenario folders or one folder above them."""
    place = scenarios_folder(root)
    found = (folder / LABELS_FILE for folder in dict.fromkeys((Path(root), place, place.parent)))
    return next((path for path in found if path.is_file()), None)


def labels_beside(root: Path) -> tuple[dict[str, Label], str | None]:
    """The labels next to the data, or why they are unreadable: no error, since the user did not name the file."""
    path = labels_file(root)
    try:
        return ({} if path is None else load_labels(path)), None
    except DataError as error:
        return {}, f"no label is known: {error}"


def _folders(place: Path) -> list[Path]:
    """Folders that are scenarios, also broken ones: by their name, or by a file that carries it."""
    found = []
    for folder in sorted(place.iterdir()):
        if folder.name.startswith(".") or not folder.is_dir():
            continue
        if SEGMENT.fullmatch(folder.name) or any(
            (folder / f"{folder.name}_{end}").exists() for end in ("trajectory.csv", "metadata.json", "caption.txt")
        ):
            found.append(folder)
    return found


SEGMENT = re.compile(r"(?P<scene>.+)_custom_segment_(?P<start>\d+)_(?P<end>\d+)")
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")

ORIGIN_M = 0.25
"""The row of the current frame may be this far from the origin before it is worth a warning: half a second's walk."""

PLAUSIBLE_DT_S = (0.01, 0.25)


LEAST_OF_PATH = 0.75
"""Share of the rows in the metadata that a path must have: a cut one would make standing still look good."""


def load(folder: Path, horizon_s: float = 8.0, *, compat: Compat = None, label: Label | None = None) -> Scenario:
    """Read the scenario of one folder; its faults are stored in it, not raised."""
    return _load(Path(folder), (horizon_s,), compat, label)[0]


def _load(folder: Path, horizons_s: Sequence[float], compat: Compat, label: Label | None) -> list[Scenario]:
    """The scenario at each horizon."""
    part = _Loading(folder, HORIZONS_S[0], compat, label)
    scenario, whole = part.blank(), True
    try:
        scenario = part.common(scenario)
    except DataError as error:
        part.noticed(error)
        whole = False
    return [part.at(horizon_s, scenario, whole) for horizon_s in horizons_s]


@dataclass
class _Loading:
    """One scenario on its way, with what was noticed."""

    folder: Path
    horizon_s: float
    compat: Compat
    label: Label | None
    warnings: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    kept: np.ndarray[Any, np.dtype[np.int64]] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def stem(self) -> str:
        return self.folder.name

    @property
    def suffix(self) -> str:
        """How the files of this horizon are called: nothing, 2s or 4s."""
        late = HORIZONS_S[0] - self.horizon_s
        return f"{late:g}s" if late else ""

    def noticed(self, error: DataError) -> None:
        """An error that makes the scenario unusable."""
        self.faults.append(str(error).replace(f"{self.folder}/", ""))

    def at(self, horizon_s: float, scenario: Scenario, whole: bool) -> Scenario:
        """The scenario at one horizon, with what was noticed; where its common part is not whole, that is all."""
        part = replace(self, horizon_s=horizon_s, warnings=[*self.warnings], faults=[*self.faults])
        scenario = replace(scenario, horizon_s=horizon_s)
        try:
            if whole:
                scenario = part.whole(scenario) if horizon_s == HORIZONS_S[0] else part.later(scenario)
                if scenario.current_frame is None:
                    name = f"{part.suffix}.png" if part.suffix else "current_frame.png"
                    part.faults.append(f"{self.stem}_{name} is missing: nothing to show the model")
                if scenario.first_frame is None:
                    part.warnings.append("no picture of the first frame: decoders that need a scale fail")
                told, rows = (
                    scenario.metadata.get("trajectory_points"),
                    len(scenario.path_xy) + scenario.first_video_frame,
                )
                if not part.faults and isinstance(told, int) and rows < LEAST_OF_PATH * min(told, 2**53):
                    lack = f"the path has {rows} rows, the metadata say {told}: a part of the file is missing"
                    part.faults.append(lack)
        except DataError as error:
            part.noticed(error)
        return replace(scenario, warnings=tuple(part.warnings), fault="; ".join(part.faults) or None)

    def blank(self) -> Scenario:
        """Name and place; a name that cannot be part of an id is replaced by one that can."""
        id = self.stem
        if not NAME.fullmatch(id):
            mark = digest_of(id.encode("utf-8", "surrogateescape"))[:8]
            id = re.sub(r"[^A-Za-z0-9_-]", "_", id)[:100] + f"-{mark}"
            self.faults.append(f"the name {self.stem!r} needs letters, digits, '.', '_' or '-'; rename the folder")
        segment = SEGMENT.fullmatch(self.stem)
        return Scenario(
            id=id,
            scene=segment["scene"] if segment else self.stem,
            folder=self.folder,
            label=self.label or "unknown",
            horizon_s=self.horizon_s,
            compat=self.compat,
        )

    def common(self, scenario: Scenario) -> Scenario:
        """What is the same for every horizon, with the path of the whole walk."""
        path = self.file("trajectory.csv")
        if path is None:
            raise DataError(f"{self.stem}_trajectory.csv is missing: no path to score against")
        rows = read_path(path)
        self.kept = rows.kept
        if len(rows.xy) < rows.n_rows:
            self.warnings.append(f"{rows.n_rows - len(rows.xy)} of {rows.n_rows} rows of the path are gaps, left out")
        if len(rows.xy) < 2:
            raise DataError(f"{path.name}: {len(rows.xy)} rows are no path")
        scenario = replace(scenario, path_xy=rows.xy, video=self.file("video.mp4"))
        metadata = self.file("metadata.json")
        if metadata is None:
            raise DataError(f"{self.stem}_metadata.json is missing: it holds the anchor distance")
        scenario = replace(scenario, metadata=read_json_object(metadata, allow_nan=True))
        scenario = self.embedded(scenario)
        if scenario.video is None:
            self.warnings.append("no video of the real walk")
        text, unasked = self.words(scenario)
        named = scenario.metadata.get("category")
        if scenario.category == "unknown" and isinstance(named, str) and named.strip():
            scenario = replace(scenario, category=named.strip())
        return replace(scenario, target_text=text, unasked=unasked)

    def embedded(self, scenario: Scenario) -> Scenario:
        """With what our own side-car adds, where there is one."""
        path = self.file("world.json")
        if path is None:
            return scenario
        car = read_sidecar(path)
        gap_free = len(self.kept) == len(scenario.path_xy) and self.kept[-1] < len(car.poses)
        if not gap_free:
            raise DataError(f"{path.name}: {len(car.poses)} poses for a path of {int(self.kept[-1]) + 1} rows")
        return replace(
            scenario,
            world=car.world,
            camera=car.camera,
            poses=car.poses[self.kept],
            target=car.target,
            wordings=car.wordings,
            label=self.label or car.label,
            category=car.category,
            split=car.split,
            captions=car.captions,
            dt=car.dt,
        )

    def whole(self, scenario: Scenario) -> Scenario:
        """The walk of 8 s, with its history."""
        content = scenario.metadata
        history = self.history_rows(scenario)
        dt = scenario.dt if scenario.world is not None else _dt_of(content, len(scenario.path_xy) - history)
        return replace(
            scenario,
            first_frame=self.file("first_frame.png"),
            current_frame=self.file("current_frame.png"),
            history_rows=history,
            dt=dt,
            history_s=history * dt,
            anchor_distance_m=self.anchor(content, "distance_first_to_current", "distance_meters"),
        )

    def later(self, scenario: Scenario) -> Scenario:
        """A horizon of 6 or 4 s: the part of the walk from its own frame on."""
        name = self.file(f"metadata_{self.suffix}.json")
        if name is None:
            raise DataError(f"{self.stem}_metadata_{self.suffix}.json is missing: no horizon of {self.horizon_s:g} s")
        base = self.history_rows(scenario)
        dt = scenario.dt if scenario.world is not None else _dt_of(scenario.metadata, len(scenario.path_xy) - base)
        content = read_json_object(name, allow_nan=True)
        key = f"horizon_{self.suffix}_frame_index_relative"
        value = number_at(content, key)
        at = int(value) if value is not None and value >= 0 and value == int(value) else None
        row = -1 if at is None else int(np.searchsorted(self.kept, at))
        if at is None or not row + 1 < len(scenario.path_xy):
            raise DataError(f"{name.name}: field '{key}' is missing or not one of the rows of the path but the last")
        return replace(
            scenario,
            metadata=content,
            first_frame=self.file("current_frame.png"),
            current_frame=self.file(f"{self.suffix}.png"),
            path_xy=self.cut(scenario, row, at),
            poses=None if scenario.poses is None else scenario.poses[row:],
            history_rows=0,
            dt=dt,
            history_s=(row - base) * dt if row > base else HORIZONS_S[0] - self.horizon_s,
            anchor_distance_m=self.anchor(content, f"distance_current_to_{self.suffix}_meters"),
            first_video_frame=at,
        )

    def cut(self, scenario: Scenario, row: int, at: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The path from `row` on, seen from there."""
        if self.compat != "released":
            if scenario.poses is not None:
                return path_of_poses(scenario.poses, row)[row:]
            if heading_at(scenario.path_xy, row) is None:
                self.warnings.append(f"the path stays within {TANGENT_M} m: not turned to a new heading")
            return cut_history(scenario.path_xy, row)
        if self.suffix == "4s":
            own = self.file("trajectory_4s.csv")
            if own is None:
                raise DataError(f"{self.stem}_trajectory_4s.csv is missing: the released script reads it")
            rows = read_path(own)
            row = int(np.searchsorted(rows.kept, at))
            if not row + 1 < len(rows.xy):
                raise DataError(f"{own.name}: row {at} is not one of its {rows.n_rows} rows but the last")
            return cut_released(rows.xy, row)
        return cut_released(scenario.path_xy, row)

    def history_rows(self, scenario: Scenario) -> int:
        """Rows before the current frame: of the metadata, else where the path passes the origin."""
        first = ("distance_first_to_current", "first_frame")
        current = ("distance_first_to_current", "current_frame")
        for key in ("video_index", "trajectory_frame"):
            start, stop = (number_at(scenario.metadata, *end, key) for end in (first, current))
            if start is not None and stop is not None and 0 <= stop - start < int(self.kept[-1]):
                row = min(int(np.searchsorted(self.kept, round(stop - start))), len(self.kept) - 2)
                off = float(np.linalg.norm(scenario.path_xy[row]))
                if off > ORIGIN_M:
                    self.warnings.append(f"row {row} should be the current frame, but lies {off:.2f} m from the origin")
                return row
        row = int(np.argmin(np.linalg.norm(scenario.path_xy, axis=1)))
        self.warnings.append(f"the metadata do not say how long the history is: row {row} is nearest to the origin")
        return min(row, len(scenario.path_xy) - 2)

    def anchor(self, content: Mapping[str, Any], *keys: str) -> float:
        """Metres from the first frame to the current one; a fault where they are missing."""
        distance = number_at(content, *keys)
        if distance is None or distance < 0:
            self.faults.append(f"metadata: field '{'.'.join(keys)}' is no finite distance in metres")
            return math.nan
        return distance

    def words(self, scenario: Scenario) -> tuple[str, str | None]:
        """The text for the model, and why there is none: the caption, else the metadata's copy of it."""
        path = self.file("caption.txt")
        lacks, told = f"{self.stem}_caption.txt is missing or empty", ""
        if path is not None:
            try:
                told = read_caption(path)
            except DataError as error:  # the annotation tool writes it in the encoding of its machine
                lacks = str(error).replace(f"{self.folder}/", "")
        if told:
            return told, None
        copy = scenario.metadata.get("user_caption")
        if isinstance(copy, str) and copy.strip():
            self.warnings.append(f"{lacks}: the caption in the metadata is used")
            return copy.strip(), None
        self.warnings.append(f"{lacks}: only finished videos can be scored")
        return "", f"{lacks}: nothing to ask the model for"

    def file(self, name: str) -> Path | None:
        """`<scenario>_<name>` where it is a file; a link that leads out of the data is a fault."""
        path = self.folder / f"{self.stem}_{name}"
        return check_inside(path, self.folder.parent) if path.is_file() else None


def _dt_of(content: Mapping[str, Any], rows: int) -> float:
    """Seconds a row; the tool's durations may be missing, or a thousand times off (it guesses the unit of stamps)."""
    told = number_at(content, "distance_current_to_end", "time_duration_seconds")
    if told is not None and rows > 1:
        for unit in (1.0, 1e3, 1e-3):
            dt = told * unit / (rows - 1)
            if PLAUSIBLE_DT_S[0] <= dt <= PLAUSIBLE_DT_S[1]:
                return dt
    return DT_S


SECONDS_A_ROW = (1 / 240, 1.0)
GAPS = ("", "nan", "na", "n/a", "null", "none")
"""What stands for no value in a csv, in any case."""

SIDECAR_FORMAT = "worldgauge-target"
SIDECAR_VERSION = 1


class Path2D(NamedTuple):
    """A path file: points (T, 2) in metres without the rows that have a gap, and their row numbers (T,)."""

    xy: FloatArray
    kept: np.ndarray[Any, np.dtype[np.int64]]
    n_rows: int


class ScenarioSideCar(NamedTuple):
    """What an embedded world adds to the published files: poses (T, 4, 4) of every row, `dt` seconds apart."""

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
    captions: episode.Captions = ()


def read_path(path: Path) -> Path2D:
    """Read a csv with the columns x and y, metres; rows with an empty or NaN value are left out, as released."""
    rows = csv.reader(read_csv(path))
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
    """The number under nested keys; None where a key is missing or the value is no finite number."""
    value: Any = content
    for key in keys:
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= episode.MAX_COORDINATE_M:
        return None
    return float(value)


def load_labels(path: Path) -> dict[str, Label]:
    """Label of every scenario in a csv with the columns name and is_explicit (1 or 0)."""
    words: dict[str, Label] = {"1": "explicit", "1.0": "explicit", "true": "explicit"}
    words |= {"0": "implicit", "0.0": "implicit", "false": "implicit"}
    labels: dict[str, Label] = {}
    with _whole_csv(path):
        rows = csv.DictReader(read_csv(Path(path)))
        if not {"name", "is_explicit"} <= set(rows.fieldnames or ()):
            raise DataError(f"{path}: needs the columns name and is_explicit, has {', '.join(rows.fieldnames or ())}")
        for number, row in enumerate(rows):
            name, value = (row["name"] or "").strip(), (row["is_explicit"] or "").strip().lower()
            if value not in words:
                raise DataError(f"{path}: row {number}: is_explicit is {value!r}; give 1 or 0")
            if labels.get(name, words[value]) != words[value]:
                raise DataError(f"{path}: row {number}: '{name}' is there twice with two labels; leave one")
            labels[name] = words[value]
    return labels


def read_sidecar(path: Path) -> ScenarioSideCar:
    """Read what an embedded world adds; poses, camera and times are all checked, since renderers rely on them."""
    with episode.reading_sidecar(path, SIDECAR_FORMAT, SIDECAR_VERSION) as content:
        poses = episode.poses_of(content["poses"])
        target = content["target"]
        return ScenarioSideCar(
            world=episode.world_of(content["world"]),
            camera=episode.camera_of(content["camera"]),
            poses=poses,
            history_rows=episode.whole_of(content, "history_rows", 0, len(poses) - 1),
            dt=episode.number_of(content, "dt", *SECONDS_A_ROW),
            target=None if target is None else _landmark(target),
            wordings={str(key): str(text) for key, text in content["wordings"].items()},
            label=content["label"] if content["label"] in ("explicit", "implicit") else "unknown",
            category=str(content["category"]),
            split=str(content["split"]),
            captions=episode.captions_of(content.get("captions", [])),
            place=str(content["place"]),
        )


def _cell(row: list[str], column: int, where: str) -> float:
    """A number; NaN for an empty, missing or NaN one."""
    text = row[column].strip() if column < len(row) else ""
    try:
        value = math.nan if text.lower() in GAPS else float(text)
    except ValueError as error:
        raise DataError(f"{where}: {text[:40]!r} is no number") from error
    if abs(value) > episode.MAX_COORDINATE_M:
        raise DataError(f"{where}: {text[:40]} is beyond +-{episode.MAX_COORDINATE_M:.0e} m")
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
        x, y, z = (
            episode.number_of(named, axis, -episode.MAX_COORDINATE_M, episode.MAX_COORDINATE_M) for axis in "xyz"
        )
        corners.append((x, y, z))
    return Landmark(str(row["category"]), episode.whole_of(row, "instance", 0, 2**16 - 1), corners[0], corners[1])
