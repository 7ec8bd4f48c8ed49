"""Stages: what a step of training asks of the network, and the loss of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from worldgauge.core.errors import UsageError
from worldgauge.core.registry import Registry
from worldgauge_train.nets.architectures import Network, Noised, Window
from worldgauge_train.nets.codecs import Codec
from worldgauge_train.nets.levels import level_loss
from worldgauge_train.training.loop.stepping import late_share
from worldgauge_train.training.recipe import Recipe, told

FIRST_WINDOW = 10**9
"""Number of the first step whose windows are set aside, such as for a teacher; no training goes so far."""

Windowed = Callable[[int], Window]
"""Draws the windows of a step by its number."""


@dataclass(frozen=True)
class Parent:
    """The checkpoint that a stage begins from.

    Attributes:
        stage: Stage that made it.
        net: Its network.
        codec: Its codec.
        teacher: The network that taught it, where it keeps one.
        digest: Digest of its weights.
        lineage: The checkpoints that it came from, the first first.
        scenes: Digests of the scenes that it was trained on.
        terms: Under whose terms the pictures are that it was trained on.
    """

    stage: str
    net: Network
    codec: Codec
    teacher: Network | None
    digest: str
    lineage: Sequence[Mapping[str, str]]
    scenes: Sequence[str] = ()
    terms: Sequence[str] = ()


class Stage:
    """A stage. It sets up what it needs, gives a loss for each step, and says what is kept.

    Args:
        recipe: What is trained, and how.
        net: The network, with its first weights. A stage that begins from a parent overwrites them.
        parent: The checkpoint that it begins from. None for none.

    Attributes:
        after: Stages that it may begin from.
        begins: Whether it may begin from nothing.
        at_once: Whether its networks guess a step at once, from no noise.
        betas: Of AdamW.
        drawn_at: Levels of the latest losses, where each loss has one.
        beside: Networks besides the one that is made; part of the state.
        scales: Learning rates of those of them that are trained, as shares of the recipe's.
    """

    after: ClassVar[tuple[str, ...]] = ()
    begins: ClassVar[bool] = True
    at_once: ClassVar[bool] = False
    betas: ClassVar[tuple[float, float]] = (0.9, 0.99)

    def __init__(self, recipe: Recipe, net: Network, parent: Parent | None) -> None:
        self.recipe, self.net, self.parent = recipe, net, parent
        self.beside: dict[str, Network] = {}
        self.drawn_at: Tensor | None = None
        self.scales: dict[str, float] = {}
        if parent is not None:
            adopt(net, parent.net)

    @classmethod
    def settings(cls, recipe: Recipe) -> dict[str, Any]:
        """Keys by which the architecture finds its sizes."""
        return {**told(recipe), "together": 0}

    def noising(self, steps: Tensor, generator: torch.Generator, *, pure: bool = False) -> Noised:
        """Bring steps to levels; see `nets.architectures.Noising`."""
        raise NotImplementedError

    def prepare(self, windows: Windowed, out: Path) -> None:
        """Make what is needed before the first step, once; the folder may hold it already.

        Args:
            windows: Draws windows.
            out: Folder of the training.
        """

    def losses(self, window: Window, step: int, generator: torch.Generator) -> Tensor:
        """Losses of a step.

        Args:
            window: The windows of the step.
            step: Its number.
            generator: Source of chance, on the CPU.

        Returns:
            (n,) losses, whose mean is gone down.
        """
        guess, wanted, t = self.net.supervised(window, self.noising, self.recipe.own, generator)
        self.drawn_at = t
        return level_loss(guess, wanted, t)

    def before_step(self, step: int) -> None:
        """What is done once before the losses of a step, outside of all gradients.

        Args:
            step: Its number.
        """

    def is_watched(self, step: int) -> bool:
        """Whether the loss of a step belongs to the series whose sudden rise means that the step is left out."""
        return True

    def updates(self, step: int) -> int | None:
        """Updates of what is kept before a step.

        Args:
            step: Its number.

        Returns:
            Their number, by which the average of the weights grows long. None where the step updates something beside.
        """
        return step

    def verdict(self, step: int, average: Mapping[str, Tensor]) -> str | None:
        """Look at what came of it after a step.

        Args:
            step: Steps done.
            average: Running average of the weights; it may be spread over processes.

        Returns:
            Why training must stop. None to go on.
        """
        return None

    def share(self, step: int, spent: float) -> float:
        """Share of the learning rate.

        Args:
            step: Steps done.
            spent: Share of the time that is over.
        """
        return late_share(step, self.recipe.steps, self.recipe.warm_up, spent)

    def kept(self, average: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Weights for the checkpoint.

        Args:
            average: Running average of the weights.
        """
        return average

    @property
    def cycle(self) -> int:
        """Steps until all has been done once that steps do by turns."""
        return 1

    @property
    def judged_every(self) -> int:
        """Steps from one verdict that takes time to the next; 0 where none does."""
        return 0

    @property
    def stored_bytes(self) -> int:
        """Bytes that are written to the folder of the training before the first step."""
        return 0

    @property
    def learners(self) -> list[Network]:
        """The networks that are trained."""
        return [self.net, *(self.beside[name] for name in self.scales)]

    @property
    def pieces(self) -> list[nn.Module]:
        """Modules of theirs that may be gathered one at a time; see `Network`."""
        return [piece for net in self.learners for piece in net.pieces]

    @property
    def teacher(self) -> Network | None:
        """A network that the checkpoint keeps for the stage after this one."""
        return None


stages: Registry[type[Stage]] = Registry("stage", "worldgauge_train.training.loop.stages", group="worldgauge.stages")


def adopt(net: nn.Module, parent: nn.Module) -> None:
    """Take over weights.

    Args:
        net: The network.
        parent: Another one with tensors of the same names and shapes.

    Raises:
        UsageError: They differ; the message names the first.
    """
    own, other = net.state_dict(), parent.state_dict()
    for name in sorted(own.keys() | other.keys()):
        mine, theirs = own.get(name), other.get(name)
        if mine is None or theirs is None or mine.shape != theirs.shape:
            sizes = ["none" if one is None else str(tuple(one.shape)) for one in (theirs, mine)]
            raise UsageError(f"the parent is another network: its tensor '{name}' is {sizes[0]}, here {sizes[1]}")
    net.load_state_dict(other)
