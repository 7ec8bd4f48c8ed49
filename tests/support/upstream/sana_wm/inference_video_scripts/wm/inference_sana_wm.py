import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

TARGET_HEIGHT = 704
TARGET_WIDTH = 1280


@dataclass
class InferenceConfig:
    model: str
    vae: str
    text_encoder: str
    scheduler: str
    work_dir: str = ""


@dataclass
class GenerationParams:
    num_frames: int = 161
    fps: int = 16
    step: int = 60
    cfg_scale: float = 5.0
    flow_shift: "float | None" = None
    seed: int = 42
    negative_prompt: str = ""
    sampling_algo: str = "flow_euler_ltx"
    chunk_interval_k: "float | None" = None
    num_cached_blocks: int = 2
    sink_token: bool = False
    num_frame_per_block: int = 3
    denoising_step_list: "list[int] | None" = None
    save_stage1: bool = False


@dataclass
class RefinerSettings:
    root: "Path | str"
    gemma_root: "Path | str"
    sink_size: int = 1
    seed: int = 42
    block_size: "int | None" = None
    kv_max_frames: int = 11


def resolve_hf_path(path):
    assert os.path.exists(path), path
    return path


class SanaWMPipeline:
    """Turns the image with the camera, brighter by the metres that it has gone ahead; noise of seed and words."""

    def __init__(
        self,
        config,
        model_path,
        *,
        device="cuda",
        refiner=None,
        offload_vae=False,
        offload_refiner=False,
        offload_text_encoder=False,
        logger=None,
    ):
        assert isinstance(config, InferenceConfig)
        assert str(model_path).endswith(".safetensors")
        if refiner is not None:
            for part in (refiner.root, refiner.gemma_root):
                resolve_hf_path(part)
        self.refiner_settings, self.offload_vae, self.offload_refiner = refiner, offload_vae, offload_refiner
        self.asked = []

    def generate(self, image, prompt, c2w, intrinsics_vec4, params=GenerationParams()):  # noqa: B008
        assert self.offload_vae or not self.asked, "the encoder of the image lies in main memory"
        assert not (self.offload_refiner and self.asked), "the first stage was given up for the refiner"
        frames = params.num_frames
        assert isinstance(image, Image.Image)
        assert image.size == (TARGET_WIDTH, TARGET_HEIGHT)
        assert isinstance(prompt, str)
        assert frames % 8 == 1, "this VAE holds 8k + 1 frames"
        assert c2w.shape == (frames, 4, 4)
        assert intrinsics_vec4.shape == (frames, 4)
        assert c2w.dtype == intrinsics_vec4.dtype == np.float32
        assert 0 <= params.seed < 2**63
        told = {"prompt": prompt, "c2w": c2w, "lens": intrinsics_vec4, "params": params}
        seed = None if self.refiner_settings is None else self.refiner_settings.seed
        self.asked.append({**told, "refiner_seed": seed})
        relative = np.linalg.inv(c2w[0]) @ c2w
        turned = np.arctan2(relative[:, 0, 2], relative[:, 2, 2])
        picture = np.asarray(image, np.float32)
        noise = np.random.default_rng([params.seed, *prompt.encode()]).uniform(-2, 2, picture.shape).astype(np.float32)
        moved = [np.roll(picture, -round(turned[k] * 400), 1) + relative[k, 2, 3] + noise for k in range(1, frames)]
        video = np.clip(np.stack([picture, *moved]), 0, 255).astype(np.uint8)
        return {"video": video if seed is None else video[1:], "c2w": c2w, "latent": None}
