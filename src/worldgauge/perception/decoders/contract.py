"""World decoders: from a video to the camera path it shows, in metres and on the ground."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.core.io import digest_of as digest_of_text
from worldgauge.core.registry import Registry, check_arguments
from worldgauge.core.video import Clip
from worldgauge.serving import is_served
from worldgauge_serve import settings_of

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
    """

    name: str
    version: int

    @property
    def settings(self) -> Mapping[str, Any]:
        """Every option in force, and everything else that decides the result (library versions, files).

        Plain JSON values. Cached paths and scores are looked up by it.
        """
        ...

    def decode(self, request: DecodeRequest) -> DecodedPath:
        """Find the camera path of a video. The same request gives the same path.

        Args:
            request: The video.

        Returns:
            The path. A video that cannot be decoded gives a status, never an exception.
        """
        ...


decoders: Registry[Callable[..., Decoder]] = Registry(
    "decoder", "worldgauge.perception.decoders", group="worldgauge.decoders", in_suites="decoders"
)
"""A separate registry from `estimators`: a suite takes any decoder by name, and nothing else."""


_SERVED = "served"


def open_decoder(text: str, **settings: Any) -> Decoder:
    """Open the decoder that a text names.

    Args:
        text: "sfm-global" or "sfm-global?frames=33" for a registered one, with settings as a query of JSON or text;
            "cmd:...", "pipe:..." or "http://..." for a server (`decoders.served`), whose command is consent to run it.
        **settings: Further settings; those in `text` take precedence.

    Raises:
        UnknownNameError: There is no such decoder; the message suggests the nearest.
        UsageError: Settings do not fit.
        SubjectError: The server cannot be reached.
    """
    name, given = _parsed(text)
    made = decoders.get(name)
    wanted = {**settings, **given}
    check_arguments(made, wanted, f"decoder '{name}'")
    decoder: Decoder = made(**wanted)
    return decoder


def settings_taken(text: str) -> tuple[str, ...]:
    """Names of the settings that the decoder `text` takes; it is not made. Raises as `open_decoder`."""
    return _taken_by(decoders.get(_parsed(text)[0]))


def digest_of(text: str) -> str | None:
    """SHA-256, hexadecimal, of what the decoder `text` is: its name, version and settings, versions of libraries too.

    None of a served one, which is not started to ask, and where what it stands on is not installed.
    Raises as `open_decoder`.
    """
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
    try:
        return name, settings_of(query)
    except ValueError as error:
        raise UsageError(f"decoder '{text}': {error}") from None


def _taken_by(made: Callable[..., Decoder]) -> tuple[str, ...]:
    return tuple(inspect.signature(made).parameters)
