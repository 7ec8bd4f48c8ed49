"""Pipelines of diffusers: image to video by words (Wan, LTX, SVD and others), and Cosmos 3 by a camera path or an arm.

    worldgauge run loopnav --data D --model "cmd:conda run -n video python -m worldgauge_serve
        image_to_video.py:ImageToVideo?pipeline=/weights/Wan2.2-TI2V-5B-Diffusers&frames=81&size=832x480"
    worldgauge run mind --data D --model "cmd:conda run -n video python -m worldgauge_serve
        image_to_video.py:Cosmos3?pipeline=/weights/Cosmos3-Nano"

Needs numpy, torch, diffusers, transformers, and `worldgauge_serve` next to it, never worldgauge itself. A pipeline is a
folder with a model_index.json. The call of one that words drive must take image, height, width, num_frames,
num_inference_steps, generator and output_type; the words are given to those that take a prompt, and Stable Video
Diffusion does without.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, NotApplicable, Request, camera_control, continued, digest

DTYPES = ("bfloat16", "float16", "float32")


class ImageToVideo:
    """An image-to-video pipeline, chunk after chunk: each starts from the last frame of the one before.

    Args:
        pipeline: Folder, or a cached id of the model hub. Only safetensors are read; no code of weights runs.
        frames: Frames per call, often 4 k + 1 or 8 k + 1. Frame 0 counts as the start image and is dropped.
        size: WIDTHxHEIGHT of the pipeline; empty for that of the recording.
        fps: Rate that the pipeline was made for, such as 16 for Wan. Default: the rate of the recording.
        caption: Add the scene in a sentence to the prompt; a task without one is skipped.
        call: Further arguments of the pipeline's call, such as {"guidance_scale": 5}.
        chain: Start a new call at each new sentence (`request.prompts`), with that sentence alone.
        spread: Take frames evenly from one call, as World-in-World does; no frame then belongs to one step.
        view: "panorama" for a pipeline that was trained on them.
        download: Allow it to download the pipeline.
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
        chain: bool = False,
        backend: Any = None,
    ) -> None:
        if frames < 2:
            raise ValueError(f"image_to_video: frames is {frames}; a call makes the picture and at least 1 frame more")
        if size and not re.fullmatch(r"[1-9]\d*x[1-9]\d*", size):
            raise ValueError(f"image_to_video: size is {size!r}; give WIDTHxHEIGHT, such as 832x480")
        if chain and spread:
            raise ValueError("image_to_video: give chain or spread: one call that draws the whole walk has one text")
        _check_dtype(dtype)
        call = dict(call or {})
        self._backend = backend or _Diffusers(_folder(pipeline, download), steps, dtype, device, call)
        self._frames = frames
        self._prompt, self._caption = prompt, caption
        self._spread, self._chain = spread, chain
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
                **({"chain": True} if chain else {}),
            },
        )

    def rollout(self, request: Request) -> Iterator[NDArray[np.uint8]]:
        """Yield `horizon` frames, `frames` - 1 at a time; ValueError for wrong or not finite frames."""
        picture = request.context.clip[-1]
        if self._spread:
            seed = int(np.random.SeedSequence(request.seed).generate_state(1)[0])
            drawn = self._drawn(picture, self._words(request, request.text), seed)
            yield drawn[spread_over(self._frames, request.horizon)]
            return
        if self._chain and not request.prompts:
            raise NotApplicable("chain: this question has no sentences of single frames")

        def draw(part: Request) -> NDArray[np.uint8]:
            text = part.prompts[0].text if self._chain and part.prompts else part.text
            return self._drawn(part.context.clip[-1], self._words(request, text), part.seed)[1:]

        cuts = tuple(prompt.frame for prompt in request.prompts or ()) if self._chain else ()
        yield from continued(request, (self._frames,), draw, cuts)

    def _words(self, request: Request, text: str | None) -> str:
        words = (self._prompt, request.caption if self._caption else None, text)
        return " ".join(each.strip() for each in words if each)

    def _drawn(self, picture: NDArray[np.uint8], prompt: str, seed: int) -> NDArray[np.uint8]:
        made: NDArray[np.uint8] = self._backend(picture, prompt, self._frames, seed)
        if made.shape != (self._frames, *picture.shape):
            count, height, width = made.shape[:3]
            raise ValueError(
                f"asked for {self._frames} frames of {picture.shape[1]}x{picture.shape[0]}, the pipeline drew "
                f"{count} of {width}x{height}; give frames={count}&size={width}x{height}"
            )
        return made


class Domain(NamedTuple):
    """A domain of actions of Cosmos 3.

    Attributes:
        control: Kind of control.
        size: Width and height, in the shape of the recordings of this control.
        fps: Frames per second of its makers' examples.
        longest: Frames of one call in these examples, including the start image.
        view_point: How the camera is mounted on the actor.
    """

    control: str
    size: str
    fps: float
    longest: int
    view_point: str


DOMAINS = {
    "camera_pose": Domain("camera", "832x480", 30.0, 61, "ego_view"),
    "droid_lerobot": Domain("actions", "640x640", 15.0, 17, "third_person_view"),
    "robomind-franka": Domain("actions", "640x640", 10.0, 17, "third_person_view"),
}
CANVASES = {
    (320, 192): 256, (320, 256): 256, (256, 256): 256, (832, 480): 480, (736, 544): 480, (640, 640): 480,
    (1280, 704): 704, (1088, 832): 704, (1280, 720): 720, (1104, 832): 720, (960, 960): 720,
}  # fmt: skip
"""Its resolution tier by width and height: a picture of another size would be shrunk and filled up at its edges."""
LATENT = 4
"""Frames that share a latent, after the first one, which has its own."""
HAND = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""Axes of a camera on the hand (x right, y down, z out) in those of the hand (y across the fingers, z out)."""


class Cosmos3:
    """Cosmos 3 (`Cosmos3OmniPipeline`), driven by each step of a camera or of a Franka arm: forward dynamics.

    Args:
        pipeline: Folder, or a cached id such as nvidia/Cosmos3-Nano. Only safetensors are read.
        domain: "camera_pose" for navigation; "droid_lerobot" or "robomind-franka" for the manipulation arm.
        size: WIDTHxHEIGHT, one of `CANVASES`; empty for 832x480 of a camera, 640x640 of the arm.
        fps: Frames per second; 0 for those of its makers' examples. They recommend 10 to 30.
        longest: Frames per call, 4n + 1, including the start image; 0 for those of the examples.
        guidance: Scale of classifier-free guidance; 1 for none.
        shift: Of the noise schedule.
        scale: Units of its camera path per metre, which its makers do not state.
        download: Allow it to download the pipeline.
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        pipeline: str,
        domain: str = "camera_pose",
        size: str = "",
        fps: float = 0.0,
        longest: int = 0,
        steps: int = 30,
        guidance: float = 1.0,
        shift: float = 5.0,
        scale: float = 1.0,
        dtype: str = "bfloat16",
        device: str = "cuda",
        download: bool = False,
        backend: Any = None,
    ) -> None:
        _check_dtype(dtype)
        sizes = {f"{width}x{height}": (width, height) for width, height in CANVASES}
        if domain not in DOMAINS:
            raise ValueError(f"cosmos3: domain is {domain!r}; give one of {', '.join(DOMAINS)}")
        self._domain, known = domain, DOMAINS[domain]
        if (size or known.size) not in sizes:
            raise ValueError(f"cosmos3: size is {size!r}; give one of {', '.join(sizes)}")
        self._longest, self._fps = longest or known.longest, fps or known.fps
        if self._longest < 1 + LATENT or self._longest % LATENT != 1:
            raise ValueError(f"cosmos3: longest is {longest}; give 5, 9, 13 and so on, 4 more at a time")
        if self._fps < 0 or steps < 1 or scale <= 0:
            raise ValueError("cosmos3: fps is not below 0, steps are at least 1, scale is above 0")
        self._scale, self._size = scale, sizes[size or known.size]
        self._backend = backend or _Cosmos(
            _folder(pipeline, download), steps, guidance, shift, dtype, device, CANVASES[self._size]
        )
        is_camera = known.control == "camera"
        self.spec = ModelSpec(
            Path(pipeline).name,
            control=known.control,
            frame_size=self._size,
            fps=self._fps,
            # Where the hand is now stands in the action that led to it.
            max_context=1 if is_camera else 2,
            chunk=self._longest - 1,
            lengths=f"{LATENT}n+1",
            inputs=("caption",) if is_camera else ("text",),
            crop=self._size,
            action_spaces=None if is_camera else ("hand-poses",),
            settings={
                **self._backend.identity,
                **{"domain": domain, "longest": self._longest, "steps": steps, "guidance": guidance, "shift": shift},
                **({"scale": scale} if is_camera else {}),
                "dtype": dtype,
            },
        )

    def rollout(self, request: Request) -> Iterator[NDArray[np.uint8]]:
        """Yield `horizon` frames, call by call; NotApplicable if the camera path is unknown."""
        yield from continued(request, f"{LATENT}n+1 to {self._longest}", self._drawn)

    def _drawn(self, part: Request) -> NDArray[np.uint8]:
        width, height = self._size
        if DOMAINS[self._domain].control == "camera":
            rows, words = camera_steps(camera_control(part, scale=self._scale).poses), part.caption
        else:
            rows, words = hand_steps(part), part.text
        view_point = DOMAINS[self._domain].view_point
        made = self._backend(part.context.clip[-1], words or "", rows, self._domain, view_point, self._fps, part.seed)
        if made.shape != (len(rows) + 1, height, width, 3):
            raise ValueError(f"cosmos3: drew frames of shape {made.shape}, not {(len(rows) + 1, height, width, 3)}")
        frames: NDArray[np.uint8] = made[1:]
        return frames


def camera_steps(poses: NDArray[np.float64]) -> NDArray[np.float32]:
    """Steps (n, 9) of poses (n + 1, 4, 4), each in the frame before it: translation, two columns of rotation."""
    steps = np.linalg.inv(poses[:-1]) @ poses[1:]
    return np.concatenate([steps[:, :3, 3], steps[:, :3, 0], steps[:, :3, 1]], axis=1).astype(np.float32)


def hand_steps(request: Request) -> NDArray[np.float32]:
    """Steps (horizon, 10) of a hand: as `camera_steps` of a camera on the hand, then the gripper, 0 closed to 1 open.
    If the present pose is unknown, the first step equals the second."""
    future = request.actions
    assert future is not None
    before = request.context.actions.values[-1:]
    names = [axis.name for axis in future.space.axes]
    columns = [names.index(name) for name in ("x", "y", "z", "roll", "pitch", "yaw", "gripper")]
    rows = np.concatenate([before, future.values])[:, columns].astype(np.float64)
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3, :3] = _turns(rows[:, 3:6]) @ HAND
    poses[:, :3, 3] = rows[:, :3]
    steps = camera_steps(poses)
    if not len(before):
        first = steps[:1] if len(steps) else camera_steps(np.tile(np.eye(4), (2, 1, 1)))
        steps = np.concatenate([first, steps])
    return np.concatenate([steps, rows[len(before) :, 6:]], axis=1).astype(np.float32)


def _turns(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotations (n, 3, 3) about the fixed axes x, then y, then z, by angles (n, 3) in radians."""
    whole = np.tile(np.eye(3), (len(angles), 1, 1))
    for axis in range(3):
        one, c, s = np.tile(np.eye(3), (len(angles), 1, 1)), np.cos(angles[:, axis]), np.sin(angles[:, axis])
        j, k = (axis + 1) % 3, (axis + 2) % 3
        one[:, j, j], one[:, j, k], one[:, k, j], one[:, k, k] = c, -s, s, c
        whole = one @ whole
    return whole


def spread_over(count: int, horizon: int) -> NDArray[np.int64]:
    """Indices (horizon,) of clip frames, a uniform grid in whole numbers; frame 0 is the start image. A clip that is
    too short repeats its last frame."""
    steps = np.arange(1, horizon + 1)
    return steps * (count - 1) // horizon if count > horizon else np.minimum(steps, count - 1)


class _Diffusers:
    """A pipeline that is loaded."""

    def __init__(self, folder: Path, steps: int, dtype: str, device: str, call: Mapping[str, Any]) -> None:
        torch, diffusers = _import("torch"), _import("diffusers")
        _refuse_code(folder, diffusers.pipelines)
        self.identity = {"weights": digest(folder)}
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
        return _levels(made)


class _Cosmos:
    """Cosmos 3, loaded."""

    def __init__(
        self, folder: Path, steps: int, guidance: float, shift: float, dtype: str, device: str, tier: int
    ) -> None:
        self._torch, diffusers = _import("torch"), _import("diffusers")
        if not hasattr(diffusers, "Cosmos3OmniPipeline"):
            raise ImportError(f"Cosmos 3 needs diffusers 0.42 or newer, and this is {diffusers.__version__}")
        _refuse_code(folder, diffusers.pipelines)
        self.identity = {"weights": digest(folder)}
        self._condition = diffusers.CosmosActionCondition
        self._image = _import("PIL.Image").fromarray
        self._pipe = diffusers.Cosmos3OmniPipeline.from_pretrained(
            str(folder),
            torch_dtype=getattr(self._torch, dtype),
            use_safetensors=True,
            local_files_only=True,
            # A frame that the guardrail blurs or withholds would be measured as the model's own.
            enable_safety_checker=False,
        ).to(device)
        self._pipe.set_progress_bar_config(disable=True)
        self._pipe.scheduler = type(self._pipe.scheduler).from_config(self._pipe.scheduler.config, flow_shift=shift)
        self._tier = tier
        self._call = {"num_inference_steps": steps, "guidance_scale": guidance, "output_type": "np"}

    def __call__(
        self,
        picture: NDArray[np.uint8],
        words: str,
        rows: NDArray[np.float32],
        domain: str,
        view_point: str,
        fps: float,
        seed: int,
    ) -> NDArray[np.uint8]:
        """n + 1 frames (H, W, 3) that begin with `picture`, for n steps (n, D)."""
        condition = self._condition(
            mode="forward_dynamics",
            chunk_size=len(rows),
            domain_name=domain,
            resolution_tier=self._tier,
            raw_actions=self._torch.from_numpy(rows),
            image=self._image(picture),
            view_point=view_point,
        )
        made = self._pipe(
            prompt=words,
            action=condition,
            fps=fps,
            use_system_prompt=False,
            # On the CPU: the same noise whatever the device.
            generator=self._torch.Generator("cpu").manual_seed(seed),
            **self._call,
        )
        return _levels(made.video)


def _levels(made: Any) -> NDArray[np.uint8]:
    """Frames in 0..1 as grey levels. Raises ValueError for values that are not finite."""
    values = np.asarray(made, np.float32)
    if not np.isfinite(values).all():
        raise ValueError("the pipeline drew values that are not finite; with float16, try bfloat16 or float32")
    return (values.clip(0, 1) * 255).round().astype(np.uint8)


def _check_dtype(dtype: str) -> None:
    if dtype not in DTYPES:
        raise ValueError(f"image_to_video: dtype is {dtype!r}; give one of {', '.join(DTYPES)}")


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
    index = json.loads((folder / "model_index.json").read_text("utf-8-sig"))
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
