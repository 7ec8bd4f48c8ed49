"""Collecting Target-Bench scenarios in embedded worlds, in the published layout: settlements outdoors, homes indoors.

One job is one scenario; all that is random in it comes from (seed, scene, number in the scene). A scenario is done when
its folder is in place, which happens in one step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from worldgauge.collect.target_walks import (
    CAMERA_HEIGHTS_M,
    FPS,
    FUTURE_S,
    HISTORY_S,
    Place,
    TargetWalkFailedError,
    record_target_walk,
)
from worldgauge.collect.wording import VAGUE
from worldgauge.datasets.target_index import LABELS_FILE, load_labels
from worldgauge.datasets.target_scenario import Label
from worldgauge.datasets.target_write import scenario_name, write_labels, write_scenario
from worldgauge.engine.collect.driving import (
    DEADLINE_S,
    SEEDS,
    Collected,
    CollectProgress,
    demand,
    demand_same,
    distinct,
    drive,
    plain,
    render,
    telling_full_disk,
    world_seed_of,
)
from worldgauge.engine.collect.manifest import read_manifest, write_manifest
from worldgauge.engine.pool import Job
from worldgauge.episode import WorldFacts
from worldgauge.geometry import Camera
from worldgauge.worlds import worlds
from worldgauge.worlds.floor import Walkable
from worldgauge.worlds.voxel.world import KINDS

PLACES: tuple[Place, ...] = ("outdoors", "indoors")
SCENES, PER_SCENE = 25, 5
"""125 scenarios, as many as the published benchmark has."""
HORIZONTAL_FOV_DEG = 80.0
FORMAT = "target"

_EVERYWHERE = {"curtain", "door", "window"}
"""Seen from so many places that, tried early, they would be every second target of a home; they are tried last."""
_MAX_SCENES = 1000
_MAX_PER_SCENE = 100
_FIXED = ("seed", "size", "fov_deg", "fps", "places")


def collect_target(
    out: Path,
    *,
    scenes: int = SCENES,
    per_scene: int = PER_SCENE,
    places: Sequence[Place] = PLACES,
    seed: int = 42,
    workers: int = 1,
    on: str | None = None,
    size: tuple[int, int] = (640, 360),
    fov_deg: float = HORIZONTAL_FOV_DEG,
    fps: int = FPS,
    progress: Callable[[CollectProgress], None] | None = None,
) -> Collected:
    """Record `per_scene` walks to named things in each of `scenes` worlds into `out`: folders, labels and a manifest.

    places: scenes are of these by turns. size: frames, width and height in pixels. fov_deg: horizontal. fps: rows and
    frames a second. on: where the workers are, as for `engine.run.run`; what they print goes to `out`/logs.
    May be stopped at any moment and called again: what is done is kept, and the bytes are those of a run that was
    never stopped. It may be called again with more scenes or more scenarios each.
    Raises UsageError for options that cannot be meant, RunError when `out` was collected with another seed, size, field
    of view, rate or other places, or the disk is full.
    """
    out = Path(out)
    settings = {
        "scenes": scenes,
        "per_scene": per_scene,
        "places": list(places),
        "seed": seed,
        "size": list(size),
        "fov_deg": float(fov_deg),
        "fps": fps,
    }
    jobs = _plan(out, settings)
    labels: dict[str, Label] = {}
    if (out / LABELS_FILE).exists():
        labels = load_labels(out / LABELS_FILE)

    def write_worlds(facts: Mapping[str, WorldFacts], discarded: Mapping[str, int] | None) -> None:
        said = settings if discarded is None else {**settings, "discarded": discarded}
        camera = {"horizontal_fov_deg": settings["fov_deg"], "heights_m": CAMERA_HEIGHTS_M}
        write_manifest(out, FORMAT, facts, said, camera)

    def keep(job: Job, value: Mapping[str, Any]) -> None:
        if "label" in value:
            labels[job.id] = value["label"]

    collected = drive(
        jobs,
        collect_scenario,
        out,
        workers=workers,
        on=on,
        place_of=lambda job: str(job.args["scene"]),
        write_worlds=write_worlds,
        progress=progress,
        keep=keep,
    )
    write_labels(out, labels)
    return collected


def count_target(out: Path, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Scenarios that `collect_target` would make with these options, and how many of them are done.

    settings: its options `scenes`, `per_scene`, `places`, `seed` and `size`, all of them, and `fov_deg` and `fps` where
    they are not the defaults. Writes nothing; raises what it raises.
    """
    whole = {"fov_deg": HORIZONTAL_FOV_DEG, "fps": FPS, **settings}
    jobs = _plan(Path(out), {**whole, "places": list(whole["places"]), "size": list(whole["size"])})
    return len(jobs), sum(_folder(job.args["out"], job.args["name"]).is_dir() for job in jobs)


@telling_full_disk
def collect_scenario(
    *,
    out: str,
    name: str,
    scene: str,
    place: Place,
    world: dict[str, Any],
    entropy: list[int],
    size: list[int],
    fov_deg: float,
    fps: int,
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """One scenario, in a worker. What is on disk already is walked again (cheap) but not rendered again.

    Returns {"world", "frames", "label", "discards"}, or "failure" in place of a label when no try led to a walk, or
    {"full"} when the disk is; plain JSON values.
    """
    here = _open(world["name"], tuple(sorted(world["params"].items())))
    value: dict[str, Any] = {"world": plain(here.facts)}
    camera = Camera.from_horizontal_fov(size[0], size[1], fov_deg)
    seed, scene_number, number = entropy
    rng = np.random.default_rng(entropy)
    try:
        order = _categories(here, [seed, scene_number], number)
        walk = record_target_walk(here, rng, place=place, categories=order, camera=camera, fps=fps)
    except TargetWalkFailedError as error:
        return {**value, "frames": 0, "discards": list(error.reasons), "failure": str(error)}
    if not _folder(out, name).is_dir():
        frames = render(here, walk.poses, camera, progress)
        write_scenario(Path(out), name, walk, frames, world=WorldFacts(**value["world"]), camera=camera, scene=scene)
    return {**value, "frames": len(walk), "label": walk.label, "discards": list(walk.discards)}


def _categories(world: Walkable, entropy: list[int], number: int) -> list[str]:
    """All categories of a world, in the order in which a scenario tries them; each of a scene begins elsewhere."""
    known = sorted({landmark.category for landmark in world.landmarks} - VAGUE)
    if not known:
        return []
    first = known[np.random.default_rng(entropy).permutation(len(known))[number % len(known)]]
    others = np.random.default_rng([*entropy, number]).permutation(len(known))
    rest = [known[n] for n in others if known[n] != first]
    return [first, *sorted(rest, key=lambda category: category in _EVERYWHERE)]


@lru_cache(maxsize=1)
def _open(name: str, params: tuple[tuple[str, Any], ...]) -> Walkable:
    return cast(Walkable, worlds.get(name)(**dict(params)))


def _folder(out: str, name: str) -> Path:
    return Path(out) / name


def _plan(out: Path, settings: Mapping[str, Any]) -> list[Job]:
    """One job a scenario, of options that can be meant and suit what is in `out` already."""
    _check_options(**settings)
    before = read_manifest(out, FORMAT)
    if before is not None:
        demand_same(out, before["settings"], settings, _FIXED)
    return list(_jobs(out, settings))


def _jobs(out: Path, settings: Mapping[str, Any]) -> Iterator[Job]:
    rows = (HISTORY_S + FUTURE_S) * settings["fps"]
    places = settings["places"]
    for scene in range(settings["scenes"]):
        place = places[scene % len(places)]
        for number in range(settings["per_scene"]):
            name = scenario_name(f"sample_{scene:03d}", number * rows, (number + 1) * rows - 1)
            args = {
                "out": str(out.absolute()),
                "name": name,
                "scene": f"sample_{scene:03d}",
                "place": place,
                "world": _world_of(place, scene // len(places), world_seed_of(settings["seed"], scene)),
                "entropy": [settings["seed"], scene, number],
                "size": settings["size"],
                "fov_deg": settings["fov_deg"],
                "fps": settings["fps"],
            }
            yield Job(name, f"{__name__}:collect_scenario", args, DEADLINE_S)


def _world_of(place: Place, number: int, seed: int) -> dict[str, Any]:
    """Name and arguments of the world of scene `number` of its place."""
    if place == "outdoors":
        return {"name": "voxel", "params": {"kind": KINDS[number % len(KINDS)], "seed": seed}}
    return {"name": "indoor", "params": {"seed": seed}}


def _check_options(
    scenes: int,
    per_scene: int,
    places: Sequence[str],
    seed: int,
    size: Sequence[int],
    fov_deg: float,
    fps: int,
) -> None:
    demand("scenes", scenes, 1 <= scenes <= _MAX_SCENES, f"1 to {_MAX_SCENES}")
    demand("per_scene", per_scene, 1 <= per_scene <= _MAX_PER_SCENE, f"1 to {_MAX_PER_SCENE}")
    demand("places", list(places), distinct(places, PLACES), f"different ones of {', '.join(PLACES)}")
    demand("seed", seed, 0 <= seed < SEEDS, f"0 to {SEEDS - 1}")
    usable = len(size) == 2 and min(size) >= 16 and not any(side % 2 for side in size)
    demand(
        "size", tuple(size), usable, "even width and height in pixels, 16 at least (the video format has no odd ones)"
    )
    demand("fov_deg", fov_deg, 20 <= fov_deg <= 150, "20 to 150 degrees")
    demand("fps", fps, 1 <= fps <= 60, "1 to 60")
