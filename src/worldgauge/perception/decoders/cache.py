"""Decoded paths as JSON, and kept from one run to the next: decoding takes seconds, scoring does not.

One file a path in the user's cache folder; the environment variable WORLDGAUGE_CACHE names another folder, or "off".
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.perception.decoders.contract import DecodedPath, Decoder, DecodeRequest, Status
from worldgauge_serve import strict_json

FORMAT = "worldgauge-path"
FORMAT_VERSION = 1
MAX_BYTES = 16 * 2**20

_FLOATS = {"xy": (2,), "positions": (3,), "rotations": (3, 3)}
_NUMBERS = ("scale", "anchor_estimated", "anchor_real", "focal_px")


def decode_cached(decoder: Decoder, request: DecodeRequest, content: str) -> DecodedPath:
    """What `decoder` makes of `request`, from the cache where it has been made before.

    content: what the frames are, such as the SHA-256 of the video file; nothing is cached where it is empty. Whoever
    decodes a part of a file, or a view of it with other colours, says so in `content`.
    A path that says in its diagnostics "error" is not kept. An entry that is damaged is made anew; a cache that cannot
    be written is done without. Decoders whose attribute `cacheable` is False are always asked.
    """
    folder = cache_folder()
    if folder is None or not content or not getattr(decoder, "cacheable", True):
        return decoder.decode(request)
    key = key_of(decoder, request, content)
    entry = folder / key[:2] / f"{key}.json"
    known = _read(entry, key)
    if known is not None:
        return known
    path = decoder.decode(request)
    if "error" in path.diagnostics:
        return path  # of the decoder, such as a GPU out of memory: it may work tomorrow
    # A full disk, or diagnostics that are no JSON: the path is as good without.
    with suppress(OSError, ValueError, TypeError):
        _write(entry, json.dumps({**as_json(path), "key": key}, sort_keys=True, allow_nan=False))
    return path


def key_of(decoder: Decoder, request: DecodeRequest, content: str) -> str:
    """SHA-256, hexadecimal, of all that decides a path."""
    anchor = request.anchor
    facts = {
        "content": content,
        "video": [len(request.video), request.video.width, request.video.height, repr(float(request.video.fps))],
        "anchor": None if anchor is None else [list(anchor.shape), hashlib.sha256(anchor.tobytes()).hexdigest()],
        "anchor_distance_m": repr(request.anchor_distance_m),
        "hfov_deg": repr(request.hfov_deg),
        "n_points": request.n_points,
        "seed": request.seed,
        "decoder": [decoder.name, decoder.version, dict(decoder.settings)],
        "libraries": {name: version(name) for name in ("numpy", "opencv-python-headless")},
        "format": FORMAT_VERSION,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def cache_folder() -> Path | None:
    """Where decoded paths are kept; None when WORLDGAUGE_CACHE is "off"."""
    from platformdirs import user_cache_dir

    given = os.environ.get("WORLDGAUGE_CACHE", "")
    if given.lower() == "off":
        return None
    return Path(given or user_cache_dir("worldgauge")) / "decoded"


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
    """The path that `as_json` gave. Raises DataError naming the field, and `where` it was read, when it is none."""
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


def _read(entry: Path, key: str) -> DecodedPath | None:
    try:
        if entry.stat().st_size > MAX_BYTES:
            return None
        content = strict_json(entry.read_text(encoding="utf-8"))
        return path_of_json(content) if content.get("key") == key else None
    except (OSError, ValueError, RecursionError, AttributeError, DataError):
        return None


def _write(entry: Path, text: str) -> None:
    """In one step; two that decode the same video at once write the same."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    part = entry.with_name(f".{entry.name}.{uuid.uuid4().hex}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, entry)
    finally:
        part.unlink(missing_ok=True)
