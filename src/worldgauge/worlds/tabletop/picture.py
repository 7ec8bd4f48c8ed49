"""Pictures of the table: colours, depth and masks from any camera, rendered without a screen."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View
from worldgauge.worlds.tabletop.canvas import drawn, measured
from worldgauge.worlds.tabletop.engine import mujoco

if TYPE_CHECKING:
    from worldgauge.worlds.tabletop.simulation import Simulation

NEAR_M, FAR_M = 0.05, 10.0
FRONT_EYE_M, FRONT_AT_M, FRONT_FOV_DEG = (1.35, 0.0, 1.58), (0.17, 0.0, 0.966), 38.0
"""The front camera looks back at the arm from across the table."""


def front_camera(size_px: int = 448) -> Camera:
    """Square, as the paper's: 448 px for its diffusion model, 480 px for others."""
    return Camera.from_vertical_fov(size_px, size_px, FRONT_FOV_DEG)


def front_pose() -> FloatArray:
    """Camera-to-world (4, 4) of the front camera."""
    eye, at = np.array(FRONT_EYE_M), np.array(FRONT_AT_M)
    forward = (at - eye) / np.linalg.norm(at - eye)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = right, np.cross(forward, right), forward, eye
    return pose


def coloured(simulation: Simulation, pose: FloatArray, camera: Camera) -> NDArray[np.uint8]:
    """Render the colours of a simulation.

    Args:
        simulation: The simulation.
        pose: Camera-to-world pose (4, 4).
        camera: The camera.

    Returns:
        (H, W, 3) uint8.

    Raises:
        WorldError: Nothing can be drawn on this machine.
    """
    size = (camera.width, camera.height)
    return drawn(simulation.model, simulation.data, size, partial(_arranged, simulation, pose, camera))


def taken(simulation: Simulation, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
    """Render a view of a simulation: colours, depth and labels.

    Args:
        simulation: The simulation.
        pose: Camera-to-world pose (4, 4).
        camera: The camera.
        position: Also the world position of every pixel, metres.

    Returns:
        The view.

    Raises:
        UsageError: The camera is a panorama.
        WorldError: Nothing can be drawn on this machine.
    """
    if isinstance(camera, Panorama):
        raise UsageError("the table is looked at with a camera, not all around")
    rgb = coloured(simulation, pose, camera)
    size = (camera.width, camera.height)
    inverse, geoms = measured(simulation.model, simulation.data, size, partial(_arranged, simulation, pose, camera))
    depth = NEAR_M * FAR_M / (NEAR_M + inverse.astype(np.float64) * (FAR_M - NEAR_M))
    seen = np.where(geoms >= 0, depth, np.inf).astype(np.float32)
    instance, category = _labels(simulation)
    points = None
    if position:
        hits = camera.unproject(np.where(np.isfinite(seen), seen, np.nan))
        points = (hits @ pose[:3, :3].T + pose[:3, 3]).astype(np.float32)
    return View(rgb, seen, category[geoms], instance[geoms], points)


def _arranged(simulation: Simulation, pose: FloatArray, camera: Camera, scene: Any) -> None:
    """Put both eyes of the scene where the camera is, with its pinhole; colour geoms as the task says."""
    top, bottom = camera.cy / camera.fy * NEAR_M, (camera.cy - camera.height) / camera.fy * NEAR_M
    left, right = -camera.cx / camera.fx * NEAR_M, (camera.width - camera.cx) / camera.fx * NEAR_M
    for eye in scene.camera:
        eye.pos, eye.forward, eye.up = pose[:3, 3], pose[:3, 2], -pose[:3, 1]
        eye.frustum_near, eye.frustum_far = NEAR_M, FAR_M
        eye.frustum_top, eye.frustum_bottom = top, bottom
        eye.frustum_center, eye.frustum_width = (left + right) / 2, (right - left) / 2
    model, kind = simulation.model, mujoco().mjtObj.mjOBJ_GEOM
    colours = {model.geom(name).id: colour for name, colour in simulation.task.colours(simulation.memory).items()}
    for geom in scene.geoms[: scene.ngeom] if colours else ():
        if geom.objtype == kind and geom.objid in colours:
            geom.rgba[:3] = colours[geom.objid]


def _labels(simulation: Simulation) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Of every geom, and last of nothing: its instance (1, 2, ... as the task's things, else 0) and its category."""
    model, things, names = simulation.model, simulation.task.things, simulation.world.categories
    instances = np.zeros(model.ngeom + 1, np.uint16)
    categories = np.zeros(model.ngeom + 1, np.uint16)
    numbers = {model.body(thing.body).id: n for n, thing in enumerate(things, start=1)}
    arm = model.body("base").id
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        while body not in numbers and body not in (arm, 0):
            body = int(model.body_parentid[body])
        if body in numbers:
            instances[geom] = numbers[body]
            categories[geom] = names.index(things[numbers[body] - 1].category)
        elif body == arm:
            categories[geom] = names.index("arm")
        elif model.geom(geom).name == "table":
            categories[geom] = names.index("table")
    return instances, categories
