"""Collecting LoopNav data, embedded or in the real game: parallel, resumable, the same files for any workers.

One job is one trajectory; all that is random in it comes from (seed, settlement, type, range, index).
A trajectory is done when its video and its records are in place; the records come last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera
from worldgauge.core.io import parse_json
from worldgauge.engine.collection.driving import (
    DEADLINE_S,
    SEEDS,
    Collected,
    CollectProgress,
    demand,
    demand_same,
    distinct,
    drive,
    telling_full_disk,
    world_seed_of,
)
from worldgauge.engine.workers.pool import Job
from worldgauge.suites.loopnav.format.records import read_bytes, read_records
from worldgauge.suites.loopnav.format.write import MANIFEST, worlds_of, write_manifest, write_trajectory
from worldgauge.suites.loopnav.walks.game import Game
from worldgauge.suites.loopnav.walks.locations import close_spots, kept_facts, open_spot
from worldgauge.suites.loopnav.walks.loops import LoopFailedError, record_loop
from worldgauge.worlds.minecraft.places import place_of
from worldgauge.worlds.minecraft.servers.bridge import BridgeError, BridgeLostError
from worldgauge.worlds.minecraft.servers.java import address
from worldgauge.worlds.minecraft.viewer import MOST_PIXELS
from worldgauge.worlds.voxel.world import KINDS
from worldgauge.worlds.walking.sampling import Rule
from worldgauge.worlds.walking.walk import LoopKind

TYPES: tuple[LoopKind, ...] = ("ABA", "ABCA")
RANGES = (5, 15, 30, 50)
VERTICAL_FOV_DEG = 75.0

# A file name is a moment of a made-up year, so that names sort as the loops were made: this many a combination.
_MAX_PER_COMBINATION = 1000
_MAX_RADIUS = 99
_MAX_SETTLEMENTS = 150
_GAME_DEADLINE_S = 3600.0
"""Before the first frame every try of a loop is walked, and on a server that takes as long as it takes."""


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
    game: Game | None = None,
    progress: Callable[[CollectProgress], None] | None = None,
) -> Collected:
    """Record loops in `settlements` generated villages into `out`, in LoopNav's layout, and the manifest.

    size: frames, width and height in pixels. per_combination: loops for each (settlement, type, range). game: walk in
    the real game, by its physics and its planner; at the places of a server, then `settlements` and `seed` choose
    nothing but the loops. on: where the workers are, as for `engine.run.run`; what they print goes to the folder
    logs of `out`.
    May be stopped at any moment and called again: what is done is kept, and the bytes are those of a run
    that was never stopped. It may be called again with more settlements, types, ranges or loops.
    Raises UsageError for options that cannot be meant, RunError when `out` was collected with another
    seed, size or sampling, or the disk is full, WorldError when the game cannot be used.
    """
    out = Path(out)
    settings: dict[str, Any] = {
        "settlements": settlements,
        "ranges": list(ranges),
        "types": list(types),
        "per_combination": per_combination,
        "seed": seed,
        "size": list(size),
        "sampling": sampling,
        "game": None if game is None else asdict(game),
    }

    jobs = _plan(out, settings, workers)
    earlier = _settings_of(out)
    before = Counter(earlier.get("discarded", {})) if game is not None and game.mode == "java" else Counter()
    told = {**settings, "game": _with_modes(earlier.get("game"), settings["game"])}

    def write_worlds(worlds: Mapping[str, WorldFacts], discarded: Mapping[str, int] | None) -> None:
        all_of_them = dict(sorted((before + Counter(discarded)).items()))
        write_manifest(out, worlds, told if discarded is None else {**told, "discarded": all_of_them})

    if game is not None and on in (None, "local"):
        game.check()
    try:
        return drive(
            jobs,
            collect_one,
            out,
            workers=workers,
            on=on,
            place_of=lambda job: str(job.args["location"]),
            write_worlds=write_worlds,
            progress=progress,
        )
    finally:
        close_spots()


def count_loopnav(out: Path, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Trajectories that `collect_loopnav` would make with these options, and how many of them are done.

    settings: its options from `settlements` to `game`, all of them. Writes nothing; raises what it raises.
    """
    game = settings["game"]
    jobs = _plan(
        Path(out), {**settings, "size": list(settings["size"]), "game": None if game is None else asdict(game)}
    )
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
    game: dict[str, Any] | None = None,
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """One trajectory, in a worker. What is on disk already is walked again (cheap) but not rendered again.

    What somebody's server was walked for is not: its thrown away tries are then those of the present call.

    Returns {"world", "frames", "discards"} and "failure" when no try led to a loop, or {"full"} when the
    disk is; plain JSON values.
    """
    chosen = None if game is None else Game(**{**game, "places": tuple(game["places"])})
    video, records = _files(out=out, type=type, location=location, radius=radius, stamp=stamp)
    done = video.exists() and records.exists()
    if chosen is not None and done:
        if chosen.mode == "java":
            facts = kept_facts(Path(out), chosen.place(location))
            return {"world": facts, "frames": len(read_records(records)), "discards": []}
        chosen = replace(chosen, mode="offline")  # the same walk, sooner
    spot = open_spot(Path(out), location, kind, world_seed, chosen)
    value: dict[str, Any] = {"world": spot.facts}
    rng = np.random.default_rng(entropy)
    try:
        walk = record_loop(
            spot.voxels, kind=type, radius=radius, rng=rng, walker=spot.walker, rule=sampling, start=spot.start
        )
    except LoopFailedError as error:
        return {**value, "frames": 0, "discards": list(error.reasons), "failure": str(error)}
    except (BridgeError, BridgeLostError):
        close_spots()  # a bot that was kicked, a server that ended: the next job begins anew
        raise
    walk = spot.recorded(walk)
    if not done:
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
            frames=spot.frames(walk.poses, camera, progress),
            seed=spot.seed,
        )
    return {**value, "frames": len(walk), "discards": list(walk.discards)}


def stamp_of(settlement: int, type: LoopKind, radius: int, index: int) -> str:
    """File name MM-DD_HH-MM-SS of a trajectory: unique in a collection, and independent of its extent."""
    place = (settlement * len(TYPES) + TYPES.index(type)) * (_MAX_RADIUS + 1) + radius
    moment = datetime(2025, 1, 1) + timedelta(seconds=place * _MAX_PER_COMBINATION + index)
    return moment.strftime("%m-%d_%H-%M-%S")


def _plan(out: Path, settings: Mapping[str, Any], workers: int = 1) -> list[Job]:
    """One job a trajectory, of options that can be meant and suit what is in `out` already."""
    _check_options(**settings, workers=workers)
    _check_same_collection(out, settings)
    return list(_jobs(out, settings))


def _files(*, out: str, type: str, location: str, radius: int, stamp: str, **others: object) -> tuple[Path, Path]:
    """Video and records of a trajectory."""
    folder = Path(out, type, location, str(radius))
    return folder / f"{stamp}.avi", folder / f"{stamp}.json"


def _jobs(out: Path, settings: Mapping[str, Any]) -> Iterator[Job]:
    game = settings["game"]
    for number, location, kind in _locations(settings):
        for type in settings["types"]:
            for radius in settings["ranges"]:
                for index in range(settings["per_combination"]):
                    stamp = stamp_of(number % _MAX_SETTLEMENTS, type, radius, index)
                    args = {
                        "out": str(out.absolute()),
                        "location": location,
                        "kind": kind,
                        "world_seed": world_seed_of(settings["seed"], number),
                        "type": type,
                        "radius": radius,
                        "stamp": stamp,
                        "entropy": [settings["seed"], number, TYPES.index(type), radius, index],
                        "size": settings["size"],
                        "sampling": settings["sampling"],
                        "game": game,
                    }
                    name = f"{type}/{location}/{radius}/{stamp}"
                    yield Job(name, f"{__name__}:collect_one", args, DEADLINE_S if game is None else _GAME_DEADLINE_S)


def _locations(settings: Mapping[str, Any]) -> list[tuple[int, str, str]]:
    """Number, name and kind of every place; the number of one on a server does not depend on the others named."""
    game = settings["game"]
    if game is not None and game["places"]:
        named = [place_of(text) for text in game["places"]]
        return [(crc32(place.name.encode()), place.name, place.kind) for place in named]
    kinds = [KINDS[settlement % len(KINDS)] for settlement in range(settings["settlements"])]
    return [(number, f"{kind}_village_{number // len(KINDS) + 1}", kind) for number, kind in enumerate(kinds)]


def _check_options(
    settlements: int,
    ranges: Sequence[int],
    types: Sequence[str],
    per_combination: int,
    seed: int,
    size: Sequence[int],
    sampling: str,
    game: Mapping[str, Any] | None,
    workers: int,
) -> None:
    demand("settlements", settlements, 1 <= settlements <= _MAX_SETTLEMENTS, f"1 to {_MAX_SETTLEMENTS}")
    demand("ranges", list(ranges), distinct(ranges, range(1, _MAX_RADIUS + 1)), f"different ones of 1 to {_MAX_RADIUS}")
    demand("types", list(types), distinct(types, TYPES), f"different ones of {', '.join(TYPES)}")
    limit = _MAX_PER_COMBINATION
    demand("per_combination", per_combination, 1 <= per_combination <= limit, f"1 to {limit}")
    demand("seed", seed, 0 <= seed < SEEDS, f"0 to {SEEDS - 1}")
    demand("size", tuple(size), len(size) == 2 and min(size) >= 2, "width and height in pixels")
    demand("sampling", sampling, sampling in ("released", "continuous"), "released or continuous")
    if game is not None and game["mode"] == "java":
        demand("workers", workers, workers == 1, "1: one bot walks on a server that somebody runs")
        demand("sampling", sampling, sampling == "released", "released on a server")
    if game is not None and game["pictures"] != "ours":
        demand("size", tuple(size), max(size) <= MOST_PIXELS, f"at most {MOST_PIXELS} pixels a side")


def _check_same_collection(out: Path, settings: Mapping[str, Any]) -> None:
    """What is there already must have been made with what its files depend on."""
    before = _settings_of(out)
    if not before:
        return
    demand_same(out, before, settings, ("seed", "size", "sampling"))
    demand_same(out, _looks(before), _looks(settings), ("world", "server", "pictures"))


def _settings_of(out: Path) -> dict[str, Any]:
    """What is in `out` was collected with; empty when there is nothing yet."""
    if not worlds_of(out):
        return {}
    settings: dict[str, Any] = parse_json(read_bytes(out / MANIFEST), str(out / MANIFEST))["settings"]
    return settings


def _with_modes(earlier: Mapping[str, Any] | None, game: dict[str, Any] | None) -> dict[str, Any] | None:
    """The manifest names all modes that its loops were walked in."""
    if earlier is None or game is None:
        return game
    return {**game, "mode": ", ".join(sorted({*str(earlier["mode"]).split(", "), game["mode"]}))}


def _looks(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What of the game files depend on: not the mode of ours, for both give the same."""
    game = settings.get("game")
    if game is None:
        return {"world": "voxel", "server": None, "pictures": "ours"}
    server = None if game["server"] is None else list(address(game["server"]))
    return {"world": "minecraft", "server": server, "pictures": game["pictures"]}
