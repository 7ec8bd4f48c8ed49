"""A world in one file: a striped floor under an empty sky, in which loops can be walked.

    worldgauge collect loopnav --world ./examples/hello_world.py:Stripes --out data --settlements 1 --ranges 5
    worldgauge run loopnav --data data --model freeze --out runs

The data hold only the name `stripes`. Later commands find it, because the first one named its file.
"""

import hashlib

import numpy as np

from worldgauge.data import WorldFacts
from worldgauge.world import Camera, FloorPlan, View, open_world, pose_from_yaw_pitch, worlds


@worlds.register("stripes", example={"seed": 1}, walkable=True)
class Stripes:
    """Stripes of `width_m` metres at z = 0. The seed chooses the grey of the dark ones."""

    categories = ("sky", "floor")
    landmarks = ()  # things that can be named as targets
    floor = FloorPlan(np.ones((400, 400), bool), np.zeros((400, 400), np.float32), origin=(0.0, 0.0), cell_m=0.25)

    def __init__(self, seed: int, width_m: float = 1.0) -> None:
        self.seed, self.width_m = seed, width_m

    @property
    def facts(self) -> WorldFacts:
        """What is needed to build the world again. Change the digest when the same arguments give another world."""
        digest = hashlib.sha256(f"stripes 1 {self.seed} {self.width_m}".encode()).hexdigest()
        return WorldFacts("stripes", {"seed": self.seed, "width_m": self.width_m}, digest)

    def view(self, pose: np.ndarray, camera: Camera, *, position: bool = False) -> View:
        """Intersect the ray of each pixel with the floor."""
        rays = camera.rays() @ pose[:3, :3].T  # (H, W, 3), world frame: x, y on the floor, z up
        with np.errstate(divide="ignore", invalid="ignore"):
            depth = -pose[2, 3] / rays[..., 2]
        hit = np.isfinite(depth) & (depth > 0)
        points = pose[:3, 3] + rays * np.where(hit, depth, np.nan)[..., None]
        dark = np.floor(np.nan_to_num(points[..., 0]) / self.width_m) % 2 == 1
        grey = np.where(hit, np.where(dark, self.seed % 128, 220), 180).astype(np.uint8)
        return View(
            rgb=np.repeat(grey[..., None], 3, -1),
            depth=np.where(hit, depth, np.inf).astype(np.float32),
            category=hit.astype(np.uint16),
            instance=np.zeros(hit.shape, np.uint16),
            position=points.astype(np.float32) if position else None,
        )


if __name__ == "__main__":
    world = open_world(Stripes(seed=1).facts)
    view = world.view(pose_from_yaw_pitch((0.5, 0.5, 2.0), 0.0, -np.pi / 2), Camera.from_vertical_fov(9, 9, 10))
    print(f"looking down from {view.depth.mean():.1f} m")
