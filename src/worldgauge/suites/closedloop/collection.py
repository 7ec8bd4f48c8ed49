"""Collecting episodes of the closed loop: recognition, image-goal navigation, questions in homes, trials at a table.

One job is one home, or one table task; all that is random in it comes from (seed, split, home or task, kind). It is
done when its file lies in the folder `parts`, which comes last; the published files are made of all parts in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import RunError, UnknownNameError
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
    telling_full_disk,
)
from worldgauge.engine.collection.manifest import read_manifest, write_manifest
from worldgauge.engine.workers.pool import Job
from worldgauge.suites.closedloop.episodes.home import find_part
from worldgauge.suites.closedloop.episodes.parts import found_in, publish, read_part, write_part
from worldgauge.suites.closedloop.episodes.plan import SCENES, TableShare, parts
from worldgauge.suites.closedloop.episodes.table import find_trials
from worldgauge.suites.closedloop.format.check import PUBLISHED
from worldgauge.suites.closedloop.format.episode import KINDS, Kind
from worldgauge.suites.closedloop.format.scenes import MANIFEST_FORMAT
from worldgauge.worlds.indoor.splits import SPLITS
from worldgauge.worlds.tabletop.world import check_engine
from worldgauge.worlds.walking.walker import EYE_HEIGHT_M

PANORAMA = (1024, 576)
"""Width and height of a goal image (specification, section 4)."""

_FIXED = ("seed", "split", "scenes", "size")
_MAX_SCENES, _MAX_COUNT = 1000, 20_000


def collect_closedloop(
    out: Path,
    *,
    kinds: Sequence[Kind] = KINDS,
    scenes: int = SCENES,
    recognition: int = PUBLISHED["recognition"],
    navigation: int = PUBLISHED["navigation"],
    questions: int = PUBLISHED["questions"],
    manipulation: int = PUBLISHED["manipulation"],
    split: str = "test",
    seed: int = 42,
    workers: int = 1,
    on: str | None = None,
    panorama: tuple[int, int] = PANORAMA,
    progress: Callable[[CollectProgress], None] | None = None,
) -> Collected:
    """Find episodes of `kinds` in the first `scenes` homes of a split, spread evenly, and write them into `out`.

    recognition, navigation, questions: episodes in all. manipulation: trials at the table, in all; they need no home
    but the extra `manipulation`. panorama: goal images, width and height in pixels. on: where the workers are, as
    for `engine.run.run`; what they print goes to `out`/logs. Progress counts episodes.
    May be stopped at any moment and called again: what is done is kept, and the bytes are those of a run that was never
    stopped. It may be called again with higher counts; episodes that are there keep their names and stay as they are.
    Raises UsageError for options that cannot be meant, MissingExtraError for trials without their extra, RunError when
    `out` was collected with another seed, split, number of scenes or size or with higher counts, or the disk is full.
    """
    out = Path(out)
    asked: dict[Kind, int] = {
        "recognition": recognition,
        "navigation": navigation,
        "questions": questions,
        "manipulation": manipulation,
    }
    settings: dict[str, Any] = {
        **{str(kind): number if kind in kinds else 0 for kind, number in asked.items()},
        "scenes": scenes,
        "split": split,
        "seed": seed,
        "size": list(panorama),
    }
    demand("kinds", list(kinds), distinct(kinds, KINDS), f"different ones of {', '.join(KINDS)}")
    jobs = _plan(out, settings)
    if settings["manipulation"]:
        check_engine("leave it out with --manipulation 0")
    total, found = sum(settings[kind] for kind in KINDS), 0

    def write_worlds(facts: Mapping[str, WorldFacts], discarded: Mapping[str, int] | None) -> None:
        said = settings if discarded is None else {**settings, "discarded": discarded}
        camera = {"height_m": EYE_HEIGHT_M, "goal_image": {"projection": "equirectangular", "size": list(panorama)}}
        write_manifest(out, MANIFEST_FORMAT, facts, said, camera)

    def keep(job: Job, value: Mapping[str, Any]) -> None:
        nonlocal found
        found += value.get("episodes", 0)

    def tell(step: CollectProgress) -> None:
        assert progress is not None
        progress(replace(step, done=found, total=total))

    with ending_on_full_disk():
        # The settings come first: parts of a run that was stopped must not be taken for those of another.
        write_worlds({}, None)
        collected = drive(
            jobs,
            collect_part,
            out,
            workers=workers,
            on=on,
            place_of=lambda job: str(job.args["scene"]),
            write_worlds=write_worlds,
            progress=None if progress is None else tell,
            keep=keep,
        )
        publish(out, settings)
    return replace(collected, trajectories=found)


def count_closedloop(out: Path, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Episodes that `collect_closedloop` would find with these options, and how many of them are there already.

    settings: its options `scenes`, `recognition`, `navigation`, `questions`, `manipulation`, `split`, `seed` and
    `panorama`, all of them. Writes nothing; raises what it raises.
    """
    named = {name: settings[name] for name in (*KINDS, "scenes", "split", "seed")}
    named["size"] = list(settings["panorama"])
    _plan(Path(out), named)
    done = (read_part(Path(out), share) for share in parts(named))
    return sum(named[kind] for kind in KINDS), sum(found_in(part) for part in done if part is not None)


@telling_full_disk
def collect_part(
    *, out: str, scene: str, settings: dict[str, Any], progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """All episodes of one home, or all trials of one table task, in a worker; what is done already is only read.

    Returns {"world" or "worlds", "frames", "episodes", "discards"}, with the number of episodes, and "failure" where
    some were not found, or {"full"} when the disk is; plain JSON values.
    """
    share = next(one for one in parts(settings) if one.scene == scene)
    part = read_part(Path(out), share)
    if part is None:
        if isinstance(share, TableShare):
            part = find_trials(share, progress)
        else:
            part = find_part(Path(out), share, settings["size"], progress)
        write_part(Path(out), share, part)
    value = {name: part[name] for name in ("world", "worlds", "discards", "failure") if part.get(name) is not None}
    return {**value, "frames": len(part["episodes"].get("navigation", ())), "episodes": found_in(part)}


def _plan(out: Path, settings: Mapping[str, Any]) -> list[Job]:
    """One job a home, of options that can be meant and suit what is in `out` already."""
    _check_options(settings)
    before = read_manifest(out, MANIFEST_FORMAT)
    if before is not None:
        demand_same(out, before["settings"], settings, _FIXED)
        for kind in KINDS:
            had = before["settings"].get(kind, 0)
            if had > settings[kind]:
                raise RunError(f"{out} has {had} of {kind}, not {settings[kind]}: collect into another folder")
    given = {"settings": dict(settings), "out": str(out.absolute())}
    call = f"{__name__}:collect_part"
    return [Job(share.scene, call, {**given, "scene": share.scene}, DEADLINE_S) for share in parts(settings)]


def _check_options(settings: Mapping[str, Any]) -> None:
    for kind in KINDS:
        demand(kind, settings[kind], 0 <= settings[kind] <= _MAX_COUNT, f"0 to {_MAX_COUNT}")
    demand(" and ".join(KINDS), "0 all four", any(settings[kind] for kind in KINDS), "at least one of them")
    demand("scenes", settings["scenes"], 1 <= settings["scenes"] <= _MAX_SCENES, f"1 to {_MAX_SCENES}")
    if settings["split"] not in SPLITS:
        raise UnknownNameError("split", settings["split"], SPLITS)
    demand("seed", settings["seed"], 0 <= settings["seed"] < SEEDS, f"0 to {SEEDS - 1}")
    size = settings["size"]
    usable = len(size) == 2 and min(size) >= 16 and max(size) <= 8192
    demand("size", tuple(size), usable, "width and height in pixels, 16 to 8192")
