"""Finding the scenarios of a Target-Bench folder, and their labels. What is wrong with one is said in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from worldgauge.core.errors import DataError, UsageError
from worldgauge.suites.target.format import files
from worldgauge.suites.target.format.load import SEGMENT, load
from worldgauge.suites.target.format.scenario import HORIZONS_S, Compat, Label, Scenario

LABELS_FILE = "im_ex_test_only.csv"
INSIDE = ("", "Benchmark", "dataset/Benchmark")
"""Where the scenario folders may lie below the folder that is given."""


def discover(
    root: Path, horizon_s: float = 8.0, *, labels: Path | None = None, compat: Compat = None
) -> list[Scenario]:
    """All scenarios of a folder, sorted by id; cheap: no picture or video is opened.

    root: holds scenario folders, or `Benchmark` or `dataset/Benchmark`. horizon_s: 8, 6 or 4; scenarios of the shorter
    ones begin later, at the frame of `<s>_2s.png` or `<s>_4s.png`, without history and turned to the heading there
    (compat="released": not turned; 4 s from its own csv). labels: a csv; else `im_ex_test_only.csv` beside the data.
    What is wrong with one scenario is its `fault`. Labels beside the data that cannot be read label none, which is a
    warning of every scenario. Raises DataError when there is no such folder or labels that were given cannot be read,
    UsageError for other horizons.
    """
    if horizon_s not in HORIZONS_S:
        raise UsageError(f"horizon is {horizon_s} s; give one of {', '.join(f'{h:g}' for h in HORIZONS_S)}")
    place = scenarios_folder(root)
    known, broken = (load_labels(labels), None) if labels is not None else labels_beside(Path(root))
    split = "benchmark" if place.resolve().name.lower() == "benchmark" else "unknown"
    found = [
        load(folder, horizon_s, compat=compat, label="unknown" if broken else known.get(folder.name))
        for folder in _folders(place)
    ]
    if broken:
        found = [replace(scenario, warnings=(*scenario.warnings, broken)) for scenario in found]
    return [scenario if scenario.split != "unknown" else replace(scenario, split=split) for scenario in found]


def load_labels(path: Path) -> dict[str, Label]:
    """Label of every scenario in a csv with the columns name and is_explicit. Raises DataError naming the row."""
    return files.read_labels(Path(path))


def scenarios_folder(root: Path) -> Path:
    """The folder that holds the scenario folders: `root`, or one of `INSIDE` below it. Raises DataError for none."""
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder")
    places = [root / inside for inside in INSIDE]
    return next((place for place in places if place.is_dir() and _folders(place)), root)


def labels_file(root: Path) -> Path | None:
    """The labels that lie in `root`, beside the scenario folders or one folder above them."""
    place = scenarios_folder(root)
    found = (folder / LABELS_FILE for folder in dict.fromkeys((Path(root), place, place.parent)))
    return next((path for path in found if path.is_file()), None)


def labels_beside(root: Path) -> tuple[dict[str, Label], str | None]:
    """The labels that lie with the data, and why they cannot be read, if so: nobody asked for that file."""
    path = labels_file(root)
    try:
        return ({} if path is None else load_labels(path)), None
    except DataError as error:
        return {}, f"no label is known: {error}"


def _folders(place: Path) -> list[Path]:
    """Folders that are scenarios, also broken ones: by their name, or by a file that carries it."""
    found = []
    for folder in sorted(place.iterdir()):
        if folder.name.startswith(".") or not folder.is_dir():
            continue
        if SEGMENT.fullmatch(folder.name) or any(
            (folder / f"{folder.name}_{end}").exists() for end in ("trajectory.csv", "metadata.json", "caption.txt")
        ):
            found.append(folder)
    return found
