"""What worldgauge-train reads: recordings to train on, and checkpoints."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import numpy as np

from fuzz.format import Format
from fuzz.mutators import damaged, damaged_bytes
from support import coverage_data as walk
from support import demonstrations_data
from support.served import question
from support.training_walks import WALKS
from worldgauge.suites.worldinworld.format import demonstration as demonstrations_index
from worldgauge.weights.reading import read_tensors
from worldgauge_train import coverage_trajectory as coverage_index
from worldgauge_train.coverage import check as coverage_check
from worldgauge_train.coverage_trajectory import read_trajectory, write_trajectory
from worldgauge_train.demonstrations import check as demonstrations_check
from worldgauge_train.export_data import read_lerobot, read_rlds, write_lerobot, write_rlds
from worldgauge_train.export_data_rlds import read_records, write_record
from worldgauge_train.training.clip import DamagedClip, TrainingClip


def _make(folder: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"a.weight": np.ones((3, 4), np.float32), "steps": np.arange(2)}, folder / "a.safetensors")


def _read(folder: Path) -> None:
    import torch

    from worldgauge_train.nets.checkpoint import load_tensors

    like = {"a.weight": torch.zeros(3, 4), "steps": torch.zeros(2, dtype=torch.int64)}
    assert load_tensors(folder / "a.safetensors", like)["a.weight"].shape == (3, 4)


def _make_pth(folder: Path) -> None:
    import torch

    torch.save({"a.weight": torch.ones(3, 4), "a.bias": torch.zeros(3, dtype=torch.float16)}, folder / "a.pth")


def _make_trained(folder: Path) -> None:
    """A checkpoint as a training leaves it."""
    from worldgauge.core.actions import LOOP_WALK
    from worldgauge.models.baselines.tiny import mirror_of, row_width
    from worldgauge_train.training.cache import CachedClip
    from worldgauge_train.training.loop import train
    from worldgauge_train.training.material import Material
    from worldgauge_train.training.recipe import Recipe

    rng = np.random.default_rng(1)
    frames, rows = rng.integers(0, 256, (12, 8, 16, 3), np.uint8), rng.random((12, row_width(LOOP_WALK)), np.float32)
    clip = CachedClip("walk", "made-up", "here", frames, rows, rng.normal(0, 1, (12, 5)))
    recipe = Recipe(
        stage="causal", architecture="causal", size=(16, 8), frames=2, past=2, drawn=3, width=16, depth=1, heads=2,
        window=3, channels=(8,), batch=2, steps=1, warm_up=1, denoising_steps=2,
    )  # fmt: skip
    facts = (LOOP_WALK.name,), row_width(LOOP_WALK), mirror_of(LOOP_WALK), 20.0, LOOP_WALK
    train(recipe, Material([clip], *facts), folder / "trained")


def _ask_trained(folder: Path) -> None:
    """The model of a checkpoint, and a few frames of it."""
    from worldgauge_train.models import Trained

    drawn = list(Trained(str(folder / "trained")).rollout(question(3, (16, 8))))
    assert sum(map(len, drawn)) == 3


def _made(write: Callable[..., object]) -> Callable[[Path], object]:
    """Three walks in a form for others."""

    def make(folder: Path) -> None:
        folder.rmdir()
        write(WALKS, folder)

    return make


def _read_walks(read: Callable[..., Iterator[TrainingClip | DamagedClip]]) -> Callable[[Path], object]:
    def frames(folder: Path) -> None:
        for clip in read(folder, "train"):
            if isinstance(clip, TrainingClip):
                clip.frames[0]

    return frames


def _mutate_steps(name: str, data: bytes, rng: Random) -> bytes:
    """Two in three times the content of a record, with a checksum that fits."""
    if "tfrecord" not in name or rng.random() < 1 / 3:
        return damaged(name, data, rng)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        held = [record.data for record in read_records(Path(file.name))]
    at = rng.randrange(len(held))
    held[at] = damaged_bytes(held[at], rng)
    out = io.BytesIO()
    for one in held:
        write_record(out, one)
    return out.getvalue()


def _make_trajectory(folder: Path) -> None:
    write_trajectory(folder, "home-train-0003", 0, walk.views(), walk.steps(), walk.FACTS)
    coverage_index.write_index(folder, "train")


def _read_trajectory(folder: Path) -> None:
    coverage_check(folder)
    found = read_trajectory(next(path.parent for path in folder.rglob("manifest.json")))
    if found.depth is not None:
        found.depth(0)


def _make_demonstration(folder: Path) -> None:
    demonstrations_data.written(folder)
    demonstrations_index.write_index(folder)


ARRAYS = ("**/*.json", "**/*.jsonl", "**/*.npz")
FORMATS = (
    Format("coverage", _make_trajectory, _read_trajectory, ARRAYS),
    Format("demonstrations", _make_demonstration, demonstrations_check, ARRAYS),
    Format("lerobot", _made(write_lerobot), _read_walks(read_lerobot), ("**/*.json",), needs=("pyarrow",)),
    Format("rlds", _made(write_rlds), _read_walks(read_rlds), mutate=_mutate_steps, needs=("google_crc32c",)),
    Format("checkpoint", _make, _read, needs=("torch", "safetensors")),
    Format("trained", _make_trained, _ask_trained, ("trained/*.json",), needs=("torch", "safetensors")),
    Format("pth", _make_pth, lambda folder: read_tensors(folder / "a.pth"), needs=("torch",)),
)
