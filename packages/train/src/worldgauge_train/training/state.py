"""What training has to remember: weights, their average, moments of the optimiser, counters, chance."""

from __future__ import annotations

import fcntl
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from worldgauge.core.errors import DataError, RunError
from worldgauge.core.io import dumps, read_json_object, write_file
from worldgauge_train.nets.checkpoint import load_tensors, save_tensors
from worldgauge_train.nets.drawing import CONFIG
from worldgauge_train.training.cache import check_disk
from worldgauge_train.training.log import LINES, TABLE
from worldgauge_train.training.team import gathered_all, parted

STATE = "state"
_TENSORS, _COUNTERS = "tensors.safetensors", "counters.json"
MUON_RATE = 20.0
"""Learning rate of Muon, as a multiple of AdamW's: 0.02 beside 0.001."""


class Optimiser(Protocol):
    """What a training asks of an optimiser, as those of torch have it."""

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Weights, with learning rates and the like."""

    @property
    def state(self) -> Mapping[Any, dict[str, Any]]:
        """Moments of each weight, by name."""

    def step(self) -> Any:
        """Take a step."""

    def zero_grad(self) -> Any:
        """Forget the gradients."""


@dataclass
class ResumableState:
    """The state of a training between two steps.

    Attributes:
        average: Running average of the weights, by name; the final weights.
        generator: Random numbers of torch, on the CPU.
        beside: Other networks of the stage, by name.
        seconds: Time of all steps.
        skipped: Steps left out for a loss that was not finite, or far above those before.
        losses: Latest losses, for that rule.
        told: Log values of the latest step.
    """

    net: nn.Module
    average: dict[str, Tensor]
    optimiser: Optimiser
    generator: torch.Generator
    beside: Mapping[str, nn.Module] = field(default_factory=dict)
    step: int = 0
    seconds: float = 0.0
    skipped: int = 0
    losses: list[float] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)

    def save(self, folder: Path, *, writes: bool = True) -> None:
        """Write the state in one step: tensors as safetensors, the rest as JSON. Spread weights are gathered, so any
        number of processes can resume."""
        tensors = gathered_all(self._tensors(), kept=writes)
        if not writes:
            return
        counters = {"step": self.step, "seconds": self.seconds, "skipped": self.skipped, "losses": self.losses}
        save_tensors(folder / STATE / f"{self.step:09d}.safetensors", tensors)
        write_file(folder / STATE / _COUNTERS, dumps(counters))
        for old in (folder / STATE).glob("*.safetensors"):
            if old.stem != f"{self.step:09d}":
                old.unlink(missing_ok=True)

    def check_room(self, folder: Path) -> None:
        """Check that the disk has room for two states, the old one and the new one that takes its place."""
        needed = sum(tensor.numel() * tensor.element_size() for tensor in self._tensors().values())
        check_disk(folder, {"two states": 2 * needed})

    def load(self, folder: Path) -> bool:
        """Go on from a state."""
        if not is_kept(folder):
            return False
        path = folder / STATE / _COUNTERS
        counters = read_json_object(path)
        try:
            step, seconds = int(counters["step"]), float(counters["seconds"])
            skipped, losses = int(counters["skipped"]), [float(one) for one in counters["losses"]]
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}: {error!r}; delete the folder to start again") from None
        like = self._tensors()
        found = load_tensors(folder / STATE / f"{step:09d}.safetensors", like)
        for kind, module in {"net": self.net, **self.beside}.items():
            held = module.state_dict()
            module.load_state_dict({name: parted(found[f"{kind}.{name}"], old) for name, old in held.items()})
        self.average = {name: parted(found[f"average.{name}"], old) for name, old in self.average.items()}
        for number, parameter in enumerate(self._parameters()):
            kept = self.optimiser.state[parameter]
            for moment, old in kept.items():
                kept[moment] = parted(found[f"moments.{number}.{moment}"], old)
        self.generator.set_state(found["generator"])
        self.step, self.seconds, self.skipped, self.losses = step, seconds, skipped, losses
        return True

    def warm_moments(self) -> None:
        """Let the optimiser make its moments, as they are before a first step, of all networks that it trains."""
        rates = [group["lr"] for group in self.optimiser.param_groups]
        for group in self.optimiser.param_groups:
            group["lr"] = 0.0
        for parameter in self._parameters():
            parameter.grad = torch.zeros_like(parameter)
        self.optimiser.step()
        self.optimiser.zero_grad()
        for moments in self.optimiser.state.values():
            if "step" in moments:
                moments["step"].zero_()
        for group, rate in zip(self.optimiser.param_groups, rates, strict=True):
            group["lr"] = rate

    def _tensors(self) -> dict[str, Tensor]:
        kinds = {"net": self.net.state_dict(), "average": self.average}
        kinds |= {kind: module.state_dict() for kind, module in self.beside.items()}
        tensors = {f"{kind}.{name}": value for kind, held in kinds.items() for name, value in held.items()}
        return tensors | self._moments() | {"generator": self.generator.get_state()}

    def _parameters(self) -> list[Any]:
        return [parameter for group in self.optimiser.param_groups for parameter in group["params"]]

    def _moments(self) -> dict[str, Tensor]:
        return {
            f"moments.{number}.{moment}": value
            for number, parameter in enumerate(self._parameters())
            for moment, value in self.optimiser.state.get(parameter, {}).items()
        }


def is_kept(folder: Path) -> bool:
    """Whether a state lies in the folder of a training, to go on from."""
    return (folder / STATE / _COUNTERS).exists()


def begin_state(
    net: Any,
    recipe: Any,
    betas: tuple[float, float],
    besides: Mapping[Any, float] | None = None,
    optimizer: str = "adamw",
) -> ResumableState:
    """The state before the first step."""
    trained = [(list(net.parameters()), 1.0)]
    trained += [(list(other.parameters()), scale) for other, scale in (besides or {}).items()]
    made: Optimiser
    if optimizer == "muon":
        made = _WithMuon(trained, recipe.learning_rate, betas, recipe.decay)
    else:
        made = torch.optim.AdamW(
            [{"params": params, "scale": scale} for params, scale in trained],
            lr=recipe.learning_rate,
            betas=betas,
            weight_decay=recipe.decay,
        )
    average = {name: value.clone() for name, value in net.state_dict().items()}
    state = ResumableState(net, average, made, torch.Generator().manual_seed(recipe.seed + 1))
    state.warm_moments()
    return state


class _WithMuon:
    """Muon for matrices, AdamW for all else, as one optimiser."""

    def __init__(
        self, trained: Sequence[tuple[list[Any], float]], rate: float, betas: tuple[float, float], decay: float
    ) -> None:
        matrices, others = [], []
        for params, scale in trained:
            matrices.append({"params": [one for one in params if one.ndim == 2], "scale": MUON_RATE * scale})
            others.append({"params": [one for one in params if one.ndim != 2], "scale": scale})
        self._both: tuple[torch.optim.Optimizer, torch.optim.Optimizer] = (
            torch.optim.Muon(matrices, lr=rate, weight_decay=decay),
            torch.optim.AdamW(others, lr=rate, betas=betas, weight_decay=decay),
        )

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [group for one in self._both for group in one.param_groups]

    @property
    def state(self) -> Mapping[Any, dict[str, Any]]:
        return {weight: moments for one in self._both for weight, moments in one.state.items()}

    def step(self) -> None:
        for one in self._both:
            one.step()

    def zero_grad(self) -> None:
        for one in self._both:
            one.zero_grad()


@contextmanager
def claimed(out: Path, *made: str) -> Iterator[None]:
    """Hold a folder while training in it. A new training that fails before its first state removes its config.json and
    `made` files, so that another can use the folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with open(out / ".lock", "a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise RunError(f"{out}: {file.read(200) or 'another process'} trains in this folder") from None
            file.truncate(0)
            file.write(f"process {os.getpid()} on {platform.node()}")
            file.flush()
            new = [one for one in (out / name for name in (CONFIG, LINES, TABLE, *made)) if not one.exists()]
            try:
                yield
            except Exception:
                if out / CONFIG in new and not is_kept(out):
                    for one in new:
                        one.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise DataError(f"{out}: {error.strerror}") from None
