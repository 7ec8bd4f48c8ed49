"""Checks of a folder of post-training data: counts, and findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.engine.collection.findings import Finding, Spread, grouped, spread
from worldgauge.engine.collection.report import DataReport, DataTable, mean_text
from worldgauge.suites.closedloop.format.load import load
from worldgauge.suites.closedloop.training_data.coverage.index import INDEX, TrajectoryEntry, overlap, read_index
from worldgauge.suites.closedloop.training_data.coverage.trajectory import (
    MANIFEST,
    Trajectory,
    digest_of_entry,
    read_manifest,
    read_trajectory,
    trajectory_folders,
)
from worldgauge.worlds.walking.primitives import STEP_M, TURN_DEG, Primitive

_SEVERITIES = ("error", "warning", "info")
_TOLERANCE_M, _TOLERANCE_DEG = 0.011, 0.01
"""A walker stops at whole centimetres."""


@dataclass(frozen=True)
class TrajectoryStatistics:
    """Results of `check`.

    Attributes:
        n_trajectories: Trajectories in the folder.
        n_valid: Usable ones.
        n_frames: Frames of the usable ones.
        scenes: Scenes of the usable ones.
        steps: Of a usable trajectory.
        metres: Of a usable trajectory.
        collided: Share of forward steps that collided; None without any.
        actions: Count of each action.
        findings: What is wrong or worth knowing.
    """

    n_trajectories: int
    n_valid: int
    n_frames: int
    scenes: int
    steps: Spread | None
    metres: Spread | None
    collided: float | None
    actions: dict[str, int]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def report(self) -> DataReport:
        """Return the same statistics in the form that every check returns."""
        columns = ("", "scenes", "steps", "path,\nm", "collided", *(name.replace("_", " ") for name in self.actions))
        collided = "-" if self.collided is None else f"{self.collided:.1%}"
        means = (mean_text(self.steps), mean_text(self.metres))
        row = ("all", str(self.scenes), *means, collided, *map(str, self.actions.values()))
        notes = ("steps, path: of a trajectory; collided: forward steps that meet something",)
        table = DataTable("means over usable trajectories, and actions", columns, (row,), notes)
        counts = self.n_valid, self.n_trajectories, self.n_frames
        return DataReport("trajectories", *counts, self.findings, table, self.to_dict())


def check(root: Path, *, decode: bool = False, against: Path | None = None) -> TrajectoryStatistics:
    """Check a folder: every manifest, every step, and the index.

    Args:
        root: The folder.
        decode: Compare digests, and read all frames and depths.
        against: A folder of closed-loop episodes, none of whose scenes may be here.

    Raises:
        DataError: If there is no such folder.
    """
    walks: list[Trajectory] = []
    errors: list[tuple[str, str]] = []
    warnings: list[tuple[str, str]] = []
    count = 0
    for folder in trajectory_folders(root):
        count += 1
        name = f"{folder.parent.name}/{folder.name}"
        try:
            walk = read_trajectory(folder)
            if decode:
                _read_all(folder, walk)
        except DataError as error:
            errors.append((name, str(error).replace(f"{folder}/", "")))
            continue
        walks.append(walk)
        warnings += [(name, text) for text in _odd(walk)]
    findings = [
        *([] if count else [Finding("error", "holds no trajectory: <scene>/<number>/manifest.json")]),
        *grouped("error", "not usable", errors, "trajectory"),
        *grouped("warning", "odd", warnings, "trajectory"),
        *_of_index(Path(root), walks, errors, against),
    ]
    steps = [step for walk in walks for step in walk.steps[1:]]
    ahead = [step.collided for step in steps if step.action is Primitive.FORWARD]
    return TrajectoryStatistics(
        n_trajectories=count,
        n_valid=len(walks),
        n_frames=sum(len(walk) for walk in walks),
        scenes=len({walk.scene for walk in walks}),
        steps=spread(len(walk) for walk in walks),
        metres=spread(float(np.linalg.norm(np.diff(walk.poses[:, :3, 3], axis=0), axis=1).sum()) for walk in walks),
        collided=float(np.mean(ahead)) if ahead else None,
        actions={one.name.lower(): sum(step.action is one for step in steps) for one in Primitive},
        findings=tuple(sorted(findings, key=lambda finding: _SEVERITIES.index(finding.severity))),
    )


def _read_all(folder: Path, walk: Trajectory) -> None:
    """Raise DataError if a file was changed since it was written, or cannot be read to its end."""
    digests = read_manifest(folder).get("sha256")
    for path in sorted(folder.iterdir()):
        if path.name != MANIFEST and (not isinstance(digests, dict) or digests.get(path.name) != digest_of_entry(path)):
            raise DataError(f"{path}: was changed since it was written; collect it again")
    for k, _ in enumerate(walk.frames):
        if walk.depth is not None:
            walk.depth(k)


def _odd(walk: Trajectory) -> Iterator[str]:
    """Return moves that do not match their actions."""
    if walk.steps[0].action is not Primitive.STOP:
        yield "the first action is not null"
    for k, (one, two) in enumerate(zip(walk.steps[:-1], walk.steps[1:], strict=True), 1):
        moved = float(np.linalg.norm(two.pose[:3, 3] - one.pose[:3, 3]))
        turn = one.pose[:3, :3].T @ two.pose[:3, :3]
        turned = float(np.degrees(np.arctan2(turn[0, 2], turn[2, 2])))  # to the right
        ahead = STEP_M if two.action is Primitive.FORWARD else 0.0
        right = {Primitive.TURN_RIGHT: TURN_DEG, Primitive.TURN_LEFT: -TURN_DEG}.get(two.action, 0.0)
        short = two.collided and two.action is Primitive.FORWARD
        if moved > ahead + _TOLERANCE_M or (moved < ahead - _TOLERANCE_M and not short):
            yield f"step {k}, {two.action.name.lower()}, moves {moved:.2f} m"
        elif abs((turned - right + 180) % 360 - 180) > _TOLERANCE_DEG and one.goal_index == two.goal_index:
            yield f"step {k}, {two.action.name.lower()}, turns {turned:.1f} degrees to the right"


def _of_index(
    root: Path, walks: list[Trajectory], errors: list[tuple[str, str]], against: Path | None
) -> Iterator[Finding]:
    if not (root / INDEX).exists():
        yield Finding("warning", f"no {INDEX}: which scenes were trained on cannot be shown; write it")
        return
    try:
        index = read_index(root)
    except DataError as error:
        yield Finding("error", str(error))
        return
    here = {TrajectoryEntry(walk.scene, walk.number, len(walk)) for walk in walks}
    if not errors and here != set(index.trajectories):
        text = f"{INDEX} lists {len(index.trajectories)} trajectories, {len(here)} are here; write it again"
        yield Finding("error", text)
    if against is None:
        return
    both = overlap(index, load(against).scenes)
    if both:
        yield Finding("error", f"{len(both)} scenes are tested on as well (first: {both[0]}): remove them, index again")
    else:
        text = f"no scene of split '{index.split}' ({index.split_hash[:12]}) is one of {against}"
        yield Finding("info", text)
