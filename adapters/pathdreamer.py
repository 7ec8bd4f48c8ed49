"""Pathdreamer (github.com/google-research/pathdreamer): panoramas straight ahead of one panorama with depth.

    worldgauge run worldinworld --data D --set task=navigation --model "cmd:conda run -n pathdreamer python -m
        worldgauge_serve pathdreamer.py:Pathdreamer?root=/src&weights=/w/ckpt"

`root` holds the clone, called pathdreamer. Needs numpy, tensorflow, and `worldgauge_serve` next to it, never worldgauge
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

from worldgauge_serve import ModelSpec, NotApplicable, Request, digest, note

SIZE = (512, 1024)
"""Rows and columns of its panoramas."""
DEPTH_M = {"metric": 10.0, "published": 7.0}
"""Distance that a depth of 1 stands for: the repository's, and World-in-World's."""
CLOSE = 1e-3


class Pathdreamer:
    """Pathdreamer: each frame is predicted from the shown panorama, at its distance ahead.

    Args:
        weights: Folder with the checkpoints structure_gen_ckpt and image_gen_ckpt.
        root: Folder with the clone, called pathdreamer.
        scale: "metric" keeps distances; "published" stretches each depth picture to 0..1, as World-in-World does.
        jump: Predict the last frame only, as World-in-World does; those before it repeat the shown one.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self, weights: str = "ckpt", root: str = ".", scale: str = "metric", jump: bool = False, backend: Any = None
    ) -> None:
        if scale not in DEPTH_M:
            raise ValueError(f"pathdreamer: scale is {scale!r}; give 'metric' or 'published'")
        self._backend = backend or _Upstream(root, weights, DEPTH_M[scale])
        self._scale, self._jump = scale, jump
        self.spec = ModelSpec(
            "pathdreamer",
            control="camera",
            view="panorama",
            max_context=1,
            chunk=1,
            inputs=("depth",),
            settings={
                **self._backend.identity,
                **{"scale": scale, "jump": jump},
                **({"motion": "metres"} if scale == "metric" else {}),
            },
        )

    def rollout(self, request: Request) -> Iterator[NDArray[np.uint8]]:
        """Yield a frame per step; NotApplicable for a step that is not straight ahead."""
        camera, shown = request.context.camera, request.context.clip[-1]
        ways = distances(request)
        if self._jump and len(ways) > 1:
            note(f"pathdreamer: frames 1 to {len(ways) - 1} repeat the shown one; only the last is predicted")
        unknown, origin = np.zeros((1, *SIZE, 1), np.int32), np.zeros((1, 3), np.float32)
        depth = shares(request, SIZE, DEPTH_M[self._scale], self._scale)
        self._backend.reset_memory()
        self._backend.add_to_memory(resized(shown, *SIZE)[None], unknown, depth[None], origin)
        for number, way in enumerate(ways, start=1):
            if self._jump and number < len(ways):
                yield shown[None]
                continue
            position = np.array([[0.0, way, 0.0]], np.float32)
            made = self._backend(position, add_preds_to_memory=False, sample_noise=False)
            yield resized(np.asarray(made.pred_rgb)[0], camera.height, camera.width)[None]


def distances(request: Request) -> list[float]:
    """Metres ahead of the shown frame after each step; NotApplicable for any other motion."""
    if request.poses is None or request.context.poses is None:
        raise NotApplicable("the camera path is not known")
    first = request.context.poses[-1].astype(np.float64)
    moved = np.linalg.inv(first) @ request.poses
    way = moved[:, 2, 3]
    aside = np.abs(moved[:, :2, 3]).max(1) + np.abs(moved[:, :3, :3] - np.eye(3)).max((1, 2))
    if other := np.flatnonzero((aside > CLOSE) | (np.diff(way, prepend=0) < CLOSE)).tolist():
        raise NotApplicable(f"step {other[0] + 1} does not lead straight ahead, the only way that pathdreamer takes")
    return [float(one) for one in way]


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
    """A frame (H, W, 3) at another size, bilinear without a filter, as World-in-World shrinks and enlarges."""
    for axis, n in enumerate((height, width)):
        at = np.clip((np.arange(n) + 0.5) * image.shape[axis] / n - 0.5, 0, image.shape[axis] - 1)
        low = at.astype(int)
        part = (at - low).reshape((-1, 1, 1) if axis == 0 else (-1, 1))
        image = image.take(low, axis) * (1 - part) + image.take(np.ceil(at).astype(int), axis) * part
    return np.asarray(np.rint(image), np.uint8)


class _Upstream:
    """The model of the repository, arrays in."""

    def __init__(self, root: str, weights: str, depth_m: float) -> None:
        parts = {name: os.path.join(weights, f"{name}_gen_ckpt") for name in ("structure", "image")}
        # An index holds a checksum of every tensor.
        self.identity = {name: _digest(f"{path}.index") for name, path in parts.items()}
        sys.path.insert(0, os.path.abspath(root))
        self._tensor = _need("tensorflow").constant
        config = _need("pathdreamer.models.pathdreamer_config").get_config()
        config.ckpt_path, config.spade_ckpt_path, config.depth_scale = parts["structure"], parts["image"], depth_m
        self._model = _need("pathdreamer.models.pathdreamer_models").PathdreamerModel(config)
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
            f"pathdreamer cannot import '{name}' ({error}); clone github.com/google-research/pathdreamer as "
            "PARENT/pathdreamer, install what it lists, and give root=PARENT"
        ) from error


def _digest(path: str) -> str:
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"pathdreamer has no checkpoint '{path}'; get both as the repository says, and give weights=FOLDER"
        )
    return digest(path)
