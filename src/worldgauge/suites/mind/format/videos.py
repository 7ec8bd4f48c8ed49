"""Finished videos of world models in MIND's submission layout (specification, section 2).

<model>/1st_data/mem_test/<clip>/video.mp4, .../action_space_test/<clip>/video.mp4, .../mirror_test/<start>/path-<n>.mp4
"""

from __future__ import annotations

from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.core.io import check_inside, list_folder
from worldgauge.suites.mind.format.clip import PERSPECTIVES


def submissions(folder: Path) -> dict[str, Path]:
    """The models of a folder by name, each with the folder that holds its `1st_data` or `3rd_data`.

    folder: of one model, or of models. Raises DataError for a missing folder, for one without any model, and for links
    to models that lead out of it.
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
