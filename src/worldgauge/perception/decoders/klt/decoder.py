"""`klt-vo`: visual odometry on followed points, with bundle adjustment. Needs no weights and nothing but OpenCV.

    path = decoders.get("klt-vo")().decode(DecodeRequest(video, anchor, anchor_distance_m=1.07, hfov_deg=80.0))

Points are followed from frame to frame, so repeated textures do not confuse it as they confuse matching; what it
cannot bridge is a cut. Source: Target-Bench, world decoder; the method is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from worldgauge.core import polyline
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray, invert, rotation_angle
from worldgauge.core.image import Image
from worldgauge.perception.decoders.contract import DecodedPath, DecodeRequest, decoders
from worldgauge.perception.decoders.crosscheck import unconfirmed
from worldgauge.perception.decoders.frames import (
    STILL_PX,
    Gray,
    Indices,
    displacement_px,
    evenly_spaced,
    stationary_path,
    working_size,
)
from worldgauge.perception.decoders.gates import Evidence, anchor_too_far, from_start, judge, walkable
from worldgauge.perception.decoders.klt._anchor import LEAST_LEAD, AnchorPlace, FirstFrame, place_anchor
from worldgauge.perception.decoders.klt._fill import Views, seen_from
from worldgauge.perception.decoders.klt._map import Map, build_map, turning_in_place
from worldgauge.perception.decoders.klt._tracks import Tracks, follow
from worldgauge.perception.decoders.klt._views import AGREE_PX
from worldgauge.perception.decoders.poses import between, ground_path

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

    The focal length starts from the field of view of the request; without one, from 64 degrees.

    Args:
        key_frames: Number of frames that get a camera, among them all that are returned.
        followed: Number of frames through which points are tracked.
    """

    name = "klt-vo"
    version = 4

    def __init__(self, key_frames: int = KEY_FRAMES, followed: int = FOLLOWED) -> None:
        self._key_frames = key_frames
        self._followed = followed

    @property
    def settings(self) -> Mapping[str, Any]:
        """Options, and the version of OpenCV."""
        opencv = version("opencv-python-headless")
        return {"key_frames": self._key_frames, "followed": self._followed, "opencv": opencv}

    def decode(self, request: DecodeRequest) -> DecodedPath:
        """The path; see `Decoder`. One thread."""
        return self.confirmed(self.guess(request), request)

    def confirmed(self, path: DecodedPath, request: DecodeRequest) -> DecodedPath:
        """Keep the scale of a path only if either half of the points shows it too.

        One frame after the other, a scale drifts where few points connect them, as when the camera turns where it
        stands. The halves then drift apart.

        Args:
            path: What `guess` found.
            request: What was decoded.

        Returns:
            The path, with `halves_apart` in its diagnostics: the largest distance, as a share of the length.
        """
        if path.xy is None or path.status == "stationary":
            return path
        apart = 0.0
        for part in (0, 1):
            half = self.guess(request, slice(part, None, 2))
            if half.xy is None or not np.isin(path.frame_indices, half.frame_indices).all():
                return unconfirmed(path, "half of the points show no path")
            other = half.xy[np.isin(half.frame_indices, path.frame_indices)]
            apart = max(apart, float(np.linalg.norm(path.xy - other, axis=1).max()) / polyline.length(path.xy))
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
        size = working_size(request.video.width, request.video.height)
        images = [_gray(frame, size) for frame in request.video.take(frames.tolist())]
        keyed = np.searchsorted(frames, keys).tolist()

        moved = displacement_px([images[k] for k in keyed])
        if moved is not None and moved < STILL_PX:
            return self._stationary(request, "the camera does not move", shown, len(keys), displacement_px=moved)
        recorded = np.union1d(keys, shown)
        tracks = follow(images, set(keyed), set(np.searchsorted(frames, recorded).tolist())).part(points)
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
            there = place_anchor(first, _gray(request.anchor, size))
        views = Views(keys, xy, recorded, every)
        return self._path(request, built, there, views, shown, size[0])

    def _keys(self, count: int, shown: Indices) -> Indices:
        """Frames that get a camera by adjustment: all that are shown, unless those are far more.

        Then every third one, the rest being seen from the finished map: bundle adjustment grows with the cube of them.
        """
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
        views: Views,
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
        status, why = judge(Evidence(built.placed, anchored, error, points, built.scene.focal / width, given))
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
        diagnostics["path_length"] = round(polyline.length(path.positions), 4)
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
