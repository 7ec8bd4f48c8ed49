"""Recipes for brought pipelines: what of them is trained, on what, and how it is told what is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from worldgauge.core.errors import UsageError
from worldgauge.models.references.tiny.action_rows import Told
from worldgauge_train.training.recipe import changed, read_recipe

Prompted = Literal["", "text", "nav/v1"]
Schedule = Literal["constant", "cosine"]


@dataclass(frozen=True)
class Adaptation:
    """How a brought pipeline is post-trained.

    Attributes:
        weights: "lora", or "all" weights of its network.
        rank: Rank of LoRA.
        alpha: Its scale is alpha / rank.
        targets: Layers that LoRA is put beside.
        actions: Whether actions are told, by injection into the embedding of the level.
        told: What is told of an action; as in `recipe.Recipe`.
        prompt: The words: "" for none, "text" for those of the clip, "nav/v1" for the steps of a walk in words.
        size: (width, height) in pixels.
        frames: Frames of a clip, the picture that it begins with counted.
        stride: As in `recipe.Recipe`.
        batch: Clips a step.
        parts: Parts of a batch, as in `recipe.Recipe`.
        epochs: How often each clip is shown, on average.
        steps: Steps of training; 0 for those of the epochs.
        learning_rate: Of AdamW.
        schedule: "constant", or "cosine" down to nothing.
        warm_up: Steps until the learning rate is reached.
        decay: Weight decay.
        clip_norm: Largest norm of a gradient.
        average: Decay of the average of the weights; 0 keeps those of the last step.
        shift: Shift of the levels of noise; 0 for the pipeline's own.
        checkpointing: Whether activations are computed again on the way back, which saves memory.
        seed: Seed of weights and draws.

    Raises:
        UsageError: A value is out of range.
    """

    weights: str = "lora"
    rank: int = 32
    alpha: int = 32
    targets: tuple[str, ...] = ("q", "k", "v", "o", "ffn.0", "ffn.2")
    actions: bool = True
    told: Told = "both"
    prompt: str = ""
    size: tuple[int, int] = (832, 480)
    frames: int = 81
    stride: int = 1
    batch: int = 1
    parts: int = 1
    epochs: int = 1
    steps: int = 0
    learning_rate: float = 1e-5
    schedule: str = "constant"
    warm_up: int = 0
    decay: float = 0.01
    clip_norm: float = 1.0
    average: float = 0.0
    shift: float = 0.0
    checkpointing: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        """Check all values."""
        for name, fine, rule in (
            ("weights", self.weights in ("lora", "all"), "lora or all"),
            ("told", self.told in get_args(Told), f"one of {', '.join(get_args(Told))}"),
            ("prompt", self.prompt in get_args(Prompted), "text, nav/v1 or nothing"),
            ("schedule", self.schedule in get_args(Schedule), f"one of {', '.join(get_args(Schedule))}"),
            ("size", len(self.size) == 2 and all(8 <= side <= 4096 and side % 4 == 0 for side in self.size),
             "width and height, multiples of 4"),
            ("frames", 2 <= self.frames <= 1000, "2 to 1000"),
            ("stride", 1 <= self.stride <= 1000, "1 to 1000"),
            ("batch", 1 <= self.batch <= 65_536, "at least 1"),
            ("parts", 1 <= self.parts <= self.batch and self.batch % self.parts == 0,
             f"a number that divides the batch ({self.batch})"),
            ("epochs", 1 <= self.epochs <= 10**6, "at least 1"),
            ("steps", 0 <= self.steps <= 10**8, "0 or more"),
            ("learning_rate", 0 < self.learning_rate < 1, "above 0, below 1"),
            ("warm_up", self.warm_up >= 0, "0 or more"),
            ("average", 0 <= self.average < 1, "0 to below 1"),
            ("shift", 0 <= self.shift <= 100, "0 to 100"),
            ("actions", self.actions or self.prompt != "",
             "true, or a prompt: else it is told nothing of what is done"),
        ):  # fmt: skip
            if not fine:
                raise UsageError(f"recipe: {name} is {getattr(self, name)!r}; give {rule}")

    @property
    def length(self) -> int:
        """Frames of a window."""
        return self.frames

    def with_steps(self, clips: int) -> Adaptation:
        """The recipe with the steps of its epochs.

        Args:
            clips: Clips that there are.
        """
        return self if self.steps else changed(self, {"steps": max(1, -(-self.epochs * clips // self.batch))})


def named_adaptation(name: str) -> Adaptation:
    """Read a recipe that comes with worldgauge, or one in a file.

    Args:
        name: Name, or path of a TOML file.

    Raises:
        UnknownNameError: There is no recipe or file of that name.
        DataError: The file is no recipe.
        UsageError: A value is out of range.
    """
    return read_recipe(name, Adaptation(), "worldgauge_train.training.adapt.recipes")
