"""Collect items in parallel, resume a stopped collection, and record the worlds in the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.image import Image
from worldgauge.core.user_modules import import_located, locate_module
from worldgauge.engine.collection import Collection, Item, Made, Tell, collections
from worldgauge.engine.options import options_of, plain
from worldgauge.engine.store import explain_full_disk
from worldgauge.engine.workers.pool import Job, JobResult
from worldgauge.engine.workers.site import open_site
from worldgauge.engine.workers.worker import one_line
from worldgauge.worlds import View, World
from worldgauge.worlds.gpu.batch import Batched, open_device

SEEDS = 2**32
"""Upper bound of the seeds of a collection, excluded."""
PROCESSOR = "processor"
"""In `drawn_on` of a manifest: the processor's camera."""


@dataclass(frozen=True)
class CollectProgress:
    """Progress of a collection."""

    done: int
    total: int
    frames: int
    failed: int
    last: str


@dataclass(frozen=True)
class Collected:
    """What a collection holds at the end.

    Attributes:
        root: Folder of the data set.
        items: Number of things that were made now or were there already.
        frames: Their frames.
        discarded: Number of tries thrown away, by reason.
        failures: Why items are missing, one line each.
        notes: What a user should know of it, one line each.

    Examples:
        >>> wg.collect("targetbench", "walks", scenes=1, per_scene=1, size=(64, 36)).items
        1
    """

    root: Path
    items: int
    frames: int
    discarded: Mapping[str, int]
    failures: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __fspath__(self) -> str:
        """Path of the data set: `run` takes what `collect` returns as its data."""
        return str(self.root)


def open_collection(name: str, out: Path, options: Mapping[str, Any]) -> Collection:
    """A collection with its checked options."""
    kind = collections.get(name)
    made = kind(Path(out), options_of(kind.Options, name, options, noun="option"))
    made.check_options()
    return made


def collect(
    name: str,
    out: Path | str,
    *,
    workers: int = 1,
    on: str | None = None,
    device: str | None = None,
    progress: Callable[[CollectProgress], None] | None = None,
    **options: Any,
) -> Collected:
    """Make a data set, or continue one.

    It may be stopped at any moment and called again. What is done is kept, and the bytes are the same as without a
    stop, for any number of workers.

    Args:
        name: Name of the collection, or "./file.py:Class" or "package.module:Class".
        out: Folder of the data set.
        workers: Number of parallel processes.
        on: Where the workers run, as for `engine.run.run`. Their output goes to the folder `logs` in `out`. A single
            worker is this process itself, but a child where "local" is given.
        device: Where frames are drawn in batches: "cuda", "cuda:1", or "cpu" for the same kernels on the processor
            (extra `gpu`). By default the processor draws them one by one. The manifest says which, as `drawn_on`.
        progress: Called after every item.
        **options: Fields of the `Options` of the collection.

    Returns:
        What the folder then holds.

    Raises:
        MissingExtraError: For a device where Warp is not installed.
        UsageError: For options out of bounds, or that do not go together; for a device that is not here.
        RunError: When `out` was collected with other options that its files depend on, or the disk is full.

    Examples:
        >>> small = {"perspectives": ("1st",), "train": 0, "mem": 2, "action_space": 0, "mirror": 0, "frames": 72}
        >>> wg.collect("mind", "data", size=(64, 36), **small).frames
        144
    """
    collection = open_collection(collections.named(name).name, Path(out), options)
    return complete(collection, workers=workers, on=on, device=device, progress=progress)


def complete(
    collection: Collection,
    *,
    workers: int = 1,
    on: str | None = None,
    device: str | None = None,
    progress: Callable[[CollectProgress], None] | None = None,
) -> Collected:
    """Make what the folder of a collection lacks; arguments and errors are those of `collect`."""
    collection.device = device
    _check_device(collection, local=on in (None, "local"))
    if collection.max_workers is not None and workers > collection.max_workers:
        raise UsageError(f"workers is {workers}: give at most {collection.max_workers} with these options")
    collection.check_same()
    items = list(collection.items())
    try:
        with ending_on_full_disk():
            collection.begin(local=on in (None, "local"))
            settings = {**collection.settings(), **_drawn_on(collection)}
            if collection.settings_first:
                collection.write_manifest({}, settings)
            made, collected = _make_all(collection, items, settings, workers, on, progress)
            collection.write_manifest(_worlds_of(items, made), {**settings, "discarded": collected.discarded})
            collection.finish(made)
        return replace(collected, notes=tuple(collection.notes(made)))
    finally:
        collection.close()


def count(name: str, out: Path | str, **options: Any) -> tuple[int, int]:
    """The number of things that `collect` would make, and how many of them are complete. Nothing is written."""
    collection = open_collection(name, Path(out), options)
    collection.check_same()
    return collection.expected(), collection.done()


def make_item(
    *,
    collection: str,
    home: str,
    out: str,
    options: dict[str, Any],
    item: dict[str, Any],
    device: str | None,
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """Job of the pool: make one item, and return `Made` as JSON values, or {"full": message} when the disk is full."""
    import_located(home, f"collection '{collection}'")
    try:
        opened = open_collection(collection, Path(out), options)
        opened.device = device
        made = opened.make(Item(**item), progress)
    except Exception as error:
        if (full := explain_full_disk(error)) is not None:
            return {"full": full}
        raise
    return {
        **asdict(made),
        "world": None if made.world is None else plain_facts(made.world),
        "worlds": {name: plain_facts(facts) for name, facts in made.worlds.items()},
    }


@contextmanager
def ending_on_full_disk() -> Iterator[None]:
    """Context in which a full disk becomes a RunError with advice. Every other error passes unchanged."""
    try:
        yield
    except (DataError, OSError) as error:
        if (full := explain_full_disk(error)) is not None:
            raise RunError(full) from error
        raise


def plain_facts(facts: WorldFacts) -> dict[str, Any]:
    """Facts of a world as plain JSON values, from which `WorldFacts` can be made again.

    Examples:
        >>> plain_facts(WorldFacts("voxel", {"kind": "plains", "size": (160, 160, 56)}))
        {'name': 'voxel', 'params': {'kind': 'plains', 'size': [160, 160, 56]}, 'digest': None}
    """
    params = {key: list(value) if isinstance(value, tuple) else value for key, value in facts.params.items()}
    return {"name": facts.name, "params": params, "digest": facts.digest}


def world_seed_of(seed: int, place: int, split: str = "test") -> int:
    """Seed of one world of a collection. No two splits share a seed.

    Args:
        seed: Seed of the collection.
        place: Number of the settlement or scene.
        split: "test" has the seeds of 32 bits; "train" and "val" have ranges above them.

    Examples:
        >>> world_seed_of(1, place=2)
        1596810411
        >>> world_seed_of(1, place=2, split="train") - world_seed_of(1, place=2) == 2**32
        True
    """
    return int(np.random.SeedSequence([seed, place]).generate_state(1)[0]) + _FIRST_SEEDS[split]


_FIRST_SEEDS = {"test": 0, "train": SEEDS, "val": 2 * SEEDS}


def _check_device(collection: Collection, *, local: bool) -> None:
    """Raise what is wrong with a device before the first item."""
    device = collection.device
    if device is None:
        return
    if not collection.batched:
        raise UsageError(f"collection '{collection.name}' is rendered on the CPU: leave --device out")
    if not local:
        raise UsageError(f"device '{device}': only workers of this machine draw on one; leave --on or --device out")
    open_device(device)


def _drawn_on(collection: Collection) -> dict[str, list[str]]:
    """What the manifest says of the devices that have drawn a folder; nothing where all is the processor's."""
    device = collection.device
    before = collection.manifest()
    devices = set() if before is None else set(before.get("drawn_on", [PROCESSOR]))
    if device is None and devices <= {PROCESSOR}:
        return {}
    if collection.done() < collection.expected():
        devices.add(device or PROCESSOR)
    return {} if devices <= {PROCESSOR} else {"drawn_on": sorted(devices)}


def _make_all(
    collection: Collection,
    items: list[Item],
    settings: Mapping[str, Any],
    workers: int,
    on: str | None,
    progress: Callable[[CollectProgress], None] | None,
) -> tuple[dict[str, Made], Collected]:
    """Make all items, and keep the manifest up to date; raises RunError when the disk is full."""
    discards: Counter[str] = Counter()
    failures: list[str] = []
    made: dict[str, Made] = {}
    known: dict[str, WorldFacts] = {}
    places = {item.id: item.place for item in items}
    total, frames, done, ended = collection.expected(), 0, 0, 0
    counts_items = total == len(items)
    with closing(_results(collection, items, workers, on)) as results:
        for result in results:
            value = result.value or {}
            if "full" in value:
                raise RunError(value["full"])
            one = _made_of(value) if value else Made(failure=result.error)
            made[result.id] = one
            discards.update(one.discards)
            if one.failure:
                failures.append(f"{result.id}: {one.failure}")
            frames, done, ended = frames + one.frames, done + collection.count_of(one), ended + 1
            new = {name: facts for name, facts in _named(one, places[result.id]) if name not in known}
            if new:
                known |= new
                collection.write_manifest(known, settings)
            if progress is not None:
                shown = ended if counts_items else done
                progress(CollectProgress(shown, total, frames, len(failures), result.id))
    found = Collected(collection.out, done, frames, dict(sorted(discards.items())), tuple(sorted(failures)))
    return made, found


def _results(collection: Collection, items: list[Item], workers: int, on: str | None) -> Generator[JobResult]:
    """Results as they come; see `collect`."""
    home = locate_module(type(collection).__module__)
    if home is None:
        raise UsageError(
            f"collection '{collection.name}' is in no file that workers could import; put it into a module"
        )
    args = {
        "collection": collection.name,
        "home": home,
        "out": str(collection.out.absolute()),
        "options": plain(collection.options),
        "device": collection.device,
    }
    jobs = [
        Job(item.id, f"{__name__}:make_item", {**args, "item": asdict(item)}, collection.deadline_s) for item in items
    ]
    if workers != 1 or on is not None:
        logs, shared = collection.out / "logs", [collection.out]
        with open_site(on, logs=logs, shared=shared, device=collection.device) as site, site.pool(workers) as pool:
            yield from pool.run(jobs)
        return
    for job in jobs:
        try:
            yield JobResult(job.id, make_item(**job.args, progress=lambda done, total: None))
        except Exception as error:
            yield JobResult(job.id, error=one_line(error))


def _made_of(value: Mapping[str, Any]) -> Made:
    world = value["world"]
    return Made(
        value["frames"],
        None if world is None else WorldFacts(**world),
        {name: WorldFacts(**facts) for name, facts in value["worlds"].items()},
        tuple(value["discards"]),
        value["failure"],
        value["facts"],
    )


def _named(made: Made, place: str) -> Iterator[tuple[str, WorldFacts]]:
    """The worlds of an item by the names that the manifest gives them."""
    yield from made.worlds.items()
    if made.world is not None:
        yield place, made.world


def _worlds_of(items: list[Item], made: Mapping[str, Made]) -> dict[str, WorldFacts]:
    places = {item.id: item.place for item in items}
    return {name: facts for id, one in made.items() for name, facts in _named(one, places[id])}


_BATCH = 64
_BATCH_PIXELS = 2**24
"""A batch holds at most so many pixels: 184 MB of colour, depth and labels."""


def render(
    world: World, poses: FloatArray, camera: Camera | Panorama, progress: Tell, device: str | None = None
) -> Iterator[Image]:
    """Render the colours that a camera sees from each pose.

    Args:
        world: The world.
        poses: Camera-to-world poses, (T, 4, 4), in metres.
        camera: The camera.
        progress: Called with the number of frames done and the total.
        device: As for `views`.

    Yields:
        One image per pose, (H, W, 3) uint8.

    Raises:
        UsageError: As `views`.

    Examples:
        >>> room = worlds.get("room")(walk="curve", seed=1)
        >>> poses = pose_from_yaw_pitch([6, 8, 1.6], np.radians([0, 90]))
        >>> frames = list(render(room, poses, Camera.from_horizontal_fov(8, 6, 90), progress=lambda done, total: None))
        >>> len(frames), frames[0].shape
        (2, (6, 8, 3))
    """
    for view in views(world, poses, camera, progress, device):
        yield view.rgb


def views(
    world: World, poses: FloatArray, camera: Camera | Panorama, progress: Tell, device: str | None = None
) -> Iterator[View]:
    """Render what a camera sees from each camera-to-world pose (T, 4, 4)."""
    if device is None:
        for number, pose in enumerate(poses):
            progress(number, len(poses))
            yield world.view(pose, camera)
        return
    if not isinstance(world, Batched):
        raise UsageError(f"world '{world.facts.name}' is rendered on the CPU only: leave --device out")
    size = max(1, min(_BATCH, _BATCH_PIXELS // (camera.width * camera.height)))
    with ThreadPoolExecutor(1) as ahead:
        batch = ahead.submit(world.views, poses[:size], camera, device=device)
        for start in range(0, len(poses), size):
            seen = batch.result()
            if start + size < len(poses):
                batch = ahead.submit(world.views, poses[start + size : start + 2 * size], camera, device=device)
            for place in range(len(seen.rgb)):
                progress(start + place, len(poses))
                yield View(seen.rgb[place], seen.depth[place], seen.category[place], seen.instance[place])
