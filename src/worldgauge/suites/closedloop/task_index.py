"""The tasks of a data folder, one per episode, and how a task finds its episode again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.engine.suite.contract import Task
from worldgauge.suites.closedloop.format.episode import ClosedLoop
from worldgauge.suites.closedloop.format.files import fingerprint_of
from worldgauge.suites.closedloop.format.load import load
from worldgauge.suites.closedloop.format.scenes import scene_missing
from worldgauge.suites.closedloop.policies.contract import revisers
from worldgauge.suites.closedloop.settings import SUITE, Settings
from worldgauge.suites.closedloop.task import ClosedLoopTask, closed_loop_tasks


def tasks(source: Path, settings: Settings) -> Iterator[Task]:
    """All episodes of a data folder, task by task and home by home, since few homes are kept at a time.

    Those whose scene is not available are skipped, with what is missing; faulty ones become tasks that fail with their
    reason.

    Raises:
        DataError: When the folder holds none.
    """
    data = load(Path(source))
    kinds = settings.asked
    found = [
        (kind, episode)
        for kind in kinds
        for episode in sorted(closed_loop_tasks.get(kind).episodes(data), key=lambda episode: episode.scene)
    ]
    if not found and not data.faults:
        raise DataError(
            f"{source}: no episodes of {' or '.join(kinds)}; "
            f"make some with: worldgauge collect closedloop --out {source}"
        )
    eyes = {kind: _identity_of_eyes(settings.of_task(kind).reviser) for kind in kinds}
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
            cluster=_place(episode.scene, world),
        )


def _identity_of_eyes(reviser: str) -> str:
    """What the answers of a trained reviser depend on, for the fingerprints of its tasks; empty for others."""
    identity = revisers.entry(reviser).facts.get("identity")
    return f"+{identity()}" if identity else ""


def unused_settings(source: Path, settings: Settings) -> list[str]:
    """Settings without any effect, since their tasks are not in the run or have no episodes here; one line each."""
    if not settings.unused(()):
        return []
    data = load(Path(source))
    held = [kind for kind in settings.asked if closed_loop_tasks.get(kind).episodes(data)]
    return [
        f"the setting '{name}' changes nothing: it is for {' and '.join(owners)}, of which no episode is asked"
        for name, owners in settings.unused(held).items()
    ]


def open_task(task: Task, settings: Settings) -> ClosedLoopTask[Any, Any, Any]:
    """A task with its episode and scene.

    Raises:
        DataError: When the episode is faulty or gone, or its scene is not available.
    """
    if task.sample.get("broken"):
        raise DataError(f"{task.id}: {task.sample['broken']}")
    data = _loaded(task.sample["source"])
    kind = closed_loop_tasks.get(task.sample["kind"])
    for episode in kind.episodes(data):
        if episode.id == task.sample["episode"]:
            world = data.scenes[episode.scene]
            if world is None:
                raise DataError(f"{task.id}: {scene_missing(episode.scene)}")
            return kind(episode, world, settings)
    raise DataError(f"{task.sample['source']}: episode '{task.id}' is gone; plan the run again")


def world_of_task(task: Task) -> WorldFacts | None:
    """The world of a task's episode; None where it is not available.

    Raises:
        DataError: When the data are gone.
    """
    scenes = _loaded(task.sample["source"]).scenes
    return next((world for scene, world in scenes.items() if _place(scene, world) == task.cluster), None)


def _place(scene: str, world: WorldFacts | None) -> str:
    """The name of a place: published files spell that of one scan in several ways."""
    return str(world.params["scene"]) if world is not None and world.name == "scan" else scene


@lru_cache(maxsize=2)
def _loaded(source: str) -> ClosedLoop:
    return load(Path(source))
