"""YUME 1.5 (github.com/stdstu12/YUME), a model whose keys are sentences, driven from that repository's environment.

    worldgauge run mind --data D --model "cmd:conda run -n yume python -m worldgauge_serve
        yume.py:Yume?root=/src/YUME&weights=/w/Yume-5B-720P"

Needs numpy and `worldgauge_serve` next to it, never worldgauge itself.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, Request, digest, key_sentences, note

FPS = 16.0
SIZES = ((1280, 704), (960, 544))
NEW, SEGMENT = 9, 33
"""Latent frames of a segment, and the frames that they are decoded to."""
CONTEXTS = "13+4n"
"""Frames of context; a shorter one is filled up with its first, to the four latent frames of the published script."""
VIEW = "First-person perspective."
MOVES = {
    "forward": "The camera pushes forward (W).",
    "left": "The camera moves to the left (A).",
    "back": "The camera pulls back (S).",
    "right": "The camera moves to the right (D).",
    "forward+left": "The camera pushes forward and moves to the left (W+A).",
    "forward+right": "The camera pushes forward and moves to the right (W+D).",
    "back+right": "The camera pulls back and moves to the right (S+D).",
    "back+left": "The camera pulls back and moves to the left (S+A).",
}
TURNS = {
    "look_right": "The camera pans to the right (→).",
    "look_left": "The camera pans to the left (←).",
    "look_up": "The camera tilts up (↑).",
    "look_down": "The camera tilts down (↓).",
    "look_up+look_right": "The camera tilts up and pans to the right (↑→).",
    "look_up+look_left": "The camera tilts up and pans to the left (↑←).",
    "look_down+look_right": "The camera tilts down and pans to the right (↓→).",
    "look_down+look_left": "The camera tilts down and pans to the left (↓←).",
}
"""The words that the model was trained with, by the keys that they stand for; standing still has none."""


class Yume:
    """YUME 1.5: a diffusion transformer that adds 33 frames at a time, conditioned on a sentence about the motion.

    Args:
        weights: Folder of huggingface.co/stdstu123/Yume-5B-720P.
        size: 1280x704 or 960x544.
        steps: Denoising steps; the published page offers 4 to 50.
        shift: Of the noise levels.
        context: Frames of video that it sees; a single one is repeated, as the published script does.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        root: str = ".",
        weights: str = "Yume-5B-720P",
        size: str = "1280x704",
        steps: int = 50,
        shift: float = 5.0,
        context: int = 33,
        device: int = 0,
    ) -> None:
        known = {f"{width}x{height}": (width, height) for width, height in SIZES}
        if size not in known:
            raise ValueError(f"yume: size is {size!r}; give one of {', '.join(known)}")
        if steps < 1 or shift <= 0 or context < 1:
            raise ValueError("yume: steps and context are at least 1, shift is above 0")
        self._size, self._steps, self._shift, self._context = known[size], steps, shift, context
        self._upstream = _Upstream(root, weights, device)
        self.spec = ModelSpec(
            "yume-1.5",
            frame_size=self._size,
            fps=FPS,
            max_context=context,
            chunk=SEGMENT,
            # No lengths: standing still at the end of a segment would outvote the keys that are held in it.
            context_lengths=CONTEXTS,
            inputs=("caption",),
            settings={"steps": steps, "shift": shift, "context": context, **self._upstream.identity},
        )

    def rollout(self, request: Request) -> Iterator[NDArray[np.uint8]]:
        """Yield `horizon` frames, 33 at a time; NotApplicable if no sentence exists for keys held together."""
        said = key_sentences(request.actions, MOVES, TURNS, SEGMENT)
        known = self._upstream.encode(to_signed(request.context.clip.to_array()))
        for number, sentence in enumerate(said):
            done = number * SEGMENT
            if sentence.share < 1:
                last, share = min(done + SEGMENT, request.horizon) - 1, round(100 * sentence.share)
                said_of = f"'{sentence.text}'" if sentence.text else "no sentence"
                note(f"yume: {said_of} holds for {share} % of frames {done} to {last}")
            prompt = prompt_of(sentence.text, request.caption or "")
            seed = int(np.random.SeedSequence([request.seed, number]).generate_state(1)[0]) >> 1
            new = self._upstream.drawn(known, prompt, self._size, self._steps, self._shift, seed)
            frames = to_frames(self._upstream.decode(new))
            width, height = self._size
            if frames.shape != (SEGMENT, height, width, 3):
                raise ValueError(f"yume: drew frames of shape {frames.shape}, not {(SEGMENT, height, width, 3)}")
            yield frames[: request.horizon - done]
            known = np.concatenate([known, new], axis=1)


def prompt_of(sentence: str, caption: str) -> str:
    """The words for a segment: the view, no space (as published), the sentence of its keys, the scene."""
    return VIEW + (sentence + " " if sentence else "") + caption.strip()


def levels_of(steps: int, shift: float) -> NDArray[np.float64]:
    """Noise levels of a rectified flow, from 1 downwards, and 0 at the end: (steps + 1,)."""
    even = np.linspace(1, 0, steps + 1)
    return np.asarray(shift * even / (1 + (shift - 1) * even))


def to_signed(frames: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Frames (n, H, W, 3) as (3, n, H, W) in [-1, 1]."""
    return frames.transpose(3, 0, 1, 2).astype(np.float32) / np.float32(127.5) - np.float32(1)


def to_frames(video: NDArray[np.float32]) -> NDArray[np.uint8]:
    """A video (3, n, H, W) in [-1, 1] as frames (n, H, W, 3), rounded and clipped."""
    levels: NDArray[np.uint8] = np.rint(np.clip((video + 1) * 127.5, 0, 255)).astype(np.uint8)
    return levels.transpose(1, 2, 3, 0)


class _Upstream:
    """The repository's networks, numpy in and out. Latents are (48, frames, height, width)."""

    def __init__(self, root: str, weights: str, device: int) -> None:
        self.identity = {"weights": _digest(weights)}
        sys.path.insert(0, os.path.abspath(root))
        self._torch = torch = _need("torch")
        self._device = f"cuda:{device}" if torch.cuda.is_available() else "cpu"
        config = _need("wan23.configs").WAN_CONFIGS["ti2v-5B"]
        self._yume = _need("wan23").Yume(config=config, checkpoint_dir=weights, device_id=device)
        self._network = self._yume.model.to(device=self._device, dtype=torch.bfloat16).eval()

    def encode(self, video: NDArray[np.float32]) -> NDArray[np.float32]:
        """Latents of a video (3, 4 k + 1, H, W) in [-1, 1]: k + 1 of them."""
        with self._torch.no_grad():
            given = self._torch.from_numpy(np.ascontiguousarray(video)).to(self._device)
            return self._array(self._yume.vae.encode([given])[0])

    def decode(self, latents: NDArray[np.float32]) -> NDArray[np.float32]:
        """A video (3, 4 n - 3, H, W) of n latent frames."""
        with self._torch.no_grad():
            return self._array(self._yume.vae.decode([self._tensor(latents)])[0])

    def drawn(
        self, known: NDArray[np.float32], prompt: str, size: tuple[int, int], steps: int, shift: float, seed: int
    ) -> NDArray[np.float32]:
        """Nine latent frames that follow `known`."""
        torch = self._torch
        total = known.shape[1] + NEW
        with torch.no_grad():
            words, _, noise, _, _ = self._yume.generate(
                prompt,
                img=self._tensor(known),
                frame_num=4 * (total - 1) + 1,
                max_area=size[0] * size[1],
                latent_frame_zero=NEW,
                sampling_steps=steps,
                shift=shift,
                seed=seed,
            )
            new = self._array(noise)[:, -NEW:]
            levels = levels_of(steps, shift)
            # Patches of 2 x 2: those of known frames are at noise level 0.
            settled = known.shape[1] * (known.shape[2] // 2) * (known.shape[3] // 2)
            for level, lower in zip(levels[:-1], levels[1:]):
                times = np.full((1, int(words["seq_len"])), level * 1000, np.float32)
                times[:, :settled] = 0
                latent = self._tensor(np.concatenate([known, new], axis=1))
                with torch.autocast(self._device.split(":")[0], dtype=torch.bfloat16):
                    flow = self._network(
                        [latent], t=torch.from_numpy(times).to(self._device), latent_frame_zero=NEW, **words
                    )[0]
                new = new + np.float32(lower - level) * self._array(flow)[:, -NEW:]
        return new

    def _tensor(self, array: NDArray[np.float32]) -> Any:
        given = np.ascontiguousarray(array, np.float32)
        return self._torch.from_numpy(given).to(self._device, self._torch.bfloat16)

    def _array(self, tensor: Any) -> NDArray[np.float32]:
        array: NDArray[np.float32] = tensor.float().cpu().numpy()
        return array


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"yume cannot import '{name}' ({error}); clone github.com/stdstu12/YUME, install its requirements.txt, and "
            "give root=CLONE"
        ) from error


def _digest(folder: str) -> str:
    """Of the network's weights; those of the autoencoder and the text encoder lie next to them."""
    path = Path(folder) / "diffusion_pytorch_model.safetensors"
    if not path.is_file():
        raise FileNotFoundError(
            f"yume has no file '{path}'; get huggingface.co/stdstu123/Yume-5B-720P and give weights=FOLDER"
        )
    return digest(path)
