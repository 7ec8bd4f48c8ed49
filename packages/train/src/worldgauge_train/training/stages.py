"""Stages: what a step of training asks of the network, and the loss of its answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from worldgauge.core.errors import UsageError
from worldgauge.core.registry import Registry
from worldgauge_train.nets.architectures import (
    ClipWindow,
    Noised,
    VideoNetwork,
    descended,
    draw_levels,
    level_loss,
    noised,
    sampling_levels,
)
from worldgauge_train.nets.checkpoint import load_tensors, save_tensors
from worldgauge_train.nets.codecs import Codec
from worldgauge_train.training.recipe import Recipe, told
from worldgauge_train.training.stepping import Learned
from worldgauge_train.training.team import gathered

FIRST_WINDOW = 10**9
"""Number of the first step whose windows are set aside, such as for a teacher; no training goes so far."""

Windowed = Callable[[int], ClipWindow]
"""Draws the windows of a step by its number."""


@dataclass(frozen=True)
class Parent:
    """The checkpoint that a stage begins from.

    Attributes:
        stage: Stage that made it.
        teacher: The network that taught it, if the checkpoint has one.
        digest: Digest of its weights.
        lineage: The checkpoints that it came from, oldest first.
        scenes: Digests of its training scenes.
        terms: Licences of its training images.
    """

    stage: str
    net: VideoNetwork
    codec: Codec
    teacher: VideoNetwork | None
    digest: str
    lineage: Sequence[Mapping[str, str]]
    scenes: Sequence[str] = ()
    terms: Sequence[str] = ()


class TrainingStage(Learned):
    """A stage: it sets up what it needs, gives a loss for each step, and selects what is saved.

    Attributes:
        after: Stages that it may begin from.
        begins: Whether it may begin from nothing.
        at_once: Whether its networks guess a step at once, from no noise.
        drawn_at: Levels of the latest losses, if each loss has one.
        beside: Networks besides the one that is made; part of the state.
        scales: Learning rates of trained ones of `beside`, as shares of the recipe's.
    """

    recipe: Recipe
    after: ClassVar[tuple[str, ...]] = ()
    begins: ClassVar[bool] = True
    at_once: ClassVar[bool] = False
    betas: ClassVar[tuple[float, float]] = (0.9, 0.99)

    def __init__(self, recipe: Recipe, net: VideoNetwork, parent: Parent | None) -> None:
        self.recipe, self.net, self.parent = recipe, net, parent
        self.beside: dict[str, VideoNetwork] = {}
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
        """Make what is needed before the first step, once; the folder may hold it already."""

    def losses(self, window: ClipWindow, step: int, generator: torch.Generator) -> Tensor:
        """Losses of a step."""
        guess, wanted, t = self.net.supervised(window, self.noising, self.recipe.own, generator)
        self.drawn_at = t
        return level_loss(guess, wanted, t)

    def kept(self, average: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Weights for the checkpoint."""
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
    def learners(self) -> list[VideoNetwork]:
        """The networks that are trained."""
        return [self.net, *(self.beside[name] for name in self.scales)]

    @property
    def pieces(self) -> list[nn.Module]:
        """Modules of theirs that may be gathered one at a time; see `VideoNetwork`."""
        return [piece for net in self.learners for piece in net.pieces]

    @property
    def teacher(self) -> VideoNetwork | None:
        """A network that the checkpoint keeps for the stage after this one."""
        return None


stages: Registry[type[TrainingStage]] = Registry("stage", "worldgauge_train.training.stages_distil")


def adopt(net: nn.Module, parent: nn.Module) -> None:
    """Take over weights."""
    own, other = net.state_dict(), parent.state_dict()
    for name in sorted(own.keys() | other.keys()):
        mine, theirs = own.get(name), other.get(name)
        if mine is None or theirs is None or mine.shape != theirs.shape:
            sizes = ["none" if one is None else str(tuple(one.shape)) for one in (theirs, mine)]
            raise UsageError(f"the parent is another network: its tensor '{name}' is {sizes[0]}, here {sizes[1]}")
    net.load_state_dict(other)


LEVELS = 48
"""Steps of the teacher's way, rounded up to a multiple of the student's."""
NEIGHBOURS, FOLLOWING = 50, 0.99
"""Levels for consistency, and how much of the target's weights a step keeps."""
TRAJECTORIES = "trajectories.safetensors"


@stages.register("init")
class Init(TrainingStage):
    """A student of few steps learns from a teacher of many, whose weights it begins with.
    `parent` is a checkpoint of the stage "causal" or "teacher"."""

    after = ("causal", "teacher")
    begins = False

    def __init__(self, recipe: Recipe, net: VideoNetwork, parent: Parent | None) -> None:
        super().__init__(recipe, net, parent)
        assert parent is not None
        self._shrink = parent.codec.shrink
        self.guide: VideoNetwork = parent.net.eval().requires_grad_(False)
        if recipe.init == "consistency":
            self.beside["target"] = deepcopy(net).requires_grad_(False)
        self.levels = sampling_levels(recipe.denoising_steps)
        self.ways: list[tuple[ClipWindow, Tensor]] = []

    @property
    def teacher(self) -> VideoNetwork:
        """The teacher, which the next stage needs too."""
        return self.guide

    @property
    def stored_bytes(self) -> int:
        """The ways; see `TrainingStage`."""
        if self.recipe.init == "consistency":
            return 0
        batches, places = -(-self.recipe.trajectories // self.recipe.batch), math.prod(self.recipe.size)
        frames = batches * self.recipe.batch * self.recipe.drawn * self.recipe.frames
        planes: int = self.net.shape.planes
        return 2 * (self.recipe.denoising_steps + 1) * frames * planes * places // self._shrink**2

    def prepare(self, windows: Windowed, out: Path) -> None:
        """Let the teacher draw; see `TrainingStage`."""
        self.guide.to(next(self.net.parameters()).device)
        if self.recipe.init == "consistency":
            return
        count = -(-self.recipe.trajectories // self.recipe.batch)
        given = [windows(FIRST_WINDOW + number) for number in range(count)]
        path = out / TRAJECTORIES
        if not path.exists():
            generator = torch.Generator().manual_seed(self.recipe.seed + 2)
            made = {}
            for number, window in enumerate(given):
                made[f"{number}"] = ways_of(self.guide, window, self.recipe, generator).half()
            save_tensors(path, made)
        like = {f"{number}": _like(self.net, window, self.recipe) for number, window in enumerate(given)}
        found = load_tensors(path, like)
        self.ways = [(window, found[f"{number}"]) for number, window in enumerate(given)]

    def losses(self, window: ClipWindow, step: int, generator: torch.Generator) -> Tensor:
        """Squared errors of the student's guesses; see `TrainingStage`."""
        if self.recipe.init == "consistency":
            return self._consistency(window, generator)
        window, way = self.ways[int(torch.randint(len(self.ways), (), generator=generator))]
        way = way.to(window.frames)
        count = way.shape[0] - 1
        number = torch.randint(count, way.shape[1:3], generator=generator).to(way.device)
        noisy = torch.gather(way[:count], 0, number[None, ..., None, None, None, None].expand(1, *way.shape[1:]))[0]
        t = torch.tensor(self.levels, device=way.device)[number]
        return (self.net.guesses(window, noisy, t) - way[-1]).square().flatten(1).mean(1)

    def before_step(self, step: int) -> None:
        """Let the target of consistency follow the student; see `TrainingStage`."""
        if self.recipe.init == "consistency":
            own = self.net.state_dict()
            with torch.no_grad():
                for name, mine in self.beside["target"].state_dict().items():
                    mine.lerp_(gathered(own[name]), 1 - FOLLOWING)

    def _consistency(self, window: ClipWindow, generator: torch.Generator) -> Tensor:
        target = self.beside["target"]
        steps = steps_of(window, self.net)
        b, s = steps.shape[:2]
        grid = torch.tensor(sampling_levels(NEIGHBOURS)).to(steps)
        number = torch.randint(NEIGHBOURS, (b,), generator=generator)[:, None].expand(b, s).to(steps.device)
        t, following = grid[number], grid[number + 1]
        noise = torch.randn(steps.shape, generator=generator).to(steps)
        noisy = noised(steps.flatten(0, 1), noise.flatten(0, 1), t.flatten()).unflatten(0, (b, s))
        with torch.no_grad():
            guess = self.guide.guesses(window, noisy, t)
            share = (following / t)[..., None, None, None, None]
            lower = guess + (noisy - guess) * share
            wanted = torch.where(share == 0, guess, target.guesses(window, lower, following))
        return (self.net.guesses(window, noisy, t) - wanted).square().flatten(1).mean(1)


def ways_of(teacher: VideoNetwork, window: ClipWindow, recipe: Recipe, generator: torch.Generator) -> Tensor:
    """Follow a teacher down from noise for all steps of windows, each from the true ones before it."""
    kept = recipe.denoising_steps
    levels = sampling_levels(kept * -(-LEVELS // kept))
    every = (len(levels) - 1) // kept
    steps = steps_of(window, teacher)
    x = torch.randn(steps.shape, generator=generator).to(steps)
    found = []
    with torch.no_grad():
        for number, (t, following) in enumerate(pairwise(levels)):
            if number % every == 0:
                found.append(x)
            level = torch.full(steps.shape[:2], t).to(steps)
            x = descended(x, teacher.guesses(window, x, level), t, following)
    return torch.stack([*found, x])


def steps_of(window: ClipWindow, net: VideoNetwork) -> Tensor:
    """The steps of windows after their past, (B, S, K, P, H, W)."""
    return window.frames[:, net.shape.past :].unflatten(1, (-1, net.shape.frames))


def _like(net: VideoNetwork, window: ClipWindow, recipe: Recipe) -> Tensor:
    shape = steps_of(window, net).shape
    return torch.empty((recipe.denoising_steps + 1, *shape), dtype=torch.float16, device="meta")


@stages.register("causal")
class Causal(TrainingStage):
    """The next step at any level of noise (flow matching), from true earlier ones."""

    after: ClassVar[tuple[str, ...]] = ("causal", "teacher")

    def noising(self, steps: Tensor, generator: torch.Generator, *, pure: bool = False) -> Noised:
        """Draw levels and noise; see `TrainingStage`."""
        if pure:
            return Noised(torch.randn(steps.shape, generator=generator).to(steps), torch.ones(len(steps)).to(steps))
        t = draw_levels(len(steps), generator).to(steps)
        return Noised(noised(steps, torch.randn(steps.shape, generator=generator).to(steps), t), t)


@stages.register("regress")
class Regress(TrainingStage):
    """The next step at once, from no noise: an honest, blurred baseline."""

    after = ("regress",)
    at_once = True

    def noising(self, steps: Tensor, generator: torch.Generator, *, pure: bool = False) -> Noised:
        """No noise, and the highest level; see `TrainingStage`."""
        return Noised(torch.zeros_like(steps), torch.ones(len(steps)).to(steps))


@stages.register("teacher")
class Teacher(Causal):
    """A network that looks both ways, at one level of noise for all steps; the past is clean."""

    after = ("teacher",)

    @classmethod
    def settings(cls, recipe: Recipe) -> dict[str, Any]:
        """All steps of a window together; see `TrainingStage`."""
        return {**super().settings(recipe), "together": recipe.drawn}
