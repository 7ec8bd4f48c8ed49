"""Small Target-Bench data in the published layout, made in seconds: walks in textured rooms, and videos of models.

root = make_target_data(tmp_path / "data");  videos = make_wm_videos(tmp_path / "wm_videos", root)
Every walk is 8 s at 4.34 m after 2 s of history; `rate_hz` below 25 only leaves frames out.
"""

from functools import lru_cache

import numpy as np

from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.core.video import Clip, Writer
from worldgauge.suites.targetbench.format.read import discover
from worldgauge.suites.targetbench.format.scenario import truth_clip
from worldgauge.suites.targetbench.format.write import scenario_name, write_labels, write_scenario
from worldgauge.suites.targetbench.walks import TargetWalk
from worldgauge.worlds.indoor.textured_rooms import ROOM_CAMERA, TexturedRoom
from worldgauge.worlds.walking.floor import Landmark

BENDS = {"curve": np.radians(30) / 4.34, "straight": 0.0, "turn": -np.radians(60) / 4.34}
EYE_M = 0.45
SPEED_M_S = 4.34 / 8
MODELS = ("gt_video", "still", "short")


def make_target_data(folder, n=3, *, rate_hz=5.0, size=(160, 90), labels=True):
    """Write `n` scenarios below folder/dataset/Benchmark, with labels beside them; returns `folder`.

    The labels alternate: explicit, implicit, explicit and so on.
    """
    root = folder / "dataset" / "Benchmark"
    names = {}
    for number, kind in enumerate(list(BENDS) * n):
        if number == n:
            break
        walk = make_walk(kind, number, rate_hz)
        name = scenario_name(f"sample_{number:03d}", 0, len(walk.poses) - 1)
        camera = ROOM_CAMERA.resized(*size)
        world, frames = room_of(kind, number).facts, render(kind, number, walk.poses, size)
        write_scenario(root, name, walk, frames, world=world, camera=camera, scene=f"sample_{number:03d}")
        names[name] = walk.label
    if labels:
        write_labels(root.parent, names)
    return folder


def make_walk(kind, number, rate_hz):
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
    label = "implicit" if number % 2 else "explicit"
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
def room_of(kind, number):
    return TexturedRoom(kind, seed=number)


def render(kind, number, poses, size):
    room, camera = room_of(kind, number), ROOM_CAMERA.resized(*size)
    return (room.view(pose, camera).rgb for pose in poses)


def make_wm_videos(folder, data, *, models=MODELS, horizon_s=8.0):
    """Write folder/<model>/<scenario>.mp4 for the scenarios of `data`; returns `folder`.

    gt_video: the real frames from the current one on. still: the current frame, 16 a second for 5 s. short: the first
    five eighths of the real frames.
    """
    for scenario in discover(data, horizon_s):
        truth = truth_clip(scenario)
        for model in models:
            shown = truth[: len(truth) * 5 // 8] if model == "short" else truth
            frames, fps = ([truth[0]] * 81, 16.0) if model == "still" else (list(shown), truth.fps)
            write_video(folder / model / f"{scenario.id}.mp4", frames, fps)
    return folder


def write_video(path, frames, fps):
    path.parent.mkdir(parents=True, exist_ok=True)
    with Writer(path, fps=fps, kind="viewable") as video:
        for frame in frames:
            video.write(frame)


EDITS = {
    "no_columns": ("trajectory.csv", lambda text: "\n".join(["east,north", *text.splitlines()[1:]])),
    "one_row": ("trajectory.csv", lambda text: "\n".join(text.splitlines()[:2])),
    "nan_rows": (
        "trajectory.csv",
        lambda text: "\n".join([*(rows := text.splitlines())[:4], "nan,1.0", ",", *rows[6:]]),
    ),
    "no_anchor": ("metadata.json", lambda text: text.replace('"distance_meters"', '"distance_feet"')),
    "bad_json": ("metadata.json", lambda text: text.replace('"distance_meters": ', '"distance_meters": NaN, "was": ')),
    "no_caption": ("metadata.json", lambda text: text.replace('"user_caption"', '"caption_of_nobody"')),
}
"""Way of being broken -> the end of a file's name, and what becomes of its text."""
REMOVED = {"no_caption": "caption.txt", "no_csv": "trajectory.csv"}
BAD = (*EDITS, "no_csv", "cut_video")


def spoil(folder, how):
    """Break the scenario in `folder`, in one of the ways of `BAD`."""
    if how in EDITS:
        end, edit = EDITS[how]
        path = folder / f"{folder.name}_{end}"
        path.write_text(edit(path.read_text()))
    if how in REMOVED:
        (folder / f"{folder.name}_{REMOVED[how]}").unlink()
    if how == "cut_video":
        video = folder / f"{folder.name}_video.mp4"
        write_video(video, [Clip.open(video)[0]], Clip.open(video).fps)


def make_bad_inputs(folder):
    """Data with one scenario for each of `BAD`, their names being the scenes, and one good one; and videos of models.

    Models: `one_frame` with videos of a single frame, `misnamed` with the good scenario's video under another name.
    Returns the folder of the data and the one of the videos.
    """
    root = folder / "data"
    walk = make_walk("straight", 1, 2.0)
    frames = list(render("straight", 1, walk.poses, (80, 46)))
    room = {"world": room_of("straight", 1).facts, "camera": ROOM_CAMERA.resized(80, 46)}
    for scene in ("good", *BAD):
        name = scenario_name(scene, 0, len(frames) - 1)
        place = write_scenario(root, name, walk, iter(frames), scene=scene, **room)
        if scene != "good":
            spoil(place, scene)
    videos = folder / "wm_videos"
    for scenario in discover(root):
        write_video(videos / "one_frame" / f"{scenario.id}.mp4", frames[:1], 2.0)
    write_video(videos / "misnamed" / "good_segment.mp4", frames[4:], 2.0)
    return root, videos
