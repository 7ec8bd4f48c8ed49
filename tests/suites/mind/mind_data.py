"""Small MIND data in the published layout, made in a second, with nothing of ours beside them.

root = write_published(tmp_path);  mind.discover(root)
Walks go ahead and turn right in the engine's frame; the odd things of published files are in: key order that varies,
whole numbers among the poses, whole degrees in a turn, no caption in the action file, mirror files one row longer than
they say, total_time of 47.
"""

import json

import numpy as np

from worldgauge.core.geometry import relative
from worldgauge.core.image import write_png
from worldgauge.core.video import Writer
from worldgauge.perception.colmap import write_images_txt
from worldgauge.suites.mind.format.files import our_pose

MIRROR = {
    "w": {"ws": 1},
    "s": {"ws": 2},
    "a": {"ad": 1},
    "d": {"ad": 2},
    "u": {"ud": 1},
    "down": {"ud": 2},
    "wl": {"ws": 1, "lr": 1},
    "wr": {"ws": 1, "lr": 2},
    "sl": {"ws": 2, "lr": 1},
    "sr": {"ws": 2, "lr": 2},
}
KEYS = ("ws", "ad", "ud", "lr")
PARTS = {"train": "train", "mem_test": "test/mem_test", "action_space_test": "test/action_space_test"}


def write_published(root, *, clips=2, frames=30, size=(64, 36), perspectives=("1st", "3rd")):
    """Write `clips` clips a part and as many start images a perspective below root/MIND-Data; returns that folder."""
    data = root / "MIND-Data"
    number = {"action_space_test": 0, "mem_test": 25, "train": 75}
    for third, perspective in enumerate(perspectives):
        for part, folder in PARTS.items():
            for i in range(clips):
                name = f"data-{number[part] + i + 125 * third}"
                speed = (1.0, 200) if part != "action_space_test" else [(1.0, 200), (0.4, 100), (1.4, 280)][i % 3]
                if part == "action_space_test":
                    name = f"data-{i}-{speed[0]}x-{speed[1]}"
                write_published_clip(data / f"{perspective}_data" / folder / name, perspective, frames, size, *speed)
                (data / "description").mkdir(exist_ok=True)
                if i == 0 and part == "train":
                    (data / "description" / f"{name}.txt").write_text("A walk along a wall.\n")
        write_published_mirror(data / f"{perspective}_data" / "test" / "mirror_test", clips, size)
    return data


def write_published_clip(folder, perspective, frames, size, turn_deg=1.0, speed_cm_s=200):
    """One clip: stands, walks ahead, looks right and up a little, walks on."""
    folder.mkdir(parents=True)
    rows = published_rows(perspective, frames, turn_deg, speed_cm_s)
    content = {"data": rows, "mark_time": frames // 3, "total_time": frames}
    (folder / "action.json").write_text(json.dumps(content))
    if folder.parent.name != "train":
        write_published_images(folder / "images.txt", perspective, rows[frames // 3 :])
    with Writer(folder / "video.mp4", fps=24, kind="viewable") as video:
        for frame in pictures(frames, size):
            video.write(frame)


def write_published_images(path, perspective, rows):
    """A camera path as an estimator leaves it: from the first frame on, at a scale of its own, at most 97 poses."""
    who = "actor" if perspective == "1st" else "camera"
    poses = our_pose(
        *(np.array([[row[f"{who}_{what}"][axis] for axis in "xyz"] for row in rows[:97]]) for what in ("pos", "rpy"))
    )
    poses = relative(poses[0], poses)
    poses[:, :3, 3] *= 0.3
    write_images_txt(path, poses)


def published_rows(perspective, frames, turn_deg, speed_cm_s):
    """The rows of a clip. Of the true camera angles in a turn the files have the next whole degree."""
    position, yaw, pitch = np.array([1000.5, -250.25, 90.0]), 20.0, -9.0
    rows = []
    for t in range(frames):
        keys = dict.fromkeys(KEYS, 0)
        if t > frames // 4:
            keys["ws"] = 1
            position = position + speed_cm_s / 24 * np.array([np.cos(np.radians(yaw)), np.sin(np.radians(yaw)), 0])
        if frames // 2 < t <= frames // 2 + 5:
            keys["lr"] = 2
            yaw += turn_deg
        if t == frames // 2 + 7:
            keys["ud"] = 1
            pitch += turn_deg
        shown = [0, int(np.ceil(pitch)), int(np.ceil(yaw))]
        row = {"time": t, **keys} if t % 2 else {**keys, "time": t}
        if perspective == "1st":
            row |= {"actor_pos": _xyz(position), "actor_rpy": _xyz(shown)}
        else:
            p, y = np.radians([pitch, yaw])
            ahead = np.array([np.cos(p) * np.cos(y), np.cos(p) * np.sin(y), np.sin(p)])
            row |= {
                "actor_pos": _xyz(position),
                "actor_rpy": _xyz([0, 0, int(yaw) - 90]),
                "camera_pos": _xyz(position + np.array([0, 0, 120]) - 250 * ahead),
                "camera_rpy": _xyz(shown),
            }
        rows.append(row)
    return rows


def write_published_mirror(folder, images, size):
    """Start images and the ten action files: 48 rows, of which total_time counts 47."""
    folder.mkdir(parents=True)
    for i, frame in enumerate(pictures(images, size)):
        write_png(folder / f"data-{i}.png", frame)
    zero = _xyz([0, 0, 0])
    for name, keys in MIRROR.items():
        back = {key: 3 - code for key, code in keys.items()}
        data = [
            {"time": t, **dict.fromkeys(KEYS, 0), **(keys if t < 24 else back), "actor_pos": zero, "actor_rpy": zero}
            for t in range(48)
        ]
        (folder / f"-{name}.json").write_text(json.dumps({"mark_time": 0, "total_time": 47, "data": data}))


def pictures(count, size):
    """A pattern that moves by two pixels a frame."""
    width, height = size
    tile = np.random.default_rng(3).integers(40, 216, (9, 16, 3), np.uint8)
    wall = np.kron(tile, np.ones((-(-height // 9), -(-width // 16), 1), np.uint8))[:height, :width]
    return [np.ascontiguousarray(np.roll(wall, -2 * i, axis=1)) for i in range(count)]


def _xyz(values):
    """Whole numbers stay whole, as in published files."""
    plain = [float(value) for value in values]
    return dict(zip("xyz", (int(v) if v == int(v) else round(v, 8) for v in plain), strict=True))
