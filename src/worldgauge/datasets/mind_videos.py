"""Finished videos of world models in MIND's submission layout (specification, section 2).

<model>/1st_data/mem_test/<clip>/video.mp4, .../action_space_test/<clip>/video.mp4, .../mirror_test/<start>/path-<n>.mp4
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from worldgauge.datasets.foreign import check_inside, listed
from worldgauge.datasets.mind_clip import PARTS, PERSPECTIVES, Part, Perspective
from worldgauge.errors import DataError

SUFFIXES = (".mp4", ".avi", ".mkv", ".webm", ".mov")
TESTS: tuple[Part, ...] = tuple(part for part in PARTS if part != "train")
_PATH = re.compile(r"path-([1-9]\d{0,5})")


def model_videos(folder: Path) -> dict[str, dict[str, Path]]:
    """Every model of a folder, {model: {task id: video}}, ids in the order of the data.

    folder: of one model, which holds `1st_data` or `3rd_data`, or of models. A perspective or test that is not there
    is absent. Ids are such as "1st_data/mem_test/data-25" and "1st_data/mirror_test/data-3/path-7".
    Names are looked up, never made into paths. Raises DataError for a missing folder, one without any model, and links
    that lead out of it.
    """
    return {name: dict(_videos(root)) for name, root in submissions(folder).items()}


def submissions(folder: Path) -> dict[str, Path]:
    """The models of a folder by name, each with the folder that holds its `1st_data` or `3rd_data`.

    Raises DataError for a missing folder and for one without any model.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; expected <model>/1st_data/mem_test/<clip>/video.mp4 in it")
    if _is_model(folder):
        return {folder.resolve().name: folder}
    found = {path.name: check_inside(path, folder) for path in listed(folder) if path.is_dir() and _is_model(path)}
    if not found:
        raise DataError(f"{folder}: no model in it; expected <model>/1st_data/mem_test/<clip>/video.mp4")
    return found


def strays(root: Path) -> tuple[str, ...]:
    """What lies in the folder of a model and is no video of a task, relative to it: nothing is passed over in silence.

    Of a folder without any video the folder is named. Raises DataError for links that lead out of it.
    """
    root = Path(root)
    taken = {path for _, path in _videos(root)}
    return tuple(path.relative_to(root).as_posix() for path in _unused(root, taken))


def _is_model(folder: Path) -> bool:
    return any((folder / f"{perspective}_data").is_dir() for perspective in PERSPECTIVES)


def _videos(root: Path) -> Iterator[tuple[str, Path]]:
    """Task id and video of everything in its place."""
    for perspective in PERSPECTIVES:
        for part in TESTS:
            place = _place(root, perspective, part)
            for folder in listed(place) if place is not None else ():
                for name, path in _files(folder, part) if folder.is_dir() else ():
                    yield f"{perspective}_data/{part}/{folder.name}{name}", check_inside(path, root)


def _place(root: Path, perspective: Perspective, part: Part) -> Path | None:
    """The folder of a test: as submitted, or below `test` as in the data."""
    top = root / f"{perspective}_data"
    return next((place for place in (top / part, top / "test" / part) if place.is_dir()), None)


def _files(folder: Path, part: Part) -> Iterator[tuple[str, Path]]:
    """End of the id and video of what a folder of one clip or start image holds; of two the first by name."""
    seen = set()
    for path in listed(folder):
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            continue
        is_path = part == "mirror_test" and _PATH.fullmatch(path.stem)
        if path.stem not in seen and (is_path or (part != "mirror_test" and path.stem == "video")):
            seen.add(path.stem)
            yield (f"/{path.stem}" if is_path else ""), path


def _unused(folder: Path, taken: set[Path]) -> Iterator[Path]:
    """Files below `folder` that are not taken, and folders without any file."""
    entries = listed(folder)
    if not entries:
        yield folder
    for path in entries:
        if path.is_dir() and not path.is_symlink():
            yield from _unused(path, taken)
        elif path not in taken:
            yield path
