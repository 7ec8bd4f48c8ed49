"""Demonstrations of the table's scripted expert: front frames, poses asked for and reached, and places of things.

On disk, the post-training record: <task>/<number>/ with frames.mp4 (lossless), steps.jsonl, manifest.json and, if asked
for, depth.npz (whole millimetres per frame, 0 for none). Seeds of tables are of the split "train", which no evaluation
episode uses.

Example:
    write_demonstration(root, facts, frames, steps)
    demo = load_demonstrations(root)[0]
    demo.clip[demo.reached[0]]
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import WorldFacts, camera_of, number_of, poses_of, short, whole_of, world_of
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Image
from worldgauge.core.io import atomic_folder, check_inside, check_name, digest_of, parse_json, write_file
from worldgauge.core.video import Clip, Writer
from worldgauge.suites.worldinworld.format.files import read_json
from worldgauge.suites.worldinworld.format.training_records import (
    DEPTH,
    MANIFEST,
    STEPS,
    VIDEO,
    Depth,
    check_format,
    checked_view,
    put_depth,
    read_depth,
    read_lines,
    record_folders,
    refused,
    split_hash,
    write_record,
)
from worldgauge.worlds.tabletop.contract import SEEDS
from worldgauge.worlds.tabletop.pose_plans import HandPose

MAX_NUMBER = 100_000
"""Most demonstrations of a task."""

FORMAT, VERSION = "worldgauge-demonstrations", 1
FrontView = tuple[Image, Depth | None]
"""A picture (H, W, 3) uint8 RGB of the front camera, and its depth (H, W) in metres along the optical axis."""

MAX_STEPS_BYTES = 64 * 2**20
MAX_FRAMES, MAX_SUB_GOALS, MAX_THINGS = 20_000, 1000, 64
MAX_SEED = 2**53
"""The largest integer that every JSON reader represents exactly."""
_MAX_M = 100.0
_ROW = ("k", "action", "pose", "sub_goal", "progress", "things")


@dataclass(frozen=True)
class DemoThing:
    """A thing as the agent knows it; `Demonstration.places` has them in the same order."""

    name: str
    category: str
    colour: str


class DemoStep(NamedTuple):
    """One frame. `things`: (n, 3) centre of each thing, world frame, metres."""

    action: HandPose
    pose: HandPose
    sub_goal: int
    progress: float
    things: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class DemoFacts:
    """Everything of a demonstration except its frames; `fps` is of simulated time.

    `sub_goals` are (n, 8) requested poses, `reached` the frames in which they were done.
    """

    task: str
    number: int
    variation: int
    seed: int
    world: WorldFacts
    instruction: str
    wordings: tuple[str, ...] = ()
    things: tuple[DemoThing, ...]
    camera: Camera
    camera_pose: FloatArray
    fps: float
    seconds: float = 0.0
    sub_goals: FloatArray
    reached: tuple[int, ...]
    discarded: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Its id, which is also the name of its folder."""
        return f"{self.task}/{self.number:06d}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Demonstration(DemoFacts):
    """One task done by the expert, T frames long.

    Attributes:
        asked: (T, 8) as `HandPose`, the pose under way in each frame; `hand` is where the hand is.
        places: (T, things, 3) world frame, metres.
        progress: (T,) in [0, 1].
        depth: Frame number -> metres along the optical axis (H, W), infinite without a hit; None if not recorded.
    """

    clip: Clip
    asked: FloatArray
    hand: FloatArray
    places: FloatArray
    progress: FloatArray
    depth: Callable[[int], Depth] | None = None

    def __len__(self) -> int:
        return len(self.asked)

    @property
    def under_way(self) -> NDArray[np.int64]:
        """(T,) number of the sub-goal pursued in each frame; it stays the last one after that has been reached."""
        return np.searchsorted(self.reached, np.arange(len(self)), side="left").astype(np.int64)


def write_demonstration(root: Path, facts: DemoFacts, frames: Iterable[FrontView], steps: Iterable[DemoStep]) -> Path:
    """Write <root>/<task>/<number>/, replacing it, also from several processes: call `write_index` after them.

    `frames` are taken one at a time, all with depth or none.
    """
    folder = Path(root) / folder_name(facts.task, facts.number)
    with atomic_folder(folder) as part:
        size = (facts.camera.width, facts.camera.height)
        count, has_depth = _write_frames(part, frames, size, facts.fps)
        rows = list(steps)
        if len(rows) != count or not count:
            raise DataError(f"{folder}: {count} frames for {len(rows)} steps; give one frame a step, and one at least")
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "task": facts.task,
            "number": facts.number,
            "variation": facts.variation,
            "seed": facts.seed,
            "frames": count,
            "width": size[0],
            "height": size[1],
            "fps": facts.fps,
            "seconds": facts.seconds,
            "depth": has_depth,
            "world": asdict(facts.world),
            "instruction": facts.instruction,
            "wordings": list(facts.wordings),
            "things": [asdict(thing) for thing in facts.things],
            "camera": asdict(facts.camera),
            "camera_pose": np.asarray(facts.camera_pose, np.float64)[:3].ravel().tolist(),
            "sub_goals": np.asarray(facts.sub_goals, np.float64).tolist(),
            "reached": list(facts.reached),
            "discarded": list(facts.discarded),
        }
        write_record(part, (_step_row(k, row, facts) for k, row in enumerate(rows)), manifest)
    return folder


def folder_name(task: str, number: int) -> Path:
    """Return the path of demonstration `number` of a task, relative to the data folder."""
    if not 0 <= number < MAX_NUMBER:
        raise DataError(f"demonstration {number} of '{task}'; number them from 0 to {MAX_NUMBER - 1}")
    return Path(check_name(task, "demonstrations")) / f"{number:06d}"


def load_demonstrations(root: Path) -> tuple[Demonstration, ...]:
    """Load all demonstrations of a folder, by task and number; frames are decoded on demand."""
    found = tuple(read_demonstration(folder, Path(root)) for folder in record_folders(root))
    if not found:
        raise DataError(f"{root}: holds no demonstration: <task>/<number>/{MANIFEST}")
    return found


def read_demonstration(folder: Path, root: Path) -> Demonstration:
    """Read the demonstration in a folder."""
    folder, root = Path(folder), Path(root)
    manifest, facts = read_manifest(folder, root)
    count, size = manifest["frames"], (facts.camera.width, facts.camera.height)
    asked, hand, progress, places = _steps(check_inside(folder / STEPS, root), count, facts)
    video = check_inside(folder / VIDEO, root)
    if not video.is_file():
        raise DataError(f"{video}: no such video; collect it again")
    if manifest["depth"]:
        check_inside(folder / DEPTH, root)
    return Demonstration(
        **vars(facts),
        clip=Clip(_Film(video, count, size), range(count), facts.fps, size),
        asked=asked,
        hand=hand,
        places=places,
        progress=progress,
        depth=partial(read_depth, folder, size=size) if manifest["depth"] else None,
    )


def read_manifest(folder: Path, root: Path) -> tuple[dict[str, Any], DemoFacts]:
    """Read the manifest of a demonstration."""
    path = check_inside(folder / MANIFEST, root)
    content = read_json(path)
    with refused(path):
        check_format(content, FORMAT, VERSION)
        number = whole_of(content, "number", 0, MAX_NUMBER - 1)
        if (content["task"], f"{number:06d}") != (folder.parent.name, folder.name):
            raise ValueError(f"fields 'task' and 'number' are {short(content['task'])} and {number}, not its folder's")
        count = whole_of(content, "frames", 1, MAX_FRAMES)
        camera = camera_of(content["camera"])
        if (content["width"], content["height"]) != (camera.width, camera.height):
            raise ValueError("fields 'width' and 'height' are not those of 'camera'")
        if type(content["depth"]) is not bool:
            raise ValueError("field 'depth' is neither true nor false")
        sub_goals = _poses(_list_of(content, "sub_goals", MAX_SUB_GOALS), "sub_goals")
        facts = DemoFacts(
            task=content["task"],
            number=number,
            variation=whole_of(content, "variation", 0, MAX_NUMBER),
            seed=whole_of(content, "seed", 0, MAX_SEED),
            world=world_of(content["world"]),
            instruction=_text(content["instruction"], "instruction"),
            wordings=tuple(_text(one, "wordings") for one in _list_of(content, "wordings", MAX_SUB_GOALS)),
            things=tuple(_thing(one) for one in _list_of(content, "things", MAX_THINGS)),
            camera=camera,
            camera_pose=poses_of([content["camera_pose"]], "camera_pose")[0],
            fps=number_of(content, "fps", 0.01, 1000.0),
            seconds=number_of(content, "seconds", 0.0, 1e6),
            sub_goals=sub_goals,
            reached=_reached(_list_of(content, "reached", MAX_SUB_GOALS), len(sub_goals), count),
            discarded=tuple(_text(one, "discarded") for one in _list_of(content, "discarded", MAX_NUMBER)),
        )
    return dict(content), facts


def _step_row(k: int, step: DemoStep, facts: DemoFacts) -> dict[str, Any]:
    action, pose = np.asarray(step.action, np.float64), np.asarray(step.pose, np.float64)
    things = np.asarray(step.things, np.float64)
    if action.shape != (8,) or pose.shape != (8,) or things.shape != (len(facts.things), 3):
        raise ShapeError(f"step {k} needs two poses (8,) and things ({len(facts.things)}, 3), got {things.shape}")
    if not (np.isfinite(action).all() and np.isfinite(pose).all() and np.isfinite(things).all()):
        raise ShapeError(f"step {k} holds values that are not finite")
    return {
        "k": k,
        "action": action.tolist(),
        "pose": pose.tolist(),
        "sub_goal": int(step.sub_goal),
        "progress": float(step.progress),
        "things": things.tolist(),
    }


def _write_frames(part: Path, frames: Iterable[FrontView], size: tuple[int, int], fps: float) -> tuple[int, bool]:
    """Write images, and depth if there is any; return their number, and whether they have depth."""
    count, packed = 0, None
    with ExitStack() as stack:
        video: Writer | None = None
        for rgb, depth in frames:
            if count == 0 and depth is not None:
                packed = stack.enter_context(zipfile.ZipFile(part / DEPTH, "w"))
            if (depth is None) is not (packed is None):
                raise DataError(f"frame {count}: give depth with all frames, or with none")
            checked_view((rgb, np.zeros(np.shape(rgb)[:2], np.float32) if depth is None else depth), size, count)
            if video is None:
                video = stack.enter_context(Writer(part / VIDEO, fps=fps, kind="lossless"))
            video.write(rgb)
            if packed is not None and depth is not None:
                put_depth(packed, count, depth)
            count += 1
    return count, packed is not None


class _Film:
    """The frames of a video, opened on first use. Raises DataError if it is another video than expected."""

    def __init__(self, path: Path, count: int, size: tuple[int, int]) -> None:
        self._path, self._count, self._size = path, count, size

    def frame(self, index: int) -> Image:
        return self._clip[index]

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        return self._clip.take(indices)

    @cached_property
    def _clip(self) -> Clip:
        clip = Clip.open(self._path)
        if (len(clip), clip.width, clip.height) != (self._count, *self._size):
            size = f"{clip.width}x{clip.height}"
            raise DataError(f"{self._path}: {len(clip)} frames of {size}, not {self._count}; collect it again")
        return clip


def _steps(path: Path, count: int, facts: DemoFacts) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return poses asked for (T, 8), of the hand (T, 8), progress (T,) and places (T, things, 3)."""
    lines = read_lines(path, MAX_STEPS_BYTES)
    if len(lines) != count:
        raise DataError(f"{path}: {len(lines)} steps for {count} frames; collect it again")
    under_way = np.searchsorted(facts.reached, np.arange(count), side="left")
    actions, hands, progress, places = [], [], [], []
    for k, line in enumerate(lines):
        where = f"{path}: line {k + 1}"
        row = parse_json(line, where)
        with refused(where):
            _, action, hand, sub_goal, done, things = (row[name] for name in _ROW)
            if row["k"] != k or sub_goal != under_way[k]:
                raise ValueError("field 'k' or 'sub_goal' is not what it should be")
            done = number_of(row, "progress", 0.0, 1.0)
            if not isinstance(things, list) or len(things) != len(facts.things):
                raise ValueError(f"field 'things' does not have {len(facts.things)} places")
            places.append([_numbers(place, 3, "things") for place in things])
            actions.append(_numbers(action, 8, "action"))
            hands.append(_numbers(hand, 8, "pose"))
            progress.append(done)
    with refused(path):
        asked, hand_poses = _poses(actions, "action"), _poses(hands, "pose")
        if (asked != facts.sub_goals[under_way]).any():
            raise ValueError("field 'action' is not the sub-goal that is under way")
    return asked, hand_poses, np.array(progress), np.array(places, np.float64).reshape(count, len(facts.things), 3)


def _list_of(content: Mapping[str, Any], key: str, most: int) -> list[Any]:
    rows = content[key]
    if not isinstance(rows, list) or len(rows) > most:
        raise ValueError(f"field '{key}' is not a list of at most {most}")
    return rows


def _numbers(row: Any, count: int, field: str) -> list[float]:
    good = isinstance(row, list) and len(row) == count and all(type(value) in (int, float) for value in row)
    if not good or not all(abs(value) <= _MAX_M for value in row):
        raise ValueError(f"field '{field}' is not {count} numbers up to {_MAX_M:g}")
    return list(row)


def _poses(rows: list[Any], field: str) -> FloatArray:
    """Return poses (n, 8), checked."""
    poses = np.array([_numbers(row, 8, field) for row in rows], np.float64).reshape(-1, 8)
    length = np.linalg.norm(poses[:, 3:7], axis=1)
    bad = (np.abs(length - 1) > 0.01) | (poses[:, 7] < 0) | (poses[:, 7] > 1)
    if bad.any():
        raise ValueError(f"field '{field}': pose {int(np.argmax(bad))} has no rotation, or its gripper is not 0 to 1")
    return poses


def _reached(rows: list[Any], goals: int, count: int) -> tuple[int, ...]:
    whole = all(type(frame) is int and 0 <= frame < count for frame in rows)
    if not whole or len(rows) != goals or not goals or rows != sorted(set(rows)) or rows[-1] != count - 1:
        raise ValueError(
            f"field 'reached' is not a later frame for each of {goals} sub-goals, {count - 1} for the last"
        )
    return tuple(rows)


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str) or len(value) > 1000:
        raise ValueError(f"field '{field}' is {short(value)}; give a text of at most 1000 characters")
    return value


def _thing(row: Any) -> DemoThing:
    return DemoThing(*(_text(row[name], "things") for name in ("name", "category", "colour")))


INDEX = "index.json"


class DemonstrationEntry(NamedTuple):
    """A demonstration in the index."""

    task: str
    number: int
    variation: int
    seed: int
    frames: int


@dataclass(frozen=True)
class DemonstrationIndex:
    """All demonstrations of a folder."""

    demonstrations: tuple[DemonstrationEntry, ...]
    split_hash: str

    @property
    def n_frames(self) -> int:
        """Frames of all demonstrations."""
        return sum(entry.frames for entry in self.demonstrations)


def write_index(root: Path) -> DemonstrationIndex:
    """Write <root>/index.json from the demonstrations of a folder."""
    entries = []
    for folder in record_folders(root):
        manifest, facts = read_manifest(folder, root)
        entries.append(DemonstrationEntry(facts.task, facts.number, facts.variation, facts.seed, manifest["frames"]))
    content = {
        "format": FORMAT,
        "version": VERSION,
        "split_hash": split_hash(map(_hash_of, entries)),
        "evaluation_seeds": [SEEDS["test"].start, SEEDS["test"].stop - 1],
        "frames": sum(entry.frames for entry in entries),
        "demonstrations": [{**entry._asdict(), "table": _hash_of(entry)} for entry in entries],
    }
    write_file(Path(root) / INDEX, json.dumps(content, indent=1) + "\n")
    return read_index(root)


def read_index(root: Path) -> DemonstrationIndex:
    """Read the index of a folder."""
    path = Path(root) / INDEX
    content = read_json(path)
    with refused(path, "write the index again"):
        check_format(content, FORMAT, VERSION)
        entries = tuple(_entry(row) for row in content["demonstrations"])
        found = DemonstrationIndex(entries, str(content["split_hash"]))
    if found.split_hash != split_hash(map(_hash_of, entries)):
        raise DataError(f"{path}: field 'split_hash' is not that of its tables; write the index again")
    return found


def table_hash(task: str, variation: int, seed: int) -> str:
    """Identify a table before anything has moved: SHA-256 of its task, its variation and the seed of its places."""
    return digest_of(json.dumps(["tabletop", task, variation, seed]))


def overlap(index: DemonstrationIndex, scenes: Mapping[str, WorldFacts | None]) -> tuple[str, ...]:
    """Return those of the evaluation's `scenes` whose tables were also used for demonstrations; () if disjoint."""
    shown = {(entry.task, entry.variation, entry.seed) for entry in index.demonstrations}
    return tuple(name for name, world in scenes.items() if world is not None and _table(world) in shown)


def _table(world: WorldFacts) -> tuple[Any, ...] | None:
    params = world.params
    # Omitted arguments have the defaults of `worlds.tabletop.Tabletop`.
    table = (params.get("task"), params.get("variation", 0), params.get("seed", 0))
    return table if world.name == "tabletop" else None


def _hash_of(entry: DemonstrationEntry) -> str:
    return table_hash(entry.task, entry.variation, entry.seed)


def _entry(row: Mapping[str, Any]) -> DemonstrationEntry:
    entry = DemonstrationEntry(
        task=str(row["task"]),
        number=whole_of(row, "number", 0, MAX_NUMBER - 1),
        variation=whole_of(row, "variation", 0, MAX_NUMBER),
        seed=whole_of(row, "seed", 0, MAX_SEED),
        frames=whole_of(row, "frames", 1, MAX_FRAMES),
    )
    if row["table"] != _hash_of(entry):
        raise ValueError(f"field 'table' of {entry.task}/{entry.number} is not that of its variation and seed")
    return entry
