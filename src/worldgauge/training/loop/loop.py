"""Train a network: the same bytes from the same recipe and data on a CPU, also after an interruption."""

from __future__ import annotations

import fcntl
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from worldgauge.core.errors import DataError, RunError
from worldgauge.core.io import dumps, loads, read_json_object, write_file
from worldgauge.nets.checkpoint import save_tensors
from worldgauge.nets.conv import ConvNet, ConvShape
from worldgauge.nets.drawing import CONFIG, FORMAT, WEIGHTS
from worldgauge.training.loop.stages import Windowed, losses_of
from worldgauge.training.loop.state import TrainingState
from worldgauge.training.material import Mark, Material
from worldgauge.training.proof import proof_of
from worldgauge.training.recipe import Recipe, told
from worldgauge.training.windows import Batch, Windows

LOG = "log.jsonl"
SAVE_EVERY_S = 120.0
LOG_EVERY = 10
"""Steps from one row of the log to the next."""
_TOO_MUCH, _REMEMBERED, _MOST_SKIPPED = 10.0, 101, 10


def train(
    recipe: Recipe,
    material: Material,
    out: Path,
    *,
    minutes: float | None = None,
    progress: Callable[[Mark], None] = lambda mark: None,
) -> Path:
    """Train a network, or go on with it.

    Args:
        recipe: What is trained, and how.
        material: What it is trained on.
        out: Folder of the checkpoint; one that holds another recipe or other data is refused.
        minutes: Stop after so long, with the state kept. None to go on to the end.
        progress: Called now and then.

    Returns:
        The folder.

    Raises:
        RunError: Another process trains in that folder, or it holds another training.
        DataError: The folder cannot be written, or losses are not finite ten times in a row.
        UsageError: No clip is as long as a window.
    """
    windows = Windows(material.clips, recipe.past, recipe.window, material.mirror, recipe.seed)
    with _claimed(out):
        _check_same(out, recipe, material)
        state = _begin(recipe, material)
        if state.load(out):
            _cut_log(out, state.step)
        began, saved = time.monotonic() - state.seconds, time.monotonic()
        refused = 0
        while state.step < recipe.steps:
            if minutes is not None and time.monotonic() - began >= 60 * minutes:
                break
            fine = _step(state, recipe, windows.batch(state.step, recipe.batch))
            refused = 0 if fine else refused + 1
            if refused == _MOST_SKIPPED:
                raise DataError(f"{out}: {refused} steps in a row had losses that are not finite, or far too large")
            state.step += 1
            state.seconds = time.monotonic() - began
            if state.step % LOG_EVERY == 0 or state.step == recipe.steps:
                _log(out, state)
                progress(Mark(state.step, recipe.steps, state.seconds, median(state.losses)))
            if time.monotonic() - saved > SAVE_EVERY_S:
                state.save(out)
                saved = time.monotonic()
        state.save(out)
        _write_checkpoint(out, recipe, material, state)
    return out


def shape_of(recipe: Recipe, columns: int) -> ConvShape:
    """Sizes of the network of a recipe.

    Args:
        recipe: The recipe.
        columns: Columns that describe the action of a frame.
    """
    return ConvShape(columns, recipe.frames, recipe.past, 0, recipe.channels, recipe.blocks)


def _begin(recipe: Recipe, material: Material) -> TrainingState:
    torch.manual_seed(recipe.seed)
    net = ConvNet(shape_of(recipe, material.columns))
    optimiser = torch.optim.AdamW(
        net.parameters(), lr=recipe.learning_rate, betas=(0.9, 0.99), weight_decay=recipe.decay
    )
    average = {name: value.clone() for name, value in net.state_dict().items()}
    return TrainingState(net, average, optimiser, torch.Generator().manual_seed(recipe.seed + 1))


def _step(state: TrainingState, recipe: Recipe, batch: Batch) -> bool:
    """One step; False where it was left out."""
    for group in state.optimiser.param_groups:
        group["lr"] = recipe.learning_rate * _share(state.step, recipe)
    state.net.train()
    loss = losses_of(state.net, _tensors(batch), recipe, state.generator).mean()
    value = float(loss.detach())
    if not math.isfinite(value) or (len(state.losses) > 10 and value > _TOO_MUCH * median(state.losses)):
        state.skipped += 1
        return False
    state.optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(state.net.parameters(), recipe.clip_norm)
    state.optimiser.step()
    state.losses = [*state.losses, value][-_REMEMBERED:]
    kept = min(recipe.average, (state.step + 1) / (state.step + 10))
    with torch.no_grad():
        for name, new in state.net.state_dict().items():
            state.average[name].lerp_(new, 1 - kept)
    return True


def _share(step: int, recipe: Recipe) -> float:
    """Share of the learning rate: a ramp, a plateau, a cosine to 2 % over the last half."""
    ramp = min(1.0, (step + 1) / max(recipe.warm_up, 1))
    late = max(0.0, 2 * step / recipe.steps - 1)
    return ramp * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * late)))


def _tensors(batch: Batch) -> Windowed:
    frames = torch.from_numpy(batch.frames).permute(0, 1, 4, 2, 3).float() / 127.5 - 1
    return Windowed(frames, torch.from_numpy(np.ascontiguousarray(batch.rows)))


def _log(out: Path, state: TrainingState) -> None:
    row = {
        "step": state.step,
        "seconds": round(state.seconds, 3),
        "loss": median(state.losses) if state.losses else None,
        "skipped": state.skipped,
    }
    with open(out / LOG, "a", encoding="utf-8") as file:
        file.write(dumps(row) + "\n")


def _cut_log(out: Path, step: int) -> None:
    """Leave out what the log says of steps after the state, which are taken again."""
    path = out / LOG
    if path.exists():
        rows = [line for line in path.read_text(encoding="utf-8").splitlines() if _step_of(line) <= step]
        write_file(path, "".join(f"{row}\n" for row in rows))


def _step_of(line: str) -> float:
    try:
        return float(loads(line)["step"])
    except (DataError, ValueError, KeyError, TypeError):
        return math.inf  # half a row


def _write_checkpoint(out: Path, recipe: Recipe, material: Material, state: TrainingState) -> None:
    save_tensors(out / WEIGHTS, state.average)
    config = {
        **_identity(recipe, material),
        "steps_done": state.step,
        "seconds": round(state.seconds, 1),
        "network": asdict(shape_of(recipe, material.columns)),
        "denoising_steps": 0 if recipe.stage == "regress" else recipe.denoising_steps,
        "told": recipe.told,
        "size": list(recipe.size),
        "fps": material.fps,
        "action_spaces": list(material.spaces),
        "torch": torch.__version__,
    }
    write_file(out / CONFIG, dumps(config, indent=2))


def _identity(recipe: Recipe, material: Material) -> dict[str, Any]:
    return {"format": FORMAT, "recipe": told(recipe), "data": [one._asdict() for one in proof_of(material.clips)]}


def _check_same(out: Path, recipe: Recipe, material: Material) -> None:
    path = out / CONFIG
    if not path.exists():
        write_file(path, dumps(_identity(recipe, material), indent=2))
        return
    before, now = read_json_object(path), _identity(recipe, material)
    for key, value in now["recipe"].items():
        if before.get("recipe", {}).get(key) != value:
            raise RunError(
                f"{out} holds a training with {key} = {before.get('recipe', {}).get(key)!r}, not {value!r}; "
                "take another folder"
            )
    if before.get("data") != now["data"]:
        raise RunError(f"{out} holds a training on other data; take another folder")


@contextmanager
def _claimed(out: Path) -> Iterator[None]:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with open(out / ".lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
    except BlockingIOError:
        raise RunError(f"{out}: another process trains in this folder") from None
    except OSError as error:
        raise DataError(f"{out}: {error.strerror}") from None
