"""Collecting demonstrations of the table's expert: front frames, poses, and places of things; solved ones only.

One item is one demonstration. Its variation comes from its number, and the seeds of its tables from the collection's
seed and its number, in one split; no two items share a seed. A demonstration is written atomically; the index
is made of all of them at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, RunError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.engine.collect import SEEDS, plain_facts
from worldgauge.engine.collection import (
    Collection,
    DataReport,
    DataTable,
    Finding,
    Item,
    Made,
    Spread,
    Tell,
    grouped,
    mean_text,
    spread,
)
from worldgauge.engine.options import option, plain
from worldgauge.suites.worldinworld.format.demonstration import (
    INDEX,
    MAX_NUMBER,
    DemoFacts,
    Demonstration,
    DemonstrationEntry,
    DemoStep,
    DemoThing,
    FrontView,
    folder_name,
    read_demonstration,
    read_index,
    read_manifest,
    write_demonstration,
    write_index,
)
from worldgauge.suites.worldinworld.format.training_records import MANIFEST, check_digests, record_folders
from worldgauge.worlds.tabletop import Tabletop, carried_out
from worldgauge.worlds.tabletop.contract import SEEDS as TABLES
from worldgauge.worlds.tabletop.contract import SEEDS as WORLD_SEEDS
from worldgauge.worlds.tabletop.contract import table_tasks
from worldgauge.worlds.tabletop.engine import mujoco
from worldgauge.worlds.tabletop.pose_plans import HandPose
from worldgauge.worlds.tabletop.simulation import RECORD_S, Simulation, TableState, front_camera, front_pose

_SEVERITIES = ("error", "warning", "info")
_SHORT_M = 0.03
"""A hand that stops farther from the pose was obstructed."""


@dataclass(frozen=True)
class TableTaskStatistics:
    """Statistics of the usable demonstrations of one task. `rate`: Frames per second of simulated time."""

    task: str
    demonstrations: int
    variations: int
    frames: Spread | None
    seconds: Spread | None
    rate: Spread | None
    sub_goals: Spread | None
    discarded: int


@dataclass(frozen=True)
class DemonstrationStatistics:
    """Results of `check`."""

    n_trajectories: int
    n_valid: int
    n_frames: int
    rows: tuple[TableTaskStatistics, ...]
    discarded: dict[str, int]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def report(self) -> DataReport:
        """Return the same statistics in the form that every check returns."""
        columns = ("", "demon-\nstrations", "varia-\ntions", "frames", "frames\n/ s", "seconds", "poses", "given up")
        rows = tuple(
            (
                row.task,
                str(row.demonstrations),
                str(row.variations),
                *map(mean_text, (row.frames, row.rate, row.seconds, row.sub_goals)),
                str(row.discarded),
            )
            for row in self.rows
        )
        notes = (
            "frames / s: of simulated time; given up: tables that the expert did not solve",
            *(f"given up {count} times: {reason}" for reason, count in self.discarded.items()),
        )
        table = DataTable("means over usable demonstrations", columns, rows, notes)
        counts = self.n_valid, self.n_trajectories, self.n_frames
        return DataReport("demonstrations", *counts, self.findings, table, self.to_dict())


def check(root: Path, *, decode: bool = False) -> DemonstrationStatistics:
    """Check a folder: every manifest, every step, every video's length, and the index."""
    root = Path(root)
    demos: list[Demonstration] = []
    errors: list[tuple[str, str]] = []
    count = 0
    for folder in record_folders(root):
        count += 1
        name = f"{folder.parent.name}/{folder.name}"
        try:
            demo = read_demonstration(folder, root)
            # Opens the video, which must have the stated number of frames.
            demo.clip[0]
            if decode:
                check_digests(folder)
                for k, _ in enumerate(demo.clip):
                    if demo.depth is not None:
                        demo.depth(k)
        except DataError as error:
            errors.append((name, str(error).replace(f"{folder}/", "")))
            continue
        demos.append(demo)
    findings = [
        *([] if count else [Finding("error", f"holds no demonstration: <task>/<number>/{MANIFEST}")]),
        *grouped("error", "not usable", errors, "demonstration"),
        *grouped("warning", "odd", [(demo.id, text) for demo in demos for text in _odd(demo)], "demonstration"),
        *_of_tables(root, demos, errors),
    ]
    discarded = Counter(reason for demo in demos for reason in demo.discarded)
    return DemonstrationStatistics(
        n_trajectories=count,
        n_valid=len(demos),
        n_frames=sum(map(len, demos)),
        rows=tuple(_row(task, demos) for task in sorted({demo.task for demo in demos})),
        discarded=dict(sorted(discarded.items())),
        findings=tuple(sorted(findings, key=lambda finding: _SEVERITIES.index(finding.severity))),
    )


def _row(task: str, demos: list[Demonstration]) -> TableTaskStatistics:
    mine = [demo for demo in demos if demo.task == task]
    return TableTaskStatistics(
        task=task,
        demonstrations=len(mine),
        variations=len({demo.variation for demo in mine}),
        frames=spread(len(demo) for demo in mine),
        seconds=spread(demo.seconds for demo in mine),
        rate=spread(demo.clip.fps for demo in mine),
        sub_goals=spread(len(demo.sub_goals) for demo in mine),
        discarded=sum(len(demo.discarded) for demo in mine),
    )


def _odd(demo: Demonstration) -> Iterator[str]:
    """Return what an expert who solves the task would not do."""
    if demo.progress[-1] < 1:
        yield f"ends with {demo.progress[-1]:.0%} of the task done"
    ends = np.array(demo.reached)
    short = np.linalg.norm(demo.hand[ends, :3] - demo.asked[ends, :3], axis=1)
    if short.max() > _SHORT_M:
        yield f"sub-goal {int(short.argmax())}: the hand stops {short.max() * 100:.1f} cm short"


def _of_tables(root: Path, demos: list[Demonstration], errors: list[tuple[str, str]]) -> Iterator[Finding]:
    """Return findings about the index, and about tables that occur twice or in the evaluation."""
    tested = [demo.id for demo in demos if demo.seed in WORLD_SEEDS["test"]]
    if tested:
        text = f"{len(tested)} with a seed of the split 'test', which is evaluated on (first: {tested[0]})"
        yield Finding("error", text + ": remove them, index again")
    twice = len(demos) - len({(demo.task, demo.variation, demo.seed) for demo in demos})
    if twice:
        yield Finding("warning", f"{twice} show a table that another one shows")
    if not (root / INDEX).exists():
        yield Finding("warning", f"no {INDEX}: on which tables they were done cannot be shown; write it")
        return
    try:
        index = read_index(root)
    except DataError as error:
        yield Finding("error", str(error))
        return
    here = {DemonstrationEntry(demo.task, demo.number, demo.variation, demo.seed, len(demo)) for demo in demos}
    if not errors and here != set(index.demonstrations):
        text = f"{INDEX} lists {len(index.demonstrations)} demonstrations, {len(here)} are here; write it again"
        yield Finding("error", text)


FRAMES = 150
"""Approximate number of frames of a demonstration in the paper."""


@dataclass(frozen=True)
class Solution:
    """The expert's solution."""

    start: TableState
    moves: tuple[tuple[HandPose, tuple[TableState, ...]], ...]
    stride: int
    seconds: float

    def __len__(self) -> int:
        return 1 + sum(len(states) for _, states in self.moves)

    @property
    def fps(self) -> float:
        """States per second of simulated time; at the start of a move the first may follow sooner."""
        return 1 / (RECORD_S * self.stride)

    @property
    def reached(self) -> tuple[int, ...]:
        """The frame in which each pose was done, the start being frame 0."""
        return tuple(np.cumsum([len(states) for _, states in self.moves]).tolist())


class ReplayedState(NamedTuple):
    """A state restored in a simulation. `things`: (n, 3) centre of each thing of the task, world frame, metres."""

    asked: HandPose
    sub_goal: int
    hand: HandPose
    progress: float
    things: FloatArray


def demonstrate(table: Tabletop, *, frames: int = FRAMES) -> Solution | str:
    """Run the task's expert: a solution of about `frames` states, at most 50 per second, or why there is none."""
    done = carried_out(table)
    if not done.solved:
        return "a pose cannot be carried out" if done.moves and done.moves[-1].failed else str(done.reason)
    if not done.moves:
        return "it is solved from the start"
    # A move that ends when a state is due stores it twice.
    moves = [tuple(dict.fromkeys(move.states)) for move in done.moves]
    stride = _stride([len(states) for states in moves], frames)
    start = Simulation(table).state()
    # The engine's state begins with its clock.
    seconds = round(moves[-1][-1].physics[0] - start.physics[0], 6)
    kept = (states[::-1][::stride][::-1] for states in moves)
    return Solution(start, tuple(zip(done.poses, kept, strict=True)), stride, seconds)


def replay(simulation: Simulation, solved: Solution) -> Iterator[ReplayedState]:
    """Restore every state of a demonstration in turn, so that it can be rendered before the next one is asked for."""
    first = solved.moves[0][0]
    todo = [(0, first, solved.start)]
    todo += [(n, pose, state) for n, (pose, states) in enumerate(solved.moves) for state in states]
    for sub_goal, pose, state in todo:
        simulation.restore(state)
        places = np.array([simulation.middle(thing) for thing in simulation.task.things]).reshape(-1, 3)
        yield ReplayedState(pose, sub_goal, simulation.hand, float(simulation.progress), places)


def _stride(counts: Sequence[int], frames: int) -> int:
    """Return one in how many of the states of each move to keep, so that there are about `frames` with the start."""

    def kept(stride: int) -> int:
        return 1 + sum(-(-count // stride) for count in counts)

    return min(range(1, max(counts) + 1), key=lambda stride: abs(kept(stride) - frames))


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
        None, "Tasks at the table, separated by commas. Default: all.", choices=table_tasks.names
    )
    per_task: int = option(
        PER_TASK, "Demonstrations of each task. Its variations are used in turn.", low=1, high=MAX_NUMBER
    )
    size: tuple[int, int] = option(SIZE, "Width and height of a frame in pixels.", low=16, high=MAX_SIDE_PX)
    depth: bool = option(False, "Also store the depth of every frame.")
    split: str = option("train", 'Split of the tables: "train" or "val".', choices=tuple(TABLES))
    seed: int = option(42, "Random seed. Equal seeds give equal bytes.", low=0, high=SEEDS - 1)


class DemonstrationCollection(Collection):
    """Demonstrations of a robot arm at a table, by a scripted expert.

    About 150 frames each, 50 a second at most. More of them, and more tasks, can be added to a collection.
    """

    name = "demonstrations"
    items_noun = "demonstrations"
    Options = DemonstrationOptions
    fixed = ("seed", "size", "depth", "split")
    first_model = ""
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
        """Check that tasks, and demonstrations of each, are only added."""
        super().check_same()
        before, now = self.manifest(), self.settings()
        if before is None:
            return
        had, many = before.get("tasks", []), before.get("per_task", 0)
        if many > now["per_task"] or not set(had) <= set(now["tasks"]):
            raise RunError(
                f"{self.out} has {many} of each of {', '.join(had)}: collect all of them, or use another folder"
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
        return check(root, decode=decode).report()


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


def _record(out: Path, task: str, number: int, attempt: _Attempt, settings: Mapping[str, Any], progress: Tell) -> None:
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
