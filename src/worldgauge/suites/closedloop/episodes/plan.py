"""Which episodes of the closed loop a collection holds, how they are named, and in which home each is found.

Episode k of a kind is in home k mod the number of homes. So names, homes and wishes do not depend on how many are asked
for, and the numbers of any two homes differ by one at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldgauge.suites.closedloop.format.episode import AT_HOME, KINDS, Kind
from worldgauge.suites.closedloop.navigation.episodes import BANDS
from worldgauge.suites.closedloop.recognition.episodes import CLARITY, Wish
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.indoor.splits import SPLITS, scene_name
from worldgauge.worlds.tabletop.contract import table_tasks

SCENES = 60

_NAMES: Mapping[Kind, str] = {"recognition": "{}", "navigation": "goal-{:04d}", "questions": "question-{:04d}"}
TABLE_TASKS = ("push_buttons", "slide_block", "insert_ring", "stack_cups")
"""The published ones, in the paper's order; an even number of trials of each."""


@dataclass(frozen=True)
class HomeShare:
    """The episodes that are to be found in one home.

    Attributes:
        scene: Name of the home.
        split: Split of the homes.
        home: Its number.
        homes: Number of homes.
        seed: Seed of the collection.
        counts: Number of episodes by kind.
    """

    scene: str
    split: str
    home: int
    homes: int
    seed: int
    counts: Mapping[Kind, int]

    def numbers(self, kind: Kind) -> range:
        """Numbers of its episodes of a kind, in the whole collection."""
        return range(self.home, self.home + self.counts[kind] * self.homes, self.homes)

    def wishes(self) -> Iterator[Wish]:
        """Labels and difficulties of its recognition episodes: all labels once in every 27 episodes."""
        for turn, number in enumerate(self.numbers("recognition")):
            round_, at = divmod(number, len(LABELS))
            order = np.random.default_rng([self.seed, SPLITS.index(self.split), round_]).permutation(len(LABELS))
            # The turn is added so that a home has all difficulties, whatever the number of homes.
            yield Wish(LABELS[int(order[at])], (number + turn) % len(CLARITY))

    def bands(self) -> list[int]:
        """The quarter of the lengths that each of its navigation episodes belongs to."""
        return [(number + turn) % BANDS for turn, number in enumerate(self.numbers("navigation"))]

    def rng(self, kind: Kind) -> np.random.Generator:
        """Source of all randomness in its episodes of a kind."""
        return np.random.default_rng([self.seed, SPLITS.index(self.split), self.home, KINDS.index(kind)])


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
        """As of a home."""
        return {self.task: self.count}


def episode_id(kind: Kind, number: int) -> str:
    """Id of an episode: recognition has plain numbers, as its published files must."""
    return _NAMES[kind].format(number)


def all_shares(settings: Mapping[str, Any]) -> Iterator[HomeShare | TableShare]:
    """The shares of all homes, then of all table tasks."""
    yield from home_shares(settings)
    yield from table_shares(settings)


def home_shares(settings: Mapping[str, Any]) -> Iterator[HomeShare]:
    """The shares of all homes that have any episodes.

    Args:
        settings: "scenes", "split", "seed" and counts by kind.
    """
    homes = settings["scenes"]
    for home in range(homes):
        counts: dict[Kind, int] = {kind: len(range(home, settings[kind], homes)) for kind in AT_HOME}
        if any(counts.values()):
            scene = scene_name(settings["split"], home)
            yield HomeShare(scene, settings["split"], home, homes, settings["seed"], counts)


def table_shares(settings: Mapping[str, Any]) -> Iterator[TableShare]:
    """The shares of all table tasks that have any trials.

    Args:
        settings: "manipulation", "split" and "seed".
    """
    for place, task in enumerate(TABLE_TASKS):
        count = len(range(place, settings["manipulation"], len(TABLE_TASKS)))
        if count:
            table_tasks.entry(task)
            yield TableShare(task, settings["split"], settings["seed"], count)
