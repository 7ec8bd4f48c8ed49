"""Finding trials at the table: variations in turn, places by seed, and only what the scripted expert can do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from worldgauge.engine.collection.kernel import plain_facts
from worldgauge.suites.closedloop.episodes.plan import TableShare
from worldgauge.worlds.tabletop.contract import table_tasks
from worldgauge.worlds.tabletop.expert import carried_out
from worldgauge.worlds.tabletop.splits import SEEDS, table_name
from worldgauge.worlds.tabletop.world import Tabletop

TRIES = 20
"""Tables that are tried for one trial."""


def find_trials(share: TableShare, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """The trials of one table task, plain JSON values; those not found within the tries are missing."""
    trials = []
    worlds = {}
    discards: Counter[str] = Counter()
    variations = table_tasks.entry(share.task).facts["variations"]
    for number in range(share.count):
        variation = number % variations
        for attempt in range(TRIES):
            seed = _seed_of(share, number, attempt)
            table = Tabletop(share.task, variation, seed)
            done = carried_out(table)
            if not done.solved:
                discards["the expert cannot do it"] += 1
                continue
            name = table_name(share.task, variation, seed)
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
        progress(number + 1, share.count)
    trials.sort(key=lambda one: (one["variation"], one["number"]))
    short = f"only {len(trials)} of {share.count} found" if len(trials) < share.count else None
    return {
        "asked": {share.task: share.count},
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
