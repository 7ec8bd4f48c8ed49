"""Collecting MIND data in embedded worlds, in the published layout: clips, start images, paths, captions.

One job is one clip or one start image; all that is random in it comes from (seed, part, perspective, number). A clip is
done when its folder and its caption are in place, a start image when it and its side-car are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UnknownNameError, WorldError
from worldgauge.core.geometry import Camera
from worldgauge.core.io import write_file
from worldgauge.engine.collection.driving import (
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
)
from worldgauge.engine.collection.manifest import read_manifest, write_manifest
from worldgauge.engine.workers.pool import Job
from worldgauge.suites.mind.format.clip import Part, part_folder
from worldgauge.suites.mind.format.index import ACTIONS, IMAGES, SIDECAR, VIDEO
from worldgauge.suites.mind.format.layout import (
    PERSPECTIVES,
    Perspective,
    space_of,
    stored_poses,
    write_clip,
    write_mirror_actions,
    write_mirror_start,
)
from worldgauge.suites.mind.format.load import HORIZONTAL_FOV_DEG
from worldgauge.suites.mind.format.sidecar import read_sidecar
from worldgauge.suites.mind.walks.captions import caption
from worldgauge.suites.mind.walks.key_walks import KeyWalkFailedError, record_key_walk
from worldgauge.suites.mind.walks.mirror_starts import find_mirror_start
from worldgauge.suites.mind.walks.plan import COUNTS, Item, items
from worldgauge.worlds import open_world
from worldgauge.worlds.voxel.world import FAMILIES
from worldgauge.worlds.walking.floor import Walkable

FRAMES = 720
FORMAT = "mind"

_FRAMES = (6, 20_000)
_MAX_COUNT = 10_000
_FIXED = ("seed", "size", "frames", "families")


def collect_mind(
    out: Path,
    *,
    families: Sequence[str] = FAMILIES,
    perspectives: Sequence[Perspective] = PERSPECTIVES,
    train: int = 50,
    mem: int = 50,
    action_space: int = 25,
    mirror: int = 50,
    frames: int = FRAMES,
    seed: int = 42,
    workers: int = 1,
    on: str | None = None,
    size: tuple[int, int] = (640, 360),
    progress: Callable[[CollectProgress], None] | None = None,
) -> Collected:
    """Record clips and start images for each of `perspectives` into `out`, in MIND's layout, and a manifest.

    families: scenes are of these by turns. train, mem, action_space: clips; mirror: start images, which come with the
    files of the ten paths; the defaults are the published counts. frames: of a clip, the first third of them context.
    size: width and height in pixels. on: where the workers are, as for `engine.run.run`; what they print goes to
    `out`/logs. May be stopped at any moment and called again: what is done is kept, and the bytes are those of a run
    that was never stopped. It may be called again with higher counts or another perspective.
    Raises UsageError for options that cannot be meant, RunError when `out` was collected with another seed, size,
    number of frames or families, or the disk is full.
    """
    out = Path(out)
    settings = {
        "families": list(families),
        "perspectives": list(perspectives),
        "train": train,
        "mem": mem,
        "action_space": action_space,
        "mirror": mirror,
        "frames": frames,
        "seed": seed,
        "size": list(size),
    }
    jobs = _plan(out, settings)
    if mirror:
        for perspective in perspectives:
            write_mirror_actions(out, perspective)

    def write_worlds(facts: Mapping[str, WorldFacts], discarded: Mapping[str, int] | None) -> None:
        said = settings if discarded is None else {**settings, "discarded": discarded}
        write_manifest(out, FORMAT, facts, said, {"horizontal_fov_deg": HORIZONTAL_FOV_DEG})

    return drive(
        jobs,
        collect_item,
        out,
        workers=workers,
        on=on,
        place_of=lambda job: f"{job.args['perspective']}-{job.args['scene']}",
        write_worlds=write_worlds,
        progress=progress,
    )


def count_mind(out: Path, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Clips and start images that `collect_mind` would make with these options, and how many of them are done.

    settings: its options from `families` to `seed` and `size`, all of them. Writes nothing; raises what it raises.
    """
    lists = {name: list(settings[name]) for name in ("families", "perspectives", "size")}
    jobs = _plan(Path(out), {**settings, **lists})
    return len(jobs), sum(
        _is_done(Path(out), job.args["part"], job.args["perspective"], job.args["name"]) for job in jobs
    )


@telling_full_disk
def collect_item(
    *,
    out: str,
    part: Part,
    perspective: Perspective,
    name: str,
    family: str,
    scene: str,
    world: dict[str, Any],
    entropy: list[int],
    space: list[float],
    frames: int,
    size: list[int],
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """One clip or start image, in a worker; what is done already is only read.

    Returns {"world", "frames", "discards"} and "failure" when no try led to one, or {"full"} when the disk is; plain
    JSON values.
    """
    root = Path(out)
    length = 1 if part == "mirror_test" else frames
    if _is_done(root, part, perspective, name):
        car = read_sidecar(_sidecar(root, part, perspective, name))
        return {"world": plain(car.world), "frames": length, "discards": list(car.facts.get("discards", ()))}
    here = cast(Walkable, open_world(WorldFacts(world["name"], world["params"])))
    value: dict[str, Any] = {"world": plain(here.facts)}
    rng = np.random.default_rng(entropy)
    common: dict[str, Any] = {
        "perspective": perspective,
        "name": name,
        "world": WorldFacts(**value["world"]),
        "camera": (camera := Camera.from_horizontal_fov(size[0], size[1], HORIZONTAL_FOV_DEG)),
        "family": family,
    }
    keys = space_of(*space)
    facts: dict[str, Any] = {"scene": scene, "entropy": entropy, "discards": []}
    try:
        if part == "mirror_test":
            pose = find_mirror_start(here, rng, space=keys, perspective=perspective)
            image = next(render(here, pose[None], camera, progress))
            write_mirror_start(root, image=image, pose=pose, space=keys, facts=facts, **common)
        else:
            mark_time = frames // 3
            walk = record_key_walk(here, rng, frames=frames, mark_time=mark_time, space=keys, perspective=perspective)
            facts |= {"discards": list(walk.discards), "seen": walk.seen}
            # The caption first: a folder that is there is complete.
            _write_caption(root, name, caption(family, walk))
            seen = render(here, stored_poses(walk), camera, progress)
            write_clip(root, part=part, walk=walk, frames=seen, mark_time=mark_time, facts=facts, **common)
    except WorldError as error:
        reasons = error.reasons if isinstance(error, KeyWalkFailedError) else ()
        return {**value, "frames": 0, "discards": list(reasons), "failure": str(error)}
    return {**value, "frames": length, "discards": facts["discards"]}


def _write_caption(root: Path, name: str, text: str) -> None:
    path = _caption(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, text)


def _caption(root: Path, name: str) -> Path:
    return root / "description" / f"{name}.txt"


def _sidecar(root: Path, part: Part, perspective: Perspective, name: str) -> Path:
    folder = root / part_folder(perspective, part)
    return folder / f"{name}.{SIDECAR}" if part == "mirror_test" else folder / name / SIDECAR


def _is_done(root: Path, part: Part, perspective: Perspective, name: str) -> bool:
    folder = root / part_folder(perspective, part)
    files = [_sidecar(root, part, perspective, name)]
    if part == "mirror_test":
        files.append(folder / f"{name}.png")
    else:
        listed = [IMAGES] if part != "train" else []
        files += [_caption(root, name), *(folder / name / file for file in (ACTIONS, VIDEO, *listed))]
    return all(file.is_file() for file in files)


def _plan(out: Path, settings: Mapping[str, Any]) -> list[Job]:
    """One job an item, of options that can be meant and suit what is in `out` already."""
    _check_options(**settings)
    before = read_manifest(out, FORMAT)
    if before is not None:
        demand_same(out, before["settings"], settings, _FIXED)
    return [_job(out, item, settings) for item in items(settings)]


def _job(out: Path, item: Item, settings: Mapping[str, Any]) -> Job:
    args = {
        "out": str(out.absolute()),
        "part": item.part,
        "perspective": item.perspective,
        "name": item.name,
        "family": item.family,
        "scene": item.scene,
        "world": item.world,
        "entropy": list(item.entropy),
        "space": list(item.space),
        "frames": settings["frames"],
        "size": settings["size"],
    }
    return Job(item.id, f"{__name__}:collect_item", args, DEADLINE_S)


def _check_options(
    families: Sequence[str],
    perspectives: Sequence[str],
    train: int,
    mem: int,
    action_space: int,
    mirror: int,
    frames: int,
    seed: int,
    size: Sequence[int],
) -> None:
    for what, option, given, known in (
        ("family", "families", families, FAMILIES),
        ("perspective", "perspectives", perspectives, PERSPECTIVES),
    ):
        for name in given:
            if name not in known:
                raise UnknownNameError(what, name, known)
        demand(option, list(given), distinct(given, known), f"different ones of {', '.join(known)}")
    counts = dict(zip(COUNTS, (train, mem, action_space, mirror), strict=True))
    for option, count in counts.items():
        demand(option, count, 0 <= count <= _MAX_COUNT, f"0 to {_MAX_COUNT} a perspective")
    demand("train, mem, action_space and mirror", "0 all four", any(counts.values()), "at least one of them")
    demand("frames", frames, _FRAMES[0] <= frames <= _FRAMES[1], f"{_FRAMES[0]} to {_FRAMES[1]}")
    demand("seed", seed, 0 <= seed < SEEDS, f"0 to {SEEDS - 1}")
    usable = len(size) == 2 and min(size) >= 16 and max(size) <= 8192
    demand("size", tuple(size), usable, "width and height in pixels, 16 to 8192")
