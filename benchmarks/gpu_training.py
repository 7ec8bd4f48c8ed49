"""Steps of training and frames drawn by our networks on a GPU, against the processor in the same run."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldgauge.core.actions import LOOP_WALK
from worldgauge.core.errors import UsageError

RECIPES = ("causal-small", "causal-medium", "causal-tiny", "mind-tiny")
"""The first one is what `ours` and the goal are about."""
BESIDE = "mind-tiny"
"""What the processor trains in the same run: a step of the large ones takes it minutes."""
CLIPS, FRAMES = 8, 216
GOAL = 220.0
"""Windows a second of `causal-small`, 96 frames each: what one GPU was planned to take."""
PEAK_TFLOPS = {"NVIDIA H200": 990.0, "NVIDIA H100 80GB HBM3": 990.0}
"""Dense bfloat16 by the maker's data sheets."""
_PRECISIONS = ("float32", "bfloat16")


def run(
    device: str = "cuda", recipes: tuple[str, ...] = RECIPES, beside: str = BESIDE, frames: int = FRAMES
) -> dict[str, Any]:
    """Windows a second, operations a second and most memory of a step; frames a second that eight questions get.

    Args:
        device: Device of torch. "cpu" is for tests.
        recipes: Recipes of `worldgauge train`, or their files.
        beside: The one that the processor trains, too.
        frames: Of each made-up clip; their pictures are noise, which takes as long as any other.
    """
    try:
        import torch

        from worldgauge_train.training.loop import check_device
    except ImportError:
        return {"name": "gpu_training", "not_run": "training needs the extra 'train'"}
    try:
        check_device(device)
    except UsageError as error:
        return {"name": "gpu_training", "not_run": str(error)}
    name = "CPU" if device == "cpu" else torch.cuda.get_device_name(device)
    peak = PEAK_TFLOPS.get(name)
    found = {one: {each: _planned(one, device, each, frames, peak) for each in _PRECISIONS} for one in recipes}
    processor = _planned(beside, "cpu", "float32", frames, None)
    ours = found[recipes[0]]["bfloat16"]["windows_per_s"]
    return {
        "name": "gpu_training",
        "unit": f"windows/s of {recipes[0]} in bfloat16",
        "device": name,
        "torch": torch.__version__,
        "ours": ours,
        "reference": processor["windows_per_s"],
        "reference_name": f"windows/s of {beside} on the processor, {torch.get_num_threads()} threads",
        "ratio": round(found[beside]["float32"]["windows_per_s"] / processor["windows_per_s"], 1),
        "recipes": found,
        "processor": processor,
        "goal": GOAL,
        "met": device != "cpu" and recipes == RECIPES and ours >= GOAL,
    }


def _planned(name: str, device: str, precision: Any, frames: int, peak_tflops: float | None) -> dict[str, float]:
    """What `worldgauge train --dry-run` measures of a recipe, on clips of noise."""
    import torch

    from worldgauge.models.baselines.tiny import mirror_of, row_width
    from worldgauge_train.training.cache import CachedClip
    from worldgauge_train.training.loop import plan_training
    from worldgauge_train.training.material import Material
    from worldgauge_train.training.recipe import named_recipe

    recipe = named_recipe(name)
    clips, (width, height) = [], recipe.size
    for number in range(CLIPS):
        rng = np.random.default_rng(number)
        shown = rng.integers(0, 256, (frames, height, width, 3), np.uint8)
        rows = rng.random((frames, row_width(LOOP_WALK, recipe.told)), np.float32)
        clips.append(CachedClip(f"{number}", "made-up", f"{number}", shown, rows, rng.normal(0, 1, (frames, 5))))
    columns, mirror = row_width(LOOP_WALK, recipe.told), mirror_of(LOOP_WALK, recipe.told)
    material = Material(clips, (LOOP_WALK.name,), columns, mirror, 24.0, LOOP_WALK)
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats(device)
    (plan,) = plan_training([recipe], material, device=device, precision=precision)
    tflops = plan.flops / plan.step_s / 1e12
    return {
        "step_ms": round(1e3 * plan.step_s, 2),
        "windows_per_s": round(recipe.batch / plan.step_s, 1),
        "tflops": round(tflops, 3),
        **({"of_peak": round(tflops / peak_tflops, 4)} if peak_tflops and precision == "bfloat16" else {}),
        "memory_gb": round(plan.memory_gb, 2),
        "frames_per_s": round(plan.frames_per_s, 1),
        "hours": round(plan.hours, 3),
    }
