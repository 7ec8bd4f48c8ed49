"""`klt-vo`: visual odometry on followed points, with bundle adjustment. Needs no weights and nothing but OpenCV.

    path = decoders.get("klt-vo")().decode(DecodeRequest(video, anchor, anchor_distance_m=1.07, hfov_deg=80.0))

Points are followed from frame to frame, so repeated textures do not confuse it as they confuse matching; what it
cannot bridge is a cut. Source: Target-Bench, world decoder; the method is ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core import geometry
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray, invert, rotation_angle
from worldgauge.core.image import Image
from worldgauge.perception.decoders import DecodedPath, DecodeRequest, decoders
from worldgauge.perception.decoders._tracks import (
    ANCHOR_POINTS,
    LEAST_LEAD,
    MAX_POINTS,
    SIFT_SEEDS,
    AnchorPlace,
    FirstFrame,
    Tracks,
    follow,
    place_anchor,
)
from worldgauge.perception.decoders._views import (
    AGREE_PX,
    PointScene,
    Sightings,
    adjust,
    place,
    refined,
    squared_errors,
    triangulate,
    turn_between,
    two_views,
)
from worldgauge.perception.decoders.crosscheck import unconfirmed
from worldgauge.perception.decoders.frames import (
    LONGEST_SIDE_PX,
    STILL_PX,
    Gray,
    Indices,
    PathQuality,
    anchor_too_far,
    displacement_px,
    evenly_spaced,
    from_start,
    judge,
    stationary_path,
    walkable,
    working_size,
)
from worldgauge.perception.decoders.poses import between, ground_path

MIN_START_PX, MIN_START_DEG = 14.0, 1.2
"""Median move and median parallax that two frames need to start from."""
MAX_TURN_ERROR_PX = 2.0
"""What a pure turn may leave unexplained, median over points."""
MIN_COMMON = 40
"""Points that two frames must share to be compared."""
_MIN_ANGLE_DEG = 1.0
TOLERANCES_PX = (AGREE_PX, 3 * AGREE_PX)
"""How far sightings may be from their points; the second where the first does not place every frame: generated frames
bend what they show."""
_ADJUST_EVERY = 4


@dataclass(frozen=True)
class Map:
    """Cameras of the frames that could be placed, and points."""

    scene: PointScene  # all K cameras, valid where `placed`; all P points, valid where `known`
    placed: NDArray[np.bool_]  # (K,)
    known: NDArray[np.bool_]  # (P,)
    seen: NDArray[np.bool_]  # (K, P), sightings that agree with the scene
    parallax_deg: float

    def errors_px(self, xy: FloatArray) -> FloatArray:
        """Reprojection errors of all sightings that are used, pixels."""
        frame, point = np.nonzero(self.seen & self.placed[:, None] & self.known)
        squared, _ = squared_errors(self.scene, Sightings(frame, point, xy[frame, point]))
        return np.sqrt(squared)


def build_map(xy: FloatArray, focal: float, focal_prior: tuple[float, float] | None) -> Map | None:
    """Build a map from tracks. xy: (K, P, 2) pixels from the image centre, NaN where unseen."""
    best: Map | None = None
    for tolerance_px in TOLERANCES_PX:
        for start in _starts(xy, focal, tolerance_px):
            built = _Builder(xy, focal, focal_prior, start, tolerance_px).build()
            if best is None or _goodness(built, xy) > _goodness(best, xy):
                best = built
            if best.placed.all():
                return best
    return best


def _goodness(built: Map, xy: FloatArray) -> tuple[int, float]:
    return int(built.placed.sum()), -float(built.errors_px(xy).mean())


@dataclass(frozen=True)
class _Start:
    first: int
    second: int
    rotation: FloatArray
    translation: FloatArray
    parallax_deg: float


def _starts(xy: FloatArray, focal: float, tolerance_px: float, most: int = 2) -> list[_Start]:
    """Up to `most` pairs of frames to start from, of different first frames; the earliest comes first."""
    seen = np.isfinite(xy[..., 0])
    found: list[_Start] = []
    for loosened in (1.0, 0.5):
        for first in range(0, len(xy) - 1, 4):
            tried = first
            for second in range(first + 1, len(xy)):
                common = seen[first] & seen[second]
                if common.sum() < MIN_COMMON:
                    break
                a, b = xy[first, common], xy[second, common]
                if np.median(np.linalg.norm(a - b, axis=1)) < MIN_START_PX * loosened:
                    continue
                if turn_between(a, b, focal, rounds=4)[1] < np.radians(MIN_START_DEG) * focal * loosened / 2:
                    continue
                # What the frame after one that was tried shows is hardly different.
                if tried == second - 1 != first:
                    continue
                tried = second
                pair = two_views(a, b, focal, tolerance_px)
                if pair is not None and pair.parallax_deg >= MIN_START_DEG * loosened:
                    found.append(_Start(first, second, pair.rotation, pair.translation, pair.parallax_deg))
                    break
            if len(found) == most:
                return found
        if found:
            return found
    return found


class _Builder:
    def __init__(
        self, xy: FloatArray, focal: float, focal_prior: tuple[float, float] | None, start: _Start, tolerance_px: float
    ) -> None:
        frames, points = xy.shape[:2]
        self.xy, self.focal_prior, self.start, self.tolerance_px = xy, focal_prior, start, tolerance_px
        self.seen: NDArray[np.bool_] = np.isfinite(xy[..., 0])
        self.placed = np.zeros(frames, np.bool_)
        self.known = np.zeros(points, np.bool_)
        self.scene = PointScene(np.tile(np.eye(3), (frames, 1, 1)), np.zeros((frames, 3)), np.zeros((points, 3)), focal)
        self._set(start.first, np.eye(3), np.zeros(3))
        self._set(start.second, start.rotation, start.translation)

    def build(self) -> Map:
        self._triangulate()
        self._adjust(10)
        lost: set[int] = set()
        fresh = 0
        while (number := self._next(lost)) is not None:
            pose = self._place(number)
            if pose is None:
                lost.add(number)
                continue
            self._set(number, *pose)
            self._triangulate()
            fresh += 1
            if fresh % _ADJUST_EVERY == 0:
                self._adjust(4)
                lost.clear()
        for _ in range(3):
            self._adjust(20)
            # Take back sightings that do not agree, and points that too few frames agree on.
            frame, point = np.nonzero(self.seen & self.placed[:, None] & self.known)
            squared, valid = squared_errors(self.scene, Sightings(frame, point, self.xy[frame, point]))
            bad = ~valid | (squared > self.tolerance_px**2)
            self.seen[frame[bad], point[bad]] = False
            self.known &= (self.seen & self.placed[:, None]).sum(0) >= 3
            self._triangulate()
        self._adjust(20)
        return Map(self.scene, self.placed, self.known, self.seen, self.start.parallax_deg)

    def _next(self, lost: set[int]) -> int | None:
        """The frame to place next: the one next to placed frames that sees most known points."""
        beside = [
            k
            for k in np.flatnonzero(~self.placed).tolist()
            if k not in lost and self.placed[max(k - 1, 0) : k + 2].any()
        ]
        between = [k for k in beside if self.start.first < k < self.start.second]
        candidates = between or beside
        return max(candidates, key=lambda k: (int((self.seen[k] & self.known).sum()), -k)) if candidates else None

    def _place(self, number: int) -> tuple[FloatArray, FloatArray] | None:
        points = np.flatnonzero(self.seen[number] & self.known)
        pose = place(self.scene.points[points], self.xy[number, points], self.scene.focal, agree_px=self.tolerance_px)
        if pose is None:
            return None
        self.seen[number, points[~pose.agree]] = False
        return pose.rotation, pose.translation

    def _set(self, number: int, rotation: FloatArray, translation: FloatArray) -> None:
        rotations, translations = self.scene.rotations.copy(), self.scene.translations.copy()
        rotations[number], translations[number] = rotation, translation
        self.scene = replace(self.scene, rotations=rotations, translations=translations)
        self.placed[number] = True

    def _triangulate(self) -> None:
        """Give a place to points that now have enough parallax."""
        views = self.seen & self.placed[:, None]
        new = np.flatnonzero(~self.known & (views.sum(0) >= min(3, int(self.placed.sum()))))
        if len(new) == 0:
            return
        frames = np.flatnonzero(self.placed)
        places, angle, worst = triangulate(
            self.xy[np.ix_(frames, new)],
            views[np.ix_(frames, new)],
            self.scene.rotations[frames],
            self.scene.translations[frames],
            self.scene.focal,
        )
        good = (angle >= _MIN_ANGLE_DEG) & (worst <= self.tolerance_px)
        self.scene.points[new[good]] = places[good]
        self.known[new[good]] = True

    def _adjust(self, iterations: int) -> None:
        views = self.seen & self.placed[:, None] & self.known
        points = np.flatnonzero(views.sum(0) >= 2)
        frames = np.flatnonzero(self.placed)
        frame, point = np.nonzero(views[np.ix_(frames, points)])
        scene = self.scene
        part = PointScene(scene.rotations[frames], scene.translations[frames], scene.points[points], scene.focal)
        # Two frames alone say too little about the focal length.
        prior = self.focal_prior if len(frames) >= 8 else None
        part = adjust(
            part,
            Sightings(frame, point, self.xy[frames[frame], points[point]]),
            iterations=iterations,
            focal_prior=prior,
        )
        rotations, translations, places = scene.rotations.copy(), scene.translations.copy(), scene.points.copy()
        rotations[frames], translations[frames], places[points] = part.rotations, part.translations, part.points
        self.scene = PointScene(rotations, translations, places, part.focal)


def turning_in_place(xy: FloatArray, focals: Iterable[float]) -> FloatArray | None:
    """Explain the motion by rotations (K, 3, 3) from the first camera alone; None if they do not suffice.
    Each pair of frames 1, 2, 4, ... apart that shares points of `xy` (K, P, 2; NaN: unseen) must agree to a median of
    `MAX_TURN_ERROR_PX`."""
    return next((turns for focal in focals if (turns := _turns(xy, focal)) is not None), None)


def _turns(xy: FloatArray, focal: float) -> FloatArray | None:
    seen = np.isfinite(xy[..., 0])
    frames = len(xy)
    steps = np.tile(np.eye(3), (frames, 1, 1))
    apart = 1
    while apart < frames:
        pairs = 0
        for first in range(0, frames - apart, max(1, apart // 2)):
            common = seen[first] & seen[first + apart]
            if common.sum() < MIN_COMMON:
                if apart == 1:
                    return None
                continue
            rotation, error = turn_between(xy[first, common], xy[first + apart, common], focal)
            if error > MAX_TURN_ERROR_PX:
                return None
            if apart == 1:
                steps[first + 1] = rotation
            pairs += 1
        if pairs == 0:
            break
        apart *= 2
    for k in range(1, frames):
        steps[k] = steps[k] @ steps[k - 1]
    return steps


_LEAST, _LEAST_SHARE = 12, 0.4


class TrackedPoints(NamedTuple):
    """Where points were seen, in pixels from the image centre; NaN for unseen."""

    keys: Indices  # (K,) key frames
    keyed: FloatArray  # (K, P, 2)
    frames: Indices  # (M,), the keys among them
    every: FloatArray  # (M, P, 2)


def seen_from(built: Map, kept: Indices, views: TrackedPoints) -> tuple[Indices, FloatArray, FloatArray]:
    """Add cameras between key frames to a finished map, each starting halfway between its neighbours.
    A frame that sees too few of the points it should see is left out. Returns frames, and rotations and translations
    from world to camera."""
    keys = views.keys[kept]
    rotations, translations = built.scene.rotations[kept], built.scene.translations[kept]
    others = views.frames[(views.frames > keys[0]) & (views.frames < keys[-1]) & ~np.isin(views.frames, keys)]
    if len(others) == 0:
        return keys, rotations, translations
    start = between(_camera_to_world(rotations, translations), keys, others)
    found = []
    for frame, guess in zip(others.tolist(), invert(start), strict=True):
        pose = _placed(built, views.every[int(np.searchsorted(views.frames, frame))], guess)
        if pose is not None:
            found.append((frame, *pose))
    frames = np.concatenate([keys, [frame for frame, _, _ in found]]).astype(np.int64)
    order = np.argsort(frames)
    turns = np.concatenate([rotations, np.array([turn for _, turn, _ in found]).reshape(-1, 3, 3)])
    shifts = np.concatenate([translations, np.array([shift for _, _, shift in found]).reshape(-1, 3)])
    return frames[order], turns[order], shifts[order]


def _placed(built: Map, xy: FloatArray, guess: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Pose near `guess` (4, 4) of a frame that sees points at `xy` (P, 2)."""
    chosen = np.flatnonzero(built.known & np.isfinite(xy[:, 0]))
    if len(chosen) < _LEAST:
        return None
    points, seen = built.scene.points[chosen], xy[chosen]
    turn, shift = refined(guess[:3, :3], guess[:3, 3], points, seen, built.scene.focal)
    index = np.arange(len(points))
    squared, valid = squared_errors(
        PointScene(turn[None], shift[None], points, built.scene.focal), Sightings(np.zeros_like(index), index, seen)
    )
    agreeing = int((valid & (squared < AGREE_PX**2)).sum())
    return (turn, shift) if agreeing >= max(_LEAST, _LEAST_SHARE * len(points)) else None


FOLLOWED = 129
"""Frames looked at; a longer video is thinned out."""
KEY_FRAMES = 33
_SHOWN_A_KEY = 3
"""Frames of a path a key frame, where a path of more than `key_frames` is asked for."""
GUESSED_FOCAL = 0.8
"""In image widths, where no field of view is given: 64 degrees."""
_GUESSES = np.array([0.8, 0.6, 1.0, 0.5, 0.7, 0.9, 1.2])
_PRIOR_GIVEN, _PRIOR_GUESSED = 0.1, 0.7
HALVES_APART = 0.05
"""Of the length. Right paths of a game: 0.02 to 0.04; a wrong one, 22 % off at the end: 0.5."""
MIN_AGREEING = 0.4
"""Of all sightings in placed frames, those that must lie where they should: 0.55 and more in rooms and voxel worlds,
0.6 and right in frames bent by 3 px, 0.3 and wrong in frames bent by 6 px."""


@decoders.register("klt-vo")
class KltVo:
    """Camera paths by visual odometry: tracked points (Lucas-Kanade), PnP and bundle adjustment.
    The focal length starts from the field of view of the request; without one, from 64 degrees. `key_frames` get a
    camera, `followed` frames are tracked, in frames with a longer side of `side_px`."""

    name = "klt-vo"
    version = 4

    def __init__(self, key_frames: int = KEY_FRAMES, followed: int = FOLLOWED, side_px: int = LONGEST_SIDE_PX) -> None:
        self._key_frames = key_frames
        self._followed = followed
        self._side_px = side_px
        self._last: tuple[DecodeRequest, Tracks] | None = None  # a path and its halves are of the same tracks

    @property
    def settings(self) -> Mapping[str, Any]:
        """Options, and the version of OpenCV."""
        opencv = version("opencv-python-headless")
        side = {} if self._side_px == LONGEST_SIDE_PX else {"side_px": self._side_px}
        return {"key_frames": self._key_frames, "followed": self._followed, "opencv": opencv, **side}

    def decode(self, request: DecodeRequest) -> DecodedPath:
        """The path; see `Decoder`. One thread."""
        return self.confirmed(self.guess(request), request)

    def confirmed(self, path: DecodedPath, request: DecodeRequest) -> DecodedPath:
        """Keep the scale of a path only if either half of the points shows it too.
        A scale drifts where few points connect frames, as when the camera turns in place. The halves then drift
        apart."""
        if path.xy is None or path.status == "stationary":
            return path
        apart = 0.0
        for part in (0, 1):
            half = self.guess(request, slice(part, None, 2))
            if half.xy is None or not np.isin(path.frame_indices, half.frame_indices).all():
                return unconfirmed(path, "half of the points show no path")
            other = half.xy[np.isin(half.frame_indices, path.frame_indices)]
            apart = max(apart, float(np.linalg.norm(path.xy - other, axis=1).max()) / geometry.length(path.xy))
        path = replace(path, diagnostics={**path.diagnostics, "halves_apart": round(apart, 4)})
        return path if apart <= HALVES_APART else unconfirmed(path, "half of the points show another path")

    def guess(self, request: DecodeRequest, points: slice = slice(None)) -> DecodedPath:
        """A path that nothing confirms yet, from some of the points that can be followed."""
        import cv2

        with _one_thread():
            try:
                return self._decode(request, points)
            except (DataError, cv2.error, np.linalg.LinAlgError) as error:
                return DecodedPath("failed", self.name, " ".join(str(error).split())[:200])

    def _decode(self, request: DecodeRequest, points: slice) -> DecodedPath:
        count = len(request.video)
        if count == 0:
            return DecodedPath("failed", self.name, "the video holds no frame")
        shown = evenly_spaced(count, request.n_points)
        if count == 1:
            return self._stationary(request, "a video of one frame", shown, 1)
        keys = self._keys(count, shown)
        frames = np.union1d(evenly_spaced(count, self._followed), np.union1d(keys, shown))
        size = working_size(request.video.width, request.video.height, self._side_px)
        share = self._side_px / LONGEST_SIDE_PX
        images = [_gray(frame, size) for frame in request.video.take(frames.tolist())]
        keyed = np.searchsorted(frames, keys).tolist()

        moved = displacement_px([images[k] for k in keyed])
        if moved is not None and moved < STILL_PX:
            return self._stationary(request, "the camera does not move", shown, len(keys), displacement_px=moved)
        recorded = np.union1d(keys, shown)
        if self._last is None or self._last[0] is not request:
            shown_rows = set(np.searchsorted(frames, recorded).tolist())
            most, seeds = round(share * MAX_POINTS), round(share * SIFT_SEEDS)
            self._last = request, follow(images, set(keyed), shown_rows, seeds=seeds, most=most)
        tracks = self._last[1].part(points)
        every = tracks.xy.astype(np.float64) - (np.array(size) - 1) / 2
        xy = every[np.searchsorted(recorded, keys)]
        focal, spread = _focal_of(request, size[0])
        focals = [focal] if spread == _PRIOR_GIVEN else (_GUESSES * size[0]).tolist()
        turns = turning_in_place(xy, focals)
        if turns is not None:
            # Key frames say that it does nothing but turn; every frame that is shown says how.
            finer = turning_in_place(every, focals) if len(recorded) > len(keys) else None
            each, turns = (keys, turns) if finer is None else (recorded, finer)
            own = between(_camera_to_world(turns, np.zeros((len(turns), 3))), each, shown)[:, :3, :3]
            turn = float(np.degrees(rotation_angle(own[-1])))
            why = f"the camera turns by {turn:.0f} degrees where it stands" if turn >= 1 else "the camera does not move"
            path = self._stationary(request, why, shown, len(keys), turn_deg=round(turn, 3))
            return replace(path, rotations=own)
        built = build_map(xy, focal, (focal, spread))
        if built is None:
            why = "no two frames share enough points and parallax to start from"
            return DecodedPath("failed", self.name, why, registered=np.zeros(len(keys), bool))
        there = None
        if request.anchor is not None and built.placed[0]:
            first = replace(_first_frame(images[0], built, tracks, xy), anchor_xy=request.anchor_xy)
            there = place_anchor(first, _gray(request.anchor, size), most=round(share * ANCHOR_POINTS))
        views = TrackedPoints(keys, xy, recorded, every)
        return self._path(request, built, there, views, shown, size[0])

    def _keys(self, count: int, shown: Indices) -> Indices:
        """Frames that get a camera by adjustment: all that are shown, or every third one if those are far more.
        The rest is seen from the finished map: bundle adjustment grows with the cube of them."""
        if len(shown) <= self._key_frames:
            return np.union1d(evenly_spaced(count, self._key_frames), shown)
        return evenly_spaced(count, max(self._key_frames, min(-(-len(shown) // _SHOWN_A_KEY), FOLLOWED)))

    def _stationary(
        self, request: DecodeRequest, why: str, shown: Indices, looked_at: int, **diagnostics: Any
    ) -> DecodedPath:
        real = request.anchor_distance_m
        return stationary_path(self.name, shown, why, looked_at=looked_at, anchor_real_m=real, **diagnostics)

    def _path(
        self,
        request: DecodeRequest,
        built: Map,
        there: AnchorPlace | None,
        views: TrackedPoints,
        shown: Indices,
        width: int,
    ) -> DecodedPath:
        """What a map says, and whether it may be believed."""
        keys, xy = views.keys, views.keyed
        # As COLMAP counts: sightings that are farther off were taken for wrong.
        errors = built.errors_px(xy)
        errors = errors[errors <= AGREE_PX]
        points = len(errors) / int(built.placed.sum())
        agreeing = len(errors) / max(1, int(np.isfinite(xy[built.placed, :, 0]).sum()))
        error = float(errors.mean()) if len(errors) else float("inf")
        diagnostics: dict[str, Any] = {
            "reprojection_px": round(error, 4) if len(errors) else None,
            "points_per_frame": round(points, 2),
            "agreeing": round(agreeing, 4),
            "parallax_deg": round(built.parallax_deg, 3),
        }
        facts: dict[str, Any] = {
            "registered": built.placed,
            "focal_px": built.scene.focal * request.video.width / width,
            "anchor_real": request.anchor_distance_m,
            "diagnostics": diagnostics,
        }
        anchored = None if request.anchor is None else there is not None
        given = None if request.hfov_deg is None else _focal_of(request, width)[0] / width
        status, why = judge(PathQuality(built.placed, anchored, error, points, built.scene.focal / width, given))
        if status != "failed" and agreeing < MIN_AGREEING:
            status, why = "failed", f"only {100 * agreeing:.0f} % of what was followed agrees with one path"
        if status == "failed":
            return DecodedPath("failed", self.name, why, **facts)

        kept = np.flatnonzero(built.placed)
        if status == "partial":
            kept, shown, fault = from_start(built.placed, keys, shown)
            if fault:
                return DecodedPath("failed", self.name, fault, **facts)
        seen, rotations, translations = seen_from(built, kept, views)
        gaps = shown[~np.isin(shown, seen)]
        if len(gaps):
            diagnostics["interpolated"] = gaps.tolist()
        poses = _camera_to_world(rotations, translations)
        anchor = None
        if there is not None:
            anchor = _camera_to_world(there.rotation[None], there.translation[None])[0]
            diagnostics |= {
                "anchor_points": there.agree,
                "anchor_likeness": round(there.likeness, 4),
                "anchor_lead": round(there.lead, 4),
            }
        path = ground_path(between(poses, seen, shown), anchor, request.anchor_distance_m)
        why = why if anchored is not None else "no anchor frame was given"
        if there is not None:
            unclear = "" if there.lead >= LEAST_LEAD else "the anchor frame fits two places equally well"
            fault = path.fault or anchor_too_far(path) or unclear
            status, why = ("no_scale", fault) if fault else (status, why)
        found = {"positions": path.positions, "rotations": path.rotations, "frame_indices": shown, **facts}
        if there is None or status == "no_scale":
            found["positions"] = path.positions / (path.scale or 1.0)
            return DecodedPath("no_scale", self.name, why, anchor_estimated=path.anchor_estimated, **found)
        diagnostics["path_length"] = round(geometry.length(path.positions), 4)
        scaled = DecodedPath(
            status, self.name, why, xy=path.xy, scale=path.scale, anchor_estimated=path.anchor_estimated, **found
        )
        return walkable(scaled, request)


def _first_frame(image: Gray, built: Map, tracks: Tracks, xy: FloatArray) -> FirstFrame:
    """The first frame with its points, those with descriptors first."""
    described = len(tracks.descriptors)
    chosen = np.flatnonzero(built.known & built.seen[0])
    scene = built.scene
    return FirstFrame(
        image,
        scene.rotations[0],
        scene.translations[0],
        scene.points[chosen],
        xy[0, chosen],
        tracks.descriptors[chosen[chosen < described]],
        scene.focal,
    )


def _focal_of(request: DecodeRequest, width: int) -> tuple[float, float]:
    """Focal length in working pixels, and the standard deviation of its logarithm."""
    if request.hfov_deg is None or not 1 < request.hfov_deg < 179:
        return GUESSED_FOCAL * width, _PRIOR_GUESSED
    return width / 2 / float(np.tan(np.radians(request.hfov_deg) / 2)), _PRIOR_GIVEN


def _camera_to_world(rotations: FloatArray, translations: FloatArray) -> FloatArray:
    poses = np.zeros((len(rotations), 4, 4))
    poses[:, :3, :3], poses[:, :3, 3], poses[:, 3, 3] = rotations, translations, 1.0
    return invert(poses)


def _gray(frame: Image, size: tuple[int, int]) -> Gray:
    """Grey, then at `size`: one channel to resize in place of three, for 129 frames (`gray_at` rounds otherwise)."""
    import cv2

    gray = np.asarray(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), np.uint8)
    if (gray.shape[1], gray.shape[0]) != size:
        shrinks = gray.shape[1] >= size[0] and gray.shape[0] >= size[1]
        gray = np.asarray(
            cv2.resize(gray, size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR), np.uint8
        )
    return gray


@contextmanager
def _one_thread() -> Iterator[None]:
    """OpenCV in one thread: the same result on every machine, and workers already fill the cores."""
    import cv2

    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)
