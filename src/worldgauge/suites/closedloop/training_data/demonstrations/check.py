"""Checks of a folder of demonstrations: counts, and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.engine.collection.findings import Finding, Spread, grouped, spread
from worldgauge.engine.collection.report import DataReport, DataTable, mean_text
from worldgauge.suites.closedloop.training_data.coverage.trajectory import digest_of_entry
from worldgauge.suites.closedloop.training_data.demonstrations.demonstration import (
    MANIFEST,
    Demonstration,
    demonstration_folders,
    read_demonstration,
    read_manifest,
)
from worldgauge.suites.closedloop.training_data.demonstrations.index import INDEX, DemonstrationEntry, read_index
from worldgauge.worlds.tabletop.splits import SEEDS

_SEVERITIES = ("error", "warning", "info")
_SHORT_M = 0.03
"""A hand that stops farther from the pose was obstructed."""


@dataclass(frozen=True)
class TableTaskStatistics:
    """Statistics of the usable demonstrations of one task.

    Attributes:
        task: Name of the task.
        demonstrations: Number of demonstrations.
        variations: Number of their variations.
        frames: Per demonstration.
        seconds: Per demonstration, simulated.
        rate: Frames per second of simulated time.
        sub_goals: Poses asked for, per demonstration.
        discarded: Tables given up, for any reason.
    """

    task: str
    demonstrations: int
    variations: int
    frames: Spread | None
    seconds: Spread | None
    rate: Spread | None
    sub_goals: Spread | None
    discarded: int


@dataclass(frozen=True)
class DemonstrationStatistics:
    """Results of `check`.

    Attributes:
        n_trajectories: Demonstrations in the folder.
        n_valid: Usable ones.
        n_frames: Frames of the usable ones.
        rows: Statistics by task.
        discarded: Tables that the expert did not solve, by reason.
        findings: What is wrong or worth knowing.
    """

    n_trajectories: int
    n_valid: int
    n_frames: int
    rows: tuple[TableTaskStatistics, ...]
    discarded: dict[str, int]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def report(self) -> DataReport:
        """Return the same statistics in the form that every check returns."""
        columns = ("", "demon-\nstrations", "varia-\ntions", "frames", "frames\n/ s", "seconds", "poses", "given up")
        rows = tuple(
            (
                row.task,
                str(row.demonstrations),
                str(row.variations),
                *map(mean_text, (row.frames, row.rate, row.seconds, row.sub_goals)),
                str(row.discarded),
            )
            for row in self.rows
        )
        notes = (
            "frames / s: of simulated time; given up: tables that the expert did not solve",
            *(f"given up {count} times: {reason}" for reason, count in self.discarded.items()),
        )
        table = DataTable("means over usable demonstrations", columns, rows, notes)
        counts = self.n_valid, self.n_trajectories, self.n_frames
        return DataReport("demonstrations", *counts, self.findings, table, self.to_dict())


def check(root: Path, *, decode: bool = False) -> DemonstrationStatistics:
    """Check a folder: every manifest, every step, every video's length, and the index.

    Args:
        root: The folder.
        decode: Compare digests, and read all frames and depths.

    Raises:
        DataError: If there is no such folder.
    """
    root = Path(root)
    demos: list[Demonstration] = []
    reasons: dict[str, tuple[str, ...]] = {}
    errors: list[tuple[str, str]] = []
    count = 0
    for folder in demonstration_folders(root):
        count += 1
        name = f"{folder.parent.name}/{folder.name}"
        try:
            demo = read_demonstration(folder, root)
            # Opens the video, which must have the stated number of frames.
            demo.clip[0]
            manifest, facts = read_manifest(folder, root)
            if decode:
                _read_all(folder, demo, manifest)
        except DataError as error:
            errors.append((name, str(error).replace(f"{folder}/", "")))
            continue
        demos.append(demo)
        reasons[demo.id] = facts.discarded
    findings = [
        *([] if count else [Finding("error", f"holds no demonstration: <task>/<number>/{MANIFEST}")]),
        *grouped("error", "not usable", errors, "demonstration"),
        *grouped("warning", "odd", [(demo.id, text) for demo in demos for text in _odd(demo)], "demonstration"),
        *_of_tables(root, demos, errors),
    ]
    discarded = Counter(reason for each in reasons.values() for reason in each)
    return DemonstrationStatistics(
        n_trajectories=count,
        n_valid=len(demos),
        n_frames=sum(map(len, demos)),
        rows=tuple(_row(task, demos, reasons) for task in sorted({demo.task for demo in demos})),
        discarded=dict(sorted(discarded.items())),
        findings=tuple(sorted(findings, key=lambda finding: _SEVERITIES.index(finding.severity))),
    )


def _row(task: str, demos: list[Demonstration], reasons: dict[str, tuple[str, ...]]) -> TableTaskStatistics:
    mine = [demo for demo in demos if demo.task == task]
    return TableTaskStatistics(
        task=task,
        demonstrations=len(mine),
        variations=len({demo.variation for demo in mine}),
        frames=spread(len(demo) for demo in mine),
        seconds=spread(demo.seconds for demo in mine),
        rate=spread(demo.clip.fps for demo in mine),
        sub_goals=spread(len(demo.sub_goals) for demo in mine),
        discarded=sum(len(reasons[demo.id]) for demo in mine),
    )


def _read_all(folder: Path, demo: Demonstration, manifest: dict[str, Any]) -> None:
    """Raise DataError if a file was changed since it was written, or cannot be read to its end."""
    digests = manifest.get("sha256")
    for path in sorted(folder.iterdir()):
        if path.name != MANIFEST and (not isinstance(digests, dict) or digests.get(path.name) != digest_of_entry(path)):
            raise DataError(f"{path}: was changed since it was written; collect it again")
    for k, _ in enumerate(demo.clip):
        if demo.depth is not None:
            demo.depth(k)


def _odd(demo: Demonstration) -> Iterator[str]:
    """Return what an expert who solves the task would not do."""
    if demo.progress[-1] < 1:
        yield f"ends with {demo.progress[-1]:.0%} of the task done"
    ends = np.array(demo.reached)
    short = np.linalg.norm(demo.hand[ends, :3] - demo.asked[ends, :3], axis=1)
    if short.max() > _SHORT_M:
        yield f"sub-goal {int(short.argmax())}: the hand stops {short.max() * 100:.1f} cm short"


def _of_tables(root: Path, demos: list[Demonstration], errors: list[tuple[str, str]]) -> Iterator[Finding]:
    """Return findings about the index, and about tables that occur twice or in the evaluation."""
    tested = [demo.id for demo in demos if demo.seed in SEEDS["test"]]
    if tested:
        text = f"{len(tested)} with a seed of the split 'test', which is evaluated on (first: {tested[0]})"
        yield Finding("error", text + ": remove them, index again")
    twice = len(demos) - len({(demo.task, demo.variation, demo.seed) for demo in demos})
    if twice:
        yield Finding("warning", f"{twice} show a table that another one shows")
    if not (root / INDEX).exists():
        yield Finding("warning", f"no {INDEX}: on which tables they were done cannot be shown; write it")
        return
    try:
        index = read_index(root)
    except DataError as error:
        yield Finding("error", str(error))
        return
    here = {
        DemonstrationEntry(demo.task, int(demo.id.rpartition("/")[2]), demo.variation, demo.seed, len(demo))
        for demo in demos
    }
    if not errors and here != set(index.demonstrations):
        text = f"{INDEX} lists {len(index.demonstrations)} demonstrations, {len(here)} are here; write it again"
        yield Finding("error", text)
