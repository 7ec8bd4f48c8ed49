"""Episodes of image-goal navigation, their file and their goal images."""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import number_of, short, whole_of
from worldgauge.core.errors import DataError
from worldgauge.core.image import Image, decode_png, png
from worldgauge.core.io import atomic_file, check_inside, list_folder
from worldgauge.engine.collection import grouped, spread
from worldgauge.suites.worldinworld.format.contract import (
    VERSION,
    EpisodeCheck,
    EpisodeFault,
    FoundFiles,
    HomeFormat,
    Worlds,
    distinct,
    place_fields,
    put_json,
)
from worldgauge.suites.worldinworld.format.files import bytes_of, image_size, members_of
from worldgauge.suites.worldinworld.format.rows import EpisodeRow, eye_of, id_of, stance_of, text_of
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M, STEP_M, Stance

GOAL_RADIUS_M = 0.5
"""A walker within this distance of the goal has arrived."""
HIDDEN = 2
"""Design of episodes whose goal is out of sight."""
_SLACK_M = 0.01
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of every member of a zip, which can be no earlier."""


@dataclass(frozen=True)
class NavigationEpisode:
    """Go to where a picture was taken; `design` 1: the goal is anywhere, 2 (`HIDDEN`): out of sight, not straight."""

    id: str
    scene: str
    start: Stance
    goal: Stance
    radius_m: float = GOAL_RADIUS_M
    step_to_goal: int = 0
    goal_image: Path | None = None
    height_m: float = EYE_HEIGHT_M
    design: int = 1


class NavigationFormat(HomeFormat[NavigationEpisode]):
    """navigation/episodes.json with a zip of goal images; published: IGNav/."""

    kind, key = "navigation", "data"
    contents: ClassVar[Mapping[str, str]] = {"navigation": "navigation episodes"}
    folders = ("navigation", "IGNav")
    published = 144
    measures: ClassVar[Mapping[str, str]] = {"straight_m": "straight,\nm", "steps": "steps"}
    measures_note = "straight: as the crow flies from start to goal; steps: of the reference path"
    discordance = 0.18

    def read(self, row: EpisodeRow) -> NavigationEpisode:
        """Read one episode; `completed` finds its image."""
        return NavigationEpisode(
            id=id_of(row, "datum_id"),
            scene=text_of(row, "scene_relpath"),
            start=stance_of(row, "start"),
            goal=stance_of(row, "goal"),
            radius_m=number_of(row, "goal_radius", 1e-3, 100.0) if "goal_radius" in row else GOAL_RADIUS_M,
            step_to_goal=whole_of(row, "step_to_goal", 0, 100_000),
            height_m=eye_of(row),
            design=whole_of(row, "design", 1, HIDDEN) if "design" in row else 1,
        )

    def completed(self, found: FoundFiles, episodes: Iterator[NavigationEpisode]) -> Iterator[NavigationEpisode]:
        """Each episode with the place of its goal image, where there is one."""
        if "navigation" not in found.parts:
            return
        path, value = found.parts["navigation"]
        image_names = {
            str(row.get("datum_id")): row.get("goal_image_relpath") for row in value["data"] if isinstance(row, dict)
        }
        images = _Images(path.parent)
        missing = []
        for episode in episodes:
            name = image_names.get(episode.id)
            name = f"images/{episode.id}.png" if name is None else name
            if not isinstance(name, str) or not _harmless(name):
                text = f"{path.name}: field 'goal_image_relpath' is {short(name)}; give a name such as images/7.png"
                found.faults.append(EpisodeFault(self.kind, episode.id, text))
                continue
            where = images.find(name)
            if where is None:
                missing.append(episode.id)
            yield replace(episode, goal_image=where)
        if missing:
            many = f"{len(missing)} navigation episodes have" if len(missing) > 1 else "1 navigation episode has"
            zips = ", ".join(packed.name for packed in images.packed) or "no zip is there"
            found.notes.append(f"{many} no goal image beside {path.name} (first: {missing[0]}; {zips})")

    def places(self, episode: NavigationEpisode) -> Mapping[str, Stance]:
        """Start and goal."""
        return {"start": episode.start, "goal": episode.goal}

    def check(self, episodes: Sequence[NavigationEpisode], worlds: Worlds, *, decode: bool) -> EpisodeCheck:
        """Goal images, and how far the goals are."""
        images, errors = _of_images(episodes, decode)
        return EpisodeCheck(
            findings=(
                *grouped("error", "not usable", errors, "episode"),
                *grouped("warning", "odd", _odd(episodes), "episode"),
            ),
            pictures=images,
            means={
                "straight_m": spread(_apart(one.start, one.goal) for one in episodes),
                "steps": spread(one.step_to_goal for one in episodes),
            },
        )


def write_navigation(
    root: Path, episodes: Iterable[NavigationEpisode], images: Mapping[str, NDArray[np.uint8]]
) -> Path:
    """Write <root>/navigation/episodes.json and goal_images.zip; RGB panoramas by id are read one at a time."""
    unique = distinct(episodes)
    folder = Path(root) / "navigation"
    missing = [episode.id for episode in unique if episode.id not in images]
    if missing:
        raise DataError(f"{folder}: {len(missing)} episodes have no goal image (first: {missing[0]}); render them")

    # The images come first: whoever finds episodes finds their images. Stored: PNG is packed already.
    with atomic_file(folder / "goal_images.zip") as file, zipfile.ZipFile(file, "w") as packed:
        for episode in unique:
            packed.writestr(zipfile.ZipInfo(_image_name(episode.id), _LONG_AGO), png(images[episode.id]))
    content = {
        "version": VERSION,
        "num_items": len(unique),
        "meta": {"goal_images": "equirectangular, centre column along goal_rotation"},
        "data": [_row(number, episode) for number, episode in enumerate(unique)],
    }
    return put_json(folder / "episodes.json", content)


def goal_image(episode: NavigationEpisode) -> Image:
    """The panorama (H, W, 3) uint8 RGB that was taken at the goal."""
    if episode.goal_image is None:
        raise DataError(f"{episode.id}: no goal image; put images/{episode.id}.png into a zip beside the episodes")
    return decode_png(bytes_of(episode.goal_image), str(episode.goal_image))


def _row(number: int, episode: NavigationEpisode) -> dict[str, Any]:
    return {
        "datum_id": episode.id,
        "episode_id": number,
        "scene_relpath": episode.scene,
        "goal_image_relpath": _image_name(episode.id),
        **place_fields("start", episode.start),
        **place_fields("goal", episode.goal),
        "goal_radius": episode.radius_m,
        "step_to_goal": episode.step_to_goal,
        "camera_height": episode.height_m,
        **({} if episode.design == 1 else {"design": episode.design}),
    }


def _image_name(id: str) -> str:
    return f"images/{id}.png"


def _harmless(name: str) -> bool:
    """Whether a name stays in the folder it is looked up in."""
    parts = PurePosixPath(name).parts
    plain = re.fullmatch(r"[A-Za-z0-9._/ -]{1,300}", name) is not None
    return plain and bool(parts) and not name.startswith("/") and ".." not in parts


class _Images:
    """The goal images of a folder: in zips, or unpacked in it or one folder below."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.packed = [path for path in list_folder(folder) if path.suffix.lower() == ".zip" and path.is_file()]
        self._below = [folder, *(path for path in list_folder(folder) if path.is_dir())]
        self._names: dict[str, list[tuple[Path, str]]] = {}
        for path in self.packed:
            for name in members_of(check_inside(path, folder)):
                self._names.setdefault(PurePosixPath(name).name, []).append((path, name))

    def find(self, name: str) -> Path | None:
        for packed, inner in sorted(self._names.get(PurePosixPath(name).name, ())):
            # A zip may have been made of the folder around its images.
            if (inner == name or inner.endswith(f"/{name}")) and _harmless(inner):
                return packed / inner
        plain = (folder / name for folder in self._below)
        return next((check_inside(path, self.folder) for path in plain if path.is_file()), None)


def _of_images(episodes: Sequence[NavigationEpisode], decode: bool) -> tuple[int, list[tuple[str, str]]]:
    """How many goal images there are, and what is wrong with them."""
    count = 0
    errors: list[tuple[str, str]] = []
    for episode in episodes:
        if episode.goal_image is None:
            continue
        try:
            width, height = image_size(episode.goal_image)
            if decode:
                goal_image(episode)
        except DataError as error:
            errors.append((episode.id, str(error).replace(f"{episode.goal_image.parent}/", "")))
            continue
        count += 1
        if width <= height:
            errors.append((episode.id, f"the goal image is {width}x{height}, which cannot be a panorama"))
    return count, errors


def _odd(episodes: Sequence[NavigationEpisode]) -> Iterator[tuple[str, str]]:
    for episode in episodes:
        apart = _apart(episode.start, episode.goal)
        if apart <= episode.radius_m:
            yield episode.id, f"the start is {apart:.2f} m from the goal, within its radius: nothing is to be done"
        elif episode.step_to_goal * STEP_M < apart - episode.radius_m - _SLACK_M:
            yield episode.id, f"{episode.step_to_goal} steps cannot lead over {apart:.2f} m to the goal"


def _apart(one: Stance, other: Stance) -> float:
    return math.hypot(one.x - other.x, one.y - other.y)
