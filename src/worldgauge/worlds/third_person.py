"""A voxel world seen over the shoulder of a walker: the camera is on an arm behind a figure that is always in view.

The place of the figure follows from the camera's pose alone, so any pose can be rendered without a history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View, worlds
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import CATEGORIES

if TYPE_CHECKING:
    from worldgauge.worlds.gpu.batch import Out, Views


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
    Its arguments and cells are those of the world "voxel"."""

    categories: tuple[str, ...] = (*CATEGORIES, CHARACTER)
    viewpoint: ClassVar[str] = ", seen from behind a person with an orange backpack"

    @property
    def facts(self) -> WorldFacts:
        """Kind, seed, size and the digest of the cells."""
        return WorldFacts("third-person", super().facts.params, super().facts.digest)

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """Render what a camera sees, with the figure, which all arrays show. Safe to call from several threads."""
        from worldgauge.worlds._figure import draw_figure

        seen = self.still(pose, camera, position=position)
        label = self.categories.index(CHARACTER), FIGURE
        draw_figure(seen, np.asarray(pose, np.float64), camera, feet_of(pose), label)
        return seen

    def views(self, poses: ArrayLike, camera: Camera | Panorama, *, out: Out = "numpy", **options: Any) -> Views:
        """As `Batched.views`, for numpy; the processor draws the figure into what the GPU has drawn."""
        from worldgauge.worlds._figure import draw_figure

        if out != "numpy":
            raise UsageError(f"out is '{out}'; the figure of a walker is rendered on the CPU: ask for 'numpy'")
        found = super().views(poses, camera, **options)
        label = self.categories.index(CHARACTER), FIGURE
        for place, pose in enumerate(np.asarray(poses, np.float64)):
            points = None if found.position is None else found.position[place]
            one = View(found.rgb[place], found.depth[place], found.category[place], found.instance[place], points)
            draw_figure(one, pose, camera, feet_of(pose), label)
        return found

    def still(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """Render the view without the figure: everything that does not move with the camera."""
        return super().view(pose, camera, position=position)


def feet_of(poses: ArrayLike) -> FloatArray:
    """Positions (..., 3) of the figure's feet, metres, for camera-to-world poses (..., 4, 4)."""
    poses = np.asarray(poses, np.float64)
    feet: FloatArray = poses[..., :3, 3] + ARM_M * poses[..., :3, 2] - np.array([0.0, 0.0, PIVOT_M])
    return feet


def figure_mask(view: View) -> NDArray[np.bool_]:
    """Pixels (H, W) of the figure, which moves with the camera."""
    mask: NDArray[np.bool_] = view.instance == FIGURE
    return mask
