"""SpatialTrackerV2 (github.com/henry123-boy/SpaTrackerV2), a decoder of camera paths, in that repository's environment.

    worldgauge score targetbench --data D --videos V
        --set "decoder=cmd:conda run -n spatrack python -m worldgauge_serve spatracker.py:SpaTracker?root=/src/spatrack"

Needs numpy and `worldgauge_serve` next to it, never worldgauge itself. SpatialTrackerV2 is licensed CC BY-NC 4.0: not
for commercial use. Read it and install it yourself.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import EstimatorSpec, digest

LONGEST = 336
"""Longest side in pixels to which frames are brought, before the network's own size."""


class SpaTracker:
    """SpatialTrackerV2: cameras and depth of a VGGT, refined while points are tracked through all frames.

    Args:
        front: First checkpoint, a folder as the hub stores it, or its name there; `weights` is the second.
        grid: Side of the grid of points.
        points: Number of points that it tracks for the cameras.
        fps: Frame rate that it gets.
        grid_of: "seen" lays the grid over the network's images; "published" over those before shrinking.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        root: str = ".",
        front: str = "Yuxihenry/SpatialTrackerV2_Front",
        weights: str = "Yuxihenry/SpatialTrackerV2-Offline",
        grid: int = 10,
        points: int = 756,
        fps: int = 3,
        grid_of: str = "seen",
        device: str = "cuda",
        backend: Any = None,
    ) -> None:
        if grid_of not in ("seen", "published"):
            raise ValueError(f"spatracker: grid_of is {grid_of!r}; give 'seen' or 'published'")
        self._grid, self._grid_of = grid, grid_of
        self._backend = backend if backend is not None else _Upstream(root, front, weights, points, fps, device)
        settings = {"grid": grid, "points": points, "fps": fps, "grid_of": grid_of}
        self.spec = EstimatorSpec("spatracker", layout="spatracker", settings={**settings, **self._backend.identity})

    def estimate(
        self, arrays: Mapping[str, NDArray[Any]], options: Mapping[str, Any]
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Camera-to-world "poses" (n + 1, 4, 4), the anchor's first, and "focal_px" in pixels of the frames."""
        frames = of_one_size(arrays["anchor"], arrays["frames"])
        images = shrunk(frames)
        self._backend.seed(int(options.get("seed", 0)))
        size = (frames.shape[1], frames.shape[2]) if self._grid_of == "published" else None
        poses, focal, width = self._backend.cameras(images, self._grid, size)
        return {"poses": poses}, {"focal_px": float(np.median(focal)) * arrays["frames"].shape[2] / width}


def of_one_size(anchor: NDArray[Any], frames: NDArray[Any]) -> NDArray[Any]:
    """Resize frames (n, H, W, 3) to the anchor's size by Lanczos, and put the anchor (h, w, 3) first."""
    if frames.shape[1:3] != anchor.shape[:2]:
        image = importlib.import_module("PIL.Image")  # of the repository's own requirements
        size = anchor.shape[1], anchor.shape[0]
        frames = np.stack([np.asarray(image.fromarray(frame).resize(size, image.LANCZOS)) for frame in frames])
    return np.concatenate([anchor[None], frames])


def shrunk(frames: NDArray[Any]) -> NDArray[Any]:
    """Images (n, 3, H, W) float32 in 0..255, whose longest side is at most 336, of frames (n, h, w, 3) uint8."""
    images = frames.transpose(0, 3, 1, 2).astype(np.float32)
    rows, columns = images.shape[2:]
    scale = min(LONGEST / rows, LONGEST / columns)
    if scale >= 1:
        return np.ascontiguousarray(images)
    tall, wide = int(rows * scale), int(columns * scale)
    made: NDArray[Any] = _triangle(rows, tall) @ images @ _triangle(columns, wide).T
    return np.ascontiguousarray(made)


def _triangle(before: int, after: int) -> NDArray[Any]:
    """Weights (after, before) that shrink a line as bilinear filters with antialiasing do."""
    scale = before / after
    centre = (np.arange(after) + 0.5) * scale
    weights = np.clip(1 - np.abs((np.arange(before) + 0.5 - centre[:, None]) / scale), 0, None)
    return np.asarray(weights / weights.sum(1, keepdims=True), np.float32)


class _Upstream:
    """The two networks of the repository, numpy in and out."""

    def __init__(self, root: str, front: str, weights: str, points: int, fps: int, device: str) -> None:
        self.identity = {"front": _identity(front), "weights": _identity(weights)}
        sys.path.insert(0, os.path.abspath(root))
        self._torch = torch = _need("torch")
        self._device, self._fps = torch.device(device), fps
        front_of_it = _need("models.SpaTrackV2.models.vggt4track.models.vggt_moe").VGGT4Track
        self._front = front_of_it.from_pretrained(front).eval().to(self._device)
        self._tracker = _need("models.SpaTrackV2.models.predictor").Predictor.from_pretrained(weights)
        self._tracker.spatrack.track_num = points
        self._tracker.eval()
        self._tracker.to(self._device)
        self._prepared = _need("models.SpaTrackV2.models.vggt4track.utils.load_fn").preprocess_image
        self._points_on_grid = _need("models.SpaTrackV2.models.utils").get_points_on_a_grid

    def seed(self, seed: int) -> None:
        """Seed all random generators."""
        self._torch.manual_seed(seed)

    def cameras(self, images: NDArray[Any], grid: int, size: Any) -> tuple[NDArray[Any], NDArray[Any], int]:
        """Camera-to-world (n, 4, 4) of images (n, 3, H, W) in 0..255; focal lengths (n,) in pixels, of what width."""
        torch, kind = self._torch, self._device.type
        video = self._prepared(torch.from_numpy(images))
        with torch.no_grad(), torch.autocast(kind, dtype=torch.bfloat16, enabled=kind == "cuda"):
            seen = self._front(video[None].to(self._device) / 255)
        depth, sure = seen["points_map"][..., 2], seen["unc_metric"]
        points = self._points_on_grid(grid, size or tuple(video.shape[2:]), device="cpu")
        queries = torch.cat([torch.zeros_like(points[:, :, :1]), points], dim=2)[0].numpy()
        with torch.no_grad(), torch.autocast(kind, dtype=torch.bfloat16, enabled=kind == "cuda"):
            poses, intrinsics, *_ = self._tracker.forward(
                video,
                depth=self._numpy(depth),
                intrs=self._numpy(seen["intrs"]),
                extrs=self._numpy(seen["poses_pred"]),
                queries=queries,
                fps=self._fps,
                full_point=False,
                iters_track=4,
                query_no_BA=True,
                fixed_cam=False,
                stage=1,
                unc_metric=self._numpy(sure) > 0.5,
                support_frame=len(video) - 1,
                replace_ratio=0.2,
            )
        return poses.float().cpu().numpy(), intrinsics[:, 0, 0].float().cpu().numpy(), int(video.shape[3])

    def _numpy(self, tensor: Any) -> NDArray[Any]:
        array: NDArray[Any] = tensor.squeeze(0).float().cpu().numpy()
        return array


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"spatracker cannot import '{name}' ({error}); clone github.com/henry123-boy/SpaTrackerV2, install what it "
            "lists, and give root=CLONE"
        ) from error


def _identity(weights: str) -> str:
    """A digest of the files of a folder; the name of what is on the hub."""
    if not os.path.isdir(weights):
        if os.path.isabs(weights) or weights.startswith("."):
            source = "huggingface.co/Yuxihenry"
            raise FileNotFoundError(f"spatracker has no folder of weights at '{weights}'; they are at {source}")
        return weights
    return digest(weights)
