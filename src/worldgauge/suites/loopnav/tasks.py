"""Tasks: one per recorded loop, and how a task finds its recording again."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.engine.suite.contract import Task, TaskData, TaskView, cached_by_task
from worldgauge.engine.suite.drift import too_short
from worldgauge.suites.loopnav import format as loopnav
from worldgauge.suites.loopnav.format import FPS, LoopTrajectory, pictures_of, worlds_of
from worldgauge.suites.loopnav.format_records import FILE_FAULTS
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.worlds.recorded import facts_of, truth_beside

MIN_CONTEXT = 32
"""Frames of exploration below which a loop is rejected."""


def tasks(source: Path, settings: LoopNavSettings) -> Iterator[Task]:
    """Yield all tasks of a data folder, in file order."""
    root = source.resolve()  # what is cached of a recording must outlive a link to its folder
    found = loopnav.discover(root)
    if not found:
        raise DataError(
            f"{source}: no recordings of the form <type>/<location>/<range>/<stamp>.avi; try --data worldgauge-small"
        )
    chosen = loopnav.select(found, settings.selection or loopnav.default_selection(root))
    if not chosen:
        raise DataError(
            f"{source}: of {len(found)} recordings none is of a village with index 20, which selection=paper takes; "
            "take them all with: --set selection=all"
        )
    _demand_horizon(source, chosen, settings)
    worlds, pictures = worlds_of(root), pictures_of(root)
    recordings = {one.id: _Recording(one, _world(one, worlds), pictures) for one in chosen}
    _recordings.hold(str(root), recordings)
    for trajectory, world, _ in recordings.values():
        split = generated_from(trajectory, settings)
        # Files that cannot be read are a failure of the task; a walk that is no loop is not asked.
        broken = trajectory.invalid if trajectory.fault in FILE_FAULTS else None
        yield Task(
            suite="loopnav",
            id=trajectory.id,
            sample={"source": str(root), "generated_from": split, "flags": list(trajectory.flags), "broken": broken}
            | ({} if settings.frames_asked is None else {"frames_asked": settings.frames_asked}),
            fingerprint=loopnav.fingerprint_of(trajectory, world),
            group={"type": trajectory.type, "range": trajectory.radius, "location": trajectory.location},
            skip=None if broken else trajectory.invalid or _too_short(trajectory, split, settings),
        )


def generated_from(trajectory: LoopTrajectory, settings: LoopNavSettings) -> int | None:
    """Return the first frame that the model must imagine; None where the walk never left its start."""
    if settings.segment == "first":
        return trajectory.first_return_index
    return trajectory.exact_return_index if settings.segment == "exact" else trajectory.return_index


def episode_of(task: Task) -> tuple[Episode, int]:
    """The recording of a task, up to the last frame that is asked for, and the index of its first hidden frame."""
    if task.sample.get("broken"):
        raise DataError(f"{task.id}: {task.sample['broken']}")
    recording = _recordings(task)
    episode, start = _episode(task, recording=recording), int(task.sample["generated_from"])
    asked = task.sample.get("frames_asked")
    return episode if asked is None else episode.first(start + asked), start


def decoy_kind(task: Task) -> Hashable | None:
    """The type and range of a loop, and the kind of its village: its name without the number."""
    kind = re.sub(r"[_-]?\d+$", "", str(task.group["location"]))
    return None if task.sample.get("broken") else (task.group["type"], task.group["range"], kind)


def world_of(task: Task) -> WorldFacts | None:
    """The world that a task was recorded in; None for published recordings, and for those that cannot be read."""
    return None if task.sample.get("broken") else _recordings(task).world


def picture(task: Task) -> TaskView:
    """The true way back, the poses of the whole walk, and the corners of the loop."""
    episode, start = episode_of(task)
    xy = episode.poses[:, :2, 3]
    marks: dict[str, tuple[float, float]] = {"A": (float(xy[0, 0]), float(xy[0, 1]))}
    turn = "C" if task.group["type"] == "ABCA" else "B"
    marks[turn] = (float(xy[start, 0]), float(xy[start, 1]))
    if turn == "C":
        corner = _second_corner(episode, start)
        marks["B"] = (float(xy[corner, 0]), float(xy[corner, 1]))
    shown = episode.clip[:start]
    return TaskView(episode.clip[start:], episode.poses, start, episode.world, marks, episode.camera, shown)


def _second_corner(episode: Episode, start: int) -> int:
    """Frame at which the goal changed from B to C, else the frame of the way out farthest from A and C."""
    changes = episode.facts.get("goal_changes", [])
    away = [int(frame) for frame in changes if 0 < int(frame) < start]
    if away:
        return away[-1]
    xy = episode.poses[:start, :2, 3]
    return int((((xy - xy[0]) ** 2).sum(1) + ((xy - xy[-1]) ** 2).sum(1)).argmax())


def _too_short(trajectory: LoopTrajectory, split: int | None, settings: LoopNavSettings) -> str | None:
    if split is None:
        return "never left its start: there is no way back"
    if split < MIN_CONTEXT:
        return f"only {split} frames of exploration, {MIN_CONTEXT} are needed"
    if settings.frames_asked is None:
        return None
    return too_short(trajectory.n_frames - split, settings.frames_asked, FPS)


def _demand_horizon(source: Path, chosen: list[LoopTrajectory], settings: LoopNavSettings) -> None:
    """Raises DataError where no way back lasts as long as horizon_s."""
    splits = {one.id: generated_from(one, settings) for one in chosen if one.invalid is None}
    lasting = [one.n_frames - split for one in chosen if (split := splits.get(one.id)) is not None]
    if settings.horizon_s is not None and lasting and max(lasting) < (settings.frames_asked or 0):
        raise DataError(
            f"{source}: no way back lasts horizon_s={settings.horizon_s:g}; the longest {max(lasting) / FPS:.3g} s. "
            "Collect longer ones: worldgauge collect loopnav --laps 5 --ranges 50 --out ..., and ask for all laps with "
            "--set segment=first"
        )


class _Recording(NamedTuple):
    """What a task is made of. pictures: who drew the frames."""

    trajectory: LoopTrajectory
    world: WorldFacts | None
    pictures: str


def _read(source: Path, id: str) -> dict[str, _Recording]:
    one = loopnav.find(source, id)
    return {} if one is None else {id: _Recording(one, _world(one, worlds_of(source)), pictures_of(source))}


def _world(trajectory: LoopTrajectory, worlds: Mapping[str, WorldFacts]) -> WorldFacts | None:
    """The world of a recording: what is beside it, else that of its location."""
    file = truth_beside(trajectory.video)
    return worlds.get(trajectory.location) if file is None else facts_of(file)


_recordings = TaskData(
    _read,
    lambda one: loopnav.fingerprint_of(one.trajectory, one.world),
    lambda one: (one.trajectory.video, one.trajectory.records),
)


@cached_by_task(maxsize=8)
def _episode(task: Task, *, recording: _Recording) -> Episode:
    return loopnav.load(*recording)
