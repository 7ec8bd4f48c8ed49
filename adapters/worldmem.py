"""WorldMem (github.com/xizaoqu/WorldMem), its memory filled with the exploration, driven from its own environment.

    worldgauge run loopnav --data D --model "cmd:conda run -n worldmem python -m worldgauge_serve
        worldmem.py:WorldMem?root=/src/WorldMem&weights=/w/diffusion_only.ckpt&vae=/w/vae_only.ckpt"

Needs numpy and `worldgauge_serve` next to it, never worldgauge itself. The model is asked as the repository evaluates
it: all frames that were seen lie in its memory with their true poses, and each new frame is drawn from the last ones
and from the eight of the memory that see most of the same place. Its pose predictor is not used.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, Request, digest, key_rows, mouse_deltas, note

WIDTH, HEIGHT = 640, 360
TURN_DEG = 15.0
"""Turn of one frame that the model calls 1."""
COLUMNS = 25
KEYS = {"forward": 11, "back": 12, "left": 13, "right": 14, "jump": 17}
PITCH, YAW = 15, 16
"""Columns of the model's action values that walks use. It calls the turns cameraY and cameraX."""
GAME_FROM_WORLD = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""The game's axes: x to the east, y up, z to the south."""


class WorldMem:
    """WorldMem: a latent diffusion transformer over the last frames and a memory of all earlier ones.

    Args:
        weights: Checkpoint of the transformer, `diffusion_only.ckpt`; `vae` that of the autoencoder.
        window: Frames in a row that it sees at once, with the new one: 8 as in its evaluation; its demo has 3.
        memory: Frames of the memory that it sees besides, as the weights were trained.
        turns: "share" of 15 degrees, trained only at -1, 0 and 1; "whole": only these, as 15 degrees add up.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        weights: str = "diffusion_only.ckpt",
        vae: str = "vae_only.ckpt",
        root: str = ".",
        window: int = 8,
        memory: int = 8,
        steps: int = 20,
        turns: str = "share",
        device: str = "cuda",
        backend: Any = None,
    ) -> None:
        if turns not in ("share", "whole"):
            raise ValueError(f"worldmem: turns is {turns!r}; give 'share' or 'whole'")
        if window < 2:
            raise ValueError(f"worldmem: window is {window}; give 2 or more, since it holds the new frame")
        if backend is None:
            backend = _Upstream(root, weights, vae, window, memory, steps, device)
        self._backend, self._turns = backend, turns
        settings = {"window": window, "memory": memory, "steps": steps, "turns": turns}
        self.spec = ModelSpec(
            "worldmem",
            frame_size=(WIDTH, HEIGHT),
            fps=20.0,
            inputs=("poses",),
            settings={**settings, "motion": "blocks of a metre", **self._backend.identity},
        )

    def rollout(self, request: Request) -> Iterator[NDArray[Any]]:
        """Yield all frames at once, since the repository makes them so. The seed is set again for every request."""
        context = request.context
        rows = action_rows(context.actions, request.actions, self._turns)
        poses = game_poses(np.concatenate([context.poses, request.poses]))
        self._backend.seed(request.seed)
        images = self._backend.imagine(to_unit(context.clip.to_array()), rows, poses)
        yield to_frames(images)


def action_rows(past: Any, future: Any, turns: str = "share") -> NDArray[Any]:
    """The model's action rows (C + H, 25); row j led to frame j, so row 0 is empty. Turns past 15 degrees are clipped
    and reported."""
    rows = np.zeros((1 + len(past) + len(future), COLUMNS), np.float32)
    rows[1:, list(KEYS.values())] = np.concatenate([key_rows(part, list(KEYS)) for part in (past, future)])
    mouse = np.concatenate([mouse_deltas(part, TURN_DEG, ("down", "right")) for part in (past, future)])
    if turns == "whole":
        mouse = np.diff(np.rint(np.cumsum(mouse, axis=0)), axis=0, prepend=np.zeros((1, 2)))
    beyond = int((np.abs(mouse) > 1 + 1e-6).sum())
    if beyond:
        note(f"worldmem: {beyond} of {mouse.size} turns pass {TURN_DEG:g} degrees a frame; clipped")
    rows[1:, [PITCH, YAW]] = np.clip(mouse, -1, 1)
    return rows


def game_poses(poses: NDArray[Any]) -> NDArray[Any]:
    """Poses in the model's memory (T, 5): x, y, z in blocks of a metre from the first, y up; pitch, yaw in 0..360
    degrees. Pitch is down, yaw left positive, 0 to the south; a roll is lost."""
    place = (poses[:, :3, 3] - poses[0, :3, 3]) @ GAME_FROM_WORLD.T
    ahead = poses[:, :3, 2] @ GAME_FROM_WORLD.T
    pitch = -np.degrees(np.arctan2(ahead[:, 1], np.hypot(ahead[:, 0], ahead[:, 2])))
    yaw = np.degrees(np.arctan2(ahead[:, 0], ahead[:, 2]))
    return np.column_stack([place, pitch % 360, yaw % 360]).astype(np.float32)


def to_unit(frames: NDArray[Any]) -> NDArray[Any]:
    """Frames (n, 360, 640, 3) uint8 as (n, 3, 360, 640) float32 in [0, 1]."""
    return frames.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)


def to_frames(images: NDArray[Any]) -> NDArray[Any]:
    """Images (n, 3, H, W) in [0, 1] as frames (n, H, W, 3) uint8, rounded and clipped."""
    rounded: NDArray[Any] = np.rint(np.clip(images * 255, 0, 255))
    return rounded.astype(np.uint8).transpose(0, 2, 3, 1)


class _Upstream:
    """The model of the repository, numpy in and out."""

    def __init__(self, root: str, weights: str, vae: str, window: int, memory: int, steps: int, device: str) -> None:
        weights, vae = os.path.join(root, weights), os.path.join(root, vae)
        self.identity = {"weights": _digest(weights, "weights"), "vae": _digest(vae, "vae")}
        sys.path.insert(0, os.path.abspath(root))
        self._torch = torch = _need("torch")
        config = _need("omegaconf").OmegaConf.load(os.path.join(root, "configurations", "huggingface.yaml"))
        config.n_tokens, config.memory_condition_length, config.require_pose_prediction = window, memory, False
        config.diffusion.sampling_timesteps = steps
        self._device = torch.device(device)
        model = _need("algorithms.worldmem").WorldMemMinecraft(config)
        for network, path in ((model.diffusion_model, weights), (model.vae, vae)):
            stored = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
            network.load_state_dict(stored, strict=True)
        self._model = model.to(self._device).eval()

    def seed(self, seed: int) -> None:
        """Seed the noise and the points by which its memory compares views."""
        self._torch.manual_seed(seed)

    def imagine(self, images: NDArray[Any], rows: NDArray[Any], poses: NDArray[Any]) -> NDArray[Any]:
        """Images (H, 3, 360, 640) after `images` (C, 3, 360, 640) in [0, 1], by C + H rows of actions and poses."""
        torch, device, model = self._torch, self._device, self._model
        unseen = np.zeros((len(rows) - len(images), *images.shape[1:]), np.float32)
        arrays = (np.concatenate([images, unseen]), rows, poses, np.arange(len(rows)))
        batch = [torch.from_numpy(np.ascontiguousarray(array))[None].to(device) for array in arrays]
        model.context_frames = len(images)
        model.validation_step_outputs.clear()
        with torch.no_grad():
            model.validation_step(batch, 0)
        drawn, _ = model.validation_step_outputs.pop()
        return np.asarray(drawn[:, 0].float().cpu().numpy())


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"worldmem cannot import '{name}' ({error}); clone github.com/xizaoqu/WorldMem, install its "
            "requirements.txt, and give root=CLONE"
        ) from error


def _digest(path: str, option: str) -> str:
    if not os.path.isfile(path):
        source = "huggingface.co/zeqixiao/worldmem_checkpoints"
        raise FileNotFoundError(f"worldmem has no {option} at '{path}'; get them at {source} and give {option}=FILE")
    return digest(path)
