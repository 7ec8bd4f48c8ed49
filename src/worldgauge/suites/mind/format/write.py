"""Writing clips in MIND's published layout, and finding the videos that a model submitted in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray, wrap_angle
from worldgauge.core.image import Image, write_png
from worldgauge.core.io import atomic_folder, check_inside, check_name, list_folder, write_file
from worldgauge.core.video import Kind, Writer
from worldgauge.perception.colmap import write_images_txt
from worldgauge.suites.mind.actions import MIRROR_PATHS, Perspective, space_of
from worldgauge.suites.mind.format import files
from worldgauge.suites.mind.format.files import MindClip, Part
from worldgauge.suites.mind.format.read import poses_of_file

if TYPE_CHECKING:
    from worldgauge.core.actions import ActionSpace
    from worldgauge.suites.mind.key_walks import KeyWalk


LISTED_FRAMES = 97
"""Poses in images.txt, from mark_time on: those that the released scorer compares."""


def write_clip(
    root: Path,
    *,
    perspective: Perspective,
    part: Part,
    name: str,
    walk: KeyWalk,
    frames: Iterable[Image],
    world: WorldFacts,
    camera: Camera,
    family: str,
    mark_time: int,
    facts: Mapping[str, Any],
    kind: Kind = "archive",
    beside: Callable[[Path], None] | None = None,
) -> Path:
    """Write a walk as a clip of a part, replacing one of that name; test clips get an images.txt of true poses.

    Render `frames` from `stored_poses(walk)`: a reader gets these to the last bit. `beside` writes what belongs to the
    video.
    """
    n = len(walk.keys)
    where = f"{perspective}_data/{part}"
    if part == "mirror_test":
        raise DataError(f"{where}: holds start images and paths; write them with write_mirror_start")
    if walk.perspective != perspective:
        raise DataError(f"{where}/{name}: the walk was taken in {walk.perspective} person")
    if not 0 < mark_time < n:
        raise DataError(f"{where}/{name}: mark_time {mark_time} is not within its {n} rows")
    folder = Path(root) / files.part_folder(perspective, part) / check_name(name, where)
    car = files.ClipSideCar(world, camera, family, walk.space, perspective, facts)
    with atomic_folder(folder) as new:
        (new / files.SIDECAR).write_text(files.sidecar_text(car), encoding="utf-8")
        text = _text_of(walk, mark_time)
        (new / files.ACTIONS).write_text(text, encoding="utf-8")
        if part != "train":
            poses = poses_of_file(files.parse_action(text.encode(), files.ACTIONS), perspective, files.ACTIONS)
            write_images_txt(new / files.IMAGES, poses[mark_time : mark_time + LISTED_FRAMES])
        with Writer(new / files.VIDEO, fps=files.FPS, kind=kind) as video:
            for chunk in frames:
                video.write(chunk)
            if video.frames != n:
                raise DataError(f"{folder}: {video.frames} frames for a walk of {n}; render one frame a pose")
        if beside is not None:
            beside(new / files.VIDEO)
    return folder


def stored_poses(walk: KeyWalk) -> FloatArray:
    """The poses (T, 4, 4) of a walk as a reader of its files gets them, within 1e-9 m of `walk.poses`."""
    return poses_of_file(files.parse_action(_text_of(walk, 1).encode(), files.ACTIONS), walk.perspective, files.ACTIONS)


def write_mirror_start(
    root: Path,
    *,
    perspective: Perspective,
    name: str,
    image: Image,
    pose: FloatArray,
    world: WorldFacts,
    camera: Camera,
    family: str,
    space: ActionSpace,
    facts: Mapping[str, Any] | None = None,
) -> Path:
    """Write a start image and its side-car. The side-car comes first, so an image that is there is complete."""
    where = f"{perspective}_data/mirror_test"
    folder = Path(root) / files.part_folder(perspective, "mirror_test")
    path = folder / f"{check_name(name, where)}.png"
    part = folder / f".{path.name}.part"
    car = files.ClipSideCar(world, camera, family, space, perspective, facts or {}, np.asarray(pose, np.float64))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        write_file(folder / f"{name}.{files.SIDECAR}", files.sidecar_text(car))
        write_png(part, image)
        os.replace(part, path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        part.unlink(missing_ok=True)
    return path


def write_mirror_actions(root: Path, perspective: Perspective) -> list[Path]:
    """Write the ten paths of a perspective as action files, with zero poses as in the published ones."""
    folder = Path(root) / files.part_folder(perspective, "mirror_test")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror or error})") from error
    fields = ["actor_pos", "actor_rpy"] + (["camera_pos", "camera_rpy"] if perspective == "3rd" else [])
    written = []
    for name, keys in MIRROR_PATHS.items():
        path = folder / f"-{name}.json"
        write_file(path, files.action_text(np.asarray(keys), 0, dict.fromkeys(fields, np.zeros((len(keys), 3)))))
        written.append(path)
    return written


def _text_of(walk: KeyWalk, mark_time: int) -> str:
    """The action file of a walk, in the engine's frame; numbers keep all their digits."""
    angles = _angles(-walk.yaw, walk.pitch)
    cameras = files.ue_point(walk.poses[:, :3, 3])
    if walk.perspective == "1st":
        poses = {"actor_pos": cameras, "actor_rpy": angles}
    else:
        poses = {
            "actor_pos": files.ue_point(walk.feet),
            # Published bodies are turned by a quarter: the field is the walking direction minus 90 degrees.
            "actor_rpy": _angles(-walk.heading - np.pi / 2, np.zeros(len(walk.heading))),
            "camera_pos": cameras,
            "camera_rpy": angles,
        }
    return files.action_text(walk.keys, mark_time, {name: values + 0.0 for name, values in poses.items()})


def _angles(yaw: FloatArray, pitch: FloatArray) -> FloatArray:
    """Roll, pitch and yaw (n, 3) in degrees of the engine's angles in radians, yaw from -180 to 180."""
    return np.degrees(np.stack([np.zeros_like(yaw), pitch, wrap_angle(yaw)], -1))


MIRROR: Part = "mirror_test"


def submissions(folder: Path) -> dict[str, Path]:
    """The models of a folder, each with the folder that holds its `1st_data` or `3rd_data`."""
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
    return any((folder / f"{perspective}_data").is_dir() for perspective in files.PERSPECTIVES)


def mirror_folders(submission: Path) -> dict[Perspective, list[str]]:
    """Folders of out-and-back paths of one model, by perspective; names that cannot be part of an id are left out."""
    found: dict[Perspective, list[str]] = {}
    for perspective in files.PERSPECTIVES:
        place = submission / f"{perspective}_data" / MIRROR
        inside = list_folder(place) if place.is_dir() else []
        found[perspective] = [path.name for path in inside if path.is_dir() and _is_name(path.name)]
    return found


def submitted_paths(perspective: Perspective, name: str) -> list[MindClip]:
    """The ten paths of a folder of a submission, by their definition and in the shared action space."""
    folder = Path(f"{perspective}_data", MIRROR, name)
    return [
        MindClip(
            id=f"{folder.as_posix()}/path-{number}",
            folder=folder,
            perspective=perspective,
            part=MIRROR,
            name=name,
            frames=files.MIRROR_ROWS,
            space=space_of(*files.SHARED_SPACE),
            path=path,
            number=number,
        )
        for path, number in files.MIRROR_NUMBERS.items()
    ]


def submitted_path(task: str) -> MindClip:
    """The path of a task's id, such as "1st_data/mirror_test/scene_a/path-3"."""
    top, _, rest = task.partition("/")
    name = rest.removeprefix(f"{MIRROR}/").rpartition("/")[0]
    for perspective in files.PERSPECTIVES:
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
