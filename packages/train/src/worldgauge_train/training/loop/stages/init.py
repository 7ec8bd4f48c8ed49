"""The first step of distillation: a student learns where its teacher's ways from noise end.

Either from stored ways down (ODE trajectories, as CausVid and MIND-World do it), or without any, by consistency: the
guess from a level shall be that from the next one on the teacher's way (Song et al. 2023, "Consistency Models").
"""

from __future__ import annotations

import math
from copy import deepcopy
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor

from worldgauge_train.nets.architectures import Network, Window
from worldgauge_train.nets.checkpoint import load_tensors, save_tensors
from worldgauge_train.nets.levels import descended, noised, sampling_levels
from worldgauge_train.training.loop.spread import gathered
from worldgauge_train.training.loop.stages import FIRST_WINDOW, Parent, Stage, Windowed, stages
from worldgauge_train.training.recipe import Recipe

LEVELS = 48
"""Steps of the teacher's way, rounded up to a multiple of the student's."""
NEIGHBOURS, FOLLOWING = 50, 0.99
"""Levels for consistency, and how much of the target's weights a step keeps."""
TRAJECTORIES = "trajectories.safetensors"


@stages.register("init")
class Init(Stage):
    """A student of few steps learns from a teacher of many, whose weights it begins with.

    Args:
        recipe: What is trained, and how.
        net: The student.
        parent: A checkpoint of the stage "causal" or "teacher".
    """

    after = ("causal", "teacher")
    begins = False

    def __init__(self, recipe: Recipe, net: Network, parent: Parent | None) -> None:
        super().__init__(recipe, net, parent)
        assert parent is not None
        self._shrink = parent.codec.shrink
        self.guide: Network = parent.net.eval().requires_grad_(False)
        if recipe.init == "consistency":
            self.beside["target"] = deepcopy(net).requires_grad_(False)
        self.levels = sampling_levels(recipe.denoising_steps)
        self.ways: list[tuple[Window, Tensor]] = []

    @property
    def teacher(self) -> Network:
        """The teacher, which the next stage needs too."""
        return self.guide

    @property
    def stored_bytes(self) -> int:
        """The ways; see `Stage`."""
        if self.recipe.init == "consistency":
            return 0
        batches, places = -(-self.recipe.trajectories // self.recipe.batch), math.prod(self.recipe.size)
        frames = batches * self.recipe.batch * self.recipe.drawn * self.recipe.frames
        planes: int = self.net.shape.planes
        return 2 * (self.recipe.denoising_steps + 1) * frames * planes * places // self._shrink**2

    def prepare(self, windows: Windowed, out: Path) -> None:
        """Let the teacher draw; see `Stage`."""
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

    def losses(self, window: Window, step: int, generator: torch.Generator) -> Tensor:
        """Squared errors of the student's guesses; see `Stage`."""
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
        """Let the target of consistency follow the student; see `Stage`."""
        if self.recipe.init == "consistency":
            own = self.net.state_dict()
            with torch.no_grad():
                for name, mine in self.beside["target"].state_dict().items():
                    mine.lerp_(gathered(own[name]), 1 - FOLLOWING)

    def _consistency(self, window: Window, generator: torch.Generator) -> Tensor:
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


def ways_of(teacher: Network, window: Window, recipe: Recipe, generator: torch.Generator) -> Tensor:
    """Follow a teacher down from noise for all steps of windows, each from the true ones before it.

    Args:
        teacher: The teacher.
        window: The windows.
        recipe: Says at how many levels the ways are kept.
        generator: Source of the noise.

    Returns:
        (n + 1, B, S, K, P, H, W): at each of the student's levels, and where the ways end.
    """
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


def steps_of(window: Window, net: Network) -> Tensor:
    """The steps of windows after their past.

    Args:
        window: The windows.
        net: A network of their shape.

    Returns:
        (B, S, K, P, H, W).
    """
    return window.frames[:, net.shape.past :].unflatten(1, (-1, net.shape.frames))


def _like(net: Network, window: Window, recipe: Recipe) -> Tensor:
    shape = steps_of(window, net).shape
    return torch.empty((recipe.denoising_steps + 1, *shape), dtype=torch.float16, device="meta")
