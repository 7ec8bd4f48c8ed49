"""Writing episodes in the published schemas; the same episodes give the same bytes."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.image import png
from worldgauge.core.io import atomic_file, check_name, write_file
from worldgauge.suites.closedloop.format.coordinates import habitat_stance
from worldgauge.suites.closedloop.format.episode import (
    Episode,
    ManipulationEpisode,
    NavigationEpisode,
    QuestionEpisode,
    RecognitionEpisode,
)
from worldgauge.worlds.walking.stance import Stance

VERSION = "worldgauge-1"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of every member of a zip, which can be no earlier."""


def write_recognition(root: Path, episodes: Iterable[RecognitionEpisode]) -> Path:
    """Write <root>/recognition/episodes.json.gz (specification, 5.1).

    `episode_id` must be a whole number there: that of the id, or the row where the id is none, with the id in an extra
    field.

    Returns:
        Path of the file.

    Raises:
        DataError: For two of one id, an id that is not allowed as a name, and when a file cannot be written.
    """
    told = _distinct(episodes)
    content = {"episodes": [_recognition(number, episode) for number, episode in enumerate(told)]}
    path = Path(root) / "recognition" / "episodes.json.gz"
    write_file(path, _gzipped(_json(content)))
    return path


def write_navigation(
    root: Path, episodes: Iterable[NavigationEpisode], images: Mapping[str, NDArray[np.uint8]]
) -> Path:
    """Write <root>/navigation/episodes.json with goal_images.zip in the same folder (specification, 5.2).

    Args:
        root: Folder of the data.
        episodes: The episodes.
        images: By id, panorama (H, W, 3) uint8 RGB of 360 by 180 degrees. They are asked for one at a time, so a
            mapping may render them when needed.

    Returns:
        Path of the first file.

    Raises:
        DataError: As `write_recognition`, and for an episode without an image.
        ShapeError: For another shape.
    """
    told = _distinct(episodes)
    folder = Path(root) / "navigation"
    missing = [episode.id for episode in told if episode.id not in images]
    if missing:
        raise DataError(f"{folder}: {len(missing)} episodes have no goal image (first: {missing[0]}); render them")

    # The images come first: whoever finds episodes finds their images. Stored: PNG is packed already.
    with atomic_file(folder / "goal_images.zip") as file, zipfile.ZipFile(file, "w") as packed:
        for episode in told:
            packed.writestr(zipfile.ZipInfo(_image_name(episode.id), _LONG_AGO), png(images[episode.id]))
    content = {
        "version": VERSION,
        "num_items": len(told),
        "meta": {"goal_images": "equirectangular, centre column along goal_rotation"},
        "data": [_navigation(number, episode) for number, episode in enumerate(told)],
    }
    _put_json(folder / "episodes.json", content)
    return folder / "episodes.json"


def write_questions(root: Path, episodes: Iterable[QuestionEpisode]) -> Path:
    """Write <root>/questions/questions.json (specification, 5.3).

    reference_lengths.json, blind_answers.json and evidence.json are written next to it, by id, where there are any.

    Returns:
        Path of the first file.

    Raises:
        DataError: As `write_recognition`.
    """
    told = _distinct(episodes)
    folder = Path(root) / "questions"
    beside: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("reference_lengths.json", {one.id: one.reference_m for one in told if one.reference_m is not None}),
        ("blind_answers.json", {one.id: one.blind_answer for one in told if one.blind_answer is not None}),
        ("evidence.json", {one.id: list(one.evidence) for one in told if one.evidence}),
    )
    for name, content in beside:
        if content:
            _put_json(folder / name, content)
        else:
            (folder / name).unlink(missing_ok=True)
    _put_json(folder / "questions.json", [_question(episode) for episode in told])
    return folder / "questions.json"


def write_manipulation(root: Path, episodes: Iterable[ManipulationEpisode]) -> Path:
    """Write <root>/manipulation/trials.json.

    Returns:
        Path of the file.

    Raises:
        DataError: As `write_recognition`.
    """
    told = _distinct(episodes)
    path = Path(root) / "manipulation" / "trials.json"
    trials = [_manipulation(episode) for episode in told]
    _put_json(path, {"version": VERSION, "num_items": len(told), "trials": trials})
    return path


def _recognition(number: int, episode: RecognitionEpisode) -> dict[str, Any]:
    whole = episode.id.isascii() and episode.id.isdecimal() and str(int(episode.id)) == episode.id
    return {
        "episode_id": int(episode.id) if whole else number,
        **({} if whole else {"id": episode.id}),
        "scene_id": episode.scene,
        "difficulty": episode.difficulty,
        "target_id": episode.target,
        "target_categrory": episode.category.replace(" ", "_"),
        **_place("start", episode.start, episode.floor_m),
        "camera_height": episode.height_m,
    }


def _navigation(number: int, episode: NavigationEpisode) -> dict[str, Any]:
    return {
        "datum_id": episode.id,
        "episode_id": number,
        "scene_relpath": episode.scene,
        "goal_image_relpath": _image_name(episode.id),
        **_place("start", episode.start, episode.floor_m),
        **_place("goal", episode.goal, episode.floor_m),
        "goal_radius": episode.radius_m,
        "step_to_goal": episode.step_to_goal,
        "camera_height": episode.height_m,
    }


def _question(episode: QuestionEpisode) -> dict[str, Any]:
    return {
        "question": episode.question,
        "answer": episode.answer,
        "category": episode.category,
        "question_id": episode.id,
        "episode_history": episode.scene,
        **({"extra_answers": list(episode.extra_answers)} if episode.extra_answers else {}),
        "scene_id": episode.scene,
        "hfov": episode.hfov_deg,
        **_place("start", episode.start, episode.floor_m),
        "camera_height": episode.height_m,
    }


def _manipulation(episode: ManipulationEpisode) -> dict[str, Any]:
    return {
        "episode_id": episode.id,
        "scene_id": episode.scene,
        "table_task": episode.table_task,
        "variation": episode.variation,
        "instruction": episode.instruction,
        "wordings": list(episode.wordings),
        "reference_poses": episode.reference_poses,
    }


def _place(which: str, stance: Stance, floor_m: float) -> dict[str, list[float]]:
    position, rotation = habitat_stance(stance, floor_m)
    return {f"{which}_position": position, f"{which}_rotation": rotation}


def _distinct(episodes: Iterable[Episode]) -> list[Any]:
    told = list(episodes)
    seen: set[str] = set()
    for episode in told:
        if check_name(episode.id, "episodes") in seen:
            raise DataError(f"the id '{episode.id}' is there twice; give every episode its own")
        seen.add(episode.id)
    return told


def _image_name(id: str) -> str:
    return f"images/{id}.png"


def _put_json(path: Path, content: Any) -> None:
    write_file(path, _json(content))


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()


def _gzipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as packed:
        packed.write(data)
    return buffer.getvalue()
