"""Yume: the signatures of its generate, network and autoencoder. The network flows to the last known frame."""

import numpy as np
import torch

CALLS = []
ASKED = []


class _Network:
    def to(self, device=None, dtype=None):
        assert dtype == torch.bfloat16
        return self

    def eval(self):
        return self

    def __call__(self, x, t, context, seq_len, enable_mask=False, latent_frame_zero=8, flag=True):
        (latent,) = x
        assert latent.dtype == torch.bfloat16
        values, times = latent.float().cpu().numpy(), t.float().cpu().numpy()
        colours, frames, height, width = values.shape
        known = frames - latent_frame_zero
        assert colours == 48
        assert times.shape == (1, seq_len)
        assert seq_len == frames * (height // 2) * (width // 2)
        settled = known * (height // 2) * (width // 2)
        assert not times[0, :settled].any(), "what is known is at level 0"
        level = float(times[0, -1]) / 1000
        assert (times[0, settled:] == times[0, -1]).all()
        ASKED.append((level, known))
        # The velocity that leads straight to the last known frame, a little brighter with every word.
        target = values[:, known - 1 : known] + 0.001 * len(context[0])
        flow = np.zeros_like(values)
        flow[:, known:] = (values[:, known:] - target) / level
        return [torch.from_numpy(flow)]


class _Autoencoder:
    def encode(self, videos):
        (video,) = [video.float().cpu().numpy() for video in videos]
        colours, frames, height, width = video.shape
        assert colours == 3
        assert frames % 4 == 1
        small = video.reshape(3, frames, height // 16, 16, width // 16, 16).mean((3, 5))
        parts = [small[:, :1], *(small[:, k : k + 4].mean(1, keepdims=True) for k in range(1, frames, 4))]
        out = np.zeros((48, len(parts), height // 16, width // 16), np.float32)
        out[:3] = np.concatenate(parts, axis=1)
        return [torch.from_numpy(out)]

    def decode(self, latents):
        (latent,) = [latent.float().cpu().numpy() for latent in latents]
        rows = np.repeat(latent[:3], [1] + [4] * (latent.shape[1] - 1), axis=1)
        return [torch.from_numpy(np.repeat(np.repeat(rows, 16, axis=2), 16, axis=3).clip(-1, 1))]


class Yume:
    def __init__(
        self,
        config,
        checkpoint_dir,
        device_id=0,
        rank=0,
        t5_fsdp=False,
        dit_fsdp=False,
        use_sp=False,
        t5_cpu=False,
        init_on_cpu=True,
        convert_model_dtype=False,
    ):
        self.config, self.model, self.vae = config, _Network(), _Autoencoder()

    def generate(
        self,
        input_prompt,
        img=None,
        size=(1280, 704),
        max_area=704 * 1280,
        frame_num=81,
        shift=5.0,
        sample_solver="unipc",
        sampling_steps=50,
        guide_scale=5.0,
        latent_frame_zero=8,
        n_prompt="",
        seed=-1,
        offload_model=True,
        h1=None,
        w1=None,
    ):
        assert frame_num % 4 == 1
        colours, known, height, width = img.shape
        assert colours == 48
        assert img.dtype == torch.bfloat16
        frames = (frame_num - 1) // 4 + 1
        assert frames == known + latent_frame_zero, "padded to the length of the noise"
        assert height * width * 256 == max_area, "else the size is another one"
        CALLS.append({"prompt": input_prompt, "known": known, "seed": seed, "steps": sampling_steps, "shift": shift})
        noise = np.random.default_rng(seed).standard_normal((48, frames, height, width), np.float32)
        words = {"context": [input_prompt], "seq_len": frames * height * width // 4}
        return words, words, torch.from_numpy(noise), None, [img]
