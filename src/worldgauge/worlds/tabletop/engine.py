"""The physics engine, MuJoCo, which an extra installs; and its pictures without a screen."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import MissingExtraError, UsageError, WorldError

GRAPHICS = "the Debian packages libegl1, libopengl0 and libgl1-mesa-dri, or libosmesa6 with MUJOCO_GL=osmesa"
"""What has to be on the machine to draw a table without a screen."""
_LOG = logging.getLogger(__name__)


@cache
def mujoco() -> Any:
    """Import the physics engine."""
    # Read by the engine when it is first imported: pictures without a screen.
    os.environ.setdefault("MUJOCO_GL", "egl")
    try:
        import mujoco as engine
    except ImportError as error:
        raise MissingExtraError("the physics engine of the tabletop", "manipulation") from error
    except Exception as error:  # OpenGL's packages meet a library that is not there with errors of any kind
        raise WorldError(
            f"the table cannot be rendered ({' '.join(str(error).split())}): install {GRAPHICS}"
        ) from error
    # Else it writes MUJOCO_LOG.TXT where the process runs. What is unstable ends in an UnstableError.
    engine.set_mju_user_warning(_LOG.debug)
    return engine


LARGEST_PX = 4096
Arrange = Callable[[Any], None]
"""Changes a scene (mujoco.MjvScene) before it is drawn: puts its eyes where they belong, colours its geoms."""

_KEPT = 4
_MOST_GEOMS = 2000
_LOCK = threading.RLock()


class _Drawing(NamedTuple):
    """What renders a model."""

    model: Any  # held so that its id stays its own
    graphics: Any  # not shared, since the engine leaves its lights on in a shared one
    context: Any
    scene: Any
    size_px: list[int]  # width and height of the buffers


_DRAWINGS: OrderedDict[int, _Drawing] = OrderedDict()


def drawn(model: Any, data: Any, size_px: tuple[int, int], arrange: Arrange) -> NDArray[np.uint8]:
    """Render the colours (H, W, 3) of a physics model; `size_px` is width and height."""
    with _ready(model, data, size_px, arrange) as drawing:
        return _pixels(drawing, size_px)


def measured(
    model: Any, data: Any, size_px: tuple[int, int], arrange: Arrange
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Render the depth of a physics model, and the geom in each pixel, -1 for none; `size_px` is width and height.
    Depth (H, W) is as the graphics card has it: 1 at the near plane and 0 at the far one."""
    mj = mujoco()
    by_number = [int(mj.mjtRndFlag.mjRND_SEGMENT), int(mj.mjtRndFlag.mjRND_IDCOLOR)]
    depth = np.empty(size_px[::-1], np.float32)
    with _ready(model, data, size_px, arrange) as drawing:
        scene = drawing.scene
        scene.flags[by_number] = 1
        try:
            numbers = _pixels(drawing, size_px, depth).astype(np.int64) @ (1, 1 << 8, 1 << 16)
        finally:
            scene.flags[by_number] = 0
        geom_of = np.full(scene.ngeom + 1, -1)
        for geom in scene.geoms[: scene.ngeom]:
            if geom.segid >= 0 and geom.objtype == mj.mjtObj.mjOBJ_GEOM:
                geom_of[geom.segid + 1] = geom.objid
    return np.flipud(depth), geom_of[numbers]


@contextmanager
def _ready(model: Any, data: Any, size_px: tuple[int, int], arrange: Arrange) -> Iterator[_Drawing]:
    """A drawing with its scene as the data say; the graphics are this thread's until the end."""
    if max(size_px) > LARGEST_PX:
        raise UsageError(f"a picture is up to {LARGEST_PX} px wide and high, got {size_px[0]} x {size_px[1]}")
    with _LOCK:
        if _own_process.cache_info().currsize and _own_process() != os.getpid():
            raise WorldError("this process was forked from one that had drawn the table: start it with 'spawn'")
        # Models of plain shapes have nothing to upload: one drawing does for all of them.
        key = id(model) if model.nmesh or model.ntex else 0
        if key not in _DRAWINGS:
            _DRAWINGS[key] = _started(model, data)
            if len(_DRAWINGS) > _KEPT:
                _free(_DRAWINGS.popitem(last=False)[1])
        _DRAWINGS.move_to_end(key)
        drawing = _DRAWINGS[key]
        with drawing.graphics.as_current():
            _fit(drawing, size_px)
            _update(drawing, model, data, mujoco().MjvCamera())
            arrange(drawing.scene)
            yield drawing


def _started(model: Any, data: Any) -> _Drawing:
    """A new drawing that was seen to work: drivers under load have given black right after their start."""
    mj = mujoco()
    graphics = _graphics()
    with graphics.as_current():
        context = mj.MjrContext(model, mj.mjtFontScale.mjFONTSCALE_50)
        context.readDepthMap = mj.mjtDepthMap.mjDEPTH_ZEROFAR
        drawing = _Drawing(model, graphics, context, mj.MjvScene(model, _MOST_GEOMS), [0, 0])
        _fit(drawing, (32, 32))
        camera = mj.MjvCamera()
        mj.mjv_defaultFreeCamera(model, camera)
        _update(drawing, model, data, camera)
        for _ in range(2):
            seen = _pixels(drawing, (32, 32))
            if seen.min() < seen.max():
                return drawing
    _free(drawing)
    raise WorldError(f"the table is rendered as one flat colour: the graphics do not work; install {GRAPHICS}")


def _fit(drawing: _Drawing, size_px: tuple[int, int]) -> None:
    """Make the buffers large enough."""
    mj = mujoco()
    larger = [max(one, other) for one, other in zip(drawing.size_px, size_px, strict=True)]
    if larger != drawing.size_px:
        mj.mjr_resizeOffscreen(*larger, drawing.context)
        mj.mjr_setBuffer(mj.mjtFramebuffer.mjFB_OFFSCREEN, drawing.context)
        drawing.size_px[:] = larger


def _update(drawing: _Drawing, model: Any, data: Any, camera: Any) -> None:
    mj = mujoco()
    mj.mjv_updateScene(model, data, mj.MjvOption(), None, camera, int(mj.mjtCatBit.mjCAT_ALL), drawing.scene)


def _pixels(drawing: _Drawing, size_px: tuple[int, int], depth: NDArray[np.float32] | None = None) -> NDArray[np.uint8]:
    """Colours, top row first; `depth` is filled with the bottom row first."""
    mj = mujoco()
    rect = mj.MjrRect(0, 0, *size_px)
    colours = np.empty((size_px[1], size_px[0], 3), np.uint8)
    mj.mjr_render(rect, drawing.scene, drawing.context)
    mj.mjr_readPixels(colours, depth, rect, drawing.context)
    return np.ascontiguousarray(np.flipud(colours))


def can_draw() -> bool:
    """Whether tables can be simulated and drawn here: the physics engine is installed, and EGL works."""
    try:
        mujoco()
        _graphics().free()
    except (MissingExtraError, WorldError):
        return False
    return True


def _graphics() -> Any:
    """A new context to draw in."""
    # Read by Mesa's software renderer: threads of its own cost more than they bring for pictures this small (measured).
    os.environ.setdefault("LP_NUM_THREADS", "0")
    try:
        if os.environ.get("MUJOCO_GL", "").strip().lower() == "osmesa":
            from mujoco.osmesa import GLContext
        else:
            from mujoco.egl import GLContext
        made = GLContext(8, 8)  # pictures go to buffers of their own
    except Exception as error:
        raise WorldError(
            f"the table cannot be rendered ({' '.join(str(error).split())}): install {GRAPHICS}"
        ) from error
    _own_process()
    return made


@cache
def _own_process() -> int:
    """Number of the process whose graphics were started here."""
    # After the driver's own exit handler, thus run before it.
    atexit.register(_end)
    return os.getpid()


def _end() -> None:
    """Free what is held of the graphics while they are still there."""
    with _LOCK:
        while _DRAWINGS and _own_process() == os.getpid():
            _free(_DRAWINGS.popitem()[1])


def _free(drawing: _Drawing) -> None:
    with drawing.graphics.as_current():
        drawing.context.free()
    drawing.graphics.free()
