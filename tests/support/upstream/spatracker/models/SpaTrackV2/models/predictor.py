from types import SimpleNamespace

import numpy as np
import torch


class Predictor(torch.nn.Module):
    """Moves the cameras that it is given twice as far ahead, and leaves what it was asked in `asked`."""

    asked = []  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.spatrack = SimpleNamespace(track_num=0)

    @classmethod
    def from_pretrained(cls, name):
        assert name.endswith("offline")
        return cls()

    def forward(self, video, depth=None, intrs=None, extrs=None, queries=None, fps=30, **options):
        frames, _, height, width = video.shape
        assert width == 518
        assert depth.shape == (frames, height, width)
        assert intrs.shape == (frames, 3, 3)
        assert extrs.shape == (frames, 4, 4)
        assert options["unc_metric"].dtype == bool
        assert options["unc_metric"].shape == (frames, height, width)
        assert all(isinstance(array, np.ndarray) for array in (depth, intrs, extrs, queries))
        assert video.max() > 1, "in 0..255"
        self.asked.append((queries, fps, options, self.spatrack.track_num))
        poses = torch.from_numpy(extrs.copy())
        poses[:, :3, 3] *= 2
        nothing = torch.zeros(frames)
        return poses, torch.from_numpy(intrs), nothing, nothing, nothing, nothing, nothing, nothing, video
