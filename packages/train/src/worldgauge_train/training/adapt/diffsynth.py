"""What the papers' own trainer reads, DiffSynth-Studio: clips, a table of them, and the released command."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import write_file
from worldgauge.core.video import Writer
from worldgauge_train.training.adapt.recipe import Adaptation
from worldgauge_train.training.adapt.words import prompt_of
from worldgauge_train.training.clip import TrainingClip

CLIP_FRAMES = 121
OFFSETS = 4
STRIDE = 2
FORMS = ("diffsynth", "diffsynth-four")
"""One clip of a walk, spread over all of it; or four of every second frame, each begun a frame later."""
METADATA, COMMAND = "metadata.csv", "train.sh"


class Exported(NamedTuple):
    """What was written.

    Attributes:
        clips: Number of clips.
        left_out: Reason by id of a walk that is left out.
    """

    clips: int
    left_out: dict[str, str]


def plain_frames(n: int) -> list[int]:
    """121 frames spread over all of n.

    Raises:
        UsageError: When there are fewer.
    """
    if n < CLIP_FRAMES:
        raise UsageError(f"a plain clip needs {CLIP_FRAMES} frames, got {n}")
    return [int(frame) for frame in np.linspace(0, n - 1, CLIP_FRAMES)]


def augmented_frames(n: int) -> list[list[int]]:
    """Four clips of 121 frames, every second of n, from frames 0, 1, 2 and 3.

    Raises:
        UsageError: Under 244 frames.
    """
    least = STRIDE * (CLIP_FRAMES - 1) + OFFSETS
    if n < least:
        raise UsageError(f"augmented clips need {least} frames, got {n}")
    return [[offset + STRIDE * i for i in range(CLIP_FRAMES)] for offset in range(OFFSETS)]


def write_diffsynth(clips: Sequence[TrainingClip], out: Path, recipe: Adaptation, form: str = "diffsynth") -> Exported:
    """Write clips of 121 frames, metadata.csv with their paths and prompts, and the command that trains on them.

    Walks that are too short, cannot be read or have no words are left out.

    Args:
        clips: The walks.
        out: Folder that is written.
        recipe: Sizes and rates of the command, and the kind of prompt.
        form: One of `FORMS`.

    Raises:
        UsageError: For another form, or where every walk is left out.
        DataError: The folder cannot be written.
    """
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
        first = next(iter(left_out.items()), ("no walk", "there is none"))
        raise UsageError(f"nothing to write: {first[0]}: {first[1]}")
    table = io.StringIO()
    writer = csv.writer(table, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(("video", "prompt"))
    writer.writerows(rows)
    write_file(out / METADATA, table.getvalue())
    write_file(out / COMMAND, command_of(recipe))
    return Exported(len(rows), left_out)


def command_of(recipe: Adaptation) -> str:
    """The released command with the recipe's numbers; it runs in a clone of DiffSynth-Studio.

    Args:
        recipe: Size, frames, epochs, learning rate, rank and layers.
    """
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
