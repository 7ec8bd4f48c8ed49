"""Finished videos of world models, as Target-Bench lays them out: one folder a model, one file a scenario."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import check_inside
from worldgauge.models.videos import SUFFIXES
from worldgauge.suites.target.format.scenario import HORIZONS_S, Scenario


@dataclass(frozen=True)
class Matched:
    """Videos of one model matched with the scenarios.

    Attributes:
        videos: File by scenario.
        without_video: Scenarios that have none.
        without_scenario: Names of videos that match no scenario.
    """

    videos: Mapping[str, Path]
    without_video: tuple[str, ...]
    without_scenario: tuple[str, ...]


def model_videos(root: Path, horizon_s: float = 8.0) -> dict[str, dict[str, Path]]:
    """Every model of a folder, {model: {scenario: video}}; every sub-directory is one, also an empty one.

    Names are looked up, never made into paths. Of two videos of one scenario the first by name is listed; the model
    `videos`, which plays them, fails that scenario alone.

    Args:
        root: The folder of the models, or one that holds the folder of this horizon, itself or below `dataset`.
        horizon_s: 8, 6 or 4 seconds.

    Raises:
        DataError: For a missing folder and for links that lead out of it.
    """
    place = videos_folder(root, horizon_s)
    found: dict[str, dict[str, Path]] = {}
    try:
        for folder in sorted(place.iterdir()):
            if not folder.is_dir() or folder.name.startswith("."):
                continue
            check_inside(folder, place)
            videos = found[folder.name] = {}
            for path in sorted(folder.iterdir()):
                if path.suffix.lower() not in SUFFIXES or path.name.startswith(".") or not path.is_file():
                    continue
                check_inside(path, place)
                videos.setdefault(path.stem, path)
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read ({error.strerror})") from error
    return found


def videos_folder(root: Path, horizon_s: float = 8.0) -> Path:
    """Find the folder of the models' videos of a horizon: in `root`, in `root`/dataset, or `root` itself.

    Args:
        root: The folder.
        horizon_s: Horizon, seconds.

    Raises:
        DataError: There is no such folder.
        UsageError: Another horizon.
    """
    root = Path(root)
    if horizon_s not in HORIZONS_S:
        raise UsageError(f"horizon is {horizon_s} s; give one of {', '.join(f'{h:g}' for h in HORIZONS_S)}")
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; expected <model>/<scenario>.mp4 in it")
    late = HORIZONS_S[0] - horizon_s
    name = f"wm_videos_horizon_at_{late:g}s" if late else "wm_videos"
    places = (root / name, root / "dataset" / name)
    return next((place for place in places if place.is_dir()), root)


def match(videos: Mapping[str, Path], scenarios: Iterable[Scenario]) -> Matched:
    """Match videos of one model and scenarios by name; every one without a partner is listed.

    Args:
        videos: Files by name.
        scenarios: The scenarios.
    """
    ids = [scenario.id for scenario in scenarios]
    return Matched(
        videos={id: videos[id] for id in ids if id in videos},
        without_video=tuple(id for id in ids if id not in videos),
        without_scenario=tuple(sorted(set(videos) - set(ids))),
    )
