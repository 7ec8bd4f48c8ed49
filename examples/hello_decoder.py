"""A decoder in one file: it finds the camera path of a video, which `targetbench` scores.

    python examples/hello_decoder.py

`--set "decoder=straight?speed_m_s=1.1"` finds it when a package names this class in its entry points:

    [project.entry-points."worldgauge.decoders"]
    straight = "hello_decoder:Straight"
"""

import numpy as np

from worldgauge.data import Clip
from worldgauge.model import DecodedPath, DecodeRequest, decoders, open_decoder


@decoders.register("straight")
class Straight:
    """Assumes that every camera moves straight ahead; a floor for other decoders."""

    name, version = "straight", 1  # raise the version when the same video may get another path

    def __init__(self, speed_m_s: float = 0.8) -> None:
        self.settings = {"speed_m_s": speed_m_s}

    def decode(self, request: DecodeRequest) -> DecodedPath:
        """Metres ahead (+y) at the chosen frames. A bad video gives a status, never an exception."""
        if not len(request.video):
            return DecodedPath("failed", self.name, "the video has no frames")
        frames = np.linspace(0, len(request.video) - 1, request.n_points).astype(np.int64)
        ahead = frames / request.video.fps * self.settings["speed_m_s"]
        xy = np.stack([np.zeros_like(ahead), ahead], -1)
        return DecodedPath("ok", self.name, xy=xy, frame_indices=frames, registered=np.ones(len(frames), bool))


if __name__ == "__main__":
    clip = Clip.from_array(np.zeros((21, 4, 4, 3), np.uint8), fps=10)  # two seconds
    path = open_decoder("straight?speed_m_s=1.0").decode(DecodeRequest(clip, None, None))
    print(f"{path.status}: from {path.xy[0]} to {path.xy[-1]} metres")
