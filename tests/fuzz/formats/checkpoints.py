"""Checkpoints of training, which torch reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz.format import Format
from support.served import question
from worldgauge.weights.reading import read_tensors


def _make(folder: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"a.weight": np.ones((3, 4), np.float32), "steps": np.arange(2)}, folder / "a.safetensors")


def _read(folder: Path) -> None:
    import torch

    from worldgauge.nets.checkpoint import load_tensors

    like = {"a.weight": torch.zeros(3, 4), "steps": torch.zeros(2, dtype=torch.int64)}
    assert load_tensors(folder / "a.safetensors", like)["a.weight"].shape == (3, 4)


def _make_pth(folder: Path) -> None:
    import torch

    torch.save({"a.weight": torch.ones(3, 4), "a.bias": torch.zeros(3, dtype=torch.float16)}, folder / "a.pth")


def _make_trained(folder: Path) -> None:
    """A checkpoint as a training leaves it."""
    from worldgauge.core.actions import LOOP_WALK
    from worldgauge.nets.action_rows import mirror_of, row_width
    from worldgauge.training.cache import CachedClip
    from worldgauge.training.loop.loop import train
    from worldgauge.training.material import Material
    from worldgauge.training.recipe import Recipe

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
    from worldgauge.models.outside.trained import Trained

    drawn = list(Trained(str(folder / "trained")).rollout(question(3, (16, 8))))
    assert sum(map(len, drawn)) == 3


FORMATS = (
    Format("checkpoint", _make, _read, needs=("torch", "safetensors")),
    Format("trained", _make_trained, _ask_trained, ("trained/*.json",), needs=("torch", "safetensors")),
    Format("pth", _make_pth, lambda folder: read_tensors(folder / "a.pth"), needs=("torch",)),
)
