"""Reading MIND data: finding the clips of a folder, and loading one as an Episode in our frame."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import Actions
from worldgauge.core.episode import Episode
from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import png_size, read_png
from worldgauge.core.io import (
    cached_by_stamp,
    check_inside,
    check_name,
    digest_of,
    digest_or_fault,
    list_folder,
    natural_key,
    read_caption,
)
from worldgauge.core.video import Clip, header_frames
from worldgauge.suites.mind.actions import MIRROR_PATHS, Perspective, actions_of, space_of
from worldgauge.suites.mind.format import files
from worldgauge.suites.mind.format.files import MindClip, Part
from worldgauge.worlds.recorded import RECORDED, facts_of, read_truth, truth_beside, with_truth


def discover(
    root: Path, parts: Sequence[Part] = files.PARTS, perspectives: Sequence[Perspective] = files.PERSPECTIVES
) -> list[MindClip]:
    """All clips and mirror videos by perspective, part and name, without decoding; errors become a clip's `fault`."""
    place = files.data_folder(root)
    return [
        clip
        for perspective, part in _asked(parts, perspectives)
        for clip in _clips_of(place, perspective, part, _holdings(place / files.part_folder(perspective, part), part))
    ]


def find(root: Path, id: str) -> MindClip | None:
    """One clip of a folder by its id, without opening any other; None where there is none."""
    place = files.data_folder(root)
    for perspective, part in _asked(files.PARTS, files.PERSPECTIVES):
        top, named, name, *_ = [*id.split("/"), "", ""]
        if (top, named) == (f"{perspective}_data", part):
            held = _holdings(place / files.part_folder(perspective, part), part, name)
            return next((clip for clip in _clips_of(place, perspective, part, held) if clip.id == id), None)
    return None


def absent(
    root: Path, parts: Sequence[Part] = files.PARTS, perspectives: Sequence[Perspective] = files.PERSPECTIVES
) -> tuple[str, ...]:
    """What is missing completely from a folder, one line each (a perspective once, not per part); no file is opened."""
    place = files.data_folder(root)
    said: dict[str, None] = {}
    for perspective, part in _asked(parts, perspectives):
        below = files.part_folder(perspective, part)
        top = place / below.parts[0]
        if not (place / below).is_dir():
            said[f"{(below if top.is_dir() else Path(top.name)).as_posix()} is not in {place}"] = None
        elif not _holdings(place / below, part):
            what = "start image" if part == "mirror_test" else "clip"
            said[f"{below.as_posix()} in {place} holds no {what}"] = None
    return tuple(said)


def _asked(parts: Sequence[Part], perspectives: Sequence[Perspective]) -> list[tuple[Perspective, Part]]:
    """What was asked for, in the order of the data. Raises UnknownNameError for another part or perspective."""
    for kind, given, known in (("part", parts, files.PARTS), ("perspective", perspectives, files.PERSPECTIVES)):
        for name in given:
            if name not in known:
                raise UnknownNameError(f"{kind} of MIND", name, known)
    return [(a, b) for a in files.PERSPECTIVES if a in perspectives for b in files.PARTS if b in parts]


def _holdings(folder: Path, part: Part, name: str = "") -> list[Path]:
    """Folders of the clips of a part, of the mirror test its start images: all of them, or those with this name."""
    if not folder.is_dir():
        return []
    if part == "mirror_test":
        pictures = (path for path in list_folder(folder) if path.suffix.lower() == ".png")
        return [path for path in pictures if name in ("", path.stem) and path.is_file()]
    return [path for path in list_folder(folder) if name in ("", path.name) and path.is_dir()]


def _clips_of(place: Path, perspective: Perspective, part: Part, held: Sequence[Path]) -> Iterator[MindClip]:
    if part == "mirror_test":
        yield from _mirror_clips(place, place / files.part_folder(perspective, part), perspective, part, held)
        return
    for inner in held:
        yield _examined(_Loading(place, inner), _blank(inner.name, inner, perspective, part))


def _blank(name: str, folder: Path, perspective: Perspective, part: Part) -> MindClip:
    """Name and place; a name that cannot be part of an id is replaced by one that can, and is a fault."""
    fault = None
    shown = name
    try:
        check_name(name, f"{perspective}_data/{part}")
    except DataError as error:
        fault = str(error)
        mark = digest_of(name.encode("utf-8", "surrogateescape"))[:8]
        shown = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:100] + f"-{mark}"
    return MindClip(
        id=f"{perspective}_data/{part}/{shown}",
        folder=folder,
        perspective=perspective,
        part=part,
        name=name,
        fault=fault,
        space=files.space_hint(name),
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
        clip = replace(
            clip, records=at.needed(files.ACTIONS, "it holds the keys and poses"), sidecar=at.file(files.SIDECAR)
        )
        caption = at.place / "description" / f"{clip.name}.txt"
        if caption.is_file():
            clip = replace(clip, caption=check_inside(caption, at.place))
        clip = _with_records(clip)
        if clip.sidecar is not None:
            clip = with_sidecar(clip, files.read_sidecar(clip.sidecar))
        video = at.needed(files.VIDEO, "it holds the frames")
        clip = replace(clip, video=video)
        if (truth := truth_beside(video)) is not None:
            read_truth(truth)
            clip = replace(clip, world=facts_of(truth), camera=None)
        if (frames := _stated_frames(video)) not in (0, clip.frames):
            frames = _shown_frames(video)  # a header also counts frames that a cut left hidden
        if abs(frames - clip.frames) == 1:
            odd = f"{files.VIDEO} has {frames} frames, {files.ACTIONS} {clip.frames} rows: what both have counts"
            clip = replace(clip, frames=min(frames, clip.frames), warnings=(*clip.warnings, odd))
        elif frames not in (0, clip.frames):
            raise DataError(
                f"{files.VIDEO} has {frames} frames, {files.ACTIONS} {clip.frames} rows; download both again"
            )
    except (DataError, OSError) as error:
        return replace(clip, fault=told(error, clip.folder))
    return clip


def told(error: Exception, folder: Path) -> str:
    """Describe a fault in one line, with file names relative to a folder."""
    return str(error).replace(f"{folder}/", "")


def check_size(clip: MindClip, size: tuple[int, int], name: str) -> None:
    """Check that pictures have the size of the camera that took them."""
    camera = clip.camera
    if camera is not None and size != (camera.width, camera.height):
        has, needs = (f"{width}x{height}" for width, height in (size, (camera.width, camera.height)))
        raise DataError(f"{name} is {has}, the camera in {files.SIDECAR} {needs}; collect it again")


def with_sidecar(clip: MindClip, car: files.ClipSideCar) -> MindClip:
    """Add to a clip what our own side-car says."""
    if car.perspective != clip.perspective:
        raise DataError(
            f"{files.SIDECAR}: perspective '{car.perspective}' lies in {clip.perspective}_data; move the clip"
        )
    return replace(clip, space=car.space, space_known=True, family=car.family, world=car.world, camera=car.camera)


def _with_records(clip: MindClip) -> MindClip:
    """With what the action file says of a recorded clip."""
    assert clip.records is not None
    file = _said(clip.records)
    n, mark = file.rows, file.mark_time
    needed = ("actor_pos", "actor_rpy") if clip.perspective == "1st" else ("actor_pos", "camera_pos", "camera_rpy")
    for name in needed:
        if name not in file.fields:
            raise DataError(
                f"{files.ACTIONS}: no row has '{name}', which {clip.perspective}_data needs; download it again"
            )
    if mark is None and clip.part == "train":
        mark = n // 3
    if mark is None:
        raise DataError(f"{files.ACTIONS}: 'mark_time' is missing; download it again")
    # Clips of the tests need a frame to see and a frame to predict.
    if not (0 <= mark <= n if clip.part == "train" else 0 < mark < n):
        raise DataError(f"{files.ACTIONS}: mark_time {mark} is not within its {n} rows; download it again")
    total = n if file.total_time is None else file.total_time
    return replace(clip, mark_time=mark, frames=n, total_time=total, warnings=(*clip.warnings, *file.warnings))


class _Said(NamedTuple):
    """What an action file says, but for its rows."""

    rows: int
    mark_time: int | None
    total_time: int | None
    fields: frozenset[str]
    warnings: tuple[str, ...]


@cached_by_stamp(maxsize=4096)
def _said(path: Path) -> _Said:
    """Raises DataError as `read_action` does."""
    file = files.read_action(path)
    fields = (
        name for name in ("actor_pos", "actor_rpy", "camera_pos", "camera_rpy") if getattr(file, name) is not None
    )
    return _Said(len(file.keys), file.mark_time, file.total_time, frozenset(fields), file.warnings)


_stated_frames = cached_by_stamp(maxsize=4096)(header_frames)
_shown_frames = cached_by_stamp(maxsize=4096)(lambda path: len(Clip.open(path, fps=files.FPS)))


def _mirror_clips(
    place: Path, folder: Path, perspective: Perspective, part: Part, pictures: Sequence[Path]
) -> Iterator[MindClip]:
    """Every start image with every path, image by image."""
    paths = list(_mirror_paths(place, folder)) if pictures else []
    for picture in pictures:
        blank = replace(_blank(picture.stem, folder, perspective, part), space=space_of(*files.SHARED_SPACE))
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
        clip = replace(clip, image=check_inside(image, at.place), sidecar=at.file(f"{clip.name}.{files.SIDECAR}"))
        size = png_size(image)
        if clip.sidecar is not None:
            car = files.read_sidecar(clip.sidecar)
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
    """The action files of a folder by number, or the ten of the definition; if some exist, a missing one is a fault."""
    held = {
        path.stem.removeprefix("-"): path
        for path in list_folder(folder)
        if path.suffix.lower() == ".json" and path.name.startswith("-") and path.is_file()
    }
    if not held:
        warning = "no action files next to the start images: the ten paths are taken from their definition"
        for name, number in files.MIRROR_NUMBERS.items():
            yield _MirrorPath(name, number, len(defined_keys(name)), warnings=(warning,))
        return
    for name, number in files.MIRROR_NUMBERS.items():
        if name in held:
            yield _mirror_path(folder, name, number, held[name], [])
        else:
            missing = (folder / f"-{name}.json").relative_to(place).as_posix()
            yield _MirrorPath(name, number, 0, fault=f"{missing} is missing; download it again")
    unknown = sorted(set(held) - set(files.MIRROR_NUMBERS), key=natural_key)
    for number, name in enumerate(unknown, max(files.MIRROR_NUMBERS.values()) + 1):
        said = [f"-{name}.json is none of the ten paths: numbered {number}"]
        yield _mirror_path(folder, name, number, held[name], said)


def _mirror_path(folder: Path, name: str, number: int, records: Path, said: list[str]) -> _MirrorPath:
    try:
        check_name(name, records.name)
        file = _said(check_inside(records, folder))
    except (DataError, OSError) as error:
        return _MirrorPath(name, number, 0, records, tuple(said), told(error, folder))
    if file.rows != files.MIRROR_ROWS:
        said.append(f"{records.name} has {file.rows} rows, published ones {files.MIRROR_ROWS}")
    return _MirrorPath(name, number, file.rows, records, (*said, *file.warnings))


def defined_keys(name: str) -> NDArray[np.uint8]:
    """Key codes (48, 4) of one of the ten paths, from its definition."""
    return np.asarray(MIRROR_PATHS[name], np.uint8)


HORIZONTAL_FOV_DEG = 90.0
"""Of published clips, and of what is collected: the engine's default. Nobody published the cameras."""


def load(clip: MindClip) -> Episode:
    """Read a clip as an Episode in our frame; frames are decoded when needed.

    Row t of the actions is row t + 1 of the file. Poses are the camera's; `arm_angles` refines them in third person. A
    mirror task gives only its start image, at the side-car's pose, else the origin along +x (facts["pose_known"]).
    Published cameras are assumed to see 90 degrees, which is not verified (facts["camera_known"]).
    """
    if clip.fault is not None:
        raise DataError(f"{clip.id}: {clip.fault}")
    return _start(clip) if clip.part == "mirror_test" else _recording(clip)


def keys_of(clip: MindClip) -> NDArray[np.uint8]:
    """Key codes (T, 4) of a recorded clip, columns ws, ad, ud, lr; row t led to frame t."""
    return _file_of(clip).keys


def mirror_keys(clip: MindClip) -> NDArray[np.uint8]:
    """Key codes (n, 4) of a mirror task; row k leads to frame k of its video. Published ones have 48 rows."""
    if clip.path is None:
        raise UsageError(f"{clip.id}: not a mirror task; its keys are keys_of(clip)")
    by_definition = clip.records is None and clip.fault is None
    return defined_keys(clip.path) if by_definition else _file_of(clip).keys


def mirror_actions(clip: MindClip) -> Actions:
    """The same keys as actions in the clip's space: n rows, of which row 0 acts on the start image."""
    return actions_of(mirror_keys(clip), clip.space)


def video_path(clip: MindClip) -> Path:
    """The real video of a recorded clip."""
    if clip.video is None:
        raise DataError(f"{clip.id}: {clip.fault or 'has no video'}")
    return clip.video


def poses_of_file(file: files.ActionFile, perspective: Perspective, where: str) -> FloatArray:
    """The camera-to-world poses (T, 4, 4) of an action file."""
    if perspective == "1st":
        position, angles = file.actor_pos, file.actor_rpy
    else:
        position, angles = file.camera_pos, file.camera_rpy
        if position is not None and angles is not None and file.actor_pos is not None:
            angles, _ = files.arm_angles(file.actor_pos, position, angles)
    if position is None or angles is None:
        raise DataError(f"{where}: no row has the camera's position and angles; download it again")
    return files.our_pose(position, angles)


def fingerprint_of(clip: MindClip) -> str:
    """SHA-256 over all that defines a task: place, keys, poses and world, and the content of video or image."""
    facts = [
        [clip.id, clip.part, clip.mark_time, clip.frames, clip.steps, clip.path, clip.number, clip.fault],
        [clip.family, clip.space_known],
    ]
    whole = hashlib.sha256(json.dumps(facts, sort_keys=True, allow_nan=False).encode())
    for path in (clip.records, clip.sidecar, clip.video, clip.image, clip.caption):
        whole.update(digest_or_fault(path))
    if clip.path is not None and clip.records is None:
        whole.update(defined_keys(clip.path).tobytes())
    if clip.world is not None and clip.world.name == RECORDED:
        whole.update(str(clip.world.digest).encode())
    return whole.hexdigest()


def _recording(clip: MindClip) -> Episode:
    file, video = _file_of(clip), Clip.open(video_path(clip))
    count = min(len(video), len(file.keys))
    if max(len(video), len(file.keys)) - count > 1:
        raise DataError(f"{clip.video}: {len(video)} frames, but {len(file.keys)} rows in {clip.records}")
    check_size(clip, (video.width, video.height), str(clip.video))
    episode = Episode(
        id=clip.id,
        clip=video[:count],
        poses=poses_of_file(file, clip.perspective, str(clip.records))[:count],
        actions=actions_of(file.keys[1:count], clip.space),
        camera=clip.camera or Camera.from_horizontal_fov(video.width, video.height, HORIZONTAL_FOV_DEG),
        world=clip.world,
        facts=_facts(clip) | {"pose_known": True, "caption": file.caption or _caption(clip)},
    )
    return with_truth(episode)


def _start(clip: MindClip) -> Episode:
    if clip.image is None:
        raise DataError(f"{clip.id}: has no start image")
    image = read_png(clip.image)
    car = None if clip.sidecar is None else files.read_sidecar(clip.sidecar)
    pose = None if car is None else car.pose
    known = pose is not None
    height, width = image.shape[:2]
    check_size(clip, (width, height), str(clip.image))
    return Episode(
        id=clip.id,
        clip=Clip.from_array(image[None], files.FPS),
        poses=np.asarray(pose_from_yaw_pitch((0.0, 0.0, 0.0), 0.0) if pose is None else pose)[None],
        actions=mirror_actions(clip)[:0],
        camera=clip.camera or Camera.from_horizontal_fov(width, height, HORIZONTAL_FOV_DEG),
        world=clip.world,
        facts=_facts(clip) | {"pose_known": known, "caption": _caption(clip), "path": clip.path, "number": clip.number},
    )


def _facts(clip: MindClip) -> dict[str, Any]:
    delta_r, delta_p = clip.steps
    extra: Mapping[str, Any] = {} if clip.sidecar is None else files.read_sidecar(clip.sidecar).facts
    return {
        **extra,
        "perspective": clip.perspective,
        "part": clip.part,
        "name": clip.name,
        "mark_time": clip.mark_time,
        "family": clip.family,
        "delta_r_deg": delta_r,
        "delta_p_cm_s": delta_p,
        "space_known": clip.space_known,
        "camera_known": clip.camera is not None or (clip.world is not None and clip.world.name == RECORDED),
    }


def _caption(clip: MindClip) -> str:
    return "" if clip.caption is None else read_caption(clip.caption)


def _file_of(clip: MindClip) -> files.ActionFile:
    if clip.records is None:
        raise DataError(f"{clip.id}: {clip.fault or 'has no action file'}")
    return files.read_action(clip.records)
