import os
from types import SimpleNamespace

import numpy as np
import torch
from PIL import Image

from hyvideo.commons import infer_state, parallel_states


class HunyuanVideo_1_5_Pipeline:
    """Turns the image with the camera, brighter with every step ahead; noise of seed and words."""

    def __init__(self):
        self.asked = []

    @classmethod
    def create_pipeline(
        cls,
        pretrained_model_name_or_path,
        transformer_version,
        create_sr_pipeline=False,
        force_sparse_attn=False,
        transformer_dtype=torch.bfloat16,
        enable_offloading=None,
        enable_group_offloading=None,
        overlap_group_offloading=True,
        device=None,
        action_ckpt=None,
        **kwargs,
    ):
        assert not kwargs
        assert parallel_states.begun[-1] == 1, "without a parallel state it asks torch.distributed"
        assert infer_state.begun[-1] == (False, 53, False, False, False)
        assert transformer_version in os.listdir(os.path.join(pretrained_model_name_or_path, "transformer"))
        assert action_ckpt.endswith(".safetensors")
        return cls()

    def __call__(
        self,
        prompt,
        aspect_ratio,
        video_length,
        prompt_rewrite=True,
        num_inference_steps=50,
        guidance_scale=None,
        enable_sr=True,
        sr_num_inference_steps=None,
        negative_prompt=None,
        generator=None,
        seed=None,
        flow_shift=None,
        embedded_guidance_scale=None,
        reference_image=None,
        output_type="pt",
        return_dict=True,
        return_pre_sr_video=False,
        viewmats=None,
        Ks=None,
        action=None,
        few_step=False,
        chunk_latent_frames=4,
        model_type="ar",
        user_height=None,
        user_width=None,
        **kwargs,
    ):
        assert not kwargs
        assert isinstance(prompt, str)
        assert isinstance(reference_image, Image.Image)
        assert not prompt_rewrite, "a server of words rewrites it"
        assert not enable_sr
        assert output_type == "pt"
        assert chunk_latent_frames == {"ar": 4, "bi": 16}[model_type]
        assert 0 <= seed < 2**63
        latents = (video_length - 1) // 4 + 1
        assert video_length == 4 * latents - 3
        assert latents % chunk_latent_frames == 0
        views, lenses, actions = viewmats.numpy(), Ks.numpy(), action.numpy()
        assert views.shape == (1, latents, 4, 4)
        assert lenses.shape == (1, latents, 3, 3)
        assert actions.shape == (1, latents)
        assert (views.dtype, lenses.dtype, actions.dtype) == (np.float64, np.float64, np.int64)
        assert 0 <= actions.min() <= actions.max() < 81
        told = {"prompt": prompt, "views": views[0], "lens": lenses[0, 0], "labels": actions[0]}
        self.asked.append({**told, "sampling": (few_step, num_inference_steps, model_type)})
        poses = np.linalg.inv(views[0])
        turned = np.arctan2(poses[:, 0, 2], poses[:, 2, 2])
        ahead = np.cumsum(actions[0] // 9 == 1)
        picture = np.asarray(reference_image.resize((user_width, user_height)), np.float32) / 255
        noise = np.random.default_rng([seed, *prompt.encode()]).uniform(-0.01, 0.01, picture.shape).astype(np.float32)
        at = (np.arange(video_length) + 3) // 4
        frames = [picture] + [np.roll(picture, -round(turned[k] * 400), 1) + 0.01 * ahead[k] + noise for k in at[1:]]
        video = np.stack(frames).transpose(3, 0, 1, 2)[None].clip(0, 1).astype(np.float32)
        return SimpleNamespace(videos=torch.from_numpy(video))
