"""The world of a recording that brings its own truth: what its camera saw in each frame, from a file beside the video.

    layers = {"category": category, "instance": instance, "depth": depth_m}  # (H, W) arrays of one frame
    write_truth(Path("walk.truth.zip"), Truth(camera, poses, ("floor", "barrel"), ("barrel",)), [layers, ...])

`walk.truth.zip` belongs to `walk.avi`. It holds `truth.json` and, for each frame, PNG pictures of 16 bits per pixel:
`category/000000.png`, `instance/000000.png`, and `depth/000000.png` in steps of a millimetre. All three may be absent.
"""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import DataError, NotApplicableError, ShapeError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.image import MAX_IMAGE_BYTES, decode_levels, png
from worldgauge.core.io import atomic_file, cached_by_stamp, check_inside, digest_of_file, dumps, parse_json
from worldgauge.worlds import View, worlds

RECORDED = "recorded"
SUFFIX = ".truth.zip"
LAYERS = ("category", "instance", "depth")
STEP_M = 0.001
"""Depth of one level, metres. 0 is the sky, or what has no depth."""
UNLABELLED = "unlabelled"
"""Category 0."""
_HEADER = "truth.json"
_FORMAT, _VERSION = "worldgauge-truth", 1
_DAMAGED = (NotImplementedError, ValueError, lzma.LZMAError, zipfile.BadZipFile, zlib.error)
MOST_NAMES = 200
_MOST_BYTES = 64 << 20
_MOST_FRAMES = 100_000
_NEAR = 1e-3
"""Metres, and entries of the rotation, by which a pose may differ from a recorded one."""
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Truth:
    """What the file of a recording states about all its frames.

    Attributes:
        camera: Camera of the pictures in the file. They may be smaller than the frames of the video.
        poses: (T, 4, 4) camera-to-world, metres: x right, y down, z ahead in the camera; z up in the world.
        categories: Names of the categories 1, 2, ...
        things: Categories whose instances are counted.
        place: Name of the place. Recordings of other places are those that `forgetful` shows.
        layers: Which pictures there are of each frame.

    Examples:
        >>> from worldgauge.world import Camera
        >>> truth = Truth(Camera.from_horizontal_fov(8, 6, 90), np.eye(4)[None], ("floor", "barrel"), ("barrel",))
        >>> truth.categories[0]  # of the pixels with the value 1
        'floor'
    """

    camera: Camera
    poses: FloatArray
    categories: tuple[str, ...] = ()
    things: tuple[str, ...] = ()
    place: str = ""
    layers: tuple[str, ...] = ()


def write_truth(path: Path, truth: Truth, frames: Iterable[Mapping[str, NDArray[Any]]] = ()) -> None:
    """Write the truth of a recording.

    Args:
        path: The file, named as the video but for its end: `walk.truth.zip` for `walk.avi`.
        truth: What holds for all frames. Its `layers` are those that the frames have.
        frames: For each frame, layers (H, W) by name: "category" and "instance" uint16, "depth" in metres along the
            optical axis, infinite for the sky. All frames have the same ones.

    Raises:
        ShapeError: Frames differ in layers, do not fit the camera or the poses, or hold a label above 65535.

    Examples:
        >>> from pathlib import Path
        >>> from worldgauge.world import Camera
        >>> truth = Truth(Camera.from_horizontal_fov(8, 6, 90), np.eye(4)[None], ("floor",))
        >>> write_truth(Path("walk.truth.zip"), truth, [{"category": np.ones((6, 8), np.uint16)}])
        >>> from worldgauge.worlds.recorded import read_truth
        >>> read_truth(Path("walk.truth.zip")).layers
        ('category',)
    """
    layers: tuple[str, ...] | None = None
    with atomic_file(path) as file, zipfile.ZipFile(file, "w") as packed:
        for index, frame in enumerate(frames):
            given = tuple(name for name in LAYERS if name in frame)
            if layers not in (None, given):
                raise ShapeError(f"{path}: frame {index} has other layers than frame 0")
            layers = given
            if index >= len(truth.poses):
                raise ShapeError(f"{path}: more frames than the {len(truth.poses)} poses")
            for name in given:
                if np.shape(frame[name]) != (truth.camera.height, truth.camera.width):
                    raise ShapeError(f"{path}: '{name}' of frame {index} has not the size of the camera")
                packed.writestr(zipfile.ZipInfo(_member(name, index), _LONG_AGO), png(_levels(name, frame[name])))
        camera = {name: getattr(truth.camera, name) for name in _CAMERA}
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "camera": camera,
            "poses": truth.poses[:, :3].reshape(-1, 12).tolist(),
            "categories": list(truth.categories),
            "things": list(truth.things),
            "place": truth.place,
            "layers": list(layers or ()),
        }
        if layers is not None and index + 1 < len(truth.poses):
            raise ShapeError(f"{path}: {index + 1} frames for {len(truth.poses)} poses")
        packed.writestr(zipfile.ZipInfo(_HEADER, _LONG_AGO), dumps(header), zipfile.ZIP_DEFLATED)


_CAMERA = {"width": int, "height": int, "fx": float, "fy": float, "cx": float, "cy": float}


def _member(layer: str, index: int) -> str:
    return f"{layer}/{index:06d}.png"


def _levels(layer: str, values: NDArray[Any]) -> NDArray[np.uint16]:
    if layer != "depth":
        if values.min() < 0 or values.max() > np.iinfo(np.uint16).max:
            raise ShapeError(f"'{layer}' holds a number that is not in 0 to 65535")
        return np.asarray(values, np.uint16)
    steps = np.rint(np.where(np.isfinite(values), values, 0) / STEP_M)
    return np.asarray(np.where(steps > np.iinfo(np.uint16).max, 0, steps), np.uint16)


@cached_by_stamp(maxsize=64)
def read_truth(path: Path) -> Truth:
    """What the file of a recording states. Raises DataError for one that is damaged or contradicts itself."""
    with _opened(path) as packed:
        content = parse_json(_bytes(packed, _HEADER, _MOST_BYTES, path), f"{path}: {_HEADER}")
    try:
        if (content["format"], content["version"]) != (_FORMAT, _VERSION):
            raise ValueError(f"is no {_FORMAT} of version {_VERSION}")
        given = {name: kind(content["camera"][name]) for name, kind in _CAMERA.items()}
        if not np.isfinite([*given.values()]).all():
            raise ValueError("has a camera without end")
        poses = np.array(content["poses"], np.float64).reshape(-1, 3, 4)
        truth = Truth(Camera(**given), np.concatenate([poses, np.tile([[[0.0, 0, 0, 1]]], (len(poses), 1, 1))], 1))
        lists = {name: _names(content[name]) for name in ("categories", "things", "layers")}
        truth = Truth(truth.camera, truth.poses, **lists, place=str(content["place"]))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{path}: {_HEADER} cannot be used ({error}); write it again") from error
    camera = truth.camera
    sound = 0 < len(poses) <= _MOST_FRAMES and np.isfinite(poses).all() and min(camera.fx, camera.fy) > 0
    if not sound or not 0 < camera.width * camera.height <= _MOST_BYTES or min(camera.width, camera.height) < 1:
        raise DataError(f"{path}: {_HEADER} needs a camera with a size and focal lengths, and finite poses")
    if not set(truth.layers) <= set(LAYERS) or not set(truth.things) <= set(truth.categories):
        raise DataError(f"{path}: layers are {', '.join(LAYERS)}, and every thing is a category")
    return truth


def _names(values: Any) -> tuple[str, ...]:
    """Different names from a file."""
    if not isinstance(values, list) or len(values) > MOST_NAMES or not all(isinstance(one, str) for one in values):
        raise ValueError(f"has no list of at most {MOST_NAMES} names")
    if len(set(values)) < len(values):
        raise ValueError("gives a name twice")
    return tuple(values)


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: cannot be read ({error}); write it again") from error


def _bytes(packed: zipfile.ZipFile, name: str, most: int, path: Path) -> bytes:
    """A member of an archive, never more than `most` bytes of it."""
    try:
        with packed.open(name) as member:
            data = member.read(most + 1)
    except (*_DAMAGED, KeyError, OSError, EOFError, RuntimeError) as error:
        raise DataError(f"{path}: {name} cannot be read ({error}); write it again") from error
    if len(data) > most:
        raise DataError(f"{path}: {name} is larger than {most >> 20} MB")
    return data


_EXAMPLE = str(Path(__file__).with_name(f"example{SUFFIX}"))


@worlds.register(RECORDED, example={"file": _EXAMPLE}, files=("file",), panorama=False)
class RecordingWorld:
    """What the camera of a recording saw. It can be viewed from the recorded poses only."""

    def __init__(self, file: str) -> None:
        self._path = Path(file)
        self.truth = read_truth(self._path)
        self.categories = (UNLABELLED, *self.truth.categories)

    @property
    def facts(self) -> WorldFacts:
        """The file, and its digest."""
        return facts_of(self._path)

    @property
    def labelled(self) -> bool:
        """Whether the file says what each pixel shows."""
        return "category" in self.truth.layers and bool(self.categories)

    def view(self, pose: FloatArray, camera: Camera | Panorama, *, position: bool = False) -> View:
        """What the file holds of the frame with this pose, at the nearest pixels; `rgb` is black: the video has it."""
        away = np.abs(self.truth.poses - pose).max(axis=(1, 2))
        index = int(away.argmin())
        if away[index] > _NEAR or not isinstance(camera, Camera):
            raise NotApplicableError("a recording can be viewed only as its camera saw it")
        category, instance = (self._layer(name, index, camera) for name in ("category", "instance"))
        levels = self._layer("depth", index, camera)
        depth = np.where(levels > 0, levels * np.float32(STEP_M), np.float32(np.inf)).astype(np.float32)
        where = None
        if position:
            near = np.where(np.isfinite(depth), depth, np.nan)
            where = (camera.unproject(near) @ pose[:3, :3].T + pose[:3, 3]).astype(np.float32)
        return View(np.zeros((*depth.shape, 3), np.uint8), depth, category, instance, where)

    def _layer(self, name: str, index: int, camera: Camera) -> NDArray[np.uint16]:
        if name not in self.truth.layers:
            return np.zeros((camera.height, camera.width), np.uint16)
        own, where = self.truth.camera, f"{self._path}: {_member(name, index)}"
        data = _bytes(self._packed, _member(name, index), MAX_IMAGE_BYTES, self._path)
        levels = decode_levels(data, where, (own.width, own.height))
        if name == "category" and levels.max() >= len(self.categories):
            raise DataError(f"{where}: category {levels.max()}, and {len(self.truth.categories)} are named")
        return _sampled(levels, own, camera)

    @cached_property
    def _packed(self) -> zipfile.ZipFile:
        return _opened(self._path)


def facts_of(file: Path) -> WorldFacts:
    """The world of a recording, from its file of truth."""
    return WorldFacts(RECORDED, {"file": str(file)}, digest_of_file(file))


def truth_beside(video: Path) -> Path | None:
    """The file of truth beside a video; None without one."""
    file = video.with_name(video.stem + SUFFIX)
    return check_inside(file, video.parent) if file.is_file() else None


def with_truth(episode: Episode) -> Episode:
    """An episode with the camera and the poses of its file of truth, if it is a recording that has one."""
    if episode.world is None or episode.world.name != RECORDED:
        return episode
    file, clip = Path(str(episode.world.params["file"])), episode.clip
    truth = read_truth(file)
    if len(truth.poses) - len(clip) not in (0, 1):  # a clip may lack the last frame of its video
        raise DataError(f"{file}: {len(truth.poses)} poses for a video of {len(clip)} frames")
    return replace(episode, poses=truth.poses[: len(clip)], camera=truth.camera.resized(clip.width, clip.height))


def _sampled(image: NDArray[Any], own: Camera, camera: Camera) -> NDArray[Any]:
    """The nearest pixels of an image, as another camera in the same place sees them; 0 outside."""
    u = (np.arange(camera.width) + 0.5 - camera.cx) / camera.fx * own.fx + own.cx
    v = (np.arange(camera.height) + 0.5 - camera.cy) / camera.fy * own.fy + own.cy
    columns, rows = np.floor(u).astype(np.int64), np.floor(v).astype(np.int64)
    seen = image[rows.clip(0, own.height - 1)][:, columns.clip(0, own.width - 1)]
    inside = ((rows >= 0) & (rows < own.height))[:, None] & ((columns >= 0) & (columns < own.width))
    return np.where(inside, seen, 0).astype(image.dtype)
