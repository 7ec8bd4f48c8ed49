"""Image-to-video pipelines of diffusers (Wan, LTX, CogVideoX, Stable Video Diffusion and others), driven by words.

    worldgauge run loopnav --data D --model "cmd:conda run -n video python -m worldgauge_serve
        image_to_video.py:ImageToVideo?pipeline=/weights/Wan2.2-TI2V-5B-Diffusers&frames=81&size=832x480"

Needs numpy, torch, diffusers, transformers, and `worldgauge_serve` next to it, never worldgauge itself. A pipeline is a
folder with a model_index.json. Its call must take image, height, width, num_frames, num_inference_steps, generator and
output_type; the words are given to those that take a prompt, and Stable Video Diffusion does without.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, Request

DTYPES = ("bfloat16", "float16", "float32")
KINDS = (".json", ".safetensors", ".txt", ".model")
"""Files of a pipeline that make what it draws."""


class ImageToVideo:
    """An image-to-video pipeline, chunk after chunk: each starts from the last frame of the one before.

    Every chunk is given the words for the whole walk, and, unless `spread`, frames are taken one by one, at the rate of
    the recording or at `fps`. Only safetensors are read, and no code that comes with weights is run.

    Args:
        pipeline: Folder, or an id of the model hub that is in the local cache.
        frames: Frames per call, the start image among them; many pipelines take 4 k + 1 or 8 k + 1 only. Frame 0 of a
            call is taken to be that image and dropped, and so are surplus frames of the last call.
        size: WIDTHxHEIGHT the pipeline draws at; empty for that of the recording.
        steps: Denoising steps.
        prompt: Words put before the walk.
        fps: Frames a second that the pipeline was made for, such as 16 for Wan; it is then asked at that rate for the
            same seconds. By default its frames are taken at the rate of the recording.
        caption: Put the scene in a sentence between those words and the walk; a task that has none is skipped.
        call: Further arguments of the pipeline's call, such as {"guidance_scale": 5}.
        spread: One call draws the whole horizon, and frames are taken evenly from it, as World-in-World does; no frame
            then belongs to one step.
        view: "panorama" for a pipeline that was trained on them.
        dtype: Floating point type of the weights.
        download: Allow it to download the pipeline.
        device: As torch names it.
        backend: Replaces the pipeline, for tests.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        pipeline: str,
        frames: int = 25,
        steps: int = 25,
        size: str = "",
        prompt: str = "",
        dtype: str = "bfloat16",
        device: str = "cuda",
        download: bool = False,
        call: Mapping[str, Any] | None = None,
        spread: bool = False,
        view: str = "perspective",
        caption: bool = False,
        fps: float | None = None,
        backend: Any = None,
    ) -> None:
        if frames < 2:
            raise ValueError(f"image_to_video: frames is {frames}; a call makes the picture and at least 1 frame more")
        if size and not re.fullmatch(r"[1-9]\d*x[1-9]\d*", size):
            raise ValueError(f"image_to_video: size is {size!r}; give WIDTHxHEIGHT, such as 832x480")
        if dtype not in DTYPES:
            raise ValueError(f"image_to_video: dtype is {dtype!r}; give one of {', '.join(DTYPES)}")
        call = dict(call or {})
        self._backend = backend or _Diffusers(_folder(pipeline, download), steps, dtype, device, call)
        self._frames = frames
        self._prompt, self._caption = prompt, caption
        self._spread = spread
        width, _, height = size.partition("x")
        self.spec = ModelSpec(
            Path(pipeline).name,
            control="text",
            view=view,
            frame_size=(int(width), int(height)) if size else None,
            fps=fps,
            max_context=1,
            chunk=None if spread else frames - 1,
            inputs=("caption",) if caption else (),
            settings={
                **self._backend.identity,
                **{"frames": frames, "steps": steps, "prompt": prompt, "dtype": dtype, "call": call},
                **({"spread": True} if spread else {}),
            },
        )

    def rollout(self, request: Request) -> Iterator[NDArray[np.uint8]]:
        """Yield `horizon` frames, `frames` - 1 at a time.

        Raises:
            ValueError: The pipeline draws another number or size of frames, or values that are not finite.
        """
        picture = request.context.clip[-1]
        words = (self._prompt, request.caption if self._caption else None, request.text)
        prompt = " ".join(each.strip() for each in words if each)
        if self._spread:
            seed = int(np.random.SeedSequence(request.seed).generate_state(1)[0])
            yield self._drawn(picture, prompt, seed)[spread_over(self._frames, request.horizon)]
            return
        done = 0
        for number in range(-(-request.horizon // (self._frames - 1))):
            # A seed of its own: with the same one, every chunk would make the same move.
            seed = int(np.random.SeedSequence([request.seed, number]).generate_state(1)[0])
            made = self._drawn(picture, prompt, seed)
            picture = made[-1]
            yield made[1 : 1 + request.horizon - done]
            done += self._frames - 1

    def _drawn(self, picture: NDArray[np.uint8], prompt: str, seed: int) -> NDArray[np.uint8]:
        made: NDArray[np.uint8] = self._backend(picture, prompt, self._frames, seed)
        if made.shape != (self._frames, *picture.shape):
            count, height, width = made.shape[:3]
            raise ValueError(
                f"asked for {self._frames} frames of {picture.shape[1]}x{picture.shape[0]}, the pipeline drew "
                f"{count} of {width}x{height}; give frames={count}&size={width}x{height}"
            )
        return made


def spread_over(count: int, horizon: int) -> NDArray[np.int64]:
    """Choose which frames of a generated clip stand for the frames asked for: a uniform grid in whole numbers.

    Args:
        count: Length of the clip; its first frame is the image shown.
        horizon: Number of frames after it.

    Returns:
        (horizon,) indices; the last one is repeated where the clip is too short.
    """
    steps = np.arange(1, horizon + 1)
    return steps * (count - 1) // horizon if count > horizon else np.minimum(steps, count - 1)


class _Diffusers:
    """A pipeline that is loaded."""

    def __init__(self, folder: Path, steps: int, dtype: str, device: str, call: Mapping[str, Any]) -> None:
        torch, diffusers = _import("torch"), _import("diffusers")
        _refuse_code(folder, diffusers.pipelines)
        self.identity = {"weights": _digest(folder)}
        self._generator = torch.Generator
        self._image = _import("PIL.Image").fromarray
        self._pipe = diffusers.DiffusionPipeline.from_pretrained(
            str(folder), torch_dtype=getattr(torch, dtype), use_safetensors=True, local_files_only=True
        ).to(device)
        self._pipe.set_progress_bar_config(disable=True)
        takes = set(inspect.signature(self._pipe.__call__).parameters)
        ours = {"image", "height", "width", "num_frames", "num_inference_steps", "generator", "output_type"}
        if not ours <= takes:
            lacks = ", ".join(sorted(ours - takes))
            raise ValueError(
                f"{folder}: {type(self._pipe).__name__} is no image-to-video pipeline: it takes no {lacks}"
            )
        if unknown := set(call) - (takes - ours - {"prompt"}):
            raise ValueError(f"{folder}: {type(self._pipe).__name__} takes no {', '.join(sorted(unknown))} from call")
        self._takes_prompt = "prompt" in takes
        self._call = {**call, "num_inference_steps": steps, "output_type": "np"}

    def __call__(self, picture: NDArray[np.uint8], prompt: str, frames: int, seed: int) -> NDArray[np.uint8]:
        """`frames` frames (n, H, W, 3) that go on from `picture` (H, W, 3)."""
        made = self._pipe(
            image=self._image(picture),
            height=picture.shape[0],
            width=picture.shape[1],
            num_frames=frames,
            # On the CPU: the same noise whatever the device.
            generator=self._generator("cpu").manual_seed(seed),
            **({"prompt": prompt} if self._takes_prompt else {}),
            **self._call,
        ).frames[0]
        values = np.asarray(made, np.float32)
        if not np.isfinite(values).all():
            raise ValueError("the pipeline drew values that are not finite; with float16, try bfloat16 or float32")
        return (values.clip(0, 1) * 255).round().astype(np.uint8)


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"image_to_video needs torch, diffusers and transformers in its environment ({error})"
        ) from error


def _folder(pipeline: str, download: bool) -> Path:
    """Where a pipeline lies on this machine."""
    folder = Path(pipeline).expanduser()
    if (folder / "model_index.json").is_file():
        return folder
    if folder.exists():
        raise ValueError(f"image_to_video: {folder} holds no model_index.json, so it is no pipeline of diffusers")
    source = _import("diffusers").DiffusionPipeline
    try:
        return Path(source.download(pipeline, use_safetensors=True, local_files_only=not download))
    except (OSError, ValueError) as error:
        first = str(error).strip().split("\n")[0]
        raise ValueError(
            f"image_to_video: {pipeline} is no folder here, and not in the cache of the model hub ({first}); "
            "give a folder, or download=true to fetch it"
        ) from error


def _refuse_code(folder: Path, known: Any) -> None:
    """Every part must be a class of diffusers or transformers, whatever that version of diffusers would load."""
    index = json.loads((folder / "model_index.json").read_text("utf-8"))
    parts = {name: entry for name, entry in index.items() if not name.startswith("_") and isinstance(entry, list)}
    own = [] if isinstance(index.get("_class_name"), str) else ["_class_name"]
    for name, (library, _) in parts.items():
        if library is None:
            continue
        is_known = library in ("diffusers", "transformers") or hasattr(known, str(library))
        if not is_known or (folder / name / f"{library}.py").exists():
            own.append(name)
    if own:
        raise ValueError(f"image_to_video: {folder} brings code of its own for {', '.join(own)}, which is not run")


def _digest(folder: Path) -> str:
    """SHA-256 over names and contents of all that makes the pipeline; about a second a GB."""
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in KINDS and path.is_file()):
        one = hashlib.sha256()
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                one.update(block)
        whole.update(f"{path.relative_to(folder).as_posix()}\0{one.hexdigest()}\n".encode())
    return whole.hexdigest()
