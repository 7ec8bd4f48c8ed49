"""Colours from a user's own resource pack: the mean colour of each block's pictures. No picture is kept."""

from __future__ import annotations

import hashlib
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.worlds.blocks.colours import RGB, Look, look_of, shorter_names

FOLDER = "assets/minecraft/textures/block/"
MOST_FILES = 20_000
MOST_BYTES = 256 * 2**20
"""Of all pictures of blocks together, unpacked."""

MOST_PICTURE_BYTES = 8 * 2**20
MOST_PIXELS = 2**22

_NAME = re.compile(r"[a-z0-9_]{1,80}")
_GRASS, _FOLIAGE, _WATER = (145, 189, 89), (119, 171, 47), (63, 118, 228)
_TINTS = {
    "grass_block_top": _GRASS, "short_grass": _GRASS, "grass": _GRASS, "fern": _GRASS, "tall_grass_top": _GRASS,
    "large_fern_top": _GRASS, "sugar_cane": _GRASS, "vine": _FOLIAGE, "oak_leaves": _FOLIAGE, "lily_pad": (32, 128, 48),
    "jungle_leaves": _FOLIAGE, "acacia_leaves": _FOLIAGE, "dark_oak_leaves": _FOLIAGE, "mangrove_leaves": _FOLIAGE,
    "spruce_leaves": (97, 153, 97), "birch_leaves": (128, 167, 85), "water_still": _WATER,
}  # fmt: skip
"""What the game multiplies grey pictures by, on plains."""

_TOPS, _BOTTOMS = ("_top", "_end", ""), ("_bottom", "_top", "_end", "")
_SIDES = ("_side", "_front", "", "_still", "_side0", "_bottom")


@dataclass(frozen=True, eq=False)
class ResourcePack:
    """Mean colours by picture. `palette` identifies them in results, beside the renderer's name and version."""

    means: Mapping[str, RGB]
    palette: str

    @classmethod
    def open(cls, path: Path | str) -> ResourcePack:
        """Read a resource pack."""
        path = Path(path)
        means: dict[str, RGB] = {}
        digest = hashlib.sha256()
        for name, data in sorted(_pictures(path)):
            means[name] = _mean(data, f"{path}: {FOLDER}{name}.png", _TINTS.get(name))
            digest.update(name.encode() + hashlib.sha256(data).digest())
        if not means:
            raise DataError(f"{path}: no pictures in {FOLDER}; give the folder or zip that holds 'assets'")
        return cls(means, f"pack-{digest.hexdigest()[:16]}")

    def look_of(self, name: str) -> Look | None:
        """Colours of a block from its own pictures or those of its material. None when the pack has neither."""
        for base in (name, *shorter_names(name)):
            side = self._first(base, _SIDES)
            if side is not None:
                top, bottom = self._first(base, _TOPS) or side, self._first(base, _BOTTOMS) or side
                return Look(top, side, bottom, look_of(name).opacity)
        return None

    def _first(self, base: str, endings: tuple[str, ...]) -> RGB | None:
        return next((self.means[base + ending] for ending in endings if base + ending in self.means), None)


def _pictures(path: Path) -> Iterator[tuple[str, bytes]]:
    """Names without ending and bytes of all pictures of blocks, limits checked before anything is unpacked."""
    if path.is_dir():
        folder = path / FOLDER
        files = [file for file in folder.glob("*.png") if file.is_file() and not file.is_symlink()]
        _check_limits(path, [(file.name, file.stat().st_size) for file in files])
        yield from ((file.stem, file.read_bytes()) for file in files if _NAME.fullmatch(file.stem))
        return
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if info.filename.startswith(FOLDER)]
            infos = [info for info in infos if info.filename.endswith(".png")]
            _check_limits(path, [(info.filename, info.file_size) for info in infos])
            for info in infos:
                stem = info.filename.removeprefix(FOLDER).removesuffix(".png")
                if _NAME.fullmatch(stem):
                    with archive.open(info) as file:
                        # The size an archive states can be a lie; what is read cannot.
                        yield stem, file.read(info.file_size)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, OSError, EOFError, RuntimeError, zlib.error) as error:
        raise DataError(f"{path}: not a resource pack ({error}); give a folder or a zip file") from error


def _check_limits(path: Path, sizes: list[tuple[str, int]]) -> None:
    if len(sizes) > MOST_FILES:
        raise DataError(f"{path}: {len(sizes)} pictures of blocks pass the limit of {MOST_FILES}")
    largest = max(sizes, key=lambda item: item[1], default=("", 0))
    if largest[1] > MOST_PICTURE_BYTES:
        raise DataError(f"{path}: {largest[0]} of {largest[1]} bytes passes the limit of {MOST_PICTURE_BYTES}")
    if (total := sum(size for _, size in sizes)) > MOST_BYTES:
        raise DataError(f"{path}: {total} bytes of pictures pass the limit of {MOST_BYTES}")


def _mean(data: bytes, where: str, tint: RGB | None) -> RGB:
    """Mean colour of a PNG by its opacity; of an animated one, whose frames stand in a column, of the first frame."""
    import cv2

    if len(data) < 24 or not data.startswith(b"\x89PNG\r\n\x1a\n"):
        raise DataError(f"{where}: no PNG picture; take the file out of the pack or mend it")
    width, height = struct.unpack(">II", data[16:24])
    if width * height > MOST_PIXELS or not width * height:
        raise DataError(f"{where}: {width}x{height} pixels pass the limit of {MOST_PIXELS}")
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error:
        pixels = None
    if pixels is None:
        raise DataError(f"{where}: a PNG picture that cannot be decoded; take it out of the pack or mend it")
    shown = pixels[: pixels.shape[1]].astype(np.float64) / (65535 if pixels.dtype == np.uint16 else 255)
    shown = shown[..., None] if shown.ndim == 2 else shown
    colour = shown[..., 2::-1] if shown.shape[2] >= 3 else np.repeat(shown[..., :1], 3, 2)
    weight = shown[..., 3:] if shown.shape[2] == 4 else np.ones_like(colour[..., :1])
    mean = (colour * weight).sum((0, 1)) / max(float(weight.sum()), 1e-9)
    red, green, blue = (round(255 * float(value)) for value in mean * (np.array(tint or (255, 255, 255)) / 255))
    return red, green, blue
