"""Small Target-Bench data in the published layout, made in seconds: walks in textured rooms, and videos of models.

root = make_target_data(tmp_path / "data");  videos = make_wm_videos(tmp_path / "wm_videos", root)
Every walk is 8 s at 4.34 m after 2 s of history; `rate_hz` below 25 only leaves frames out.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Image
from worldgauge.core.video import Clip, Writer
from worldgauge.suites.target import format as target
from worldgauge.suites.target.walks import TargetWalk
from worldgauge.worlds.indoor.textured_rooms import ROOM_CAMERA, Room
from worldgauge.worlds.walking.floor import Landmark

BENDS = {"curve": np.radians(30) / 4.34, "straight": 0.0, "turn": -np.radians(60) / 4.34}
EYE_M = 0.45
SPEED_M_S = 4.34 / 8
MODELS = ("gt_video", "still", "short")
BAD = ("no_columns", "one_row", "nan_rows", "no_anchor", "bad_json", "no_caption", "no_csv", "cut_video")


def make_target_data(
    folder: Path, n: int = 3, *, rate_hz: float = 5.0, size: tuple[int, int] = (160, 90), labels: bool = True
) -> Path:
    """Write `n` scenarios below folder/dataset/Benchmark, with labels beside them; returns `folder`.

    The labels alternate: explicit, implicit, explicit and so on.
    """
    root = folder / "dataset" / "Benchmark"
    names = {}
    for number, kind in enumerate(list(BENDS) * n):
        if number == n:
            break
        walk = make_walk(kind, number, rate_hz)
        name = target.scenario_name(f"sample_{number:03d}", 0, len(walk.poses) - 1)
        camera = ROOM_CAMERA.resized(*size)
        room = room_of(kind, number)
        target.write_scenario(
            root,
            name,
            walk,
            render(kind, number, walk.poses, size),
            world=room.facts,
            camera=camera,
            scene=f"sample_{number:03d}",
        )
        names[name] = walk.label
    if labels:
        target.write_labels(root.parent, names)
    return folder


def make_walk(kind: str, number: int, rate_hz: float) -> TargetWalk:
    """A walk of 10 s in `room_of(kind, number)`, 2 s of them history."""
    history, future = round(2 * rate_hz), round(8 * rate_hz)
    metres = np.arange(-history, future) / rate_hz * SPEED_M_S
    yaw = np.pi / 2 + BENDS[kind] * metres
    middle = (yaw[1:] + yaw[:-1]) / 2
    steps = np.stack([np.cos(middle), np.sin(middle)], 1) * np.diff(metres)[:, None]
    xy = np.concatenate([[[0.0, 0.0]], np.cumsum(steps, 0)])
    xy += np.array([6.0, 4.0]) - xy[history]
    poses = pose_from_yaw_pitch(np.concatenate([xy, np.full((len(xy), 1), EYE_M)], 1), yaw)
    end = xy[-1]
    box = Landmark("box", 1, (end[0] - 0.3, end[1] + 0.7, 0.0), (end[0] + 0.3, end[1] + 1.3, 1.0))
    label: Literal["explicit", "implicit"] = "implicit" if number % 2 else "explicit"
    return TargetWalk(
        poses=poses,
        history_rows=history,
        dt=1 / rate_hz,
        target=box,
        explicit="Go to the box.",
        implicit="Go to what one keeps things in.",
        label=label,
        category=box.category,
        place="indoors",
        camera_height_m=EYE_M,
    )


@lru_cache(maxsize=4)
def room_of(kind: str, number: int) -> Room:
    return Room(kind, seed=number)


def render(kind: str, number: int, poses: FloatArray, size: tuple[int, int]) -> Iterator[Image]:
    room, camera = room_of(kind, number), ROOM_CAMERA.resized(*size)
    return (room.view(pose, camera).rgb for pose in poses)


def make_wm_videos(folder: Path, data: Path, *, models: tuple[str, ...] = MODELS, horizon_s: float = 8.0) -> Path:
    """Write folder/<model>/<scenario>.mp4 for the scenarios of `data`; returns `folder`.

    gt_video: the real frames from the current one on. still: the current frame, 16 a second for 5 s. short: the first
    five eighths of the real frames.
    """
    for scenario in target.discover(data, horizon_s):
        truth = target.truth_clip(scenario)
        for model in models:
            if model == "still":
                frames, fps = [truth[0]] * 81, 16.0
            elif model == "short":
                frames, fps = list(truth[: len(truth) * 5 // 8]), truth.fps
            else:
                frames, fps = list(truth), truth.fps
            write_video(folder / model / f"{scenario.id}.mp4", frames, fps)
    return folder


def write_video(path: Path, frames: list[Image], fps: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with Writer(path, fps=fps, kind="viewable") as video:
        for frame in frames:
            video.write(frame)


def spoil(folder: Path, how: str) -> None:
    """Break the scenario in `folder`, in one of the ways of `BAD`."""
    stem = folder / folder.name
    path, metadata = Path(f"{stem}_trajectory.csv"), Path(f"{stem}_metadata.json")
    lines = path.read_text().splitlines()
    if how == "no_columns":
        path.write_text("\n".join(["east,north", *lines[1:]]))
    elif how == "one_row":
        path.write_text("\n".join(lines[:2]))
    elif how == "nan_rows":
        path.write_text("\n".join([*lines[:4], "nan,1.0", ",", *lines[6:]]))
    elif how == "no_anchor":
        metadata.write_text(metadata.read_text().replace('"distance_meters"', '"distance_feet"'))
    elif how == "bad_json":
        metadata.write_text(metadata.read_text().replace('"distance_meters": ', '"distance_meters": NaN, "was": '))
    elif how == "no_caption":
        Path(f"{stem}_caption.txt").unlink()
        metadata.write_text(metadata.read_text().replace('"user_caption"', '"caption_of_nobody"'))
    elif how == "no_csv":
        path.unlink()
    elif how == "cut_video":
        video = Path(f"{stem}_video.mp4")
        frames, fps = [Clip.open(video)[0]], Clip.open(video).fps
        write_video(video, frames, fps)
    else:
        raise ValueError(how)


def make_bad_inputs(folder: Path) -> tuple[Path, Path]:
    """Data with one scenario for each of `BAD`, their names being the scenes, and one good one; and videos of models.

    Models: `one_frame` with videos of a single frame, `misnamed` with the good scenario's video under another name.
    Returns the folder of the data and the one of the videos.
    """
    root = folder / "data"
    walk = make_walk("straight", 1, 2.0)
    frames = list(render("straight", 1, walk.poses, (80, 46)))
    for scene in ("good", *BAD):
        name = target.scenario_name(scene, 0, len(frames) - 1)
        place = target.write_scenario(
            root,
            name,
            walk,
            iter(frames),
            world=room_of("straight", 1).facts,
            camera=ROOM_CAMERA.resized(80, 46),
            scene=scene,
        )
        if scene != "good":
            spoil(place, scene)
    videos = folder / "wm_videos"
    for scenario in target.discover(root):
        write_video(videos / "one_frame" / f"{scenario.id}.mp4", frames[:1], 2.0)
    write_video(videos / "misnamed" / "good_segment.mp4", frames[4:], 2.0)
    return root, videos
