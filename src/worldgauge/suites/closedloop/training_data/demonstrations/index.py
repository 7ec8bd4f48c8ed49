"""The index of demonstrations: the tables they were done on, and the proof that none of them is evaluated on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.fields import short, whole_of
from worldgauge.core.io import digest_of, write_file
from worldgauge.suites.closedloop.format.files import read_json
from worldgauge.suites.closedloop.training_data.coverage.index import split_hash
from worldgauge.suites.closedloop.training_data.demonstrations.demonstration import (
    FORMAT,
    MAX_FRAMES,
    MAX_NUMBER,
    MAX_SEED,
    VERSION,
    demonstration_folders,
    read_manifest,
)
from worldgauge.worlds.tabletop.splits import SEEDS

INDEX = "index.json"


class DemonstrationEntry(NamedTuple):
    """A demonstration in the index."""

    task: str
    number: int
    variation: int
    seed: int
    frames: int


@dataclass(frozen=True)
class DemonstrationIndex:
    """All demonstrations of a folder.

    Attributes:
        demonstrations: One entry each.
        split_hash: SHA-256 over the sorted `table_hash` of them.
    """

    demonstrations: tuple[DemonstrationEntry, ...]
    split_hash: str

    @property
    def n_frames(self) -> int:
        """Frames of all demonstrations."""
        return sum(entry.frames for entry in self.demonstrations)


def write_index(root: Path) -> DemonstrationIndex:
    """Write <root>/index.json from the demonstrations of a folder.

    Raises:
        DataError: If one cannot be read.
    """
    entries = []
    for folder in demonstration_folders(root):
        manifest, facts = read_manifest(folder, root)
        entries.append(DemonstrationEntry(facts.task, facts.number, facts.variation, facts.seed, manifest["frames"]))
    content = {
        "format": FORMAT,
        "version": VERSION,
        "split_hash": split_hash(map(_hash_of, entries)),
        "evaluation_seeds": [SEEDS["test"].start, SEEDS["test"].stop - 1],
        "frames": sum(entry.frames for entry in entries),
        "demonstrations": [{**entry._asdict(), "table": _hash_of(entry)} for entry in entries],
    }
    write_file(Path(root) / INDEX, json.dumps(content, indent=1) + "\n")
    return read_index(root)


def read_index(root: Path) -> DemonstrationIndex:
    """Read the index of a folder.

    Raises:
        DataError: If a field is wrong, which is named, or a hash is not of its table.
    """
    path = Path(root) / INDEX
    content = read_json(path)
    try:
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise ValueError(f"format {short(content['format'])}, version {short(content['version'])} is not ours")
        entries = tuple(_entry(row) for row in content["demonstrations"])
        found = DemonstrationIndex(entries, str(content["split_hash"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{path}: {why}; write the index again") from error
    if found.split_hash != split_hash(map(_hash_of, entries)):
        raise DataError(f"{path}: field 'split_hash' is not that of its tables; write the index again")
    return found


def table_hash(task: str, variation: int, seed: int) -> str:
    """Identify a table before anything has moved: SHA-256 of its task, its variation and the seed of its places."""
    return digest_of(json.dumps(["tabletop", task, variation, seed]))


def overlap(index: DemonstrationIndex, scenes: Mapping[str, WorldFacts | None]) -> tuple[str, ...]:
    """Return those of the evaluation's `scenes` whose tables were also used for demonstrations; () if disjoint."""
    shown = {(entry.task, entry.variation, entry.seed) for entry in index.demonstrations}
    return tuple(name for name, world in scenes.items() if world is not None and _table(world) in shown)


def _table(world: WorldFacts) -> tuple[Any, ...] | None:
    params = world.params
    # Omitted arguments have the defaults of `worlds.tabletop.world.Tabletop`.
    table = (params.get("task"), params.get("variation", 0), params.get("seed", 0))
    return table if world.name == "tabletop" else None


def _hash_of(entry: DemonstrationEntry) -> str:
    return table_hash(entry.task, entry.variation, entry.seed)


def _entry(row: Mapping[str, Any]) -> DemonstrationEntry:
    entry = DemonstrationEntry(
        task=str(row["task"]),
        number=whole_of(row, "number", 0, MAX_NUMBER - 1),
        variation=whole_of(row, "variation", 0, MAX_NUMBER),
        seed=whole_of(row, "seed", 0, MAX_SEED),
        frames=whole_of(row, "frames", 1, MAX_FRAMES),
    )
    if row["table"] != _hash_of(entry):
        raise ValueError(f"field 'table' of {entry.task}/{entry.number} is not that of its variation and seed")
    return entry
