"""Collecting the tasks of a walker in scans: one part is one scan. Episode k is in scan k mod the number of scans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, cast

import numpy as np

from worldgauge.engine.collection.kernel import plain_facts
from worldgauge.suites.closedloop.sampling.contract import Progress
from worldgauge.suites.closedloop.sampling.home import HomeSearch, HomeShare, PlaceSampler, found_in
from worldgauge.suites.closedloop.task import closed_loop_tasks, task_names
from worldgauge.worlds import open_world
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.scan.collecting import scan_facts
from worldgauge.worlds.walking.floor import Walkable
from worldgauge.worlds.walking.ground import ground_of


@dataclass(frozen=True)
class ScanShare(HomeShare):
    """The episodes that are to be found in one scan.

    Attributes:
        key: Key of the scan.
    """

    key: str = ""

    def rng(self, kind: str) -> np.random.Generator:
        """Source of all randomness in its episodes of a task: it depends on the key, not on the scans beside it."""
        return np.random.default_rng([self.seed, *self.key.encode(), *kind.encode()])

    def find(self, out: Path, settings: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """All episodes of the scan; those not found are missing."""
        world = cast(Scan, open_world(scan_facts(self.key)))
        ground = ground_of(cast(Walkable, world))
        search = HomeSearch(out, self, world, ground, settings, Counter())
        rows = {one.kind: found_in(one, search, progress, count(1)) for one in scan_samplers()}
        asked = self.counts
        named = "" if world.landmarks else "; nothing in it is named"
        short = [f"{len(own)} of {asked[kind]} {kind}" for kind, own in rows.items() if len(own) < asked[kind]]
        return {
            "world": plain_facts(world.facts),
            "asked": dict(self.counts),
            "episodes": rows,
            "discards": dict(sorted(search.discards.items())),
            "failure": f"only {', '.join(short)} found{named}" if short else None,
        }


def scan_samplers() -> list[PlaceSampler]:
    """Those whose place may be a scan, in the order of tables."""
    samplers = (closed_loop_tasks.get(name).sampler for name in task_names())
    return [one for one in samplers if isinstance(one, PlaceSampler) and one.in_scans]


def scan_shares(settings: Mapping[str, Any]) -> Iterator[ScanShare]:
    """The shares of all scans that have any episodes.

    Args:
        settings: "scenes", keys separated by commas; "split", "seed" and counts by name of the task.
    """
    keys = settings["scenes"].split(",")
    for number, key in enumerate(keys):
        counts = {one.kind: len(range(number, settings[one.kind], len(keys))) for one in scan_samplers()}
        if any(counts.values()):
            scene = key.replace("/", "_")
            yield ScanShare(scene, settings["split"], number, len(keys), settings["seed"], counts, key)
