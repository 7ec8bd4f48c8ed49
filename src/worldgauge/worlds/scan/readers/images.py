"""Textures of scans: JPEG, PNG and WebP by OpenCV, KTX2 and Basis by `opengl-basisu` (extra `scan`)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, MissingExtraError, UsageError
from worldgauge.core.image import check_parts, picture_size
from worldgauge.worlds.scan.readers._document import Damaged

MOST_PX = 16384
"""Side of a texture that is read."""
_WHOLE_PX = 8192
"""Side of a texture that is decoded as it is; JPEGs beyond are reduced while they are decoded."""

Texels = NDArray[np.uint8]


def cap_px() -> int:
    """Side to which textures are reduced: WORLDGAUGE_SCAN_TEXTURE_PX, by default 4096.

    Raises:
        UsageError: It is no whole number from 16 to 16384.
    """
    text = os.environ.get("WORLDGAUGE_SCAN_TEXTURE_PX", "4096")
    if not text.isdecimal() or not 16 <= int(text) <= MOST_PX:
        raise UsageError(f"WORLDGAUGE_SCAN_TEXTURE_PX is '{text[:20]}'; give a whole number from 16 to {MOST_PX}")
    return int(text)


def decode_texture(data: bytes, where: str) -> Texels:
    """Decode a texture of any known kind.

    Args:
        data: The bytes of its file.
        where: The picture, for messages.

    Returns:
        (H, W, 4) uint8 RGBA, reduced by whole factors to at most `cap_px()` a side.

    Raises:
        Damaged: It is broken, too large, or of an unknown kind.
        MissingExtraError: It needs a package that is not installed.
    """
    if data[:12] == b"\xabKTX 20\xbb\r\n\x1a\n" or data[:2] == b"sB":
        return _reduced(_basis(data, where))
    try:
        width, height = picture_size(data, where)
        check_parts(data, where)
    except DataError as error:
        raise Damaged(str(error)) from error
    if not min(width, height) > 0 or max(width, height) > MOST_PX:
        raise Damaged(f"{where}: {width}x{height} pixels are none, or pass the limit of {MOST_PX} a side")
    return _reduced(_by_opencv(data, where, max(width, height)))


def checks() -> Texels:
    """What stands in for a texture that cannot be read: magenta and grey squares."""
    board = np.indices((64, 64)).sum(0) // 8 % 2 == 0
    texels = np.full((64, 64, 4), 255, np.uint8)
    texels[..., :3] = np.where(board[..., None], np.array([255, 0, 255]), np.array([128, 128, 128]))
    return texels


def _by_opencv(data: bytes, where: str, longest: int) -> Texels:
    import cv2

    flag = cv2.IMREAD_UNCHANGED
    if data[:2] == b"\xff\xd8":
        flag = cv2.IMREAD_COLOR
        for factor, reduced in ((2, cv2.IMREAD_REDUCED_COLOR_2), (4, cv2.IMREAD_REDUCED_COLOR_4)):
            if longest > _WHOLE_PX * factor // 2:
                flag = reduced
    elif longest > _WHOLE_PX:
        raise Damaged(f"{where}: {longest} pixels a side pass the limit of {_WHOLE_PX} for PNG and WebP")
    try:
        decoded = cv2.imdecode(np.frombuffer(data, np.uint8), flag)
    except cv2.error:
        decoded = None
    if decoded is None:
        raise Damaged(f"{where}: the picture is damaged")
    picture: NDArray[Any] = np.asarray(decoded)
    if picture.dtype == np.uint16:
        picture = (picture >> 8).astype(np.uint8)
    if picture.ndim == 2:
        picture = np.repeat(picture[..., None], 3, -1)
    texels = np.full((*picture.shape[:2], 4), 255, np.uint8)
    texels[..., :3] = picture[..., 2::-1] if picture.shape[2] >= 3 else picture[..., :1]
    if picture.shape[2] in (2, 4):
        texels[..., 3] = picture[..., -1]
    return texels


def _basis(data: bytes, where: str) -> Texels:
    try:
        import opengl_basisu
    except ImportError as error:
        raise MissingExtraError(f"{where} is a Basis texture, and", "scan") from error
    try:
        texture = opengl_basisu.open(data)
        if max(texture.width, texture.height) > _WHOLE_PX:
            raise Damaged(f"{where}: {texture.width}x{texture.height} pixels pass the limit of {_WHOLE_PX} a side")
        texels = np.asarray(texture.transcode("rgba8").data, np.uint8)
    except (opengl_basisu.BasisuError, opengl_basisu.UnsupportedError, ValueError, MemoryError) as error:
        raise Damaged(f"{where}: the Basis texture is damaged ({' '.join(str(error).split())[:80]})") from error
    # Encoders may store the lowest row first and say so.
    return np.ascontiguousarray(texels[::-1] if texture.y_flipped else texels)


def _reduced(texels: Texels) -> Texels:
    """Texels averaged by whole factors, until no side passes the cap."""
    import cv2

    longest, cap = max(texels.shape[:2]), cap_px()
    if longest <= cap:
        return texels
    factor = -(-longest // cap)
    size = max(texels.shape[1] // factor, 1), max(texels.shape[0] // factor, 1)
    return np.asarray(cv2.resize(texels, size, interpolation=cv2.INTER_AREA), np.uint8)
