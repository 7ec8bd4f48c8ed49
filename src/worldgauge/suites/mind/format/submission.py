"""Folders of finished videos in the published layout, and paths out and back whose start image the data do not hold."""

from __future__ import annotations

from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.core.io import check_inside, check_name, list_folder
from worldgauge.suites.mind.actions import space_of
from worldgauge.suites.mind.format.layout import (
    MIRROR_NUMBERS,
    MIRROR_ROWS,
    PERSPECTIVES,
    SHARED_SPACE,
    MindClip,
    Part,
)
from worldgauge.suites.mind.walks.mirror import Perspective

MIRROR: Part = "mirror_test"


def submissions(folder: Path) -> dict[str, Path]:
    """The models of a folder, each with the folder that holds its `1st_data` or `3rd_data`.

    Args:
        folder: Of one model, or of models.

    Returns:
        Folder by name of the model.

    Raises:
        DataError: For a missing folder, one without any model, and links to models that lead out of it.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; expected <model>/1st_data/mem_test/<clip>/video.mp4 in it")
    if _is_model(folder):
        return {folder.resolve().name: folder}
    found = {path.name: check_inside(path, folder) for path in list_folder(folder) if path.is_dir() and _is_model(path)}
    if not found:
        raise DataError(f"{folder}: no model in it; expected <model>/1st_data/mem_test/<clip>/video.mp4")
    return found


def _is_model(folder: Path) -> bool:
    return any((folder / f"{perspective}_data").is_dir() for perspective in PERSPECTIVES)


def mirror_folders(submission: Path) -> dict[Perspective, list[str]]:
    """Names of the folders with paths out and back of one model, by perspective.

    The released scorer takes any name. One that cannot be part of an id is left out; its videos are then told as
    videos without a task.

    Args:
        submission: The folder of one model, with `1st_data` or `3rd_data` in it.

    Raises:
        DataError: A folder cannot be listed.
    """
    found: dict[Perspective, list[str]] = {}
    for perspective in PERSPECTIVES:
        place = submission / f"{perspective}_data" / MIRROR
        inside = list_folder(place) if place.is_dir() else []
        found[perspective] = [path.name for path in inside if path.is_dir() and _is_name(path.name)]
    return found


def submitted_paths(perspective: Perspective, name: str) -> list[MindClip]:
    """The ten paths of a folder of a submission, by their definition and in the shared action space.

    Args:
        perspective: First or third person.
        name: Name of the folder.
    """
    folder = Path(f"{perspective}_data", MIRROR, name)
    return [
        MindClip(
            id=f"{folder.as_posix()}/path-{number}",
            folder=folder,
            perspective=perspective,
            part=MIRROR,
            name=name,
            frames=MIRROR_ROWS,
            space=space_of(*SHARED_SPACE),
            path=path,
            number=number,
        )
        for path, number in MIRROR_NUMBERS.items()
    ]


def submitted_path(task: str) -> MindClip:
    """The path of a task's id, such as "1st_data/mirror_test/scene_a/path-3".

    Raises:
        DataError: It is none of the ten.
    """
    top, _, rest = task.partition("/")
    name = rest.removeprefix(f"{MIRROR}/").rpartition("/")[0]
    for perspective in PERSPECTIVES:
        if top == f"{perspective}_data":
            for clip in submitted_paths(perspective, name):
                if clip.id == task:
                    return clip
    raise DataError(f"'{task}' is no path out and back of a submission")


def _is_name(name: str) -> bool:
    try:
        check_name(name, MIRROR)
    except DataError:
        return False
    return True
