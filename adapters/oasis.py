"""Oasis 500M (github.com/etched-ai/open-oasis), driven from that repository's own environment.

    worldgauge run loopnav --data D --model "cmd:conda run -n oasis python -m worldgauge_serve
        oasis.py:Oasis?root=/src/open-oasis&weights=/w/oasis500m.safetensors&vae=/w/vit-l-20.safetensors"

Needs numpy and `worldgauge_serve` next to it, never worldgauge itself. The networks run in torch; the sampler between
them is numpy, since a frame is 18x32x16 numbers: the noise then depends on the seed alone, not on the device.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, Request, digest, key_rows, motions, mouse_deltas, note

MAX_TURN_DEG = 20.0
"""Turn of one frame that the model calls 1.0."""
WINDOW = 32
"""Frames the network sees at once, the new one included."""
LEVELS = 1000
NOISE_LIMIT = 20.0
LATENT_SCALE = 0.07843137255
ROWS, COLUMNS = 18, 32
FORWARD, PITCH, YAW, JUMP = 11, 15, 16, 17
"""Columns of the model's 25 action values. Its loader calls 15 cameraX and 16 cameraY: they are pitch and yaw."""


class Oasis:
    """Oasis 500M: a latent diffusion transformer over 32 frames, one new frame at a time.

    Args:
        vae: Checkpoint of the image autoencoder.
        stabilization: Noise level attributed to the past, less one.
        camera: "degrees": a share of 20 degrees, right and down positive, as trained; "published": raw radians.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        weights: str = "oasis500m.safetensors",
        vae: str = "vit-l-20.safetensors",
        root: str = ".",
        camera: str = "degrees",
        steps: int = 10,
        stabilization: int = 15,
        device: str = "cuda",
        backend: Any = None,
    ) -> None:
        if camera not in ("degrees", "published"):
            raise ValueError(f"oasis: camera is {camera!r}; give 'degrees' or 'published'")
        self._backend = backend if backend is not None else _Upstream(root, weights, vae, device)
        self._camera, self._steps, self._stabilization = camera, steps, stabilization
        self.spec = ModelSpec(
            "oasis",
            frame_size=(COLUMNS * 20, ROWS * 20),
            max_context=WINDOW,
            chunk=1,
            action_spaces=("loop-walk",),
            settings={"camera": camera, "steps": steps, "stabilization": stabilization, **self._backend.identity},
        )

    def rollout(self, request: Request) -> Iterator[NDArray[Any]]:
        """Yield one frame per chunk. The seed is set again for every request."""
        rng = np.random.default_rng(request.seed)
        context = request.context.last(WINDOW)
        rows = action_rows(context.actions, request.actions, self._camera)
        past = self._backend.encode(to_signed(context.clip.to_array()))
        for i in range(len(context), len(context) + request.horizon):
            past = past[-(WINDOW - 1) :]
            new = self._denoise(past, rows[i - len(past) : i + 1], rng)
            past = np.concatenate([past, new[None]])
            yield to_frames(self._backend.decode(new[None]))

    def _denoise(self, past: NDArray[Any], rows: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """The latent (16, 18, 32) that follows `past` (n, 16, 18, 32), given the n + 1 rows of actions."""
        x = np.clip(rng.standard_normal((16, ROWS, COLUMNS)), -NOISE_LIMIT, NOISE_LIMIT).astype(np.float32)
        levels = np.linspace(-1, LEVELS - 1, self._steps + 1).astype(np.int64)
        for k in range(self._steps, 0, -1):
            said = np.full(len(past) + 1, self._stabilization - 1, np.int64)
            said[-1] = levels[k]
            v = self._backend.velocity(np.concatenate([past, x[None]]), said, rows)[-1]
            kept_next = self._backend.kept[levels[k - 1]] if k > 1 else 1.0
            x = ddim_step(x, v, self._backend.kept[levels[k]], kept_next)
        return x


def ddim_step(x: NDArray[Any], v: NDArray[Any], kept: float, kept_next: float) -> NDArray[Any]:
    """Take one DDIM step from latents x and velocity v; `kept` is the signal's share of the variance."""
    clean = np.sqrt(kept) * x - np.sqrt(1 - kept) * v
    noise = np.sqrt(1 - kept) * x + np.sqrt(kept) * v
    taken: NDArray[Any] = np.sqrt(kept_next) * clean + np.sqrt(1 - kept_next) * noise
    return taken.astype(np.float32)


def action_rows(past: Any, future: Any, camera: str = "degrees") -> NDArray[Any]:
    """The model's action rows (C + H, 25); row j led to frame j, so row 0 is empty. With "degrees" turns past its limit
    are clipped and reported."""
    rows = np.zeros((1 + len(past) + len(future), 25), np.float32)
    rows[1:, [FORWARD, JUMP]] = np.concatenate([key_rows(part, ("forward", "jump")) for part in (past, future)])
    if camera == "degrees":
        turns = np.concatenate([mouse_deltas(part, MAX_TURN_DEG, ("down", "right")) for part in (past, future)])
        rows[1:, [PITCH, YAW]] = clipped(turns)
    else:
        rows[1:, [PITCH, YAW]] = np.concatenate([motions(part)[:, [4, 3]] for part in (past, future)])
    return rows


def clipped(value: Any) -> NDArray[Any]:
    """The model's values of turns, 1.0 for 20 degrees to the right or down, within what it knows; tells how many."""
    value = np.asarray(value, np.float64)
    beyond = int((np.abs(value) > 1).sum())
    if beyond:
        note(f"oasis: {beyond} of {value.size} turns pass {MAX_TURN_DEG:g} degrees a frame; clipped")
    return np.asarray(np.clip(value, -1, 1))


def to_signed(frames: NDArray[Any]) -> NDArray[Any]:
    """Frames (n, 360, 640, 3) uint8 as (n, 3, 360, 640) float32 in [-1, 1]."""
    return frames.transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1


def to_frames(images: NDArray[Any]) -> NDArray[Any]:
    """Images (n, 3, H, W) in [-1, 1] as frames (n, H, W, 3) uint8, rounded and clipped."""
    return np.rint(np.clip((images + 1) * 127.5, 0, 255)).astype(np.uint8).transpose(0, 2, 3, 1)


def to_grid(tokens: NDArray[Any]) -> NDArray[Any]:
    """Tokens (n, 576, 16) of the autoencoder as scaled latents (n, 16, 18, 32) of the transformer."""
    return tokens.reshape(-1, ROWS, COLUMNS, 16).transpose(0, 3, 1, 2) * np.float32(LATENT_SCALE)


def to_tokens(grid: NDArray[Any]) -> NDArray[Any]:
    """Undoes `to_grid`."""
    return np.ascontiguousarray(grid.transpose(0, 2, 3, 1)).reshape(-1, ROWS * COLUMNS, 16) / np.float32(LATENT_SCALE)


class _Upstream:
    """The networks of the repository, numpy in and out. kept: share of signal at each of the 1000 noise levels."""

    def __init__(self, root: str, weights: str, vae: str, device: str) -> None:
        weights, vae = os.path.join(root, weights), os.path.join(root, vae)
        self.identity = {"weights": _digest(weights, "weights"), "vae": _digest(vae, "vae")}
        sys.path.insert(0, os.path.abspath(root))
        self._torch = torch = _need("torch")
        self._device = torch.device(device)
        self._dit = self._load(_need("dit").DiT_models["DiT-S/2"](), weights)
        self._vae = self._load(_need("vae").VAE_models["vit-l-20-shallow-encoder"](), vae)
        betas = _need("utils").sigmoid_beta_schedule(LEVELS)
        self.kept: NDArray[Any] = np.cumprod(1 - np.asarray(betas, np.float64))

    def encode(self, images: NDArray[Any]) -> NDArray[Any]:
        """Latents (n, 16, 18, 32) of images (n, 3, 360, 640) in [-1, 1]; frame by frame, to spare memory."""
        return np.concatenate([to_grid(self._run(lambda x: self._vae.encode(x).mean, one[None])) for one in images])

    def decode(self, latents: NDArray[Any]) -> NDArray[Any]:
        """Undoes `encode`."""
        return self._run(self._vae.decode, to_tokens(latents), half=False)

    def velocity(self, latents: NDArray[Any], levels: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
        """What the transformer predicts for latents (T, 16, 18, 32) at noise levels (T,) with actions (T, 25)."""
        predicted: NDArray[Any] = self._run(self._dit, latents[None], levels[None], rows[None])[0]
        return predicted

    def _run(self, network: Any, *arrays: NDArray[Any], half: bool = True) -> NDArray[Any]:
        torch, kind = self._torch, self._device.type
        with torch.no_grad(), torch.autocast(kind, dtype=torch.float16, enabled=half and kind == "cuda"):
            given = [torch.from_numpy(np.ascontiguousarray(array)).to(self._device) for array in arrays]
            out: NDArray[Any] = network(*given).float().cpu().numpy()
        return out

    def _load(self, network: Any, path: str) -> Any:
        if path.endswith(".safetensors"):
            _need("safetensors.torch").load_model(network, path)
        else:
            network.load_state_dict(self._torch.load(path, map_location="cpu", weights_only=True), strict=False)
        return network.to(self._device).eval()


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"oasis cannot import '{name}' ({error}); clone github.com/etched-ai/open-oasis, install what it lists "
            "(torch, einops, timm, safetensors), and give root=CLONE"
        ) from error


def _digest(path: str, option: str) -> str:
    if not os.path.isfile(path):
        source = "huggingface.co/Etched/oasis-500m"
        raise FileNotFoundError(f"oasis has no {option} at '{path}'; get them at {source} and give {option}=FILE")
    return digest(path)
