"""ST-LPIPS (Ghildyal and Liu 2022, AlexNet). Its weights come with the package `stlpips_pytorch`."""

from __future__ import annotations

import sys
import types
from functools import lru_cache
from typing import Any

import numpy as np

from worldgauge.core.image import Frames
from worldgauge.metrics import metrics

EVERY = 10
"""Every tenth frame is compared, because the network is slow without a GPU."""


@lru_cache(maxsize=1)
def _network() -> Any:
    # The package imports these modules, but this network does not use them.
    for name, member in (("torchvision", "models"), ("IPython", "embed"), ("torchsummary", "summary")):
        module = types.ModuleType(name)
        setattr(module, member, types.ModuleType(f"{name}.{member}"))
        sys.modules.setdefault(name, module)
        sys.modules.setdefault(f"{name}.{member}", getattr(module, member))
    from stlpips_pytorch import stlpips

    return stlpips.LPIPS(net="alex", variant="shift_tolerant", verbose=False).eval()


@metrics.register("stlpips", compares="clips", unit="1", better="lower", bounds=(0.0, np.inf), version=1)
def stlpips(truth: Frames, rollout: Frames) -> float:
    """Mean distance of every tenth pair of frames, (T, H, W, 3) uint8 each."""
    import torch

    torch.set_num_threads(1)
    sides = [torch.from_numpy(np.moveaxis(clip[::EVERY], 3, 1) / np.float32(255)) for clip in (truth, rollout)]
    with torch.inference_mode():
        return float(_network()(*sides).mean())
