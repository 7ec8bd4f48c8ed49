"""Policies of an arm as their authors write them, well-behaved and not."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from worldgauge_serve import EstimatorSpec, NotApplicable


class Reach:
    """Goes straight up from where the hand is; plan k ends k cm higher. layout: "things" goes to the first thing."""

    def __init__(self, samples=0, layout="", kind="policy"):
        self.spec = EstimatorSpec("reach", kind, layout, settings={"samples": samples})
        self.samples = samples

    def propose(self, scene):
        print("asked", scene.instruction, flush=True)  # prints are fine
        count = self.samples or scene.n
        plans = np.tile(scene.hand.astype(np.float32), (count, scene.length, 1))
        plans[:, -1, 2] += 0.01 * np.arange(count)
        if scene.things:
            plans[:, 0, :3] = scene.things[0]["place_m"]
        plans[:, :, 7] = 0
        return plans


class Wrist:
    """Goes to the first pixel of the wrist view in mm, then to the first thing; where it has none, to the origin."""

    def __init__(self, layout=""):
        self.spec = EstimatorSpec("wrist", "policy", layout, settings={})

    def propose(self, scene):
        plans = np.tile(scene.hand, (1, 2, 1))
        plans[0, 0, :3] = 0 if scene.wrist is None else scene.wrist[0, 0] / 1000
        plans[0, 1, :3] = scene.things[0]["place_m"] if scene.things else 0
        return plans


class Told:
    """Hands back what it was told, packed into the numbers of one pose a plan."""

    spec = EstimatorSpec("told", kind="policy", layout="things")

    def propose(self, scene):
        assert (scene.instruction, scene.front.dtype) == ("push the red button", np.uint8)
        assert scene.depth.dtype == np.float32
        assert scene.front.shape[:2] == scene.depth.shape == (scene.camera.height, scene.camera.width)
        assert [thing["name"] for thing in scene.things] == ["red button"]
        down, numbers = (1.0, 0.0, 0.0, 0.0), (scene.n, scene.length, len(scene.history))
        first = np.array([[*numbers, *down, 1.0]])
        second = np.array([[*scene.pose[:3, 3], *down, 1.0]])
        third = np.array([[scene.front[0, 0, 0], scene.depth[0, 0], scene.camera.fx, *down, 1.0]])
        fourth = np.array([[*(scene.history[-1, :3] if len(scene.history) else (0, 0, 0)), *down, 1.0]])
        return np.stack([first, second, third, fourth])


class Odd:
    """Breaks one promise, named by `how`. log: folder in which it leaves signs of what it did."""

    def __init__(self, how, log=""):
        self.how, self.log = how, log
        self.spec = EstimatorSpec("odd", kind="policy", settings={"how": how})

    def propose(self, scene):
        how, plans = self.how, np.tile(scene.hand, (2, scene.length, 1))
        if self.log:
            (Path(self.log) / f"asked-{os.getpid()}-{time.time()}").write_text("")
        if how == "raises":
            raise RuntimeError("CUDA error")
        if how == "not applicable":
            raise NotApplicable("an arm with seven joints only")
        if how == "killed once" and len(list(Path(self.log).iterdir())) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "exits":
            os._exit(3)
        if how == "hangs":
            time.sleep(600)
        if how == "nan":
            plans[1, 2, 0] = np.nan
        if how == "no rotation":
            plans[1, 0, 3:7] = 0
        if how == "gripper":
            plans[0, 1, 7] = 2
        if how == "hair":
            plans[..., 7] = 1.005
        answers = {
            "too long": np.tile(scene.hand, (2, scene.length + 1, 1)),
            "no poses": np.zeros((2, 0, 8)),
            "no plans": np.zeros((0, scene.length, 8)),
            "seven numbers": plans[..., :7],
            "one plan": plans[0],
            "whole numbers": plans.astype(np.int64),
            "too many": np.tile(scene.hand, (100_000, scene.length, 1)),
            "ragged": [[1, 2], [3]],
            "nothing": None,
        }
        return answers.get(how, plans)
