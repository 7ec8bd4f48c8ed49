from pathlib import Path
from types import SimpleNamespace

import torch


class DefaultAnnotationPipeline:
    """Says that the camera of every picture stands as far ahead as the picture is bright, in metres."""

    made = []  # noqa: RUF012
    rates = []  # noqa: RUF012

    def __init__(self, init, slam, post, output):
        Path(output.path).mkdir(exist_ok=True, parents=True)
        self.return_payload = False
        self.made.append((init, slam, post, output))

    def run(self, video):
        assert self.return_payload is True
        self.rates.append(video.fps())
        rows = [[0, 0, frame.mean() / 255, 0, 0, 0, 1] for frame in video]
        return SimpleNamespace(payload=SimpleNamespace(trajectory=SimpleNamespace(data=torch.tensor(rows))))
