"""Depth in metres from one picture: Depth Anything, the variants that were trained on metres."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.perception.networks import ComputeDevice, networks, torch_for
from worldgauge.perception.networks._pretrained import CONFIG, IMAGENET, framewise, load_pretrained

SHORTER_PX, PATCH_PX = 518, 14
MAX_ASPECT = 4.0
"""Longer side by shorter: its work grows with the square of that, and it has seen no such picture."""
_MEAN, _DEVIATION = (np.array(of, np.float32) for of in IMAGENET)


@networks.register("depth-anything", what="depth")
class DepthAnything:
    """Depth Anything with a metric head: up to 20 m indoors or 80 m outdoors, as its weights were trained.

    Source: Yang et al. 2024, "Depth Anything V2", metric depth; frames are prepared as its authors' own program does.

    Args:
        folder: Folder with config.json and model.safetensors as published for transformers
            (Depth-Anything-V2-Metric-*-hf).
        device: Device and precision.

    Raises:
        DataError: Files of another network, or of one that gives relative depth.

    Examples:
        >>> networks.get("depth-anything") is DepthAnything, networks.entry("depth-anything").facts["what"]
        (True, 'depth')
    """

    name = "depth-anything"
    version = 1

    def __init__(self, folder: Path, device: ComputeDevice) -> None:
        self._model = load_pretrained("DepthAnythingForDepthEstimation", folder, device, what=f"'{self.name}'")
        self._device = device
        config = self._model.config
        if config.depth_estimation_type != "metric":
            raise DataError(
                f"{folder / CONFIG}: gives {config.depth_estimation_type} depth, which has no unit; "
                "take the files of a metric one, Depth-Anything-V2-Metric-Outdoor-Small-hf or a sibling"
            )
        backbone = config.backbone_config
        for field, found, value in (
            ("patch_size", config.patch_size, PATCH_PX),
            ("backbone", backbone.model_type, "dinov2"),
            ("backbone's patch_size", backbone.patch_size, PATCH_PX),
        ):
            if found != value:
                raise DataError(
                    f"{folder / CONFIG}: not '{self.name}', whose {field} is {value}: this one's is {found}"
                )
        if not 0 < config.max_depth < np.inf:
            raise DataError(f"{folder / CONFIG}: max_depth is {config.max_depth}; metres above 0 are needed")
        self.farthest_m = float(config.max_depth)

    def answer(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Compute depth (n, H, W) float32, metres along the optical axis, above 0, of frames (n, H, W, 3) uint8 RGB.

        Frames are computed one at a time, so the depth of a frame does not depend on the others.

        Raises:
            ShapeError: Other frames, or more elongated ones than `MAX_ASPECT`.
        """
        frames = arrays["frames"]
        if frames.ndim != 4 or frames.shape[3] != 3 or frames.dtype != np.uint8 or 0 in frames.shape[1:]:
            raise ShapeError(f"expected frames (n, H, W, 3) uint8, got {frames.shape} {frames.dtype}")
        sides = frames.shape[1:3]
        depth = np.empty(frames.shape[:3], np.float32)
        for frame, out in zip(frames, depth, strict=True):
            shown = prepared(frame)[None]
            out[:] = framewise(shown, self._device, lambda pixels: self._depth(pixels, sides), sides=sides, at_once=1)
        return {"depth": depth}

    def _depth(self, pixels: Any, sides: tuple[int, ...]) -> Any:
        """(1, H, W) in float32: brought to the frame's size from corner to corner, as the network's own layers are."""
        found = self._model(pixel_values=pixels.to(self._device.dtype)).predicted_depth.float()
        resized = torch_for(self.name).nn.functional.interpolate
        return resized(found[:, None], size=sides, mode="bilinear", align_corners=True)[:, 0]


def prepared(frame: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The network's input (h, w, 3) float32 for a frame (H, W, 3) uint8 RGB: bicubic (a = -0.75), ImageNet-normalised.
    Values that the filter takes below black or above white stay."""
    import cv2

    size = seen_size(frame.shape[1], frame.shape[0])
    scaled = cv2.resize(frame.astype(np.float32) / np.float32(255), size, interpolation=cv2.INTER_CUBIC)
    return np.asarray((scaled - _MEAN) / _DEVIATION, np.float32)


def seen_size(width: int, height: int) -> tuple[int, int]:
    """Return the size at which the network sees a frame: shorter side 518, longer side the nearest multiple of 14."""
    shorter = min(width, height)
    if max(width, height) > MAX_ASPECT * shorter:
        raise ShapeError(f"a frame of {width}x{height} is too long; at most {MAX_ASPECT:g} times its shorter side")
    across, down = (round(SHORTER_PX / shorter * side / PATCH_PX) * PATCH_PX for side in (width, height))
    return across, down
