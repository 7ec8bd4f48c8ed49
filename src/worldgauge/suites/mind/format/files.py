"""What lies in a folder of MIND, and in which frame: names of parts and files, poses, and the small files of a clip.

Files are in the engine's left-handed frame, centimetres and degrees; episodes are in ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.actions import ActionSpace
from worldgauge.core.episode import (
    WorldFacts,
    camera_of,
    captions_of,
    number_of,
    poses_of,
    reading_sidecar,
    short,
    world_of,
)
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.io import Stamp, stamp_of
from worldgauge.suites.mind.actions import Perspective, space_of, steps_of, walk_look

ARM_CM, PIVOT_CM = 250.0, 120.0
ARM_TOLERANCE_CM = 2.0
"""In a turn the published arm is short by up to 0.09 cm; one that a wall pushed in is shorter by far more."""

ANGLE_TOLERANCE_DEG = 2.0
"""Fields are whole degrees in a turn, up to one beyond the angle of the positions."""

_MIRROR = np.diag([1.0, -1.0, 1.0])


def our_point(position_cm: ArrayLike) -> FloatArray:
    """Convert points (..., 3) of the engine, centimetres, to our frame, metres."""
    points: FloatArray = np.asarray(position_cm, np.float64) * [0.01, -0.01, 0.01]
    return points


def ue_point(position: ArrayLike) -> FloatArray:
    """Convert points (..., 3) of our frame, metres, to the engine's, centimetres."""
    points: FloatArray = np.asarray(position, np.float64) * [100.0, -100.0, 100.0]
    return points


def our_pose(position_cm: ArrayLike, rpy_deg: ArrayLike) -> FloatArray:
    """Convert the engine's positions (..., 3), cm, and roll, pitch, yaw (..., 3), degrees, to our poses (..., 4, 4)."""
    roll, pitch, yaw = np.moveaxis(np.radians(np.asarray(rpy_deg, np.float64)), -1, 0)
    pose = pose_from_yaw_pitch(our_point(position_cm), -yaw, pitch)
    # A roll to the right turns the camera's axes about z from x towards y.
    c, s = np.cos(roll)[..., None], np.sin(roll)[..., None]
    right, down = pose[..., :3, 0].copy(), pose[..., :3, 1].copy()
    pose[..., :3, 0] = c * right + s * down
    pose[..., :3, 1] = c * down - s * right
    return pose


def arm_angles(actor_cm: ArrayLike, camera_cm: ArrayLike, rpy_deg: ArrayLike) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Angles (n, 3) of third-person cameras in the file's frame and units, and whether the positions show the arm (n,).

    Yaw and pitch then come from the arm, since files have whole degrees during a turn; roll is always the file's.
    """
    rpy = np.asarray(rpy_deg, np.float64)
    arm = np.asarray(actor_cm, np.float64) + np.array([0.0, 0.0, PIVOT_CM]) - np.asarray(camera_cm, np.float64)
    level = np.hypot(arm[:, 0], arm[:, 1])
    length = np.hypot(level, arm[:, 2])
    yaw, pitch = np.degrees(np.arctan2(arm[:, 1], arm[:, 0])), np.degrees(np.arctan2(arm[:, 2], level))
    off_yaw = (yaw - rpy[:, 2] + 180.0) % 360.0 - 180.0
    near = np.abs(length - ARM_CM) <= ARM_TOLERANCE_CM
    near &= (np.abs(off_yaw) <= ANGLE_TOLERANCE_DEG) & (np.abs(pitch - rpy[:, 1]) <= ANGLE_TOLERANCE_DEG)
    found: FloatArray = np.where(near[:, None], np.stack([rpy[:, 0], pitch, yaw], -1), rpy)
    return found, near


Part = Literal["train", "mem_test", "action_space_test", "mirror_test"]

PERSPECTIVES: tuple[Perspective, ...] = ("1st", "3rd")
PARTS: tuple[Part, ...] = ("train", "mem_test", "action_space_test", "mirror_test")
FPS = 24.0
ACTIONS = "action.json"
VIDEO = "video.mp4"
IMAGES = "images.txt"
SIDECAR = "world.json"
MIRROR_ROWS = 48
DATA_FOLDER = "MIND-Data"
SHARED_SPACE = (1.0, 200.0)
"""Degrees a frame and centimetres a second of the space that most of the data share."""

MIRROR_NUMBERS: Mapping[str, int] = {
    name: number for number, name in enumerate(("w", "s", "u", "down", "a", "d", "wl", "wr", "sl", "sr"), 1)
}
"""Name of a path -> n of its `path-<n>.mp4` (the published numbers are not known)."""

_SPACE_IN_NAME = re.compile(r"data-\d+-(\d{1,2}(?:\.\d{1,6})?)x-(\d{1,5}(?:\.\d{1,6})?)")


@dataclass(frozen=True)
class MindClip:
    """A recorded clip, or a start image with one of the out-and-back paths.

    Attributes:
        folder: Holds its files; all mirror tasks share one folder.
        name: Name of the clip's folder, or stem of the start image.
        frames: Rows of data that have a frame.
        total_time: Frames of the clip as its file states, else its rows.
        space_known: False if `space` is not stored, but read off the name or the shared one.
        world: Only for data collected here, as is `camera`.
        records: The action file; None for a mirror path without one.
        sidecar: File with what an embedded world adds.
    """

    id: str
    folder: Path
    perspective: Perspective
    part: Part
    name: str
    fault: str | None = None
    warnings: tuple[str, ...] = ()
    mark_time: int = 0
    frames: int = 0
    total_time: int = 0
    space: ActionSpace = field(default_factory=walk_look)
    space_known: bool = False
    family: str = "unknown"
    world: WorldFacts | None = None
    camera: Camera | None = None
    path: str | None = None
    number: int | None = None
    records: Path | None = None
    video: Path | None = None
    image: Path | None = None
    sidecar: Path | None = None
    caption: Path | None = None

    def __hash__(self) -> int:
        # The world's parameters have no hash; name and place are enough to tell clips apart.
        return hash((self.id, self.folder, self.fault))

    @property
    def is_submitted(self) -> bool:
        """Whether it is a path of a submission that belongs to no start image of the data."""
        return self.part == "mirror_test" and self.image is None and self.fault is None

    @property
    def steps(self) -> tuple[float, float]:
        """Size of a key's effect, (delta_r, delta_p): degrees a frame and centimetres a second."""
        return steps_of(self.space)


def part_folder(perspective: Perspective, part: Part) -> Path:
    """Return the path of a part's folder, relative to the data folder."""
    top = Path(f"{perspective}_data")
    return top / part if part == "train" else top / "test" / part


def space_hint(name: str) -> ActionSpace:
    """The space that a clip's name implies, such as `data-0-1.0x-200`; the shared space where it implies none."""
    found = _SPACE_IN_NAME.fullmatch(name)
    steps = (float(found[1]), float(found[2])) if found else SHARED_SPACE
    return space_of(*(steps if min(steps) > 0 else SHARED_SPACE))


def data_folder(root: Path) -> Path:
    """The folder that holds `1st_data` and `3rd_data`: `root` or `root`/MIND-Data."""
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; give the folder {DATA_FOLDER} with 1st_data or 3rd_data in it")
    inner = root / DATA_FOLDER
    has_data = any((root / f"{perspective}_data").is_dir() for perspective in PERSPECTIVES)
    return inner if not has_data and inner.is_dir() else root


MAX_BYTES = 64 * 2**20
"""About forty times the longest published file (some 4,400 rows)."""

MAX_ROWS = 200_000
MAX_CM = 1e9
MAX_DEG = 1e6
KEYS = ("ws", "ad", "ud", "lr")
"""Columns of keys. Codes: 0 none, 1 the first of the pair (forward, left, look up, look left), 2 the second."""

_REMEDY = "write or download the file again"
_AXES = ("x", "y", "z")


class ActionFile(NamedTuple):
    """An action file; row t led to frame t. Keys (N, 4) are codes, the rest cm and degrees (r, p, y), engine frame."""

    mark_time: int | None
    total_time: int | None
    keys: NDArray[np.uint8]
    actor_pos: FloatArray | None
    actor_rpy: FloatArray | None
    camera_pos: FloatArray | None
    camera_rpy: FloatArray | None
    caption: str
    warnings: tuple[str, ...]


def read_action(path: Path) -> ActionFile:
    """The content of an action file; the last few are cached while they do not change."""
    stamp = stamp_of(path)
    if stamp is not None and stamp[0] > MAX_BYTES:
        raise DataError(f"{path}: {stamp[0]} bytes pass the limit of {MAX_BYTES}; {_REMEDY}")
    return _remembered(path, stamp)


@lru_cache(maxsize=32)  # half a megabyte each
def _remembered(path: Path, stamp: Stamp | None) -> ActionFile:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); {_REMEDY}") from error
    return parse_action(data, str(path))


def parse_action(data: bytes, where: str) -> ActionFile:
    """Parse the content of an action file. Codes of keys other than 0, 1 and 2 are no key, with a warning."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not valid JSON ({error}); {_REMEDY}") from error
    if not isinstance(content, dict) or not isinstance(content.get("data"), list):
        raise DataError(f"{where}: expected an object with a list 'data', one object a frame; {_REMEDY}")
    rows: list[Any] = content["data"]
    if not 0 < len(rows) <= MAX_ROWS:
        raise DataError(f"{where}: {len(rows)} rows are none or pass the limit of {MAX_ROWS}; {_REMEDY}")
    if set(map(type, rows)) != {dict}:
        at = next(i for i, row in enumerate(rows) if type(row) is not dict)
        raise DataError(f"{where}: row {at} of 'data' is no object; {_REMEDY}")
    rows, warnings = _in_order(rows, where)
    keys = _numbers(rows, KEYS, where)
    known = (keys == 0) | (keys == 1) | (keys == 2)
    if not known.all():
        row, column = (int(i) for i in np.argwhere(~known)[0])
        first = f"'{KEYS[column]}' is {keys[row, column]:g} in row {row}"
        warnings.append(f"{Path(where).name}: {first}, which is none of 0, 1, 2: no key ({(~known).sum()} such codes)")
        keys = np.where(known, keys, 0)
    total = _whole(content, "total_time", where)
    if total is not None and total != len(rows):
        warnings.append(f"{Path(where).name}: total_time is {total}, but there are {len(rows)} rows, which count")
    caption = content.get("caption")
    return ActionFile(
        mark_time=_whole(content, "mark_time", where),
        total_time=total,
        keys=keys.astype(np.uint8),
        actor_pos=_triples(rows, "actor_pos", where),
        actor_rpy=_triples(rows, "actor_rpy", where),
        camera_pos=_triples(rows, "camera_pos", where),
        camera_rpy=_triples(rows, "camera_rpy", where),
        caption=caption.strip() if isinstance(caption, str) else "",
        warnings=tuple(warnings),
    )


def action_text(
    keys: NDArray[np.uint8], mark_time: int, poses: Mapping[str, FloatArray], *, total_time: int | None = None
) -> str:
    """Text of an action file, one row per line with all digits; poses by field (N, 3), in the engine's units."""
    for name, values in poses.items():
        if values.shape != (len(keys), 3) or not np.isfinite(values).all():
            raise DataError(f"'{name}' of {len(keys)} rows has shape {values.shape} or values that are not finite")
    fields = {name: values.tolist() for name, values in poses.items()}
    rows = [
        json.dumps(
            {
                "time": t,
                **dict(zip(KEYS, codes, strict=True)),
                **{name: dict(zip(_AXES, values[t], strict=True)) for name, values in fields.items()},
            },
            allow_nan=False,
        )
        for t, codes in enumerate(keys.tolist())
    ]
    head = {"mark_time": mark_time, "total_time": len(keys) if total_time is None else total_time}
    return json.dumps(head)[:-1] + ', "data": [\n' + ",\n".join(rows) + "\n]}\n"


def _in_order(rows: list[Any], where: str) -> tuple[list[Any], list[str]]:
    """The rows sorted by `time`, which must count from 0 to the last, and what to warn of."""
    times = _numbers(rows, ("time",), where)[:, 0]
    order = np.argsort(times, kind="stable")
    expected = np.arange(len(rows))
    if np.array_equal(times, expected):
        return rows, []
    if np.array_equal(times[order], expected):
        return [rows[i] for i in order], [f"{Path(where).name}: the rows were not in the order of 'time'"]
    missing = np.setdiff1d(expected, times)
    values, counts = np.unique(times, return_counts=True)
    said = [f"time {missing[0]} is missing"] if len(missing) else []
    said += [f"time {values[counts > 1][0]:g} is there twice"] if (counts > 1).any() else []
    raise DataError(
        f"{where}: of {len(rows)} rows {' and '.join(said)}; 'time' must count 0..{len(rows) - 1}; {_REMEDY}"
    )


def _numbers(rows: Sequence[Any], names: Sequence[str], where: str) -> FloatArray:
    """Values (N, len(names)) of some fields of all rows; every one is there and a finite number."""
    try:
        values = [row[name] for row in rows for name in names]
    except KeyError as error:
        at = next(i for i, row in enumerate(rows) if error.args[0] not in row)
        raise DataError(f"{where}: row {at} has no {error}; {_REMEDY}") from error
    return _checked(values, names, MAX_CM, where)


def _triples(rows: Sequence[Any], name: str, where: str) -> FloatArray | None:
    """A field of x, y and z in all rows, (N, 3); None where no row has it."""
    if not any(name in row for row in rows):
        return None
    triples = [row.get(name) for row in rows]
    if set(map(type, triples)) != {dict}:
        at = next(i for i, triple in enumerate(triples) if type(triple) is not dict)
        raise DataError(f"{where}: row {at}: '{name}' is {short(triples[at])}, not x, y and z; {_REMEDY}")
    try:
        values = list(chain.from_iterable((triple["x"], triple["y"], triple["z"]) for triple in triples))
    except KeyError as error:
        at = next(i for i, triple in enumerate(triples) if error.args[0] not in triple)
        raise DataError(f"{where}: row {at}: '{name}' has no {error}; {_REMEDY}") from error
    fields = [f"{name}.{axis}" for axis in _AXES]
    return _checked(values, fields, MAX_CM if name.endswith("pos") else MAX_DEG, where)


def _checked(values: list[Any], fields: Sequence[str], limit: float, where: str) -> FloatArray:
    """Rows (N, len(fields)) of `values`, all of them numbers within +-limit."""
    if set(map(type, values)) <= {int, float}:
        try:
            array = np.array(values, np.float64)
            inside = np.abs(array) <= limit
        except OverflowError:
            inside = np.array([-limit <= value <= limit for value in values])
    else:
        inside = np.array([type(value) in (int, float) for value in values])
    if not inside.all():
        row, column = divmod(int(np.argmin(inside)), len(fields))
        value = short(values[row * len(fields) + column])
        raise DataError(f"{where}: row {row}: '{fields[column]}' is {value}, no number in range; {_REMEDY}")
    return array.reshape(-1, len(fields))


def _whole(content: Mapping[str, Any], name: str, where: str) -> int | None:
    """A whole number, 0 or more; None where it is absent or null."""
    value = content.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1e9 or value != int(value):
        raise DataError(f"{where}: '{name}' is {short(value)}; give a number of frames")
    return int(value)


FORMAT = "worldgauge-mind"
VERSION = 1


class ClipSideCar(NamedTuple):
    """World, camera and keys of a clip or a start image, and the pose (4, 4) of a start image."""

    world: WorldFacts
    camera: Camera
    family: str
    space: ActionSpace
    perspective: Perspective
    facts: Mapping[str, Any]
    pose: FloatArray | None = None


def sidecar_text(car: ClipSideCar) -> str:
    """Text of a side-car file."""
    delta_r, delta_p = steps_of(car.space)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "world": {"name": car.world.name, "params": dict(car.world.params), "digest": car.world.digest},
        "camera": asdict(car.camera),
        "family": car.family,
        "space": {"delta_r_deg": delta_r, "delta_p_cm_s": delta_p},
        "perspective": car.perspective,
        "facts": dict(car.facts),
        "pose": None if car.pose is None else np.asarray(car.pose, np.float64)[:3].ravel().tolist(),
    }
    try:
        return json.dumps(content, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise DataError(f"a side-car needs plain JSON values ({error})") from error


def read_sidecar(path: Path) -> ClipSideCar:
    """Read the side-car at `path`. It is checked in full, since later steps rely on it."""
    with reading_sidecar(path, FORMAT, VERSION) as content:
        perspective: Any = content["perspective"]
        if perspective not in ("1st", "3rd"):
            raise ValueError("field 'perspective' is neither '1st' nor '3rd'")
        if not isinstance(content["family"], str) or not isinstance(content["facts"], dict):
            raise ValueError("field 'family' must be text, field 'facts' an object")
        captions_of(content["facts"].get("captions", []))
        steps = content["space"]
        return ClipSideCar(
            world=world_of(content["world"]),
            camera=camera_of(content["camera"]),
            family=content["family"],
            space=space_of(number_of(steps, "delta_r_deg", 1e-6, 90), number_of(steps, "delta_p_cm_s", 1e-6, 1e5)),
            perspective=perspective,
            facts=content["facts"],
            pose=None if content["pose"] is None else poses_of([content["pose"]], "pose")[0],
        )
