"""Train a network: the same bytes from the same recipe and data on a CPU, also after an interruption."""

from __future__ import annotations

import fcntl
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from worldgauge.core.errors import DataError, RunError
from worldgauge.core.io import dumps, loads, read_json_object, write_file
from worldgauge.nets.architectures import Network, Window, architectures
from worldgauge.nets.checkpoint import save_tensors
from worldgauge.nets.codecs import Codec, codecs
from worldgauge.nets.drawing import CODEC, CONFIG, FORMAT, WEIGHTS
from worldgauge.nets.memory import Memory, memories
from worldgauge.training.loop.autoencoder import trained_codec
from worldgauge.training.loop.parents import TEACHER, read_parent
from worldgauge.training.loop.stages import FIRST_WINDOW, Parent, Stage, stages
from worldgauge.training.loop.state import TrainingState
from worldgauge.training.material import Mark, Material
from worldgauge.training.proof import same_data
from worldgauge.training.recipe import Recipe, told
from worldgauge.training.windows import Windows

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
    parent: Path | None = None,
    minutes: float | None = None,
    progress: Callable[[Mark], None] = lambda mark: None,
) -> Path:
    """Train a network, or go on with it.

    Args:
        recipe: What is trained, and how.
        material: What it is trained on.
        out: Folder of the checkpoint; one that holds another recipe or other data is refused.
        parent: Folder of the checkpoint that the stage begins from. None for none.
        minutes: Stop after so long, with the state kept. None to go on to the end.
        progress: Called now and then.

    Returns:
        The folder.

    Raises:
        RunError: Another process trains in that folder, or it holds another training.
        DataError: The folder cannot be written, or losses are not finite ten times in a row.
        UsageError: No clip is as long as a window, or the stage needs another parent.
        UnknownNameError: The stage, architecture, memory or codec is not known.
    """
    kind, memory = stages.get(recipe.stage), memories.get(recipe.memory)(recipe.fetched)
    windows = _windows(recipe, material, memory, 0)
    start = read_parent(recipe, kind, parent)
    with _claimed(out):
        _check_same(out, recipe, material, start)
        codec = _codec(recipe, material, start, out)
        stage = _stage(kind, recipe, material, codec, start)
        given = _Given(recipe, material, memory, windows, codec)
        stage.prepare(given, out)
        state = _begin(stage)
        if state.load(out):
            _cut_log(out, state.step)
        began, saved = time.monotonic() - state.seconds, time.monotonic()
        refused = 0
        while state.step < recipe.steps:
            if minutes is not None and time.monotonic() - began >= 60 * minutes:
                break
            fine = _step(state, stage, given(state.step))
            refused = 0 if fine else refused + 1
            if refused == _MOST_SKIPPED:
                raise DataError(f"{out}: {refused} steps in a row had losses that are not finite, or far too large")
            state.step += 1
            state.seconds = time.monotonic() - began
            fault = stage.verdict(state.step, state.average)
            if state.step % LOG_EVERY == 0 or state.step == recipe.steps:
                _log(out, state)
                progress(Mark(state.step, recipe.steps, state.seconds, median(state.losses)))
            if time.monotonic() - saved > SAVE_EVERY_S:
                state.save(out)
                saved = time.monotonic()
            if fault is not None:
                _note(out, {"step": state.step, "stopped": fault})
                break
        state.save(out)
        _write_checkpoint(out, recipe, material, state, stage, codec, start)
    return out


def _windows(recipe: Recipe, material: Material, memory: Memory, step: int) -> Windows:
    return Windows(
        material.clips_at(step), recipe.past, recipe.length, material.mirror, recipe.seed, recipe.frames, memory
    )


@dataclass
class _Given:
    """The windows of each step, as the network takes them."""

    recipe: Recipe
    material: Material
    memory: Memory
    windows: Windows
    codec: Codec

    def __call__(self, step: int) -> Window:
        known = step if step < FIRST_WINDOW else 0  # what a stage sets aside comes from the first clips
        if self.material.ring is not None and self.material.clips_at(known)[-1] is not self.windows.clips[-1]:
            self.windows = _windows(self.recipe, self.material, self.memory, known)
        batch = self.windows.batch(step, self.recipe.batch)
        rows = torch.from_numpy(np.ascontiguousarray(batch.rows))
        if not batch.fetched.shape[2]:
            return Window(self._planes(batch.frames), rows)
        relative = torch.from_numpy(np.ascontiguousarray(batch.relative))
        return Window(self._planes(batch.frames), rows, self._planes(batch.fetched), relative)

    def _planes(self, frames: NDArray[np.uint8]) -> Tensor:
        pixels = torch.from_numpy(np.ascontiguousarray(frames)).movedim(-1, -3).float() / 127.5 - 1
        with torch.no_grad():
            return self.codec.encode(pixels.flatten(0, -4)).unflatten(0, pixels.shape[:-3])


def _codec(recipe: Recipe, material: Material, parent: Parent | None, out: Path) -> Codec:
    """The codec, frozen: the parent's, or one that is trained first where it learns."""
    if parent is not None:
        codec = parent.codec
    else:
        torch.manual_seed(recipe.seed)
        codec = codecs.get(recipe.codec).of_recipe(told(recipe))
    if codec.learns:
        trained_codec(codec, None if parent is not None else material.clips_at(0), recipe, out / CODEC)
    codec.eval().requires_grad_(False)
    return codec


def _stage(kind: type[Stage], recipe: Recipe, material: Material, codec: Codec, parent: Parent | None) -> Stage:
    torch.manual_seed(recipe.seed)
    architecture = architectures.get(recipe.architecture)
    size = (recipe.size[0] // codec.shrink, recipe.size[1] // codec.shrink)
    settings = kind.settings(recipe)
    net = architecture(architecture.shape_from(settings, columns=material.columns, planes=codec.planes, size=size))
    return kind(recipe, net, parent)


def _begin(stage: Stage) -> TrainingState:
    recipe, net = stage.recipe, stage.net
    groups = [{"params": list(net.parameters()), "scale": 1.0}]
    groups += [{"params": list(stage.beside[name].parameters()), "scale": s} for name, s in stage.scales.items()]
    optimiser = torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=stage.betas, weight_decay=recipe.decay)
    average = {name: value.clone() for name, value in net.state_dict().items()}
    state = TrainingState(net, average, optimiser, torch.Generator().manual_seed(recipe.seed + 1), stage.beside)
    state.warm_moments()
    return state


def _step(state: TrainingState, stage: Stage, window: Window) -> bool:
    """One step; False where it was left out."""
    recipe = stage.recipe
    for group in state.optimiser.param_groups:
        group["lr"] = group["scale"] * recipe.learning_rate * _share(state.step, recipe)
    state.net.train()
    state.optimiser.zero_grad()
    loss = stage.losses(window, state.step, state.generator).mean()
    value = float(loss.detach())
    watched = stage.is_watched(state.step)
    too_much = watched and len(state.losses) > 10 and value > _TOO_MUCH * median(state.losses)
    if not math.isfinite(value) or too_much:
        state.skipped += 1
        return False
    loss.backward()
    parameters = [one for group in state.optimiser.param_groups for one in group["params"]]
    torch.nn.utils.clip_grad_norm_(parameters, recipe.clip_norm)
    state.optimiser.step()
    if watched:
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


def _log(out: Path, state: TrainingState) -> None:
    row = {
        "step": state.step,
        "seconds": round(state.seconds, 3),
        "loss": median(state.losses) if state.losses else None,
        "skipped": state.skipped,
    }
    _note(out, row)


def _note(out: Path, row: Mapping[str, Any]) -> None:
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


def _write_checkpoint(
    out: Path,
    recipe: Recipe,
    material: Material,
    state: TrainingState,
    stage: Stage,
    codec: Codec,
    parent: Parent | None,
) -> None:
    save_tensors(out / WEIGHTS, stage.kept(state.average))
    if stage.teacher is not None:
        save_tensors(out / TEACHER, stage.teacher.state_dict())
    shape = stage.net.shape
    config = {
        **_identity(recipe, material, parent),
        "steps_done": state.step,
        "seconds": round(state.seconds, 1),
        "architecture": recipe.architecture,
        "network": asdict(shape),
        "codec": {"name": recipe.codec, **codec.told},
        "teacher": None if stage.teacher is None else asdict(stage.teacher.shape),
        "most_past": _most_past(stage.net, recipe),
        "denoising_steps": 0 if stage.at_once else recipe.denoising_steps,
        "told": recipe.told,
        "size": list(recipe.size),
        "fps": material.fps,
        "action_spaces": list(material.spaces),
        "torch": torch.__version__,
    }
    write_file(out / CONFIG, dumps(config, indent=2))


def _most_past(net: Network, recipe: Recipe) -> int:
    """Frames of the past that are of use to a network; 0 for all."""
    if recipe.memory != "window":
        return 0
    most: int = recipe.length - recipe.frames if net.sees_beyond else net.shape.past
    return most


def _identity(recipe: Recipe, material: Material, parent: Parent | None) -> dict[str, Any]:
    lineage = [] if parent is None else [*parent.lineage, {"stage": parent.stage, "weights": parent.digest}]
    data = [one._asdict() for one in material.proof()]
    before = {} if parent is None else {"parent_scenes": list(parent.scenes)}
    return {"format": FORMAT, "recipe": told(recipe), "data": data, "lineage": lineage, **before}


def _check_same(out: Path, recipe: Recipe, material: Material, parent: Parent | None) -> None:
    path, now = out / CONFIG, _identity(recipe, material, parent)
    if not path.exists():
        write_file(path, dumps(now, indent=2))
        return
    before = read_json_object(path)
    for key, value in now["recipe"].items():
        if before.get("recipe", {}).get(key) != value:
            raise RunError(
                f"{out} holds a training with {key} = {before.get('recipe', {}).get(key)!r}, not {value!r}; "
                "take another folder"
            )
    if not same_data(before.get("data"), material.proof()):
        raise RunError(f"{out} holds a training on other data; take another folder")
    if before.get("lineage") != now["lineage"]:
        raise RunError(f"{out} holds a training that began from another checkpoint; take another folder")


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
