"""SANA-WM (github.com/NVlabs/Sana), driven by camera poses, intrinsics and a caption from its own environment.

    worldgauge run mind --data D --model "cmd:conda run -n sana python -m worldgauge_serve
        sana_wm.py:SanaWM?root=/src/Sana&weights=/w/SANA-WM_bidirectional"

Needs numpy, Pillow and `worldgauge_serve` next to it, never worldgauge itself. Its poses were annotated in metres.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, Request, camera_control, digest

WIDTH, HEIGHT = 1280, 704
FPS = 16
LATENT = 8
"""Frames that share a latent, after the first one, which has its own."""
HUB = "hf://Efficient-Large-Model/SANA-WM_bidirectional"


class SanaWM:
    """SANA-WM, bidirectional: a linear diffusion transformer of 2.6 B over the whole clip, refined by LTX-2.

    Args:
        weights: Folder of the checkpoint; the default is fetched from the hub, and counts by its name.
        steps: Diffusion steps before the refiner.
        guidance: Scale of classifier-free guidance.
        refiner: Refine by LTX-2, as published. Without it images are soft, and memory is far less.
        longest: Frames of the longest clip, including the start image; its authors state 961.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        weights: str = HUB,
        root: str = ".",
        steps: int = 60,
        guidance: float = 5.0,
        refiner: bool = True,
        longest: int = 961,
        device: str = "cuda",
        backend: Any = None,
    ) -> None:
        self._backend = backend if backend is not None else _Upstream(root, weights, steps, guidance, refiner, device)
        settings = {"steps": steps, "guidance": guidance, "refiner": refiner}
        self.spec = ModelSpec(
            "sana-wm",
            control="camera",
            frame_size=(WIDTH, HEIGHT),
            fps=FPS,
            max_context=1,
            lengths=f"{LATENT}n+1 to {longest}",
            inputs=("caption",),
            crop=(20, 11),
            settings={**settings, "motion": "metres", **self._backend.identity},
        )

    def rollout(self, request: Request) -> Iterator[NDArray[Any]]:
        """Yield all frames at once, since it makes a clip as a whole. The seed sets the noise of both stages."""
        poses, lenses = (array.astype(np.float32) for array in camera_control(request))
        image, caption = request.context.clip[-1], str(request.caption)
        video = self._backend.generate(image, caption, poses, lenses, request.seed % 2**63)
        new = video[-(len(poses) - 1) :]  # the refiner leaves the given image out
        if len(video) - len(new) > 1 or new.shape != (len(poses) - 1, HEIGHT, WIDTH, 3) or new.dtype != np.uint8:
            made = f"a video of {video.shape} {video.dtype}"
            raise ValueError(f"sana-wm made {made}, not {(len(poses), HEIGHT, WIDTH, 3)} uint8, or one frame less")
        yield new


class _Upstream:
    """The pipeline of the repository, numpy in and out."""

    def __init__(self, root: str, weights: str, steps: int, guidance: float, refiner: bool, device: str) -> None:
        self.identity = {"weights": weights if weights.startswith("hf://") else _digest(weights)}
        self._sampling = {"fps": FPS, "step": steps, "cfg_scale": guidance, "sampling_algo": "flow_euler_ltx"}
        sys.path.insert(0, os.path.abspath(root))
        self._image = _need("PIL.Image")
        nested = os.path.isdir(os.path.join(root, "inference_video_scripts", "wm"))  # where newer clones have it
        self._package = package = _need("inference_video_scripts." + ("wm." if nested else "") + "inference_sana_wm")
        find = package.resolve_hf_path
        config = _need("pyrallis").parse(
            config_class=package.InferenceConfig, config_path=find(weights + "/config.yaml"), args=[]
        )
        second = weights + "/refiner"
        self._pipeline = package.SanaWMPipeline(
            config,
            find(weights + "/dit/sana_wm_1600m_720p.safetensors"),
            device=device,
            refiner=package.RefinerSettings(root=second, gemma_root=second + "/text_encoder") if refiner else None,
            offload_vae=True,  # else its encoder is gone after the first question
            offload_refiner=False,  # else its first stage is
        )

    def generate(self, image: NDArray[Any], caption: str, poses: Any, lenses: Any, seed: int) -> NDArray[Any]:
        """A video (F or F - 1, 704, 1280, 3) uint8 from an image uint8, F poses and F fx fy cx cy in pixels."""
        if self._pipeline.refiner_settings is not None:
            self._pipeline.refiner_settings.seed = seed
        params = self._package.GenerationParams(num_frames=len(poses), seed=seed, **self._sampling)
        picture = self._image.fromarray(np.ascontiguousarray(image))
        return np.asarray(self._pipeline.generate(picture, caption, poses, lenses, params)["video"])


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"sana-wm cannot import '{name}' ({error}); clone github.com/NVlabs/Sana, run its environment_setup.sh, "
            "and give root=CLONE"
        ) from error


def _digest(path: str) -> str:
    if not os.path.isdir(path):
        raise FileNotFoundError(
            f"sana-wm has no weights at '{path}'; get huggingface.co/{HUB[5:]} and give weights=FOLDER, or leave it out"
        )
    return digest(path)
