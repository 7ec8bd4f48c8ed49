"""Collecting coverage walks to train on: panoramas with depth, poses and actions of homes that no one is tested in.

One job is one home; all that is random in it comes from (seed, split, home). A home is done when all its clips are
there, each of which is written whole or not at all; the index is made of all of them in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, RunError, UnknownNameError
from worldgauge.core.geometry import Panorama
from worldgauge.engine.collection.driving import (
    DEADLINE_S,
    SEEDS,
    Collected,
    CollectProgress,
    demand,
    demand_same,
    drive,
    ending_on_full_disk,
    plain,
    telling_full_disk,
)
from worldgauge.engine.collection.manifest import read_manifest, write_manifest
from worldgauge.engine.workers.pool import Job
from worldgauge.suites.closedloop.training_data.coverage.layout import (
    Facts,
    Step,
    read_index,
    trajectory_name,
    write_index,
    write_trajectory,
)
from worldgauge.suites.closedloop.training_data.coverage.read import read_manifest as read_clip
from worldgauge.suites.closedloop.training_data.coverage.record import View
from worldgauge.suites.closedloop.training_data.coverage.tour import PAPER, Rules
from worldgauge.suites.closedloop.training_data.coverage.walk import MOST_STEPS, CoverageWalk, coverage_walk
from worldgauge.worlds import World, open_world
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.splits import SPLITS, scene_name, scene_seed, world_of
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.walker import EYE_HEIGHT_M

FORMAT = "coverage"
SIZE = (1024, 576)
"""Width and height of the panoramas that the paper's models are trained on."""
SCENES = 10
RADII_M = (3.0, 1.0)
"""The share of the floor that a walk comes as close to is told of each."""

Images = Literal["video", "png"]

_FIXED = ("seed", "split", "size", "points", "steps", "rules", "height_m", "images")
_MAX_SCENES, _MAX_POINTS = 100_000, 8000
_TRIED = 2
"""Homes that are walked through, without pictures, for an estimate."""
_PIXEL_BYTES: Mapping[str, float] = {"video": 1.3, "png": 1.85}
"""Bytes a pixel of picture and depth on disk, measured in 2 homes at 1024x576; smaller pictures take some more."""


class Estimate(NamedTuple):
    """What a collection will hold, from the walks through its first homes.

    scenes, done: homes in all, and finished. points: most that are sampled in one of them.
    """

    scenes: int
    done: int
    frames: int
    bytes: int
    points: int


def collect_coverage(
    out: Path,
    *,
    scenes: int = SCENES,
    size: tuple[int, int] = SIZE,
    points: int | None = None,
    steps: int = MOST_STEPS,
    rules: Rules = PAPER,
    height_m: float = EYE_HEIGHT_M,
    images: Images = "video",
    split: str = "train",
    seed: int = 42,
    workers: int = 1,
    on: str | None = None,
    progress: Callable[[CollectProgress], None] | None = None,
) -> Collected:
    """Walk through the first `scenes` homes of a split and write what is seen into `out`.

    size: width and height of the panoramas in pixels. points: at most so many are sampled in a home. steps: at most so
    many in a home. height_m: of the camera, 1.0 in the evaluation, 1.5 in the paper's training data. on: where the
    workers are, as for `engine.run.run`; what they print goes to `out`/logs. Progress counts homes.
    May be stopped at any moment and called again: homes that are done are kept, and the bytes are those of a run that
    was never stopped. It may be called again for more homes.
    Raises UsageError for options that cannot be meant, RunError when `out` was collected with others or more homes, or
    the disk is full.
    """
    out = Path(out)
    settings = _settings(scenes, size, points, steps, rules, height_m, images, split, seed)
    jobs = _plan(out, settings)

    def write_worlds(facts: Mapping[str, WorldFacts], discarded: Mapping[str, int] | None) -> None:
        said = settings if discarded is None else {**settings, "discarded": discarded}
        camera = {"height_m": height_m, "projection": "equirectangular", "size": list(size), "depth": "along the ray"}
        write_manifest(out, FORMAT, facts, said, camera)

    with ending_on_full_disk():
        # The settings come first: clips of a run that was stopped must not be taken for those of another.
        write_worlds({}, None)
        collected = drive(
            jobs,
            collect_home,
            out,
            workers=workers,
            on=on,
            place_of=lambda job: str(job.args["scene"]),
            write_worlds=write_worlds,
            progress=progress,
        )
        write_index(out, split)
    return collected


def count_coverage(out: Path, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Homes that `collect_coverage` would walk through with these options, and how many of them are done.

    settings: its options without `workers`, `on` and `progress`, all of them. Writes nothing; raises what it raises.
    """
    jobs = _plan(Path(out), _settings(**settings))
    return len(jobs), sum(_done(Path(out), str(job.args["scene"])) is not None for job in jobs)


def estimate_coverage(out: Path, settings: Mapping[str, Any]) -> Estimate:
    """How much these options lead to; walks through the first homes to tell. Raises as `count_coverage`."""
    scenes, done = count_coverage(out, settings)
    named = _settings(**settings)
    tried = range(min(scenes, _TRIED))
    walks = [_walked(open_world(world_of(scene_name(named["split"], home))), home, named) for home in tried]
    total = round(sum(walk.frames for walk in walks) / len(walks) * scenes)
    width, height = named["size"]
    size = round(total * width * height * _PIXEL_BYTES[named["images"]])
    return Estimate(scenes, done, total, size, max(len(walk.points) for walk in walks))


def summary_of(out: Path) -> dict[str, Any]:
    """What a collection holds: homes, clips, the hash of its split, and the mean share of the floor that is covered.

    covered: by radius. points: most that were sampled in one home. Raises DataError when there is no index.
    """
    index = read_index(out)
    told = [read_clip(out / scene / trajectory_name(0))["more"] for scene in index.scenes]
    radii = told[0]["covered"] if told else ()
    covered = {name: float(np.mean([one["covered"][name] for one in told])) for name in radii}
    return {
        "scenes": len(index.scenes),
        "clips": len(index.trajectories),
        "split": index.split,
        "split_hash": index.split_hash,
        "covered": covered,
        "points": max((one["points"] for one in told), default=0),
    }


@telling_full_disk
def collect_home(
    *, out: str, scene: str, home: int, settings: dict[str, Any], progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """All clips of one home, in a worker; what is done already is only read.

    Returns {"world", "frames", "discards"}, or {"full"} when the disk is; plain JSON values.
    """
    root = Path(out)
    found = _done(root, scene)
    if found is None:
        _collect(root, scene, home, settings, progress)
        found = _done(root, scene)
    if found is None:
        raise DataError(f"{root / scene}: clips are gone after they were written; what else writes there?")
    more = found["more"]
    discards = ["steps do not lead to a waypoint"] * more["given_up"]
    return {"world": found["world"], "frames": more["frames"], "discards": discards}


def _collect(
    out: Path, scene: str, home: int, settings: Mapping[str, Any], progress: Callable[[int, int], None]
) -> None:
    world = open_world(world_of(scene))
    walk = _walked(world, home, settings)
    facts = Facts(
        world=WorldFacts(**plain(world.facts)),
        camera_height_m=settings["height_m"],
        seed=settings["seed"],
        more={
            "clips": len(walk.clips),
            "frames": walk.frames,
            "area_m2": round(walk.area_m2, 2),
            "points": len(walk.points),
            "waypoints": len(walk.waypoints),
            "legs": len(walk.goals),
            "given_up": walk.given_up,
            "covered": {f"{radius:g} m": round(walk.covered(radius), 4) for radius in RADII_M},
            "rules": settings["rules"],
        },
    )
    before = 0
    for number, clip in enumerate(walk.clips):
        rows = [Step(row.action, row.stance.eye(settings["height_m"]), row.collided, row.goal_index) for row in clip]
        views = _views(world, rows, Panorama(*settings["size"]), before, walk.frames, progress)
        write_trajectory(out, scene, number, views, rows, facts, images=settings["images"])
        before += len(rows)


def _views(
    world: World, rows: list[Step], panorama: Panorama, before: int, total: int, progress: Callable[[int, int], None]
) -> Iterator[View]:
    for number, row in enumerate(rows):
        progress(before + number, total)
        view = world.view(row.pose, panorama)
        yield view.rgb, view.depth


def _walked(world: World, home: int, settings: Mapping[str, Any]) -> CoverageWalk:
    assert isinstance(world, Home)
    return coverage_walk(
        Geodesic(world.floor),
        np.random.default_rng([settings["seed"], SPLITS.index(settings["split"]), home]),
        rules=Rules(**settings["rules"]),
        points=settings["points"],
        most_steps=settings["steps"],
    )


def _done(out: Path, scene: str) -> dict[str, Any] | None:
    """The manifest of the last clip of a home; None when not all are there."""
    first = out / scene / trajectory_name(0)
    if not first.is_dir():
        return None
    try:
        count = int(read_clip(first)["more"]["clips"])
        last = [read_clip(out / scene / trajectory_name(number)) for number in range(count)][-1]
    except (DataError, KeyError, TypeError, ValueError, IndexError):
        return None
    return last


def _settings(
    scenes: int,
    size: tuple[int, int],
    points: int | None,
    steps: int,
    rules: Rules,
    height_m: float,
    images: Images,
    split: str,
    seed: int,
) -> dict[str, Any]:
    """The options as the manifest holds them, when they can be meant."""
    demand("scenes", scenes, 1 <= scenes <= _MAX_SCENES, f"1 to {_MAX_SCENES}")
    usable = len(size) == 2 and min(size) >= 16 and max(size) <= 8192
    demand("size", tuple(size), usable, "width and height in pixels, 16 to 8192")
    demand("points", points, points is None or 1 <= points <= _MAX_POINTS, f"1 to {_MAX_POINTS}")
    demand("steps", steps, 1 <= steps <= MOST_STEPS, f"1 to {MOST_STEPS}")
    demand("height_m", height_m, 0.1 <= height_m <= 2.5, "metres above the floor, 0.1 to 2.5")
    demand("seed", seed, 0 <= seed < SEEDS, f"0 to {SEEDS - 1}")
    demand("visit_radius_m", rules.visit_radius_m, 0 < rules.visit_radius_m <= 100, "metres, more than 0")
    for name, given, known in (
        ("kind of images", images, _PIXEL_BYTES),
        ("split", split, SPLITS),
        ("n_points", rules.n_points, ("max", "min")),
        ("next_goal", rules.next_goal, ("nearest", "near_2m")),
    ):
        if given not in known:
            raise UnknownNameError(name, given, known)
    return {
        "scenes": scenes,
        "size": list(size),
        "points": points,
        "steps": steps,
        "rules": asdict(rules),
        "height_m": height_m,
        "images": images,
        "split": split,
        "seed": seed,
    }


def _plan(out: Path, settings: Mapping[str, Any]) -> list[Job]:
    """One job a home, of options that suit what is in `out` already."""
    before = read_manifest(out, FORMAT)
    if before is not None:
        demand_same(out, before["settings"], settings, _FIXED)
        had = before["settings"].get("scenes", 0)
        if had > settings["scenes"]:
            raise RunError(f"{out} has {had} scenes, not {settings['scenes']}: collect into another folder")
    given = {"settings": dict(settings), "out": str(out.absolute())}
    call = f"{__name__}:collect_home"
    split = settings["split"]
    scene_seed(split, settings["scenes"] - 1)
    return [
        Job(scene_name(split, home), call, {**given, "scene": scene_name(split, home), "home": home}, DEADLINE_S)
        for home in range(settings["scenes"])
    ]
