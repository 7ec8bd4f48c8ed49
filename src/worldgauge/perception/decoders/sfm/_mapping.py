"""Global structure from motion on a few frames, by PyCOLMAP: features, matches, and models under several seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import MissingExtraError
from worldgauge.core.geometry import FloatArray, invert
from worldgauge.perception.decoders.frames import Gray
from worldgauge.perception.decoders.klt._anchor import FirstFrame, place_anchor
from worldgauge.perception.decoders.klt._views import Placed

MAX_FEATURES = 2048
CONTRAST = 0.008
"""Least of a feature, of OpenCV's scale. With 0.02 a room of low contrast kept 54 points a frame and ended 0.137 m off,
with this 475 and 0.059 m. Where there is more contrast the strongest MAX_FEATURES are taken all the same."""
OVERLAP = 8
FEW_IMAGES = 10
"""Up to here every image is matched with every other one."""
TRACKS_PER_VIEW = 150
"""Tracks that place the cameras; the others join at the end. With all of them, mapping takes four times as long and is
no more accurate on the test rooms."""
DEFAULT_FOCAL_WIDTHS = 1.2
MATCHING_THREADS = 1
"""So that nothing can depend on which of several threads comes first on a busy machine."""


@dataclass(frozen=True)
class Model:
    """Cameras that were placed: `poses` maps the position of an image to its camera-to-world pose (4, 4).

    anchor_likeness, anchor_lead: As in `AnchorPlace`; None when the anchor was not placed.
    """

    poses: dict[int, FloatArray]
    focal_px: float
    reprojection_px: float
    points_per_frame: float
    observations: int
    anchor_likeness: float | None = None
    anchor_lead: float | None = None


def pycolmap() -> Any:
    """Import PyCOLMAP, with its output silenced.

    Raises:
        MissingExtraError: It is not installed or cannot be loaded.
    """
    try:
        import pycolmap as module
    except (ImportError, OSError):
        raise MissingExtraError("decoder 'sfm-global'", "sfm") from None
    return module


class Matched:
    """Images matched with each other, ready to be mapped.

    Args:
        images: (H, W) uint8 of one size, in order of time, the anchor first.
        focal_px: Where the focal length starts from; None when unknown.
        folder: Where the database lies while this is in use.
        anchored: Image 0 is the anchor.
        anchor_xy: As in `DecodeRequest`.
    """

    def __init__(
        self,
        images: Sequence[Gray],
        focal_px: float | None,
        folder: Path,
        seed: int,
        *,
        anchored: bool = False,
        anchor_xy: FloatArray | None = None,
    ) -> None:
        self._count = len(images)
        self._first = images[:2] if anchored and len(images) > 1 else None
        self._anchor_xy = anchor_xy
        self._described = np.zeros((0, 128), np.float32)
        self._known_focal = focal_px is not None
        self._path = folder / "database.db"
        with _silence():
            self._write(images, focal_px)
            self._match(seed)

    def map(self, seed: int, *, focal_fixed: bool = False) -> Model | None:
        """Run global mapping from random places.

        Args:
            seed: Seed of the places.
            focal_fixed: Keep the focal length.

        Returns:
            The largest model; None if there is none.
        """
        colmap = pycolmap()
        options = colmap.GlobalPipelineOptions(num_threads=1, random_seed=seed)
        mapper = options.mapper
        mapper.num_threads = 1
        for part in (mapper, mapper.rotation_averaging, mapper.global_positioning, mapper.retriangulation):
            part.random_seed = seed
        mapper.track_required_tracks_per_view = TRACKS_PER_VIEW
        mapper.bundle_adjustment.refine_focal_length = not focal_fixed
        found = colmap.ReconstructionManager()
        with _silence():
            colmap.set_random_seed(seed)
            with colmap.Database.open(self._path) as database:
                colmap.GlobalPipeline(options, database, found).run()
        models = [found.get(i) for i in range(found.size())]
        if not models:
            return None
        largest = max(models, key=lambda each: each.num_reg_images())
        return self._with_anchor(_model(largest), largest)

    def _with_anchor(self, model: Model, found: Any) -> Model:
        """The model with its anchor where the first frame looks most like it.

        The pose that mapping gives the anchor is one candidate. Few images share the anchor's matches, so repeated
        texture misplaces it without an error in pixels.
        """
        if self._first is None or 1 not in model.poses:
            return model
        others = {image: pose for image, pose in model.poses.items() if image > 0}
        seen = [p for p in found.images[2].points2D if p.has_point3D()]
        rows = [row for row, p in enumerate(found.images[2].points2D) if p.has_point3D()]
        if not seen:
            return replace(model, poses=others)
        anchor, image = self._first
        to_camera = invert(model.poses[1])
        first = FirstFrame(
            image,
            to_camera[:3, :3],
            to_camera[:3, 3],
            np.array([found.points3D[p.point3D_id].xyz for p in seen]),
            np.array([p.xy for p in seen]) - np.array([image.shape[1], image.shape[0]]) / 2,
            self._described[rows],
            model.focal_px,
            self._anchor_xy,
        )
        guesses = []
        if 0 in model.poses:
            mapped = invert(model.poses[0])
            common = np.ones(found.images[1].num_points3D, np.bool_)
            guesses = [Placed(mapped[:3, :3], mapped[:3, 3], common)]
        place = place_anchor(first, anchor, guesses)
        if place is None:
            return replace(model, poses=others)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = place.rotation, place.translation
        return replace(model, poses={0: invert(pose), **others}, anchor_likeness=place.likeness, anchor_lead=place.lead)

    def _write(self, images: Sequence[Gray], focal_px: float | None) -> None:
        colmap = pycolmap()
        height, width = images[0].shape
        focal = focal_px or DEFAULT_FOCAL_WIDTHS * width
        camera = colmap.Camera(
            model="SIMPLE_PINHOLE", width=width, height=height, params=[focal, width / 2, height / 2], camera_id=1
        )
        camera.has_prior_focal_length = self._known_focal
        rig = colmap.Rig(rig_id=1)
        rig.add_ref_sensor(colmap.sensor_t(colmap.SensorType.CAMERA, 1))
        with colmap.Database.open(self._path) as database:
            database.write_camera(camera, use_camera_id=True)
            database.write_rig(rig, use_rig_id=True)
            for number, picture in enumerate(images, start=1):
                image = colmap.Image(name=f"{number:04d}", camera_id=1, image_id=number)
                frame = colmap.Frame(frame_id=number, rig_id=1)
                frame.add_data_id(image.data_id)
                database.write_image(image, use_image_id=True)
                database.write_frame(frame, use_frame_id=True)
                points, described = features(picture)
                if number == 2 and self._first is not None:
                    self._described = described.astype(np.float32)
                    self._described /= np.maximum(np.linalg.norm(self._described, axis=1, keepdims=True), 1e-6)
                database.write_keypoints(number, points)
                kind = colmap.FeatureExtractorType.SIFT
                database.write_descriptors(number, colmap.FeatureDescriptors(kind, described))

    def _match(self, seed: int) -> None:
        colmap = pycolmap()
        matching = colmap.FeatureMatchingOptions(num_threads=MATCHING_THREADS)
        verifying = colmap.TwoViewGeometryOptions()
        verifying.ransac.random_seed = seed
        settings: dict[str, Any] = {"matching_options": matching, "verification_options": verifying}
        if self._count <= FEW_IMAGES:
            colmap.match_exhaustive(self._path, device=colmap.Device.cpu, **settings)
        else:
            pairs = colmap.SequentialPairingOptions(
                overlap=OVERLAP, quadratic_overlap=True, num_threads=MATCHING_THREADS
            )
            colmap.match_sequential(self._path, pairing_options=pairs, device=colmap.Device.cpu, **settings)


def features(picture: Gray) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """SIFT of the doubled picture: points (n, 4) as x, y, scale, angle, and descriptors (n, 128), root of L1.

    By OpenCV: the same accuracy in the test rooms as PyCOLMAP's own, in a quarter of the time.
    """
    import cv2

    sift: Any = cv2.SIFT_create(  # type: ignore[attr-defined]
        nfeatures=MAX_FEATURES, contrastThreshold=CONTRAST, edgeThreshold=10, enable_precise_upscale=True
    )
    found, described = sift.detectAndCompute(picture, None)
    if not found:
        return np.zeros((0, 4), np.float32), np.zeros((0, 128), np.uint8)
    # OpenCV counts from the middle of the first pixel, PyCOLMAP from its corner.
    points = [(each.pt[0] + 0.5, each.pt[1] + 0.5, each.size / 2, np.radians(each.angle)) for each in found]
    share = described / np.maximum(described.sum(1, keepdims=True), 1e-9)
    return np.array(points, np.float32), np.clip(np.rint(512 * np.sqrt(share)), 0, 255).astype(np.uint8)


def _model(found: Any) -> Model:
    placed = [image for image in found.images.values() if image.has_pose]
    poses = {}
    for image in placed:
        pose = np.eye(4)
        pose[:3] = image.cam_from_world().matrix()
        poses[int(image.name) - 1] = invert(pose)
    counts = [image.num_points3D for image in placed]
    return Model(
        poses,
        focal_px=float(next(iter(found.cameras.values())).params[0]),
        reprojection_px=float(found.compute_mean_reprojection_error()),
        points_per_frame=float(np.mean(counts)) if counts else 0.0,
        observations=int(sum(counts)),
    )


@contextmanager
def _silence() -> Iterator[None]:
    """PyCOLMAP logs every step to the terminal."""
    logging = pycolmap().logging
    before = logging.minloglevel
    logging.minloglevel = 3
    try:
        yield
    finally:
        logging.minloglevel = before
