"""Collecting demonstrations of the table's expert: front frames, poses, and where things were; only solved ones.

One job is one demonstration; its variation comes from its number, and the seeds of its tables from the collection's
seed and its number, of the split "train", no two jobs having one in common. A demonstration is written whole or not at
all; the index is made of all of them in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, RunError, UnknownNameError
from worldgauge.core.geometry import Camera
from worldgauge.engine.collection.driving import (
    DEADLINE_S,
    SEEDS,
    Collected,
    CollectProgress,
    demand,
    demand_same,
    distinct,
    drive,
    ending_on_full_disk,
    plain,
    telling_full_disk,
)
from worldgauge.engine.collection.manifest import read_manifest as read_settings
from worldgauge.engine.collection.manifest import write_manifest as write_settings
from worldgauge.engine.workers.pool import Job
from worldgauge.suites.closedloop.training_data.demonstrations.expert import Solved, demonstrate, shown_again
from worldgauge.suites.closedloop.training_data.demonstrations.layout import (
    MAX_NUMBER,
    DemoFacts,
    DemoStep,
    DemoThing,
    folder_name,
    read_manifest,
    write,
    write_index,
)
from worldgauge.suites.closedloop.training_data.demonstrations.write import Shot
from worldgauge.worlds.tabletop.contract import table_tasks
from worldgauge.worlds.tabletop.picture import front_camera, front_pose
from worldgauge.worlds.tabletop.simulation import Simulation
from worldgauge.worlds.tabletop.splits import SEEDS as TABLES
from worldgauge.worlds.tabletop.world import Tabletop, mujoco

FORMAT = "demonstrations"
SIZE = (448, 448)
"""Width and height of the front frames, as of the paper's manipulation tasks."""
PER_TASK = 200
TRIES = 10
"""Tables of a demonstration, one after the other, until the expert solves one; MAX_NUMBER times as many are a split."""

MAX_SIDE_PX = 1024
"""Of the picture that the world can be rendered to."""

_FIXED = ("seed", "size", "depth")
_TRIED = 3
"""Demonstrations of each task that are done, without pictures, for an estimate."""
_PIXEL_BYTES, _ROW_BYTES = {False: 0.09, True: 0.2}, 600
"""Bytes on disk, a pixel of a frame without and with depth, and a frame beside; measured at 448x448."""


class Estimate(NamedTuple):
    """What a collection will hold, from the first demonstrations of each task. expected, done: in all, and finished."""

    expected: int
    done: int
    frames: int
    bytes: int


def collect_demonstrations(
    out: Path,
    *,
    tasks: Sequence[str] | None = None,
    per_task: int = PER_TASK,
    size: tuple[int, int] = SIZE,
    depth: bool = False,
    seed: int = 42,
    workers: int = 1,
    on: str | None = None,
    progress: Callable[[CollectProgress], None] | None = None,
) -> Collected:
    """Have the expert do each of `tasks` (all that are registered) `per_task` times, and write it into `out`.

    Variations go round; about 150 frames each, 50 a second at most. size: width and height of a frame in pixels. on:
    where the workers are, as for `engine.run.run`; what they print goes to `out`/logs.
    May be stopped at any moment and called again: demonstrations that are done are kept, and the bytes are those of a
    run that was never stopped. It may be called again for more of them, and for more tasks.
    Raises UsageError for options that cannot be meant, RunError when `out` was collected with others, or with more
    of them, or the disk is full; MissingExtraError without the physics engine.
    """
    out = Path(out)
    settings = _settings(tasks, per_task, size, depth, seed)
    jobs = _plan(out, settings)
    # Without it every job would fail, one by one.
    mujoco()

    def write_worlds(facts: Mapping[str, WorldFacts], discarded: Mapping[str, int] | None) -> None:
        said = settings if discarded is None else {**settings, "discarded": discarded}
        camera = {**asdict(_camera(size)), "pose": front_pose()[:3].ravel().tolist(), "depth": "along the optical axis"}
        write_settings(out, FORMAT, facts, said, camera)

    with ending_on_full_disk():
        # The settings come first: what a run that was stopped left must not be taken for that of another.
        write_worlds({}, None)
        collected = drive(
            jobs,
            collect_demonstration,
            out,
            workers=workers,
            on=on,
            place_of=lambda job: job.id,
            write_worlds=write_worlds,
            progress=progress,
        )
        write_index(out)
    return collected


def count_demonstrations(out: Path, settings: Mapping[str, Any]) -> tuple[int, int]:
    """How many `collect_demonstrations` would make with these options, and how many of them are there.

    settings: its options without `workers`, `on` and `progress`, all of them. Writes nothing; raises what it raises.
    """
    jobs = _plan(Path(out), _settings(**settings))
    return len(jobs), sum(_done(Path(out), job.args["task"], job.args["number"]) is not None for job in jobs)


def estimate_demonstrations(out: Path, settings: Mapping[str, Any]) -> Estimate:
    """How much these options lead to; each task is done a few times, without pictures. Raises as the count."""
    expected, done = count_demonstrations(out, settings)
    named = _settings(**settings)
    frames = 0.0
    for task in named["tasks"]:
        tried = [_attempt(task, number, named["seed"]).solved for number in range(min(named["per_task"], _TRIED))]
        frames += named["per_task"] / len(tried) * sum(len(solved) for solved in tried if solved is not None)
    width, height = named["size"]
    size = frames * (width * height * _PIXEL_BYTES[named["depth"]] + _ROW_BYTES)
    return Estimate(expected, done, round(frames), round(size))


@telling_full_disk
def collect_demonstration(
    *, out: str, task: str, number: int, settings: dict[str, Any], progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """One demonstration, in a worker; one that is done already is only read.

    Returns {"frames", "discards"}, with "failure" when the expert solved none of its tables, or {"full"} when the disk
    is; plain JSON values.
    """
    found = _done(Path(out), task, number)
    if found is None:
        attempt = _attempt(task, number, settings["seed"])
        if attempt.solved is None:
            why = f"the expert solved none of {TRIES} tables; the last one: {attempt.discarded[-1]}"
            return {"discards": list(attempt.discarded), "failure": why}
        _record(Path(out), task, number, attempt, settings, progress)
        found = len(attempt.solved), attempt.discarded
    frames, discarded = found
    return {"frames": frames, "discards": list(discarded)}


class _Attempt(NamedTuple):
    """The last table that was tried, and why those before it were given up; this one too where it is not solved."""

    world: Tabletop
    solved: Solved | None
    discarded: tuple[str, ...]


def _attempt(task: str, number: int, seed: int) -> _Attempt:
    """Tables of one demonstration, until the expert solves one."""
    variation = number % table_tasks.entry(task).facts["variations"]
    discarded: list[str] = []
    for attempt in range(TRIES):
        world = Tabletop(task, variation, _table_seed(seed, number, attempt))
        solved = demonstrate(world)
        if isinstance(solved, Solved):
            return _Attempt(world, solved, tuple(discarded))
        discarded.append(solved)
    return _Attempt(world, None, tuple(discarded))


def _table_seed(seed: int, number: int, attempt: int) -> int:
    """Seeds of the training split in turn, from one that the collection's seed says; there are enough for all."""
    own = TABLES["train"]
    first = int(np.random.SeedSequence(seed).generate_state(1)[0])
    return own[(first + number * TRIES + attempt) % len(own)]


def _record(
    out: Path,
    task: str,
    number: int,
    attempt: _Attempt,
    settings: Mapping[str, Any],
    progress: Callable[[int, int], None],
) -> None:
    world, solved = attempt.world, attempt.solved
    assert solved is not None
    camera, pose = _camera(settings["size"]), front_pose()
    simulation = Simulation(world)
    steps: list[DemoStep] = []

    def shots() -> Iterator[Shot]:
        for shown in shown_again(simulation, solved):
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
        world=WorldFacts(**plain(world.facts)),
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
    write(out, facts, shots(), steps)


def _camera(size: Sequence[int]) -> Camera:
    """The front camera with so many pixels; a frame that is wider or higher than square shows a part of its view."""
    width, height = size
    return front_camera(max(width, height)).cropped(width, height)


def _done(out: Path, task: str, number: int) -> tuple[int, tuple[str, ...]] | None:
    """Frames of a demonstration that is there, and why tables before it were given up; None where it is not."""
    folder = out / folder_name(task, number)
    if not folder.is_dir():
        return None
    try:
        manifest, facts = read_manifest(folder, out)
    except DataError:
        return None
    return manifest["frames"], facts.discarded


def _settings(
    tasks: Sequence[str] | None, per_task: int, size: tuple[int, int], depth: bool, seed: int
) -> dict[str, Any]:
    """The options as the manifest holds them, when they can be meant."""
    known = table_tasks.names()
    tasks = known if tasks is None else tasks
    for task in tasks:
        if task not in known:
            raise UnknownNameError("table task", task, known)
    demand("tasks", list(tasks), distinct(tasks, known), "one at least, none of them twice")
    demand("per_task", per_task, 1 <= per_task <= MAX_NUMBER, f"1 to {MAX_NUMBER}")
    usable = len(size) == 2 and min(size) >= 16 and max(size) <= MAX_SIDE_PX
    demand("size", tuple(size), usable, f"width and height in pixels, 16 to {MAX_SIDE_PX}")
    demand("seed", seed, 0 <= seed < SEEDS, f"0 to {SEEDS - 1}")
    return {"tasks": sorted(tasks), "per_task": per_task, "size": list(size), "depth": depth, "seed": seed}


def _plan(out: Path, settings: Mapping[str, Any]) -> list[Job]:
    """One job a demonstration, of options that suit what is in `out` already."""
    before = read_settings(out, FORMAT)
    if before is not None:
        demand_same(out, before["settings"], settings, _FIXED)
        had, many = before["settings"].get("tasks", []), before["settings"].get("per_task", 0)
        if many > settings["per_task"] or not set(had) <= set(settings["tasks"]):
            raise RunError(f"{out} has {many} of each of {', '.join(had)}: ask for all of them, or into another folder")
    call = f"{__name__}:collect_demonstration"
    given = {"settings": dict(settings), "out": str(out.absolute())}
    return [
        Job(str(folder_name(task, number)), call, {**given, "task": task, "number": number}, DEADLINE_S)
        for task in settings["tasks"]
        for number in range(settings["per_task"])
    ]
