"""A voxel world seen over the shoulder of a walker: the camera stands on an arm behind a figure that it always shows.

Where the figure stands follows from the camera's pose alone, so any pose can be drawn again without a history.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View, worlds
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import CATEGORIES

ARM_M = 2.5
"""From the camera ahead to the pivot that it turns about (MIND's data: 250 cm)."""
PIVOT_M = 1.2
"""The pivot above the figure's feet (MIND's data: 120 cm)."""
CHARACTER = "character"
"""Category of the figure."""
FIGURE = 65535
"""The figure in `View.instance`."""


@worlds.register("third-person", example={"kind": "plains", "seed": 1})
class ThirdPerson(Voxel):
    """A voxel world with a walker in view, at the end of the camera's arm.

    kind, seed, size: as of the world "voxel", which has the same cells. Raises as it does.
    """

    categories: tuple[str, ...] = (*CATEGORIES, CHARACTER)

    @property
    def facts(self) -> WorldFacts:
        """Kind, seed, size and the digest of the cells."""
        return WorldFacts("third-person", super().facts.params, super().facts.digest)

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """What `camera` sees from camera-to-world `pose` (4, 4), with the figure; safe to call from several threads.

        Depth, category, instance and position of its pixels are the figure's.
        """
        from worldgauge.worlds.third_person.drawing import draw_figure

        seen = self.still(pose, camera, position=position)
        label = self.categories.index(CHARACTER), FIGURE
        draw_figure(seen, np.asarray(pose, np.float64), camera, feet_of(pose), label)
        return seen

    def still(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """The same view without the figure: what stands still when the camera moves."""
        return super().view(pose, camera, position=position)


def feet_of(poses: ArrayLike) -> FloatArray:
    """Where the figure's feet stand (..., 3), metres, that cameras with poses (..., 4, 4) look at."""
    poses = np.asarray(poses, np.float64)
    feet: FloatArray = poses[..., :3, 3] + ARM_M * poses[..., :3, 2] - np.array([0.0, 0.0, PIVOT_M])
    return feet


def figure_mask(view: View) -> NDArray[np.bool_]:
    """Pixels (H, W) of the figure, which moves with the camera."""
    mask: NDArray[np.bool_] = view.instance == FIGURE
    return mask
