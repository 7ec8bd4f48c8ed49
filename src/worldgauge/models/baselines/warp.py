"""Baselines that draw the last context frame from other poses: `roll` turns it, `warp` also moves through it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.episode import Context
from worldgauge.core.errors import ModelError, NotApplicableError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama, invert, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.core.panorama import rolled
from worldgauge.models import models
from worldgauge.models.baselines.trivial import turned_in_place
from worldgauge.perception.network_source import source_of

TORN_PX_PER_M = 4.0
"""Neighbouring pixels lie on two surfaces, with a hole opening between them, where moving the camera by a metre would
pull them further apart than this: at 384 pixels of 90 degrees, 1 m next to 1.02 m, or 5 m next to 5.6 m."""
NEAREST_M = 0.02
FARTHEST_M = 1e4
"""Metres used for an infinite depth, at which nothing moves."""
_BORDER_PX = 2
"""Width in pixels over which the colours of two surfaces mix at their border."""
_ALIKE = 0.1
_EDGE = 1e-3
"""Share of a triangle by which it is grown, so that no pixel falls between two."""
_ROUNDING = 1e-12


class DepthMesh:
    """What one frame shows, to render from other poses; depth (H, W) is along the axis, or along a panorama's rays. NaN
    leaves a pixel out."""

    def __init__(
        self, image: NDArray[np.uint8], depth: NDArray[np.float32], camera: Camera | Panorama, pose: FloatArray
    ) -> None:
        self._image = image
        self._camera = camera
        self._pose = pose
        self._round = isinstance(camera, Panorama)
        far = np.where(np.isnan(depth), np.nan, np.clip(depth, NEAREST_M, FARTHEST_M)).astype(np.float32)
        self._points = (camera.rays() * far[..., None]).astype(np.float32)
        px_per_rad = camera.width / (2 * math.pi) if isinstance(camera, Panorama) else camera.fx
        self._torn = _tears(far, np.float32(TORN_PX_PER_M / px_per_rad), self._round)
        self._places = np.empty((*far.shape, 3), np.float32)

    def render(self, pose: FloatArray) -> NDArray[np.uint8]:
        """Render from another pose. A hole takes the colour next to it in its row, on the farther side; an empty row
        repeats the nearest one."""
        import cv2

        to_new = (invert(pose) @ self._pose).astype(np.float32)
        camera, height, width = self._camera, *self._image.shape[:2]
        if isinstance(camera, Panorama):
            _project_around(self._points, to_new, self._places)
        else:
            _project_ahead(self._points, to_new, camera.fx, camera.fy, camera.cx, camera.cy, self._places)
        sources = np.zeros((2, height, width), np.float32)
        nearness = np.zeros((height, width), np.float32)
        _draw(self._places, self._torn, self._round, sources, nearness)
        _fill(sources, nearness, self._round)
        border = cv2.BORDER_WRAP if self._round else cv2.BORDER_REPLICATE
        return np.asarray(cv2.remap(self._image, sources[0], sources[1], cv2.INTER_LINEAR, borderMode=border), np.uint8)


@njit(cache=True, nogil=True)
def _tears(depth, most, round_):  # type: ignore[no-untyped-def]
    """(H - 1, W or W - 1) bool: squares of four neighbouring pixels that are not of one surface."""
    height, width = depth.shape
    torn = np.zeros((height - 1, width if round_ else width - 1), np.bool_)
    for v in range(torn.shape[0]):
        for u in range(torn.shape[1]):
            right = u + 1 if u + 1 < width else 0
            a, b = 1 / depth[v, u], 1 / depth[v, right]
            c, d = 1 / depth[v + 1, u], 1 / depth[v + 1, right]
            # Also where one of them is NaN.
            torn[v, u] = not (max(max(a, b), max(c, d)) - min(min(a, b), min(c, d)) <= most)
    return torn


@njit(cache=True, nogil=True)
def _project_ahead(points, to_new, fx, fy, cx, cy, places):  # type: ignore[no-untyped-def]
    """Column, row and 1/z of every point, pixel centres at whole numbers; 1/z is 0 where it cannot be seen."""
    for v in range(points.shape[0]):
        for u in range(points.shape[1]):
            x, y, z = points[v, u, 0], points[v, u, 1], points[v, u, 2]
            ahead = to_new[2, 0] * x + to_new[2, 1] * y + to_new[2, 2] * z + to_new[2, 3]
            if not ahead > NEAREST_M:
                places[v, u, 2] = 0
                continue
            across = to_new[0, 0] * x + to_new[0, 1] * y + to_new[0, 2] * z + to_new[0, 3]
            down = to_new[1, 0] * x + to_new[1, 1] * y + to_new[1, 2] * z + to_new[1, 3]
            near = 1 / ahead
            places[v, u, 0] = fx * across * near + cx - 0.5
            places[v, u, 1] = fy * down * near + cy - 0.5
            places[v, u, 2] = near


@njit(cache=True, nogil=True)
def _project_around(points, to_new, places):  # type: ignore[no-untyped-def]
    """The same on a panorama of as many pixels, with 1/range."""
    height, width = points.shape[:2]
    for v in range(height):
        for u in range(width):
            x, y, z = points[v, u, 0], points[v, u, 1], points[v, u, 2]
            across = to_new[0, 0] * x + to_new[0, 1] * y + to_new[0, 2] * z + to_new[0, 3]
            down = to_new[1, 0] * x + to_new[1, 1] * y + to_new[1, 2] * z + to_new[1, 3]
            ahead = to_new[2, 0] * x + to_new[2, 1] * y + to_new[2, 2] * z + to_new[2, 3]
            level = across * across + ahead * ahead
            distance = math.sqrt(level + down * down)
            if not distance > NEAREST_M:
                places[v, u, 2] = 0
                continue
            places[v, u, 0] = (math.atan2(across, ahead) / (2 * math.pi) + 0.5) * width - 0.5
            places[v, u, 1] = (0.5 + math.atan2(down, math.sqrt(level)) / math.pi) * height - 0.5
            places[v, u, 2] = 1 / distance


@njit(cache=True, nogil=True)
def _draw(places, torn, round_, sources, nearness):  # type: ignore[no-untyped-def]
    """Source position of each pixel on the nearest surface; nearness stays 0 where there is none."""
    width = nearness.shape[1]
    for v in range(torn.shape[0]):
        for u in range(torn.shape[1]):
            right = u + 1 if u + 1 < width else 0
            xa, ya, wa = places[v, u, 0], places[v, u, 1], places[v, u, 2]
            xb, yb, wb = places[v, right, 0], places[v, right, 1], places[v, right, 2]
            xc, yc, wc = places[v + 1, u, 0], places[v + 1, u, 1], places[v + 1, u, 2]
            xd, yd, wd = places[v + 1, right, 0], places[v + 1, right, 1], places[v + 1, right, 2]
            whole = not torn[v, u] and min(min(wa, wb), min(wc, wd)) > 0
            if round_ and whole:
                # On both sides of the seam: unrolled towards the first corner.
                xb = _beside(xb, xa, width)
                xc = _beside(xc, xa, width)
                xd = _beside(xd, xa, width)
                # A square at a pole goes around the sphere.
                whole = max(max(xa, xb), max(xc, xd)) - min(min(xa, xb), min(xc, xd)) < width / 4
            if whole:
                _square(xa, ya, wa, xb, yb, wb, xc, yc, wc, xd, yd, wd, u, v, round_, sources, nearness)
            else:
                _point(places, u, v, round_, sources, nearness)
                _point(places, right, v, round_, sources, nearness)
                _point(places, u, v + 1, round_, sources, nearness)
                _point(places, right, v + 1, round_, sources, nearness)


@njit(cache=True, nogil=True, inline="always")
def _beside(x, of, width):  # type: ignore[no-untyped-def]
    if x - of > width / 2:
        return x - width
    if of - x > width / 2:
        return x + width
    return x


@njit(cache=True, nogil=True)
def _point(places, u, v, round_, sources, nearness):  # type: ignore[no-untyped-def]
    height, width = nearness.shape
    x, y, w = places[v, u]
    if not w > 0 or not abs(x) < 1e6 or not abs(y) < 1e6:
        return
    column, row = math.floor(x + 0.5), math.floor(y + 0.5)
    if round_:
        column %= width
    if 0 <= column < width and 0 <= row < height and w > nearness[row, column]:
        nearness[row, column] = w
        sources[0, row, column] = u
        sources[1, row, column] = v


@njit(cache=True, nogil=True)
def _square(xa, ya, wa, xb, yb, wb, xc, yc, wc, xd, yd, wd, u, v, round_, sources, nearness):  # type: ignore[no-untyped-def]
    """Rasterise source pixels a, b (right of a), c (below a) and d as the triangles a b c and d c b. Each is at (x, y)
    with nearness w; a is source pixel (u, v)."""
    height, width = nearness.shape
    top = max(math.ceil(min(min(ya, yb), min(yc, yd)) - _EDGE), 0)
    bottom = min(math.floor(max(max(ya, yb), max(yc, yd)) + _EDGE), height - 1)
    left = math.ceil(min(min(xa, xb), min(xc, xd)) - _EDGE)
    last = math.floor(max(max(xa, xb), max(xc, xd)) + _EDGE)
    if not round_:
        left, last = max(left, 0), min(last, width - 1)
    if top > bottom or left > last:
        return
    first = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
    second = (xc - xd) * (yb - yd) - (xb - xd) * (yc - yd)
    first = 1 / first if abs(first) > _ROUNDING else 0.0
    second = 1 / second if abs(second) > _ROUNDING else 0.0
    for row in range(top, bottom + 1):
        for column in range(left, last + 1):
            # Lines are straight in space, not between pixels of the source, so each corner is weighted by its nearness.
            across = ((column - xa) * (yc - ya) - (xc - xa) * (row - ya)) * first
            down = ((xb - xa) * (row - ya) - (column - xa) * (yb - ya)) * first
            if first != 0 and across >= -_EDGE and down >= -_EDGE and across + down <= 1 + _EDGE:
                w = (1 - across - down) * wa + across * wb + down * wc
                x, y = across * wb, down * wc
            else:
                back = ((column - xd) * (yb - yd) - (xb - xd) * (row - yd)) * second
                up = ((xc - xd) * (row - yd) - (column - xd) * (yc - yd)) * second
                if second == 0 or back < -_EDGE or up < -_EDGE or back + up > 1 + _EDGE:
                    continue
                w = (1 - back - up) * wd + back * wc + up * wb
                x, y = w - back * wc, w - up * wb
            at = column % width if round_ else column
            if w > nearness[row, at]:
                nearness[row, at] = w
                sources[0, row, at] = u + x / w
                sources[1, row, at] = v + y / w


@njit(cache=True, nogil=True)
def _fill(sources, nearness, round_):  # type: ignore[no-untyped-def]
    """Give every pixel that shows nothing the source of one that does; see `DepthMesh.render`."""
    height, width = nearness.shape
    shows = np.zeros(height, np.bool_)
    for row in range(height):
        first = 0
        while first < width and not nearness[row, first] > 0:
            first += 1
        if first == width:
            continue
        shows[row] = True
        before = first
        column = first + 1
        while column < first + width:  # once round the row, from a pixel that shows something
            if nearness[row, column % width] > 0:
                before = column
                column += 1
                continue
            after = column
            while not nearness[row, after % width] > 0:
                after += 1
            left = _inside(nearness, row, before % width, -1, round_)
            right = _inside(nearness, row, after % width, 1, round_)
            farther = left if nearness[row, left] <= nearness[row, right] else right
            for at in range(column, after):
                take = farther
                if not round_ and after >= width:  # a hole at both ends of a row that has ends is two
                    take = left if at < width else right
                sources[:, row, at % width] = sources[:, row, take]
            column = after
    for row in range(height):
        away = 0
        while not shows[row] and away < height:
            away += 1
            for other in (row - away, row + away):
                if 0 <= other < height and shows[other]:
                    sources[:, row] = sources[:, other]
                    away = height
                    break


@njit(cache=True, nogil=True)
def _inside(nearness, row, column, way, round_):  # type: ignore[no-untyped-def]
    """The pixel some steps into a surface from its border `column`, where colours of two surfaces are mixed."""
    width = nearness.shape[1]
    for step in (_BORDER_PX, 1):
        at = column + way * step
        if round_:
            at %= width
        if 0 <= at < width and abs(nearness[row, at] - nearness[row, column]) < _ALIKE * nearness[row, at]:
            return at
    return column


KIND = "depth"
SKY_M = 60.0
"""Metres beyond which estimated depth is taken for sky, since no network returns infinity. Outdoor ones end at 80 m."""


class DepthSource:
    """A network that estimates depth in metres, run here ("depth-anything") or by a server of kind "depth"."""

    def __init__(self, at: str) -> None:
        self._source = source_of(at, KIND, ("",))

    @property
    def settings(self) -> Mapping[str, Any]:
        """What changes the answers, as plain JSON values: digest of the weights, or identity of the server."""
        return {**self._source.settings, "sky_m": SKY_M}

    def added(self, context: Context) -> Context:
        """Add estimated depth to a context, lazily per frame; sky is infinite. Reading a depth raises ModelError if a
        server returns none."""
        if isinstance(context.camera, Panorama):
            raise NotApplicableError(f"'{self._source.name}' estimates depth of perspective views, not of panoramas")

        def depth(index: int) -> NDArray[np.float32]:
            frame = context.clip[index]
            arrays: dict[str, Any] = {"frames": frame[None]}
            found = self._source.rows(arrays, KIND, frame.shape[:2])[0].astype(np.float32)
            if not (found > 0).all():
                raise ModelError(f"'{self._source.name}' gives a depth of {found.min():g} m; all must lie ahead")
            return np.where(found < SKY_M, found, np.float32(np.inf))

        return replace(context, depth=depth)


def depth_of_context(
    model: str, context: Context, estimated: DepthSource | None, without: str = ""
) -> Callable[[int], NDArray[np.float32]]:
    """Return the depth of each context frame, recorded or estimated; `without`: another model that needs none."""
    depth = (context if estimated is None else estimated.added(context)).depth
    if depth is None:
        raise NotApplicableError(
            f"'{model}' needs the depth of its context, and this recording has none; "
            f"'{model}?depth=depth-anything' estimates it{without}"
        )
    return depth


@models.register("roll")
class Roll:
    """The last context frame, turned as the camera turns; moves of the camera are ignored.
    A panorama turns exactly about the vertical, without pitch. A perspective view continues the border of what stays in
    view."""

    def __init__(self, view: View = "panorama") -> None:
        self.spec = ModelSpec("roll", control="camera", view=view, max_context=1)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The turned frames, in chunks of one."""
        camera, frame, start = request.context.camera, request.context.clip[-1], request.context.path[-1]
        assert request.poses is not None
        for pose in request.poses:
            if isinstance(camera, Panorama):
                yaws, _ = yaw_pitch_from_pose(np.stack([start, pose]))
                # Rounded, so that turns by whole pixels are exact.
                yield rolled(frame, round(math.degrees(yaws[0] - yaws[1]), 9))[None]
            else:
                yield _turned(frame, camera, start[:3, :3].T @ pose[:3, :3])[None]

    def camera_path(self, request: RolloutRequest) -> FloatArray:
        """The requested rotations in the place of the last context frame; of a panorama only its yaw."""
        assert request.poses is not None
        start, poses = request.context.path[-1], request.poses
        if isinstance(request.context.camera, Panorama):
            yaws, pitches = yaw_pitch_from_pose(np.concatenate([start[None], poses]))
            poses = pose_from_yaw_pitch(poses[:, :3, 3], yaws[1:], pitches[0])
        return turned_in_place(poses, start)


def _turned(frame: Frames, camera: Camera, rotation: FloatArray) -> Frames:
    """`frame` (H, W, 3) seen by a camera that is turned by `rotation` (3, 3), new to old."""
    import cv2

    rays = camera.rays() @ rotation.T
    rays[..., 2] = np.maximum(rays[..., 2], 1e-3)  # what is behind lies far beyond a border
    places, _ = camera.project(rays)
    columns = np.clip(places[..., 0] - 0.5, 0, camera.width - 1).astype(np.float32)
    rows = np.clip(places[..., 1] - 0.5, 0, camera.height - 1).astype(np.float32)
    return np.asarray(cv2.remap(frame, columns, rows, cv2.INTER_LINEAR), np.uint8)


@models.register("warp")
class Warp:
    """The last context frame, lifted by its depth and drawn again from the requested poses.
    Unseen parts continue the colour next to and behind them, row by row. It passes through walls when the poses do.
    `depth`: as in `memory`, perspective only."""

    def __init__(self, view: View = "perspective", depth: str = "") -> None:
        if depth and view != "perspective":
            raise UsageError(
                f"warp: depth is estimated of perspective views, not of view={view}; leave one of them out"
            )
        self._estimated = DepthSource(depth) if depth else None
        self.spec = ModelSpec(
            "warp",
            control="camera",
            view=view,
            max_context=1,
            inputs=frozenset() if depth else frozenset({"depth"}),
            settings={} if self._estimated is None else {"depth": self._estimated.settings},
        )

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The redrawn frames, in chunks of one."""

        context, last = request.context, len(request.context) - 1
        depth_of = depth_of_context("warp", context, self._estimated)
        assert request.poses is not None
        mesh = DepthMesh(context.clip[last], depth_of(last), context.camera, context.path[last])
        for pose in request.poses:
            yield mesh.render(pose)[None]

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The requested poses; None with estimated depth, in whose unit the camera moves."""
        return request.poses if self._estimated is None else None
