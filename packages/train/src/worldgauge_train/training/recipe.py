"""Recipes: everything that decides what a training makes, as a typed value that is read from TOML."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence, Sized
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from worldgauge.core.errors import DataError, UnknownNameError, UsageError, did_you_mean
from worldgauge.core.io import read_text
from worldgauge.models.baselines.tiny import Told

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Head = Literal["moving", "plain"]
Init = Literal["ode", "consistency"]
Optimizer = Literal["adamw", "muon"]
Modulation = Literal["block", "shared"]
PosesTold = Literal["numbers", "rays"]
R = TypeVar("R", bound="DataclassInstance")


@dataclass(frozen=True)
class Recipe:
    """What is trained, and how.

    Attributes:
        stage: Such as "regress" (a step is guessed at once) or "causal" (at noise levels).
        codec: Name of the codec; "pixels" for none.
        size: (width, height) in pixels, multiples of 4.
        frames: Frames per step, K.
        stride: Frames of a clip from one that is used to the next, for slow episodes.
        past: Past frames that the network sees, C.
        drawn: Steps of a window after its past.
        fetched: Frames that a memory fetches per step, if it fetches any.
        channels: Channels of each level of a `conv`.
        blocks: Blocks per level.
        wraps: Whether the left border of a `conv` joins the right one, as in panoramas.
        bearings: Whether a `conv` that wraps has each column's direction as input; else it sees all alike.
        patch: Pixels of a token of a `causal`, across and down.
        width: Size of a token.
        depth: Number of blocks.
        ratio: Width of the inner layer of a block, as a multiple of `width`.
        modulation: "block", a layer per block, or "shared", one for all and a table per block, with fewer weights.
        poses: Poses of fetched frames in tokens of a `causal`: five "numbers" each, or Pluecker "rays".
        window: Steps within sight, including the step itself.
        codec_width: Channels inside the codec "tiny"; `latent_planes` are its outer ones.
        codec_steps: Steps of its training, with 32 frames each.
        codec_folder: Folder of the autoencoder for the codec "diffusers".
        told: Action inputs: "keys", "motion" (nominal, so that keys and rates can be mixed), "both" or "nothing".
        batch: Windows per training step.
        parts: Parts of a batch with random numbers of their own, which processes share out.
        optimizer: "adamw", or "muon" for matrices with AdamW for the rest.
        learning_rate: Of AdamW; Muon's is 20 times as high.
        warm_up: Steps until the learning rate is reached; it falls along a cosine over the last half.
        average: Decay of the average of the weights, which is what is saved.
        checkpointing: Whether the backward pass computes the blocks again, which saves memory.
        own: Share of windows whose last past step is the model's own, for `conv`.
        trajectories: Windows for which the teacher of the stage `init` generates trajectories.
        init: "ode" (from the teacher's trajectories) or "consistency" (from neighbouring levels).
        critic_steps: Steps of the critic per step of the student, in the stage `distil`.
        guidance: Of the teacher, on actions, in the stage `distil`.
        denoising_steps: Steps of the sampler that a checkpoint is used with.
    """

    stage: str = "regress"
    architecture: str = "conv"
    codec: str = "pixels"
    memory: str = "window"
    head: Head = "moving"
    size: tuple[int, int] = (64, 36)
    frames: int = 4
    stride: int = 1
    past: int = 8
    drawn: int = 2
    fetched: int = 2
    channels: tuple[int, ...] = (48, 96)
    blocks: int = 1
    wraps: bool = False
    bearings: bool = False
    patch: int = 4
    width: int = 128
    depth: int = 4
    ratio: int = 3
    modulation: Modulation = "block"
    poses: PosesTold = "numbers"
    heads: int = 4
    window: int = 8
    latent_planes: int = 16
    codec_width: int = 32
    codec_steps: int = 2000
    codec_folder: str = ""
    told: Told = "both"
    batch: int = 16
    parts: int = 1
    steps: int = 700
    optimizer: Optimizer = "adamw"
    learning_rate: float = 1e-3
    warm_up: int = 50
    decay: float = 0.01
    clip_norm: float = 1.0
    average: float = 0.999
    checkpointing: bool = False
    own: float = 0.5
    trajectories: int = 64
    init: Init = "ode"
    critic_steps: int = 5
    guidance: float = 3.0
    denoising_steps: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        """Check all values."""
        for name, fine, rule in (
            ("head", self.head in get_args(Head), f"one of {', '.join(get_args(Head))}"),
            ("init", self.init in get_args(Init), f"one of {', '.join(get_args(Init))}"),
            ("size", len(self.size) == 2 and all(8 <= side <= 4096 and side % 4 == 0 for side in self.size),
             f"width and height, multiples of 4 such as {tuple(max(8, round(side / 4) * 4) for side in self.size)}"),
            ("frames", 1 <= self.frames <= 64, "1 to 64"),
            ("stride", 1 <= self.stride <= 1000, "1 to 1000"),
            ("past", self.frames <= self.past <= 256, f"at least a step ({self.frames}), at most 256"),
            ("channels", bool(self.channels) and all(n % 8 == 0 and 8 <= n <= 4096 for n in self.channels),
             "multiples of 8"),
            ("told", self.told in get_args(Told), f"one of {', '.join(get_args(Told))}"),
            ("drawn", 2 <= self.drawn <= 256, "2 to 256"),
            ("fetched", 1 <= self.fetched <= 64, "1 to 64"),
            ("patch", 1 <= self.patch <= 64, "1 to 64"),
            ("width", 8 <= self.width <= 8192, "8 to 8192"),
            ("depth", 1 <= self.depth <= 128, "1 to 128"),
            ("ratio", 1 <= self.ratio <= 16, "1 to 16"),
            ("modulation", self.modulation in get_args(Modulation), f"one of {', '.join(get_args(Modulation))}"),
            ("poses", self.poses in get_args(PosesTold), f"one of {', '.join(get_args(PosesTold))}"),
            ("heads", 1 <= self.heads <= 256, "1 to 256"),
            ("window", 2 <= self.window <= 4096, "at least 2"),
            ("latent_planes", 1 <= self.latent_planes <= 256, "1 to 256"),
            ("codec_width", 8 <= self.codec_width <= 1024, "8 to 1024"),
            ("codec_steps", self.codec_steps >= 1, "at least 1"),
            ("trajectories", 1 <= self.trajectories <= 10**6, "at least 1"),
            ("critic_steps", 1 <= self.critic_steps <= 100, "1 to 100"),
            ("guidance", 0 <= self.guidance <= 100, "0 to 100"),
            ("blocks", 1 <= self.blocks <= 16, "1 to 16"),
            ("batch", 1 <= self.batch <= 65_536, "at least 1"),
            ("parts", 1 <= self.parts <= self.batch and self.batch % self.parts == 0,
             f"a number that divides the batch ({self.batch})"),
            ("steps", 1 <= self.steps <= 10**8, "at least 1"),
            ("optimizer", self.optimizer in get_args(Optimizer), f"one of {', '.join(get_args(Optimizer))}"),
            ("learning_rate", 0 < self.learning_rate < 1, "above 0, below 1"),
            ("warm_up", self.warm_up >= 0, "0 or more"),
            ("average", 0 <= self.average < 1, "0 to below 1"),
            ("own", 0 <= self.own <= 1, "0 to 1"),
            ("denoising_steps", 1 <= self.denoising_steps <= 1000, "1 to 1000"),
        ):  # fmt: skip
            if not fine:
                raise UsageError(f"recipe: {name} is {getattr(self, name)!r}; give {rule}")

    @property
    def length(self) -> int:
        """Frames of a training window: the past and the steps that are drawn."""
        return self.past + self.drawn * self.frames


def named_recipe(name: str, stage: str = "") -> Recipe:
    """Read a recipe that comes with worldgauge, or one in a file."""
    return read_recipe(name, Recipe(), "recipes", stage)


def read_recipe(name: str, usual: R, folder: str, stage: str = "") -> R:
    """Read a recipe of some kind, that comes with worldgauge or lies in a file."""
    if name.endswith(".toml"):
        return recipe_of_text(read_text(Path(name)), name, stage, usual)
    own = {
        one.name.removesuffix(".toml"): one
        for one in resources.files("worldgauge_train.training").joinpath(folder).iterdir()
    }
    own = {key: one for key, one in own.items() if one.name.endswith(".toml")}
    if name not in own:
        raise UnknownNameError("recipe", name, sorted(own))
    return recipe_of_text(own[name].read_text(encoding="utf-8"), name, stage, usual)


def recipe_of_text(text: str, where: str, stage: str, usual: R) -> R:
    """Read a recipe from TOML."""
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"{where}: {error}") from None
    tables = {name: values.pop(name) for name in [*values] if isinstance(values[name], dict)}
    made = changed(usual, values, where)
    for name, table in tables.items():
        changed(made, table, f"{where}, [{name}]")
    if not stage:
        return made
    return changed(made, {"stage": stage, **tables.get(stage, {})}, f"{where}, [{stage}]")


def changed(recipe: R, values: Mapping[str, Any], where: str = "recipe") -> R:
    """Change keys of a recipe."""
    known = {field.name: getattr(recipe, field.name) for field in fields(recipe)}
    made = {}
    for name, value in values.items():
        if name not in known:
            raise UsageError(f"{where}: no key '{name}'. {did_you_mean(name, list(known))}Keys: {', '.join(known)}")
        made[name] = _like(known[name], value, f"{where}: {name}")
    return replace(recipe, **made)


def told(recipe: Any) -> dict[str, Any]:
    """All keys as plain JSON values."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(recipe).items()}


def _like(old: Any, value: Any, where: str) -> Any:
    """A value of the type of the old one."""
    if isinstance(value, str) and not isinstance(old, str):
        try:
            value = tomllib.loads(f"value = {value}")["value"]
        except (tomllib.TOMLDecodeError, RecursionError):
            raise UsageError(f"{where} is {value!r}; give a value like {old!r}") from None
    if isinstance(old, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if (
        isinstance(old, tuple)
        and isinstance(value, list)
        and all(type(one) in {type(each) for each in old} for one in value)
    ):
        value = tuple(value)
    if type(value) is not type(old):
        raise UsageError(f"{where} is {value!r}; give a value like {old!r}")
    return value


RATE = 0.1
"""Learning rate, as a share of that of the first training."""
STAGES = ("regress", "teacher", "causal")
"""Stages that can go on with their own kind. A student is made again from its post-trained teacher."""


def base_recipe(config: Mapping[str, Any], where: str) -> Recipe:
    """Recipe of a checkpoint that is to be trained on, with a tenth of its learning rate."""
    told = config.get("recipe")
    if not isinstance(told, dict):
        raise DataError(f"{where}: no checkpoint of 'worldgauge train'")
    recipe = changed(Recipe(), told, where)
    if recipe.stage not in STAGES:
        raise UsageError(
            f"{where} is of the stage '{recipe.stage}'; post-train one of {', '.join(STAGES)}, and distil it again"
        )
    return changed(recipe, {"learning_rate": RATE * recipe.learning_rate}, where)


def one_epoch(recipe: Recipe, clips: Sequence[Sized]) -> Recipe:
    """Set the steps so that as many frames are learned as clips have, each drawn once on average."""
    frames = sum(max(0, len(clip) - recipe.past) for clip in clips if len(clip) >= recipe.length)
    steps = max(1, math.ceil(frames / (recipe.batch * recipe.drawn * recipe.frames)))
    return changed(recipe, {"steps": steps, "warm_up": min(recipe.warm_up, steps // 10)})
