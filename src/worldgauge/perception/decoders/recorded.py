"""`precomputed`: camera poses that somebody else has estimated, from one file a video.

    decoder = decoders.get("precomputed")(folder="poses/my-model")
    decoder.decode(DecodeRequest(video, None, None, name="sample_096_custom_segment_000_249"))

Looked for are `<folder>/<content>` and then `<folder>/<name>`, of the request, with .npz, .json or .txt:

npz   poses (n, 4, 4); frames (n,) whole numbers; anchor (4, 4); metric, one truth value. All but poses may be left out.
json  {"format": "worldgauge-poses", "version": 1, "poses": [...], "frames": [...], "anchor": [...], "metric": true}
txt   TUM: a line `seconds tx ty tz qx qy qz qw` per pose, `#` before remarks; metres. Seconds are those of the video,
      or of any clock: stamps that lie beyond the video count from the first one, which is frame 0. Poses between
      frames are interpolated

So are what other tools write: ViPE's pose/*.npz (`data`, `inds`), and COLMAP's lists of images, also as
`<folder>/<name>/images.txt`, in natural order of the image names. The first image is frame 0; the last numbers of the
names say how many frames later the others are. They may go on beyond the video.

Poses are camera-to-world, camera frame x right, y down, z ahead, of any world frame. frames: which frames of the video
they belong to, ascending; by default all of them, or n evenly spaced ones. anchor: pose of the camera at the anchor;
with it, the unit is whatever it is and the distance of the request gives the scale, unless `metric` says metres.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from worldgauge.core import geometry
from worldgauge.core.errors import DataError, ShapeError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.io import digest_of, read_npz, read_text
from worldgauge.perception.colmap import read_images_txt
from worldgauge.perception.decoders import DecodedPath, DecodeRequest, decoders
from worldgauge.perception.decoders.frames import Indices, evenly_spaced, from_start, walkable
from worldgauge.perception.decoders.poses import (
    Layout,
    between,
    checked,
    ground_path,
    heading_change_deg,
    poses_of,
    poses_of_quaternions,
    released_path,
)
from worldgauge_serve import strict_json

FORMAT, FORMAT_VERSION = "worldgauge-poses", 1
SUFFIXES = (".npz", ".json", ".txt")
IMAGE_LIST = "images.txt"
MAX_BYTES = 64 * 2**20
MAX_POSES = 100_000
_MAX_SECONDS = 1e12
_IMAGE_FIELDS = 10
_ON_FRAME = 0.25
"""How far, in frames, a pose with a time may lie from the frame that it belongs to."""
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]*$")
_STAMP = re.compile(r"[0-9]{9}\.[0-9]")

FileLayout = Literal["poses", "vggt", "spatracker", "vipe"]


@decoders.register("precomputed")
class Precomputed:
    """Camera paths from poses in files, one per video; see the module.
    `layout` is "poses" as in the module, or the released decoder whose output `poses` holds (`poses.Layout`). `compat`
    "released" applies the rules of the released scripts, at any speed."""

    name = "precomputed"
    version = 3
    cacheable = False

    def __init__(self, folder: str | Path, layout: FileLayout = "poses", compat: Literal["", "released"] = "") -> None:
        if layout not in get_args(FileLayout):
            raise UsageError(f"decoder 'precomputed': no layout '{layout}'; known: {', '.join(get_args(FileLayout))}")
        if compat not in ("", "released") or (compat and layout == "poses"):
            raise UsageError(
                "decoder 'precomputed': compat is 'released', for layouts vggt, spatracker and vipe, or ''"
            )
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise UsageError(f"decoder 'precomputed': no folder {self._folder}")
        self._layout = layout
        self._compat = compat

    @property
    def settings(self) -> Mapping[str, Any]:
        """Options, and a digest of what lies in the folder now, by names, sizes and times: paths are not cached."""
        found = []
        for place, _, names in os.walk(self._folder):
            for file in (Path(place, name) for name in names if name.endswith(SUFFIXES)):
                with suppress(OSError):  # gone in this moment: the next look tells
                    status = file.stat()
                    found.append((file.relative_to(self._folder).as_posix(), status.st_size, status.st_mtime_ns))
        files = digest_of(json.dumps(sorted(found)))
        return {"folder": str(self._folder), "layout": self._layout, "compat": self._compat, "files": files}

    def decode(self, request: DecodeRequest) -> DecodedPath:
        """The path; `failed` where there is no file, or none that can be read."""
        if len(request.video) == 0:
            return DecodedPath("failed", self.name, "the video holds no frame")
        try:
            file = self._find(request)
            recorded = read_poses(file, self._layout, request.video.fps)
            path = self._released(recorded, request) if self._compat else self._path(recorded, request)
        except (DataError, ShapeError) as error:
            return DecodedPath("failed", self.name, str(error), anchor_real=request.anchor_distance_m)
        return replace(path, diagnostics={"decoder_used": self.name, "file": file.name, **path.diagnostics})

    def _find(self, request: DecodeRequest) -> Path:
        for stem in (request.content, request.name):
            if not stem:
                continue
            parts = PurePosixPath(stem).parts
            if not parts or any(part in ("..", "/") or "\\" in part or ":" in part or "\0" in part for part in parts):
                raise DataError(f"'{stem}' is no name of a file; use letters, digits and /")
            for last in (*(parts[-1] + suffix for suffix in SUFFIXES), f"{parts[-1]}/{IMAGE_LIST}"):
                file = self._folder.joinpath(*parts[:-1], last)
                if file.is_file():
                    return file
        sought = request.name or request.content
        if not sought:
            raise DataError("the video has no name to look its poses up by")
        raise DataError(f"{self._folder / sought}: no poses, as {', '.join(SUFFIXES)}")

    def _path(self, recorded: RecordedPoses, request: DecodeRequest) -> DecodedPath:
        count = len(request.video)
        frames = recorded.frames if recorded.frames is not None else evenly_spaced(count, len(recorded.poses))
        if len(frames) != len(recorded.poses):
            raise DataError(f"{len(recorded.poses)} poses for a video of {count} frames; give 'frames'")
        of_longer = recorded.of_longer
        if recorded.times is not None:
            begin, times = float(recorded.times[0]), recorded.times - recorded.times[0]
            if 0.5 <= begin < count - times[-1] - 0.5:
                raise DataError(f"the first pose has the time of frame {round(begin)}; the path needs one of frame 0")
            # The last frame lies between the last two poses, or they end with the video.
            of_longer = times[-1] < count + _ON_FRAME or times[-2] < count - 1
        if of_longer:
            inside = frames < count
            recorded, frames = replace(recorded, poses=recorded.poses[inside]), frames[inside]
        if len(frames) == 0 or frames[0] != 0 or frames[-1] >= count or (np.diff(frames) <= 0).any():
            raise DataError(f"frames must ascend from 0 to at most {count - 1}, got {frames[:1]} to {frames[-1:]}")
        scored = evenly_spaced(count, request.n_points)
        registered = np.ones(len(frames), bool)
        _, shown, short = from_start(registered, frames, scored)
        whole = len(shown) == len(scored)
        if short and not whole:
            raise DataError(short)
        anchor = None if recorded.metric else recorded.anchor
        if anchor is None and not recorded.metric:
            raise DataError("poses that are not metres need the pose of the 'anchor'")
        poses = checked(recorded.poses, "poses")
        found = ground_path(between(poses, frames, shown), anchor, request.anchor_distance_m)
        late = "" if whole else f"the poses end at frame {frames[-1]} of {count}"
        path = DecodedPath(
            "no_scale" if found.fault else "ok" if whole else "partial",
            self.name,
            found.fault or late,
            xy=found.xy,
            positions=found.positions,
            rotations=found.rotations,
            frame_indices=shown,
            registered=registered,
            scale=found.scale,
            anchor_estimated=found.anchor_estimated,
            anchor_real=request.anchor_distance_m,
            diagnostics={
                "turn_deg": heading_change_deg(found.rotations),
                "path_length": round(geometry.length(found.positions), 4),
                "interpolated": shown[~np.isin(shown, frames)].tolist(),
            },
        )
        return walkable(path, request)

    def _released(self, recorded: RecordedPoses, request: DecodeRequest) -> DecodedPath:
        layout: Layout = self._layout  # type: ignore[assignment]
        if layout != "vipe" and request.anchor_distance_m is None:
            raise DataError("the distance of the anchor is not known")
        path = released_path(recorded.raw, layout, request.anchor_distance_m)
        if path is None:
            return DecodedPath("no_scale", self.name, "the anchor lies exactly at the start of the path")
        return DecodedPath(
            "ok",
            self.name,
            xy=path.xy,
            positions=path.xyz[:, [0, 2, 1]],
            frame_indices=evenly_spaced(len(request.video), len(path.xy))
            if len(path.xy) <= len(request.video)
            else np.full(len(path.xy), -1),
            registered=np.ones(len(path.xy), bool),
            scale=path.scale,
            anchor_estimated=path.anchor_estimated,
            anchor_real=request.anchor_distance_m,
            diagnostics={"compat": "released"},
        )


@dataclass(frozen=True)
class RecordedPoses:
    """Poses of a file."""

    poses: FloatArray
    frames: Indices | None
    anchor: FloatArray | None
    metric: bool  # whether they are metres
    raw: FloatArray  # as it came
    of_longer: bool = False  # they may be of a longer video that begins with this one
    times: FloatArray | None = None  # of the poses by the clock of the file, in frames


def read_poses(file: Path, layout: FileLayout = "poses", fps: float = 0.0) -> RecordedPoses:
    """Read poses from an .npz, .json or .txt file, whose seconds need `fps`. Nothing in the file is executed."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise DataError(f"{file}: larger than {MAX_BYTES >> 20} MB")
        if file.suffix == ".npz":
            fields = _read_npz(file)
        elif file.suffix == ".json":
            fields = strict_json(read_text(file, MAX_BYTES))
            form = (fields.get("format"), fields.get("version")) if isinstance(fields, dict) else None
            if form != (FORMAT, FORMAT_VERSION):
                raise ValueError(f"needs format '{FORMAT}' and version {FORMAT_VERSION}")
        else:
            return _read_tum(file, fps)
        return _recorded(fields, layout)
    except DataError:
        raise
    except Exception as error:  # NumPy, zipfile and zlib raise what they like at a file that is none
        raise DataError(f"{file}: no poses ({' '.join(str(error).split())[:200]})") from error


def _recorded(fields: Mapping[str, Any], layout: FileLayout) -> RecordedPoses:
    if "poses" not in fields:
        raise ValueError(f"field 'poses' is missing; there are: {', '.join(sorted(fields)) or 'none'}")
    raw = _numbers(fields["poses"], "poses")
    if len(np.atleast_1d(raw)) > MAX_POSES:
        raise ValueError(f"more than {MAX_POSES} poses")
    anchor = None if fields.get("anchor") is None else _numbers(fields["anchor"], "anchor")
    if layout == "poses":
        if raw.ndim != 3 or raw.shape[1:] != (4, 4) or not len(raw):
            raise ValueError(f"poses are {raw.shape}; give (n, 4, 4)")
        if anchor is not None and anchor.shape != (4, 4):
            raise ValueError(f"anchor is {anchor.shape}; give (4, 4)")
        poses = raw
    else:
        poses, anchor = poses_of(raw, layout)
    frames = None
    if fields.get("frames") is not None:
        frames = np.asarray(fields["frames"])
        if frames.shape != (len(poses),) or frames.dtype.kind not in "iu":
            raise ValueError(f"frames are {frames.shape} {frames.dtype}; give {len(poses)} whole numbers")
        frames = frames.astype(np.int64)
    metric = fields.get("metric")
    if metric is not None and np.asarray(metric).dtype.kind != "b":
        raise ValueError("metric is true or false")
    is_metric = anchor is None if metric is None else bool(metric)
    return RecordedPoses(poses, frames, anchor, is_metric, raw, bool(fields.get("of_longer")))


def _numbers(values: Any, what: str) -> FloatArray:
    found = np.asarray(values)
    if found.dtype.kind not in "iuf":
        raise ValueError(f"{what} are {found.dtype}; give numbers")
    return found.astype(np.float64)


def _read_npz(file: Path) -> dict[str, Any]:
    arrays = read_npz(file, MAX_BYTES, ("data", "inds", "poses", "frames", "anchor", "metric"))
    if {"data", "inds"} <= arrays.keys():  # as ViPE writes them
        return {"poses": arrays["data"], "frames": arrays["inds"], "of_longer": True}
    return {name: found for name, found in arrays.items() if name not in ("data", "inds")}


def _read_tum(file: Path, fps: float) -> RecordedPoses:
    lines = [line for line in read_text(file, MAX_BYTES).splitlines() if not line.lstrip().startswith("#")]
    rows = [line.split() for line in lines if line.strip()]
    if any(len(row) >= _IMAGE_FIELDS for row in rows):
        return _read_image_list(file)
    if len(rows) > MAX_POSES:
        raise ValueError(f"more than {MAX_POSES} poses")
    try:
        table: NDArray[np.float64] = np.array(rows, np.float64).reshape(-1, 8)
    except ValueError:
        table = np.zeros((0, 8))
    if not len(table) or len(table) != len(rows):
        raise ValueError("needs lines of eight numbers with blanks between them: seconds tx ty tz qx qy qz qw")
    seconds = table[:, 0]
    if not 0 < fps < np.inf:
        raise ValueError("seconds need a video with a frame rate")
    if not (np.abs(seconds) < _MAX_SECONDS).all():
        raise ValueError(f"times must be seconds below {_MAX_SECONDS:.0e}; divide nanoseconds by 1e9")
    if (np.diff(seconds) <= 0).any():
        at = int(np.argmax(np.diff(seconds) <= 0))
        raise ValueError(f"times must ascend; pose {at} is at {rows[at][0]}, the next at {rows[at + 1][0]}; sort them")
    times, poses = (seconds - seconds[0]) * fps, poses_of_quaternions(table[:, 1:])
    frames = np.rint(times).astype(np.int64)
    if (np.diff(frames) <= 0).any() or np.abs(times - frames).max() > _ON_FRAME:
        if times[-1] > MAX_POSES:
            raise ValueError(f"poses for more than {MAX_POSES} frames")
        frames = np.arange(int(times[-1] + _ON_FRAME) + 1)  # the poses are of another clock than the frames
        poses = between(poses, times, frames)
    return RecordedPoses(poses, frames, None, True, table[:, 1:], times=seconds * fps)


def _read_image_list(file: Path) -> RecordedPoses:
    """Of COLMAP; the first image is frame 0, and the numbers that names end with say how far the others are."""
    names, poses = read_images_txt(file)
    if len(poses) > MAX_POSES:
        raise ValueError(f"more than {MAX_POSES} poses")
    numbers = [re.search(r"(?<![0-9])([0-9]{1,9})[^0-9/]*$", _ENDING.sub("", name)) for name in names]
    if any(number is None for number in numbers) or any(map(_STAMP.search, names)):
        raise ValueError("names of images must end with the number of their frame, of at most nine digits")
    frames = np.array([int(number[1]) for number in numbers if number is not None], np.int64)
    if (np.diff(frames) <= 0).any():
        at = int(np.argmax(np.diff(frames) <= 0))
        raise ValueError(
            f"images '{names[at]}' and '{names[at + 1]}' do not end with ascending numbers; list the images of one "
            "camera, each named by the number of its frame"
        )
    return RecordedPoses(poses, frames - frames[0], None, True, poses, of_longer=True)
