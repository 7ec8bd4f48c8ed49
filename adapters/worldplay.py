"""HY-WorldPlay (github.com/Tencent-Hunyuan/HY-WorldPlay), driven by poses and their labels from its own environment.

    worldgauge run mind --data D --model "cmd:conda run -n worldplay python -m worldgauge_serve
        worldplay.py:WorldPlay?root=/src/HY-WorldPlay&weights=/w/HunyuanVideo-1.5
            &action=/w/ar_distilled_action_model/diffusion_pytorch_model.safetensors"

Its licence leaves out the European Union, the United Kingdom and South Korea. Needs numpy, Pillow and
`worldgauge_serve` next to it, never worldgauge itself.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, Request, camera_control, digest

WIDTH, HEIGHT = 832, 480
FPS = 24.0
LATENT = 4
"""Frames that share a latent, after the first one, which has its own."""
LEAST, LEAST_DEG = 1e-4, 0.05
"""A step in its units, and a turn, from which there is a label."""
KINDS: dict[str, dict[str, Any]] = {
    "distilled": {"model_type": "ar", "chunk_latent_frames": 4, "few_step": True, "num_inference_steps": 4},
    "ar": {"model_type": "ar", "chunk_latent_frames": 4, "few_step": False, "num_inference_steps": 50},
    "bi": {"model_type": "bi", "chunk_latent_frames": 16, "few_step": False, "num_inference_steps": 50},
}
"""What the published command lines ask of each checkpoint."""
LABELS: dict[tuple[int, ...], int] = {
    **{(0, 0, 0, 0): 0, (1, 0, 0, 0): 1, (0, 1, 0, 0): 2, (0, 0, 1, 0): 3, (0, 0, 0, 1): 4},
    **{(1, 0, 1, 0): 5, (1, 0, 0, 1): 6, (0, 1, 1, 0): 7, (0, 1, 0, 1): 8},
}
"""Of four directions: ahead, back, right, left for a step; right, left, up, down for a turn."""


class WorldPlay:
    """HY-WorldPlay (HY-World 1.5): a diffusion transformer of 8 B with a memory of its own frames, from one image.

    Args:
        weights: Folder of HunyuanVideo-1.5 with the encoders, as its `download_models.py` makes it.
        action: Checkpoint of WorldPlay, a safetensors file.
        kind: Which checkpoint it is: "distilled" (4 steps), "ar" (also the one named rl) or "bi".
        scale: Its units per metre.
        offload: Move what is not in use to main memory.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        weights: str = "HunyuanVideo-1.5",
        action: str = "diffusion_pytorch_model.safetensors",
        root: str = ".",
        kind: str = "distilled",
        scale: float = 1.0,
        offload: bool = True,
        backend: Any = None,
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"worldplay: kind is {kind!r}; give {' or '.join(map(repr, KINDS))}")
        chunk: int = LATENT * KINDS[kind]["chunk_latent_frames"]
        self._backend = backend if backend is not None else _Upstream(root, weights, action, kind, offload)
        self._scale = scale
        self.spec = ModelSpec(
            "worldplay",
            control="camera",
            frame_size=(WIDTH, HEIGHT),
            fps=FPS,
            max_context=1,
            chunk=chunk,
            lengths=f"{chunk - LATENT + 1}+{chunk}n",
            inputs=("caption",),
            crop=(26, 15),
            settings={"kind": kind, "scale": scale, **self._backend.identity},
        )

    def rollout(self, request: Request) -> Iterator[NDArray[Any]]:
        """Yield all frames at once, since the pipeline decodes them so. The seed sets its noise."""
        poses, lenses = camera_control(request, scale=self._scale, size=(1, 1))
        length, poses = len(poses), poses[::LATENT]
        fx, fy, cx, cy = lenses[0]
        lens = np.array([[fx / (2 * cx), 0, 0.5], [0, fy / (2 * cy), 0.5], [0, 0, 1]])
        view = (np.linalg.inv(poses), np.tile(lens, (len(poses), 1, 1)), labels(poses))
        video = self._backend.generate(request.context.clip[-1], str(request.caption), *view, request.seed % 2**63)
        if video.shape != (3, length, HEIGHT, WIDTH):
            raise ValueError(f"worldplay made a video of {video.shape}, not {(3, length, HEIGHT, WIDTH)}")
        yield to_frames(video[:, 1:])


def labels(poses: NDArray[Any]) -> NDArray[Any]:
    """The poses as model labels (L,): 9 times the step's number plus the turn's; 0 for the first and no motion. A step
    has a direction if it is less than 60 degrees off that camera axis."""
    told = np.zeros(len(poses), np.int64)
    for at, step in enumerate(np.linalg.inv(poses[:-1]) @ poses[1:], start=1):
        far = float(np.linalg.norm(step[:3, 3]))
        off = np.degrees(np.arccos(np.clip(step[:3, 3] / far, -1, 1))) if far > LEAST else np.full(3, 90.0)
        up = np.degrees(np.arctan2(step[2, 1], step[2, 2]))
        right = np.degrees(np.arcsin(np.clip(-step[2, 0], -1, 1)))
        walked = (off[2] < 60, off[2] > 120, off[0] < 60, off[0] > 120)
        turned = (right > LEAST_DEG, right < -LEAST_DEG, up > LEAST_DEG, up < -LEAST_DEG)
        told[at] = 9 * LABELS[tuple(map(int, walked))] + LABELS[tuple(map(int, turned))]
    return told


def to_frames(video: NDArray[Any]) -> NDArray[Any]:
    """A video (3, n, H, W) in [0, 1] as frames (n, H, W, 3) uint8, rounded and clipped."""
    rounded: NDArray[Any] = np.rint(np.clip(video * 255, 0, 255))
    return rounded.astype(np.uint8).transpose(1, 2, 3, 0)


class _Upstream:
    """The pipeline of the repository, numpy in and out."""

    def __init__(self, root: str, weights: str, action: str, kind: str, offload: bool) -> None:
        weights, action = os.path.join(root, weights), os.path.join(root, action)
        source = "run download_models.py of the repository, or see its README"
        if not os.path.isdir(weights):
            raise FileNotFoundError(f"worldplay has no weights at '{weights}'; {source}, and give weights=FOLDER")
        if not os.path.isfile(action):
            raise FileNotFoundError(f"worldplay has no checkpoint at '{action}'; {source}, and give action=FILE")
        self.identity = {"weights": digest(weights), "action": digest(action)}
        self._kind = KINDS[kind]
        sys.path.insert(0, os.path.abspath(root))
        self._torch, self._image = _need("torch"), _need("PIL.Image")
        # As its command line does without options; `hyvideo.generate` would do so on import, with much else.
        _need("hyvideo.commons.parallel_states").initialize_parallel_state(sp=1)
        _need("hyvideo.commons.infer_state").initialize_infer_state(
            SimpleNamespace(
                use_sageattn=False,
                sage_blocks_range="0-53",
                enable_torch_compile=False,
                use_fp8_gemm=False,
                quant_type="fp8-per-block",
                include_patterns="double_blocks",
                use_vae_parallel=False,
            )
        )
        pipelines = _need("hyvideo.pipelines.worldplay_video_pipeline")
        self._pipeline = pipelines.HunyuanVideo_1_5_Pipeline.create_pipeline(
            pretrained_model_name_or_path=weights,
            transformer_version="480p_i2v",
            create_sr_pipeline=False,
            force_sparse_attn=False,
            enable_offloading=offload,
            enable_group_offloading=False,
            action_ckpt=action,
        )

    def generate(
        self, frame: NDArray[Any], caption: str, views: Any, lenses: Any, actions: Any, seed: int
    ) -> NDArray[Any]:
        """A video (3, 4L - 3, 480, 832) in [0, 1] from a frame, L world-to-camera poses, 3x3 lenses and labels."""
        tensor = self._torch.from_numpy
        made = self._pipeline(
            prompt=caption,
            aspect_ratio="16:9",
            video_length=LATENT * (len(views) - 1) + 1,
            prompt_rewrite=False,
            enable_sr=False,
            negative_prompt="",
            seed=seed,
            reference_image=self._image.fromarray(np.ascontiguousarray(frame)),
            output_type="pt",
            viewmats=tensor(views[None]),
            Ks=tensor(lenses[None]),
            action=tensor(actions[None]),
            user_height=HEIGHT,
            user_width=WIDTH,
            **self._kind,
        )
        return np.asarray(made.videos[0].float().cpu().numpy())


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"worldplay cannot import '{name}' ({error}); clone github.com/Tencent-Hunyuan/HY-WorldPlay, install its "
            "requirements.txt, and give root=CLONE"
        ) from error
