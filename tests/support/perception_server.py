"""Servers of perception as their authors write them, with seeded random projections in place of trained networks."""

import numpy as np

from worldgauge_serve import EstimatorSpec

CHANNELS = 768
PATCH = 16


def projection(seed):
    return np.random.default_rng(seed).normal(0, 1 / np.sqrt(CHANNELS), (CHANNELS, CHANNELS)).astype(np.float32)


def patches(frames):
    """(n, 224, 224, 3) as (n, 196, 768): the values of every 16x16 patch."""
    n, side = len(frames), 224 // PATCH
    cut = frames.reshape(n, side, PATCH, side, PATCH, 3).transpose(0, 1, 3, 2, 4, 5)
    return cut.reshape(n, side * side, CHANNELS)


class Dino:
    """Projected patches after five special tokens, of which the first tells the range of what was seen."""

    def __init__(self, seed=0):
        self.spec = EstimatorSpec("random-dino", kind="dino", settings={"seed": seed})
        self.matrix = projection(seed)

    def estimate(self, arrays, options):
        frames = arrays["frames"]
        tokens = np.zeros((len(frames), 5, CHANNELS), np.float32)
        tokens[:, 0, 0], tokens[:, 0, 1] = frames.min((1, 2, 3)), frames.max((1, 2, 3))
        tokens[:, 0, 2] = len(frames)
        return {"tokens": np.concatenate([tokens, patches(frames) @ self.matrix], 1)}, {}


class Aesthetic:
    """The mean patch, projected; or with layout "scores" the sum of what was seen."""

    def __init__(self, layout="features", seed=0):
        self.spec = EstimatorSpec("random-clip", kind="aesthetic", layout=layout, settings={"seed": seed})
        self.matrix = projection(seed)

    def estimate(self, arrays, options):
        frames = arrays["frames"]
        if self.spec.layout == "scores":
            return {"scores": frames.sum((1, 2, 3), dtype=np.float64)}, {}
        return {"features": patches(frames).mean(1) @ self.matrix}, {}


class Imaging:
    """50 more than 50 times the mean of what was seen; fails at one that is quite black."""

    def __init__(self):
        self.spec = EstimatorSpec("mean-level", kind="imaging")

    def estimate(self, arrays, options):
        levels = arrays["frames"].mean((1, 2, 3), dtype=np.float64)
        if levels.min() <= -1:
            raise ValueError("nothing to be seen")
        return {"scores": 50 + 50 * levels}, {}


class Lpips:
    """The mean absolute difference of what was seen; with n_given other than 0 always so many."""

    def __init__(self, n_given=0):
        self.spec = EstimatorSpec("absolute", kind="lpips")
        self.n_given = n_given

    def estimate(self, arrays, options):
        found = np.abs(arrays["x"] - arrays["y"]).mean((1, 2, 3), dtype=np.float64)
        return {"distances": np.zeros(self.n_given) if self.n_given else found}, {}


class Video:
    """Features of a video: means of parts of its frames, and of how it changes."""

    def __init__(self):
        self.spec = EstimatorSpec("mean-video", kind="video")

    def estimate(self, arrays, options):
        video = arrays["video"].astype(np.float64)
        cells = video.reshape(1, video.shape[1], 14, 16, 14, 16, 3).mean((1, 3, 5)).reshape(1, -1)[:, :399]
        change = np.abs(np.diff(video, axis=1)).mean().reshape(1, 1)
        return {"features": np.concatenate([cells, change], 1)}, {}
