"""Matrix-Game 2.0 (github.com/SkyworkAI/Matrix-Game, folder Matrix-Game-2), driven from that folder's own environment.

    worldgauge run mind --data D --model "cmd:conda run -n matrix python -m worldgauge_serve
        matrix_game2.py:MatrixGame2?root=/src/Matrix-Game/Matrix-Game-2&weights=/w/Matrix-Game-2.0"

Keys and mouse, no words. Needs numpy and `worldgauge_serve` next to it, never worldgauge itself.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, Request, continued, digest, key_rows, mouse_deltas, next_length, note

WIDTH, HEIGHT, FPS = 640, 352, 25.0
LATENT, BLOCK = 4, 3
"""Frames that one latent frame stands for, after the first; latent frames that are drawn at once."""
STEP = LATENT * BLOCK
"""Frames of a block."""
AFTER_PICTURE = f"{STEP - LATENT + 1}+{STEP}n"
"""Frames that are drawn after a single picture, with it: the first block holds it."""
KEYS = {"universal": ("forward", "back", "left", "right"), "gta_drive": ("forward", "back")}
LEAST_M = 0.005
"""Slower moves in metres a frame press no key."""
TILES = {"tiled": True, "tile_size": [44, 80], "tile_stride": [23, 38]}


class MatrixGame2:
    """Matrix-Game 2.0: a causal diffusion model over keys and mouse, three steps per block of 12 frames.

    Args:
        root: Folder Matrix-Game-2 of a clone of the repository.
        weights: Folder of huggingface.co/Skywork/Matrix-Game-2.0, with Wan2.1_VAE.pth.
        config: In `root`; its `mode` selects the keys.
        context: Frames that the model sees: 1, or 9, 21, 33 and so on; other contexts are cut to the next shorter.
        turn_deg: Degrees per frame that the mouse value 1 turns. The authors do not say: calibrate.
        mouse: Largest mouse value; theirs is 0.1. 0 for any.
        frames: Frames of one call, including the start image; a longer horizon continues from the last frame.
        compiled: Compile the decoder as their script does; it takes minutes.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        root: str = ".",
        weights: str = "Matrix-Game-2.0",
        checkpoint: str = "base_distilled_model/base_distill.safetensors",
        config: str = "configs/inference_yaml/inference_universal.yaml",
        context: int = 1,
        turn_deg: float = 15.0,
        mouse: float = 0.1,
        frames: int = 597,
        compiled: bool = False,
        device: str = "cuda",
    ) -> None:
        if context != 1 and next_length(AFTER_PICTURE, context) != context:
            raise ValueError(f"matrix_game2: context is {context}; give 1, or 9, 21, 33 and so on, 12 more at a time")
        if next_length(AFTER_PICTURE, frames) != frames:
            raise ValueError(f"matrix_game2: frames is {frames}; give 9, 21, 33 and so on, 12 more at a time")
        if context > 1 and frames <= STEP:
            raise ValueError(f"matrix_game2: frames is {frames}; after a context of several give at least 21")
        if turn_deg <= 0 or mouse < 0:
            raise ValueError("matrix_game2: turn_deg is above 0, mouse not below")
        self._upstream = _Upstream(root, weights, checkpoint, config, compiled, device)
        self._context, self._turn_deg, self._mouse, self._frames = context, turn_deg, mouse, frames
        self.spec = ModelSpec(
            "matrix-game-2",
            frame_size=(WIDTH, HEIGHT),
            fps=FPS,
            max_context=context,
            chunk=STEP,
            # After a context of several frames whole blocks are new, and whether there are several is seen when asked.
            lengths=AFTER_PICTURE if context == 1 else None,
            context_lengths=(1, *range(STEP - LATENT + 1, context + 1, STEP)),
            settings={
                **{"mode": self._upstream.mode, "context": context, "turn_deg": turn_deg, "mouse": mouse},
                **{"frames": frames, **self._upstream.identity},
            },
        )

    def rollout(self, request: Request) -> Iterator[NDArray[np.uint8]]:
        """Yield `horizon` frames, as many at a time as one call generates."""
        rule, longest = AFTER_PICTURE, self._frames
        if len(request.context) > 1:
            rule, longest = f"{STEP}n+1", self._frames - (STEP - LATENT)

        def drawn(part: Request) -> NDArray[np.uint8]:
            return self._drawn(part.context if part.context is request.context else part.context.last(1), part)

        yield from continued(request, f"{rule} to {longest}", drawn)

    def _drawn(self, context: Any, part: Request) -> NDArray[np.uint8]:
        seen = context.clip.to_array()
        single = len(seen) == 1
        # What is known of the past leads from one frame that was seen to the next.
        rows = [np.concatenate(both) for both in zip(self._rows(context.actions), self._rows(part.actions))]
        new = BLOCK * -(-(part.horizon + LATENT * single) // STEP)
        total = (0 if single else latents_of(len(seen))) + new
        keyboard, mouse = (_filled(each, 1 + LATENT * (total - 1)) for each in rows)
        made = self._upstream.drawn(seen, keyboard, mouse, new, part.seed)
        count = LATENT * new - (LATENT - 1 if single else 0)
        if made.shape != (count, HEIGHT, WIDTH, 3):
            raise ValueError(f"matrix_game2: drew frames of shape {made.shape}, not {(count, HEIGHT, WIDTH, 3)}")
        frames: NDArray[np.uint8] = (made[1:] if single else made)[: part.horizon]
        return frames

    def _rows(self, actions: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Keyboard (T, K) of 0 and 1, and mouse (T, 2): pitch, up positive, and yaw, right positive."""
        names = KEYS[self._upstream.mode]
        keyboard = key_rows(actions, names, least_m=LEAST_M)
        mouse = mouse_deltas(actions, self._turn_deg, ("up", "right"))
        lost = key_rows(actions, [key for key in KEYS["universal"] if key not in names], least_m=LEAST_M).any(axis=1)
        if lost.any():
            note(f"matrix_game2: no key for the move of {lost.sum()} frames")
        if self._mouse:
            beyond = (np.abs(mouse) > self._mouse * (1 + 1e-6)).any(axis=1)
            if beyond.any():
                most = f"{self._mouse * self._turn_deg:g} degrees a frame"
                note(f"matrix_game2: {beyond.sum()} turns pass {most}; clipped")
            mouse = mouse.clip(-self._mouse, self._mouse)
        return keyboard.astype(np.float32), mouse.astype(np.float32)


def latents_of(frames: int) -> int:
    """Latent frames of a clip: one for the first frame, one for each four more."""
    return (frames - 1) // LATENT + 1


def to_signed(frames: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Frames (n, H, W, 3) as (1, 3, n, H, W) in [-1, 1]."""
    return frames.transpose(3, 0, 1, 2)[None].astype(np.float32) / np.float32(127.5) - np.float32(1)


def to_frames(video: NDArray[np.float32]) -> NDArray[np.uint8]:
    """A video (1, n, 3, H, W) in [-1, 1] as frames (n, H, W, 3), rounded and clipped."""
    levels: NDArray[np.uint8] = np.rint(np.clip((video[0] + 1) * 127.5, 0, 255)).astype(np.uint8)
    return levels.transpose(0, 2, 3, 1)


def _filled(rows: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """`count` rows; beyond the future nothing is held."""
    return np.concatenate([rows, np.zeros((max(0, count - len(rows)), rows.shape[1]), np.float32)])[:count]


class _Upstream:
    """The repository's pipeline, numpy in and out."""

    def __init__(self, root: str, weights: str, checkpoint: str, config: str, compiled: bool, device: str) -> None:
        network, vae = os.path.join(weights, checkpoint), os.path.join(weights, "Wan2.1_VAE.pth")
        self.identity = {"weights": _digest(network, "checkpoint"), "vae": _digest(vae, "weights")}
        sys.path.insert(0, os.path.abspath(root))
        self._torch = torch = _need("torch")
        self._device = device
        path = os.path.join(root, config)
        if not os.path.isfile(path):
            raise FileNotFoundError(f"matrix_game2 has no config at '{path}'; give root=CLONE/Matrix-Game-2")
        settings = _need("omegaconf").OmegaConf.load(path)
        self.mode = str(settings.pop("mode"))
        if self.mode not in KEYS:
            raise ValueError(f"matrix_game2: mode '{self.mode}' runs by itself; configs of {', '.join(KEYS)} will do")
        generator = _need("utils.wan_wrapper").WanDiffusionWrapper(**settings.get("model_kwargs", {}), is_causal=True)
        decoder = _need("demo_utils.vae_block3").VAEDecoderWrapper()
        states = torch.load(vae, map_location="cpu", weights_only=True)
        decoder.load_state_dict({key: value for key, value in states.items() if "decoder." in key or "conv2" in key})
        decoder.to(device, torch.float16)
        decoder.requires_grad_(False)
        decoder.eval()
        if compiled:
            decoder.compile(mode="max-autotune-no-cudagraphs")
        pipeline = _need("pipeline").CausalInferencePipeline(settings, generator=generator, vae_decoder=decoder)
        pipeline.generator.load_state_dict(_need("safetensors.torch").load_file(network))
        self._pipeline = pipeline.to(device=device, dtype=torch.bfloat16)
        self._pipeline.vae_decoder.to(torch.float16)
        encoder = _need("wan.vae.wanx_vae").get_wanx_vae_wrapper(weights, torch.float16)
        encoder.requires_grad_(False)
        encoder.eval()
        self._encoder = encoder.to(device, torch.bfloat16)
        self._caches = len(_need("demo_utils.constant").ZERO_VAE_CACHE)

    def drawn(
        self, seen: NDArray[np.uint8], keyboard: NDArray[np.float32], mouse: NDArray[np.float32], new: int, seed: int
    ) -> NDArray[np.uint8]:
        """Frames of `new` latent frames after `seen`; those of a single picture begin with that picture."""
        torch = self._torch
        torch.manual_seed(seed)  # of the noise between steps, which the pipeline draws itself
        before = latents_of(len(seen)) if len(seen) > 1 else 0
        first = to_signed(seen[:1])
        length = 1 + LATENT * (before + new - 1)
        shown = np.concatenate([first, np.zeros((1, 3, length - 1, HEIGHT, WIDTH), np.float32)], axis=2)
        with torch.no_grad():
            image = self._array(self._encoder.encode(self._tensor(shown), device=self._device, **TILES))
            mask = np.zeros_like(image[:, :4])
            mask[:, :, 0] = 1
            shape = (1, 16, new, HEIGHT // 8, WIDTH // 8)
            noise = np.random.default_rng(seed).standard_normal(shape, np.float32)
            given = {
                "cond_concat": self._tensor(np.concatenate([mask, image], axis=1)),
                "visual_context": self._encoder.clip.encode_video(self._tensor(first)).to(self._device, torch.bfloat16),
                "mouse_cond": self._tensor(mouse[None]),
                "keyboard_cond": self._tensor(keyboard[None]),
            }
            if not before:
                videos = self._pipeline.inference(
                    noise=self._tensor(noise), conditional_dict=given, return_latents=False, mode=self.mode
                )
                return to_frames(np.concatenate([self._array(video) for video in videos], axis=1))
            known = self._encoder.encode(self._tensor(to_signed(seen)), device=self._device, **TILES)
            latents = self._pipeline.inference(
                noise=self._tensor(noise),
                conditional_dict=given,
                initial_latent=self._tensor(self._array(known)),
                return_latents=True,
                mode=self.mode,
            )
            # Decoded from the first frame on: the pipeline decodes what is new as if nothing had come before it.
            return to_frames(self._decoded(self._array(latents))[:, len(seen) :])

    def _decoded(self, latents: NDArray[np.float32]) -> NDArray[np.float32]:
        cache: Sequence[Any] = [None] * self._caches
        videos = []
        for start in range(0, latents.shape[2], BLOCK):
            block = np.ascontiguousarray(latents[:, :, start : start + BLOCK].transpose(0, 2, 1, 3, 4))
            part = self._torch.from_numpy(block).to(self._device, self._torch.float16)
            video, cache = self._pipeline.vae_decoder(part, *cache)
            videos.append(self._array(video))
        return np.concatenate(videos, axis=1)

    def _tensor(self, array: NDArray[Any]) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self._device, self._torch.bfloat16)

    def _array(self, tensor: Any) -> NDArray[np.float32]:
        array: NDArray[np.float32] = tensor.float().cpu().numpy()
        return array


def _need(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"matrix_game2 cannot import '{name}' ({error}); clone github.com/SkyworkAI/Matrix-Game, install the "
            "requirements of its folder Matrix-Game-2, and give root=CLONE/Matrix-Game-2"
        ) from error


def _digest(path: str, option: str) -> str:
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"matrix_game2 has no file '{path}'; get huggingface.co/Skywork/Matrix-Game-2.0 and give {option}="
        )
    return digest(path)
