"""A MIND clip as an Episode in our frame, the keys of a clip, and what a task of it is made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import Actions
from worldgauge.core.episode import Episode
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import read_png
from worldgauge.core.io import read_caption
from worldgauge.core.video import Clip
from worldgauge.suites.mind.format import frame
from worldgauge.suites.mind.format.action import ActionFile, read_action
from worldgauge.suites.mind.format.clip import FPS, MindClip
from worldgauge.suites.mind.format.index import check_size, defined_keys
from worldgauge.suites.mind.format.sidecar import read_sidecar
from worldgauge.suites.mind.walks.mirror import Perspective, actions_of

HORIZONTAL_FOV_DEG = 90.0
"""Of published clips, and of what is collected: the engine's default. Nobody published the cameras."""


def load(clip: MindClip) -> Episode:
    """The clip as an Episode in our frame; frames are decoded when asked for.

    Row t of the actions is row t + 1 of the file, which led from frame t to frame t + 1. Poses are the camera's; in
    third person yaw and pitch come of the positions where these show the arm (`mind_frame.arm_angles`). Of a mirror
    task: the start image alone, and no action (see `mirror_actions`); its pose is that of the side-car, else at the
    origin along +x, which facts["pose_known"] tells. Cameras of published data are taken to see 90 degrees across,
    which is not verified (facts["camera_known"]).
    Raises DataError with the clip's fault, and when a file cannot be read or files disagree.
    """
    if clip.fault is not None:
        raise DataError(f"{clip.id}: {clip.fault}")
    return _start(clip) if clip.part == "mirror_test" else _recording(clip)


def keys_of(clip: MindClip) -> NDArray[np.uint8]:
    """Key codes (T, 4) of a recorded clip, columns ws, ad, ud, lr; row t led to frame t. Raises DataError."""
    return _file_of(clip).keys


def mirror_keys(clip: MindClip) -> NDArray[np.uint8]:
    """Key codes (n, 4) of a mirror task, published ones have 48 rows; row k leads to frame k of its video.

    Raises UsageError for other clips, DataError when the file cannot be read.
    """
    if clip.path is None:
        raise UsageError(f"{clip.id}: not a mirror task; its keys are keys_of(clip)")
    by_definition = clip.records is None and clip.fault is None
    return defined_keys(clip.path) if by_definition else _file_of(clip).keys


def mirror_actions(clip: MindClip) -> Actions:
    """The same in the clip's space: n rows, of which row 0 acts on the start image. Raises as `mirror_keys`."""
    return actions_of(mirror_keys(clip), clip.space)


def video_path(clip: MindClip) -> Path:
    """The real video of a recorded clip. Raises DataError when it has none."""
    if clip.video is None:
        raise DataError(f"{clip.id}: {clip.fault or 'has no video'}")
    return clip.video


def poses_of_file(file: ActionFile, perspective: Perspective, where: str) -> FloatArray:
    """Camera-to-world poses (T, 4, 4) of an action file. Raises DataError when it lacks the camera's fields."""
    if perspective == "1st":
        position, angles = file.actor_pos, file.actor_rpy
    else:
        position, angles = file.camera_pos, file.camera_rpy
        if position is not None and angles is not None and file.actor_pos is not None:
            angles, _ = frame.arm_angles(file.actor_pos, position, angles)
    if position is None or angles is None:
        raise DataError(f"{where}: no row has the camera's position and angles; download it again")
    return frame.our_pose(position, angles)


def fingerprint_of(clip: MindClip) -> str:
    """SHA-256 over all that a task is made of: place, keys, poses and world, and the content of video or image."""
    facts = [
        [clip.id, clip.part, clip.mark_time, clip.frames, clip.steps, clip.path, clip.number, clip.fault],
        [clip.family, clip.space_known],
    ]
    whole = hashlib.sha256(json.dumps(facts, sort_keys=True, allow_nan=False).encode())
    for path in (clip.records, clip.sidecar, clip.video, clip.image, clip.caption):
        whole.update(_digest(path))
    if clip.path is not None and clip.records is None:
        whole.update(defined_keys(clip.path).tobytes())
    return whole.hexdigest()


def _recording(clip: MindClip) -> Episode:
    file, video = _file_of(clip), Clip.open(video_path(clip))
    if len(video) != len(file.keys):
        raise DataError(f"{clip.video}: {len(video)} frames, but {len(file.keys)} rows in {clip.records}")
    check_size(clip, (video.width, video.height), str(clip.video))
    return Episode(
        id=clip.id,
        clip=video,
        poses=poses_of_file(file, clip.perspective, str(clip.records)),
        actions=actions_of(file.keys[1:], clip.space),
        camera=clip.camera or Camera.from_horizontal_fov(video.width, video.height, HORIZONTAL_FOV_DEG),
        world=clip.world,
        facts=_facts(clip) | {"pose_known": True, "caption": file.caption or _caption(clip)},
    )


def _start(clip: MindClip) -> Episode:
    if clip.image is None:
        raise DataError(f"{clip.id}: has no start image")
    image = read_png(clip.image)
    car = None if clip.sidecar is None else read_sidecar(clip.sidecar)
    pose = None if car is None else car.pose
    known = pose is not None
    height, width = image.shape[:2]
    check_size(clip, (width, height), str(clip.image))
    return Episode(
        id=clip.id,
        clip=Clip.from_array(image[None], FPS),
        poses=np.asarray(pose_from_yaw_pitch((0.0, 0.0, 0.0), 0.0) if pose is None else pose)[None],
        actions=mirror_actions(clip)[:0],
        camera=clip.camera or Camera.from_horizontal_fov(width, height, HORIZONTAL_FOV_DEG),
        world=clip.world,
        facts=_facts(clip) | {"pose_known": known, "caption": _caption(clip), "path": clip.path, "number": clip.number},
    )


def _facts(clip: MindClip) -> dict[str, Any]:
    delta_r, delta_p = clip.steps
    extra: Mapping[str, Any] = {} if clip.sidecar is None else read_sidecar(clip.sidecar).facts
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
        "camera_known": clip.camera is not None,
    }


def _caption(clip: MindClip) -> str:
    return "" if clip.caption is None else read_caption(clip.caption)


def _file_of(clip: MindClip) -> ActionFile:
    if clip.records is None:
        raise DataError(f"{clip.id}: {clip.fault or 'has no action file'}")
    return read_action(clip.records)


def _digest(path: Path | None) -> bytes:
    """SHA-256 of a file; one that cannot be read is a fault of its clip alone, found where it is opened."""
    if path is None:
        return b"none"
    try:
        stat = path.stat()
        return _remembered_digest(path, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        return f"unreadable: {error.strerror}".encode()


@lru_cache(maxsize=4096)
def _remembered_digest(path: Path, size: int, mtime_ns: int) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
