"""Files of MIND as its makers write them: engine's rows by json.dump, OpenCV's film, ViPE's list of images.

Nothing here is written by our writer. The walk: two metres ahead along the engine's x, then a turn to the right.
"""

import json
import math

import cv2
import numpy as np
import pytest

from worldgauge.core.geometry import yaw_pitch_from_pose
from worldgauge.perception.colmap import read_images_txt
from worldgauge.suites.mind.format.read import discover, load
from worldgauge.suites.mind.suite import Mind

FRAMES, MARK, SIZE = 150, 50, (96, 54)
ARM_CM, PIVOT_CM = 250.0, 120.0


def engine_rows(perspective):
    """Rows as seen in the data: whole degrees, centimetres, keys in an order of their own, ints where whole."""
    rows = []
    for t in range(FRAMES):
        x, yaw = 100.0 + 200 / 24 * min(t, 24), max(0, t - 24)
        keys = {"ws": int(0 < t <= 24), "ad": 0, "ud": 0, "lr": 2 * int(24 < t <= 24 + 30)}
        yaw = min(yaw, 30)
        row = {"lr": keys["lr"], "ud": 0, "ad": 0, "ws": keys["ws"], "time": t}
        row["actor_pos"] = {"x": x, "y": -20, "z": 90.15}
        row["actor_rpy"] = {"x": 0, "y": 0, "z": yaw - (90 if perspective == "3rd" else 0)}
        if perspective == "3rd":
            ahead = (math.cos(math.radians(yaw)), math.sin(math.radians(yaw)))
            row["camera_pos"] = {"x": x - ARM_CM * ahead[0], "y": -20 - ARM_CM * ahead[1], "z": 90.15 + PIVOT_CM}
            row["camera_rpy"] = {"x": 0, "y": 0, "z": yaw}
        rows.append(row)
    return rows


def vipe_list(centres, yaw_right_deg):
    """COLMAP's images.txt: world to camera, OpenCV's axes, one line of points after each pose, which is empty."""
    text = "# Image list with two lines of data per image:\n#   IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME\n"
    for i, (centre, degrees) in enumerate(zip(centres, yaw_right_deg, strict=True)):
        # A turn to the right is one about the camera's y axis, which points down: world to camera is its inverse.
        half = math.radians(degrees) / 2
        qw, qy = math.cos(half), -math.sin(half)
        turn = np.array(
            [[math.cos(2 * half), 0, -math.sin(2 * half)], [0, 1, 0], [math.sin(2 * half), 0, math.cos(2 * half)]]
        )
        tx, ty, tz = -turn @ centre
        text += f"{i + 1} {qw} 0.0 {qy} 0.0 {tx} {ty} {tz} 1 images/frame_{i:06d}.jpg\n\n"
    return text


def publish(root, perspective):
    data = root / "MIND-Data"
    folder = data / f"{perspective}_data/test/mem_test/data-{25 if perspective == '1st' else 150}"
    folder.mkdir(parents=True)
    rows = engine_rows(perspective)
    (folder / "action.json").write_text(json.dumps({"mark_time": MARK, "total_time": FRAMES, "data": rows}, indent=4))
    film = cv2.VideoWriter(str(folder / "video.mp4"), cv2.VideoWriter.fourcc(*"mp4v"), 24, SIZE)
    for i in range(FRAMES):
        film.write(np.full((SIZE[1], SIZE[0], 3), (i, 90, 255 - i), np.uint8))
    film.release()
    judged = rows[MARK : MARK + 97]
    yaw = np.array([row["camera_rpy" if perspective == "3rd" else "actor_rpy"]["z"] for row in judged], float)
    centres = np.stack([np.zeros(97), np.zeros(97), np.arange(97) * 0.01], 1)
    (folder / "images.txt").write_text(vipe_list(centres, yaw - yaw[0]))
    return data


@pytest.mark.parametrize("perspective", ["1st", "3rd"])
def test_a_clip_is_read_whole(tmp_path, perspective):
    data = publish(tmp_path, perspective)
    (clip,) = discover(data)
    assert (clip.fault, clip.mark_time, clip.frames, clip.total_time) == (None, MARK, FRAMES, FRAMES)
    episode = load(clip)
    assert (len(episode), episode.clip.fps) == (FRAMES, 24)
    yaw, pitch = np.degrees(yaw_pitch_from_pose(episode.poses))
    np.testing.assert_allclose(
        yaw, -np.clip(np.arange(FRAMES) - 24, 0, 30), atol=1e-6, err_msg="right is negative here"
    )
    np.testing.assert_allclose(pitch, 0, atol=1e-6)
    back = 2.5 if perspective == "3rd" else 0.0
    np.testing.assert_allclose(episode.poses[0, :3, 3], [1.0 - back, 0.2, 0.9015 + (1.2 if back else 0)], atol=1e-9)
    assert episode.actions.column("forward")[:24].all()
    assert episode.actions.column("look_right")[24:54].all()


def test_the_list_of_images_turns_as_the_keys_say(tmp_path):
    data = publish(tmp_path, "1st")
    (clip,) = discover(data)
    for reader in ("ours", "released"):
        names, poses = read_images_txt(clip.folder / "images.txt", reader=reader)
        assert (len(names), names[0]) == (97, "images/frame_000000.jpg")
        np.testing.assert_allclose(
            poses[:, :3, 3], np.stack([np.zeros(97), np.zeros(97), np.arange(97) / 100], 1), atol=1e-9
        )
        ahead = poses[4, :3, 2]
        assert ahead[0] > 0, "to the right, where x points"
        assert math.degrees(math.atan2(ahead[0], ahead[2])) == pytest.approx(4)
    (task,) = Mind(tests="mem", parity="released").tasks(data)
    assert task.sample["broken"] is None
