"""Tracking of a target in imagined frames, and of the camera they were imagined from, from pixels alone.

The target's box and the real depth give points on it and next to it; where neither shows, colour decides
(`refine_box`). How far the camera has moved at a frame is one of few hypotheses about the plan's next step: taken, half
taken, or not taken (something was in the way, or a model repeats what it sees). The hypothesis under which the real
view's points have the colours of the frame wins, so a plan that the frames do not show leaves no trace. A plan is
tracked to the first frame in which the target is out of view, as the release does with empty masks (World-in-World,
section 5.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.image import Box, Image
from worldgauge.core.panorama import perspective, rolled
from worldgauge.perception.networks import Ready
from worldgauge.suites.worldinworld.policies.cached_inference import ask_masks, network
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, Depth, PolicyKit, Rollout
from worldgauge.suites.worldinworld.real_colours import motion, restored, seen_from, turned
from worldgauge.suites.worldinworld.recognition.boxes import GROWN, mask_box, target_box
from worldgauge.worlds.walking.primitives import Primitive

GRID_PX = 96
"""Image height at which it is computed."""
_REACH = 1.5
"""How far to look beyond the known pixels, in multiples of their longer side."""
_LEAST_PX = 6
_ROUNDS = 2


def refine_box(image: Image, camera: Camera, own: FloatArray, other: FloatArray) -> Box | None:
    """Box of a thing by two rounds of GrabCut (Rother et al. 2004), scaled like that of a target; None if out of view.

    `own` and `other` are points (n, 3) on the thing and next to it, camera frame, dense at GRID_PX.
    """
    import cv2

    height = GRID_PX
    width = max(1, round(image.shape[1] * height / image.shape[0]))
    small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    eye = camera.resized(width, height)
    known, beside = _splat(own, eye), _splat(other, eye)
    if not known.any():
        return None
    rows, columns = np.flatnonzero(known.any(1)), np.flatnonzero(known.any(0))
    reach = math.ceil(_REACH * max(int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1, _LEAST_PX))
    window = (
        slice(max(0, int(rows[0]) - reach), int(rows[-1]) + 1 + reach),
        slice(max(0, int(columns[0]) - reach), int(columns[-1]) + 1 + reach),
    )
    mask = np.where(beside & ~known, cv2.GC_BGD, np.where(known & ~beside, cv2.GC_FGD, cv2.GC_PR_BGD)).astype(np.uint8)
    near = cv2.dilate(known.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    mask[near & ~known & ~beside] = cv2.GC_PR_FGD
    part = np.ascontiguousarray(mask[window])
    yes, no = (part == cv2.GC_FGD) | (part == cv2.GC_PR_FGD), (part == cv2.GC_BGD) | (part == cv2.GC_PR_BGD)
    found = known.copy()
    # GrabCut fits five colours to each side, so it needs more pixels than that.
    if yes.sum() > 5 and no.sum() > 5 and (part >= cv2.GC_PR_BGD).any():
        cv2.setRNGSeed(0)
        back, front = np.zeros((1, 65)), np.zeros((1, 65))
        cv2.grabCut(
            np.ascontiguousarray(small[window]), part, (0, 0, 1, 1), back, front, _ROUNDS, cv2.GC_INIT_WITH_MASK
        )
        found[window] |= (part == cv2.GC_FGD) | (part == cv2.GC_PR_FGD)
    _, labels = cv2.connectedComponents(found.astype(np.uint8), connectivity=8)
    return _box(np.isin(labels, np.unique(labels[known])), image.shape[1] / width, image.shape[0] / height)


def _splat(points: FloatArray, camera: Camera) -> NDArray[np.bool_]:
    """Return (H, W), the pixels that points fall on, with small holes closed."""
    import cv2

    covered = np.zeros((camera.height, camera.width), np.uint8)
    pixels, _, inside = _projected(points, camera, 0.1)
    columns, rows = pixels[inside].astype(np.int64).T
    covered[rows, columns] = 1
    return np.asarray(cv2.morphologyEx(covered, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)) > 0)


def _projected(
    points: FloatArray, camera: Camera | Panorama, nearest_m: float
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Return pixels (n, 2) and depths (n,) of points (n, 3), and which are in view beyond so many metres."""
    pixels, depth = camera.project(points)
    with np.errstate(invalid="ignore"):
        inside = (depth > nearest_m) & (pixels >= 0).all(-1) & (pixels < (camera.width, camera.height)).all(-1)
    return pixels, depth, inside


def _box(found: NDArray[np.bool_], scale_x: float, scale_y: float) -> Box:
    """Return the box in pixels of the full image."""
    rows, columns = np.flatnonzero(found.any(1)), np.flatnonzero(found.any(0))
    sides = []
    for ends, scale, size in ((columns, scale_x, found.shape[1]), (rows, scale_y, found.shape[0])):
        first, after = float(ends[0]), float(ends[-1]) + 1
        more = (after - first) * (GROWN - 1) / 2
        low, high = max(0.0, first - more), min(float(size), after + more)
        sides.append((math.floor(low * scale), math.ceil(high * scale - 1e-9)))
    (x0, x1), (y0, y1) = sides
    return x0, y0, x1, y1


LEAST_INSIDE = 0.2
"""Least share of a target's points that a frame must show."""
_NEAREST_M = 0.15
_SAME_DEPTH = 1.3
"""Depths within this ratio belong to one thing."""
_BLOCK_PX, _SAME_SURFACE = 3, 1.1
"""Points in one square of so many pixels hide each other if their depths differ by more than this ratio."""
_STILL = 0.9
"""A step was not taken if that gives less than this share of the error of taking it."""
_LEAST_OVERLAP = 0.05
_MOST_OFF = 60.0
"""Cap on the difference of a colour, so that occlusion weighs no more than this."""
_MOST_SHIFT = 30.0
"""Levels by which a model may shift a channel."""


class TrackedView(NamedTuple):
    """The target in one frame; panoramas are turned towards it, `off_rad` is its bearing to the right before that."""

    frame: int
    action: int
    image: Image
    box: Box
    inside: float
    off_rad: float


class TrackedTarget:
    """Points of what is in a box (pixels) of a real view, with colours around it; depth (H, W) is along the axis."""

    def __init__(self, box: Box, image: Image, depth: Depth, camera: Camera) -> None:
        small = camera.resized(round(camera.width * GRID_PX / camera.height), GRID_PX)
        rows = ((np.arange(small.height) + 0.5) * camera.height / small.height).astype(np.int64)
        columns = ((np.arange(small.width) + 0.5) * camera.width / small.width).astype(np.int64)
        metres = np.asarray(depth, np.float64)[np.ix_(rows, columns)]
        within = _inner(box, camera)[np.ix_(rows, columns)]
        if not within.any():  # smaller than a pixel of the grid
            row, column = (
                np.abs(rows - (box[1] + box[3]) / 2).argmin(),
                np.abs(columns - (box[0] + box[2]) / 2).argmin(),
            )
            within[row, column] = True
        own = within & _same(metres, within)
        known = np.isfinite(metres) & (metres > 0)
        cloud = small.rays() * metres[..., None]
        self._box, self._camera = box, camera
        self._own, self._is_own = cloud[own & known], own[known]
        x0, y0, x1, y1 = box
        beside = ((rows < y0) | (rows >= y1))[:, None] | ((columns < x0) | (columns >= x1))[None]
        self._beside = cloud[beside & known]
        self._cloud = cloud[known]
        self._colours = _shrunk(image, small.width)[known].astype(np.float32)

    @property
    def known(self) -> bool:
        """Whether the real depth shows anything in the box."""
        return len(self._own) > 0

    @cached_property
    def middle_m(self) -> FloatArray:
        """(3,) metres right, down and ahead: the middle of what the real depth shows of it, which must be `known`."""
        middle: FloatArray = np.median(self._own, axis=0)
        return middle

    def in_sight_from(self, pose: FloatArray, camera: Camera | Panorama) -> TrackedTarget:
        """Return it with only those points that no other point hides from `pose`, (4, 4) relative to the real view."""
        pixels, depth, inside = _projected(seen_from(pose, self._cloud), camera, _NEAREST_M)
        columns, rows = (pixels[inside] / _BLOCK_PX).astype(np.int64).T
        nearest = np.full((camera.height // _BLOCK_PX + 1, camera.width // _BLOCK_PX + 1), np.inf)
        np.minimum.at(nearest, (rows, columns), depth[inside])
        shown = np.zeros(len(depth), np.bool_)
        shown[inside] = depth[inside] <= _SAME_SURFACE * nearest[rows, columns]
        there = copy(self)
        there._cloud, there._colours = self._cloud[shown], self._colours[shown]
        there._own = self._cloud[shown & self._is_own]
        return there

    @property
    def box_bearing(self) -> float:
        """Bearing of the box's centre in the real view, radians to the right."""
        return math.atan2((self._box[0] + self._box[2]) / 2 - self._camera.cx, self._camera.fx)

    def box_seen_by(self, camera: Camera | Panorama, left_rad: float) -> tuple[float, float, float, float] | None:
        """Project the box by direction into a camera here, turned left: x0, y0, x1, y1; None if out of view."""
        x0, y0, x1, y1 = self._box
        u, v = np.meshgrid(np.linspace(x0, x1, 9), np.linspace(y0, y1, 9))
        rays = np.stack([(u - self._camera.cx) / self._camera.fx, (v - self._camera.cy) / self._camera.fy], -1)
        places, depth = camera.project(seen_from(turned(left_rad), np.dstack([rays, np.ones_like(u)])))
        places = np.clip(places[depth > 0], 0, (camera.width, camera.height))
        if not len(places):
            return None
        (left, top), (right, bottom) = places.min(0).tolist(), places.max(0).tolist()
        return (left, top, right, bottom) if left < right and top < bottom else None

    def box_in(self, image: Image, camera: Camera, pose: FloatArray) -> tuple[Box, float] | None:
        """The target's box from `pose` relative to the real view, and its share in view; None if under LEAST_INSIDE."""
        own = seen_from(pose, self._own)
        *_, inside = _projected(own, camera, _NEAREST_M)
        share = float(inside.mean()) if len(own) else 0.0
        if share < LEAST_INSIDE:
            return None
        box = refine_box(image, camera, own, seen_from(pose, self._beside))
        return None if box is None else (box, share)

    def bearing(self, pose: FloatArray) -> float:
        """Return the bearing of its centre, radians to the right, from `pose`, (4, 4) relative to the real view."""
        x, _, z = np.median(seen_from(pose, self._own), axis=0)
        return math.atan2(x, z)

    def moved(self, pose: FloatArray, step: Primitive, frame: Image, camera: Camera | Panorama) -> FloatArray | None:
        """Pose (4, 4) of a frame from the one before, relative to the real view; None if it shows too little."""
        small, eye = _small(frame, camera)
        taken = pose @ motion(step)
        error, overlap = self._error(small, eye, taken)
        others = [pose @ motion(step, part) for part in ((0.0, 0.5) if step is Primitive.FORWARD else (0.0,))]
        for other in others:
            theirs, shared = self._error(small, eye, other)
            if theirs < _STILL * error:
                taken, error, overlap = other, theirs, shared
        return taken if overlap >= _LEAST_OVERLAP else None

    def differs(self, rollout: Rollout, frame: int, pose: FloatArray) -> float:
        """Return the mean difference of colour between a frame from `pose` and what was really seen, 0 to 60 levels."""
        return self._error(*_small(rollout.frames[frame], _whole(rollout)), pose)[0]

    def in_real_colours(self, view: Image, camera: Camera, pose: FloatArray) -> Image:
        """Return a view (H, W, 3) from `pose` in the colours of the real view, where it shows enough of that."""
        small = camera.resized(round(camera.width * GRID_PX / camera.height), GRID_PX)
        shown, real = self._pairs(_shrunk(view, small.width), small, pose)
        return restored(view, shown.astype(np.float64), real.astype(np.float64))

    def _error(self, small: Image, camera: Camera | Panorama, pose: FloatArray) -> tuple[float, float]:
        """Return the mean colour difference of the points in view, without the shift they share, and their share."""
        shown, real = self._pairs(small, camera, pose)
        if not len(shown):
            return _MOST_OFF, 0.0
        off = shown - real
        # A model that shows all brighter shows the same place.
        off = np.abs(off - np.clip(np.median(off, axis=0), -_MOST_SHIFT, _MOST_SHIFT)).mean(-1)
        return float(np.minimum(off, _MOST_OFF).mean()), len(shown) / len(self._cloud)

    def _pairs(
        self, small: Image, camera: Camera | Panorama, pose: FloatArray
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the colours (n, 3) of the points in view, in the view and in the real one."""
        pixels, _, inside = _projected(seen_from(pose, self._cloud), camera, _NEAREST_M)
        columns, rows = pixels[inside].astype(np.int64).T
        return small[rows, columns].astype(np.float32), self._colours[inside]


Follow = Callable[[TrackedTarget, ActionPlan, Rollout, Sequence[int]], Iterator[TrackedView]]
"""A tracker, as `track_by_geometry`."""


def track_by_geometry(
    target: TrackedTarget, plan: ActionPlan, rollout: Rollout, frames: Sequence[int]
) -> Iterator[TrackedView]:
    """Yield the target in those frames that show it, up to the first without; beyond the plan it goes straight on."""
    wanted = set(frames)
    for frame, pose in _poses(target, plan, rollout, max(wanted, default=0), 0):
        seen = target_in(target, rollout, frame, pose)
        if seen is None:
            return
        if frame in wanted:
            yield seen


def camera_path(target: TrackedTarget, plan: ActionPlan, rollout: Rollout) -> dict[int, FloatArray]:
    """Estimated poses (4, 4) by frame from 1 on, relative to the real view, up to the last that shows enough."""
    return dict(_poses(target, plan, rollout, rollout.valid_len - 1, rollout.exact))


def target_in(target: TrackedTarget, rollout: Rollout, frame: int, pose: FloatArray) -> TrackedView | None:
    """Find the target in a frame from `pose` (4, 4), relative to the real view; None if it is out of view."""
    off = target.bearing(pose)
    aim = off if rollout.view == "panorama" else 0.0
    image = rollout.seen(frame)
    if aim:
        image = perspective(rollout.frames[frame], rollout.camera, yaw_right_deg=math.degrees(aim), rule=rollout.rule)
    image = target.in_real_colours(image, rollout.camera, pose @ turned(-aim))
    found = target.box_in(image, rollout.camera, pose @ turned(-aim))
    return None if found is None else TrackedView(frame, int(rollout.frame_to_action[frame]), image, *found, off)


def planned_pose(plan: ActionPlan, frame: int) -> FloatArray:
    """Return the pose (4, 4) at a frame, relative to the real view, if every step is taken."""
    pose = turned(plan.turn_left_rad)
    for step in plan.steps[:frame]:
        pose = pose @ motion(step)
    return pose


def _poses(
    target: TrackedTarget, plan: ActionPlan, rollout: Rollout, last: int, exact: int
) -> Iterator[tuple[int, FloatArray]]:
    """Yield the frames from 1 to `last` with their poses, up to the first that shows too little of the real view."""
    if not target.known:
        return
    pose = turned(plan.turn_left_rad)
    for frame in range(1, min(last, len(rollout.frames) - 1) + 1):
        step = plan.steps[frame - 1] if frame <= len(plan.steps) else Primitive.FORWARD
        pixels = rollout.frames[frame]
        there = pose @ motion(step) if frame < exact else target.moved(pose, step, pixels, _whole(rollout))
        if there is None:
            return
        pose = there
        yield frame, pose


def small_camera(rollout: Rollout) -> Camera | Panorama:
    """Return the camera of a rollout's frames on the grid of a target's points."""
    return _small(rollout.frames[0], _whole(rollout))[1]


def _whole(rollout: Rollout) -> Camera | Panorama:
    """Return what the frames of a rollout were seen by."""
    height, width = rollout.frames.shape[1:3]
    return Panorama(width, height) if rollout.view == "panorama" else rollout.camera


def _small(frame: Image, camera: Camera | Panorama) -> tuple[Image, Camera | Panorama]:
    """Return a frame on the grid of the target's points, with its camera."""
    aspect = frame.shape[1] / frame.shape[0]
    if isinstance(camera, Panorama):
        small = _shrunk(frame, round(2 * GRID_PX * aspect))
        return small, Panorama(small.shape[1], small.shape[0])
    small = _shrunk(frame, round(GRID_PX * aspect))
    return small, camera.resized(small.shape[1], small.shape[0])


def _shrunk(image: Image, width: int) -> Image:
    import cv2

    height = round(image.shape[0] * width / image.shape[1])
    return np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


def _inner(box: Box, camera: Camera) -> NDArray[np.bool_]:
    """Return (H, W), the box before it was scaled; at the image's border it was not."""
    x0, y0, x1, y1 = box
    less_x, less_y = ((side - side / GROWN) / 2 for side in (x1 - x0, y1 - y0))
    left, right = round(x0 + less_x * (x0 > 0)), round(x1 - less_x * (x1 < camera.width))
    top, bottom = round(y0 + less_y * (y0 > 0)), round(y1 - less_y * (y1 < camera.height))
    within = np.zeros((camera.height, camera.width), bool)
    within[top : max(bottom, top + 1), left : max(right, left + 1)] = True
    return within


def _same(metres: FloatArray, within: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (H, W), pixels at about the depth that most of those `within` have."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(metres) / math.log(_SAME_DEPTH)
    known = logs[within & np.isfinite(logs)]
    if not len(known):
        return np.zeros_like(within)
    places = np.floor(known * 2).astype(np.int64)
    middle = (int(np.argmax(np.bincount(places - places.min()))) + places.min() + 0.5) / 2
    return np.asarray(np.abs(logs - middle) < 1)


NETWORK = "sam2"
CENTRED, PLAIN = (0.0, 0.5), (0.0, 1.0)
"""Limits of a box's share of a view turned towards it, and of any other view."""


def follower(kit: PolicyKit) -> Follow:
    """Return the tracker that the kit's option "tracker" names: "geometry" (default) or "sam2"."""
    return BoxTracker() if kit.options.get("tracker") == "sam2" else track_by_geometry


class BoxTracker:
    """Tracks by masks with `tracks`, as `Sam2.track` (default, opened on first use); raises like `network`."""

    def __init__(self, tracks: Ready | None = None) -> None:
        self._tracks = tracks

    def __call__(
        self, target: TrackedTarget, plan: ActionPlan, rollout: Rollout, frames: Sequence[int]
    ) -> Iterator[TrackedView]:
        """Track like `track_by_geometry`, by masks from the box in frame 0; boxes outside limits are skipped.

        `inside` is 1, since masks do not show what is out of view.
        """
        wanted = {frame for frame in frames if frame < len(rollout.frames)}
        if not wanted:
            return
        if rollout.view == "panorama":
            yield from self._turned(target, plan, rollout, wanted)
            return
        masks = self._masks(rollout.frames, target.box_seen_by(rollout.camera, plan.turn_left_rad))
        for frame in _shown(masks, wanted):
            middle = mask_box(masks[frame], PLAIN)
            if frame not in wanted or middle.box is None or middle.shift_px is None:
                continue
            camera = rollout.camera
            off = math.atan2(camera.width / 2 - middle.shift_px + 0.5 - camera.cx, camera.fx)
            yield _seen(rollout, frame, rollout.seen(frame), masks[frame], off)

    def _turned(
        self, target: TrackedTarget, plan: ActionPlan, rollout: Rollout, wanted: set[int]
    ) -> Iterator[TrackedView]:
        """Track through panoramas, rolled so that the target starts at the centre; each view is turned towards it."""
        height, width = rollout.frames.shape[1:3]
        bearing = target.box_bearing + plan.turn_left_rad
        start = round(bearing / (2 * math.pi) * width) * 360 / width  # whole columns, so that nothing is resampled
        clip = np.stack([rolled(frame, start) for frame in rollout.frames])
        eye = Panorama(width, height)
        masks = self._masks(clip, target.box_seen_by(eye, plan.turn_left_rad - math.radians(start)))
        middle = 0
        for frame in _shown(masks, wanted):
            # Centred on its last place, so that it is in one piece even across the seam.
            column = middle - (mask_box(np.roll(masks[frame], -middle, axis=1), PLAIN).shift_px or 0.0)
            middle, right = round(column), column * 360 / width
            if frame not in wanted:
                continue
            aim = start + right
            image = perspective(rollout.frames[frame], rollout.camera, yaw_right_deg=aim, rule=rollout.rule)
            bits = masks[frame].astype(np.uint8)
            mask = perspective(bits, rollout.camera, yaw_right_deg=right, rule=rollout.rule, nearest=True) > 0
            if mask_box(mask, CENTRED).box is not None:
                yield _seen(rollout, frame, image, mask, math.remainder(math.radians(aim), 2 * math.pi))

    def _masks(self, clip: NDArray[np.uint8], box: tuple[float, float, float, float] | None) -> NDArray[np.bool_]:
        """Return masks (T, H, W) of what the box holds in the first frame; all empty if it is out of view."""
        if box is None:
            return np.zeros(clip.shape[:3], np.bool_)
        one = self._tracks = self._tracks or network(NETWORK)
        return ask_masks(one, ["track", box], clip, lambda: one.network.track(clip, box))


def _shown(masks: NDArray[np.bool_], wanted: set[int]) -> Iterator[int]:
    """Frames from 1 to the last that is wanted, up to the first with an empty mask."""
    for frame in range(1, max(wanted) + 1):
        if not masks[frame].any():
            return
        yield frame


def _seen(
    rollout: Rollout, frame: int, image: NDArray[np.uint8], mask: NDArray[np.bool_], off_rad: float
) -> TrackedView:
    box = target_box(mask)
    assert box is not None
    return TrackedView(frame, int(rollout.frame_to_action[frame]), image, box, 1.0, off_rad)
