"""Clips in the planes of a codec, encoded once: on disk beside the frames, or in memory where those are drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from worldgauge.core.errors import DataError
from worldgauge.core.io import atomic_file, digest_of
from worldgauge_train.nets.codecs import Codec
from worldgauge_train.nets.codecs.pixels import Pixels
from worldgauge_train.training.cache import CachedClip
from worldgauge_train.training.disk import one_writer
from worldgauge_train.training.windows import Look, as_pixels

MOST_MAPPED = 16_384
"""Files of planes that are mapped at once: Linux allows a process 65,530 maps, and decoded frames need some, too."""
_AT_ONCE = 64
"""Frames that are encoded at once."""


def look_through(codec: Codec, clips: Collection[CachedClip], folder: Path | None, device: str) -> Look:
    """How windows look at clips for a network that sees the planes of a codec.

    Args:
        codec: The codec, as it stays.
        clips: Clips that are there throughout; others are drawn while training.
        folder: Where the frames of those lie. None where they lie in memory.
        device: Where clips are encoded.
    """
    if isinstance(codec, Pixels):
        return as_pixels
    return Planes(codec, {clip.id for clip in clips}, folder, device)


class Planes:
    """Encodes clips when they are first needed, as they are and in the mirror, of which a codec makes other planes.

    Args:
        codec: The codec.
        stored: Ids of clips whose planes are kept on disk, as float16, if there is a folder.
        folder: Where to; they lie in a folder named by the codec and by what makes them, see `_maker`.
        device: Where clips are encoded.
    """

    def __init__(self, codec: Codec, stored: Collection[str], folder: Path | None, device: str) -> None:
        self._codec, self._stored, self._device = codec, stored, device
        self._folder = None if folder is None else folder / f"planes-{digest_of_codec(codec)[:32]}-{_maker(device)}"
        self._held: dict[tuple[str, bool], NDArray[Any]] = {}
        self._mapped: dict[tuple[str, bool], NDArray[Any]] = {}

    def __call__(self, clip: CachedClip, turned: bool) -> NDArray[Any]:
        """Planes (T, P, h, w) of a clip as float16; see `windows.Look`."""
        key = (clip.id, turned)
        if self._folder is None or clip.id not in self._stored:
            if key not in self._held:
                self._held[key] = self._encoded(clip, turned)
            return self._held[key]
        if key not in self._mapped:
            if len(self._mapped) >= MOST_MAPPED:
                del self._mapped[next(iter(self._mapped))]
            self._mapped[key] = self._read(clip, turned, self._folder)
        return self._mapped[key]

    def lacking(self, clips: Iterable[CachedClip], mirrors: bool) -> int:
        """Bytes of planes that are not on disk yet and will be.

        Args:
            clips: The clips.
            mirrors: Whether mirrored ones are needed, too.
        """
        if self._folder is None:
            return 0
        ways = (False, True) if mirrors else (False,)
        return sum(
            bytes_of(self._codec, [clip])
            for clip in clips
            for turned in ways
            if clip.id in self._stored and not _file_of(self._folder, clip, turned).exists()
        )

    def keep(self, clips: Iterable[CachedClip]) -> None:
        """Forget all other clips of which planes lie in memory.

        Args:
            clips: Clips that are there.
        """
        ids = {clip.id for clip in clips}
        self._held = {key: planes for key, planes in self._held.items() if key[0] in ids}

    def _read(self, clip: CachedClip, turned: bool, folder: Path) -> NDArray[Any]:
        path = _file_of(folder, clip, turned)
        if not path.exists():
            with one_writer(folder):
                if not path.exists():
                    with atomic_file(path) as file:
                        np.save(file, self._encoded(clip, turned), allow_pickle=False)
        try:
            planes: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (EOFError, OSError, ValueError) as error:
            raise DataError(f"{path}: {error}; delete it, and it is made again") from None
        if planes.dtype != np.float16 or planes.ndim != 4 or len(planes) != len(clip):
            raise DataError(
                f"{path}: {planes.dtype} {planes.shape} is not what it was; delete it, and it is made again"
            )
        return planes

    def _encoded(self, clip: CachedClip, turned: bool) -> NDArray[Any]:
        frames, parts = as_pixels(clip, turned), []
        with torch.no_grad():
            for first in range(0, len(frames), _AT_ONCE):
                seen = pixels_of(frames[first : first + _AT_ONCE], self._device)
                parts.append(self._codec.encode(seen).half().cpu().numpy())
        return np.concatenate(parts)


def bytes_of(codec: Codec, clips: Iterable[CachedClip]) -> int:
    """Bytes of the planes of clips, as they are.

    Args:
        codec: The codec.
        clips: The clips.
    """
    return sum(2 * codec.planes * one.frames[..., 0].size // codec.shrink**2 for one in clips)


def _file_of(folder: Path, clip: CachedClip, turned: bool) -> Path:
    return folder / f"{digest_of(clip.id)[:32]}{'-mirrored' if turned else ''}.npy"


def pixels_of(frames: NDArray[np.uint8], device: str) -> Tensor:
    """Frames (..., H, W, 3) as (..., 3, H, W), -1 to 1.

    Args:
        frames: The frames.
        device: Where to.
    """
    return torch.from_numpy(np.ascontiguousarray(frames)).to(device).movedim(-1, -3).float() / 127.5 - 1


def _maker(device: str) -> str:
    """What tells planes apart that are not the same bytes: the kind of device, and on others than CPUs the order."""
    kind = torch.device(device).type
    in_order = kind != "cpu" and torch.are_deterministic_algorithms_enabled()
    return f"{kind}-deterministic" if in_order else kind


def digest_of_codec(codec: Codec) -> str:
    """SHA-256 over what a codec tells of itself and all its weights."""
    whole = hashlib.sha256(f"{type(codec).__name__}\0{sorted(codec.told.items())}".encode())
    for name, value in sorted(codec.state_dict().items()):
        whole.update(f"{name}\0{tuple(value.shape)}\0{value.dtype}\0".encode())
        whole.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()
