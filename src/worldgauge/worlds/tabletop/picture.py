"""Pictures of the table: colours, depth and masks from any camera, rendered without a screen."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from worldgauge.errors import UsageError, WorldError
from worldgauge.geometry import Camera, FloatArray, Panorama
from worldgauge.worlds import View
from worldgauge.worlds.tabletop.world import Tabletop, mujoco

NEAR_M, FAR_M = 0.05, 10.0
FRONT_EYE_M, FRONT_AT_M, FRONT_FOV_DEG = (1.35, 0.0, 1.58), (0.17, 0.0, 0.86), 40.0
"""The front camera looks back at the arm from across the table."""
_KEPT = 3
_RENDERERS: OrderedDict[tuple[int, int, int], tuple[Tabletop, Any]] = OrderedDict()


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


def taken(simulation: Any, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
    """What `camera` sees of a simulation. Raises UsageError for panoramas, WorldError where nothing can be drawn."""
    if isinstance(camera, Panorama):
        raise UsageError("the table is looked at with a camera, not all around")
    mj = mujoco()
    renderer = _renderer(simulation.world, camera)
    scene, model, data = renderer.scene, simulation.model, simulation.data
    rgba = _coloured(simulation)
    try:
        renderer.update_scene(data)
    finally:
        for geom, colour in rgba.items():
            model.geom_rgba[geom] = colour
    _aim(scene, pose, camera)
    renderer.disable_depth_rendering()
    rgb = renderer.render()
    renderer.enable_depth_rendering()
    depth = renderer.render()
    renderer.disable_depth_rendering()
    renderer.enable_segmentation_rendering()
    ids, kinds = np.moveaxis(renderer.render(), -1, 0)
    renderer.disable_segmentation_rendering()
    instance, category = _labels(simulation, np.where(kinds == int(mj.mjtObj.mjOBJ_GEOM), ids, -1))
    seen = np.where(ids >= 0, depth, np.float32(np.inf)).astype(np.float32)
    points = None
    if position:
        hits = camera.unproject(np.where(np.isfinite(seen), seen, np.nan))
        points = (hits @ pose[:3, :3].T + pose[:3, 3]).astype(np.float32)
    return View(rgb, seen, category, instance, points)


def _renderer(world: Tabletop, camera: Camera) -> Any:
    """Of a model and a size; the last few are kept, since making one takes a tenth of a second."""
    key = (id(world.model), camera.width, camera.height)
    if key in _RENDERERS:
        _RENDERERS.move_to_end(key)
        return _RENDERERS[key][1]
    mj = mujoco()
    try:
        renderer = mj.Renderer(world.model, camera.height, camera.width)
    except Exception as error:
        raise WorldError(
            f"the table cannot be drawn ({error}): install the Debian packages libegl1 and libgl1-mesa-dri, "
            "or libosmesa6 and set MUJOCO_GL=osmesa"
        ) from error
    _RENDERERS[key] = world, renderer
    if len(_RENDERERS) > _KEPT:
        _RENDERERS.popitem(last=False)[1][1].close()
    return renderer


def _aim(scene: Any, pose: FloatArray, camera: Camera) -> None:
    """Put both eyes of the scene where the camera is, with its pinhole."""
    top, bottom = camera.cy / camera.fy * NEAR_M, (camera.cy - camera.height) / camera.fy * NEAR_M
    left, right = -camera.cx / camera.fx * NEAR_M, (camera.width - camera.cx) / camera.fx * NEAR_M
    for eye in scene.camera:
        eye.pos, eye.forward, eye.up = pose[:3, 3], pose[:3, 2], -pose[:3, 1]
        eye.frustum_near, eye.frustum_far = NEAR_M, FAR_M
        eye.frustum_top, eye.frustum_bottom = top, bottom
        eye.frustum_center, eye.frustum_width = (left + right) / 2, (right - left) / 2


def _coloured(simulation: Any) -> dict[int, FloatArray]:
    """Draw geoms in the colours that the task says; what they were."""
    before = {}
    for name, colour in simulation.task.colours(simulation.memory).items():
        geom = simulation.model.geom(name).id
        before[geom] = simulation.model.geom_rgba[geom].copy()
        simulation.model.geom_rgba[geom, :3] = colour
    return before


def _labels(simulation: Any, geoms: Any) -> tuple[Any, Any]:
    """Instance (1, 2, ... as the task's things, 0 for all else) and category of every pixel, from geoms (H, W)."""
    model, categories = simulation.model, simulation.world.categories
    instance_of = np.zeros(model.ngeom + 1, np.uint16)
    category_of = np.zeros(model.ngeom + 1, np.uint16)
    bodies = {model.body(thing.body).id: n for n, thing in enumerate(simulation.task.things, start=1)}
    for geom in range(model.ngeom):
        body = model.geom_bodyid[geom]
        while body and body not in bodies:
            body = model.body_parentid[body]
        if body:
            instance_of[geom] = bodies[body]
            category_of[geom] = categories.index(simulation.task.things[bodies[body] - 1].category)
        elif model.body(int(model.geom_bodyid[geom])).name.startswith(("arm", "base", "hand", "finger")):
            category_of[geom] = categories.index("arm")
        elif model.geom(geom).name == "table":
            category_of[geom] = categories.index("table")
    return instance_of[geoms], category_of[geoms]
