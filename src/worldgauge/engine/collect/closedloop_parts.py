"""What was found in each home, in files of their own, and the published files that are made of all of them.

A part lies in the folder `parts`: a JSON file a home, and beside it a folder with its goal images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.collect.navigation import RADIUS_M
from worldgauge.datasets.closedloop_episode import (
    KINDS,
    Kind,
    NavigationEpisode,
    QuestionEpisode,
    RecognitionEpisode,
)
from worldgauge.datasets.closedloop_files import decoded
from worldgauge.datasets.closedloop_write import write_navigation, write_questions, write_recognition
from worldgauge.datasets.loopnav_write import write_whole
from worldgauge.engine.collect.closedloop_plan import Share, name_of, shares
from worldgauge.engine.store import dumps, loads
from worldgauge.worlds.walker import Stance


def read_part(out: Path, share: Share) -> dict[str, Any] | None:
    """What was found in a home; None when that is still to be done, or was done for other counts."""
    try:
        part = loads(_path(out, share).read_text(encoding="utf-8"))
        if part["asked"] != dict(share.counts):
            return None
        goals = [name_of("navigation", row["number"]) for row in part["episodes"]["navigation"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return part if all(goal_path(out, share.scene, id).is_file() for id in goals) else None


def write_part(out: Path, share: Share, part: Mapping[str, Any]) -> None:
    """Put a part in place; its home is done then. Raises DataError when that cannot be done."""
    path = _path(out, share)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, dumps(part) + "\n")


def found_in(part: Mapping[str, Any]) -> int:
    """Episodes of a part."""
    return sum(len(part["episodes"][kind]) for kind in KINDS)


def goal_path(out: Path, scene: str, id: str) -> Path:
    """Where the goal image of an episode lies until it is published."""
    return out / "parts" / scene / f"{id}.png"


def publish(out: Path, settings: Mapping[str, Any]) -> None:
    """Write the published files of all parts, in the order of the numbers."""
    rows: dict[Kind, list[tuple[str, dict[str, Any]]]] = {kind: [] for kind in KINDS}
    for share in shares(settings):
        part = read_part(out, share)
        if part is not None:
            for kind in KINDS:
                rows[kind] += [(share.scene, row) for row in part["episodes"][kind]]
    for of_kind in rows.values():
        of_kind.sort(key=lambda one: int(one[1]["number"]))
    if settings["recognition"]:
        write_recognition(out, [_recognition_of(*row) for row in rows["recognition"]])
    if settings["navigation"]:
        pairs = [_navigation_of(*row) for row in rows["navigation"]]
        write_navigation(out, pairs, _Goals({one.id: goal_path(out, one.scene, one.id) for one in pairs}))
    if settings["questions"]:
        write_questions(out, [_question_of(*row) for row in rows["questions"]])


class _Goals(Mapping[str, NDArray[np.uint8]]):
    """Goal images by id, read one at a time."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths

    def __getitem__(self, id: str) -> NDArray[np.uint8]:
        return decoded(self._paths[id].read_bytes(), str(self._paths[id]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def _recognition_of(scene: str, row: Mapping[str, Any]) -> RecognitionEpisode:
    return RecognitionEpisode(
        id=name_of("recognition", row["number"]),
        scene=scene,
        difficulty=row["difficulty"],
        target=row["target"],
        category=row["category"],
        start=Stance(*row["start"]),
    )


def _navigation_of(scene: str, row: Mapping[str, Any]) -> NavigationEpisode:
    return NavigationEpisode(
        id=name_of("navigation", row["number"]),
        scene=scene,
        start=Stance(*row["start"]),
        goal=Stance(*row["goal"]),
        radius_m=RADIUS_M,
        step_to_goal=len(row["steps"]),
    )


def _question_of(scene: str, row: Mapping[str, Any]) -> QuestionEpisode:
    return QuestionEpisode(
        id=name_of("questions", row["number"]),
        scene=scene,
        question=row["question"],
        answer=row["answer"],
        extra_answers=tuple(row["extra_answers"]),
        category=row["category"],
        start=Stance(*row["start"]),
        hfov_deg=row["hfov_deg"],
        reference_m=row["reference_m"],
        blind_answer=row["blind_answer"],
        evidence=tuple(row["evidence"]),
    )


def _path(out: Path, share: Share) -> Path:
    return out / "parts" / f"{share.scene}.json"
