"""Train a network: the same bytes from the same recipe and data on a CPU, also after an interruption."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
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
from worldgauge_train.nets.architectures import ClipWindow, VideoNetwork, architectures
from worldgauge_train.nets.checkpoint import save_shards, save_tensors
from worldgauge_train.nets.codecs import Codec, codecs
from worldgauge_train.nets.drawing import CODEC, CONFIG, FORMAT, WEIGHTS, Question, SampledNetwork
from worldgauge_train.nets.memory import FrameMemory, memories
from worldgauge_train.training.cache import CachedClip, Look, Windows, as_pixels, check_disk
from worldgauge_train.training.device import check_memory, same_bytes
from worldgauge_train.training.latents import Planes, bytes_of, look_through, pixels_of, seconds_of_codec, trained_codec
from worldgauge_train.training.log import Log, read_log
from worldgauge_train.training.material import Mark, Material, TrainingPlan, same_data
from worldgauge_train.training.parents import (
    TEACHER,
    check_precision,
    last_validation,
    licence_of,
    made_by,
    read_parent,
)
from worldgauge_train.training.recipe import Recipe, told
from worldgauge_train.training.rollouts import FILMS, drawing_of, rollout_of, write_film
from worldgauge_train.training.stages import FIRST_WINDOW, TRAJECTORIES, Parent, TrainingStage, stages
from worldgauge_train.training.state import ResumableState, begin_state, claimed, is_kept
from worldgauge_train.training.stepping import Hooks, LearnedModule, Precision, Stepping, go_on
from worldgauge_train.training.team import Team, gathered_all
from worldgauge_train.training.validation import Validation

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
    """Train a network, or resume: `out` is refused if it holds another recipe or other data.

    Args:
        parent: Folder of the checkpoint that the stage begins from.
        minutes: Stop after this time, with the state saved.
        final: Let the learning rate fall over the last half of the minutes, for a finished model.
        validation: What to validate after a quarter, a half and all of the steps.
        precision: "bfloat16" where that is safe, or "float32" throughout. Weights are float32 in both.
        spreads: Whether several processes spread the weights. None: those of large networks.
        shard_mb: Split the weights into files of at most this many MiB.
        deterministic: The same bytes on GPUs too, but slower.
    """
    kind, memory, team = stages.get(recipe.stage), memories.get(recipe.memory)(recipe.fetched), Team(device, spreads)
    team.own(recipe.parts)
    _windows(recipe, material, memory, 0)  # whether there are any
    start = read_parent(recipe, kind, parent)
    device = team.device
    whose = _Identity(recipe, material, start, deterministic, precision)
    holds = claimed(out, CODEC, TRAJECTORIES) if team.is_first else nullcontext()
    with same_bytes(deterministic), holds, _pool_of(material):
        with team.first_before_others():
            _reserve(out, whose)
            log = Log(out, sinks) if team.is_first else None
            codec = _begun_codec(recipe, start).to(device)
            stage = _stage(kind, recipe, material, codec, start, device, 1 if spreads is False else team.count)
            _check_room(stage, codec, material, out, is_known=start is not None or (out / CODEC).exists())
            _finish_codec(codec, recipe, material, start, out)
            for net in (stage.net, *stage.beside.values()):
                net.to(device)
                if compiled:
                    net.compile()
            look = look_through(codec, material.clips, material.place, device)
            if isinstance(look, Planes) and material.place is not None:
                check_disk(material.place, {"planes": look.lacking(material.clips, material.mirror is not None)})
            given = _Given(recipe, material, memory, _windows(recipe, material, memory, 0, look), codec, device)
            stage.prepare(given, out)
        asked = team.prepared(LearnedModule(stage, stage.learners), stage.pieces)
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
            made = made_by(str(device), precision, team.count)
            made["validation"] = last_validation(read_log(out), "" if validation is None else validation.what)
            _write_checkpoint(out, whose, state, average, stage, codec, shard_mb, made)
        team.wait()
    return out


def plan_training(
    recipes: Sequence[Recipe],
    material: Material,
    *,
    parent: Path | None = None,
    device: str = "cpu",
    precision: Precision = "float32",
) -> list[TrainingPlan]:
    """Plan the stages of a training from a few steps of each, writing nothing. Each begins from those steps of the
    previous one; a codec that learns is taken untrained."""
    start = read_parent(recipes[0], stages.get(recipes[0].stage), parent)
    plans = []
    for recipe in recipes:
        plan, start = _plan(recipe, material, start, device, precision)
        plans.append(plan)
    return plans


def _plan(
    recipe: Recipe, material: Material, start: Parent | None, device: str, precision: Precision
) -> tuple[TrainingPlan, Parent]:
    """The plan of one stage, and what the next one begins from in its own."""
    memory = memories.get(recipe.memory)(recipe.fetched)
    windows = _windows(recipe, material, memory, 0)
    codec = _begun_codec(recipe, start).to(device)
    learns = codec.learns and start is None
    codec_s = seconds_of_codec(codec, material.clips_at(0), recipe) if learns else 0.0
    codec.eval().requires_grad_(False)
    stage = _stage(stages.get(recipe.stage), recipe, material, codec, start, device)
    for net in (stage.net, *stage.beside.values()):
        net.to(device)
    given = _Given(recipe, material, memory, windows, codec, device)
    prepared_s = _prepared(stage, given)
    besides = {stage.beside[name]: scale for name, scale in stage.scales.items()}
    state = begin_state(stage.net, recipe, stage.betas, besides, recipe.optimizer)
    stepping = Stepping(stage, LearnedModule(stage, stage.learners), Team(device), precision == "bfloat16")
    flops, taken = 0, []
    for number in range(stage.cycle + max(_TIMED, stage.cycle)):
        window = given(number)  # encoded anew here, and once for all in a training
        counter = FlopCounterMode(display=False)
        with counter if number < stage.cycle else nullcontext():
            taken.append(_timed(lambda window=window: stepping.take(state, window)))  # type: ignore[misc]
        flops += counter.get_total_flops()
        state.step += 1
    timed = taken[stage.cycle :]
    step_s = median(timed) if stage.cycle == 1 else sum(timed) / len(timed)
    if stage.judged_every:
        step_s += _timed(lambda: stage.verdict(0, state.average)) / stage.judged_every
    if device == "cpu":
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    else:
        most = float(torch.cuda.max_memory_allocated(device))
    encoding_s = _seconds_of_encoding(codec, recipe, material, device)
    speed = _speed(drawing_of(stage, codec, _most_past(stage.net, recipe), device, precision), windows.usable[0])
    plan = TrainingPlan(
        recipe.stage,
        recipe.steps,
        sum(one.numel() for one in stage.net.parameters()),
        flops / stage.cycle,
        step_s,
        most / 1e9,
        codec_s,
        encoding_s,
        prepared_s,
        speed,
        (codec_s + encoding_s + prepared_s + step_s * recipe.steps) / 3600,
    )
    return plan, Parent(recipe.stage, stage.net, codec, stage.teacher, "", [])


def _prepared(stage: TrainingStage, given: _Given) -> float:
    """Prepare a stage as far as steps need it, and say what all of it takes."""
    whole, batches = stage.recipe, -(-stage.recipe.trajectories // stage.recipe.batch)
    stage.recipe = replace(whole, trajectories=min(whole.trajectories, whole.batch))
    with tempfile.TemporaryDirectory() as folder:
        taken = _timed(lambda: stage.prepare(given, Path(folder)))
    stage.recipe = whole
    return taken * batches if stage.stored_bytes else taken


def _seconds_of_encoding(codec: Codec, recipe: Recipe, material: Material, device: str) -> float:
    """Seconds that bringing all clips of a training into planes takes, and their mirrors."""
    if look_through(codec, (), None, device) is as_pixels:
        return 0.0
    frames = sum(map(len, material.clips))
    if material.ring is not None:
        frames += material.ring.drawn_by(recipe.steps - 1) * material.ring.source.frames
    clip = material.clips_at(0)[0]
    planes = Planes(codec, (), None, device)
    return _timed(lambda: planes(clip, False)) / len(clip) * frames * (1 if material.mirror is None else 2)


def _speed(drawing: SampledNetwork, clip: CachedClip) -> float:
    """Frames a second that a network draws for eight questions at once."""
    at = min(len(clip) - 1, 2 * drawing.chunk)
    one = Question(np.array(clip.frames[:-at]), clip.rows[-at:], 0, clip.rows[:-at], clip.poses)
    return 8 * at / _timed(lambda: list(drawing.batch([one] * 8)))


def _timed(done: Callable[[], Any]) -> float:
    began = time.monotonic()
    done()
    return max(time.monotonic() - began, 1e-9)


def check_device(device: str) -> None:
    """Check that a device is there."""
    there = ["cpu", *(f"cuda:{n}" for n in range(torch.cuda.device_count()))]
    if device != "cpu" and (device if ":" in device else f"{device}:0") not in there:
        raise UsageError(f"device '{device}' is not there; here are: {', '.join(there)}")


def _windows(recipe: Recipe, material: Material, memory: FrameMemory, step: int, look: Look = as_pixels) -> Windows:
    clips = material.clips_at(step)
    if isinstance(look, Planes):
        look.keep(clips)
    return Windows(clips, recipe.past, recipe.length, material.mirror, recipe.seed, recipe.frames, memory, look)


@dataclass
class _Given:
    """The windows of each step, as the network takes them."""

    recipe: Recipe
    material: Material
    memory: FrameMemory
    windows: Windows
    codec: Codec
    device: str = "cpu"

    def __call__(self, step: int) -> ClipWindow:
        known = step if step < FIRST_WINDOW else 0  # what a stage sets aside comes from the first clips
        if self.material.ring is not None and self.material.clips_at(known)[-1] is not self.windows.clips[-1]:
            self.windows = _windows(self.recipe, self.material, self.memory, known, self.windows.look)
        batch = self.windows.batch(step, self.recipe.batch)
        rows = torch.from_numpy(np.ascontiguousarray(batch.rows)).to(self.device)
        if not batch.fetched.shape[2]:
            return ClipWindow(self._planes(batch.frames), rows)
        relative = torch.from_numpy(np.ascontiguousarray(batch.relative)).to(self.device)
        return ClipWindow(self._planes(batch.frames), rows, self._planes(batch.fetched), relative)

    def _planes(self, frames: NDArray[Any]) -> Tensor:
        if frames.dtype != np.uint8:
            return torch.from_numpy(frames).to(self.device).float()
        pixels = pixels_of(frames, self.device)
        with torch.no_grad():
            return self.codec.encode(pixels.flatten(0, -4)).unflatten(0, pixels.shape[:-3])


def _begun_codec(recipe: Recipe, parent: Parent | None) -> Codec:
    """The codec: the parent's, or one that has still to learn, where it learns."""
    if parent is not None:
        return parent.codec
    torch.manual_seed(recipe.seed)
    return codecs.get(recipe.codec).of_recipe(told(recipe))


def _finish_codec(codec: Codec, recipe: Recipe, material: Material, parent: Parent | None, out: Path) -> None:
    """Train a codec where that is still to be done, and freeze it."""
    if codec.learns:
        trained_codec(codec, None if parent is not None else material.clips_at(0), recipe, out / CODEC)
    codec.eval().requires_grad_(False)


def _check_room(stage: TrainingStage, codec: Codec, material: Material, out: Path, *, is_known: bool) -> None:
    """Check that disks have room for all that is kept, before anything is trained: a codec takes long."""
    if not is_kept(out):
        learned = sum(one.numel() for net in stage.learners for one in net.parameters())
        beside = sum(one.numel() for net in stage.beside.values() for one in net.parameters())
        check_disk(out, {"two states": 2 * 4 * (4 * learned + beside), "rendered episodes": stage.stored_bytes})
    if codec.learns and not is_known and material.place is not None:  # planes of a known one may lie there already
        ways = 1 if material.mirror is None else 2
        check_disk(material.place, {"planes": ways * bytes_of(codec, material.clips)})


def _stage(
    kind: type[TrainingStage],
    recipe: Recipe,
    material: Material,
    codec: Codec,
    parent: Parent | None,
    device: str,
    parts: int = 1,
) -> TrainingStage:
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
    precision: Precision

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
            "precision": self.precision,
            **before,
        }


def _write_checkpoint(
    out: Path,
    whose: _Identity,
    state: ResumableState,
    average: Mapping[str, Tensor],
    stage: TrainingStage,
    codec: Codec,
    shard_mb: int | None,
    made: Mapping[str, Any],
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
        **made,
        "torch": torch.__version__,
    }
    write_file(out / CONFIG, dumps(config, indent=2))


def _control(recipe: Recipe, material: Material) -> Control:
    """What drives a network. Told nothing, it goes on by itself, as a model does that reads words."""
    if recipe.told == "nothing":
        return "text"
    return "camera" if material.spaces == (CAMERA_MOTION.name,) else "actions"


def _most_past(net: VideoNetwork, recipe: Recipe) -> int:
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
    check_precision(out, before, whose.precision)
    if not same_data(before.get("data"), whose.material.proof()):
        raise RunError(f"{out} holds a training on other data; take another folder")
    if before.get("lineage") != now["lineage"]:
        raise RunError(f"{out} holds a training that began from another checkpoint; take another folder")
