"""World-in-World's post-trained Stable Video Diffusion for steps of a walk or poses of a hand, in stock diffusers.

    worldgauge run worldinworld --data D --set task=navigation --model "cmd:conda run -n svd python -m worldgauge_serve
        wiw_svd.py:WiwSvd?weights=/w/checkpoint-6000&base=/w/stable-video-diffusion-img2vid"

Needs numpy, torch, diffusers, transformers, and `worldgauge_serve` next to it, never worldgauge itself. The network is
the library's own, with ten more tensors at its hooks; the channels of one of them say which of the two tasks it is for.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge_serve import ModelSpec, NotApplicable, Request, continued, digest, note

FRAMES = 14
PANORAMA_TURN = 16
"""Turns of 22.5 degrees around a panorama: its noise is rolled by this part of its width."""
FREQUENCIES = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
FIRST, PADDING = 4, 1
"""Ids of the frame that is shown, and of those beyond the plan: forward."""
FPS, MOTION, NOISE = 7, 127, 0.02
CENTRE, SPAN = np.array([0.2, 0.0, 1.1]), 1.0
"""Of the workspace of the hand, metres."""
HOME = (-0.0031, 0.0, 1.2369, np.pi, 0.0, 0.0, 1.0)
NAME = "diffusion_pytorch_model"
FILES = tuple(
    f"{NAME}{end}"
    for end in (".safetensors", ".safetensors.index.json", ".fp16.safetensors", ".safetensors.index.fp16.json")
)
CHANNELS = "add_action_proj.proj.weight"
PARTS = ("feature_extractor", "image_encoder", "scheduler", "vae")
MOST, MOST_LAYERS = 8192, 8
"""Of any number in a config.json, and of those that count layers."""


class Checkpoint(NamedTuple):
    """What a checkpoint was trained for. Where a hand is now stands in the action that led to it, so in a context of 2.

    Attributes:
        space: Name of the actions.
        size: Width and height.
        context: Frames that it is shown, of which it takes the last.
    """

    space: str
    view: str
    size: tuple[int, int]
    context: int


TASKS = {
    14: Checkpoint("nav-steps", "panorama", (1024, 576), 1),
    10: Checkpoint("hand-poses", "perspective", (448, 448), 2),
}
"""By the number of channels per frame."""


class WiwSvd:
    """SVD of World-in-World (igen, igenex): 13 frames per call, each conditioned on its own step or pose.

    Args:
        weights: Folder of the checkpoint, or of its unet. Only safetensors are read.
        base: Folder of stable-video-diffusion-img2vid, for all but the network.
        squash: Side in pixels of the square through which the published frames go; 0 for none.
        features: "half" computes the features of actions in float16, as the release does.
        low: Guidance of the first frame; that of the last is `high`.
        home: Pose of the hand before its first action, which requests do not hold.
        device: Float16 on "cuda", float32 on "cpu".
    """

    needs: ClassVar[dict[str, float]] = {"gpus": 1}

    def __init__(
        self,
        weights: str = "",
        base: str = "",
        squash: int = 0,
        features: str = "float",
        steps: int = 30,
        low: float = 1.0,
        high: float = 3.0,
        home: Sequence[float] = HOME,
        device: str = "cuda",
        backend: Any = None,
    ) -> None:
        if features not in ("float", "half"):
            raise ValueError(f"svd-dagger: features is {features!r}; give 'float' or 'half'")
        if not (1 <= steps <= 1000 and 0 <= squash <= 4096 and 0 <= low <= high <= 100):
            raise ValueError("svd-dagger: steps are 1 to 1000, squash 0 to 4096 px, and low to high within 0 to 100")
        if len(home) != len(HOME):
            raise ValueError(f"svd-dagger: home is {list(home)}; give x, y, z, roll, pitch, yaw and the gripper")
        self._backend = backend or _Stock(Path(weights), Path(base), features == "half", steps, low, high, device)
        self._squash, self._home, self._task = squash, home, TASKS[self._backend.channels]
        self.spec = ModelSpec(
            "svd-dagger",
            control="actions",
            view=self._task.view,
            frame_size=self._task.size,
            max_context=self._task.context,
            chunk=FRAMES - 1,
            action_spaces=(self._task.space,),
            settings={
                **self._backend.identity,
                **{"squash": squash, "features": features, "steps": steps, "low": low, "high": high},
                **({"home": list(home)} if self._task.space == "hand-poses" else {}),
            },
        )

    def rollout(self, request: Request) -> Iterator[NDArray[np.uint8]]:
        """Yield `horizon` frames, call by call; NotApplicable for a step without a key."""
        future = request.actions
        if future is None or future.space.name != self._task.space:
            raise NotApplicable(f"svd-dagger takes actions of {self._task.space}")
        if self._task.space == "nav-steps" and not (np.asarray(future.values) > 0.5).any(1).all():
            raise NotApplicable("svd-dagger knows forward, left and right, and a step of this plan is none of them")
        if request.horizon >= FRAMES:
            note(f"svd-dagger: {request.horizon} frames are asked for; each call of {FRAMES - 1} starts from the last")
        yield from continued(request, (FRAMES,), self._generate)

    def _generate(self, part: Request) -> NDArray[np.uint8]:
        is_walk = self._task.space == "nav-steps"
        rows, rolls = step_rows(part.actions) if is_walk else (hand_rows(part, self._home), ())
        made: NDArray[np.uint8] = self._backend(part.context.clip[-1], rows, rolls, part.seed)
        width, height = self._task.size
        if made.shape != (FRAMES, height, width, 3):
            raise ValueError(f"svd-dagger: made frames of shape {made.shape}, not {(FRAMES, height, width, 3)}")
        return squashed(made[1:], self._squash) if self._squash else made[1:]


def step_rows(actions: Any) -> tuple[NDArray[np.float64], Sequence[int]]:
    """Rows (14, 14) of 13 steps, row i with ids 0 to i as worldgauge's `micro_cond`; and how noise is rolled, (14,): 1
    for a frame after a turn to the left, -1 to the right. Ids are forward 1, left 2, right 3."""
    keys = np.stack([actions.column(name) for name in ("forward", "turn_left", "turn_right")], 1) > 0.5
    ids = np.array([FIRST, *np.where(keys.any(1), keys.argmax(1) + 1, PADDING)])
    return np.tril(np.tile(ids.astype(np.float64), (len(ids), 1))), [int(one == 2) - int(one == 3) for one in ids]


def hand_rows(request: Request, home: Sequence[float]) -> NDArray[np.float64]:
    """Rows (14, 10) of the present pose, or home, and the next 13: place, two columns of the rotation, and gripper, as
    angles. The hand of the release is ours turned by half about the way it points: both columns change signs."""
    names = ("x", "y", "z", "roll", "pitch", "yaw", "gripper")
    given: Any = (request.context.actions, request.actions)
    rows = np.concatenate([np.stack([each.column(name) for name in names], 1) for each in given]).astype(np.float64)
    if len(rows) < FRAMES:
        note("svd-dagger: the request does not hold the present pose of the hand; home is taken")
        rows = np.concatenate([[home], rows])
    rows = rows[-FRAMES:]
    place = np.clip(2 * (rows[:, :3] - CENTRE) / SPAN, -1, 1) * 2 * np.pi
    columns = -np.pi * np.stack([rotation(row) for row in rows[:, 3:6]])[:, :, :2].reshape(-1, 6)
    return np.column_stack([place, columns, (2 * rows[:, 6] - 1) * np.pi])


def rotation(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matrix (3, 3) of turns by angles (3,) about the fixed axes x, then y, then z, radians."""
    (a, b, c), (p, q, r) = np.cos(angles), np.sin(angles)
    x, y, z = [[1, 0, 0], [0, a, -p], [0, p, a]], [[b, 0, q], [0, 1, 0], [-q, 0, b]], [[c, -r, 0], [r, c, 0], [0, 0, 1]]
    return np.asarray(np.array(z) @ y @ x)


def squashed(frames: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Frames (n, H, W, 3) shrunk to a square and stretched back, bicubic both times."""
    from PIL import Image

    size, square = frames.shape[2:0:-1], (side, side)
    there = [Image.fromarray(frame).resize(square, Image.Resampling.BICUBIC) for frame in frames]
    return np.stack([np.asarray(one.resize(size, Image.Resampling.BICUBIC)) for one in there])


def features(torch: Any, rows: Any, half: bool) -> Any:
    """Of rows (..., C) the cosine and sine of each number times each frequency, (..., 12 C)."""
    numbers = rows.to(torch.float16 if half else torch.float32)[..., None]
    angles = numbers * torch.tensor(FREQUENCIES, dtype=numbers.dtype, device=numbers.device)
    return torch.stack([angles.cos(), angles.sin()], -1).flatten(-3)


class Conditioned:
    """A stock UNetSpatioTemporalConditionModel with the ten tensors of the release, which hooks add."""

    def __init__(self, unet: Any, channels: int, half: bool = False) -> None:
        import torch
        from diffusers.models.embeddings import TimestepEmbedding
        from diffusers.models.resnet import SpatioTemporalResBlock

        size, width = unet.config.addition_time_embed_dim, unet.time_embedding.linear_2.out_features
        unet.add_action_proj = torch.nn.ModuleDict({"proj": torch.nn.Linear(12 * channels, size)})
        unet.add_embedding_action = TimestepEmbedding(size, width)
        unet.add_embedding_noise = TimestepEmbedding(size, width)
        self.unet, self._half, self._actions = unet, half, None
        # The embedding of fps, motion and noise is one of the noise alone, whose sinusoid is the last of three.
        unet.add_embedding.register_forward_hook(
            lambda module, args, made: unet.add_embedding_noise(args[0][:, -size:].to(made.dtype))
        )
        for module in unet.modules():
            if isinstance(module, SpatioTemporalResBlock):
                module.register_forward_pre_hook(self._before, with_kwargs=True)

    def condition_on(self, rows: Any) -> None:
        """Condition the next calls on rows (plans, frames, channels)."""
        import torch

        unet = self.unet
        made = features(torch, rows, self._half).to(unet.add_action_proj["proj"].weight)
        self._actions = unet.add_embedding_action(unet.add_action_proj["proj"](made)).flatten(0, 1)

    def _before(self, module: Any, args: tuple[Any, ...], values: Mapping[str, Any]) -> Any:
        level, actions = (values["temb"] if "temb" in values else args[1]), self._actions
        if actions is None:
            raise RuntimeError("svd-dagger: condition_on was not called")
        # Guidance puts all plans twice, one after another, and not each frame twice.
        both = level + actions.repeat(len(level) // len(actions), 1)
        if "temb" in values:
            return args, {**values, "temb": both}
        return (args[0], both, *args[2:]), values


def open_unet(folder: Path, base: Path, half: bool = False) -> tuple[Conditioned, int, Path]:
    """The network of a checkpoint, its channels, and its folder; shapes are checked before numbers are read."""
    import torch
    from diffusers import UNetSpatioTemporalConditionModel
    from safetensors import safe_open
    from safetensors.torch import load_file

    files = files_of(folder)
    place = files[0].parent
    own = config_of(place)
    if own.get("num_frames", FRAMES) != FRAMES:
        raise ValueError(f"svd-dagger: {place} draws {own['num_frames']} frames, not {FRAMES}")
    there: dict[str, list[int]] = {}
    for path in files:
        with safe_open(str(path), "pt") as held:
            there.update({name: held.get_slice(name).get_shape() for name in held.keys()})  # noqa: SIM118
    channels = [0, *there.get(CHANNELS, [])][-1] / 12
    if channels not in TASKS:
        known = " or ".join(map(str, TASKS))
        raise ValueError(f"svd-dagger: {place}: {CHANNELS} is of {channels:g} numbers per frame, not of {known}")
    with torch.device("meta"):
        unet = UNetSpatioTemporalConditionModel.from_config({**config_of(base / "unet"), **own, "num_frames": FRAMES})
        made = Conditioned(unet, int(channels), half)
    wanted = {name: list(value.shape) for name, value in unet.state_dict().items()}
    if wrong := sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name)):
        raise ValueError(f"svd-dagger: {place}: {len(wrong)} tensors do not fit its config.json, such as {wrong[0]}")
    unet.load_state_dict({name: one for path in files for name, one in load_file(str(path)).items()}, assign=True)
    unet.eval()
    return made, int(channels), place


def files_of(folder: Path) -> list[Path]:
    """The safetensors of a checkpoint; ValueError that lists what was looked for."""
    inner = sorted(path / "unet" for path in folder.glob("checkpoint-*"))
    found = [place / name for place in (folder, folder / "unet", *inner) for name in FILES if (place / name).is_file()]
    if len({path.parent for path in found}) != 1:
        many = f"several checkpoints ({', '.join(sorted({str(path.parent) for path in found}))})"
        raise ValueError(
            f"svd-dagger: weights={folder} holds {many if found else 'no checkpoint'}; looked in it, in unet and in "
            f"checkpoint-N/unet for {', '.join(FILES)}"
        )
    if found[0].suffix == ".safetensors":
        return found[:1]
    names = set(json.loads(found[0].read_text("utf-8"))["weight_map"].values())
    files = [found[0].parent / Path(name).name for name in sorted(names)]
    for path in files:
        if path.suffix != ".safetensors" or not path.is_file():
            raise ValueError(f"svd-dagger: {found[0]} names {path.name}, which is no safetensors file beside it")
    return files


def config_of(folder: Path) -> dict[str, Any]:
    """What a config.json says of a network, each number within limits."""
    path = folder / "config.json"
    if not path.is_file() or path.stat().st_size > 1 << 20:
        raise ValueError(f"svd-dagger: {path} is no description of a network; looked for a config.json of up to 1 MiB")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    for name, value in found.items():
        most = MOST_LAYERS if "layers" in name else MOST
        listed = value if isinstance(value, list) else [value]
        flat = [one for part in listed for one in (part if isinstance(part, list) else [part])]
        numbers = [one for one in flat if isinstance(one, (int, float))]
        if len(flat) > MOST_LAYERS or not all(0 <= one <= most for one in numbers):
            raise ValueError(f"svd-dagger: {path}: {name} is {str(value)[:40]}; up to {most} are known")
    return {name: value for name, value in found.items() if name[0] != "_"}


class _Stock:
    """The pipeline of diffusers with a checkpoint in it."""

    def __init__(self, weights: Path, base: Path, half: bool, steps: int, low: float, high: float, device: str) -> None:
        try:
            import diffusers
            import torch
            import transformers
            from PIL import Image
        except ImportError as error:
            raise ImportError(f"svd-dagger needs torch, diffusers and transformers here ({error})") from error
        if lacking := [name for name in (*PARTS, "unet") if not (base / name).is_dir()]:
            raise ValueError(f"svd-dagger: base={base} has no folder {lacking[0]}; give stable-video-diffusion-img2vid")
        if (found := config_of(base / "unet").get("num_frames")) != FRAMES:
            warnings.warn(f"svd-dagger: base={base} is of {found} frames; the release took that of 14", stacklevel=3)
        self._conditioned, self.channels, place = open_unet(weights, base, half)
        self.identity = {"weights": digest(place), "base": {name: digest(base / name) for name in PARTS}}
        parts: dict[str, Any] = {"unet": self._conditioned.unet}
        # Each part by its class: a pipeline's own list may name code that comes with it.
        classes: tuple[Any, ...] = (transformers.CLIPImageProcessor, transformers.CLIPVisionModelWithProjection)
        classes += (diffusers.EulerDiscreteScheduler, diffusers.AutoencoderKLTemporalDecoder)
        for name, made in zip(PARTS, classes):
            read: dict[str, Any] = {"use_safetensors": True} if name in PARTS[1::2] else {}
            if list((base / name).glob("*.fp16.safetensors")):
                read["variant"] = "fp16"
            parts[name] = made.from_pretrained(str(base), subfolder=name, local_files_only=True, **read)
        dtype = torch.float16 if torch.device(device).type == "cuda" else torch.float32
        self._pipe = diffusers.StableVideoDiffusionPipeline(**parts).to(device, dtype)
        self._pipe.set_progress_bar_config(disable=True)
        self._torch, self._dtype, self._image = torch, dtype, Image.fromarray
        self._call = {"num_inference_steps": steps, "min_guidance_scale": low, "max_guidance_scale": high}

    def __call__(
        self, picture: NDArray[np.uint8], rows: NDArray[np.float64], rolls: Sequence[int], seed: int
    ) -> NDArray[np.uint8]:
        """14 frames (H, W, 3) that begin with `picture`."""
        torch, pipe, (height, width) = self._torch, self._pipe, picture.shape[:2]
        with torch.no_grad():
            self._conditioned.condition_on(torch.from_numpy(rows)[None].to(pipe.device))
        made = pipe(
            image=self._image(picture),
            height=height,
            width=width,
            generator=torch.Generator("cpu").manual_seed(seed),
            latents=self._noise(rolls, height, width, seed),
            num_frames=FRAMES,
            fps=FPS,
            motion_bucket_id=MOTION,
            noise_aug_strength=NOISE,
            decode_chunk_size=FRAMES,
            output_type="np",
            **self._call,
        ).frames[0]
        if not np.isfinite(made).all():
            raise ValueError("svd-dagger: the pipeline made values that are not finite")
        return (np.asarray(made).clip(0, 1) * 255).round().astype(np.uint8)

    def _noise(self, rolls: Sequence[int], height: int, width: int, seed: int) -> Any:
        """First noise: what the pipeline draws after that of the picture; frames of a turn have that before, rolled."""
        torch, shrink = self._torch, self._pipe.vae_scale_factor
        generator = torch.Generator("cpu").manual_seed(seed)
        torch.randn((1, 3, height, width), generator=generator)
        planes, size = self._pipe.unet.config.in_channels // 2, (height // shrink, width // shrink)
        noise = torch.randn((1, FRAMES, planes, *size), generator=generator, dtype=self._dtype)
        for frame, roll in enumerate(rolls):
            if roll:
                noise[:, frame] = noise[:, frame - 1].roll(int(roll) * (size[1] // PANORAMA_TURN), -1)
        return noise
