"""What post-training of a brought pipeline would take, from the descriptions in its folder alone: no weight is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from worldgauge.core.errors import DataError
from worldgauge.core.io import read_json_object
from worldgauge_train.nets.brought import INDEX, kind_of
from worldgauge_train.training.adapt import Adaptation
from worldgauge_train.training.device import BYTES

FLOPS_PER_S = 400e12
"""What one large GPU may give in bfloat16, about 40 % of an H100's best."""
_NETWORKS = ("transformer", "transformer_2", "unet")
_FROZEN_BYTES = 2


@dataclass(frozen=True)
class PaperPlan:
    """What a training would take.

    Attributes:
        trained: Number of weights that are trained, without those of the action injection.
        held_gb: Weights, gradients, moments, averages: float32 if trained, else bfloat16. Activations are extra.
        flops: Per step, forward and backward. None unless the configurations describe 3D transformers.
        paper_hours: Hours of all steps on one GPU of `flops_per_s`.
    """

    parameters: int
    trained: int
    held_gb: float
    flops: float | None
    paper_hours: float | None
    flops_per_s: float = FLOPS_PER_S


def plan_adaptation(recipe: Adaptation, folder: Path) -> PaperPlan:
    """Say what a training would take. The networks are built on the device "meta", without their numbers."""
    modules = kind_of(folder).modules
    nets = networks_on_paper(folder)
    count = sum(one.numel() for net in nets.values() for one in net.parameters())
    trained = count if recipe.weights == "all" else sum(_of_lora(net, recipe, modules) for net in nets.values())
    held = BYTES * trained + (0 if recipe.weights == "all" else _FROZEN_BYTES * count)
    flops = _flops(recipe, folder, nets)
    hours = None if flops is None else flops * recipe.steps / FLOPS_PER_S / 3600
    return PaperPlan(count, trained, held / 1e9, flops, hours)


def networks_on_paper(folder: Path) -> dict[str, Any]:
    """The networks of a pipeline on the device "meta": shapes without numbers."""
    import diffusers

    index, found = read_json_object(folder / INDEX), {}
    for name in _NETWORKS:
        entry = index.get(name)
        if not isinstance(entry, list) or entry[:1] != ["diffusers"]:
            continue
        config = {key: value for key, value in read_json_object(folder / name / "config.json").items() if key[0] != "_"}
        try:
            with torch.device("meta"):
                found[name] = getattr(diffusers, str(entry[1])).from_config(config)
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            words = str(error).strip() or type(error).__name__
            raise DataError(f"{folder / name}: {words.splitlines()[0][:300]}") from None
    if not found:
        raise DataError(f"{folder / INDEX} names no network")
    return found


def _of_lora(net: Any, recipe: Adaptation, modules: Any) -> int:
    """Weights of LoRA beside the layers of a network."""
    ends = tuple(f".{modules[name]}" for name in recipe.targets if name in modules)
    layers = [one for name, one in net.named_modules() if name.endswith(ends) and isinstance(one, nn.Linear)]
    return sum(recipe.rank * (one.in_features + one.out_features) for one in layers)


def _flops(recipe: Adaptation, folder: Path, nets: dict[str, Any]) -> float | None:
    """FLOPs per step: three times 2 per weight and token, plus 4 per token pair and channel of a block. Of two experts
    each step uses one."""
    net, vae = nets.get("transformer"), folder / "vae" / "config.json"
    if net is None or not vae.exists():
        return None
    told = read_json_object(vae)
    try:
        apart = [bool(one) for one in told["temperal_downsample"]]  # as diffusers spells it
        patch, blocks = [int(one) for one in net.config.patch_size], int(net.config.num_layers)
        width = int(net.config.num_attention_heads) * int(net.config.attention_head_dim)
        shrink = int(told.get("scale_factor_spatial") or 2 ** len(apart))
        sides = (1 + (recipe.frames - 1) // 2 ** sum(apart), *(one // shrink for one in recipe.size[::-1]))
        tokens: int = math.prod(side // step for side, step in zip(sides, patch, strict=True))
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return None
    weights: int = sum(one.numel() for one in net.parameters())
    return 3.0 * recipe.batch * (2 * weights * tokens + 4 * tokens**2 * width * blocks)
