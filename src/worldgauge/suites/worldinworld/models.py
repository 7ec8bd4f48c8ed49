"""Models of the closed loop: a digital zoom, the nearest demonstration, and a mirrored plan."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.actions import HAND_POSES, camera_path
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import Camera, FloatArray, Panorama, invert, pose_from_yaw_pitch
from worldgauge.core.image import Frames, Image
from worldgauge.core.io import digest_of_folder
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.core.video import resize
from worldgauge.models import models
from worldgauge.suites.worldinworld.format.demonstration import Demonstration, load_demonstrations
from worldgauge.worlds import open_world
from worldgauge.worlds.tabletop.franka_arm import HOME_RAD, tip_pose
from worldgauge.worlds.tabletop.pose_plans import from_actions, inside_workspace, slerp
from worldgauge.worlds.walking.primitives import NAV_STEPS

MOST_OF_RADIUS = 0.9
"""Share of the radius beyond which a way stops: at the sphere itself a single pixel would fill the image."""
AHEAD_M = 1e-3
"""What lies behind a perspective image is shown as its edge."""


@models.register("zoom", space=NAV_STEPS.name)
class Zoom:
    """The last context frame on a sphere around it, seen from where the steps lead: no depth, no walls.

    `metres` is the sphere's radius, by default the best of a sweep on other homes; `view` "perspective" or "panorama".
    """

    def __init__(self, metres: float = 4.0, view: View = "perspective") -> None:
        self._metres = float(metres)
        self.spec = ModelSpec(
            "zoom", control="actions", view=view, max_context=1, settings={"metres": self._metres, "view": view}
        )

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk."""
        context = request.context
        if request.actions is None or request.actions.space == HAND_POSES:
            raise NotApplicableError("'zoom' follows steps and turns of a camera, and this task has none")
        start = pose_from_yaw_pitch(np.zeros(3), 0.0, 0.0)
        for pose in invert(start) @ camera_path(request.actions, start):
            yield zoomed(context.clip[-1], context.camera, pose, self._metres)[None]


def zoomed(image: Image, camera: Camera | Panorama, pose: FloatArray, metres: float) -> Image:
    """An image (H, W, 3) on a sphere of so many metres, seen from a pose (4, 4) relative to it."""
    import cv2

    rays = camera.rays()
    towards = (rays / np.linalg.norm(rays, axis=-1, keepdims=True)) @ pose[:3, :3].T
    place = pose[:3, 3]
    place = place * min(1.0, MOST_OF_RADIUS * metres / max(float(np.linalg.norm(place)), 1e-9))
    along = towards @ place
    hits = place + (np.sqrt(along**2 + metres**2 - place @ place) - along)[..., None] * towards
    if camera.is_panorama:
        image = np.concatenate([image[:, -1:], image, image[:, :1]], axis=1)  # a ray may fall on the seam
    else:
        hits[..., 2] = np.maximum(hits[..., 2], AHEAD_M)
    pixels = np.clip(camera.project(hits)[0] - 0.5 + (camera.is_panorama, 0), -1e4, 1e4).astype(np.float32)
    return np.asarray(
        cv2.remap(image, pixels[..., 0], pixels[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE), np.uint8
    )


LEVELS = 18
"""By which a pixel differs from another, in its most different colour, when it shows something else."""
CLOSE_SHARE = 0.012
"""Of a picture's height, across which parts of one thing may lie apart."""
LASTING_SHARE = 0.3
"""Of frames with the arm elsewhere, that agree on what is behind it."""

Mask = NDArray[np.bool_]


class Backdrop(NamedTuple):
    """The demonstrations' table, arm at home or absent, (H, W, 3); `covered` (H, W) by the arm and its shadow."""

    home: Frames
    empty: Frames
    covered: Mask

    @classmethod
    def of(cls, starts: Sequence[Frames], later: Sequence[Frames]) -> Backdrop:
        """Of frames with the arm at home, and of ones with it elsewhere."""
        home, empty = np.median(np.stack(starts), axis=0).astype(np.uint8), _lasting(np.stack(later))
        lasting = np.mean([~differs(frame, home) for frame in later], axis=0)
        return cls(home, empty, grown(differs(home, empty) & (lasting < LASTING_SHARE)))

    def cleared(self, start: Frames) -> Frames:
        """A frame with the arm at home, without the arm; what lies in its shadow stays as it is."""
        is_arm = self.covered & ~differs(start, self.home)
        return np.where(is_arm[..., None], self.empty, start)


def differs(one: Frames, other: Frames) -> Mask:
    """(H, W) where two frames show something else."""
    found: Mask = np.abs(one.astype(np.int16) - other).max(axis=-1) > LEVELS
    return found


def grown(mask: Mask) -> Mask:
    """A mask with all that is close to it."""
    import cv2

    reach = max(1, round(CLOSE_SHARE * mask.shape[0]))
    kernel = np.ones((2 * reach + 1, 2 * reach + 1), np.uint8)
    return np.asarray(cv2.dilate(mask.astype(np.uint8), kernel), np.bool_)


def _lasting(frames: Frames) -> Frames:
    """Per pixel of (n, H, W, 3), the brightest colour that a share agree on: a table lasts, arms do not."""
    count = max(1, round(LASTING_SHARE * len(frames)))
    grey = frames.sum(axis=-1, dtype=np.int16)
    order = np.argsort(-grey, axis=0, kind="stable")
    falling = np.take_along_axis(grey, order, 0)
    agreed = falling[: len(frames) - count + 1] - falling[count - 1 :] <= LEVELS
    at = np.where(agreed.any(0), agreed.argmax(0) + (count - 1) // 2, len(frames) // 2)
    chosen = np.take_along_axis(order, at[None], 0)
    colours: Frames = np.take_along_axis(frames, chosen[..., None], 0)[0]
    return colours


TURN_M_RAD, GRIP_M = 0.1, 0.2
"""What a radian of turn, and a gripper that is open where it should be closed, count as."""
MOVED_M = 0.025
"""By which a hand moves from one point of its recorded path to the next; it also has one wherever it does anything."""


class PathPiece(NamedTuple):
    """A demonstration's number and frames for the poses of a path, never going back; `cost_m` is their distance."""

    demonstration: int
    frames: tuple[int, ...]
    cost_m: float


class RecordedPaths:
    """The paths of all demonstrations, thinned out where the hand stands still."""

    def __init__(self, demonstrations: Sequence[Demonstration]) -> None:
        self._frames = [_points(one) for one in demonstrations]
        longest = max(len(frames) for frames in self._frames)
        self._path = np.full((longest, len(demonstrations), 8), np.inf)
        for column, (one, frames) in enumerate(zip(demonstrations, self._frames, strict=True)):
            self._path[: len(frames), column] = one.hand[frames]

    def nearest(self, path: FloatArray, count: int) -> list[PathPiece]:
        """The `count` demonstrations with a piece nearest to a path (n, 8), nearest first, by dynamic time warping."""
        costs = np.stack([self._apart(pose) for pose in path])
        totals = costs.copy()
        for n in range(1, len(path)):
            for point in range(costs.shape[1]):
                before = totals[n - 1, point]
                if point:
                    before = np.minimum(before, np.minimum(totals[n - 1, point - 1], totals[n, point - 1]))
                totals[n, point] += before
        ends = totals[-1].min(axis=0)
        order = np.argsort(ends, kind="stable")[:count]
        return [
            PathPiece(int(one), self._followed(costs[:, :, one], totals[:, :, one], int(one)), float(ends[one]))
            for one in order
        ]

    def _apart(self, pose: FloatArray) -> FloatArray:
        """(points, demonstrations) metres between a pose (8,) and all that were recorded."""
        far = np.linalg.norm(self._path[..., :3] - pose[:3], axis=-1)
        with np.errstate(invalid="ignore"):
            cosine = np.abs(self._path[..., 3:7] @ pose[3:7]).clip(0, 1)
        turn = 2 * np.arccos(np.where(np.isfinite(far), cosine, 1.0))
        apart: FloatArray = far + TURN_M_RAD * turn + GRIP_M * np.abs(self._path[..., 7] - pose[7])
        return apart

    def _followed(self, costs: FloatArray, totals: FloatArray, one: int) -> tuple[int, ...]:
        """The frame of demonstration `one` for each pose: nearest, last of equals, as a still hand acts late."""
        n, point = len(totals) - 1, totals.shape[1] - 1 - int(np.argmin(totals[-1, ::-1]))
        met: list[list[int]] = [[] for _ in totals]
        while True:
            met[n].append(point)
            if n == 0:
                break
            steps = [(n - 1, point)] + ([(n - 1, point - 1), (n, point - 1)] if point else [])
            n, point = min(steps, key=lambda step: float(totals[step]))
        best = [min(points, key=lambda at: (float(costs[n, at]), -at)) for n, points in enumerate(met)]
        return tuple(int(self._frames[one][at]) for at in best)


def _points(demonstration: Demonstration) -> NDArray[np.int64]:
    """Frames at which the hand has moved on, or done a pose."""
    kept, last = [0], demonstration.hand[0]
    for frame, pose in enumerate(demonstration.hand):
        if np.linalg.norm(pose[:3] - last[:3]) >= MOVED_M or frame in demonstration.reached:
            kept.append(frame)
            last = pose
    return np.array(sorted(set(kept)))


SPECK_SHARE = 1e-4
"""Of the pixels of a picture, that a thing has at least."""
MOVED_SHARE = 0.3
"""Of the pixels of a thing, that change when it moves."""


def transplanted(
    backdrop: Backdrop, start: Frames, now: Frames, recorded: Sequence[Frames], asked: FloatArray, was: FloatArray
) -> Iterator[Frames]:
    """Frames (H, W, 3) of a table, with the arm and what it moves transplanted from a recording.

    `recorded` is its first frame, one with the hand about where it is now, then one per frame to make. `asked` and
    `was` are column, row and depth (n + 1, 3) of the hand, of now and of each frame. `start` has the arm at home.
    """
    first, here, *later = recorded
    before, start = backdrop.cleared(first), backdrop.cleared(start)
    # What is seen now; where the arm is, what was there at the start.
    arm, present = _put(_parts(here, before) == 1, asked[0], was[0]), _parts(now, start)
    touched = np.setdiff1d(present[grown(arm)], [0])
    table = np.where(grown(np.isin(present, touched))[..., None], start, now)
    for k, frame in enumerate(later, start=1):
        made = table.copy()
        parts = _parts(frame, before)
        # The arm comes last, as it is above all else.
        for part in range(int(parts.max()), 0, -1):
            mask = parts == part
            if part > 1 and differs(frame, here)[mask].mean() < MOVED_SHARE:
                continue
            at = k if part == 1 else _nearest(mask, was[: k + 1])
            shown = _put(mask, asked[at], was[at])
            made[shown] = _put(frame, asked[at], was[at])[shown]
        yield made


def in_picture(places: FloatArray, camera: Camera, camera_pose: FloatArray) -> FloatArray:
    """Column, row and depth (n, 3) of places (n, 3) in the world."""
    T_camera_world = invert(camera_pose)
    pixels, depth = camera.project(places @ T_camera_world[:3, :3].T + T_camera_world[:3, 3])
    return np.column_stack([pixels, depth])


def _parts(frame: Frames, before: Frames) -> NDArray[np.int32]:
    """(H, W) what has changed in a frame, by its parts: 1 the largest, which is the arm; 0 where nothing has."""
    import cv2

    changed = differs(frame, before)
    # Parts of an arm that look like what is behind them would cut it in pieces.
    _, labels, stats, _ = cv2.connectedComponentsWithStats(grown(changed).astype(np.uint8))
    areas = stats[1:, cv2.CC_STAT_AREA]
    number = np.zeros(len(stats), np.int32)
    for rank, one in enumerate(np.argsort(-areas, kind="stable"), start=1):
        number[one + 1] = rank if areas[one] >= SPECK_SHARE * changed.size else 0
    return np.where(changed, number[labels], 0).astype(np.int32)


def _nearest(mask: Mask, hand: FloatArray) -> int:
    """When the hand (n, 3) was nearest to the middle of a mask, in the picture."""
    rows, columns = np.nonzero(mask)
    return int(np.argmin(np.hypot(hand[:, 0] - columns.mean(), hand[:, 1] - rows.mean())))


def _put(picture: NDArray[Any], asked: FloatArray, was: FloatArray) -> NDArray[Any]:
    """A picture, or a mask, moved so that the hand comes to where it is asked to be, and is as large as it is there."""
    import cv2

    scale = float(was[2] / asked[2])
    shift = asked[:2] - scale * was[:2]
    matrix = np.array([[scale, 0, shift[0]], [0, scale, shift[1]]])
    height, width = picture.shape[:2]
    # An arm leaves the picture at its edge: what comes in from there is arm, too.
    moved = cv2.warpAffine(picture.astype(np.uint8), matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(moved, picture.dtype)


CHOICE = 8
"""Demonstrations nearest by their paths, of which the one is taken that looks most like what is seen."""
BACKDROP = 20
"""Demonstrations from which it is learned what is behind the arm."""
SMALL_PX, PATCH_PX = 112, 13
"""Sides of the pictures that are compared, and of what is compared around the hand."""


@models.register("nearest-demonstration", space=HAND_POSES.name)
class NearestDemonstration:
    """The recorded outcome of the nearest path, moved to where the hand is asked to be.

    It knows no physics: what moved in the recording moves here, there or not. Demonstrations in `folder` use the task's
    front camera; the first context frame must show the arm at home.
    """

    def __init__(self, folder: str) -> None:
        place = Path(folder).expanduser()
        self._library = _opened(place, digest_of_folder(place))
        self.spec = ModelSpec("nearest-demonstration", settings={"demonstrations": self._library.digest})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk."""
        context, library = request.context, self._library
        camera, camera_pose = context.camera, library.demonstrations[0].camera_pose
        if request.actions is None or request.actions.space != HAND_POSES:
            raise NotApplicableError(f"'{self.spec.name}' follows poses of a hand, actions of '{HAND_POSES.name}'")
        if not isinstance(camera, Camera) or not library.was_seen_by(camera):
            raise NotApplicableError(f"'{self.spec.name}': its demonstrations were seen by another camera")
        # Before any action the arm is at home: the hand reaches straight down, open.
        home = np.array([*tip_pose(np.array(HOME_RAD))[:3, 3], 1.0, 0.0, 0.0, 0.0, 1.0])
        here = from_actions(context.actions)[-1] if len(context.actions) else home
        path = np.vstack([here, from_actions(request.actions)])
        asked = _seen_at(path, camera, camera_pose)
        start, now = context.clip[0], context.clip[len(context) - 1]
        piece = library.nearest(path, asked * (SMALL_PX / camera.width, SMALL_PX / camera.height, 1), start)
        shown = library.demonstrations[piece.demonstration]
        was = _seen_at(shown.hand[list(piece.frames)], camera, camera_pose)
        recorded = list(shown.clip.resized(camera.width, camera.height).take((0, *piece.frames)))
        backdrop = library.backdrop(camera.width, camera.height)
        return (frame[None] for frame in transplanted(backdrop, start, now, recorded, asked, was))


class _Library:
    """Demonstrations of a folder, and what is compared of them."""

    def __init__(self, demonstrations: Sequence[Demonstration]) -> None:
        self.demonstrations = demonstrations
        self.digest = _digest(demonstrations)
        self._paths = RecordedPaths(demonstrations)
        self._starts: dict[int, Frames] = {}
        self._backdrops: dict[tuple[int, int], Backdrop] = {}

    def was_seen_by(self, camera: Camera) -> bool:
        """Whether all demonstrations were, at whatever size, from one place."""
        first = self.demonstrations[0].camera_pose
        return all(
            np.allclose(astuple(one.camera.resized(camera.width, camera.height)), astuple(camera), atol=1e-3)
            and np.allclose(one.camera_pose, first, atol=1e-4)
            for one in self.demonstrations
        )

    def nearest(self, path: FloatArray, asked: FloatArray, start: Frames) -> PathPiece:
        """Of the nearest paths, that whose table looks most like `start` along `asked` (n, 2) px of `SMALL_PX`."""
        small = resize(start, SMALL_PX, SMALL_PX)
        looks = _patches(small, asked)
        return min(self._paths.nearest(path, CHOICE), key=lambda piece: np.abs(self._patches(piece) - looks).mean())

    def backdrop(self, width: int, height: int) -> Backdrop:
        """What is behind the arm, at a size; made once."""
        if (width, height) not in self._backdrops:
            spread = np.linspace(0, len(self.demonstrations) - 1, min(BACKDROP, len(self.demonstrations)))
            starts, later = [], []
            for one in (self.demonstrations[int(n)] for n in spread):
                times = np.unique(np.linspace(one.reached[0], len(one) - 1, 4).astype(int)).tolist()
                start, *rest = one.clip.resized(width, height).take((0, *times))
                starts.append(start)
                later += rest
            self._backdrops[width, height] = Backdrop.of(starts, later)
        return self._backdrops[width, height]

    def _patches(self, piece: PathPiece) -> FloatArray:
        one = self.demonstrations[piece.demonstration]
        if piece.demonstration not in self._starts:
            self._starts[piece.demonstration] = one.clip.resized(SMALL_PX, SMALL_PX)[0]
        places = _seen_at(one.hand[list(piece.frames)], one.camera.resized(SMALL_PX, SMALL_PX), one.camera_pose)
        return _patches(self._starts[piece.demonstration], places)


@lru_cache(maxsize=2)
def _opened(folder: Path, digest: str) -> _Library:
    """Of a folder, read once per process and content."""
    return _Library(load_demonstrations(folder))


def _seen_at(hand: FloatArray, camera: Camera, camera_pose: FloatArray) -> FloatArray:
    """Column, row, depth (n, 3) of hand poses (n, 8) within the workspace: cv2 crashes on points behind the camera."""
    return in_picture(inside_workspace(hand[:, :3]), camera, camera_pose)


def _patches(picture: Frames, places: FloatArray) -> FloatArray:
    """(n, PATCH_PX, PATCH_PX, 3) grey levels around columns and rows (n, 3) of a picture."""
    import cv2

    centres = [(float(column) - 0.5, float(row) - 0.5) for column, row, _ in places]
    patches = [cv2.getRectSubPix(picture, (PATCH_PX, PATCH_PX), centre) for centre in centres]
    return np.stack(patches).astype(np.float64)


def _digest(demonstrations: Sequence[Demonstration]) -> str:
    """Of what was done in them, so that rollouts of other ones are not taken for these."""
    digest = hashlib.sha256()
    for one in demonstrations:
        digest.update(f"{one.id} {one.variation} {one.seed} {len(one)}".encode())
        digest.update(np.ascontiguousarray(one.hand).tobytes())
    return digest.hexdigest()[:16]


STRAIGHT_M, STRAIGHT_COSINE = 2e-3, 1 - 1e-4
"""How far a pose may lie from a straight way, and the least cosine of half the angle to it, to be a part of it."""


@models.register("wrong-action", space=HAND_POSES.name)
class WrongAction:
    """What comes of the plan mirrored left to right: right physics, wrong control.

    The present moment is not mirrored: the hand goes from where it is to the mirrored poses.
    """

    def __init__(self) -> None:
        self.spec = ModelSpec("wrong-action", max_context=1, inputs=frozenset({"world"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk."""
        if request.world is None or request.world.name not in ("tabletop", "table-process"):
            raise NotApplicableError("'wrong-action' needs the table that is acted on, and this task has none")
        if request.actions is None or request.actions.space != HAND_POSES:
            raise NotApplicableError(f"'wrong-action' mirrors poses of a hand, actions of '{HAND_POSES.name}'")
        return _frames(request, open_world(request.world), from_actions(request.actions))


def _frames(request: RolloutRequest, world: Any, poses: FloatArray) -> Iterator[Frames]:
    """What the front camera sees of the mirrored poses, a frame each."""
    # With the engine comes an extra, which listing the models does without.
    from worldgauge.worlds.tabletop.simulation import UnstableError

    simulation = world.simulation()
    camera: Any = request.context.camera
    way = np.vstack([simulation.hand, poses])
    start = 0
    for stop in stops(way):
        try:
            states = simulation.move(mirrored(way[stop])).states or (simulation.state(),)
        except UnstableError:
            # Of a table that blew up nothing is known: it stays as it was.
            states = (simulation.state(),)
        for share in np.arange(1, stop - start + 1) / (stop - start):
            simulation.restore(states[max(0, round(float(share) * len(states)) - 1)])
            yield simulation.rgb(request.context.path[-1], camera)[None]
        start = stop


def mirrored(pose: FloatArray) -> FloatArray:
    """A hand pose (8,) mirrored at y = 0 (turns about x and z change their sense), moved inside the workspace."""
    seen = pose * (1, -1, 1, -1, 1, -1, 1, 1)
    seen[:3] = inside_workspace(seen[:3])
    return seen


def stops(way: FloatArray) -> list[int]:
    """Rows of a path (n, 8) that end a straight, steady stretch or move the gripper; others need no command."""
    found, start = [], 0
    while start < len(way) - 1:
        stop = start + 1
        while stop < len(way) - 1 and way[stop, 7] == way[start, 7] and _is_straight(way[start : stop + 2]):
            stop += 1
        found.append(stop)
        start = stop
    return found


def _is_straight(poses: FloatArray) -> bool:
    """Whether poses (n, 8) lie evenly between the first and the last of them."""
    shares = np.linspace(0, 1, len(poses))
    first, last = (np.repeat(poses[[row]], len(poses), axis=0) for row in (0, -1))
    off = first[:, :3] + shares[:, None] * (last[:, :3] - first[:, :3]) - poses[:, :3]
    cosines = np.abs(np.sum(slerp(first[:, 3:7], last[:, 3:7], shares) * poses[:, 3:7], axis=1))
    return bool(np.linalg.norm(off, axis=1).max() <= STRAIGHT_M and cosines.min() >= STRAIGHT_COSINE)
