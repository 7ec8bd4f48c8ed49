"""Estimators as their authors write them, well-behaved and not."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np

from worldgauge_serve import EstimatorSpec, NotApplicable


class Known:
    """A decoder that gives the poses of a file, whatever it is shown, and says what that was."""

    needs = {"gpus": 0.5}  # noqa: RUF012 - as users write it

    def __init__(self, poses, layout):
        self.poses = np.array(json.loads(Path(poses).read_text()))
        self.spec = EstimatorSpec("known", layout=layout, settings={"poses": poses})

    def estimate(self, arrays, options):
        told = {name: str(array.shape) + str(array.dtype) for name, array in arrays.items()}
        levels = {"frames_seen": str(arrays["frames"][:, 0, 0, 0].tolist())}
        print("asked for", *told, flush=True)  # prints are fine
        return {"poses": self.poses}, {**told, **levels, **options, "focal_px": np.float32(300)}


class Sums:
    """An estimator of another kind: the sum of what it is given, times a gain."""

    def __init__(self, gain=1):
        self.spec = EstimatorSpec("sums", kind="sum", settings={"gain": gain})
        self.gain = gain

    def estimate(self, arrays, options):
        total = sum(float(array.sum()) for array in arrays.values()) * self.gain
        return {"sum": np.array(total)}, {"names": sorted(arrays), "options": options}


class Odd:
    """A decoder that breaks one promise, named by `how`. log: folder in which it leaves signs of what it did."""

    def __init__(self, how, log="", layout="vggt", kind="decoder"):
        self.how, self.log = how, log
        self.spec = EstimatorSpec("odd", kind=kind, layout=layout, settings={"how": how})

    def estimate(self, arrays, options):
        poses, how = np.tile(np.eye(4), (len(arrays["frames"]) + 1, 1, 1)), self.how
        if self.log:
            (Path(self.log) / f"asked-{os.getpid()}-{time.time()}").write_text("")
        if how == "raises":
            raise RuntimeError("CUDA error\nand more")
        if how == "not applicable":
            raise NotApplicable("too dark")
        if how == "exits":
            os._exit(3)
        if how == "killed once" and len(list(Path(self.log).iterdir())) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "slow":
            time.sleep(0.5)
        if how == "hangs":
            time.sleep(600)
        if how == "nan":
            poses[2, 1, 3] = np.nan
        if how == "mirrored":
            poses[1, 0, 0] = -1
        if how == "skewed":
            poses[1, 0, 1] = 0.2
        if how == "slightly skewed":
            poses[1:, 2, 3] = np.arange(1, len(poses))
            poses[1, 0, 1] = 0.01
        answers = {
            "no pair": poses,
            "a list": ([poses], {}),
            "no array": ({"poses": poses.tolist()}, {}),
            "no json": ({"poses": poses}, {"set": {1}}),
            "nan fact": ({"poses": poses}, {"focal_px": float("nan")}),
            "half": ({"poses": poses.astype(np.float16)}, {}),
            "too few": ({"poses": poses[:-1]}, {}),
            "too many": ({"poses": np.tile(poses, (1000, 1, 1))}, {}),
            "whole numbers": ({"poses": poses.astype(np.int64)}, {}),
            "another array": ({"poses": poses, "depth": np.zeros(3)}, {}),
            "nothing": ({}, {}),
            "escapes": ({"poses": poses}, {"note": "a\x1b[2Jb" * 100, "deep": {"a": 1}}),
        }
        return answers.get(how, ({"poses": poses}, {}))


class NoSpec:
    """Says nothing of itself."""

    def estimate(self, arrays, options):
        return {}, {}
