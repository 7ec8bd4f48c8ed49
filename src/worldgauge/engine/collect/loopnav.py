"""Collecting LoopNav data in generated settlements: parallel, resumable, the same files for any number of workers.

One job is one trajectory; all that is random in it comes from (seed, settlement, type, range, index).
A trajectory is done when its video and its records are in place; the records come last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.collect.loops import LoopFailedError, record_loop
from worldgauge.collect.planner import Planner
from worldgauge.collect.sampling import Rule
from worldgauge.collect.walk import LoopKind
from worldgauge.datasets.loopnav_records import parse_json, read_bytes
from worldgauge.datasets.loopnav_write import MANIFEST, worlds_of, write_manifest, write_trajectory
from worldgauge.engine.collect.driving import (
    DEADLINE_S,
    SEEDS,
    Collected,
    CollectProgress,
    demand,
    demand_same,
    distinct,
    drive,
    render,
    telling_full_disk,
    world_seed_of,
)
from worldgauge.engine.pool import Job
from worldgauge.episode import WorldFacts
from worldgauge.geometry import Camera
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.world import KINDS

TYPES: tuple[LoopKind, ...] = ("ABA", "ABCA")
RANGES = (5, 15, 30, 50)
VERTICAL_FOV_DEG = 75.0

# A file name is a moment of a made-up year, so that names sort as the loops were made: this many a combination.
_MAX_PER_COMBINATION = 1000
_MAX_RADIUS = 99
_MAX_SETTLEMENTS = 150


def collect_loopnav(
    out: Path,
    *,
    settlements: int = 12,
    ranges: Sequence[int] = RANGES,
    types: Sequence[LoopKind] = TYPES,
    per_combination: int = 20,
    seed: int = 42,
    workers: int = 1,
    on: str | None = None,
    size: tuple[int, int] = (640, 360),
    sampling: Rule = "released",
    progress: Callable[[CollectProgress], None] | None = None,
) -> Collected:
    """Record loops in `settlements` generated villages into `out`, in LoopNav's layout, and the manifest.

    size: frames, width and height in pixels. per_combination: loops for each (settlement, type, range).
    on: where the workers are, as for `engine.run.run`; what they print goes to the folder logs of `out`.
    May be stopped at any moment and called again: what is done is kept, and the bytes are those of a run
    that was never stopped. It may be called again with more settlements, types, ranges or loops.
    Raises UsageError for options that cannot be meant, RunError when `out` was collected with another
    seed, size or sampling, or the disk is full.
    """
    out = Path(out)
    settings = {
        "settlements": settlements,
        "ranges": list(ranges),
        "types": list(types),
        "per_combination": per_combination,
        "seed": seed,
        "size": list(size),
        "sampling": sampling,
    }

    def write_worlds(worlds: Mapping[str, WorldFacts], discarded: Mapping[str, int] | None) -> None:
        write_manifest(out, worlds, settings if discarded is None else {**settings, "discarded": discarded})

    return drive(
        _plan(out, settings),
        collect_one,
        out,
        workers=workers,
        on=on,
        place_of=lambda job: str(job.args["location"]),
        write_worlds=write_worlds,
        progress=progress,
    )


def count_loopnav(out: Path, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Trajectories that `collect_loopnav` would make with these options, and how many of them are done.

    settings: its options from `settlements` to `sampling`, all of them. Writes nothing; raises what it raises.
    """
    jobs = _plan(Path(out), {**settings, "size": list(settings["size"])})
    return len(jobs), sum(all(path.exists() for path in _files(**job.args)) for job in jobs)


@telling_full_disk
def collect_one(
    *,
    out: str,
    location: str,
    kind: str,
    world_seed: int,
    type: LoopKind,
    radius: int,
    stamp: str,
    entropy: list[int],
    size: list[int],
    sampling: Rule,
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """One trajectory, in a worker. What is on disk already is walked again (cheap) but not rendered again.

    Returns {"world", "frames", "discards"} and "failure" when no try led to a loop, or {"full"} when the
    disk is; plain JSON values.
    """
    world, planner = _place(kind, world_seed)
    facts = {"name": "voxel", "params": {**world.facts.params, "size": list(world.voxels.shape)}}
    value: dict[str, Any] = {"world": {**facts, "digest": world.facts.digest}}
    rng = np.random.default_rng(entropy)
    try:
        walk = record_loop(world.voxels, kind=type, radius=radius, rng=rng, planner=planner, rule=sampling)
    except LoopFailedError as error:
        return {**value, "frames": 0, "discards": list(error.reasons), "failure": str(error)}
    video, records = _files(out=out, type=type, location=location, radius=radius, stamp=stamp)
    if not (video.exists() and records.exists()):
        for leftover in video.parent.glob(f".{stamp}.*part"):
            leftover.unlink()
        camera = Camera.from_vertical_fov(size[0], size[1], VERTICAL_FOV_DEG)
        write_trajectory(
            Path(out),
            location=location,
            type=type,
            radius=radius,
            stamp=stamp,
            walk=walk,
            frames=render(world, walk.poses, camera, progress),
            seed=world_seed,
        )
    return {**value, "frames": len(walk), "discards": list(walk.discards)}


def stamp_of(settlement: int, type: LoopKind, radius: int, index: int) -> str:
    """File name MM-DD_HH-MM-SS of a trajectory: unique in a collection, and independent of its extent."""
    place = (settlement * len(TYPES) + TYPES.index(type)) * (_MAX_RADIUS + 1) + radius
    moment = datetime(2025, 1, 1) + timedelta(seconds=place * _MAX_PER_COMBINATION + index)
    return moment.strftime("%m-%d_%H-%M-%S")


@lru_cache(maxsize=1)
def _place(kind: str, seed: int) -> tuple[Voxel, Planner]:
    world = Voxel(kind, seed)
    return world, Planner(world.voxels)


def _plan(out: Path, settings: Mapping[str, Any]) -> list[Job]:
    """One job a trajectory, of options that can be meant and suit what is in `out` already."""
    _check_options(**settings)
    _check_same_collection(out, settings)
    return list(_jobs(out, settings))


def _files(*, out: str, type: str, location: str, radius: int, stamp: str, **others: object) -> tuple[Path, Path]:
    """Video and records of a trajectory."""
    folder = Path(out, type, location, str(radius))
    return folder / f"{stamp}.avi", folder / f"{stamp}.json"


def _jobs(out: Path, settings: Mapping[str, Any]) -> Iterator[Job]:
    for settlement in range(settings["settlements"]):
        kind = KINDS[settlement % len(KINDS)]
        location = f"{kind}_village_{settlement // len(KINDS) + 1}"
        for type in settings["types"]:
            for radius in settings["ranges"]:
                for index in range(settings["per_combination"]):
                    stamp = stamp_of(settlement, type, radius, index)
                    args = {
                        "out": str(out.absolute()),
                        "location": location,
                        "kind": kind,
                        "world_seed": world_seed_of(settings["seed"], settlement),
                        "type": type,
                        "radius": radius,
                        "stamp": stamp,
                        "entropy": [settings["seed"], settlement, TYPES.index(type), radius, index],
                        "size": settings["size"],
                        "sampling": settings["sampling"],
                    }
                    yield Job(f"{type}/{location}/{radius}/{stamp}", f"{__name__}:collect_one", args, DEADLINE_S)


def _check_options(
    settlements: int,
    ranges: Sequence[int],
    types: Sequence[str],
    per_combination: int,
    seed: int,
    size: Sequence[int],
    sampling: str,
) -> None:
    demand("settlements", settlements, 1 <= settlements <= _MAX_SETTLEMENTS, f"1 to {_MAX_SETTLEMENTS}")
    demand("ranges", list(ranges), distinct(ranges, range(1, _MAX_RADIUS + 1)), f"different ones of 1 to {_MAX_RADIUS}")
    demand("types", list(types), distinct(types, TYPES), f"different ones of {', '.join(TYPES)}")
    limit = _MAX_PER_COMBINATION
    demand("per_combination", per_combination, 1 <= per_combination <= limit, f"1 to {limit}")
    demand("seed", seed, 0 <= seed < SEEDS, f"0 to {SEEDS - 1}")
    demand("size", tuple(size), len(size) == 2 and min(size) >= 2, "width and height in pixels")
    demand("sampling", sampling, sampling in ("released", "continuous"), "released or continuous")


def _check_same_collection(out: Path, settings: Mapping[str, Any]) -> None:
    """What is there already must have been made with what its files depend on."""
    if not worlds_of(out):
        return
    before = parse_json(read_bytes(out / MANIFEST), str(out / MANIFEST))["settings"]
    demand_same(out, before, settings, ("seed", "size", "sampling"))
