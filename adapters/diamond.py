"""DIAMOND (github.com/eloialonso/diamond, branch csgo), trained on LoopNav, driven from that repository's environment.

    worldgauge run loopnav --data D --model "cmd:conda run -n diamond python -m worldgauge_serve
        diamond.py:Diamond?root=/src/diamond&weights=/w/agent_epoch_00500.pt"

Nobody has published such weights: train them with that branch, the sizes below and 24 actions. Needs numpy and
`worldgauge_serve` next to it, never worldgauge itself. Frames reach it at 320x180: halving 640x360, the area average
of worldgauge and OpenCV's bilinear, which LoopNav's loader uses, are the same mean of four pixels.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, Request, digest, key_rows, motions, note

MAX_TURN_RAD, BIN_RAD, MU, BINS = 0.1, 0.02, 5.0, 11
ACTIONS = 2 + 2 * BINS
SMALL, FULL = (36, 64), (180, 320)
"""(height, width) that the denoiser draws, and that the upsampler makes of it."""
SIGMA_DATA, SIGMA_OFFSET, COND_CHANNELS = 0.5, 0.1, 2048
DENOISER = {"channels": [128, 256, 512, 1024], "attn_depths": [0, 0, 1, 1]}
UPSAMPLER = {"channels": [64, 64, 128, 256], "attn_depths": [0, 0, 0, 1]}
NEXT_FRAME = {"num_steps_denoising": 3, "sigma_min": 2e-3, "sigma_max": 20.0, "rho": 7, "order": 1, "s_cond": 0.005}
UPSAMPLING = {
    **{"num_steps_denoising": 10, "sigma_min": 1.0, "sigma_max": 5.0, "rho": 7, "order": 1},
    **{"s_churn": 10.0, "s_tmin": 1.0, "s_tmax": 5.0, "s_noise": 0.9},
}


class Diamond:
    """DIAMOND: a pixel diffusion model at 64x36 over the last frames, and a second one that makes 320x180 of it.

    Args:
        context: LoopNav's code has 4, its paper 32. A shorter context repeats its first frame, without motion.
        late_camera: Pass each turn a frame late, for weights trained with LoopNav's loader, which does the same.
        backend: Replaces the networks, for tests.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        weights: str = "agent.pt",
        root: str = ".",
        context: int = 4,
        late_camera: bool = False,
        device: str = "cuda",
        backend: Any = None,
    ) -> None:
        if context < 1:
            raise ValueError(f"diamond: context is {context}; give the frames that the denoiser was built to see")
        self._backend = backend if backend is not None else _Upstream(root, weights, context, device)
        self._context, self._late_camera = context, late_camera
        self.spec = ModelSpec(
            "diamond",
            frame_size=(FULL[1], FULL[0]),
            max_context=context,
            chunk=1,
            action_spaces=("loop-walk",),
            settings={"context": context, "late_camera": late_camera, **self._backend.identity},
        )

    def rollout(self, request: Request) -> Iterator[NDArray[Any]]:
        """Yield one frame per chunk. The seed is set again for every request."""
        self._backend.seed(request.seed)
        context = request.context.last(self._context)
        seen = to_signed(context.clip.to_array())
        acts = one_hot(action_rows(context.actions, request.actions, self._late_camera))
        missing = self._context - len(seen)
        small = bicubic(np.concatenate([np.repeat(seen[:1], missing, axis=0), seen]), SMALL)
        acts = np.concatenate([np.repeat(one_hot(np.zeros((1, 4))), missing, axis=0), acts])
        full = seen[-1]
        for t in range(request.horizon):
            new = self._backend.sample(small, acts[t : t + self._context])
            small = np.concatenate([small[1:], new[None]])
            full = self._backend.upsample(full, new)
            yield to_frames(full[None])


def action_rows(past: Any, future: Any, late_camera: bool = False) -> NDArray[Any]:
    """Rows (C - 1 + H, 4) of forward, jump, yaw and pitch (radians); row t leads to frame t + 1. With `late_camera` its
    turn led to frame t."""
    parts = [np.column_stack([key_rows(one, ("forward", "jump")), motions(one)[:, 3:]]) for one in (past, future)]
    rows: NDArray[Any] = np.concatenate(parts)
    if late_camera:
        rows[1:, 2:], rows[:1, 2:] = rows[:-1, 2:].copy(), 0
    beyond = int((np.abs(rows[:, 2:]) > MAX_TURN_RAD * (1 + 1e-6)).sum())
    if beyond:
        note(f"diamond: {beyond} turns pass {MAX_TURN_RAD:g} rad a frame; clipped")
    return rows


def one_hot(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows (T, 4) of `action_rows` as the model's actions (T, 24): forward, jump, 11 bins of yaw, 11 of pitch."""
    bins = np.eye(BINS, dtype=np.int64)[camera_bin(rows[:, 2:])].reshape(len(rows), 2 * BINS)
    return np.concatenate([(rows[:, :2] > 0).astype(np.int64), bins], axis=1)


def camera_bin(turn_rad: Any) -> NDArray[Any]:
    """Bin, 0 to 10, of turns in radians, left and up positive; beyond 0.1 they fall into the last ones."""
    share = np.clip(np.asarray(turn_rad, np.float64) / MAX_TURN_RAD, -1, 1)
    bent = np.sign(share) * np.log1p(MU * np.abs(share)) / math.log1p(MU)
    return np.asarray(np.rint((bent + 1) * MAX_TURN_RAD / BIN_RAD), np.int64)


def bicubic(images: NDArray[Any], size: tuple[int, int]) -> NDArray[Any]:
    """Shrink images (n, 3, H, W) to (height, width) by torch's antialiased bicubic, without clipping."""
    down, across = (_shrinking(images.shape[2 + k], size[k]) for k in (0, 1))
    return np.asarray(down @ images @ across.T, np.float32)


def _shrinking(old: int, new: int) -> NDArray[Any]:
    """Weights (new, old) of Keys' cubic kernel, a = -1/2, as wide as `old / new` pixels a unit; rows sum to 1."""
    scale = old / new
    centres = (np.arange(new) + 0.5) * scale - 0.5
    d = np.abs(np.arange(old) - centres[:, None]) / scale
    weights = np.where(d < 1, (1.5 * d - 2.5) * d * d + 1, np.where(d < 2, ((-0.5 * d + 2.5) * d - 4) * d + 2, 0))
    shares: NDArray[Any] = weights / weights.sum(axis=1, keepdims=True)
    return shares


def to_signed(frames: NDArray[Any]) -> NDArray[Any]:
    """Frames (n, H, W, 3) uint8 as (n, 3, H, W) float32 in [-1, 1]."""
    return frames.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(127.5) - 1


def to_frames(images: NDArray[Any]) -> NDArray[Any]:
    """Images (n, 3, H, W) in [-1, 1] as frames (n, H, W, 3) uint8, rounded and clipped."""
    return np.rint(np.clip((images + 1) * 127.5, 0, 255)).astype(np.uint8).transpose(0, 2, 3, 1)


class _Upstream:
    """The two samplers of the repository, numpy in and out."""

    def __init__(self, root: str, weights: str, context: int, device: str) -> None:
        weights = os.path.join(root, weights)
        self.identity = {"weights": _digest(weights)}
        sys.path.insert(0, os.path.abspath(os.path.join(root, "src")))
        self._torch = torch = _need("torch")
        self._device = torch.device(device)
        states = torch.load(weights, map_location="cpu", weights_only=True)
        self._next = self._sampler("denoiser", states, NEXT_FRAME, DENOISER, context, noise_previous_obs=True)
        self._upsampler = self._sampler("upsampler", states, UPSAMPLING, UPSAMPLER, 1, upsampling_factor=5)

    def seed(self, seed: int) -> None:
        """Seed the noise."""
        self._torch.manual_seed(seed)

    def sample(self, frames: NDArray[Any], actions: NDArray[Any]) -> NDArray[Any]:
        """The frame (3, 36, 64) that follows `frames` (n, 3, 36, 64) under `actions` (n, 24), the last one leading."""
        out = self._next.sample(self._tensor(frames[None]), self._tensor(actions[None]))
        return self._array(out)

    def upsample(self, previous: NDArray[Any], small: NDArray[Any]) -> NDArray[Any]:
        """The frame (3, 180, 320) of `small` (3, 36, 64), after `previous` (3, 180, 320)."""
        resize = self._torch.nn.functional.interpolate
        large = resize(self._tensor(small[None]), scale_factor=5, mode="bicubic")
        out = self._upsampler.sample(self._torch.stack([self._tensor(previous), large[0]])[None], None)
        return self._array(out)

    def _sampler(
        self,
        name: str,
        states: dict[str, Any],
        sampling: dict[str, Any],
        unet: dict[str, Any],
        conditioning: int,
        noise_previous_obs: bool = False,
        upsampling_factor: int | None = None,
    ) -> Any:
        diffusion = _need("models.diffusion")
        inner = diffusion.InnerModelConfig(
            img_channels=3,
            num_steps_conditioning=conditioning,
            cond_channels=COND_CHANNELS,
            depths=[2, 2, 2, 2],
            num_actions=ACTIONS,
            **unet,
        )
        network = diffusion.Denoiser(
            diffusion.DenoiserConfig(inner, SIGMA_DATA, SIGMA_OFFSET, noise_previous_obs, upsampling_factor)
        )
        own = {key[len(name) + 1 :]: value for key, value in states.items() if key.startswith(name + ".")}
        network.load_state_dict(own)
        network = network.to(self._device).eval()
        return diffusion.DiffusionSampler(network, diffusion.DiffusionSamplerConfig(**sampling))

    def _tensor(self, array: NDArray[Any]) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def _array(self, sampled: Any) -> NDArray[Any]:
        frame: NDArray[Any] = sampled[0][0].cpu().numpy()  # a sampler returns its result and the way there
        return frame


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"diamond cannot import '{name}' ({error}); clone github.com/eloialonso/diamond, branch csgo, install its "
            "requirements.txt, and give root=CLONE"
        ) from error


def _digest(path: str) -> str:
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"diamond has no weights at '{path}'; none are published for LoopNav: train branch csgo, give weights=FILE"
        )
    return digest(path)
