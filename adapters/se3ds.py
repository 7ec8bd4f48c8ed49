"""SE3DS (github.com/google-research/se3ds): panoramas from one panorama and its depth, along turns and straight runs.

    worldgauge run worldinworld --data D --set task=navigation --model "cmd:conda run -n se3ds python -m
        worldgauge_serve se3ds.py:SE3DS?root=/src&weights=/w/se3ds_ckpt"

`root` holds the clone, called se3ds. Needs numpy, tensorflow, and `worldgauge_serve` next to it, never worldgauge
itself. It has run against a package of our own with the repository's three calls, never against the repository.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, NotApplicable, Request, digest

SIZE = (512, 1024)
"""Rows and columns of its panoramas."""
DEPTH_M = 20.0
"""Distance that a depth of 1 stands for."""
PART = 14
"""Most steps from one pair of picture and depth; the next begins from what was predicted last (World-in-World)."""
CLOSE = 1e-3


class SE3DS:
    """SE3DS: a turn rolls the panorama, and each step of a straight run is predicted from where the run begins.

    Args:
        weights: Prefix of the checkpoint's files.
        root: Folder with the clone, called se3ds.
        scale: "metric" keeps distances; "published" stretches each depth picture to 0..1, as World-in-World does.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self, weights: str = "se3ds_ckpt", root: str = ".", scale: str = "metric", backend: Any = None
    ) -> None:
        if scale not in ("metric", "published"):
            raise ValueError(f"se3ds: scale is {scale!r}; give 'metric' or 'published'")
        self._backend = backend or _Upstream(root, weights)
        self._scale = scale
        self.spec = ModelSpec(
            "se3ds",
            control="camera",
            view="panorama",
            max_context=1,
            chunk=1,
            inputs=("depth",),
            settings={**self._backend.identity, "scale": scale, **({"motion": "metres"} if scale == "metric" else {})},
        )

    def rollout(self, request: Request) -> Iterator[NDArray[np.uint8]]:
        """Yield a frame per step; NotApplicable for a step that is neither a turn nor straight ahead."""
        camera, backend, steps = request.context.camera, self._backend, motions(request)
        picture, depth = resized(request.context.clip[-1], *SIZE), shares(request, SIZE, DEPTH_M, self._scale)
        taken, run_m = 0, 0.0
        for left_rad, ahead_m in steps:
            if not ahead_m:
                columns = round(left_rad / (2 * np.pi) * SIZE[1])
                picture, depth = np.roll(picture, columns, 1), np.roll(depth, columns, 1)
            if not ahead_m or taken == PART:
                taken, run_m = 0, 0.0
            if ahead_m:
                if not run_m:
                    backend.reset_memory()
                    unknown, origin = np.zeros((1, *SIZE, 1), np.int32), np.zeros((1, 3), np.float32)
                    backend.add_to_memory(picture[None], unknown, depth[None], origin)
                run_m += ahead_m
                position = np.array([[0.0, run_m, 0.0]], np.float32)
                made = backend(position, add_preds_to_memory=False, sample_noise=False)
                picture, depth = np.asarray(made.pred_rgb)[0], np.asarray(made.pred_depth, np.float32)[0]
            taken += 1
            yield resized(picture, camera.height, camera.width)[None]


def motions(request: Request) -> list[tuple[float, float]]:
    """Radians left and metres ahead of each step, one of them 0; NotApplicable for any other motion."""
    if request.poses is None or request.context.poses is None:
        raise NotApplicable("the camera path is not known")
    poses = np.concatenate([request.context.poses[-1:], request.poses]).astype(np.float64)
    yaw, step = np.arctan2(poses[:, 1, 2], poses[:, 0, 2]), np.diff(poses[:, :3, 3], axis=0)
    left = (np.diff(yaw) + np.pi) % (2 * np.pi) - np.pi
    way = np.stack([np.cos(yaw[:-1]), np.sin(yaw[:-1]), np.zeros(len(step))], 1)
    ahead = (step * way).sum(1)
    aside = np.abs(step - ahead[:, None] * way).max(1) + np.abs(np.diff(poses[:, 2, 2]))
    both = (np.abs(left) > CLOSE) & (np.abs(ahead) > CLOSE)
    if other := np.flatnonzero(both | (aside > CLOSE) | (ahead < -CLOSE)).tolist():
        raise NotApplicable(f"step {other[0] + 1} is neither a turn on the spot nor straight ahead")
    return [(float(a), 0.0) if m <= CLOSE else (0.0, float(m)) for a, m in zip(left, ahead)]


def shares(request: Request, size: tuple[int, int], depth_m: float, scale: str) -> NDArray[np.float32]:
    """Depth of the last frame at `size`, nearest neighbour, as shares of `depth_m` in [0, 1]."""
    if request.context.depth is None:
        raise NotApplicable("the depth of the context is not known")
    depth = np.asarray(request.context.depth(len(request.context) - 1), np.float32)
    rows, columns = (((np.arange(n) + 0.5) * have / n).astype(int) for n, have in zip(size, depth.shape))
    share = np.clip(depth[rows][:, columns] / depth_m, 0, 1)
    low, span = share.min(), np.ptp(share)
    return np.asarray((share - low) / span if scale == "published" and span > 0 else share, np.float32)


def resized(image: NDArray[Any], height: int, width: int) -> NDArray[np.uint8]:
    """A frame (H, W, 3) at another size, bilinear without a filter, as both repositories shrink and enlarge."""
    for axis, n in enumerate((height, width)):
        at = np.clip((np.arange(n) + 0.5) * image.shape[axis] / n - 0.5, 0, image.shape[axis] - 1)
        low = at.astype(int)
        part = (at - low).reshape((-1, 1, 1) if axis == 0 else (-1, 1))
        image = image.take(low, axis) * (1 - part) + image.take(np.ceil(at).astype(int), axis) * part
    return np.asarray(np.rint(image), np.uint8)


class _Upstream:
    """The model of the repository, arrays in."""

    def __init__(self, root: str, weights: str) -> None:
        # The index holds a checksum of every tensor; the tensors are 17 GB.
        self.identity = {"weights": _digest(f"{weights}.index")}
        sys.path.insert(0, os.path.abspath(root))
        self._tensor = _need("tensorflow").constant
        config = _need("se3ds.models.model_config").get_config()
        config.ckpt_path, config.depth_scale = weights, DEPTH_M
        self._model = _need("se3ds.models.models").SE3DSModel(config)
        self.reset_memory = self._model.reset_memory

    def add_to_memory(self, *arrays: NDArray[Any]) -> None:
        """Add picture, classes, depth and position."""
        self._model.add_to_memory(*map(self._tensor, arrays))

    def __call__(self, position: NDArray[Any], **how: bool) -> Any:
        """Predict the panorama at a position (1, 3): metres right, ahead and up."""
        return self._model(self._tensor(position), **how)


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"se3ds cannot import '{name}' ({error}); clone github.com/google-research/se3ds as PARENT/se3ds, install "
            "what it lists, and give root=PARENT"
        ) from error


def _digest(path: str) -> str:
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"se3ds has no checkpoint '{path}'; get it as the repository says, and give weights=PREFIX, without .index"
        )
    return digest(path)
