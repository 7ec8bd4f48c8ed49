"""Files of an episode: `<home>/<process>/away-<seconds>.mp4`, and a JSON file with its path, camera and world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Episode, WorldFacts, camera_of, number_of, reading_sidecar, whole_of, world_of
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Image
from worldgauge.core.io import dumps, write_file
from worldgauge.core.video import Clip, Writer

FPS = 20
SHOWN, TURN, STILL = 60, 32, 10
"""Frames that are watched, of each half turn, and of looking at the thing again."""
_FORMAT, _VERSION = "unseen", 1


def frames_of(away_s: int) -> int:
    """Frames of an episode."""
    return SHOWN + TURN + FPS * away_s + TURN + STILL


class LookAway(NamedTuple):
    """How the camera stands and turns: `yaw_rad` per frame; `unseen`: first and last frame without the thing."""

    position_m: tuple[float, float, float]
    pitch_rad: float
    yaw_rad: FloatArray
    away_s: int
    unseen: tuple[int, int]


def write_episode(
    stem: Path, look: LookAway, frames: Iterable[Image], world: WorldFacts, camera: Camera, caption: str
) -> None:
    """Write an episode; its JSON file comes last."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    with Writer(stem.with_suffix(".mp4"), fps=FPS, kind="archive") as video:
        for frame in frames:
            video.write(frame)
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        **look._asdict(),
        "yaw_rad": look.yaw_rad.tolist(),
        "world": asdict(world),
        "camera": asdict(camera),
        "caption": caption,
    }
    write_file(stem.with_suffix(".json"), dumps(content) + "\n")


def read_episode(stem: Path) -> Episode:
    """The episode in `stem`.mp4 and `stem`.json; its facts hold `away_s` and `unseen`."""
    path, clip = stem.with_suffix(".json"), Clip.open(stem.with_suffix(".mp4"))
    with reading_sidecar(path, _FORMAT, _VERSION) as content:
        away_s = whole_of(content, "away_s", 1, 3600)
        position, yaw = _numbers(content["position_m"], 3), _numbers(content["yaw_rad"], frames_of(away_s))
        poses = pose_from_yaw_pitch(np.tile(position, (len(yaw), 1)), yaw, number_of(content, "pitch_rad", -1.5, 1.5))
        turns = np.zeros((len(yaw) - 1, len(LOOP_WALK)), np.float32)
        turns[:, LOOP_WALK.column("camera_yaw")] = np.diff(yaw)
        unseen = [int(one) for one in _numbers(content["unseen"], 2)]
        if not SHOWN <= unseen[0] <= unseen[1] < len(yaw) - STILL:
            raise ValueError(f"field 'unseen' is {unseen}")
        facts = {"away_s": away_s, "unseen": unseen, "caption": str(content["caption"])}
        world, camera = world_of(content["world"]), camera_of(content["camera"])
    if len(clip) != len(yaw) or (clip.width, clip.height) != (camera.width, camera.height):
        raise DataError(f"{stem}.mp4: not the {len(yaw)} frames of {path.name}; collect the data again")
    return Episode(stem_id(stem), clip, poses, Actions(LOOP_WALK, turns), camera, world, facts)


def stems_of(root: Path) -> list[Path]:
    """All episodes in a folder, sorted."""
    return sorted(path.with_suffix("") for path in root.resolve().glob("*/*/away-*.json"))


def stem_id(stem: Path) -> str:
    """Id of an episode, such as "home-000/cart/away-02"."""
    return "/".join(stem.parts[-3:])


def _numbers(values: Sequence[float], count: int) -> FloatArray:
    """Numbers of a field; ValueError for another count, and for one that is not finite."""
    found = np.array(values, np.float64)
    if found.shape != (count,) or not (np.abs(found) < 1e6).all():
        raise ValueError(f"a field needs {count} finite numbers, got {str(values)[:40]}")
    return found
