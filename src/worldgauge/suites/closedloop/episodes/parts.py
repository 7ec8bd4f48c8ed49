"""Files with what was found in each home and at the tables, and the published files made from all of them.

A part is a JSON file in the folder `parts`, one per home and one per table task. Goal images lie in a folder next to it
until they are published.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.io import dumps, loads, write_file
from worldgauge.suites.closedloop.episodes.plan import HomeShare, TableShare, episode_id, home_shares, table_shares
from worldgauge.suites.closedloop.format.episode import (
    KINDS,
    Kind,
    ManipulationEpisode,
    NavigationEpisode,
    QuestionEpisode,
    RecognitionEpisode,
)
from worldgauge.suites.closedloop.format.files import goal_image, members_of
from worldgauge.suites.closedloop.format.write import (
    write_manipulation,
    write_navigation,
    write_questions,
    write_recognition,
)
from worldgauge.suites.closedloop.navigation.episodes import RADIUS_M
from worldgauge.worlds.walking.stance import Stance


def read_part(out: Path, share: HomeShare | TableShare) -> dict[str, Any] | None:
    """What was found in a home, or for a table task; None when it is still to be done, or was done for other counts."""
    try:
        part = loads(_path(out, share).read_text(encoding="utf-8"))
        if part["asked"] != dict(share.counts):
            return None
        goals = [episode_id("navigation", row["number"]) for row in part["episodes"].get("navigation", ())]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return part if all(_image(out, share.scene, id) is not None for id in goals) else None


def write_part(out: Path, share: HomeShare | TableShare, part: Mapping[str, Any]) -> None:
    """Put a part in place; its home is then done.

    Raises:
        DataError: When it cannot be written.
    """
    write_file(_path(out, share), dumps(part) + "\n")


def found_in(part: Mapping[str, Any]) -> int:
    """Episodes of a part."""
    return sum(len(part["episodes"].get(kind, ())) for kind in KINDS)


def goal_path(out: Path, scene: str, id: str) -> Path:
    """Path of an episode's goal image until it is published."""
    return _folder(out) / scene / f"{id}.png"


def publish(out: Path, settings: Mapping[str, Any]) -> None:
    """Write the published files of all parts, in the order of the numbers; goal images are moved into theirs.

    Raises:
        DataError: When one cannot be written.
    """
    parts = [(share.scene, part) for share in home_shares(settings) if (part := read_part(out, share)) is not None]
    if settings["recognition"]:
        write_recognition(out, [_recognition_of(*row) for row in _rows(parts, "recognition")])
    if settings["navigation"]:
        pairs = [_navigation_of(*row) for row in _rows(parts, "navigation")]
        write_navigation(out, pairs, _Goals(out, pairs))
    if settings["questions"]:
        write_questions(out, [_question_of(*row) for row in _rows(parts, "questions")])
    if settings["manipulation"]:
        write_manipulation(out, list(_trials(out, settings)))
    for scene, _ in parts:
        shutil.rmtree(_folder(out) / scene, ignore_errors=True)


def _trials(out: Path, settings: Mapping[str, Any]) -> Iterator[ManipulationEpisode]:
    """By task, variation and number."""
    for share in table_shares(settings):
        part = read_part(out, share)
        for row in [] if part is None else part["episodes"]["manipulation"]:
            yield ManipulationEpisode(
                id=f"{share.task}-{row['number']:03d}",
                scene=row["scene"],
                table_task=share.task,
                variation=row["variation"],
                instruction=row["instruction"],
                wordings=tuple(row["wordings"]),
                reference_poses=row["poses"],
            )


class _Goals(Mapping[str, NDArray[np.uint8]]):
    """Goal images by id, read one at a time."""

    def __init__(self, out: Path, pairs: Iterable[NavigationEpisode]) -> None:
        self._pairs = {one.id: replace(one, goal_image=_image(out, one.scene, one.id)) for one in pairs}

    def __getitem__(self, id: str) -> NDArray[np.uint8]:
        return goal_image(self._pairs[id])

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)


def _image(out: Path, scene: str, id: str) -> Path | None:
    """Where the goal image of an episode is: in a file of its own, or published already; None when it is lost."""
    own, zipped = goal_path(out, scene, id), out / "navigation" / "goal_images.zip"
    if own.is_file():
        return own
    try:
        name = f"images/{id}.png"
        return zipped / name if name in members_of(zipped) else None
    except DataError:
        return None


def _rows(parts: Iterable[tuple[str, Mapping[str, Any]]], kind: Kind) -> list[tuple[str, Mapping[str, Any]]]:
    """Scene and facts of all episodes of a kind, by number."""
    rows = [(scene, row) for scene, part in parts for row in part["episodes"][kind]]
    return sorted(rows, key=lambda one: int(one[1]["number"]))


def _recognition_of(scene: str, row: Mapping[str, Any]) -> RecognitionEpisode:
    return RecognitionEpisode(
        id=episode_id("recognition", row["number"]),
        scene=scene,
        difficulty=row["difficulty"],
        target=row["target"],
        category=row["category"],
        start=Stance(*row["start"]),
    )


def _navigation_of(scene: str, row: Mapping[str, Any]) -> NavigationEpisode:
    return NavigationEpisode(
        id=episode_id("navigation", row["number"]),
        scene=scene,
        start=Stance(*row["start"]),
        goal=Stance(*row["goal"]),
        radius_m=RADIUS_M,
        step_to_goal=len(row["steps"]),
    )


def _question_of(scene: str, row: Mapping[str, Any]) -> QuestionEpisode:
    return QuestionEpisode(
        id=episode_id("questions", row["number"]),
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


def _path(out: Path, share: HomeShare | TableShare) -> Path:
    return _folder(out) / f"{share.scene}.json"


def _folder(out: Path) -> Path:
    return out / "parts"
