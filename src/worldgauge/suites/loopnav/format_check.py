"""Checks of a LoopNav folder: counts, statistics next to the published ones, and findings."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.core.video import problems
from worldgauge.engine.collection import (
    DataReport,
    DataTable,
    Finding,
    Severity,
    Spread,
    counted,
    data_report,
    mean_text,
    number_text,
    spread,
)
from worldgauge.suites.loopnav.format import LoopTrajectory, discover, worlds_of
from worldgauge.suites.loopnav.format_records import EXCLUSIVE_CAMERA, FILE_FAULTS, Fault, WalkMeasures
from worldgauge.worlds.blocks.blueprint import AIR_NAMES, base_name
from worldgauge.worlds.voxel.world import HORIZONTAL_FOV_DEG

LINE_OFFSET, LINE_SLOPE = 94.7, 8.07
"""Frames of an ABA walk = 94.7 + 8.07 a block: fits the four published means within 2.1 frames."""

LINE_TOLERANCE = 0.25
PAPER_CAMERA = 0.1
SHOWN_BLOCKS = 3
ROUNDING = 0.0011
"""Two yaws of three decimals differ from the exact turn by up to this."""


@dataclass(frozen=True)
class LoopGroup:
    """The valid trajectories of one type and range; published numbers are (mean, std) of the paper.

    Attributes:
        path_length: Planar, metres.
        frames_to_line: Frames over 94.7 + 8.07 x path length.
        normalised_deviation: Metres, area over half the path length; ABA only, as is `enclosed_area` in square metres.
        look_around_deg: Heading arc before the first step.
    """

    type: str
    range: int
    trajectories: int
    frames: Spread | None
    published_frames: tuple[float, float] | None
    path_length: Spread | None
    frames_to_line: Spread | None
    enclosed_area: Spread | None
    published_enclosed_area: tuple[float, float] | None
    normalised_deviation: Spread | None
    published_normalised_deviation: tuple[float, float] | None
    look_around_deg: Spread | None


def check(root: Path, *, decode: bool = False) -> DataReport:
    """Statistics and findings of a folder. What was indexed is not read again."""
    trajectories = discover(root)
    valid = [_Measured(t, t.measures) for t in trajectories if t.invalid is None and t.measures is not None]
    findings = [
        *_left_out(trajectories),
        *_of_flags(trajectories),
        *_of_walks(valid),
        *_of_worlds(root),
        *(_of_videos(valid) if decode else ()),
    ]
    rows = list(_rows(trajectories, valid))
    facts = {
        "n_trajectories": len(trajectories),
        "n_valid": len(valid),
        "n_frames": sum(item.trajectory.n_frames for item in valid),
        "max_camera": max((item.measures.max_camera for item in valid), default=0.0),
        "rows": [asdict(row) for row in rows],
    }
    columns = ("", "walks", "frames", "frames /\nline", "turn,\ndeg", "path,\nm", "area,\nm2", "deviation,\nm")
    notes = (
        "line: 94.7 + 8.07 x path, the fit of the published lengths; turn: headings seen before the first step",
        f"largest camera step: {facts['max_camera']:.3f} rad a tick",
    )
    table = DataTable("mean (published mean)", columns, tuple(map(_table_row, rows)), notes)
    return data_report("walks", "n_trajectories", findings, table, facts)


class _Measured(NamedTuple):
    trajectory: LoopTrajectory
    measures: WalkMeasures

    @property
    def to_line(self) -> float:
        """Frames over what the published lengths predict for this path."""
        return self.trajectory.n_frames / (LINE_OFFSET + LINE_SLOPE * self.measures.path_length)


def _table_row(row: LoopGroup) -> tuple[str, ...]:
    pairs = (
        (row.frames, row.published_frames),
        (row.frames_to_line, None),
        (row.look_around_deg, None),
        (row.path_length, None),
        (row.enclosed_area, row.published_enclosed_area),
        (row.normalised_deviation, row.published_normalised_deviation),
    )
    means = [mean_text(mine) + (f" ({number_text(theirs[0])})" if mine and theirs else "") for mine, theirs in pairs]
    return (f"{row.type} {row.range}", str(row.trajectories), *means)


def _rows(trajectories: Sequence[LoopTrajectory], valid: Sequence[_Measured]) -> Iterator[LoopGroup]:
    groups: dict[tuple[str, int], list[LoopTrajectory]] = defaultdict(list)
    for trajectory in trajectories:
        groups[trajectory.type, trajectory.radius].append(trajectory)
    for kind, radius in sorted(groups):
        items = [item for item in valid if (item.trajectory.type, item.trajectory.radius) == (kind, radius)]
        yield LoopGroup(
            type=kind,
            range=radius,
            trajectories=len(groups[kind, radius]),
            frames=spread(item.trajectory.n_frames for item in items),
            published_frames=_published("frames", kind, radius),
            path_length=spread(item.measures.path_length for item in items),
            frames_to_line=spread(item.to_line for item in items),
            enclosed_area=spread(item.measures.enclosed_area for item in items),
            published_enclosed_area=_published("enclosed_area", kind, radius),
            normalised_deviation=spread(item.measures.normalised_deviation for item in items),
            published_normalised_deviation=_published("normalised_deviation", kind, radius),
            look_around_deg=spread(math.degrees(item.measures.look_around) for item in items),
        )


def _left_out(trajectories: Sequence[LoopTrajectory]) -> Iterator[Finding]:
    """One finding a kind of reason, with the first trajectory that has it."""
    if not trajectories:
        yield Finding("error", "holds no recording of the form <type>/<location>/<range>/<stamp>.avi")
    faults: dict[Fault, list[LoopTrajectory]] = defaultdict(list)
    for trajectory in trajectories:
        if trajectory.fault is not None:
            faults[trajectory.fault].append(trajectory)
    for fault, group in faults.items():
        severity: Severity = "error" if fault in FILE_FAULTS else "warning"
        count = f"{len(group)} of {counted(len(trajectories), 'trajectory')} left out"
        yield Finding(severity, f"{count}, {group[0].id}: {group[0].invalid}")


def _of_videos(valid: Sequence[_Measured]) -> Iterator[Finding]:
    """Damage inside a video that has all its frames: the decoder only mutters about it."""
    for item in valid:
        if complaints := problems(item.trajectory.video):
            how_many = counted(len(complaints), "complaint")
            yield Finding("error", f"{item.trajectory.id}: the video decodes with {how_many}: {complaints[0]}")


def _of_flags(trajectories: Sequence[LoopTrajectory]) -> Iterator[Finding]:
    texts: dict[str, tuple[Severity, str]] = {
        "segment_fallback": ("info", "with C within 2 blocks of A: the released rule starts the way back at B"),
        "other_keys": ("warning", "with keys other than forward and jump"),
        "extra_info_differs": ("warning", "whose extra_info names another location, type or range than the folder"),
    }
    for flag, (severity, text) in texts.items():
        flagged = [trajectory.id for trajectory in trajectories if flag in trajectory.flags]
        if flagged:
            yield Finding(severity, f"{counted(len(flagged), 'trajectory')} (first: {flagged[0]}) {text}")


def _of_walks(valid: Sequence[_Measured]) -> Iterator[Finding]:
    """Yaw against motion and camera, the camera's limit, its exclusiveness, idle ticks, shape and length."""
    backwards = [item for item in valid if item.measures.yaw_agreement is not None and item.measures.yaw_agreement <= 0]
    fast = [item for item in valid if item.measures.max_camera > PAPER_CAMERA + 1e-6]
    most = max((item.measures.max_camera for item in fast), default=0.0)
    both = [item for item in valid if item.measures.exclusive_violations]
    frames = counted(sum(item.measures.exclusive_violations for item in both), "frame")
    shifted = [item for item in valid if item.measures.camera_mismatch > ROUNDING]
    shift = max((item.measures.camera_mismatch for item in shifted), default=0.0)
    idle = [item for item in valid if item.measures.idle_records]
    ticks = sum(item.measures.idle_records for item in idle)
    blind = [item for item in valid if math.degrees(item.measures.look_around) < 360 - HORIZONTAL_FOV_DEG]
    least = min((math.degrees(item.measures.look_around) for item in blind), default=0.0)
    off = [item for item in valid if abs(item.to_line - 1) > LINE_TOLERANCE]
    worst = max(off, key=lambda item: abs(math.log(item.to_line)), default=None)
    kinds: list[tuple[Severity, list[_Measured], str]] = [
        (
            "error",
            backwards,
            "in which the walker moves against its yaw: not the released convention (0 looks to -z, left positive)",
        ),
        ("warning", fast, f"with turns of up to {most:.3f} rad in one tick; the paper's limit is 0.1"),
        ("warning", both, f"with turns of {EXCLUSIVE_CAMERA} rad or more while a key is down, in {frames}"),
        ("warning", shifted, f"with camera values that differ from the change of yaw, by up to {shift:.4f} rad"),
        (
            "info",
            idle,
            f"with idle records, {ticks} in all: recordings keep one idle tick per second, as published, so each may "
            "stand for a second",
        ),
        (
            "warning",
            blind,
            f"without every direction in sight before the first step: as little as {least:.0f} degrees (as collected "
            "with --no-look-around)",
        ),
    ]
    if worst is not None:
        where = f"at worst {worst.to_line:.2f} times ({worst.trajectory.id})"
        kinds.append(("warning", off, f"more than 25% off the published line of frames against path length, {where}"))
    for severity, items, text in kinds:
        if items:
            first = items[0].trajectory.id
            yield Finding(severity, f"{counted(len(items), 'trajectory')} (first: {first}) {text}")


def _of_worlds(root: Path) -> Iterator[Finding]:
    """Blocks of the game that references and labels see as others; the recorded pictures may show them as they are."""
    grids = {name: facts.params.get("grid", "") for name, facts in worlds_of(root).items() if facts.name == "minecraft"}
    if not grids:
        return
    from worldgauge.worlds.minecraft.cells import read as read_cells
    from worldgauge.worlds.minecraft.names import substitutions  # brings numba, 0.2 s

    for location, grid in grids.items():
        try:
            cells = read_cells(Path(grid))
        except WorldError as error:
            yield Finding("error", f"{location}: {error}")
            continue
        replaced = substitutions(cells)
        air = [number for number, text in enumerate(cells.palette) if base_name(text) in AIR_NAMES]
        blocks = int((~np.isin(cells.index, air)).sum())
        if replaced:
            first = ", ".join(f"{base_name(one.foreign)} as {one.ours}" for one in replaced[:SHOWN_BLOCKS])
            count = sum(one.cells for one in replaced)
            message = f"{count} of {blocks} blocks are replaced by the nearest of ours, such as {first}"
            yield Finding("info", f"{location}: {message}")


@cache
def _published(name: str, kind: str, radius: int) -> tuple[float, float] | None:
    published = json.loads(files(__package__).joinpath("published.json").read_text(encoding="utf-8"))
    cell = published["walks"][name].get(kind, {}).get(str(radius))
    return None if cell is None else (cell[0], cell[1])
