"""Steps of a training, one after another: what is left out, kept, logged and looked at, for every kind of training."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from worldgauge.core.errors import DataError
from worldgauge_train.training.log import BINS, Log
from worldgauge_train.training.material import Mark
from worldgauge_train.training.state import ResumableState
from worldgauge_train.training.team import Team, gathered, gathered_all

Precision = Literal["float32", "bfloat16"]
SAVE_EVERY_S = 120.0
LOG_EVERY = 10
"""Steps from one row of the log to the next."""
_TOO_MUCH, _REMEMBERED, _MOST_SKIPPED = 10.0, 101, 10


class Learned:
    """What is learned: a stage, or an external pipeline's adapter; `drawn_at` are levels of the latest losses."""

    recipe: Any
    drawn_at: Tensor | None = None

    def losses(self, window: Any, step: int, generator: torch.Generator) -> Tensor:
        """Losses of a step."""
        raise NotImplementedError

    def before_step(self, step: int) -> None:
        """What is done once before the losses of a step, outside of all gradients."""

    def is_watched(self, step: int) -> bool:
        """Whether the loss of a step belongs to the series whose sudden rise means that the step is left out."""
        return True

    def updates(self, step: int) -> int | None:
        """Updates of what is kept before a step; None where the step does not update it, but something beside it."""
        return step

    def verdict(self, step: int, average: Mapping[str, Tensor]) -> str | None:
        """Why training must stop."""
        return None

    def share(self, step: int, spent: float) -> float:
        """Share of the learning rate."""
        return late_share(step, self.recipe.steps, self.recipe.warm_up, spent)


class LearnedModule(nn.Module):  # type: ignore[misc, unused-ignore]
    """What is learned as one module, so that accelerate sees its weights and where they are used."""

    def __init__(self, learned: Learned, nets: list[Any]) -> None:
        super().__init__()
        self.nets = nn.ModuleList(nets)
        self._learned = learned

    def forward(self, window: Any, step: int, generator: torch.Generator) -> Tensor:
        """Losses of a part of a step."""
        return self._learned.losses(window, step, generator)


@dataclass
class Stepping:
    """How steps are taken: `asked` is `learned` as a module, prepared by the team; `half` is safe bfloat16."""

    learned: Learned
    asked: Any
    team: Team
    half: bool = False

    def take(self, state: ResumableState, window: Any, spent: float = 0.0) -> bool:
        """Take one step, without counting it; False if it was left out. Each part of a batch has its own random
        numbers, so that the number of processes does not matter. `spent`: share of the time that is over, for the
        learning rate."""
        learned, recipe = self.learned, self.learned.recipe
        for group in state.optimiser.param_groups:
            group["lr"] = group["scale"] * recipe.learning_rate * learned.share(state.step, spent)
        state.net.train()
        learned.before_step(state.step)
        state.optimiser.zero_grad()
        values, told = [], torch.zeros(0)
        own = self.team.own(recipe.parts)
        sources = _sources(state.generator, recipe.parts)
        device = torch.device(self.team.device).type
        for number in own:
            with self.team.apart(self.asked, is_last=number == own[-1]):
                with torch.autocast(device, torch.bfloat16, enabled=self.half):
                    told = self.asked(part_of(window, number, recipe.parts), state.step, sources[number])
                    loss = told.float().mean()
                values.append(float(loss.detach()))
                self.team.backward(loss / len(own))
        value = math.fsum(self.team.gathered(values)) / recipe.parts
        watched = learned.is_watched(state.step)
        too_much = watched and len(state.losses) > 10 and value > _TOO_MUCH * median(state.losses)
        if not math.isfinite(value) or too_much:
            state.optimiser.zero_grad()
            state.skipped += 1
            return False
        parameters = [one for group in state.optimiser.param_groups for one in group["params"]]
        norm = torch.nn.utils.clip_grad_norm_(parameters, recipe.clip_norm)
        state.told = {"gradient_norm": float(gathered(norm)), "bins": _bins(learned, told)}
        state.optimiser.step()
        if watched:
            state.losses = [*state.losses, value][-_REMEMBERED:]
        before = learned.updates(state.step)
        if before is not None:
            kept = min(recipe.average, (before + 1) / (before + 10))
            with torch.no_grad():
                for name, new in state.net.state_dict().items():
                    state.average[name].lerp_(new, 1 - kept)
        return True


class Hooks(NamedTuple):
    """What is done beside the steps. `looked` evaluates average weights at a mark; its time does not count."""

    window: Callable[[int], Any]
    looked: Callable[[int, dict[str, Tensor]], Mapping[str, Any]]
    before_save: Callable[[int], None]
    progress: Callable[[Mark], None]


def go_on(
    out: Path,
    state: ResumableState,
    stepping: Stepping,
    log: Log | None,
    hooks: Hooks,
    minutes: float | None,
    final: bool,
) -> None:
    """Take the steps that are left, and keep the state."""
    learned, recipe, team = stepping.learned, stepping.learned.recipe, stepping.team
    if team.is_first:
        state.check_room(out)
    marks = {max(1, recipe.steps * quarter // 4) for quarter in (1, 2, 4)}
    trained = time.monotonic() - state.seconds
    began = saved = time.monotonic()
    refused = 0
    while state.step < recipe.steps:
        now = time.monotonic()
        spent, due = team.agreed(
            [0.0 if minutes is None else (now - began) / (60 * minutes), float(now - saved > SAVE_EVERY_S)]
        )
        if due:
            _save(out, state, team, hooks)
            saved = time.monotonic()
        if spent >= 1:
            break
        waited = time.monotonic()
        window = hooks.window(state.step)
        waited = time.monotonic() - waited
        refused = 0 if stepping.take(state, window, spent if final else 0.0) else refused + 1
        if refused == _MOST_SKIPPED:
            why = f"{refused} steps in a row had losses that are not finite, or far too large"
            if log is not None:
                log.add({"step": state.step, "stopped": why})
            _save(out, state, team, hooks)
            raise DataError(f"{out}: {why}; the state before it remains")
        state.step += 1
        state.seconds = time.monotonic() - trained
        fault = learned.verdict(state.step, state.average)
        row = _row(state, learned, waited)
        if state.step in marks:
            average = gathered_all(state.average, kept=team.is_first)
            if log is not None:
                paused = time.monotonic()
                row |= hooks.looked(state.step, average)
                trained += time.monotonic() - paused
        if log is not None and (state.step % LOG_EVERY == 0 or state.step in marks):
            log.add(row)
            if state.losses:
                hooks.progress(Mark(state.step, recipe.steps, state.seconds, median(state.losses)))
        if fault is not None:
            if log is not None:
                log.add({"step": state.step, "stopped": fault})
            break
    _save(out, state, team, hooks)


def late_share(step: int, steps: int, warm_up: int, spent: float = 0.0) -> float:
    """Share of the learning rate: a ramp, a plateau, a cosine to 2 % over the last half of the steps or the time."""
    ramp = min(1.0, (step + 1) / max(warm_up, 1))
    late = max(0.0, 2 * step / steps - 1, 2 * spent - 1)
    return ramp * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * late)))


def part_of(window: Any, number: int, parts: int) -> Any:
    """Part `number` of `parts` of windows: a named tuple of tensors (B, ...), lists of B, or None."""
    if parts == 1:
        return window
    size = len(window[0]) // parts
    return type(window)(*(None if one is None else one[number * size : (number + 1) * size] for one in window))


def _sources(generator: torch.Generator, parts: int) -> list[torch.Generator]:
    """A source of chance for each part; all processes draw alike."""
    if parts == 1:
        return [generator]
    seeds = torch.randint(2**62, (parts,), generator=generator).tolist()
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def _save(out: Path, state: ResumableState, team: Team, hooks: Hooks) -> None:
    if team.is_first:
        hooks.before_save(state.step)
    state.save(out, writes=team.is_first)
    team.wait()


def _row(state: ResumableState, learned: Learned, waited: float) -> dict[str, Any]:
    """What the log tells of a step."""
    recipe = learned.recipe
    told: dict[str, Any] = {
        "step": state.step,
        "seconds": round(state.seconds, 3),
        "samples": state.step * recipe.batch,
        "frames": state.step * recipe.batch * recipe.length,
        "loss": median(state.losses) if state.losses else None,
        "gradient_norm": state.told.get("gradient_norm"),
        "learning_rate": state.optimiser.param_groups[0]["lr"],
        "data_wait_s": round(waited, 4),
        "skipped": state.skipped,
    }
    for number, loss in enumerate(state.told.get("bins", ())):
        told[f"loss_{number}"] = loss
    return told


def _bins(learned: Learned, losses: Tensor) -> list[float | None]:
    """Mean loss of each quarter of the levels; None where no window had such a level."""
    levels = learned.drawn_at
    if levels is None or levels.numel() != losses.numel():
        return []
    places = (levels.flatten() * BINS).long().clamp(0, BINS - 1)
    each = losses.detach().flatten()
    return [float(each[places == n].mean()) if bool((places == n).any()) else None for n in range(BINS)]
