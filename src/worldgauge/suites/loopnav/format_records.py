"""The records of a LoopNav trajectory: reading its JSON file, when it is valid, and what can be measured on it.

Files come in the spellings of the release and of the paper. Everything here is in the game's frame: x, y up, z in
blocks; yaw 0 looks to -z, positive turns left. Positions and goals are (x, z), as in the released rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from worldgauge.core import geometry
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import wrap_angle
from worldgauge.core.io import parse_json
from worldgauge.worlds.walking.walk import LoopKind, Walk, WalkGoal

MAX_JSON_BYTES = 16 * 2**20
"""About ten times the longest recording the collector keeps (2,500 frames)."""

MAX_RECORDS = 50_000
MAX_COORDINATE = 1e8
MAX_WHOLE = 2**64
HELD_KEYS = ("back", "left", "right", "sprint", "sneak")
"""Keys in released records besides forward and jump; false in all of them."""

DIGGING_KEYS = frozenset({"dig", "digging", "attack"})
_OTHER_KEYS = (*HELD_KEYS, *sorted(DIGGING_KEYS))


class RecordedGoal(NamedTuple):
    """Where the planner is heading, in blocks; exact with y, near enough with range_sq. The paper has neither."""

    x: float
    z: float
    y: float | None = None
    range_sq: float | None = None


@dataclass(frozen=True, slots=True)
class LoopRecord:
    """One frame: feet in blocks, radians, yaw not wrapped, pitch up; keys act on the next frame, `camera` led here."""

    x: float
    y: float
    z: float
    yaw_raw: float
    pitch: float
    forward: bool
    jump: bool
    camera: tuple[float, float]
    held: tuple[str, ...]
    goal: RecordedGoal | None
    frame_count: int | None
    location: str | None
    type: str | None
    radius: int | None
    seed: int | None
    caption: str | None = None
    """What the frame shows, where that differs from the frame before."""

    @property
    def yaw(self) -> float:
        """Yaw in [-pi, pi) radians, as the paper prints it."""
        return float(wrap_angle(self.yaw_raw))


def read_records(path: Path) -> list[LoopRecord]:
    """All records of a JSON file, in order."""
    return parse_records(read_bytes(path), str(path))


def read_bytes(path: Path) -> bytes:
    """The whole content of a file."""
    try:
        size = path.stat().st_size
        if size > MAX_JSON_BYTES:
            raise DataError(f"{path}: {size} bytes pass the limit of {MAX_JSON_BYTES} for records")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def parse_records(data: bytes, where: str) -> list[LoopRecord]:
    """Records in the content of a JSON file."""
    rows = parse_json(data, where)
    if not isinstance(rows, list):
        raise DataError(f"{where}: expected a list with one object a frame, got {_kind(rows)}")
    if len(rows) > MAX_RECORDS:
        raise DataError(f"{where}: {len(rows)} records pass the limit of {MAX_RECORDS}")
    return [_record(_Fields(row, f"{where}: record {index}")) for index, row in enumerate(rows)]


def walk_of(records: Sequence[LoopRecord], kind: LoopKind, radius: int) -> Walk:
    """Convert records to our frame: (x, y, z) -> (x, -z, y), yaw + pi/2, block (x, y, z) -> cell (x, -z - 1, y)."""
    return Walk(
        positions=np.array([(r.x, -r.z, r.y) for r in records], np.float64).reshape(-1, 3),
        yaw=np.array([r.yaw_raw for r in records], np.float64) + np.pi / 2,
        pitch=np.array([r.pitch for r in records], np.float64),
        camera=np.array([r.camera for r in records], np.float64).reshape(-1, 2),
        forward=np.array([r.forward for r in records], bool),
        jump=np.array([r.jump for r in records], bool),
        goals=tuple(None if r.goal is None else _our_goal(r.goal) for r in records),
        kind=kind,
        radius=radius,
        seed=records[0].seed if records else None,
    )


def _our_goal(goal: RecordedGoal) -> WalkGoal:
    return WalkGoal(
        math.floor(goal.x),
        -math.floor(goal.z) - 1,
        None if goal.y is None else math.floor(goal.y),
        None if goal.range_sq is None else math.ceil(goal.range_sq),
    )


def _record(fields: _Fields) -> LoopRecord:
    action = fields.object("action", required=True)
    extra = fields.object("extra_info")
    goal = fields.object("goal")
    return LoopRecord(
        x=fields.number("x"),
        y=fields.number("y"),
        z=fields.number("z"),
        yaw_raw=fields.number("yaw"),
        pitch=fields.number("pitch"),
        forward=action.flag("forward"),
        jump=action.flag("jump"),
        camera=action.pair("camera"),
        held=action.held(),
        goal=RecordedGoal(goal.number("x"), goal.number("z"), goal.maybe("y"), goal.maybe("rangeSq")) if goal else None,
        frame_count=fields.whole("frame_count"),
        location=extra.text("location"),
        type=extra.text("nvtype"),
        radius=extra.whole("nvrange"),
        seed=extra.whole("seed"),
        caption=fields.text("caption"),
    )


class _Fields:
    """One JSON object whose fields are read by type; 'frame count' and 'frame_count' are one name."""

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise DataError(f"{where}: expected an object, got {_kind(value)}")
        self._values: Mapping[str, Any] = {_plain(key): item for key, item in value.items()}
        self._where = where

    def __bool__(self) -> bool:
        return bool(self._values)

    def get(self, name: str, *, required: bool = False) -> Any:
        """A value as it is; None when absent or null, unless required."""
        value = self._values.get(_plain(name))
        if value is None and required:
            raise self._error(name, "is missing")
        return value

    def object(self, name: str, *, required: bool = False) -> _Fields:
        """A nested object; empty when absent or null, unless required."""
        value = self.get(name, required=required)
        return _Fields({} if value is None else value, f"{self._where}, field '{name}'")

    def number(self, name: str) -> float:
        return self._finite(name, self.get(name, required=True))

    def maybe(self, name: str) -> float | None:
        value = self.get(name)
        return None if value is None else self._finite(name, value)

    def whole(self, name: str) -> int | None:
        value = self.get(name)
        if value is None:
            return None
        # Seeds fill 64 bits: read as they are, not through a float.
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_WHOLE:
            return value
        number = self._finite(name, value)
        if number != int(number):
            raise self._error(name, f"must be a whole number, got {number}")
        return int(number)

    def text(self, name: str) -> str | None:
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise self._error(name, f"must be text, got {_kind(value)}")
        return value

    def flag(self, name: str) -> bool:
        value = self.get(name, required=True)
        if not isinstance(value, bool):
            raise self._error(name, f"must be true or false, got {_kind(value)}")
        return value

    def pair(self, name: str) -> tuple[float, float]:
        value = self.get(name, required=True)
        if not isinstance(value, list) or len(value) != 2:
            raise self._error(name, "must be a list of two angles [dyaw, dpitch]")
        return self._finite(name, value[0]), self._finite(name, value[1])

    def held(self) -> tuple[str, ...]:
        return tuple(name for name in _OTHER_KEYS if name in self._values and self.flag(name))

    def _finite(self, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._error(name, f"must be a number, got {_kind(value)}")
        if not abs(value) <= MAX_COORDINATE:
            raise self._error(name, f"is beyond +-{MAX_COORDINATE:.0e}")
        return float(value)

    def _error(self, name: str, what: str) -> DataError:
        return DataError(f"{self._where}: field '{name}' {what}")


@lru_cache(maxsize=256)
def _plain(key: str) -> str:
    return key.replace(" ", "").replace("_", "").lower()


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true/false", type(None): "null"}
    return kinds.get(type(value), "a number")


AWAY_M = 2.0
"""A goal more than this from the start, in x or in z, is away; a loop closes within it (release)."""

MIN_CONTEXT = 32
MAX_CAMERA = 0.15
"""Largest camera step per tick that a reader accepts; the paper says 0.1, the release allows 0.15."""

EXCLUSIVE_CAMERA = 0.01
"""From this camera step on, forward and jump must be up."""

MOVING_M = 0.05


def return_index(start: tuple[float, float], goals: Sequence[RecordedGoal | None]) -> int | None:
    """First frame of the way back by the released rule; `start` is the first position (x, z) in the game's frame."""
    away = [i for i, goal in enumerate(goals) if goal is not None and is_away(start, goal)]
    return away[-1] if away else None


def exact_return_index(goals: Sequence[RecordedGoal | None]) -> int | None:
    """Last record before the last change of the goal; the released rule takes a C near A for the way back."""
    legs = goal_changes(goals)
    if len(legs) < 2:
        return None
    return max(i for i in range(legs[-1]) if goals[i] is not None)


def first_return_index(goals: Sequence[RecordedGoal | None]) -> int | None:
    """Last record before the first leg to the last goal (of one lap, `exact_return_index`); None without a change."""
    legs = goal_changes(goals)
    home = next((leg for leg in legs[1:] if goals[leg] == goals[legs[-1]]), None)
    return None if home is None else max(i for i in range(home) if goals[i] is not None)


def goal_changes(goals: Sequence[RecordedGoal | None]) -> list[int]:
    """Indices at which a new goal begins, the first goal included; gaps without a goal do not count."""
    changes: list[int] = []
    last: RecordedGoal | None = None
    for index, goal in enumerate(goals):
        if goal is not None and goal != last:
            changes.append(index)
            last = goal
    return changes


def is_away(start: tuple[float, float], goal: RecordedGoal) -> bool:
    """Whether a goal differs from the start (x, z) by more than two blocks on either axis."""
    return abs(goal.x - start[0]) > AWAY_M or abs(goal.z - start[1]) > AWAY_M


@dataclass(frozen=True)
class WalkMeasures:
    """Numbers of one trajectory, in metres (blocks) and radians.

    Attributes:
        normalised_deviation: `enclosed_area` over half the path length; both only for ABA with a way back.
        look_around: Heading arc before the first step.
        camera_mismatch: Largest difference between a change of yaw and the camera value of that record.
        exclusive_violations: Frames that turn and hold a key.
        yaw_agreement: Mean cosine between motion and heading; None when nothing moved.
        idle_records: Frames equal to the one before, with nothing pressed; in the game each may last a second.
        final_distance: From the first to the last position, planar.
    """

    path_length: float
    enclosed_area: float | None
    normalised_deviation: float | None
    look_around: float
    max_camera: float
    camera_mismatch: float
    exclusive_violations: int
    yaw_agreement: float | None
    idle_records: int
    final_distance: float


def measure(walk: Walk, split: int | None) -> WalkMeasures:
    """Measure a walk whose way back begins at frame `split`; None when it has none."""
    xy = walk.positions[:, :2]
    motion = np.diff(xy, axis=0)
    step = np.linalg.norm(motion, axis=1)
    moving = step > MOVING_M
    first_step = int(moving.argmax()) if moving.any() else len(walk)
    yaw = np.unwrap(walk.yaw)
    heading = np.stack([np.cos(walk.yaw), np.sin(walk.yaw)], -1)[:-1]
    ahead = (motion * heading).sum(1)[moving].sum()
    turning = np.abs(walk.camera).max(axis=1) >= EXCLUSIVE_CAMERA
    still = (step == 0) & (np.diff(walk.yaw) == 0) & ~(walk.forward | walk.jump)[:-1]
    has_lobes = walk.kind == "ABA" and split is not None
    area = geometry.enclosed_area(xy[: split + 1], xy[split:]) if has_lobes and split is not None else None
    total = walk.length
    return WalkMeasures(
        path_length=total,
        enclosed_area=area,
        normalised_deviation=None if area is None or total == 0 else area / (total / 2),
        look_around=float(min(np.ptp(yaw[: first_step + 1]), 2 * math.pi)),
        max_camera=float(np.abs(walk.camera).max()),
        camera_mismatch=float(np.abs(np.diff(yaw) - walk.camera[1:, 0]).max(initial=0.0)),
        exclusive_violations=int((turning & (walk.forward | walk.jump)).sum()),
        yaw_agreement=float(ahead / step[moving].sum()) if moving.any() else None,
        idle_records=int(still.sum()),
        final_distance=float(np.linalg.norm(xy[-1] - xy[0])),
    )


Fault = Literal[
    "incomplete", "records", "video", "lengths",
    "never_left", "never_came_back", "open", "frame_count", "camera", "digs", "short",
]  # fmt: skip
"""Kinds of reasons to leave a trajectory out; the first four are faults of the files, the others of the walk."""

FILE_FAULTS: tuple[Fault, ...] = ("incomplete", "records", "video", "lengths")


class LoopVerdict(NamedTuple):
    """Why a trajectory is left out, as a code and as a line, and flags that do not make it invalid."""

    fault: Fault | None
    invalid: str | None
    flags: tuple[str, ...]


def judge(
    records: Sequence[LoopRecord], measures: WalkMeasures, *, kind: str, location: str, radius: int
) -> LoopVerdict:
    """Apply the validity filters of the release, and ours."""
    start = (records[0].x, records[0].z)
    goals = [record.goal for record in records]
    split = return_index(start, goals)
    turn, gap = measures.max_camera, measures.final_distance
    digs = any(DIGGING_KEYS & set(r.held) for r in records)
    short = split is not None and split < MIN_CONTEXT
    counts = [record.frame_count for record in records if record.frame_count is not None]
    backwards = any(later <= earlier for earlier, later in pairwise(counts))
    reasons: list[tuple[bool, Fault, str]] = [
        (split is None, "never_left", "never left its start"),
        (split == len(records) - 1, "never_came_back", "never came back: its goal is away to the end"),
        (gap > AWAY_M, "open", f"ends {gap:.1f} blocks from its start"),
        (backwards, "frame_count", "frame_count does not grow from record to record"),
        (turn > MAX_CAMERA + 1e-9, "camera", f"camera turns {turn:.3f} rad in one tick"),
        (digs, "digs", "digs: the world changes during the walk"),
        (short, "short", f"only {split} frames before its way back, {MIN_CONTEXT} needed"),
    ]
    fault, invalid = next(((code, reason) for holds, code, reason in reasons if holds), (None, None))
    away = {(goal.x, goal.z) for goal in goals if goal is not None and is_away(start, goal)}
    flags = [
        ("segment_fallback", kind == "ABCA" and len(away) < 2),
        ("other_keys", any(set(r.held) - DIGGING_KEYS for r in records)),
        ("extra_info_differs", any(not _agrees(r, kind, location, radius) for r in records)),
    ]
    return LoopVerdict(fault, invalid, tuple(name for name, holds in flags if holds))


def _agrees(record: LoopRecord, kind: str, location: str, radius: int) -> bool:
    return record.type in (None, kind) and record.location in (None, location) and record.radius in (None, radius)
