"""A set of weights, brought from its owner into the store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from worldgauge.weights.catalogue import catalogue
from worldgauge.weights.download import Progress, fetch
from worldgauge.weights.records import records_of, write_records
from worldgauge.weights.store import known_set, only_writer, standing
from worldgauge.weights.weight_set import WeightSet


@dataclass(frozen=True)
class Pulled:
    """A set that is here. brought: the files that were not before."""

    set: WeightSet
    folder: Path
    brought: tuple[str, ...]


def pull(name: str, progress: Progress = lambda name, done, total: None) -> Pulled:
    """Bring what is lacking or wrong of the set `name`; one process at a time does, others wait and find it.

    Raises UnknownNameError, PullError, DataError for what is not what it should be.
    """
    known = known_set(name)
    with only_writer(name) as folder:
        lacking = standing(name).lacking
        for file in lacking:
            records = records_of(folder)
            write_records(folder, records | {file.name: fetch(file, known, folder, records.get(file.name), progress)})
    return Pulled(known, folder, tuple(file.name for file in lacking))


def sets_for(names: Iterable[str]) -> list[str]:
    """Sets that are meant by `names`, each a set or something that sets serve, such as a metric; each set once.

    Raises UnknownNameError.
    """
    meant: dict[str, None] = {}
    for name in names:
        serving = [each.name for each in catalogue.values() if name in each.serves]
        meant |= dict.fromkeys([name] if name in catalogue or not serving else serving)
    return [known_set(name).name for name in meant]
