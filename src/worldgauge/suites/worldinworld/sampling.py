"""Collecting the tasks in homes: which home holds which episodes, and finding all episodes of one home.

Episode k of a task is in home k mod the number of homes. So names, homes and wishes do not depend on how many are asked
for, and the numbers of any two homes differ by one at most.
"""

from __future__ import annotations

import shutil
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np

from worldgauge.core.geometry import Panorama
from worldgauge.core.io import dumps, loads, write_file
from worldgauge.engine.collect import plain_facts
from worldgauge.suites.worldinworld.format.contract import EpisodeFacts, EpisodeSampler, Progress, Share, part_folder
from worldgauge.suites.worldinworld.task import closed_loop_tasks, task_names
from worldgauge.worlds import World, open_world
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import SPLITS, scene_name, world_of
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.scan.sources import scan_facts
from worldgauge.worlds.walking.floor import Walkable
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.ground import Ground, Level, ground_of


class PlaceSampler(EpisodeSampler):
    """Collects the episodes of a task that is played in one place, such as a home."""

    id_form: ClassVar[str]
    in_scans: ClassVar[bool] = False

    def id_of(self, facts: EpisodeFacts) -> str:
        """Id of an episode."""
        return self.id_form.format(facts["number"])

    @abstractmethod
    def search(self, search: HomeSearch) -> Iterator[dict[str, Any]]:
        """The episodes of one place, plain JSON values without their numbers; fewer where no more are found."""

    def keep_pictures(self, search: HomeSearch, facts: EpisodeFacts) -> None:
        """Take the pictures of an episode that was found."""


class HomeSampler(PlaceSampler):
    """One that collects in any home: a home is one part of it, with those of other tasks."""


@dataclass(frozen=True)
class HomeShare:
    """The episodes that are to be found in one home."""

    scene: str
    split: str
    home: int
    homes: int
    seed: int
    counts: Mapping[str, int]

    def numbers(self, kind: str) -> range:
        """Numbers of its episodes of a task, in the whole collection."""
        return range(self.home, self.home + self.counts[kind] * self.homes, self.homes)

    def rng(self, kind: str) -> np.random.Generator:
        """Source of all randomness in its episodes of a task."""
        place = closed_loop_tasks.get(kind).order - 1
        return np.random.default_rng([self.seed, SPLITS.index(self.split), self.home, place])

    def find(self, out: Path, settings: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """All episodes of the home; those not found are missing."""
        home = cast(Home, open_world(world_of(self.scene)))
        search = HomeSearch(out, self, home, Level(home.floor), settings, Counter())
        done = count(1)
        rows = {sampler.kind: found_in(sampler, search, progress, done) for sampler in home_samplers()}
        return self._part(search, rows)

    def _part(
        self, search: HomeSearch, rows: Mapping[str, Sequence[Mapping[str, Any]]], note: str = ""
    ) -> dict[str, Any]:
        counts = self.counts
        short = [f"{len(own)} of {counts[kind]} {kind}" for kind, own in rows.items() if len(own) < counts[kind]]
        return {
            "world": plain_facts(search.world.facts),
            "asked": dict(counts),
            "episodes": rows,
            "discards": dict(sorted(search.discards.items())),
            "failure": f"only {', '.join(short)} found{note}" if short else None,
        }


@dataclass(frozen=True)
class HomeSearch:
    """Where episodes are found."""

    out: Path
    share: HomeShare
    world: World
    ground: Ground
    settings: Mapping[str, Any]
    discards: Counter[str]

    @property
    def panorama(self) -> Panorama:
        """Camera of pictures all around."""
        return Panorama(*self.settings["size"])

    @property
    def home(self) -> Home:
        """The home; of samplers that are not asked elsewhere."""
        assert isinstance(self.world, Home)
        return self.world

    @property
    def geodesic(self) -> Geodesic:
        """Distances on the floor of the home."""
        assert isinstance(self.ground, Level)
        return self.ground.geodesic


def samplers() -> list[EpisodeSampler]:
    """Those of all tasks, in the order of tables."""
    return [closed_loop_tasks.get(name).sampler for name in task_names()]


def home_samplers() -> list[HomeSampler]:
    """Those of tasks in homes."""
    return [one for one in samplers() if isinstance(one, HomeSampler)]


def home_shares(settings: Mapping[str, Any]) -> Iterator[HomeShare]:
    """The shares of all homes that have any episodes."""
    homes = settings["scenes"]
    kinds = [sampler.kind for sampler in home_samplers()]
    for home in range(homes):
        counts = {kind: len(range(home, settings[kind], homes)) for kind in kinds}
        if any(counts.values()):
            scene = scene_name(settings["split"], home)
            yield HomeShare(scene, settings["split"], home, homes, settings["seed"], counts)


def by_number(found: Sequence[tuple[Share, EpisodeFacts]]) -> list[tuple[Share, EpisodeFacts]]:
    """The episodes of all homes in the order of their numbers."""
    return sorted(found, key=lambda one: int(one[1]["number"]))


def found_in(
    sampler: PlaceSampler, search: HomeSearch, progress: Progress, done: Iterator[int]
) -> list[dict[str, Any]]:
    """The episodes of a task in one place, with their pictures in place; fewer where no more are found."""
    share, own = search.share, list[dict[str, Any]]()
    found = sampler.search(search) if share.counts[sampler.kind] else iter(())
    for number, facts in zip(share.numbers(sampler.kind), found, strict=False):
        own.append({"number": number, **facts})
        sampler.keep_pictures(search, own[-1])
        progress(next(done), sum(share.counts.values()))
    return own


@dataclass(frozen=True)
class ScanShare(HomeShare):
    """The episodes that are to be found in one scan."""

    key: str = ""

    def rng(self, kind: str) -> np.random.Generator:
        """Source of all randomness in its episodes of a task: it depends on the key, not on the scans beside it."""
        return np.random.default_rng([self.seed, *self.key.encode(), *kind.encode()])

    def find(self, out: Path, settings: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """All episodes of the scan; those not found are missing."""
        world = cast(Scan, open_world(scan_facts(self.key)))
        search = HomeSearch(out, self, world, ground_of(cast(Walkable, world)), settings, Counter())
        rows = {one.kind: found_in(one, search, progress, count(1)) for one in scan_samplers()}
        return self._part(search, rows, "" if world.landmarks else "; nothing in it is named")


def scan_samplers() -> list[PlaceSampler]:
    """Those whose place may be a scan."""
    return [one for one in samplers() if isinstance(one, PlaceSampler) and one.in_scans]


def scan_shares(settings: Mapping[str, Any]) -> Iterator[ScanShare]:
    """The shares of all scans that have any episodes."""
    keys = settings["scenes"].split(",")
    for number, key in enumerate(keys):
        counts = {one.kind: len(range(number, settings[one.kind], len(keys))) for one in scan_samplers()}
        if any(counts.values()):
            scene = key.replace("/", "_")
            yield ScanShare(scene, settings["split"], number, len(keys), settings["seed"], counts, key)


def all_shares(settings: Mapping[str, Any]) -> Iterator[Share]:
    """The shares of all homes or scans, then those that are of one task."""
    if settings.get("world") == "scan":
        yield from scan_shares(settings)
        return
    yield from home_shares(settings)
    for sampler in samplers():
        yield from sampler.shares(settings)


def read_part(out: Path, share: Share) -> dict[str, Any] | None:
    """What was found for a share; None when it is still to be done, or was done for other counts."""
    try:
        part = loads(_path(out, share).read_text(encoding="utf-8"))
        if _some(part["asked"]) != _some(share.counts):
            return None
        kept = all(
            sampler.is_kept(out, share, facts)
            for sampler in samplers()
            for facts in part["episodes"].get(sampler.kind, ())
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return part if kept else None


def write_part(out: Path, share: Share, part: Mapping[str, Any]) -> None:
    """Put a part in place; its share is then done."""
    write_file(_path(out, share), dumps(part) + "\n")


def episodes_in(part: Mapping[str, Any]) -> int:
    """Episodes of a part."""
    return sum(map(len, part["episodes"].values()))


def pictures_in(part: Mapping[str, Any]) -> int:
    """Pictures of a part."""
    return sum(one.pictures * len(part["episodes"].get(one.kind, ())) for one in samplers())


def publish(out: Path, settings: Mapping[str, Any], shares: Sequence[Share]) -> None:
    """Write the published files of all parts; pictures are moved into theirs."""
    parts = [(share, part) for share in shares if (part := read_part(out, share)) is not None]
    for sampler in samplers():
        if settings[sampler.kind]:
            own = [(share, facts) for share, part in parts for facts in part["episodes"].get(sampler.kind, ())]
            sampler.publish(out, own)
    for share, _ in parts:
        shutil.rmtree(part_folder(out, share), ignore_errors=True)


def _some(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts without zeros: a task of which nothing is asked, and one that is not known, are the same."""
    return {name: count for name, count in counts.items() if count}


def _path(out: Path, share: Share) -> Path:
    folder = part_folder(out, share)
    return folder.with_name(f"{folder.name}.json")
