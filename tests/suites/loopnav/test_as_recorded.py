"""A loop as the released collector leaves it: json.dump of what the bot sent, and an OpenCV film in Motion JPEG.

Nothing here is written by our writer. The walk is in the game's frame: yaw 0 looks to -z and grows to the left.
"""

import json
import math

import cv2
import numpy as np

from worldgauge.suites.loopnav import format as loopnav
from worldgauge.suites.loopnav.suite import LoopNav

STEP, TURN = 0.216, 0.1
PLACE = "ABA/savanna_village_20/5"


def sent():
    """Messages of the bot from the 20th on: a rest of the look-around at A, to B and back, idle at the end.

    A forward key acts on the next frame; a turn is that which led to the frame.
    """
    here, yaw = np.array([8.5, -3.5]), 3.1
    home, away = {"x": 8, "y": 64, "z": -4}, {"x": 8, "y": 64, "z": -10}
    near_home = {"x": 8, "z": -4, "rangeSq": 1}
    messages = []

    def send(goal, *, turned=0.0, forward=False):
        keys = dict.fromkeys(("forward", "back", "left", "right", "jump", "sprint", "sneak"), False)
        action = {**keys, "forward": forward, "camera": [turned, 0]}
        place = {"x": round(here[0], 3), "y": round(64.0, 3), "z": round(here[1], 3)}
        view = {"yaw": round(yaw, 3), "pitch": round(-0.0004, 3)}
        number = {"frame_count": 20 + len(messages)}
        extra = {"seed": 42, "location": "savanna_village_20", "nvtype": "ABA", "nvrange": 5}
        messages.append({**place, **view, "action": action, "goal": goal, **number, "extra_info": extra})

    def turn_to(heading, goal):
        nonlocal yaw
        while abs(left := heading - yaw) > 1e-9:
            step = math.copysign(min(TURN, abs(left)), left)
            yaw += step
            send(goal, turned=step)

    def go(goal):
        nonlocal here
        for _ in range(30):
            send(goal, forward=True)
            here = here + STEP * np.array([-math.sin(yaw), -math.cos(yaw)])
        send(goal)

    send(home)
    turn_to(2 * math.pi, home)
    go(away)
    turn_to(math.pi, near_home)
    go(near_home)
    for _ in range(3):
        send(None)
    return messages


def received(root, messages, *, without=0):
    """The files of the receiver. without: broken pictures at the end, whose records are there all the same."""
    folder = root / PLACE
    folder.mkdir(parents=True)
    name = "05-21_13-37-00"
    out = cv2.VideoWriter(str(folder / f"{name}.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 20, (640, 360))
    for i in range(len(messages) - without):
        out.write(np.full((360, 640, 3), (i % 200, 40, 200 - i % 200), np.uint8))
    out.release()
    with open(folder / f"{name}.json", "w") as file:
        json.dump(messages, file)
    return root


def last_far_goal(messages):
    """Where the released clean-up says that the way back begins: the last frame whose goal is not near the start."""
    for i in reversed(range(len(messages))):
        goal = messages[i]["goal"]
        if goal is not None and max(abs(goal[axis] - messages[0][axis]) for axis in "xz") > 2:
            return i
    raise AssertionError


def test_it_is_read_and_asked(tmp_path):
    messages = sent()
    (found,) = loopnav.discover(received(tmp_path, messages))
    assert (found.id, found.invalid, found.flags) == (f"{PLACE}/05-21_13-37-00", None, ())
    assert (found.type, found.location, found.radius) == ("ABA", "savanna_village_20", 5)
    assert found.return_index == last_far_goal(messages)
    episode = loopnav.load(found)
    assert (len(episode), episode.clip.width, episode.clip.height, episode.clip.fps) == (len(messages), 640, 360, 20)
    feet = np.array([[m["x"], -m["z"], m["y"] + 1.6] for m in messages])
    np.testing.assert_allclose(episode.poses[:, :3, 3], feet, atol=1e-9)
    ahead = np.array([[-math.sin(m["yaw"]), math.cos(m["yaw"])] for m in messages])
    np.testing.assert_allclose(episode.poses[:, :2, 2], ahead, atol=1e-6)
    (task,) = LoopNav(selection="all").tasks(tmp_path)
    assert (task.skip, task.sample["broken"]) == (None, None)
    assert task.sample["generated_from"] == last_far_goal(messages)


def test_a_record_whose_picture_was_broken_is_told(tmp_path):
    (found,) = loopnav.discover(received(tmp_path, sent(), without=2))
    assert "frames" in found.invalid
