"""I3D: what happens in a video, as 400 numbers, whose Frechet distance is FVD.

    features = open_network("i3d").answer({"video": i3d_input(clip)[None]})["features"]
    distance = frechet_distance(features, features_of_others)

It is published as a TorchScript program, and a program does what it likes: only the one file whose digest is known is
run. Source: Carreira and Zisserman 2017; Unterthiner et al. 2018; LoopNav, section 4.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.perception.networks import ComputeDevice, inference, networks, torch_for
from worldgauge.weights import catalogue, known_program

SIDE, LEAST_FRAMES, FEATURES = 224, 10, 400

_AS_IT_IS = {"rescale": False, "resize": False, "return_features": True}
"""Our frames have range and size already; of the last two layers the one before the probabilities."""


def i3d_input(frames: Iterable[NDArray[np.uint8]]) -> NDArray[np.float32]:
    """Prepare frames (H, W, 3) uint8 for I3D, (T, 224, 224, 3): shorter side to 224, its centre, scaled to [-1, 1].
    Bilinear without antialiasing, the longer side rounded up, as in the scripts that made LoopNav's table."""
    small = [_shown(frame) for frame in frames]
    if not small:
        raise ShapeError("i3d: no frames")
    return np.stack(small)


@networks.register("i3d", what="video")
class I3d:
    """I3D of Kinetics-400, always in float32, as published. `folder` holds i3d_torchscript.pt of the catalogue."""

    name = "i3d"
    version = 1

    def __init__(self, folder: Path, device: ComputeDevice) -> None:
        self._device = device
        self._program = _loaded(folder / "i3d_torchscript.pt", device.name)

    def answer(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Compute features (n, 400) of "video" (n, T, 224, 224, 3), T >= 10, from `i3d_input`, one video at a time.
        All its frames go at once, since they end in one mean: memory grows with T."""
        video = arrays.get("video", np.zeros(0))
        fits = video.ndim == 5 and video.shape[2:] == (SIDE, SIDE, 3) and video.shape[1] >= LEAST_FRAMES
        if not fits or video.dtype != np.float32:
            raise ShapeError(
                f"i3d: expected video (n, T, {SIDE}, {SIDE}, 3) float32 in [-1, 1] of {LEAST_FRAMES} frames or more, "
                f"got {video.shape} {video.dtype}"
            )
        rows = [self._features(each) for each in video]
        return {"features": np.stack(rows) if rows else np.zeros((0, FEATURES), np.float32)}

    def _features(self, video: NDArray[np.float32]) -> NDArray[np.float32]:
        torch = torch_for("I3D")
        shown = torch.from_numpy(np.ascontiguousarray(video.transpose(3, 0, 1, 2)[None])).to(self._device.name)
        # Without rewriting itself after the first calls, so that the same video has the same features, to the bit.
        with inference(self._device), torch.jit.optimized_execution(False):
            given = self._program(x=shown, **_AS_IT_IS)
        features: NDArray[np.float32] = np.asarray(given.cpu(), np.float32)
        if features.shape != (1, FEATURES):
            raise DataError(f"i3d: the program gave {features.shape}, expected (1, {FEATURES}) features of a video")
        if not np.isfinite(features).all():
            raise ShapeError("i3d: features are not finite; the video must be")
        return features.reshape(FEATURES)


def _shown(frame: NDArray[np.uint8]) -> NDArray[np.float32]:
    from worldgauge.metrics._bilinear import resample

    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or 0 in frame.shape:
        raise ShapeError(f"i3d: expected frames (H, W, 3) uint8, got {frame.shape} {frame.dtype}")
    short = min(frame.shape[:2])
    # Of the quotient, since it is rounded: the script's number of rows, also where the exact one is whole.
    rows, columns = (SIDE if side == short else math.ceil(side * (SIDE / short)) for side in frame.shape[:2])
    shown = np.empty((SIDE, SIDE, 3), np.float32)
    resample(np.ascontiguousarray(frame), rows, columns, (rows - SIDE) // 2, (columns - SIDE) // 2, shown)
    return shown * 2 - 1


def _loaded(path: Path, device: str) -> Any:
    """The program, of the very bytes whose digest was taken."""
    torch = torch_for("I3D")
    (file,) = catalogue["i3d"].files
    data = known_program(path, file)
    try:
        with warnings.catch_warnings():
            # That torch has newer forms does not help a published one.
            warnings.simplefilter("ignore", DeprecationWarning)
            program = torch.jit.load(io.BytesIO(data), map_location=device).eval()
        taken = {argument.name for argument in program.forward.schema.arguments}
    except (RuntimeError, AttributeError) as error:
        raise DataError(f"{path}: not a TorchScript program ({str(error).partition(chr(10))[0][:200]})") from error
    missing = sorted({"x", *_AS_IT_IS} - taken)
    if missing:
        raise DataError(f"{path}: not an I3D for FVD, it does not take {', '.join(missing)}")
    return program
