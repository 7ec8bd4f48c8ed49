"""Train a network: the same bytes from the same recipe and data on a CPU, also after an interruption."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from worldgauge.core.actions import CAMERA_MOTION, Control
from worldgauge.core.errors import RunError, UsageError
from worldgauge.core.io import dumps, read_json_object, write_file
from worldgauge.nets.architectures import Network, Window, architectures
from worldgauge.nets.checkpoint import save_shards, save_tensors
from worldgauge.nets.codecs import Codec, codecs
from worldgauge.nets.drawing import CODEC, CONFIG, FORMAT, WEIGHTS
from worldgauge.nets.memory import Memory, memories
from worldgauge.training.log import Log
from worldgauge.training.loop.autoencoder import trained_codec
from worldgauge.training.loop.claim import claimed
from worldgauge.training.loop.determinism import same_bytes
from worldgauge.training.loop.memory import check_memory
from worldgauge.training.loop.parents import TEACHER, licence_of, read_parent
from worldgauge.training.loop.planes import Planes, look_through, pixels_of
from worldgauge.training.loop.rollouts import FILMS, drawing_of, rollout_of, write_film
from worldgauge.training.loop.spread import gathered_all
from worldgauge.training.loop.stages import FIRST_WINDOW, Parent, Stage, stages
from worldgauge.training.loop.stages.init import TRAJECTORIES
from worldgauge.training.loop.state import TrainingState, begin_state
from worldgauge.training.loop.stepping import Asked, Hooks, Precision, Stepping, go_on
from worldgauge.training.loop.team import Team
from worldgauge.training.material import Mark, Material, TrainingPlan
from worldgauge.training.proof import same_data
from worldgauge.training.recipe import Recipe, told
from worldgauge.training.validation import Validation
from worldgauge.training.windows import Look, Windows, as_pixels

_TIMED = 3
"""Steps that a plan is made from."""


def train(
    recipe: Recipe,
    material: Material,
    out: Path,
    *,
    parent: Path | None = None,
    minutes: float | None = None,
    final: bool = False,
    validation: Validation | None = None,
    sinks: Sequence[str] = (),
    device: str = "cpu",
    precision: Precision = "float32",
    compiled: bool = False,
    spreads: bool | None = None,
    shard_mb: int | None = None,
    deterministic: bool = False,
    progress: Callable[[Mark], None] = lambda mark: None,
) -> Path:
    """Train a network, or go on with it.

    Args:
        recipe: What is trained, and how.
        material: What it is trained on.
        out: Folder of the checkpoint; one that holds another recipe or other data is refused.
        parent: Folder of the checkpoint that the stage begins from. None for none.
        minutes: Stop after so long, with the state kept. None to go on to the end.
        final: Let the learning rate fall over the last half of the minutes, so that they give a finished model.
        validation: What the model is asked after a quarter, a half and all of the steps. None for nothing.
        sinks: "tensorboard" and "trackio": where the log goes besides its files.
        device: Where the network is trained, such as "cuda".
        precision: "bfloat16" where that is safe, or "float32" throughout. Weights are float32 in both.
        compiled: Compile the networks, on GPUs.
        spreads: Whether several processes spread the weights. None: those of large networks.
        shard_mb: Keep the weights in files of at most so many MiB. None for one file.
        deterministic: To the same bytes on GPUs, too, at a price.
        progress: Called now and then.

    Returns:
        The folder.

    Raises:
        RunError: Another process trains in that folder, or it holds another training.
        DataError: The folder cannot be written, or losses are not finite ten times in a row.
        UsageError: No clip is as long as a window, or the stage needs another parent.
        UnknownNameError: The stage, architecture, memory or codec is not known.
    """
    kind, memory, team = stages.get(recipe.stage), memories.get(recipe.memory)(recipe.fetched), Team(device, spreads)
    team.own(recipe.parts)
    _windows(recipe, material, memory, 0)  # whether there are any
    start = read_parent(recipe, kind, parent)
    device = team.device
    whose = _Identity(recipe, material, start, deterministic)
    holds = claimed(out, CODEC, TRAJECTORIES) if team.is_first else nullcontext()
    with same_bytes(deterministic), holds, _pool_of(material):
        with team.first_before_others():
            _reserve(out, whose)
            log = Log(out, sinks) if team.is_first else None
            codec = _codec(recipe, material, start, out)
            stage = _stage(kind, recipe, material, codec, start, device, 1 if spreads is False else team.count)
            codec.to(device)
            for net in (stage.net, *stage.beside.values()):
                net.to(device)
                if compiled:
                    net.compile()
            look = look_through(codec, material.clips, material.place, device)
            given = _Given(recipe, material, memory, _windows(recipe, material, memory, 0, look), codec, device)
            stage.prepare(given, out)
        asked = team.prepared(Asked(stage, stage.learners), stage.pieces)
        besides = {stage.beside[name]: scale for name, scale in stage.scales.items()}
        state = begin_state(stage.net, recipe, stage.betas, besides, recipe.optimizer)
        state.beside = stage.beside
        if state.load(out) and log is not None:
            log.cut(state.step)
        stepping = Stepping(stage, asked, team, precision == "bfloat16")
        drawing = drawing_of(stage, codec, _most_past(stage.net, recipe), device, precision)

        def looked(step: int, average: dict[str, Tensor]) -> Mapping[str, Any]:
            if validation is None:
                return {}
            found, drawn = validation.measure(rollout_of(stage, average, drawing))
            write_film(out / FILMS / f"{step:07d}.mp4", validation.truths(), drawn, validation.fps)
            return found

        hooks = Hooks(given, looked, lambda step: _keep_scenes(out, material, step), progress)
        go_on(out, state, stepping, log, hooks, minutes, final)
        average = gathered_all(state.average, kept=team.is_first)
        if team.is_first:
            _write_checkpoint(out, whose, state, average, stage, codec, shard_mb)
        team.wait()
    return out


def plan_training(
    recipe: Recipe,
    material: Material,
    *,
    parent: Path | None = None,
    device: str = "cpu",
    precision: Precision = "float32",
) -> TrainingPlan:
    """Say what a training would be, from a few steps that are thrown away. Nothing is written.

    Stages that prepare something first (`init`, `distil`) are not timed, and a codec that learns is taken as it begins.

    Args:
        recipe: As for `train`.
        material: As for `train`.
        parent: As for `train`.
        device: As for `train`.
        precision: As for `train`.

    Raises:
        UsageError: As for `train`.
    """
    kind, memory = stages.get(recipe.stage), memories.get(recipe.memory)(recipe.fetched)
    start = read_parent(recipe, kind, parent)
    codec = start.codec if start is not None else codecs.get(recipe.codec).of_recipe(told(recipe))
    codec.eval().requires_grad_(False).to(device)
    stage = _stage(kind, recipe, material, codec, start, device)
    stage.net.to(device)
    count = sum(one.numel() for one in stage.net.parameters())
    windows = _windows(recipe, material, memory, 0)
    if kind.prepare is not Stage.prepare:
        return TrainingPlan(count, None, None, None, None)
    given, taken = _Given(recipe, material, memory, windows, codec, device), []
    state = begin_state(stage.net, recipe, stage.betas, optimizer=recipe.optimizer)
    stepping = Stepping(stage, Asked(stage, [stage.net]), Team(device), precision == "bfloat16")
    counter = FlopCounterMode(display=False)
    window = given(0)
    with counter:
        stepping.take(state, window)
    for number in range(1, 1 + _TIMED):
        window = given(number)  # encoded anew here, and once for all in a training
        began = time.monotonic()
        stepping.take(state, window)
        taken.append(time.monotonic() - began)
    if device == "cpu":
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    else:
        most = float(torch.cuda.max_memory_allocated(device))
    step_s = median(taken)
    return TrainingPlan(count, float(counter.get_total_flops()), step_s, most / 1e9, step_s * recipe.steps / 3600)


def check_device(device: str) -> None:
    """Check that a device is there.

    Raises:
        UsageError: It is not; the message names those that are.
    """
    there = ["cpu", *(f"cuda:{n}" for n in range(torch.cuda.device_count()))]
    if device != "cpu" and (device if ":" in device else f"{device}:0") not in there:
        raise UsageError(f"device '{device}' is not there; here are: {', '.join(there)}")


def _windows(recipe: Recipe, material: Material, memory: Memory, step: int, look: Look = as_pixels) -> Windows:
    clips = material.clips_at(step)
    if isinstance(look, Planes):
        look.keep(clips)
    return Windows(clips, recipe.past, recipe.length, material.mirror, recipe.seed, recipe.frames, memory, look)


@dataclass
class _Given:
    """The windows of each step, as the network takes them."""

    recipe: Recipe
    material: Material
    memory: Memory
    windows: Windows
    codec: Codec
    device: str = "cpu"

    def __call__(self, step: int) -> Window:
        known = step if step < FIRST_WINDOW else 0  # what a stage sets aside comes from the first clips
        if self.material.ring is not None and self.material.clips_at(known)[-1] is not self.windows.clips[-1]:
            self.windows = _windows(self.recipe, self.material, self.memory, known, self.windows.look)
        batch = self.windows.batch(step, self.recipe.batch)
        rows = torch.from_numpy(np.ascontiguousarray(batch.rows)).to(self.device)
        if not batch.fetched.shape[2]:
            return Window(self._planes(batch.frames), rows)
        relative = torch.from_numpy(np.ascontiguousarray(batch.relative)).to(self.device)
        return Window(self._planes(batch.frames), rows, self._planes(batch.fetched), relative)

    def _planes(self, frames: NDArray[Any]) -> Tensor:
        if frames.dtype != np.uint8:
            return torch.from_numpy(frames).to(self.device).float()
        pixels = pixels_of(frames, self.device)
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


def _stage(
    kind: type[Stage],
    recipe: Recipe,
    material: Material,
    codec: Codec,
    parent: Parent | None,
    device: str,
    parts: int = 1,
) -> Stage:
    torch.manual_seed(recipe.seed)
    architecture = architectures.get(recipe.architecture)
    size = (recipe.size[0] // codec.shrink, recipe.size[1] // codec.shrink)
    settings = kind.settings(recipe)
    shape = architecture.shape_from(settings, columns=material.columns, planes=codec.planes, size=size)
    with torch.device("meta"):
        weights = sum(one.numel() for one in architecture(shape).parameters())
    check_memory(weights // parts, device)
    net = architecture(shape)
    net.checkpointing = recipe.checkpointing
    return kind(recipe, net, parent)


@contextmanager
def _pool_of(material: Material) -> Iterator[None]:
    """Workers that draw walks end with the training."""
    try:
        yield
    finally:
        if material.ring is not None:
            material.ring.close()


@dataclass(frozen=True)
class _Identity:
    """What a training is."""

    recipe: Recipe
    material: Material
    parent: Parent | None
    deterministic: bool

    @property
    def told(self) -> dict[str, Any]:
        """As config.json tells it before the first step."""
        parent = self.parent
        lineage = [] if parent is None else [*parent.lineage, {"stage": parent.stage, "weights": parent.digest}]
        proof = self.material.proof()
        before = {} if parent is None else {"parent_scenes": list(parent.scenes)}
        terms = [*(one for row in proof for one in row.terms), *(() if parent is None else parent.terms)]
        return {
            "format": FORMAT,
            "recipe": told(self.recipe),
            "data": [one._asdict() for one in proof],
            "lineage": lineage,
            **licence_of(terms, None),
            "deterministic": self.deterministic,
            **before,
        }


def _write_checkpoint(
    out: Path,
    whose: _Identity,
    state: TrainingState,
    average: Mapping[str, Tensor],
    stage: Stage,
    codec: Codec,
    shard_mb: int | None,
) -> None:
    recipe, material = whose.recipe, whose.material
    if shard_mb is None:
        save_tensors(out / WEIGHTS, stage.kept(average))
    else:
        save_shards(out / WEIGHTS, stage.kept(average), shard_mb)
    if stage.teacher is not None:
        save_tensors(out / TEACHER, stage.teacher.state_dict())
    shape = stage.net.shape
    config = {
        **whose.told,
        "data": _data(out, material, state.step),
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
        "control": _control(recipe, material),
        "view": material.view,
        "torch": torch.__version__,
    }
    write_file(out / CONFIG, dumps(config, indent=2))


def _control(recipe: Recipe, material: Material) -> Control:
    """What drives a network. Told nothing, it goes on by itself, as a model does that reads words."""
    if recipe.told == "nothing":
        return "text"
    return "camera" if material.spaces == (CAMERA_MOTION.name,) else "actions"


def _most_past(net: Network, recipe: Recipe) -> int:
    """Frames of the past that are of use to a network; 0 for all."""
    if recipe.memory != "window":
        return 0
    most: int = recipe.length - recipe.frames if net.sees_beyond else net.shape.past
    return most


def _data(out: Path, material: Material, step: int) -> list[dict[str, Any]]:
    """Proof of what was trained on so far, with the scenes that were drawn before an interruption."""
    known = {scene for row in read_json_object(out / CONFIG)["data"] if row.get("drawn") for scene in row["scenes"]}
    drawn = set() if material.ring is None else material.ring.scenes
    return [one._asdict() for one in material.proof(step, known | drawn)]


def _keep_scenes(out: Path, material: Material, step: int) -> None:
    """Tell the scenes that were drawn, before the state that has seen them is kept."""
    if material.ring is not None:
        config = read_json_object(out / CONFIG)
        write_file(out / CONFIG, dumps({**config, "data": _data(out, material, step)}, indent=2))


def _reserve(out: Path, whose: _Identity) -> None:
    """The folder is for this training: it says so already, or from now on."""
    path, now = out / CONFIG, whose.told
    if not path.exists():
        write_file(path, dumps(now, indent=2))
        return
    before = read_json_object(path)
    for key, value in now["recipe"].items():
        held = {**told(Recipe()), **before.get("recipe", {})}.get(key)
        if held != value:
            raise RunError(f"{out} holds a training with {key} = {held!r}, not {value!r}; take another folder")
    if before.get("deterministic", False) != whose.deterministic:
        raise RunError(f"{out} holds a training {'without' if whose.deterministic else 'with'} --deterministic")
    if not same_data(before.get("data"), whose.material.proof()):
        raise RunError(f"{out} holds a training on other data; take another folder")
    if before.get("lineage") != now["lineage"]:
        raise RunError(f"{out} holds a training that began from another checkpoint; take another folder")
