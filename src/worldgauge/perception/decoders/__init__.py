"""World decoders: the camera path that a video shows, in metres and on the ground (Target-Bench, world decoder).

Each is registered in `decoders` under its name and has the method `decode(DecodeRequest) -> DecodedPath`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, MissingExtraError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.core.io import digest_of as digest_of_text
from worldgauge.core.registry import Registry, check_arguments
from worldgauge.core.video import Clip
from worldgauge.perception.cache import find, keep
from worldgauge.serving import is_served
from worldgauge_serve import settings_of, strict_json

Status = Literal["ok", "stationary", "partial", "no_scale", "failed"]
"""ok: the whole path. stationary: the camera does not move, all points are the origin, valid. partial: a prefix of it.
no_scale: a shape without a size, `xy` is None. failed: nothing, `xy` is None."""

N_POINTS = 9
"""Points of a decoded path (Target-Bench, all released decoders)."""


@dataclass(frozen=True)
class DecodeRequest:
    """A video to decode, and the real frame that fixes its scale.

    Attributes:
        video: Generated frames; the first follows the current frame.
        anchor: First real frame of the history, (H, W, 3) uint8; None when there is none.
        anchor_distance_m: Metres in the plane between the cameras of the anchor and of the current frame.
        anchor_xy: (2,) from the current camera to the anchor's, +x to the right, +y ahead; only its direction counts.
            None when unknown.
        hfov_deg: Horizontal field of view in degrees; None when unknown.
        max_speed_m_s: A faster path has a wrong scale and fails; None without a limit. Suites set it from their data.
        n_points: Points of the path.
        seed: Seed of all randomness.
        poses: (len(video), 4, 4) camera-to-world, world frame, when they are known without decoding (embedded worlds);
            only for the decoder `exact`.
        content: SHA-256 of the video file, for decoders that look up recorded paths; empty when unknown.
        name: Name of the video, such as "model/scenario"; empty when unknown.

    Examples:
        >>> from worldgauge.data import Clip
        >>> video = Clip.from_array(np.zeros((20, 6, 8, 3), np.uint8), fps=10)
        >>> DecodeRequest(video, anchor=None, anchor_distance_m=None).n_points
        9
    """

    video: Clip
    anchor: Image | None
    anchor_distance_m: float | None
    hfov_deg: float | None = None
    max_speed_m_s: float | None = None
    n_points: int = N_POINTS
    seed: int = 0
    poses: FloatArray | None = None
    content: str = ""
    name: str = ""
    anchor_xy: FloatArray | None = None


@dataclass(frozen=True)
class DecodedPath:
    """The camera path of a video.

    Attributes:
        status: See `Status`.
        decoder: Name of the decoder.
        reason: One line; empty when ok.
        xy: (n, 2) metres, origin and heading at the first generated frame, +y ahead, +x to the right; None without a
            path or scale.
        positions: (n, 3) in the camera frame of the first generated frame (x right, y down, z ahead), metres when there
            is a scale.
        rotations: (n, 3, 3) camera-to-world, in the same frame.
        frame_indices: (n,) frames of the video that the points belong to.
        registered: (m,) bool, which of the m frames that the decoder looked at have a pose.
        scale: Metres per unit of the decoder.
        anchor_estimated: Distance of the anchor in units of the decoder.
        anchor_real: Distance of the anchor in metres.
        focal_px: Focal length in pixels of the video's own size.
        diagnostics: Plain JSON values, such as "reprojection_px", "points_per_frame", "decoder_used", "attempts",
            "disagreement".

    Examples:
        >>> path = DecodedPath("ok", "mine", xy=np.array([[0.0, 0.0], [0.0, 1.5]]))
        >>> path.xy[-1].tolist()  # 1.5 m ahead
        [0.0, 1.5]
    """

    status: Status
    decoder: str
    reason: str = ""
    xy: FloatArray | None = None
    positions: FloatArray | None = None
    rotations: FloatArray | None = None
    frame_indices: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    registered: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    scale: float | None = None
    anchor_estimated: float | None = None
    anchor_real: float | None = None
    focal_px: float | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)


class Decoder(Protocol):
    """A method to find the camera path. It is made with its settings, all with defaults, and registered in `decoders`.

    Making a decoder is cheap, because it is also made to read its settings. Anything heavy is loaded by the first
    `decode`.

    Attributes:
        name: Name in tables.
        version: Raised whenever the same video may get another path.

    Examples:
        >>> from worldgauge.data import Clip
        >>> from worldgauge.world import pose_from_yaw_pitch
        >>> video = Clip.from_array(np.zeros((3, 6, 8, 3), np.uint8), fps=10)
        >>> poses = pose_from_yaw_pitch([[0, 0, 1.6], [1, 0, 1.6], [2, 0, 1.6]], yaw=np.zeros(3))
        >>> decoder: Decoder = open_decoder("exact")
        >>> path = decoder.decode(DecodeRequest(video, anchor=None, anchor_distance_m=None, poses=poses))
        >>> path.status, round(float(path.xy[-1, 1]), 3)  # metres ahead
        ('ok', 2.0)
    """

    name: str
    version: int

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that decides the result: options, library versions, files; plain JSON values, part of cache keys."""
        ...

    def decode(self, request: DecodeRequest) -> DecodedPath:
        """Find the camera path of a video. The same request gives the same path.

        A video that cannot be decoded gives a status, never an exception.
        """
        ...


decoders: Registry[Callable[..., Decoder]] = Registry(
    "decoder", "worldgauge.perception.decoders", group="worldgauge.decoders", in_suites="decoders"
)
"""A separate registry from `estimators`: a suite takes any decoder by name, and nothing else."""


_SERVED = "served"
_ADAPTERS = {"spatracker": "SpaTracker", "vggt": "Vggt", "vipe": "Vipe"}
"""Classes of decoders in the folder `adapters`, which cannot run in this environment."""


def open_decoder(text: str, **settings: Any) -> Decoder:
    """Open the decoder that a text names.

    Args:
        text: "sfm-global" or "sfm-global?frames=33" for a registered one, with settings as a query of JSON or text;
            "cmd:...", "pipe:..." or "http://..." for a server (`decoders.served`), whose command is consent to run it.
        **settings: Further settings; those in `text` take precedence.

    Raises:
        UnknownNameError: There is no such decoder; the message suggests the nearest.
        UsageError: Settings do not fit.
        ModelError: The server cannot be reached.

    Examples:
        >>> open_decoder("klt-vo?key_frames=17").settings["key_frames"]
        17
        >>> open_decoder("exakt")
        Traceback (most recent call last):
        ...
        worldgauge.core.errors.UnknownNameError: no decoder 'exakt'. Did you mean 'exact'? Known: ...
    """
    name, given = _parsed(text)
    made = decoders.get(name)
    wanted = {**settings, **given}
    check_arguments(made, wanted, f"decoder '{name}'")
    decoder: Decoder = made(**wanted)
    return decoder


def settings_taken(text: str) -> tuple[str, ...]:
    """Names of the settings that the decoder `text` takes; it is not made. Raises as `open_decoder`."""
    return tuple(inspect.signature(decoders.get(_parsed(text)[0])).parameters)


def digest_of(text: str) -> str | None:
    """SHA-256, hexadecimal, of a decoder's name, version and settings, with versions of libraries.
    None for a served decoder, which is not started for that, and if a dependency is not installed."""
    if _parsed(text)[0] == _SERVED:
        return None
    with suppress(MissingExtraError):
        decoder = open_decoder(text)
        identity = [decoder.name, decoder.version, dict(decoder.settings)]
        return digest_of_text(json.dumps(identity, sort_keys=True))
    return None


def _parsed(text: str) -> tuple[str, dict[str, Any]]:
    """Registered name and settings; what a server is given behind its address is its own affair."""
    if is_served(text):
        return _SERVED, {"at": text}
    name, _, query = text.partition("?")
    if name in _ADAPTERS:
        raise UsageError(
            f"decoder '{name}' runs in its own environment; give its address, such as "
            f'"cmd:conda run -n {name} python -m worldgauge_serve {name}.py:{_ADAPTERS[name]}" '
            "(docs/howto/models/camera_decoders.md)"
        )
    try:
        return name, settings_of(query)
    except ValueError as error:
        raise UsageError(f"decoder '{text}': {error}") from None


FORMAT = "worldgauge-path"
FORMAT_VERSION = 1

_FLOATS = {"xy": (2,), "positions": (3,), "rotations": (3, 3)}
_NUMBERS = ("scale", "anchor_estimated", "anchor_real", "focal_px")


def decode_cached(decoder: Decoder, request: DecodeRequest, content: str) -> DecodedPath:
    """Decode `request`, or take the path from the cache; decoders with `cacheable` False are always run.
    A path whose diagnostics say "error", or are no JSON, is not cached."""
    if not content or not getattr(decoder, "cacheable", True):
        return decoder.decode(request)
    identity = {"decoder": decoder.name, "version": decoder.version, "format": [FORMAT, FORMAT_VERSION]}
    key = key_of(decoder, request, content)
    known = _path_of_arrays(find(identity, key))
    if known is not None:
        return known
    path = decoder.decode(request)
    if "error" not in path.diagnostics:  # of the decoder, such as a GPU out of memory: it may work tomorrow
        with suppress(ValueError, TypeError):  # diagnostics that are no JSON: the path is as good without
            text = json.dumps(as_json(path), sort_keys=True, allow_nan=False)
            keep(identity, key, {"path": np.frombuffer(text.encode(), np.uint8)})
    return path


def key_of(decoder: Decoder, request: DecodeRequest, content: str) -> str:
    """Digest everything that decides a path."""
    anchor = request.anchor
    facts = {
        "content": content,
        "video": [len(request.video), request.video.width, request.video.height, repr(float(request.video.fps))],
        "anchor": None if anchor is None else [list(anchor.shape), digest_of_text(anchor.tobytes())],
        "anchor_distance_m": repr(request.anchor_distance_m),
        "anchor_xy": None if request.anchor_xy is None else [repr(float(value)) for value in request.anchor_xy],
        "hfov_deg": repr(request.hfov_deg),
        "max_speed_m_s": repr(request.max_speed_m_s),
        "n_points": request.n_points,
        "seed": request.seed,
        "decoder": [decoder.name, decoder.version, dict(decoder.settings)],
        "libraries": {name: version(name) for name in ("numpy", "opencv-python-headless")},
        "format": FORMAT_VERSION,
    }
    return digest_of_text(json.dumps(facts, sort_keys=True))


def as_json(path: DecodedPath) -> dict[str, Any]:
    """`path` as plain JSON values; numbers keep every bit."""
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "status": path.status,
        "decoder": path.decoder,
        "reason": path.reason,
        **{name: None if getattr(path, name) is None else getattr(path, name).tolist() for name in _FLOATS},
        "frame_indices": path.frame_indices.tolist(),
        "registered": path.registered.tolist(),
        **{name: None if (value := getattr(path, name)) is None else float(value) for name in _NUMBERS},
        "diagnostics": dict(path.diagnostics),
    }


def path_of_json(content: Any, where: str = "decoded path") -> DecodedPath:
    """Parse what `as_json` gave."""
    if not isinstance(content, dict) or content.get("format") != FORMAT or content.get("version") != FORMAT_VERSION:
        raise DataError(f"{where}: no {FORMAT} of version {FORMAT_VERSION}; decode the video again")
    if content.get("status") not in get_args(Status):
        raise DataError(f"{where}: status is {content.get('status')!r}; one of {', '.join(get_args(Status))}")
    for name, kind in (("decoder", str), ("reason", str), ("diagnostics", dict)):
        if not isinstance(content.get(name), kind):
            raise DataError(f"{where}: field '{name}' is missing or of another type")
    frames = _array(content, "frame_indices", (), where, np.int64)
    arrays = {name: _array(content, name, shape, where, np.float64) for name, shape in _FLOATS.items()}
    for name, array in arrays.items():
        if array is not None and len(array) != len(frames):
            raise DataError(f"{where}: {len(array)} rows of '{name}' for {len(frames)} frames")
    for name in _NUMBERS:
        value = content.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise DataError(f"{where}: field '{name}' is no number")
    return DecodedPath(
        content["status"],
        content["decoder"],
        content["reason"],
        **arrays,
        frame_indices=frames,
        registered=_array(content, "registered", (), where, np.bool_),
        **{name: content.get(name) for name in _NUMBERS},
        diagnostics=content["diagnostics"],
    )


def _array(content: Mapping[str, Any], name: str, shape: tuple[int, ...], where: str, dtype: Any) -> Any:
    value = content.get(name)
    if value is None and name in _FLOATS:
        return None
    if not isinstance(value, list):
        raise DataError(f"{where}: field '{name}' is missing or no list")
    try:
        array = np.array(value) if value else np.zeros((0, *shape))
    except ValueError:
        array = np.zeros(0, object)
    kinds = {np.int64: "i", np.bool_: "b"}.get(dtype, "fi")
    if array.shape[1:] != shape or array.ndim != 1 + len(shape) or (value and array.dtype.kind not in kinds):
        raise DataError(f"{where}: field '{name}' is not of shape (n{''.join(f', {side}' for side in shape)})")
    return array.astype(dtype)


def _path_of_arrays(kept: Mapping[str, NDArray[Any]] | None) -> DecodedPath | None:
    """The path of an answer of the cache; None where there is none, or it is no path."""
    if kept is None or "path" not in kept:
        return None
    try:
        return path_of_json(strict_json(kept["path"].tobytes().decode()))
    except (ValueError, RecursionError, DataError):
        return None
