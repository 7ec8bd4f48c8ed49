"""Post-train a brought pipeline: an adapter is learned beside it, and what is brought stays as it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from worldgauge.core.actions import CAMERA_MOTION
from worldgauge.core.errors import RunError, UsageError
from worldgauge.core.image import Frames
from worldgauge.core.io import dumps, read_json_object, write_file
from worldgauge.worlds.walking.primitives import NAV_STEPS
from worldgauge_train.nets.brought import Brought, digest_of_pipeline, open_brought
from worldgauge_train.nets.brought_adapter import (
    CONFIG,
    FORMAT,
    TENSORS,
    Adapter,
    AdapterShape,
    BroughtDrawing,
    load_ids,
)
from worldgauge_train.nets.brought_pipelines import Svd
from worldgauge_train.nets.checkpoint import save_tensors
from worldgauge_train.training.adapt import Adaptation, check_words, prompt_of
from worldgauge_train.training.cache import Windows
from worldgauge_train.training.clip import TrainingClip, terms_of_pipeline
from worldgauge_train.training.device import same_bytes
from worldgauge_train.training.log import Log, read_log
from worldgauge_train.training.material import Mark, Material, same_data
from worldgauge_train.training.parents import check_precision, last_validation, licence_of, made_by
from worldgauge_train.training.recipe import told
from worldgauge_train.training.rollouts import FILMS, SEED, write_film
from worldgauge_train.training.state import ResumableState, begin_state, claimed
from worldgauge_train.training.stepping import Hooks, Learned, Precision, Stepping, go_on
from worldgauge_train.training.stepping import LearnedModule as AskedModule
from worldgauge_train.training.team import Team
from worldgauge_train.training.validation import RolloutInput, Validation

VALIDATED_STEPS = 10
"""Denoising steps of a validation; it compares moments of one training, not models."""


class Shown(NamedTuple):
    """Clips of a step: frames (B, T, 3, H, W) uint8, rows (B, T, columns) that led to them, and B prompts."""

    frames: Tensor
    rows: Tensor
    prompts: Sequence[str]


@dataclass
class Adapting(Learned):
    """What is learned of an external pipeline, for `stepping`. Without `drawn_at`, losses are not logged by level."""

    recipe: Adaptation
    brought: Brought
    adapter: Adapter
    drawn_at: Tensor | None = None

    def losses(self, window: Shown, step: int, generator: torch.Generator) -> Tensor:
        """Losses of clips (B,); see `stepping.Learned`."""
        device = self.brought.nets[0].device
        pixels = window.frames.to(device).float() / 127.5 - 1
        rows = window.rows.to(device) if self.adapter.shape.columns else None
        with self.adapter.telling(rows):
            return self.brought.losses(pixels, window.prompts, self.recipe.shift, generator)

    def share(self, step: int, spent: float) -> float:
        """Share of the learning rate; see `stepping.Learned`."""
        ramp = min(1.0, (step + 1) / max(self.recipe.warm_up, 1))
        done = max(step / self.recipe.steps, spent)
        return ramp * (0.5 + 0.5 * math.cos(math.pi * done) if self.recipe.schedule == "cosine" else 1.0)


def adapt(
    recipe: Adaptation,
    material: Material,
    texts: Mapping[str, TrainingClip],
    base: Path,
    out: Path,
    *,
    minutes: float | None = None,
    validation: Validation | None = None,
    sinks: Sequence[str] = (),
    device: str = "cpu",
    precision: Precision = "float32",
    deterministic: bool = False,
    progress: Callable[[Mark], None] = lambda mark: None,
) -> Path:
    """Post-train a brought pipeline, or go on with it."""
    team = Team(device)
    team.own(recipe.parts)
    check_words(texts, recipe.prompt)
    mirror = material.mirror if recipe.prompt == "" else None  # words say left and right
    windows = Windows(material.clips, 1, recipe.frames, mirror, recipe.seed, 1)
    with same_bytes(deterministic), claimed(out) if team.is_first else nullcontext():
        with team.first_before_others():
            digest = digest_of_pipeline(base)
            identity = {
                "format": FORMAT,
                "recipe": told(recipe),
                "data": [one._asdict() for one in material.proof()],
                "base": {"name": base.resolve().name, "digest": digest},
                "deterministic": deterministic,
                "precision": precision,
            }
            _reserve(out, identity, material)
            log = Log(out, sinks) if team.is_first else None
        brought = open_brought(base, team.device, precision == "bfloat16")
        check_fits(recipe, brought, material.spaces)
        brought.fps = material.fps or material.space.fps
        if recipe.checkpointing:
            for net in brought.nets:
                net.enable_gradient_checkpointing()
        columns = material.columns if recipe.actions else 0
        ids = recipe.frames if columns and recipe.conditioning == "ids" else 0
        shape = AdapterShape(recipe.weights, recipe.rank, recipe.alpha, recipe.targets, columns, ids)  # type: ignore[arg-type]
        adapter = Adapter(brought, shape, recipe.seed)
        if ids:
            load_ids(brought.nets[0], base / "unet")
        state = begin_state(adapter, recipe, (0.9, 0.999))
        if state.load(out) and log is not None:
            log.cut(state.step)
        stepping = Stepping(
            Adapting(recipe, brought, adapter),
            team.prepared(AskedModule(Adapting(recipe, brought, adapter), adapter.modules)),
            team,
            precision == "bfloat16",
        )

        def shown(step: int) -> Shown:
            batch = windows.batch(step, recipe.batch)
            frames = torch.from_numpy(np.ascontiguousarray(batch.frames)).movedim(-1, -3)
            prompts = [prompt_of(texts[id], first, recipe.frames, recipe.prompt) for id, first in batch.places]
            return Shown(frames, torch.from_numpy(np.ascontiguousarray(batch.rows)), prompts)

        def looked(step: int, average: dict[str, Tensor]) -> Mapping[str, Any]:
            if validation is None:
                return {}
            drawing = BroughtDrawing(adapter, recipe.frames, VALIDATED_STEPS, adapter.unguided, "the adapter")
            with adapter.holding(average):
                found, drawn = validation.measure(lambda asked: [_film(drawing, one) for one in asked])
            write_film(out / FILMS / f"{step:07d}.mp4", validation.truths(), drawn, validation.fps)
            return found

        go_on(out, state, stepping, log, Hooks(shown, looked, lambda step: None, progress), minutes, False)
        if team.is_first:
            told_of = made_by(str(team.device), precision, team.count)
            told_of["validation"] = last_validation(read_log(out), "" if validation is None else validation.what)
            _write(out, {**identity, **told_of}, material, recipe, state, adapter, base)
        team.wait()
    return out


def _film(drawing: BroughtDrawing, asked: RolloutInput) -> Frames:
    rows = np.ascontiguousarray(asked.rows, np.float32)
    return np.concatenate(list(drawing.chunks(asked.past[-1], rows, len(rows), "", SEED)))


def check_fits(recipe: Adaptation, brought: Brought, spaces: Sequence[str]) -> None:
    """Check that a pipeline takes clips of a recipe."""
    stride, multiple = brought.stride, brought.multiple
    name = type(brought.pipe).__name__
    if (recipe.frames - 1) % stride:
        near = 1 + stride * max(1, round((recipe.frames - 1) / stride))
        raise UsageError(f"recipe: frames is {recipe.frames}; {name} takes {stride} n + 1 of them: --set frames={near}")
    if any(side % multiple for side in recipe.size):
        width, height = (multiple * max(1, round(side / multiple)) for side in recipe.size)
        raise UsageError(
            f"recipe: size is {recipe.size}; {name} takes multiples of {multiple}: --set size=[{width},{height}]"
        )
    fits = isinstance(brought, Svd) and spaces == (NAV_STEPS.name,) and recipe.told == "keys"
    if recipe.actions and recipe.conditioning == "ids" and not fits:
        raise UsageError(
            f"recipe: conditioning 'ids' needs SVD, told = 'keys' and actions of {NAV_STEPS.name}; this is {name}, "
            f"'{recipe.told}' and {', '.join(spaces)}: give --set conditioning=injection"
        )
    if recipe.prompt and not brought.takes_words:
        raise UsageError(f"recipe: prompt is '{recipe.prompt}', and {name} takes no words: --set prompt=''")


def _reserve(out: Path, identity: Mapping[str, Any], material: Material) -> None:
    """The folder is for this training: it says so already, or from now on."""
    path = out / CONFIG
    if not path.exists():
        write_file(path, dumps(identity, indent=2))
        return
    before = read_json_object(path)
    if before.get("format") != FORMAT:
        raise RunError(f"{out} holds no adapter of a brought pipeline; take another folder")
    recipe = {**told(Adaptation()), **before.get("recipe", {})}
    for key, value in identity["recipe"].items():
        held = recipe.get(key)
        if held != value:
            raise RunError(f"{out} holds a training with {key} = {held!r}, not {value!r}; take another folder")
    if before.get("deterministic", False) != identity["deterministic"]:
        raise RunError(f"{out} holds a training {'without' if identity['deterministic'] else 'with'} --deterministic")
    check_precision(out, before, identity["precision"])
    if not same_data(before.get("data"), material.proof()):
        raise RunError(f"{out} holds a training on other data; take another folder")
    if before.get("base", {}).get("digest") != identity["base"]["digest"]:
        raise RunError(f"{out} holds a training of another base ({before.get('base', {}).get('name')})")


def _write(
    out: Path,
    identity: Mapping[str, Any],
    material: Material,
    recipe: Adaptation,
    state: ResumableState,
    adapter: Adapter,
    base: Path,
) -> None:
    save_tensors(out / TENSORS, state.average)
    if adapter.shape.ids and recipe.weights == "all":
        with adapter.holding(state.average):
            adapter.brought.nets[0].save_pretrained(out / "unet")  # as World-in-World's own, for its adapter
    follows_path = material.spaces == (CAMERA_MOTION.name,)
    config = {
        **identity,
        "adapter": asdict(adapter.shape),
        **licence_of((one for row in material.proof() for one in row.terms), terms_of_pipeline(base)),
        "steps_done": state.step,
        "seconds": round(state.seconds, 1),
        "told": recipe.told,
        "prompt": recipe.prompt,
        "size": list(recipe.size),
        "frames": recipe.frames,
        "fps": material.fps,
        "rate": adapter.brought.fps,
        "action_spaces": list(material.spaces),
        "control": "text" if not recipe.actions else "camera" if follows_path else "actions",
        "view": material.view,
        "torch": torch.__version__,
    }
    write_file(out / CONFIG, dumps(config, indent=2))
