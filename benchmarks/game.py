"""Walks in the real game without a server against its clock; and its bridge, a village read from a server, our physics.

Needs Node with the packages of `make minecraft`, and the extra 'structures'; without them it is not run.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks._physics import random_actions
from worldgauge.core.errors import MissingExtraError, WorldError
from worldgauge.worlds.blocks.nbt import nbt_library
from worldgauge.worlds.minecraft.bridge import Bridge
from worldgauge.worlds.minecraft.cells import Cells, to_bytes
from worldgauge.worlds.minecraft.install import find_node, find_packages
from worldgauge.worlds.minecraft.names import cells_of
from worldgauge.worlds.minecraft.offline import COLUMNS, VERSION, BotGoal, BotWalk, Offline
from worldgauge.worlds.minecraft.regions import box_of, read_cells, write_world
from worldgauge.worlds.minecraft.server import JsServer
from worldgauge.worlds.voxel.generate import generate
from worldgauge.worlds.voxel.player import TICKS_PER_SECOND, Action, PlayerState, pack, step, tick
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.planner import sample_place, start_place

REFERENCE = "the same ticks, known before, one question a tick"
RANGES = (5, 15, 30, 50)
LOOPS, APART = 8, 20
"""Walks A -> B -> A at each range, and about how many metres A lies from the middle of the village."""
QUESTIONS, READS, ROUNDS, TICKS = 2000, 7, 7, 2000
SEED, SMALL = 1, (160, 160, 56)

GOAL = 100.0
GOAL_MS = 0.25
"""Half a percent of a tick of the game."""
GOAL_CELLS = 1_000_000
"""A second; the specification's village, 128 x 48 x 128, in less than one."""
GOAL_PHYSICS = 1.0

_ECHO = "import os\nwhile data := os.read(0, 65536):\n    os.write(1, data)"

T = TypeVar("T")


def run() -> dict[str, Any]:
    """Walks as multiples of the game's 20 ticks a second: planner, controller and physics, asked from Python.

    Processor time of the child and of this process is counted together; `wall` is the same by the clock on the wall. A
    first loop pays for what Node compiles. The other three figures have references and goals of their own; `met` is
    all four.
    """
    try:
        find_node()
        find_packages()
        nbt_library()
    except (WorldError, MissingExtraError) as error:
        return {"name": "game", "not_run": str(error)}
    walks = _walks(generate("plains", SEED))
    village = generate("plains", SEED, SMALL)
    others = {
        "round_trip_ms": _round_trip(cells_of(village)),
        "cells_per_s": _reading(cells_of(village)),
        "ticks_per_s": _physics(village),
    }
    return {
        "name": "game",
        "unit": "multiples of the game's clock, loops at ranges 5 to 50, processor time of child and parent",
        **walks,
        "goal": GOAL,
        "met": walks["ours"] >= GOAL and walks["same"] and all(one["met"] for one in others.values()),
        **others,
    }


def _walks(world: VoxelWorld) -> dict[str, Any]:
    """Loops at each range, each walked again tick by tick: the body must then be the same to the last bit."""
    rng, start = np.random.default_rng(SEED), start_place(world)
    sums: dict[int, Any] = {}
    failed, same = 0, True
    with Offline(cells_of(world)) as game:
        for radius in (0, *RANGES):
            sums[radius] = np.zeros(5)  # ticks; seconds by processor and by clock, ours and of the reference
            for _ in range(LOOPS if radius else 1):
                a = sample_place(world, start, APART, rng)
                b = sample_place(world, a, radius or APART, rng)
                put = (a[0] + 0.5, a[1] + 0.5, a[2] + 0.5)
                game.teleport(put)
                walk, *own = _timed(game, lambda a=a, b=b: game.walk([BotGoal(*b), BotGoal(*a)]))
                if walk.status != "arrived":
                    failed += 1
                    continue
                game.teleport(put)
                bodies, *bare = _timed(game, lambda walk=walk: [game.step([one]) for one in _actions(walk)])
                same = same and bodies[-1] == walk.states[-1:]
                sums[radius] += [len(bodies), *own, *bare]
    multiples = {radius: (own[0] / TICKS_PER_SECOND / own[1:]).tolist() for radius, own in sums.items()}
    total = sum(sums[radius] for radius in RANGES)
    ours, wall, reference, reference_wall = (total[0] / TICKS_PER_SECOND / total[1:]).tolist()
    return {
        "ours": round(ours, 1),
        "wall": round(wall, 1),
        "reference": round(reference, 1),
        "reference_wall": round(reference_wall, 1),
        "reference_name": REFERENCE,
        "ratio": round(ours / reference, 2),
        "by_range": {radius: round(multiples[radius][0], 1) for radius in RANGES},
        "first_loop": round(multiples[0][0], 1),
        "ticks": int(total[0]),
        "failed": failed,
        "same": same,
    }


def _timed(game: Offline, work: Callable[[], T]) -> tuple[T, float, float]:
    """What `work` gives, the processor time of this process and of the child, and the time by the clock."""
    child = (~game._bridge.pid << 3) | 2  # what clock_getcpuclockid(3) gives, which Python has not
    core, wall = time.process_time() + time.clock_gettime(child), time.perf_counter()
    found = work()
    wall = time.perf_counter() - wall
    return found, time.process_time() + time.clock_gettime(child) - core, wall


def _actions(walk: BotWalk) -> list[Action]:
    """The walk as actions: keys decided in a tick move the body in the next one, turns show at once."""
    forward, jump, turn = (walk.rows[:, COLUMNS.index(name)].tolist() for name in ("forward", "jump", "turn"))
    keys = [(False, False), *zip(map(bool, forward), map(bool, jump), strict=True)]
    return [Action(forward=f, jump=j, yaw=angle) for (f, j), angle in zip(keys, turn, strict=False)]


def _round_trip(cells: Cells) -> dict[str, Any]:
    """A question that nothing has to be done for, beside a child that sends back what it reads from a pipe."""
    with Bridge.start() as bridge:
        bridge.ask("offline.open", {"version": VERSION}, data=to_bytes(cells))
        ours = [_median_ms(lambda: bridge.ask("offline.step")) for _ in range(2)][-1]
    command = [sys.executable, "-S", "-c", _ECHO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as echo:
        bare = [_median_ms(lambda: echo.stdin.write(b"x") and echo.stdout.read(1)) for _ in range(2)][-1]
        echo.stdin.close()
    return {
        "ours": round(ours, 4),
        "reference": round(bare, 4),
        "reference_name": "a byte there and back through os.pipe, a child of bare Python",
        "ratio": round(bare / ours, 3),
        "goal": GOAL_MS,
        "met": ours <= GOAL_MS,
    }


def _median_ms(work: Callable[[], object]) -> float:
    return 1000 * statistics.median(_seconds(work) for _ in range(QUESTIONS))


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _reading(cells: Cells) -> dict[str, Any]:
    """The village through server, network, bot and bridge, beside the same from region files, by the clock."""
    box = box_of(cells)
    with tempfile.TemporaryDirectory() as folder, JsServer(cells) as server:
        saved = Path(folder, "world")
        write_world(saved, cells, VERSION)
        same = all(_texts(read) == _texts(cells) for read in (server.read(box), read_cells(saved, box)))
        rounds = [(_seconds(lambda: server.read(box)), _seconds(lambda: read_cells(saved, box))) for _ in range(READS)]
    ours, disk = (cells.index.size / statistics.median(each) for each in zip(*rounds, strict=True))
    return {
        "ours": round(ours),
        "reference": round(disk),
        "reference_name": "regions.read_cells of the same village on disk",
        "ratio": round(ours / disk, 2),
        "goal": GOAL_CELLS,
        "met": ours >= GOAL_CELLS and same,
        "cells": cells.index.size,
        "same": same,
    }


def _texts(cells: Cells) -> list[Any]:
    return np.array(cells.palette)[cells.index].tolist()


def _physics(world: VoxelWorld) -> dict[str, Any]:
    """Random walks from the middle of the village in ours, compiled and as states, and in the game's, by the clock."""
    actions = random_actions(np.random.default_rng(SEED), TICKS)
    x, y, z = start_place(world)
    with Offline(cells_of(world)) as game:
        body = game.teleport((x + 0.5, y + 0.5, z + 0.5))
        ways = {
            "ours": lambda: _ticks(world, body, actions),
            "ours_as_states": lambda: _steps(world, body, actions),
            "reference": lambda: game.step(actions),
        }
        speeds = {
            name: TICKS / statistics.median([_seconds(work) for _ in range(ROUNDS)][1:]) for name, work in ways.items()
        }
    ratio = speeds["ours"] / speeds["reference"]
    return {
        **{name: round(speed) for name, speed in speeds.items()},
        "reference_name": "the game's physics in Node, all ticks in one question",
        "ratio": round(ratio, 2),
        "goal": GOAL_PHYSICS,
        "met": ratio >= GOAL_PHYSICS,
    }


def _ticks(world: VoxelWorld, start: PlayerState, actions: list[Action]) -> None:
    body = pack(start)
    for one in actions:
        ahead, aside = float(one.forward) - float(one.back), float(one.left) - float(one.right)
        tick(world, body, ahead=ahead, aside=aside, jump=one.jump, sprint=one.sprint, sneak=one.sneak)
        body[6] += one.yaw


def _steps(world: VoxelWorld, body: PlayerState, actions: list[Action]) -> None:
    for one in actions:
        body = step(world, body, one)
