"""Collecting demonstrations of the table's expert: front frames, poses, and places of things; solved ones only.

One item is one demonstration. Its variation comes from its number, and the seeds of its tables from the collection's
seed and its number, in one split; no two items share a seed. A demonstration is written atomically; the index
is made of all of them at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, RunError
from worldgauge.core.geometry import Camera
from worldgauge.engine.collection.collection import Collection, Item, Made, Tell, collections
from worldgauge.engine.collection.kernel import SEEDS, plain_facts
from worldgauge.engine.collection.report import DataReport
from worldgauge.engine.options import option, plain
from worldgauge.suites.closedloop.training_data.demonstrations import check as checking
from worldgauge.suites.closedloop.training_data.demonstrations.demonstration import (
    MAX_NUMBER,
    DemoFacts,
    DemoStep,
    DemoThing,
    FrontView,
    folder_name,
    read_manifest,
    write_demonstration,
)
from worldgauge.suites.closedloop.training_data.demonstrations.expert import Solution, demonstrate, replay
from worldgauge.suites.closedloop.training_data.demonstrations.index import read_index, write_index
from worldgauge.worlds.tabletop.contract import table_tasks
from worldgauge.worlds.tabletop.engine import mujoco
from worldgauge.worlds.tabletop.simulation import Simulation, front_camera, front_pose
from worldgauge.worlds.tabletop.splits import SEEDS as TABLES
from worldgauge.worlds.tabletop.world import Tabletop

SIZE = (448, 448)
"""Width and height of the front frames, as in the paper's manipulation tasks."""
PER_TASK = 200
TRIES = 10
"""Most tables per demonstration, until the expert solves one; a split has MAX_NUMBER times as many."""

MAX_SIDE_PX = 1024
"""Most side of the images that the world can be rendered to."""

_TRIED = 3
"""Demonstrations per task that an estimate is made from, without rendering."""
_PIXEL_BYTES, _ROW_BYTES = {False: 0.09, True: 0.2}, 600
"""Bytes on disk per pixel of a frame without and with depth, and per frame for its other facts; measured at 448x448."""


@dataclass(frozen=True)
class DemonstrationOptions:
    """Options of a collection of demonstrations."""

    tasks: tuple[str, ...] | None = option(
        None, "Tasks at the table, separated by commas. By default all.", choices=table_tasks.names
    )
    per_task: int = option(
        PER_TASK, "Demonstrations of each task. Its variations are used in turn.", low=1, high=MAX_NUMBER
    )
    size: tuple[int, int] = option(SIZE, "Width and height of a frame in pixels.", low=16, high=MAX_SIDE_PX)
    depth: bool = option(False, "Also store the depth of every frame.")
    split: str = option(
        "train", 'Tables: those of "train" or "val". Those of "test" are for the evaluation.', choices=tuple(TABLES)
    )
    seed: int = option(42, "Random seed. The same seed gives the same bytes.", low=0, high=SEEDS - 1)


@collections.register("demonstrations")
class DemonstrationCollection(Collection):
    """A scripted expert with an arm at a table, for policies and world models: frames, poses, places of things.

    About 150 frames each, 50 a second at most. More of them, and more tasks, can be added to a collection.
    """

    name = "demonstrations"
    items_noun = "demonstrations"
    Options = DemonstrationOptions
    fixed = ("seed", "size", "depth", "split")
    first_subject = ""
    settings_first = True
    options: DemonstrationOptions

    def settings(self) -> dict[str, Any]:
        """Return the options, with the names of all tasks; the split only where it is not "train"."""
        tasks = table_tasks.names() if self.options.tasks is None else self.options.tasks
        settings = {**plain(self.options), "tasks": sorted(tasks)}
        if self.options.split == "train":
            del settings["split"]
        return settings

    def check_same(self) -> None:
        """Check that tasks, and demonstrations of each, are only added.

        Raises:
            RunError: If some would be removed.
        """
        super().check_same()
        before, now = self.manifest(), self.settings()
        if before is None:
            return
        had, many = before.get("tasks", []), before.get("per_task", 0)
        if many > now["per_task"] or not set(had) <= set(now["tasks"]):
            raise RunError(
                f"{self.out} has {many} of each of {', '.join(had)}: ask for all of them, or into another folder"
            )

    def camera(self) -> Mapping[str, Any]:
        """Return the front camera and its pose."""
        pose = front_pose()[:3].ravel().tolist()
        return {**asdict(_camera(self.options.size)), "pose": pose, "depth": "along the optical axis"}

    def begin(self, *, local: bool) -> None:
        """Check that the physics engine is installed, since without it every item would fail."""
        mujoco()

    def items(self) -> Iterator[Item]:
        """Return one item per demonstration, task by task."""
        for task in self.settings()["tasks"]:
            for number in range(self.options.per_task):
                yield Item(str(folder_name(task, number)), {"task": task, "number": number})

    def is_done(self, item: Item) -> bool:
        """Whether its folder is in place and can be read."""
        return _done(self.out, **item.args) is not None

    def make(self, item: Item, progress: Tell) -> Made:
        """Make one demonstration; a failure if the expert solves none of its tables. See `Collection.make`."""
        task, number = item.args["task"], item.args["number"]
        found = _done(self.out, task, number)
        if found is None:
            attempt = _attempt(task, number, self.options.seed, self.options.split)
            if attempt.solved is None:
                why = f"the expert solved none of {TRIES} tables; the last one: {attempt.discarded[-1]}"
                return Made(discards=attempt.discarded, failure=why)
            _record(self.out, task, number, attempt, self.settings(), progress)
            found = len(attempt.solved), attempt.discarded
        frames, discarded = found
        return Made(frames, discards=discarded)

    def finish(self, made: Mapping[str, Made]) -> None:
        """Make the index of all demonstrations."""
        write_index(self.out)

    def estimate(self) -> Mapping[str, Any]:
        """Estimate frames and bytes from the first demonstrations of each task."""
        per_task, frames = self.options.per_task, 0.0
        for task in self.settings()["tasks"]:
            tried = [
                _attempt(task, number, self.options.seed, self.options.split).solved
                for number in range(min(per_task, _TRIED))
            ]
            frames += per_task / len(tried) * sum(len(solved) for solved in tried if solved is not None)
        width, height = self.options.size
        size = frames * (width * height * _PIXEL_BYTES[self.options.depth] + _ROW_BYTES)
        return {"frames": round(frames), "bytes": round(size)}

    def summary(self) -> Mapping[str, Any]:
        """Return the number of demonstrations, and the hash of their tables."""
        index = read_index(self.out)
        return {"demonstrations": len(index.demonstrations), "split_hash": index.split_hash}

    @classmethod
    def check(cls, root: Path, *, decode: bool = False) -> DataReport:
        """Check counts and lengths by task; see `Collection.check`."""
        return checking.check(root, decode=decode).report()


class _Attempt(NamedTuple):
    """The last table that was tried, and why those before it were given up; this one too if it is not solved."""

    world: Tabletop
    solved: Solution | None
    discarded: tuple[str, ...]


def _attempt(task: str, number: int, seed: int, split: str) -> _Attempt:
    """Try tables of one demonstration until the expert solves one."""
    variation = number % table_tasks.entry(task).facts["variations"]
    discarded: list[str] = []
    for attempt in range(TRIES):
        world = Tabletop(task, variation, _table_seed(seed, number, attempt, split))
        solved = demonstrate(world)
        if isinstance(solved, Solution):
            return _Attempt(world, solved, tuple(discarded))
        discarded.append(solved)
    return _Attempt(world, None, tuple(discarded))


def _table_seed(seed: int, number: int, attempt: int, split: str = "train") -> int:
    """Return a seed of a split, counted from the one that the collection's seed gives."""
    own = TABLES[split]
    first = int(np.random.SeedSequence(seed).generate_state(1)[0])
    return own[(first + number * TRIES + attempt) % len(own)]


def _record(
    out: Path,
    task: str,
    number: int,
    attempt: _Attempt,
    settings: Mapping[str, Any],
    progress: Tell,
) -> None:
    world, solved = attempt.world, attempt.solved
    assert solved is not None
    camera, pose = _camera(settings["size"]), front_pose()
    simulation = Simulation(world)
    steps: list[DemoStep] = []

    def shots() -> Iterator[FrontView]:
        for shown in replay(simulation, solved):
            progress(len(steps), len(solved))
            steps.append(DemoStep(shown.asked, shown.hand, shown.sub_goal, shown.progress, shown.things))
            if settings["depth"]:
                view = simulation.view(pose, camera)
                yield view.rgb, view.depth
            else:
                yield simulation.rgb(pose, camera), None

    facts = DemoFacts(
        task=task,
        number=number,
        variation=world.facts.params["variation"],
        seed=world.facts.params["seed"],
        world=WorldFacts(**plain_facts(world.facts)),
        instruction=world.task.instruction,
        wordings=world.task.wordings,
        things=tuple(DemoThing(thing.name, thing.category, thing.colour) for thing in world.task.things),
        camera=camera,
        camera_pose=pose,
        fps=solved.fps,
        seconds=solved.seconds,
        sub_goals=np.array([asked for asked, _ in solved.moves], np.float64),
        reached=solved.reached,
        discarded=attempt.discarded,
    )
    write_demonstration(out, facts, shots(), steps)


def _camera(size: Sequence[int]) -> Camera:
    """Return the front camera at a frame size; a frame that is not square shows a part of its view."""
    width, height = size
    return front_camera(max(width, height)).cropped(width, height)


def _done(out: Path, task: str, number: int) -> tuple[int, tuple[str, ...]] | None:
    """Return the frames of an existing demonstration, and why tables before it were given up; None if there is none."""
    folder = out / folder_name(task, number)
    if not folder.is_dir():
        return None
    try:
        manifest, facts = read_manifest(folder, out)
    except DataError:
        return None
    return manifest["frames"], facts.discarded
