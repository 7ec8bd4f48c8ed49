"""The tasks of a data folder, one per episode, and how a task finds its episode again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.engine.suite.contract import Task, TaskData
from worldgauge.suites.worldinworld.format.files import fingerprint_of, scene_missing
from worldgauge.suites.worldinworld.format.load import load
from worldgauge.suites.worldinworld.policies.contract import revisers
from worldgauge.suites.worldinworld.task import SUITE, ClosedLoopTask, LoopSettings, closed_loop_tasks


def tasks(source: Path, settings: LoopSettings) -> Iterator[Task]:
    """All episodes of a data folder, task by task and home by home, since memory holds few homes.

    Those without their scene are skipped, with what is missing; faulty ones become failing tasks.
    """
    data = load(Path(source))
    kinds = settings.asked
    found = [
        (kind, episode)
        for kind in kinds
        for episode in sorted(closed_loop_tasks.get(kind).episodes(data), key=lambda episode: episode.scene)
    ]
    if not found and not data.faults:
        raise DataError(f"{source}: no episodes of {' or '.join(kinds)}; try --data worldgauge-small")
    # What the answers of a trained reviser depend on is a part of its fingerprints.
    trained = {kind: revisers.entry(settings.of_task(kind).reviser).facts.get("identity") for kind in kinds}
    eyes = {kind: f"+{identity()}" if identity else "" for kind, identity in trained.items()}
    for fault in data.faults:
        if fault.kind in kinds:
            sample = {"source": str(Path(source).resolve()), "kind": fault.kind, "broken": fault.text}
            yield Task(SUITE, f"{fault.kind}/{fault.id}", sample, fault.text, {"task": fault.kind})
    lacking: dict[tuple[str, str], str | None] = {}
    for kind, episode in found:
        world = data.scenes.get(episode.scene)
        if (kind, episode.scene) not in lacking:
            lacking[kind, episode.scene] = (
                scene_missing(episode.scene) if world is None else closed_loop_tasks.get(kind).lacks(world, settings)
            )
        yield Task(
            suite=SUITE,
            id=f"{kind}/{episode.id}",
            sample={"source": str(Path(source).resolve()), "kind": kind, "episode": episode.id},
            fingerprint=fingerprint_of(episode, world) + eyes[kind],
            group={"task": kind, **closed_loop_tasks.get(kind).group(episode)},
            skip=lacking[kind, episode.scene],
            # Published files spell the name of one scan in several ways.
            cluster=str(world.params["scene"]) if world is not None and world.name == "scan" else episode.scene,
        )


def unused_settings(source: Path, settings: LoopSettings) -> list[str]:
    """Settings without any effect, since their tasks are not in the run or have no episodes here; one line each."""
    if not settings.unused(()):
        return []
    data = load(Path(source))
    held = [kind for kind in settings.asked if closed_loop_tasks.get(kind).episodes(data)]
    return [
        f"the setting '{name}' changes nothing: it is for {' and '.join(owners)}, of which no episode is asked"
        for name, owners in settings.unused(held).items()
    ]


def open_task(task: Task, settings: LoopSettings) -> ClosedLoopTask[Any, Any, Any]:
    """A task with its episode and scene."""
    if task.sample.get("broken"):
        raise DataError(f"{task.id}: {task.sample['broken']}")
    episode, world = _episode_of(task)
    if world is None:
        raise DataError(f"{task.id}: {scene_missing(episode.scene)}")
    return closed_loop_tasks.get(task.sample["kind"])(episode, world, settings)


def world_of_task(task: Task) -> WorldFacts | None:
    """The world of a task's episode; None where it is not available."""
    return None if task.sample.get("broken") else _episode_of(task)[1]


def _read(source: Path, _: str) -> dict[str, tuple[Any, WorldFacts | None]]:
    data = load(source)
    kinds = {name: closed_loop_tasks.get(name) for name in closed_loop_tasks.names()}
    return {
        f"{name}/{episode.id}": (episode, data.scenes.get(episode.scene))
        for name, kind in kinds.items()
        for episode in kind.episodes(data)
    }


_episodes = TaskData(_read, lambda found: fingerprint_of(*found))


def _episode_of(task: Task) -> tuple[Any, WorldFacts | None]:
    """An episode and its world. What a reviser depends on is no part of them."""
    return _episodes(replace(task, fingerprint=task.fingerprint.partition("+")[0]))
