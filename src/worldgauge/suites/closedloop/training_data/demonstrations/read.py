"""Reading demonstrations back: all that is told of them, without their frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.core.fields import camera_of, number_of, poses_of, short, whole_of, world_of
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.core.io import check_inside, list_folder, parse_json
from worldgauge.core.video import Clip
from worldgauge.suites.closedloop.format.files import read_json
from worldgauge.suites.closedloop.training_data.coverage.read import read_depth
from worldgauge.suites.closedloop.training_data.demonstrations import write as written
from worldgauge.suites.closedloop.training_data.demonstrations.record import (
    MAX_NUMBER,
    DemoFacts,
    Demonstration,
    DemoThing,
)

MAX_STEPS_BYTES = 64 * 2**20
MAX_FRAMES, MAX_SUB_GOALS, MAX_THINGS = 20_000, 1000, 64
MAX_SEED = 2**53
"""Whole numbers that every reader of JSON holds exactly."""
_MAX_M = 100.0
_ROW = ("k", "action", "pose", "sub_goal", "progress", "things")


def load(root: Path) -> tuple[Demonstration, ...]:
    """All demonstrations of a folder, by task and number; no frame is decoded before it is asked for.

    Raises DataError naming file and field or line for anything that is not as it was written, and where there is none.
    """
    found = tuple(read(folder, Path(root)) for folder in folders(root))
    if not found:
        raise DataError(f"{root}: holds no demonstration: <task>/<number>/{written.MANIFEST}")
    return found


def folders(root: Path) -> Iterator[Path]:
    """Folders of the demonstrations below `root`, by task and number. Raises DataError for links that lead out."""
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder")
    for task in (path for path in list_folder(root) if path.is_dir()):
        for folder in list_folder(check_inside(task, root)):
            if folder.is_dir() and (folder / written.MANIFEST).exists():
                yield check_inside(folder, root)


def read(folder: Path, root: Path) -> Demonstration:
    """The demonstration in a folder of `root`. Raises DataError naming file and field or line."""
    folder, root = Path(folder), Path(root)
    manifest, facts = read_manifest(folder, root)
    count, size = manifest["frames"], (facts.camera.width, facts.camera.height)
    asked, hand, progress, places = _steps(check_inside(folder / written.STEPS, root), count, facts)
    video = check_inside(folder / written.VIDEO, root)
    if not video.is_file():
        raise DataError(f"{video}: no such video; collect it again")
    if manifest["depth"]:
        check_inside(folder / written.DEPTH, root)
    return Demonstration(
        id=facts.id,
        task=facts.task,
        variation=facts.variation,
        seed=facts.seed,
        instruction=facts.instruction,
        clip=Clip(_Film(video, count, size), range(count), facts.fps, size),
        asked=asked,
        hand=hand,
        sub_goals=facts.sub_goals,
        reached=facts.reached,
        things=facts.things,
        places=places,
        progress=progress,
        camera=facts.camera,
        camera_pose=facts.camera_pose,
        world=facts.world,
        wordings=facts.wordings,
        seconds=facts.seconds,
        depth=partial(read_depth, folder, size=size) if manifest["depth"] else None,
    )


def read_manifest(folder: Path, root: Path) -> tuple[dict[str, Any], DemoFacts]:
    """The manifest of a demonstration, and what it tells, checked. Raises DataError naming the field."""
    path = check_inside(folder / written.MANIFEST, root)
    content = read_json(path)
    try:
        if content["format"] != written.FORMAT or content["version"] != written.VERSION:
            raise ValueError(f"format {short(content['format'])}, version {short(content['version'])} is not ours")
        number = whole_of(content, "number", 0, MAX_NUMBER - 1)
        if (content["task"], f"{number:06d}") != (folder.parent.name, folder.name):
            raise ValueError(f"fields 'task' and 'number' are {short(content['task'])} and {number}, not its folder's")
        count = whole_of(content, "frames", 1, MAX_FRAMES)
        camera = camera_of(content["camera"])
        if (content["width"], content["height"]) != (camera.width, camera.height):
            raise ValueError("fields 'width' and 'height' are not those of 'camera'")
        if type(content["depth"]) is not bool:
            raise ValueError("field 'depth' is neither true nor false")
        sub_goals = _poses(_rows(content, "sub_goals", MAX_SUB_GOALS), "sub_goals")
        facts = DemoFacts(
            task=content["task"],
            number=number,
            variation=whole_of(content, "variation", 0, MAX_NUMBER),
            seed=whole_of(content, "seed", 0, MAX_SEED),
            world=world_of(content["world"]),
            instruction=_text(content["instruction"], "instruction"),
            wordings=tuple(_text(one, "wordings") for one in _rows(content, "wordings", MAX_SUB_GOALS)),
            things=tuple(_thing(one) for one in _rows(content, "things", MAX_THINGS)),
            camera=camera,
            camera_pose=poses_of([content["camera_pose"]], "camera_pose")[0],
            fps=number_of(content, "fps", 0.01, 1000.0),
            seconds=number_of(content, "seconds", 0.0, 1e6),
            sub_goals=sub_goals,
            reached=_reached(_rows(content, "reached", MAX_SUB_GOALS), len(sub_goals), count),
            discarded=tuple(_text(one, "discarded") for one in _rows(content, "discarded", MAX_NUMBER)),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{path}: {why}; collect it again") from error
    return dict(content), facts


class _Film:
    """The frames of a video that is opened when the first is asked for. Raises DataError then, if it is another."""

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
    """Poses asked for (T, 8), of the hand (T, 8), progress (T,) and places (T, things, 3)."""
    try:
        if path.stat().st_size > MAX_STEPS_BYTES:
            raise DataError(f"{path}: passes the limit of {MAX_STEPS_BYTES} bytes; collect it again")
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    if len(lines) != count:
        raise DataError(f"{path}: {len(lines)} steps for {count} frames; collect it again")
    under_way = np.searchsorted(facts.reached, np.arange(count), side="left")
    actions, hands, progress, places = [], [], [], []
    for k, line in enumerate(lines):
        row = parse_json(line, f"{path}: line {k + 1}")
        try:
            _, action, hand, sub_goal, done, things = (row[name] for name in _ROW)
            if row["k"] != k or sub_goal != under_way[k]:
                raise ValueError("field 'k' or 'sub_goal' is not what it should be")
            done = number_of(row, "progress", 0.0, 1.0)
            if not isinstance(things, list) or len(things) != len(facts.things):
                raise ValueError(f"field 'things' has not {len(facts.things)} places")
            places.append([_numbers(place, 3, "things") for place in things])
            actions.append(_numbers(action, 8, "action"))
            hands.append(_numbers(hand, 8, "pose"))
            progress.append(done)
        except (KeyError, TypeError, ValueError) as error:
            why = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
            raise DataError(f"{path}: line {k + 1}: {why}; collect it again") from error
    try:
        asked, hand_poses = _poses(actions, "action"), _poses(hands, "pose")
        if (asked != facts.sub_goals[under_way]).any():
            raise ValueError("field 'action' is not the sub-goal that is under way")
    except ValueError as error:
        raise DataError(f"{path}: {error}; collect it again") from error
    return asked, hand_poses, np.array(progress), np.array(places, np.float64).reshape(count, len(facts.things), 3)


def _rows(content: Mapping[str, Any], key: str, most: int) -> list[Any]:
    rows = content[key]
    if not isinstance(rows, list) or len(rows) > most:
        raise ValueError(f"field '{key}' is no list of at most {most}")
    return rows


def _numbers(row: Any, count: int, field: str) -> list[float]:
    good = isinstance(row, list) and len(row) == count and all(type(value) in (int, float) for value in row)
    if not good or not all(abs(value) <= _MAX_M for value in row):
        raise ValueError(f"field '{field}' is not {count} numbers up to {_MAX_M:g}")
    return list(row)


def _poses(rows: list[Any], field: str) -> FloatArray:
    """(n, 8), checked."""
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


def _thing(told: Any) -> DemoThing:
    return DemoThing(*(_text(told[name], "things") for name in ("name", "category", "colour")))
