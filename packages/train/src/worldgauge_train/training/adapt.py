"""Recipes for brought pipelines, walks in words, and clips for the papers' own trainer, DiffSynth-Studio."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from worldgauge.core.actions import Actions
from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import write_file
from worldgauge.core.video import Writer
from worldgauge.models.baselines.tiny import Told
from worldgauge.worlds.walking.primitives import NAV_STEPS, Primitive, render_text
from worldgauge_train.training.clip import TrainingClip
from worldgauge_train.training.recipe import changed, read_recipe

Prompted = Literal["", "text", "nav/v1"]
Schedule = Literal["constant", "cosine"]


@dataclass(frozen=True)
class Adaptation:
    """How an external pipeline is post-trained.

    Attributes:
        weights: "lora", at scale alpha / rank beside the layers `targets`, or "all" weights of its network.
        actions: Whether actions are injected into the embedding of the noise level.
        conditioning: "injection", or "ids" of steps by the ten tensors of World-in-World's SVD.
        told: Inputs from an action, as in `recipe.Recipe`; so are stride and parts.
        prompt: "" for none, "text" for that of the clip, "nav/v1" for the steps of an episode in words.
        size: (width, height) in pixels.
        frames: Frames of a clip, including the image that it begins with.
        epochs: How often each clip is used, on average.
        steps: Training steps; 0 for those of the epochs.
        warm_up: Steps until the learning rate is reached.
        average: Decay of the average of the weights; 0 for those of the last step.
        shift: Shift of the noise levels; 0 for the pipeline's own.
    """

    weights: str = "lora"
    rank: int = 32
    alpha: int = 32
    targets: tuple[str, ...] = ("q", "k", "v", "o", "ffn.0", "ffn.2")
    actions: bool = True
    conditioning: str = "injection"
    told: Told = "both"
    prompt: str = ""
    size: tuple[int, int] = (832, 480)
    frames: int = 81
    stride: int = 1
    batch: int = 1
    parts: int = 1
    epochs: int = 1
    steps: int = 0
    learning_rate: float = 1e-5
    schedule: str = "constant"
    warm_up: int = 0
    decay: float = 0.01
    clip_norm: float = 1.0
    average: float = 0.0
    shift: float = 0.0
    checkpointing: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        """Check all values."""
        for name, fine, rule in (
            ("weights", self.weights in ("lora", "all"), "lora or all"),
            ("conditioning", self.conditioning in ("injection", "ids"), "injection or ids"),
            ("told", self.told in get_args(Told), f"one of {', '.join(get_args(Told))}"),
            ("prompt", self.prompt in get_args(Prompted), "text, nav/v1 or nothing"),
            ("schedule", self.schedule in get_args(Schedule), f"one of {', '.join(get_args(Schedule))}"),
            ("size", len(self.size) == 2 and all(8 <= side <= 4096 and side % 4 == 0 for side in self.size),
             "width and height, multiples of 4"),
            ("frames", 2 <= self.frames <= 1000, "2 to 1000"),
            ("stride", 1 <= self.stride <= 1000, "1 to 1000"),
            ("batch", 1 <= self.batch <= 65_536, "at least 1"),
            ("parts", 1 <= self.parts <= self.batch and self.batch % self.parts == 0,
             f"a number that divides the batch ({self.batch})"),
            ("epochs", 1 <= self.epochs <= 10**6, "at least 1"),
            ("steps", 0 <= self.steps <= 10**8, "0 or more"),
            ("learning_rate", 0 < self.learning_rate < 1, "above 0, below 1"),
            ("warm_up", self.warm_up >= 0, "0 or more"),
            ("average", 0 <= self.average < 1, "0 to below 1"),
            ("shift", 0 <= self.shift <= 100, "0 to 100"),
            ("actions", self.actions or self.prompt != "",
             "true, or a prompt: else it is not conditioned on the actions"),
        ):  # fmt: skip
            if not fine:
                raise UsageError(f"recipe: {name} is {getattr(self, name)!r}; give {rule}")

    @property
    def length(self) -> int:
        """Frames of a window."""
        return self.frames

    def with_steps(self, clips: int) -> Adaptation:
        """The recipe with the steps of its epochs."""
        return self if self.steps else changed(self, {"steps": max(1, -(-self.epochs * clips // self.batch))})


def named_adaptation(name: str) -> Adaptation:
    """Read a recipe that comes with worldgauge, or one in a file."""
    return read_recipe(name, Adaptation(), "recipes_adapt")


def prompt_of(clip: TrainingClip, first: int, frames: int, kind: str) -> str:
    """The words for a part of a clip."""
    if kind == "":
        return ""
    if kind == "text":
        if not clip.text:
            raise UsageError(f"{clip.id} has no words; use a recipe with prompt = '' or nav/v1")
        return clip.text
    return render_text(kind, steps=_steps(clip.actions[first : first + frames - 1], clip.id))


def check_words(clips: Mapping[str, TrainingClip], kind: str) -> None:
    """Check that all clips have words of a kind."""
    for clip in clips.values():
        prompt_of(clip, 0, min(len(clip), 2), kind)


def _steps(actions: Actions, name: str) -> tuple[Primitive, ...]:
    if [axis.name for axis in actions.space.axes] != [axis.name for axis in NAV_STEPS.axes]:
        raise UsageError(f"{name} has actions of '{actions.space.name}'; nav/v1 takes steps of '{NAV_STEPS.name}'")
    pressed = np.asarray(actions.values) > 0.5
    return tuple(Primitive(int(row.argmax()) + 1) if row.any() else Primitive.STOP for row in pressed)


CLIP_FRAMES = 121
OFFSETS = 4
STRIDE = 2
FORMS = ("diffsynth", "diffsynth-four")
"""One clip of a walk, spread over all of it; or four of every second frame, each begun a frame later."""
METADATA, COMMAND = "metadata.csv", "train.sh"


class Exported(NamedTuple):
    """What was written; `left_out` is the reason by clip id."""

    clips: int
    left_out: dict[str, str]


def plain_frames(n: int) -> list[int]:
    """121 frames spread over all of n."""
    if n < CLIP_FRAMES:
        raise UsageError(f"a plain clip needs {CLIP_FRAMES} frames, got {n}")
    return [int(frame) for frame in np.linspace(0, n - 1, CLIP_FRAMES)]


def augmented_frames(n: int) -> list[list[int]]:
    """Four clips of 121 frames, every second of n, from frames 0, 1, 2 and 3."""
    least = STRIDE * (CLIP_FRAMES - 1) + OFFSETS
    if n < least:
        raise UsageError(f"augmented clips need {least} frames, got {n}")
    return [[offset + STRIDE * i for i in range(CLIP_FRAMES)] for offset in range(OFFSETS)]


def write_diffsynth(clips: Sequence[TrainingClip], out: Path, recipe: Adaptation, form: str = "diffsynth") -> Exported:
    """Write clips of 121 frames, metadata.csv, and the training command. Clips that are short, unreadable or without
    words are left out."""
    if form not in FORMS:
        raise UsageError(f"--write {form}: known are {', '.join(FORMS)}")
    left_out: dict[str, str] = {}
    rows: list[tuple[str, str]] = []
    (out / "videos").mkdir(parents=True, exist_ok=True)
    for number, clip in enumerate(clips):
        try:
            lists = [plain_frames(len(clip))] if form == FORMS[0] else augmented_frames(len(clip))
            words = prompt_of(clip, 0, len(clip), recipe.prompt)
            made = [_written(clip, frames, out, f"{number:06d}_{at}.mp4") for at, frames in enumerate(lists)]
        except (DataError, UsageError) as error:
            left_out[clip.id] = str(error)
            continue
        rows += [(name, words) for name in made]
    if not rows:
        first = next(iter(left_out.items()), ("no episode", "there is none"))
        raise UsageError(f"nothing to write: {first[0]}: {first[1]}")
    table = io.StringIO()
    writer = csv.writer(table, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(("video", "prompt"))
    writer.writerows(rows)
    write_file(out / METADATA, table.getvalue())
    write_file(out / COMMAND, command_of(recipe))
    return Exported(len(rows), left_out)


def command_of(recipe: Adaptation) -> str:
    """The released command with the recipe's numbers; it runs in a clone of DiffSynth-Studio."""
    width, height = recipe.size
    base = "Wan-AI/Wan2.2-TI2V-5B"
    files = ("models_t5_umt5-xxl-enc-bf16.pth", "diffusion_pytorch_model*.safetensors", "Wan2.2_VAE.pth")
    flags = {
        "dataset_base_path": '"$DATA"',
        "dataset_metadata_path": f'"$DATA/{METADATA}"',
        "height": str(height),
        "width": str(width),
        "num_frames": str(CLIP_FRAMES),
        "dataset_repeat": "1",
        "model_id_with_origin_paths": '"' + ",".join(f"{base}:{file}" for file in files) + '"',
        "learning_rate": f"{recipe.learning_rate:g}",
        "num_epochs": str(recipe.epochs),
        "remove_prefix_in_ckpt": '"pipe.dit."',
        "output_path": '"${OUT:-./models/train/Wan2.2-TI2V-5B_lora}"',
        "lora_base_model": '"dit"',
        "lora_target_modules": f'"{",".join(recipe.targets)}"',
        "lora_rank": str(recipe.rank),
        "extra_inputs": '"input_image"',
    }
    lines = [
        "#!/bin/sh",
        "# Run in a clone of DiffSynth-Studio: DATA=this-folder sh train.sh",
        ': "${DATA:?folder of metadata.csv}"',
    ]
    call = ["accelerate launch examples/wanvideo/model_training/train.py", *(f"  --{k} {v}" for k, v in flags.items())]
    return "\n".join([*lines, " \\\n".join(call), ""])


def _written(clip: TrainingClip, frames: Sequence[int], out: Path, name: str) -> str:
    """Write the frames of a walk as a video; its path in the folder."""
    path = out / "videos" / name
    picked = clip.frames.picked(frames, clip.frames.fps)
    with Writer(path, fps=picked.fps, kind="viewable") as writer:
        for frame in picked:
            height, width = frame.shape[0] // 2 * 2, frame.shape[1] // 2 * 2
            writer.write(np.ascontiguousarray(frame[:height, :width]))
    return f"videos/{name}"
