"""Collecting trials at the table: variations in turn, places by seed, and only what the scripted expert can do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.engine.collection.kernel import plain_facts
from worldgauge.engine.options import option
from worldgauge.suites.closedloop.manipulation.episodes.format import (
    ManipulationEpisode,
    ManipulationFormat,
    write_manipulation,
)
from worldgauge.suites.closedloop.sampling.contract import (
    MOST_EPISODES,
    EpisodeFacts,
    EpisodeSampler,
    Progress,
    Share,
)
from worldgauge.worlds.tabletop.contract import table_tasks
from worldgauge.worlds.tabletop.expert import carried_out
from worldgauge.worlds.tabletop.splits import SEEDS, table_name
from worldgauge.worlds.tabletop.world import Tabletop, check_engine

TABLE_TASKS = ("push_buttons", "slide_block", "insert_ring", "stack_cups")
"""The published ones, in the paper's order; an even number of trials of each."""
TRIES = 20
"""Tables that are tried for one trial."""


@dataclass(frozen=True)
class ManipulationOptions:
    """Options of a collection."""

    manipulation: int = option(
        ManipulationFormat.published,
        "Trials of a robot arm at a table. Needs the extra 'manipulation'.",
        low=0,
        high=MOST_EPISODES,
    )


class ManipulationSampler(EpisodeSampler):
    """Collects them, one part for each table task."""

    kind, Options = "manipulation", ManipulationOptions

    def check_installed(self) -> None:
        """The physics must be installed."""
        check_engine("leave it out with --manipulation 0")

    def shares(self, settings: Mapping[str, Any]) -> Iterator[TableShare]:
        """Those of all table tasks that have any trials."""
        for place, task in enumerate(TABLE_TASKS):
            count = len(range(place, settings[self.kind], len(TABLE_TASKS)))
            if count:
                table_tasks.entry(task)
                yield TableShare(task, settings["split"], settings["seed"], count)

    def publish(self, out: Path, found: Sequence[tuple[Share, EpisodeFacts]]) -> None:
        """By task, variation and number; see `write_manipulation`."""
        write_manipulation(
            out,
            [
                ManipulationEpisode(
                    id=f"{task}-{facts['number']:03d}",
                    scene=facts["scene"],
                    table_task=task,
                    variation=facts["variation"],
                    instruction=facts["instruction"],
                    wordings=tuple(facts["wordings"]),
                    reference_poses=facts["poses"],
                )
                for share, facts in found
                for task in share.counts
            ],
        )


@dataclass(frozen=True)
class TableShare:
    """The trials that are to be found for one table task.

    Attributes:
        task: Name of the table task.
        split: Split of the data.
        seed: Seed of the collection.
        count: Number of trials.
    """

    task: str
    split: str
    seed: int
    count: int

    @property
    def scene(self) -> str:
        """The name of its part."""
        return f"table-{self.task}"

    @property
    def counts(self) -> Mapping[str, int]:
        """Trials of the table task."""
        return {self.task: self.count}

    def find(self, out: Path, settings: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """The trials of the table task; those not found within the tries are missing."""
        trials = []
        worlds = {}
        discards: Counter[str] = Counter()
        variations = table_tasks.entry(self.task).facts["variations"]
        for number in range(self.count):
            variation = number % variations
            for attempt in range(TRIES):
                seed = _seed_of(self, number, attempt)
                table = Tabletop(self.task, variation, seed)
                done = carried_out(table)
                if not done.solved:
                    discards["the expert cannot do it"] += 1
                    continue
                name = table_name(self.task, variation, seed)
                worlds[name] = plain_facts(table.facts)
                trials.append(
                    {
                        "number": number,
                        "scene": name,
                        "variation": variation,
                        "instruction": table.task.instruction,
                        "wordings": list(table.task.wordings),
                        "poses": len(done.poses),
                    }
                )
                break
            progress(number + 1, self.count)
        trials.sort(key=lambda one: (one["variation"], one["number"]))
        short = f"only {len(trials)} of {self.count} found" if len(trials) < self.count else None
        return {
            "asked": {self.task: self.count},
            "worlds": worlds,
            "episodes": {"manipulation": trials},
            "discards": dict(sorted(discards.items())),
            "failure": short,
        }


def _seed_of(share: TableShare, number: int, attempt: int) -> int:
    """Of the tables of a split."""
    own = SEEDS[share.split]
    drawn = np.random.SeedSequence([share.seed, number, attempt]).generate_state(1)[0]
    return own.start + int(drawn) % len(own)
