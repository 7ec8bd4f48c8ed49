"""Decoded paths as JSON, and kept from one run to the next: decoding takes seconds, scoring does not.

They lie in the cache of all perception (`worldgauge.perception.cache`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.io import digest_of
from worldgauge.perception.cache import find, keep
from worldgauge.perception.decoders.contract import DecodedPath, Decoder, DecodeRequest, Status
from worldgauge_serve import strict_json

FORMAT = "worldgauge-path"
FORMAT_VERSION = 1

_FLOATS = {"xy": (2,), "positions": (3,), "rotations": (3, 3)}
_NUMBERS = ("scale", "anchor_estimated", "anchor_real", "focal_px")


def decode_cached(decoder: Decoder, request: DecodeRequest, content: str) -> DecodedPath:
    """What `decoder` makes of `request`, from the cache where it has been made before.

    A path whose diagnostics say "error" is not kept, nor one whose diagnostics are no JSON. Decoders whose attribute
    `cacheable` is False are always asked.
    """
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
        "anchor": None if anchor is None else [list(anchor.shape), digest_of(anchor.tobytes())],
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
    return digest_of(json.dumps(facts, sort_keys=True))


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
        **{name: _number(getattr(path, name)) for name in _NUMBERS},
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


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _path_of_arrays(kept: Mapping[str, NDArray[Any]] | None) -> DecodedPath | None:
    """The path of an answer of the cache; None where there is none, or it is no path."""
    if kept is None or "path" not in kept:
        return None
    try:
        return path_of_json(strict_json(kept["path"].tobytes().decode()))
    except (ValueError, RecursionError, DataError):
        return None
