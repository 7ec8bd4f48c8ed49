"""Loading one scenario of a Target-Bench folder: what its files say, and what is wrong with them."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.core.io import check_inside, read_caption, read_json_object
from worldgauge.suites.target.format import files
from worldgauge.suites.target.format.frame import TANGENT_M, cut_history, cut_released, heading_at, path_of_poses
from worldgauge.suites.target.format.scenario import DT_S, HORIZONS_S, Compat, Label, Scenario

SEGMENT = re.compile(r"(?P<scene>.+)_custom_segment_(?P<start>\d+)_(?P<end>\d+)")
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")

ORIGIN_M = 0.25
"""The row of the current frame may be this far from the origin before it is worth a warning: half a second's walk."""

PLAUSIBLE_DT_S = (0.01, 0.25)


LEAST_OF_PATH = 0.75
"""Share of the rows in the metadata that a path must have: a cut one would make standing still look good."""


def load(folder: Path, horizon_s: float = 8.0, *, compat: Compat = None, label: Label | None = None) -> Scenario:
    """The scenario of one folder; never raises for what lies in it."""
    part = _Loading(Path(folder), horizon_s, compat, label)
    scenario = part.blank()
    try:
        scenario = part.common(scenario)
        scenario = part.whole(scenario) if horizon_s == HORIZONS_S[0] else part.later(scenario)
        told, rows = scenario.metadata.get("trajectory_points"), len(scenario.path_xy) + scenario.first_video_frame
        if not part.faults and isinstance(told, int) and rows < LEAST_OF_PATH * told:
            part.faults.append(f"the path has {rows} rows, the metadata say {told}: a part of the file is missing")
    except DataError as error:
        part.faults.append(str(error).replace(f"{part.folder}/", ""))
    fault = "; ".join(part.faults) or None
    return replace(scenario, warnings=tuple(part.warnings), fault=fault)


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

    def blank(self) -> Scenario:
        """Name and place; a name that cannot be part of an id is replaced by one that can."""
        id = self.stem
        if not NAME.fullmatch(id):
            mark = hashlib.sha256(id.encode("utf-8", "surrogateescape")).hexdigest()[:8]
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
        rows = files.read_path(path)
        self.kept = rows.kept
        if len(rows.xy) < rows.n_rows:
            self.warnings.append(f"{rows.n_rows - len(rows.xy)} of {rows.n_rows} rows of the path are gaps, left out")
        if len(rows.xy) < 2:
            raise DataError(f"{path.name}: {len(rows.xy)} rows are no path")
        scenario = replace(scenario, path_xy=rows.xy, video=self.file("video.mp4"))
        metadata = self.file("metadata.json")
        if metadata is None:
            raise DataError(f"{self.stem}_metadata.json is missing: it holds the anchor distance")
        scenario = replace(scenario, metadata=read_json_object(metadata))
        scenario = self.embedded(scenario)
        if scenario.video is None:
            self.warnings.append("no video of the real walk")
        return replace(scenario, target_text=self.words(scenario), category=self.category(scenario))

    def embedded(self, scenario: Scenario) -> Scenario:
        """With what our own side-car adds, where there is one."""
        path = self.file("world.json")
        if path is None:
            return scenario
        car = files.read_sidecar(path)
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
            dt=car.dt,
        )

    def whole(self, scenario: Scenario) -> Scenario:
        """The walk of 8 s, with its history."""
        content = scenario.metadata
        history = self.history_rows(scenario)
        dt = scenario.dt if scenario.world is not None else _dt_of(content, len(scenario.path_xy) - history)
        return self.framed(
            replace(
                scenario,
                first_frame=self.file("first_frame.png"),
                current_frame=self.file("current_frame.png"),
                history_rows=history,
                dt=dt,
                history_s=history * dt,
                anchor_distance_m=self.anchor(content, "distance_first_to_current", "distance_meters"),
            )
        )

    def later(self, scenario: Scenario) -> Scenario:
        """A horizon of 6 or 4 s: the part of the walk from its own frame on."""
        name = self.file(f"metadata_{self.suffix}.json")
        if name is None:
            raise DataError(f"{self.stem}_metadata_{self.suffix}.json is missing: no horizon of {self.horizon_s:g} s")
        base = self.history_rows(scenario)
        dt = scenario.dt if scenario.world is not None else _dt_of(scenario.metadata, len(scenario.path_xy) - base)
        content = read_json_object(name)
        key = f"horizon_{self.suffix}_frame_index_relative"
        at = number_of_row(content, key)
        row = -1 if at is None else int(np.searchsorted(self.kept, at))
        if at is None or not row + 1 < len(scenario.path_xy):
            raise DataError(f"{name.name}: field '{key}' is missing or not one of the rows of the path but the last")
        return self.framed(
            replace(
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
            rows = files.read_path(own)
            row = int(np.searchsorted(rows.kept, at))
            if not row + 1 < len(rows.xy):
                raise DataError(f"{own.name}: row {at} is not one of its {rows.n_rows} rows but the last")
            return cut_released(rows.xy, row)
        return cut_released(scenario.path_xy, row)

    def framed(self, scenario: Scenario) -> Scenario:
        """Faults and warnings of the two pictures."""
        if scenario.current_frame is None:
            name = f"{self.suffix}.png" if self.suffix else "current_frame.png"
            self.faults.append(f"{self.stem}_{name} is missing: nothing to show the model")
        if scenario.first_frame is None:
            self.warnings.append("no picture of the first frame: decoders that need a scale fail")
        return scenario

    def history_rows(self, scenario: Scenario) -> int:
        """Rows before the current frame: of the metadata, else where the path passes the origin."""
        first = ("distance_first_to_current", "first_frame")
        current = ("distance_first_to_current", "current_frame")
        for key in ("video_index", "trajectory_frame"):
            start, stop = (files.number_at(scenario.metadata, *end, key) for end in (first, current))
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
        """Metres from the first frame to the current one; a fault where they are not told."""
        distance = files.number_at(content, *keys)
        if distance is None or distance < 0:
            self.faults.append(f"metadata: field '{'.'.join(keys)}' is no finite distance in metres")
            return math.nan
        return distance

    def words(self, scenario: Scenario) -> str:
        """What the model is told: the caption, else the metadata's copy of it."""
        path = self.file("caption.txt")
        told = read_caption(path) if path is not None else ""
        if told:
            return told
        copy = scenario.metadata.get("user_caption")
        if isinstance(copy, str) and copy.strip():
            self.warnings.append("no caption file: the caption in the metadata is used")
            return copy.strip()
        self.faults.append(f"{self.stem}_caption.txt is missing or empty: nothing to ask the model for")
        return ""

    def category(self, scenario: Scenario) -> str:
        if scenario.category != "unknown":
            return scenario.category
        named = scenario.metadata.get("category")
        return named.strip() if isinstance(named, str) and named.strip() else "unknown"

    def file(self, name: str) -> Path | None:
        """`<scenario>_<name>` where it is a file; a link that leads out of the data is a fault."""
        path = self.folder / f"{self.stem}_{name}"
        return check_inside(path, self.folder.parent) if path.is_file() else None


def number_of_row(content: Mapping[str, Any], key: str) -> int | None:
    """A row number, 0 or more; None where the field is missing or is none."""
    value = files.number_at(content, key)
    return int(value) if value is not None and value >= 0 and value == int(value) else None


def _dt_of(content: Mapping[str, Any], rows: int) -> float:
    """Seconds a row; the tool's durations may be missing, or a thousand times off (it guesses the unit of stamps)."""
    told = files.number_at(content, "distance_current_to_end", "time_duration_seconds")
    if told is not None and rows > 1:
        for unit in (1.0, 1e3, 1e-3):
            dt = told * unit / (rows - 1)
            if PLAUSIBLE_DT_S[0] <= dt <= PLAUSIBLE_DT_S[1]:
                return dt
    return DT_S
