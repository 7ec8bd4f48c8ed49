"""When a LoopNav trajectory is valid, where its way back begins, and what can be measured on it.

Positions and goals are in the game's frame (x, z planar), as in the released rules.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from worldgauge.core import polyline
from worldgauge.suites.loopnav.format.records import DIGGING_KEYS, Goal, Record
from worldgauge.worlds.walking.walk import Walk

AWAY_M = 2.0
"""A goal more than this from the start, in x or in z, is away; a loop closes within it (release)."""

MIN_CONTEXT = 32
MAX_CAMERA = 0.15
"""Largest camera step per tick that a reader accepts; the paper says 0.1, the release allows 0.15."""

EXCLUSIVE_CAMERA = 0.01
"""From this camera step on, forward and jump must be up."""

MOVING_M = 0.05


def return_index(start: tuple[float, float], goals: Sequence[Goal | None]) -> int | None:
    """First frame of the way back by the released rule; frames before it are the exploration.

    Args:
        start: First position (x, z), blocks, game frame.
        goals: Goal of every record; None where it has none.

    Returns:
        Index of the last record whose goal is away from `start`; None when there is none.
    """
    away = [i for i, goal in enumerate(goals) if goal is not None and is_away(start, goal)]
    return away[-1] if away else None


def exact_return_index(goals: Sequence[Goal | None]) -> int | None:
    """Index of the last record before the goal changes for the last time; None when it never changes.

    Unlike the released rule, it does not mistake a C near A for the way back.
    """
    legs = goal_changes(goals)
    if len(legs) < 2:
        return None
    return max(i for i in range(legs[-1]) if goals[i] is not None)


def first_return_index(goals: Sequence[Goal | None]) -> int | None:
    """Index of the last record before the last goal is gone to for the first time; None when the goal never changes.

    Of one lap it is `exact_return_index`; of several the end of the first way out.
    """
    legs = goal_changes(goals)
    home = next((leg for leg in legs[1:] if goals[leg] == goals[legs[-1]]), None)
    return None if home is None else max(i for i in range(home) if goals[i] is not None)


def goal_changes(goals: Sequence[Goal | None]) -> list[int]:
    """Indices at which a new goal begins, the first goal included; gaps without a goal do not count."""
    changes: list[int] = []
    last: Goal | None = None
    for index, goal in enumerate(goals):
        if goal is not None and goal != last:
            changes.append(index)
            last = goal
    return changes


def is_away(start: tuple[float, float], goal: Goal) -> bool:
    """Tell whether a goal differs from the start by more than two blocks on either axis.

    Args:
        start: (x, z) in the game's frame, metres.
        goal: The goal.
    """
    return abs(goal.x - start[0]) > AWAY_M or abs(goal.z - start[1]) > AWAY_M


@dataclass(frozen=True)
class Measures:
    """Numbers of one trajectory, in metres (blocks) and radians.

    Attributes:
        path_length: Planar, whole walk.
        enclosed_area: Square metres; only for ABA with a way back, else None.
        normalised_deviation: Area over half the path length; only for ABA with a way back, else None.
        look_around: Heading arc covered before the first step.
        max_camera: Largest camera step in one tick.
        camera_mismatch: Largest difference between a change of yaw and the camera value of that record.
        exclusive_violations: Frames that turn and hold a key.
        yaw_agreement: Mean cosine between motion and heading; None when nothing moved.
        idle_records: Frames equal to the one before, with nothing pressed. In recordings of the game each may stand for
            a second.
        final_distance: From the first to the last position, planar.
    """

    path_length: float
    enclosed_area: float | None
    normalised_deviation: float | None
    look_around: float
    max_camera: float
    camera_mismatch: float
    exclusive_violations: int
    yaw_agreement: float | None
    idle_records: int
    final_distance: float


def measure(walk: Walk, split: int | None) -> Measures:
    """Measure a walk.

    Args:
        walk: At least one frame.
        split: First frame of its way back; None when it has none.
    """
    xy = walk.positions[:, :2]
    motion = np.diff(xy, axis=0)
    step = np.linalg.norm(motion, axis=1)
    moving = step > MOVING_M
    first_step = int(moving.argmax()) if moving.any() else len(walk)
    yaw = np.unwrap(walk.yaw)
    heading = np.stack([np.cos(walk.yaw), np.sin(walk.yaw)], -1)[:-1]
    ahead = (motion * heading).sum(1)[moving].sum()
    turning = np.abs(walk.camera).max(axis=1) >= EXCLUSIVE_CAMERA
    still = (step == 0) & (np.diff(walk.yaw) == 0) & ~(walk.forward | walk.jump)[:-1]
    has_lobes = walk.kind == "ABA" and split is not None
    area = polyline.enclosed_area(xy[: split + 1], xy[split:]) if has_lobes and split is not None else None
    total = walk.length
    return Measures(
        path_length=total,
        enclosed_area=area,
        normalised_deviation=None if area is None or total == 0 else area / (total / 2),
        look_around=float(min(np.ptp(yaw[: first_step + 1]), 2 * math.pi)),
        max_camera=float(np.abs(walk.camera).max()),
        camera_mismatch=float(np.abs(np.diff(yaw) - walk.camera[1:, 0]).max(initial=0.0)),
        exclusive_violations=int((turning & (walk.forward | walk.jump)).sum()),
        yaw_agreement=float(ahead / step[moving].sum()) if moving.any() else None,
        idle_records=int(still.sum()),
        final_distance=float(np.linalg.norm(xy[-1] - xy[0])),
    )


Fault = Literal[
    "incomplete", "records", "video", "lengths",
    "never_left", "never_came_back", "open", "frame_count", "camera", "digs", "short",
]  # fmt: skip
"""Kinds of reasons to leave a trajectory out; the first four are faults of the files, the others of the walk."""

FILE_FAULTS: tuple[Fault, ...] = ("incomplete", "records", "video", "lengths")


class Verdict(NamedTuple):
    """Why a trajectory is left out, and what else is noteworthy.

    Attributes:
        fault: The reason as a code; None when it is valid.
        invalid: The reason as a line; None when it is valid.
        flags: Noteworthy facts that do not make it invalid.
    """

    fault: Fault | None
    invalid: str | None
    flags: tuple[str, ...]


def judge(records: Sequence[Record], measures: Measures, *, kind: str, location: str, radius: int) -> Verdict:
    """Apply the validity filters of the release, and ours.

    Args:
        records: At least one.
        measures: Numbers of the walk.
        kind: Type by its folder.
        location: Place by its folder.
        radius: Range by its folder, blocks.
    """
    start = (records[0].x, records[0].z)
    goals = [record.goal for record in records]
    split = return_index(start, goals)
    turn, gap = measures.max_camera, measures.final_distance
    digs = any(DIGGING_KEYS & set(r.held) for r in records)
    short = split is not None and split < MIN_CONTEXT
    reasons: list[tuple[bool, Fault, str]] = [
        (split is None, "never_left", "never left its start"),
        (split == len(records) - 1, "never_came_back", "never came back: its goal is away to the end"),
        (gap > AWAY_M, "open", f"ends {gap:.1f} blocks from its start"),
        (not _monotone(records), "frame_count", "frame_count does not grow from record to record"),
        (turn > MAX_CAMERA + 1e-9, "camera", f"camera turns {turn:.3f} rad in one tick"),
        (digs, "digs", "digs: the world changes during the walk"),
        (short, "short", f"only {split} frames before its way back, {MIN_CONTEXT} needed"),
    ]
    fault, invalid = next(((code, reason) for holds, code, reason in reasons if holds), (None, None))
    away = {(goal.x, goal.z) for goal in goals if goal is not None and is_away(start, goal)}
    flags = [
        ("segment_fallback", kind == "ABCA" and len(away) < 2),
        ("other_keys", any(set(r.held) - DIGGING_KEYS for r in records)),
        ("extra_info_differs", any(not _agrees(r, kind, location, radius) for r in records)),
    ]
    return Verdict(fault, invalid, tuple(name for name, holds in flags if holds))


def _monotone(records: Sequence[Record]) -> bool:
    counts = [record.frame_count for record in records if record.frame_count is not None]
    return all(later > earlier for earlier, later in pairwise(counts))


def _agrees(record: Record, kind: str, location: str, radius: int) -> bool:
    return record.type in (None, kind) and record.location in (None, location) and record.radius in (None, radius)
