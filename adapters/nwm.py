"""NWM (github.com/facebookresearch/nwm), trained on LoopNav, driven from that repository's own environment.

    worldgauge run loopnav --data D --model "cmd:conda run -n nwm python -m worldgauge_serve
        nwm.py:NWM?root=/src/nwm&weights=/w/0200000.pth.tar"

Nobody has published such weights: train them with that repository. Needs numpy and `worldgauge_serve` next to it, never
worldgauge itself. Frames reach it as the centre 4:3 of the recording at 224x224, by area average; the repository
shrinks with an antialiased triangle, a little softer.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, Request, camera_control, digest

SIDE = 224
CROP = (4, 3)
LATENT_SCALE = 0.18215
STEP = 1 / 128
"""Relative time of the next frame."""


class NWM:
    """NWM: a latent diffusion transformer over the last frames, conditioned on the camera's motion to the next.

    Args:
        weights: A checkpoint; its averaged weights are used.
        context: Frames it was built to see; a shorter context is padded with its first frame.
        vae: Name or folder of the image autoencoder; a folder counts by its content.
        low: Metres forward and left that training normalised to -1 (the repository's times its spacing).
        high: The same for 1.
        deltas: "trained", "published" (LoopNav's script, with crop, one_short, bgr) or "world-in-world".
        crop: "declared"; "published" squashes the ground truth from 16:9 while the model sees 4:3.
        one_short: Generate a frame fewer, so that every frame is a tick late.
        bgr: Exchange red and blue.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        weights: str = "nwm.pth.tar",
        root: str = ".",
        size: str = "CDiT-L/2",
        context: int = 32,
        steps: int = 250,
        vae: str = "stabilityai/sd-vae-ft-ema",
        low: Sequence[float] = (-2.5, -4.0),
        high: Sequence[float] = (5.0, 4.0),
        deltas: str = "trained",
        crop: str = "declared",
        one_short: bool = False,
        bgr: bool = False,
        device: str = "cuda",
        backend: Any = None,
    ) -> None:
        kinds = ("trained", "published", "world-in-world")
        for name, given, known in (("deltas", deltas, kinds), ("crop", crop, ("declared", "published"))):
            if given not in known:
                raise ValueError(f"nwm: {name} is {given!r}; give {' or '.join(map(repr, known))}")
        self._backend = backend if backend is not None else _Upstream(root, weights, size, context, steps, vae, device)
        self._context, self._low, self._high = context, np.asarray(low, float), np.asarray(high, float)
        self._deltas, self._crop, self._one_short, self._bgr = deltas, crop, one_short, bgr
        settings = {
            **{"size": size, "context": context, "steps": steps, "vae": vae, "low": list(low), "high": list(high)},
            **{"deltas": deltas, "crop": crop, "one_short": one_short, "bgr": bgr},
        }
        self.spec = ModelSpec(
            "nwm",
            control="camera",
            frame_size=(SIDE, SIDE),
            # The published deltas are turned by the heading of the first record, which a cut context lacks.
            max_context=None if deltas == "published" else context,
            chunk=1,
            crop=CROP if crop == "declared" else None,
            settings={**settings, **self._backend.identity},
        )

    def rollout(self, request: Request) -> Iterator[NDArray[Any]]:
        """Yield one frame per chunk. The seed is set again for every request."""
        self._backend.seed(request.seed)
        poses = camera_control(request, relative=False).poses
        if self._deltas == "published":
            first = camera_control(request, relative=False, shown=len(request.context)).poses[0]
            moves = published_deltas(poses, first, self._low, self._high)
        elif self._deltas == "world-in-world":
            moves = closed_loop_deltas(poses, self._low, self._high)
        else:
            moves = trained_deltas(poses, self._low, self._high)
        seen = request.context.last(self._context).clip.to_array()
        if self._crop == "published":
            camera: Any = request.context.camera
            seen = centre(seen, CROP[0] / CROP[1] / (camera.fy / camera.fx))
        if self._one_short:
            yield request.context.clip[-1][None]
        past = to_signed(seen[..., ::-1] if self._bgr else seen)
        past = np.concatenate([np.repeat(past[:1], self._context - len(past), axis=0), past])
        unseen = len(moves) - request.horizon  # drawn and gone on from, and not given
        for step, move in enumerate(moves[: len(moves) - self._one_short], start=-unseen):
            new = self._backend.predict(past, move)
            past = np.concatenate([past[1:], new[None]])
            if step < 0:
                continue
            frame = to_frames(new[None])
            yield frame[..., ::-1] if self._bgr else frame


def trained_deltas(poses: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """Steps (T - 1, 3) as in training: metres forward and left in the heading before the step, normalised; radians
    left. Normalised from `low`..`high` to -1..1, so that no motion is not 0."""
    position, yaw = poses[:, :2, 3], heading(poses)
    step, c, s = np.diff(position, axis=0), np.cos(yaw[:-1]), np.sin(yaw[:-1])
    local = np.stack([c * step[:, 0] + s * step[:, 1], c * step[:, 1] - s * step[:, 0]], axis=1)
    return np.column_stack([normalised(local, low, high), wrapped(np.diff(yaw))]).astype(np.float32)


def published_deltas(poses: NDArray[Any], first: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """Steps (T - 1, 3) of LoopNav's script: differences of normalised game coordinates (x, z) and yaw. Turned by the
    first yaw as would suit (cos, sin), though forward is (-sin, -cos). The angle jumps by a full circle at half a
    circle."""
    position, origin = poses[:, :2, 3] * [1, -1], first[:2, 3] * [1, -1]
    yaw, yaw_first = heading(poses) - np.pi / 2, heading(first[None])[0] - np.pi / 2
    c, s = np.cos(yaw_first), np.sin(yaw_first)
    local = (position - origin) @ np.array([[c, -s], [s, c]])
    told = np.column_stack([normalised(local, low, high), wrapped(yaw - yaw_first)])
    return np.diff(told, axis=0).astype(np.float32)


def closed_loop_deltas(poses: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """A null step, then steps of World-in-World, (T, 3): differences of normalised metres in the first heading. Only
    the null step, which is not part of the plan, moves to where no motion is."""
    yaw = heading(poses)
    step, c, s = poses[:, :2, 3] - poses[0, :2, 3], np.cos(yaw[0]), np.sin(yaw[0])
    local = np.stack([c * step[:, 0] + s * step[:, 1], c * step[:, 1] - s * step[:, 0]], axis=1)
    told = np.column_stack([normalised(local, low, high), wrapped(yaw - yaw[0])])
    return np.diff(told, axis=0, prepend=np.zeros((1, 3))).astype(np.float32)


def heading(poses: NDArray[Any]) -> NDArray[Any]:
    """Yaw (T,) in radians, counter-clockwise from +x, of camera-to-world poses (T, 4, 4)."""
    return np.asarray(np.arctan2(poses[:, 1, 2], poses[:, 0, 2]))


def normalised(metres: NDArray[Any], low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    """Map metres (n, 2) from `low`..`high` to -1..1."""
    return np.asarray(2 * (metres - low) / (high - low) - 1)


def wrapped(angle: NDArray[Any]) -> NDArray[Any]:
    """Radians brought into [-pi, pi)."""
    return np.asarray(angle - 2 * np.pi * np.floor((angle + np.pi) / (2 * np.pi)))


def centre(frames: NDArray[Any], share: float) -> NDArray[Any]:
    """Crop the centre `share` of the width of frames (n, H, W, 3), and stretch it to the full width, linearly."""
    width = frames.shape[2]
    at = np.clip((np.arange(width) + 0.5 - width / 2) * share + width / 2 - 0.5, 0, width - 1)
    left = np.minimum(at.astype(int), width - 2)
    part = (at - left)[:, None]
    stretched: NDArray[Any] = np.rint(frames[:, :, left] * (1 - part) + frames[:, :, left + 1] * part)
    return stretched.astype(np.uint8)


def to_signed(frames: NDArray[Any]) -> NDArray[Any]:
    """Frames (n, 224, 224, 3) uint8 as (n, 3, 224, 224) float32 in [-1, 1]."""
    return frames.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(127.5) - 1


def to_frames(images: NDArray[Any]) -> NDArray[Any]:
    """Images (n, 3, H, W) in [-1, 1] as frames (n, H, W, 3) uint8, rounded and clipped."""
    return np.rint(np.clip((images + 1) * 127.5, 0, 255)).astype(np.uint8).transpose(0, 2, 3, 1)


class _Upstream:
    """The networks of the repository, numpy in and out."""

    def __init__(self, root: str, weights: str, size: str, context: int, steps: int, vae: str, device: str) -> None:
        weights = os.path.join(root, weights)
        self.identity = {"weights": _digest(weights), **({"vae": digest(vae)} if os.path.isdir(vae) else {})}
        sys.path.insert(0, os.path.abspath(root))
        self._torch = torch = _need("torch")
        self._device = torch.device(device)
        network = _need("models").CDiT_models[size](context_size=context, input_size=SIDE // 8, in_channels=4)
        # Its trainer stores the command line next to the weights; no other code is let in.
        with torch.serialization.safe_globals([argparse.Namespace]):
            averaged = torch.load(weights, map_location="cpu", weights_only=True)["ema"]
        network.load_state_dict({name.replace("_orig_mod.", ""): value for name, value in averaged.items()})
        self._network = network.to(self._device).eval()
        self._diffusion = _need("diffusion").create_diffusion(str(steps))
        self._vae = _need("diffusers.models").AutoencoderKL.from_pretrained(vae).to(self._device)

    def seed(self, seed: int) -> None:
        """Seed the noise."""
        self._torch.manual_seed(seed)

    def predict(self, frames: NDArray[Any], move: NDArray[Any]) -> NDArray[Any]:
        """The frame (3, 224, 224) that follows `frames` (n, 3, 224, 224) after `move` (3,), all in [-1, 1]."""
        torch, device = self._torch, self._device
        with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            images = torch.from_numpy(np.ascontiguousarray(frames)).to(device)
            past = self._vae.encode(images).latent_dist.sample() * LATENT_SCALE
            noise = torch.randn(1, 4, SIDE // 8, SIDE // 8, device=device)
            told = {
                "y": torch.from_numpy(move)[None].to(device),
                "x_cond": past[None],
                "rel_t": torch.full((1,), STEP, device=device),
            }
            drawn = self._diffusion.p_sample_loop(
                self._network.forward,
                noise.shape,
                noise,
                clip_denoised=False,
                model_kwargs=told,
                progress=False,
                device=device,
            )
            image: NDArray[Any] = self._vae.decode(drawn / LATENT_SCALE).sample[0].clamp(-1, 1).float().cpu().numpy()
        return image


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"nwm cannot import '{name}' ({error}); clone github.com/facebookresearch/nwm, install what it lists "
            "(torch, diffusers, timm), and give root=CLONE"
        ) from error


def _digest(path: str) -> str:
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"nwm has no weights at '{path}'; none are published for LoopNav: train on it, then give weights=FILE"
        )
    return digest(path)
