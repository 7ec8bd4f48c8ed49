"""The adapters of decoders, with numpy in the place of their networks: the brighter a frame, the farther ahead."""

import importlib.util
from pathlib import Path

import numpy as np

ADAPTERS = Path(__file__).parents[3] / "adapters"


def _adapter(name):
    spec = importlib.util.spec_from_file_location("adapter_" + name, ADAPTERS / (name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Bright:
    """Stands in for all three networks."""

    identity = {"weights": "none"}  # noqa: RUF012 - as the adapters do it

    def __init__(self):
        self.seeds = []

    def seed(self, seed):
        self.seeds.append(seed)

    def cameras(self, images, grid=None, size=None):
        poses = np.tile(np.eye(4, dtype=np.float32), (len(images), 1, 1))
        bright = images.mean((1, 2, 3))
        focal = np.full(len(images), images.shape[3] / 2)
        poses[:, 2, 3] = bright / 255 if grid else -bright  # camera-to-world and 0..255, or world-to-camera and 0..1
        return (poses, focal, images.shape[3]) if grid else (poses[:, :3], focal)

    def poses(self, clip, folder):
        import cv2

        video, rows = cv2.VideoCapture(str(clip)), []
        while True:
            there, frame = video.read()
            if not there:
                return np.array(rows)
            rows.append([0, 0, frame.mean() / 255, 0, 0, 0, 1])


class Vggt(_adapter("vggt").Vggt):
    def __init__(self):
        super().__init__(backend=Bright())


class SpaTracker(_adapter("spatracker").SpaTracker):
    def __init__(self, grid_of="seen"):
        super().__init__(grid_of=grid_of, backend=Bright())


class Vipe(_adapter("vipe").Vipe):
    def __init__(self, clip="mp4v"):
        super().__init__(clip=clip, backend=Bright())
