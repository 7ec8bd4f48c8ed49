"""MineWorld (github.com/microsoft/mineworld), driven from that repository's own environment.

    worldgauge run loopnav --data D --model "cmd:conda run -n mineworld python -m worldgauge_serve
        mineworld.py:MineWorld?root=/src/mineworld&weights=/w/1200M_32f.ckpt&config=configs/1200M_32f.yaml"

Needs numpy and `worldgauge_serve` next to it, never worldgauge itself. Frames reach it at 384x224 by area average, as
LoopNav's script makes them: worldgauge shrinks what a spec asks for in just that way.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, Request, digest, key_rows, motions, note

IMAGE_TOKENS = 336
ACTION_TOKENS = 11
ACTION_OFFSET = 8192
"""First action token: below are the images'."""
MAX_TURN_DEG, BIN_DEG, MU = 90.0, 9.0, 11.4887
"""The model's mu-law camera: 21 bins."""
BUTTONS = ("forward", "back", "left", "right", "sprint", "sneak", "use", "attack", "jump", "drop", "pickItem")


class MineWorld:
    """MineWorld: a transformer over image and action tokens, 336 + 11 per frame, in a window of 16 or 32 frames.

    Args:
        weights: Checkpoint, relative to root or not, as `config`.
        context: Frames it looks back on.
        step: Frames before the window slides. LoopNav's command has context=1, step=31; its paper says 31.
        top_p: Nucleus of the sampling.
        late_camera: The turn reaches the model a frame late, as in LoopNav's script.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        weights: str = "checkpoints/1200M_32f.ckpt",
        config: str = "configs/1200M_32f.yaml",
        root: str = ".",
        context: int = 31,
        step: int = 1,
        top_p: float = 0.8,
        late_camera: bool = False,
        backend: Any = None,
    ) -> None:
        self._backend = backend if backend is not None else _Upstream(root, weights, config)
        if min(context, step) < 1 or context + step > self._backend.window:
            raise ValueError(
                f"mineworld: context {context} + step {step} must fit the window of {self._backend.window} frames"
            )
        self._context, self._step, self._top_p, self._late_camera = context, step, top_p, late_camera
        settings = {"context": context, "step": step, "top_p": top_p, "late_camera": late_camera}
        self.spec = ModelSpec(
            "mineworld",
            frame_size=(384, 224),
            max_context=context,
            chunk=step,
            action_spaces=("loop-walk",),
            settings={**settings, **self._backend.identity},
        )

    def rollout(self, request: Request) -> Iterator[NDArray[Any]]:
        """Yield `step` frames per chunk; seeds each request and prints how far the token stream turns."""
        self._backend.seed(request.seed)
        context = request.context.last(self._context)
        rows = action_rows(context.actions, request.actions, self._late_camera)
        _tell_heading(rows[len(context) - 1 :, 2], request.task)
        actions = np.stack([self._backend.action_tokens(env_action(row)) for row in rows])
        images = self._backend.tokenize(to_signed(context.clip.to_array()))
        for first in range(0, request.horizon, self._step):
            now = len(context) + first  # frames there are; row now - 1 leads to the next
            prompt = interleave(images, actions[now - len(images) : now - 1])
            new = self._backend.generate(prompt, actions[now - 1 : now - 1 + self._step], self._top_p)
            images = np.concatenate([images, new])[-self._context :]
            yield np.stack([self._backend.image(one) for one in new])


def interleave(images: NDArray[Any], actions: NDArray[Any]) -> NDArray[Any]:
    """Interleave image tokens (n, 336) with action tokens (n - 1, 11) to one row."""
    parts = [images[0]]
    for k in range(len(actions)):
        parts += [actions[k], images[k + 1]]
    return np.concatenate(parts)


def action_rows(past: Any, future: Any, late_camera: bool = False) -> NDArray[Any]:
    """Rows (C - 1 + H, 4) of forward, jump, yaw and pitch (radians); row t leads to frame t + 1. With `late_camera` its
    turn led to frame t."""
    parts = [np.column_stack([key_rows(one, ("forward", "jump")), motions(one)[:, 3:]]) for one in (past, future)]
    rows: NDArray[Any] = np.concatenate(parts)
    if late_camera:
        rows[1:, 2:], rows[:1, 2:] = rows[:-1, 2:].copy(), 0
    return rows


def env_action(row: NDArray[Any]) -> dict[str, Any]:
    """A row of `action_rows` as the repository's action: buttons, and camera = [pitch, yaw] as in `camera_deg`."""
    action: dict[str, Any] = dict.fromkeys((*BUTTONS, *(f"hotbar.{k}" for k in range(1, 10))), 0)
    action.update(forward=int(row[0] > 0), jump=int(row[1] > 0), camera=camera_deg(row[[3, 2]]))
    return action


def camera_deg(turn_rad: Any) -> NDArray[Any]:
    """Turns in radians, left and up positive, as the model's degrees, right and down positive."""
    return np.asarray(-np.degrees(np.asarray(turn_rad, np.float64)))


def camera_bin(angle_deg: Any) -> NDArray[Any]:
    """Bin, 0 to 20, of the model's degrees; beyond 90 they fall into the last ones."""
    share = np.clip(np.asarray(angle_deg, np.float64) / MAX_TURN_DEG, -1, 1)
    bent = np.sign(share) * np.log1p(MU * np.abs(share)) / np.log1p(MU)
    return np.asarray(np.rint((bent + 1) * MAX_TURN_DEG / BIN_DEG), np.int64)


def binned_deg(number: Any) -> NDArray[Any]:
    """The model's degrees that bin `number` stands for."""
    bent = np.asarray(number, np.float64) * BIN_DEG / MAX_TURN_DEG - 1
    return np.asarray(np.sign(bent) * np.expm1(np.abs(bent) * np.log1p(MU)) / MU * MAX_TURN_DEG)


def heading_error_deg(yaw_rad: Any) -> NDArray[Any]:
    """Degrees by which the heading that the tokens spell leads (left positive) the recorded one after each turn."""
    spelled = -binned_deg(camera_bin(camera_deg(yaw_rad)))
    return np.cumsum(spelled - np.degrees(np.asarray(yaw_rad, np.float64)))


def to_signed(frames: NDArray[Any]) -> NDArray[Any]:
    """Frames (n, 224, 384, 3) uint8 as (n, 3, 224, 384) float32 in [-1, 1]."""
    return frames.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(127.5) - 1


def _tell_heading(yaw_rad: NDArray[Any], task: str) -> None:
    error = heading_error_deg(yaw_rad)
    beyond = int((np.abs(np.degrees(yaw_rad)) > MAX_TURN_DEG).sum())
    clipped = f"; {beyond} turns pass {MAX_TURN_DEG:g} degrees a frame and are clipped" if beyond else ""
    note(
        f"mineworld: {task or 'rollout'}: the tokens' heading ends {error[-1]:+.1f} degrees from the recorded one, "
        f"{np.abs(error).max():.1f} at most{clipped}"
    )


class _Upstream:
    """The networks of the repository, numpy in and out. window: frames that the transformer has positions for."""

    def __init__(self, root: str, weights: str, config: str) -> None:
        root = os.path.abspath(root)
        weights, config = os.path.join(root, weights), os.path.join(root, config)
        self.identity = {"weights": _digest(weights, "weights"), "config": _digest(config, "config")}
        sys.path.insert(0, root)
        self._torch = _need("torch")
        loaded = _need("omegaconf").OmegaConf.load(config)
        here = os.getcwd()
        os.chdir(root)  # its configurations name further files relative to the clone
        try:
            self._model = _need("utils").load_model(loaded, weights, gpu=True, eval_mode=True)
        finally:
            os.chdir(here)
        positions = int(loaded.model.params.transformer_config.params.max_position_embeddings)
        self.window = positions // (IMAGE_TOKENS + ACTION_TOKENS)
        self._vocabulary = _need("mcdataset").MCDataset()
        self._device = self._model.transformer.device

    def seed(self, seed: int) -> None:
        """Seed the sampling."""
        self._torch.manual_seed(seed)

    def action_tokens(self, action: dict[str, Any]) -> NDArray[Any]:
        """The 11 tokens (11,) of an action, from the repository's own vocabulary."""
        return np.array(self._vocabulary.get_action_index_from_actiondict(action, action_vocab_offset=ACTION_OFFSET))

    def tokenize(self, images: NDArray[Any]) -> NDArray[Any]:
        """Tokens (n, 336) of images (n, 3, 224, 384) in [-1, 1]; one at a time, to spare memory."""
        grids = [self._run(self._model.tokenizer.tokenize_images, self._tensor(one[None])) for one in images]
        return np.concatenate(grids).reshape(len(images), IMAGE_TOKENS)

    def generate(self, prompt: NDArray[Any], actions: NDArray[Any], top_p: float) -> NDArray[Any]:
        """Tokens (n, 336) of the n frames that follow `prompt` (L,) under `actions` (n, 11)."""
        out = self._run(
            self._model.transformer.naive_generate,
            input_ids=self._tensor(prompt[None]),
            max_new_tokens=IMAGE_TOKENS * len(actions),
            action_all=self._tensor(actions[:, None]),
            top_p=top_p,
            top_k=None,
        )
        return out.reshape(len(actions), IMAGE_TOKENS)

    def image(self, tokens: NDArray[Any]) -> NDArray[Any]:
        """The frame (224, 384, 3) uint8 that `tokens` (336,) stand for."""
        frame: NDArray[Any] = self._model.tokenizer.token2image(self._tensor(tokens))
        return frame

    def _tensor(self, array: NDArray[Any]) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def _run(self, call: Any, *args: Any, **options: Any) -> NDArray[Any]:
        torch, kind = self._torch, self._device.type
        with torch.no_grad(), torch.autocast(kind, dtype=torch.float16, enabled=kind == "cuda"):
            out: NDArray[Any] = call(*args, **options).cpu().numpy()
        return out


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"mineworld cannot import '{name}' ({error}); clone github.com/microsoft/mineworld, install its "
            "requirements.txt, and give root=CLONE"
        ) from error


def _digest(path: str, option: str) -> str:
    if not os.path.isfile(path):
        source = "huggingface.co/microsoft/mineworld"
        raise FileNotFoundError(f"mineworld has no {option} at '{path}'; get them at {source} and give {option}=FILE")
    return digest(path)
