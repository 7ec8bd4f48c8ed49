"""Finding the clips of a MIND folder, and the videos that its mirror test asks for. What is wrong with one is in it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, UnknownNameError
from worldgauge.core.image import png_size
from worldgauge.core.io import check_inside, check_name, list_folder, natural_key
from worldgauge.core.video import header_frames
from worldgauge.suites.mind.format import clip as clips
from worldgauge.suites.mind.format.action import read_action
from worldgauge.suites.mind.format.clip import MIRROR_NUMBERS, MindClip, Part
from worldgauge.suites.mind.format.sidecar import SideCar, read_sidecar
from worldgauge.suites.mind.walks.mirror import MIRROR_PATHS, Perspective

ACTIONS = "action.json"
VIDEO = "video.mp4"
IMAGES = "images.txt"
SIDECAR = "world.json"
MIRROR_ROWS = 48
DATA_FOLDER = "MIND-Data"


def discover(
    root: Path,
    parts: Sequence[Part] = clips.PARTS,
    perspectives: Sequence[Perspective] = clips.PERSPECTIVES,
) -> list[MindClip]:
    """All clips and mirror videos of a folder, by perspective, part and name; no video is decoded.

    root: the folder `MIND-Data`, or the one that holds it. A perspective or a part that is not there is absent, so the
    list may be empty. What is wrong with one clip is its `fault`; the others are not touched by it.
    Raises DataError when there is no such folder, UnknownNameError for another part or perspective.
    """
    place = data_folder(root)
    found: list[MindClip] = []
    for perspective, part in _asked(parts, perspectives):
        folder = place / clips.part_folder(perspective, part)
        if folder.is_dir():
            find = _mirror_clips if part == "mirror_test" else _recorded_clips
            found += find(place, folder, perspective, part)
    return found


def absent(
    root: Path,
    parts: Sequence[Part] = clips.PARTS,
    perspectives: Sequence[Perspective] = clips.PERSPECTIVES,
) -> tuple[str, ...]:
    """What was asked for of a folder and is not there at all, one line each; no file is opened.

    A perspective that is absent is said once, not for each of its parts. Raises as `discover` does.
    """
    place = data_folder(root)
    said: dict[str, None] = {}
    for perspective, part in _asked(parts, perspectives):
        below = clips.part_folder(perspective, part)
        top = place / below.parts[0]
        if not (place / below).is_dir():
            said[f"{(below if top.is_dir() else Path(top.name)).as_posix()} is not in {place}"] = None
        elif not _holdings(place / below, part):
            what = "start image" if part == "mirror_test" else "clip"
            said[f"{below.as_posix()} in {place} holds no {what}"] = None
    return tuple(said)


def _asked(parts: Sequence[Part], perspectives: Sequence[Perspective]) -> list[tuple[Perspective, Part]]:
    """What was asked for, in the order of the data. Raises UnknownNameError for another part or perspective."""
    for kind, given, known in (("part", parts, clips.PARTS), ("perspective", perspectives, clips.PERSPECTIVES)):
        for name in given:
            if name not in known:
                raise UnknownNameError(f"{kind} of MIND", name, known)
    return [(a, b) for a in clips.PERSPECTIVES if a in perspectives for b in clips.PARTS if b in parts]


def _holdings(folder: Path, part: Part) -> list[Path]:
    """Folders of the clips of a part, of the mirror test its start images."""
    if part == "mirror_test":
        return [path for path in list_folder(folder) if path.suffix.lower() == ".png" and path.is_file()]
    return [path for path in list_folder(folder) if path.is_dir()]


def data_folder(root: Path) -> Path:
    """The folder that holds `1st_data` and `3rd_data`: `root` or `root`/MIND-Data. Raises DataError for no folder."""
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; give the folder {DATA_FOLDER} with 1st_data or 3rd_data in it")
    inner = root / DATA_FOLDER
    has_data = any((root / f"{perspective}_data").is_dir() for perspective in clips.PERSPECTIVES)
    return inner if not has_data and inner.is_dir() else root


def _recorded_clips(place: Path, folder: Path, perspective: Perspective, part: Part) -> Iterator[MindClip]:
    for inner in _holdings(folder, part):
        yield _examined(_Loading(place, inner), _blank(inner.name, inner, perspective, part))


def _blank(name: str, folder: Path, perspective: Perspective, part: Part) -> MindClip:
    """Name and place; a name that cannot be part of an id is replaced by one that can, and is a fault."""
    fault = None
    shown = name
    try:
        check_name(name, f"{perspective}_data/{part}")
    except DataError as error:
        fault = str(error)
        mark = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
        shown = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:100] + f"-{mark}"
    return MindClip(
        id=f"{perspective}_data/{part}/{shown}",
        folder=folder,
        perspective=perspective,
        part=part,
        name=name,
        fault=fault,
        space=clips.space_hint(name),
    )


@dataclass(frozen=True)
class _Loading:
    """A folder of data, and one below it whose files are looked up."""

    place: Path
    folder: Path

    def file(self, name: str) -> Path | None:
        """A file of the folder; None where there is none, DataError for a link that leads out of the data."""
        path = self.folder / name
        return check_inside(path, self.place) if path.is_file() else None

    def needed(self, name: str, what: str) -> Path:
        path = self.file(name)
        if path is None:
            raise DataError(f"{name} is missing: {what}; download it again or remove the folder")
        return path


def _examined(at: _Loading, clip: MindClip) -> MindClip:
    """The clip with all that its files say, or with why it cannot be used."""
    if clip.fault is not None:
        return clip
    try:
        clip = replace(clip, records=at.needed(ACTIONS, "it holds the keys and poses"), sidecar=at.file(SIDECAR))
        caption = at.place / "description" / f"{clip.name}.txt"
        if caption.is_file():
            clip = replace(clip, caption=check_inside(caption, at.place))
        clip = _with_records(clip)
        if clip.sidecar is not None:
            clip = with_sidecar(clip, read_sidecar(clip.sidecar))
        clip = replace(clip, video=at.needed(VIDEO, "it holds the frames"))
        assert clip.video is not None
        frames = _stated_frames(clip.video)
        if frames not in (0, clip.frames):
            raise DataError(f"{VIDEO} has {frames} frames, {ACTIONS} {clip.frames} rows; download both again")
    except (DataError, OSError) as error:
        return replace(clip, fault=told(error, clip.folder))
    return clip


def told(error: Exception, folder: Path) -> str:
    """One line for a fault, with names below `folder`."""
    return str(error).replace(f"{folder}/", "")


def check_size(clip: MindClip, size: tuple[int, int], name: str) -> None:
    """Raises DataError when pictures are not as large as the camera that took them."""
    camera = clip.camera
    if camera is not None and size != (camera.width, camera.height):
        raise DataError(
            f"{name} is {size[0]}x{size[1]}, the camera in {SIDECAR} {camera.width}x{camera.height}; collect it again"
        )


def with_sidecar(clip: MindClip, car: SideCar) -> MindClip:
    """With what our own side-car adds. Raises DataError when it is of the other perspective."""
    if car.perspective != clip.perspective:
        raise DataError(f"{SIDECAR}: perspective '{car.perspective}' lies in {clip.perspective}_data; move the clip")
    return replace(clip, space=car.space, space_known=True, family=car.family, world=car.world, camera=car.camera)


def _with_records(clip: MindClip) -> MindClip:
    """With what the action file says of a recorded clip."""
    assert clip.records is not None
    file = _said(clip.records)
    n, mark = file.rows, file.mark_time
    needed = ("actor_pos", "actor_rpy") if clip.perspective == "1st" else ("actor_pos", "camera_pos", "camera_rpy")
    for name in needed:
        if name not in file.fields:
            raise DataError(f"{ACTIONS}: no row has '{name}', which {clip.perspective}_data needs; download it again")
    if mark is None and clip.part == "train":
        mark = n // 3
    if mark is None:
        raise DataError(f"{ACTIONS}: 'mark_time' is missing; download it again")
    # Clips of the tests need a frame to see and a frame to predict.
    if not (0 <= mark <= n if clip.part == "train" else 0 < mark < n):
        raise DataError(f"{ACTIONS}: mark_time {mark} is not within its {n} rows; download it again")
    return replace(clip, mark_time=mark, frames=n, warnings=(*clip.warnings, *file.warnings))


class _Said(NamedTuple):
    """What an action file says, but for its rows."""

    rows: int
    mark_time: int | None
    fields: frozenset[str]
    warnings: tuple[str, ...]


def _said(path: Path) -> _Said:
    """Raises DataError as `read_action` does; files that were fine are not read again while they do not change."""
    stat = path.stat()
    return _remembered(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4096)
def _remembered(path: Path, size: int, mtime_ns: int) -> _Said:
    file = read_action(path)
    fields = (
        name for name in ("actor_pos", "actor_rpy", "camera_pos", "camera_rpy") if getattr(file, name) is not None
    )
    return _Said(len(file.keys), file.mark_time, frozenset(fields), file.warnings)


def _stated_frames(path: Path) -> int:
    stat = path.stat()
    return _remembered_frames(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4096)
def _remembered_frames(path: Path, size: int, mtime_ns: int) -> int:
    return header_frames(path)


def _mirror_clips(place: Path, folder: Path, perspective: Perspective, part: Part) -> Iterator[MindClip]:
    """Every start image with every path, image by image."""
    pictures = _holdings(folder, part)
    paths = list(_mirror_paths(place, folder)) if pictures else []
    for picture in pictures:
        blank = replace(_blank(picture.stem, folder, perspective, part), space=clips.space_of(*clips.SHARED_SPACE))
        start = _started(_Loading(place, folder), blank, picture)
        for path in paths:
            yield replace(
                start,
                id=f"{start.id}/path-{path.number}",
                path=path.name,
                number=path.number,
                records=path.records,
                frames=path.rows,
                warnings=(*start.warnings, *path.warnings),
                fault=start.fault or path.fault,
            )


def _started(at: _Loading, clip: MindClip, image: Path) -> MindClip:
    """The task of a start image with its side-car, or with why it cannot be used."""
    if clip.fault is not None:
        return clip
    try:
        clip = replace(clip, image=check_inside(image, at.place), sidecar=at.file(f"{clip.name}.{SIDECAR}"))
        size = png_size(image)
        if clip.sidecar is not None:
            car = read_sidecar(clip.sidecar)
            if car.pose is None:
                raise DataError(f"{clip.sidecar}: field 'pose' is null; collect the data again")
            clip = with_sidecar(clip, car)
            check_size(clip, size, image.name)
    except (DataError, OSError) as error:
        return replace(clip, fault=told(error, clip.folder))
    return clip


@dataclass(frozen=True)
class _MirrorPath:
    """One path of a mirror folder. records: its file, None where it is missing or taken from the definition."""

    name: str
    number: int
    rows: int
    records: Path | None = None
    warnings: tuple[str, ...] = ()
    fault: str | None = None


def _mirror_paths(place: Path, folder: Path) -> Iterator[_MirrorPath]:
    """The action files of a folder by number; the ten of the definition where there are none.

    Where some of the ten are there, each of the others is a fault: it was to be asked.
    """
    files = {
        path.stem.removeprefix("-"): path
        for path in list_folder(folder)
        if path.suffix.lower() == ".json" and path.name.startswith("-") and path.is_file()
    }
    if not files:
        warning = "no action files beside the start images: the ten paths are taken from their definition"
        for name, number in MIRROR_NUMBERS.items():
            yield _MirrorPath(name, number, len(defined_keys(name)), warnings=(warning,))
        return
    for name, number in MIRROR_NUMBERS.items():
        if name in files:
            yield _mirror_path(folder, name, number, files[name], [])
        else:
            missing = (folder / f"-{name}.json").relative_to(place).as_posix()
            yield _MirrorPath(name, number, 0, fault=f"{missing} is missing; download it again")
    unknown = sorted(set(files) - set(MIRROR_NUMBERS), key=natural_key)
    for number, name in enumerate(unknown, max(MIRROR_NUMBERS.values()) + 1):
        said = [f"-{name}.json is none of the ten paths: numbered {number}"]
        yield _mirror_path(folder, name, number, files[name], said)


def _mirror_path(folder: Path, name: str, number: int, records: Path, said: list[str]) -> _MirrorPath:
    try:
        check_name(name, records.name)
        file = _said(check_inside(records, folder))
    except (DataError, OSError) as error:
        return _MirrorPath(name, number, 0, records, tuple(said), told(error, folder))
    if file.rows != MIRROR_ROWS:
        said.append(f"{records.name} has {file.rows} rows, published ones {MIRROR_ROWS}")
    return _MirrorPath(name, number, file.rows, records, (*said, *file.warnings))


def defined_keys(name: str) -> NDArray[np.uint8]:
    """Key codes (48, 4) of one of the ten paths, by its definition."""
    return np.asarray(MIRROR_PATHS[name], np.uint8)
