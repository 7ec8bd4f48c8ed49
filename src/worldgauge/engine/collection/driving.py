"""What every collection shares: its jobs are run side by side, counted, and their worlds put into a manifest.

One job makes one item (a trajectory, a scenario) from its arguments alone and returns plain JSON values: "world" (facts
of its world) or "worlds" (of several, by name), "frames", "discards", and "failure" when no try led to one, or {"full"}
when the disk is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.engine.store import explain_full_disk
from worldgauge.engine.workers.pool import Job, Result
from worldgauge.engine.workers.site import open_site
from worldgauge.engine.workers.worker import one_line
from worldgauge.worlds import World

DEADLINE_S = 600.0
"""Seconds without a frame after which a job is given up."""
SEEDS = 2**32

Work = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class CollectProgress:
    """How far a collection is: items done of total, frames of those, failures, the last item."""

    done: int
    total: int
    frames: int
    failed: int
    last: str


@dataclass(frozen=True)
class Collected:
    """What a collection holds in the end. discarded: tries thrown away, by reason. failures: one line each."""

    root: Path
    trajectories: int
    frames: int
    discarded: Mapping[str, int]
    failures: tuple[str, ...]


def drive(
    jobs: Sequence[Job],
    work: Work,
    out: Path,
    *,
    workers: int,
    on: str | None,
    place_of: Callable[[Job], str],
    write_worlds: Callable[[Mapping[str, WorldFacts], Mapping[str, int] | None], object],
    progress: Callable[[CollectProgress], None] | None,
    keep: Callable[[Job, Mapping[str, Any]], None] = lambda job, value: None,
) -> Collected:
    """Run all jobs, which call `work`, and keep the manifest up to date.

    place_of: name of the world of a job. write_worlds: writes the manifest, of the worlds by name that have come up,
    and in the end of the discards by reason. keep: called with what each job returned.
    Raises RunError when the disk is full, and what `open_site` raises.
    """
    discards: Counter[str] = Counter()
    failures: list[str] = []
    frames = done = 0
    worlds: dict[str, WorldFacts] = {}
    by_id = {job.id: job for job in jobs}
    with closing(_run(jobs, work, out, workers, on)) as results:
        for result in results:
            value = result.value or {}
            if "full" in value:
                raise RunError(value["full"])
            discards.update(value.get("discards", ()))
            failure = result.error or value.get("failure")
            if failure:
                failures.append(f"{result.id}: {failure}")
            frames += value.get("frames", 0)
            job = by_id[result.id]
            keep(job, value)
            told = value.get("worlds") or ({place_of(job): value["world"]} if "world" in value else {})
            if new := {name: WorldFacts(**facts) for name, facts in told.items() if name not in worlds}:
                worlds.update(new)
                write_worlds(worlds, None)
            done += 1
            if progress is not None:
                progress(CollectProgress(done, len(jobs), frames, len(failures), result.id))
    discarded = dict(sorted(discards.items()))
    write_worlds(worlds, discarded)
    return Collected(out, done - len(failures), frames, discarded, tuple(sorted(failures)))


@contextmanager
def ending_on_full_disk() -> Iterator[None]:
    """Raises RunError, with what to do, where the disk is full within; every other error passes."""
    try:
        yield
    except (DataError, OSError) as error:
        if (full := explain_full_disk(error)) is not None:
            raise RunError(full) from error
        raise


def telling_full_disk(work: Work) -> Work:
    """`work`, returning {"full"} where the disk is full; every other error passes."""

    @wraps(work)
    def told(**given: Any) -> dict[str, Any]:
        try:
            return work(**given)
        except Exception as error:
            if (full := explain_full_disk(error)) is not None:
                return {"full": full}
            raise

    return told


def render(
    world: World, poses: FloatArray, camera: Camera, progress: Callable[[int, int], None]
) -> Iterator[NDArray[np.uint8]]:
    """What `camera` sees of `world` from poses (T, 4, 4), one frame (H, W, 3) each; progress: frames done, of all."""
    for number, pose in enumerate(poses):
        progress(number, len(poses))
        yield world.view(pose, camera).rgb


def plain(facts: WorldFacts) -> dict[str, Any]:
    """Facts of a world as plain JSON values, from which `WorldFacts` are made again."""
    params = {key: list(value) if isinstance(value, tuple) else value for key, value in facts.params.items()}
    return {"name": facts.name, "params": params, "digest": facts.digest}


def world_seed_of(seed: int, place: int) -> int:
    """Seed of the world of settlement or scene number `place` in a collection with `seed`."""
    return int(np.random.SeedSequence([seed, place]).generate_state(1)[0])


def demand(name: str, given: object, fine: bool, rule: str) -> None:
    """Raises UsageError unless an option is `fine`; rule: what to give."""
    if not fine:
        raise UsageError(f"{name} is {given}: give {rule}")


def distinct(given: Sequence[Any], known: Sequence[Any]) -> bool:
    """Whether there is something given, all of it known and nothing twice."""
    return 0 < len(given) == len(set(given)) and all(one in known for one in given)


def demand_same(out: Path, before: Mapping[str, Any], settings: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raises RunError where `out` was collected with another value of one of `names`, on which its files depend."""
    for name in names:
        if before.get(name) != settings[name]:
            raise RunError(
                f"{out} was collected with {name} {before.get(name)}, not {settings[name]}: collect into another folder"
            )


def _run(jobs: Iterable[Job], work: Work, out: Path, workers: int, on: str | None) -> Generator[Result]:
    """Results as they come; a single worker on this machine is this process itself."""
    if workers != 1 or on not in (None, "local"):
        with open_site(on, logs=out / "logs", shared=[out]) as site, site.pool(workers) as pool:
            yield from pool.run(jobs)
        return
    for job in jobs:
        try:
            yield Result(job.id, work(**job.args, progress=lambda done, total: None))
        except Exception as error:
            yield Result(job.id, error=one_line(error))
