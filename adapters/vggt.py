"""VGGT (github.com/facebookresearch/vggt), a decoder of camera paths, driven from that repository's own environment.

    worldgauge score targetbench --data D --videos V
        --set "decoder=cmd:conda run -n vggt python -m worldgauge_serve vggt.py:Vggt?weights=/w/VGGT-1B/model.pt"

Needs numpy and `worldgauge_serve` next to it, never worldgauge itself. VGGT has a licence of its own, and so have its
weights; read both and install it yourself. Frames are prepared as its loader does in its mode "crop".
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import EstimatorSpec, digest

WIDTH = 518
"""Of every picture, and its greatest height."""
PATCH = 14


class Vggt:
    """VGGT: cameras of all frames in one pass of a transformer. `weights`: model.pt, a hub folder, or a hub name.
    `root`: clone of the repository, if it is not installed."""

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self, weights: str = "facebook/VGGT-1B", root: str = "", device: str = "cuda", backend: Any = None
    ) -> None:
        self._backend = backend if backend is not None else _Upstream(root, weights, device)
        self.spec = EstimatorSpec("vggt", layout="vggt", settings=dict(self._backend.identity))

    def estimate(
        self, arrays: Mapping[str, NDArray[Any]], options: Mapping[str, Any]
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """World-to-camera "poses" (n + 1, 3, 4), the anchor's last; "focal_px" in pixels of the frames, and the seen
        size."""
        frames = arrays["frames"]
        images = prepared([*frames, arrays["anchor"]])
        poses, focal = self._backend.cameras(images)
        seen = float(np.median(focal[:-1]))
        facts = {"focal_px": seen * frames.shape[2] / WIDTH, "width": images.shape[3], "height": images.shape[2]}
        return {"poses": poses}, facts


def prepared(frames: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Images (n, 3, H, 518) float32 in 0..1 of frames (h, w, 3) uint8: bicubic, 518 wide, heights multiples of 14. Rows
    above 518 are cut evenly; white pads lower images above and below."""
    images = [_cut(_resized(frame)) for frame in frames]
    height = max(len(image) for image in images)
    filled = np.ones((len(images), height, WIDTH, 3), np.float32)
    for i, image in enumerate(images):
        top = (height - len(image)) // 2
        filled[i, top : top + len(image)] = image.astype(np.float32) / np.float32(255)
    return np.ascontiguousarray(filled.transpose(0, 3, 1, 2))


def height_of(width: int, height: int) -> int:
    """Rows of a frame resized to a width of 518, a multiple of the patch; ValueError below one patch."""
    rows = round(height * (WIDTH / width) / PATCH) * PATCH
    if rows == 0:
        raise ValueError(f"vggt: a frame of {width}x{height} is too flat")
    return rows


def _resized(frame: NDArray[Any]) -> NDArray[Any]:
    image = importlib.import_module("PIL.Image")  # of the repository's own requirements; its 8-bit rounding counts
    size = WIDTH, height_of(frame.shape[1], frame.shape[0])
    return np.asarray(image.fromarray(frame).resize(size, image.BICUBIC))


def _cut(frame: NDArray[Any]) -> NDArray[Any]:
    top = max(0, (len(frame) - WIDTH) // 2)
    return frame[top : top + WIDTH]


class _Upstream:
    """The network of the repository, numpy in and out."""

    def __init__(self, root: str, weights: str, device: str) -> None:
        self.identity = {"weights": _identity(weights)}
        self._torch = torch = _need("torch", root)
        self._device = torch.device(device)
        network: Any = _need("vggt.models.vggt", root).VGGT
        if os.path.isfile(weights):
            self._network = network()
            self._network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
        else:
            self._network = network.from_pretrained(weights)
        self._network = self._network.to(self._device).eval()
        self._to_cameras = _need("vggt.utils.pose_enc", root).pose_encoding_to_extri_intri

    def cameras(self, images: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """World-to-camera (n, 3, 4), and focal lengths (n,) in pixels of `images` (n, 3, H, W) in 0..1."""
        torch, kind = self._torch, self._device.type
        with torch.no_grad():
            given = torch.from_numpy(images).to(self._device)[None]
            with torch.autocast(kind, dtype=self._half(), enabled=kind == "cuda"):
                tokens, _ = self._network.aggregator(given)
            encoded = self._network.camera_head(tokens)[-1]
            extrinsic, intrinsic = self._to_cameras(encoded, given.shape[-2:])
        return extrinsic[0].float().cpu().numpy(), intrinsic[0, :, 0, 0].float().cpu().numpy()

    def _half(self) -> Any:
        torch = self._torch
        new = self._device.type != "cuda" or torch.cuda.get_device_capability(self._device)[0] >= 8
        return torch.bfloat16 if new else torch.float16


def _need(name: str, root: str) -> Any:
    """Module `name` of the repository, not this file, which is called like its package."""
    here, path = os.path.dirname(os.path.abspath(__file__)), list(sys.path)
    first = [os.path.abspath(root)] if root else []
    sys.path[:] = first + [folder for folder in path if os.path.abspath(folder or ".") != here]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"vggt cannot import '{name}' ({error}); install github.com/facebookresearch/vggt here, or clone it and "
            "give root=CLONE, and keep this file in a folder of its own"
        ) from error
    finally:
        sys.path[:] = path + first


def _identity(weights: str) -> str:
    """A digest of a file, or of the files of a folder; the name of what is on the hub."""
    if os.path.exists(weights):
        return digest(weights)
    if os.path.isabs(weights) or weights.startswith(".") or weights.endswith(".pt"):
        raise FileNotFoundError(
            f"vggt has no weights at '{weights}'; get model.pt at huggingface.co/facebook/VGGT-1B and give weights=FILE"
        )
    return weights
