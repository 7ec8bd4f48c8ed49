"""LingBot-World base-cam (github.com/Robbyant/lingbot-world), driven by camera poses from its own environment.

    worldgauge run mind --data D --model "cmd:conda run -n lingbot python -m worldgauge_serve
        lingbot.py:LingBot?root=/src/lingbot-world&weights=/w/lingbot-world-base-cam"

Needs numpy, Pillow and `worldgauge_serve` next to it, never worldgauge itself. **The model divides all translations of
a clip by the largest one between two latent frames: it is told which way, and not how fast.** Measures of speed in
metres say nothing about it.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, Request, camera_control, digest

WIDTH, HEIGHT = 832, 480
FPS = 16.0
LATENT = 4
"""Frames that share a latent, after the first one, which has its own."""
STILL_M = 1e-3
"""A clip without a longer step between latent frames stands still; the model would blow any step up to full speed."""


class LingBot:
    """LingBot-World base-cam: a latent diffusion transformer of 2 x 14 B over the whole clip, from one image and words.

    Args:
        shift: Of the noise schedule.
        guidance: Scale of classifier-free guidance.
        longest: Frames of the longest clip, including the start image; its authors state 961.
        t5_cpu: Keep the text encoder in main memory.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        weights: str = "lingbot-world-base-cam",
        root: str = ".",
        steps: int = 70,
        shift: float = 10.0,
        guidance: float = 5.0,
        longest: int = 961,
        t5_cpu: bool = False,
        backend: Any = None,
    ) -> None:
        self._backend = backend if backend is not None else _Upstream(root, weights, steps, shift, guidance, t5_cpu)
        settings = {"steps": steps, "shift": shift, "guidance": guidance}
        self.spec = ModelSpec(
            "lingbot",
            control="camera",
            frame_size=(WIDTH, HEIGHT),
            fps=FPS,
            max_context=1,
            lengths=f"{LATENT}n+1 to {longest}",
            inputs=("caption",),
            crop=(26, 15),
            settings={**settings, "translations": "divided by the longest step of the clip", **self._backend.identity},
        )

    def rollout(self, request: Request) -> Iterator[NDArray[Any]]:
        """Yield all frames at once, since it makes a clip as a whole. The seed sets its noise."""
        control = camera_control(request)
        poses, lenses = clip_poses(control.poses), control.intrinsics.astype(np.float32)
        asked = (request.context.clip[-1], str(request.caption), poses, lenses, request.seed % 2**63)
        video = self._backend.generate(*asked)
        if video.shape != (3, len(poses), HEIGHT, WIDTH):
            raise ValueError(f"lingbot made a video of {video.shape}, not {(3, len(poses), HEIGHT, WIDTH)}")
        yield to_frames(video[:, 1:])


def clip_poses(poses: NDArray[Any]) -> NDArray[Any]:
    """Poses (4n + 1, 4, 4) of a clip, relative to the first; in one place if no step reaches `STILL_M`. The repository
    divides steps by the longest, so rounding of a turning camera would become motion."""
    steps = np.diff(poses[::LATENT, :3, 3], axis=0)
    told = poses.astype(np.float32)
    if np.linalg.norm(steps, axis=1).max() < STILL_M:
        told[:, :3, 3] = 0
    told[0] = np.eye(4)
    return told


def to_frames(video: NDArray[Any]) -> NDArray[Any]:
    """A video (3, n, H, W) in [-1, 1] as frames (n, H, W, 3) uint8, rounded and clipped."""
    return np.rint(np.clip((video + 1) * 127.5, 0, 255)).astype(np.uint8).transpose(1, 2, 3, 0)


class _Upstream:
    """The model of the repository, numpy in and out."""

    def __init__(self, root: str, weights: str, steps: int, shift: float, guidance: float, t5_cpu: bool) -> None:
        weights = os.path.join(root, weights)
        self.identity = {"weights": _digest_folder(weights)}
        self._sampling = {"shift": shift, "sampling_steps": steps, "guide_scale": (guidance, guidance)}
        sys.path.insert(0, os.path.abspath(root))
        self._image = _need("PIL.Image")
        config = _need("wan.configs").WAN_CONFIGS["i2v-A14B"]
        self._model = _need("wan").WanI2V(config=config, checkpoint_dir=weights, device_id=0, rank=0, t5_cpu=t5_cpu)

    def generate(self, frame: NDArray[Any], caption: str, poses: Any, lens: Any, seed: int) -> NDArray[Any]:
        """A video (3, n, 480, 832) in [-1, 1] from a frame (480, 832, 3) uint8, n poses and n fx fy cx cy in pixels."""
        with tempfile.TemporaryDirectory() as folder:
            np.save(os.path.join(folder, "poses.npy"), poses)
            np.save(os.path.join(folder, "intrinsics.npy"), lens)
            video = self._model.generate(
                caption,
                self._image.fromarray(np.ascontiguousarray(frame)),
                action_path=folder,
                max_area=WIDTH * HEIGHT + 1,  # without the one, rounding makes it 464 rows
                frame_num=len(poses),
                seed=seed,
                **self._sampling,
            )
        return np.asarray(video.float().cpu().numpy())


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"lingbot cannot import '{name}' ({error}); clone github.com/Robbyant/lingbot-world, install its "
            "requirements.txt and flash-attn, and give root=CLONE"
        ) from error


def _digest_folder(path: str) -> str:
    if not os.path.isdir(path):
        source = "huggingface.co/robbyant/lingbot-world-base-cam"
        raise FileNotFoundError(f"lingbot has no weights at '{path}'; get them at {source} and give weights=FOLDER")
    return digest(path)
