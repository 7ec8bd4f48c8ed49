"""Checkpoints of training, which torch reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz.format import Format
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


FORMATS = (
    Format("checkpoint", _make, _read, needs=("torch", "safetensors")),
    Format("pth", _make_pth, lambda folder: read_tensors(folder / "a.pth"), needs=("torch",)),
)
