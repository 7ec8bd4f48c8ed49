"""Self-forcing distillation: a student draws on from its own drawing, and is moved to where its teacher would be.

Distribution matching (Yin et al. 2024, "One-step Diffusion with Distribution Matching Distillation") on rollouts of the
student itself (Huang et al. 2025, "Self Forcing"): at a random level, the guess of a critic, which follows what the
student draws, less the teacher's is the direction in which the student's frames are too likely.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from worldgauge_train.nets.architectures import (
    ClipWindow,
    Recalled,
    VideoNetwork,
    descended,
    level_loss,
    noised,
    sampling_levels,
    shifted,
)
from worldgauge_train.training.recipe import Recipe
from worldgauge_train.training.stages import FIRST_WINDOW, Causal, Parent, TrainingStage, Windowed, stages, steps_of
from worldgauge_train.training.team import gathered_all

SIGMA = 1.5
"""Pixels; what is finer is detail."""


class StepStatistics(NamedTuple):
    """Statistics of generated steps.

    Attributes:
        energy: Mean size of differences between neighbours in a row.
        detail: Correlation with the ground truth of what is finer than a Gaussian of 1.5 pixels.
        error: Mean squared error of the first step.
    """

    energy: float
    detail: float
    error: float


def looks_of(drawn: Tensor, truth: Tensor) -> StepStatistics:
    """Compare generated steps (B, S, K, P, H, W) with those of the recording."""
    energy = float(drawn.diff(dim=-1).abs().mean())
    fine, true = (_fine(one.flatten(0, 2)).flatten(1) for one in (drawn, truth))
    both = (fine * true).sum(1)
    norms = fine.norm(dim=1) * true.norm(dim=1)
    return StepStatistics(
        energy, float((both / norms.clamp(min=1e-9)).mean()), float((drawn - truth)[:, 0].square().mean())
    )


def _fine(frames: Tensor) -> Tensor:
    """Frames (N, P, H, W) less the same under a Gaussian."""
    reach = int(3 * SIGMA + 0.5)
    weights = torch.exp(-0.5 * (torch.arange(-reach, reach + 1).to(frames) / SIGMA) ** 2)
    weights = weights / weights.sum()
    planes = frames.shape[1]
    across, down = (weights.reshape(1, 1, *shape).expand(planes, 1, *shape) for shape in ((1, -1), (-1, 1)))
    padded = functional.pad(frames, (reach,) * 4, mode="replicate")
    return frames - functional.conv2d(functional.conv2d(padded, across, groups=planes), down, groups=planes)


CRITIC_RATE = 0.2
"""Learning rate of the critic, as a share of the student's."""
LOWEST, HIGHEST = 0.02, 0.98
EVERY, BATCHES, DRAWN_FROM = 10, 2, 2 * FIRST_WINDOW
"""Updates of the student from one look to the next, batches that are looked at, and the number of the first."""


@stages.register("distil")
class Distil(TrainingStage):
    """The student and a critic by turns, `critic_steps` of the critic for one of the student.
    `parent` is a checkpoint of the stage "init", with its teacher."""

    after = ("init",)
    begins = False
    betas = (0.0, 0.999)

    def __init__(self, recipe: Recipe, net: VideoNetwork, parent: Parent | None) -> None:
        super().__init__(recipe, net, parent)
        assert parent is not None
        assert parent.teacher is not None
        self.guide = parent.teacher.eval().requires_grad_(False)
        self.beside = {"critic": deepcopy(self.guide).requires_grad_(True), "best": deepcopy(net).requires_grad_(False)}
        self.scales = {"critic": CRITIC_RATE}
        self.levels = sampling_levels(recipe.denoising_steps)
        self.looked_at: list[ClipWindow] = []
        self.of_teacher: StepStatistics | None = None
        self.at_first: StepStatistics | None = None
        self.most: float | None = None

    def is_watched(self, step: int) -> bool:
        """Losses of the critic; see `TrainingStage`."""
        return (step + 1) % self.cycle != 0

    def updates(self, step: int) -> int | None:
        """Those of the student: a step of the critic does not make the average forget; see `TrainingStage`."""
        return None if self.is_watched(step) else step // self.cycle

    def losses(self, window: ClipWindow, step: int, generator: torch.Generator) -> Tensor:
        """The critic's flow loss, or the student's direction; see `TrainingStage`."""
        if self.is_watched(step):
            with torch.no_grad():
                drawn = rolled(self.net, window, self.levels, generator)
            critic = self.beside["critic"]
            b, s = drawn.shape[:2]
            noisy, t = Causal.noising(self, drawn.flatten(0, 1), generator)  # type: ignore[arg-type]
            if critic.at_once > 1:
                t = t.unflatten(0, (b, s))[:, :1].expand(b, s).flatten()
                noisy = noised(drawn.flatten(0, 1), torch.randn(noisy.shape, generator=generator).to(drawn), t)
            guess = critic.guesses(_with(window, drawn), noisy.unflatten(0, (b, s)), t.unflatten(0, (b, s)))
            return level_loss(guess.flatten(0, 1), drawn.flatten(0, 1), t)
        drawn = rolled(self.net, window, self.levels, generator)
        fake, real = self._guesses(window, drawn.detach(), generator)
        return matching_loss(drawn, fake, real)

    def _guesses(self, window: ClipWindow, drawn: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """What the critic and the teacher take for x0, from the same noise."""
        b, s = drawn.shape[:2]
        t = LOWEST + (HIGHEST - LOWEST) * torch.rand(b, generator=generator).to(drawn)
        t = shifted(t)[:, None].expand(b, s)
        noise = torch.randn(drawn.shape, generator=generator).to(drawn)
        noisy = noised(drawn.flatten(0, 1), noise.flatten(0, 1), t.flatten()).unflatten(0, (b, s))
        whole = _with(window, drawn)
        with torch.no_grad():
            fake = self.beside["critic"].guesses(whole, noisy, t)
            real = self.guide.guesses(whole, noisy, t)
            if self.recipe.guidance != 1:
                null = self.guide.guesses(whole._replace(rows=torch.zeros_like(whole.rows)), noisy, t)
                real = null + self.recipe.guidance * (real - null)
        return fake, real

    def prepare(self, windows: Windowed, out: Path) -> None:
        """Look at what teacher and student draw at first; see `TrainingStage`."""
        self.guide.to(next(self.net.parameters()).device)
        self.looked_at = [windows(DRAWN_FROM + number) for number in range(BATCHES)]
        teacher = self._looks(self.guide, sampling_levels(4 * self.recipe.denoising_steps))
        self.of_teacher, self.at_first = teacher, self._looks(self.beside["best"], self.levels)

    def verdict(self, step: int, average: Mapping[str, Tensor]) -> str | None:
        """Whether the student has collapsed; its best weights so far are kept; see `TrainingStage`."""
        if step % self.judged_every:
            return None
        assert self.of_teacher is not None
        assert self.at_first is not None
        if self.most is None:  # also after an interruption
            self.most = self._looks(self.beside["best"], self.levels).detail
        probe = deepcopy(self.beside["best"])
        average = gathered_all(average)
        probe.load_state_dict(average)
        now, first = self._looks(probe, self.levels), self.at_first
        share = now.energy / self.of_teacher.energy
        if not 0.5 <= share <= 2:
            return f"the student has {share:.2f} times the contrast of its teacher"
        if now.detail < first.detail / 2:
            return f"the student's detail fell from {first.detail:.2f} to {now.detail:.2f}"
        if now.error > 2 * first.error:
            return f"the student's error in the first step rose from {first.error:.4f} to {now.error:.4f}"
        if now.detail > self.most:
            self.most = now.detail
            self.beside["best"].load_state_dict(average)
        return None

    def kept(self, average: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """The best weights by detail; see `TrainingStage`."""
        best: Mapping[str, Tensor] = self.beside["best"].state_dict()
        return best

    @property
    def cycle(self) -> int:
        """Steps of the critic, and one of the student; see `TrainingStage`."""
        return self.recipe.critic_steps + 1

    @property
    def judged_every(self) -> int:
        """See `TrainingStage`."""
        return EVERY * self.cycle

    @property
    def pieces(self) -> list[nn.Module]:
        """None: how many denoising steps a rollout has is chance, so processes call blocks unequally often."""
        return []

    def _looks(self, net: VideoNetwork, levels: list[float]) -> StepStatistics:
        found = []
        for number, window in enumerate(self.looked_at):
            generator = torch.Generator().manual_seed(self.recipe.seed + 3 + number)
            with torch.no_grad():
                drawn = rolled(net, window, levels, generator, number=len(levels) - 2)
            found.append(looks_of(drawn, steps_of(window, net)))
        return StepStatistics(*(sum(column) / len(found) for column in zip(*found, strict=True)))


def rolled(
    net: VideoNetwork, window: ClipWindow, levels: list[float], generator: torch.Generator, *, number: int | None = None
) -> Tensor:
    """Let a network generate steps (B, S, K, P, H, W) from its own output. Gradients go through one denoising step, the
    same for all steps; what a step continues from has none."""
    k, c, together = net.shape.frames, net.shape.past, net.at_once
    last = int(torch.randint(len(levels) - 1, (), generator=generator)) if number is None else number
    steps = steps_of(window, net)
    with torch.no_grad():
        kept = net.begin(window.frames[:, :c], window.rows[:, :c])
    drawn = []
    for first in range(0, steps.shape[1], together):
        rows = window.rows[:, c + first * k : c + (first + together) * k]
        recalled = None
        if window.fetched is not None and window.relative is not None:
            recalled = Recalled(window.fetched[:, first], window.relative[:, first])
        x = torch.randn(steps[:, first : first + together].shape, generator=generator).to(steps).flatten(1, 2)
        for at, (t, following) in enumerate(pairwise(levels[: last + 2])):
            level = torch.full((len(x),), t).to(x)
            if at == last:
                x = net.guess(kept, x, level, rows, recalled)
            else:
                with torch.no_grad():
                    x = descended(x, net.guess(kept, x, level, rows, recalled), t, following)
        drawn.append(x.unflatten(1, (-1, k)))
        with torch.no_grad():
            for step in range(together):
                part = slice(step * k, (step + 1) * k)
                kept = net.take(kept, x[:, part].detach(), rows[:, part])
    return torch.cat(drawn, 1)


def matching_loss(drawn: Tensor, fake: Tensor, real: Tensor) -> Tensor:
    """A loss (B,) whose gradient is the critic's guess minus the teacher's, scaled by the teacher's error."""
    with torch.no_grad():
        scale = (drawn - real).abs().flatten(1).mean(1).clamp(min=1e-6)
        target = drawn - (fake - real) / scale.reshape(-1, *[1] * (drawn.ndim - 1))
    return 0.5 * (drawn - target).square().flatten(1).mean(1)


def _with(window: ClipWindow, drawn: Tensor) -> ClipWindow:
    """Windows whose steps after the past are the student's."""
    past = window.frames.shape[1] - drawn.shape[1] * drawn.shape[2]
    return window._replace(frames=torch.cat([window.frames[:, :past], drawn.detach().flatten(1, 2)], 1))
