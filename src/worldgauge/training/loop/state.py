"""What training has to remember: weights, their average, moments of the optimiser, counters, chance."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from worldgauge.core.errors import DataError
from worldgauge.core.io import dumps, read_json_object, write_file
from worldgauge.nets.checkpoint import load_tensors, save_tensors

STATE = "state"
_TENSORS, _COUNTERS = "tensors.safetensors", "counters.json"


@dataclass
class TrainingState:
    """The state of a training between two steps.

    Attributes:
        net: The network.
        average: Running average of its weights, by name; what is kept in the end.
        optimiser: AdamW.
        generator: Source of chance of torch, on the CPU.
        step: Steps done.
        seconds: Seconds they took.
        skipped: Steps left out for a loss that was not finite, or far above those before.
        losses: Latest losses, for that rule.
    """

    net: nn.Module
    average: dict[str, Tensor]
    optimiser: torch.optim.Optimizer
    generator: torch.Generator
    step: int = 0
    seconds: float = 0.0
    skipped: int = 0
    losses: list[float] = field(default_factory=list)

    def save(self, folder: Path) -> None:
        """Write the state in one step: weights and moments as safetensors, the rest as JSON.

        Args:
            folder: Folder of the training.

        Raises:
            DataError: It cannot be written; what was there before stays.
        """
        tensors = {f"net.{name}": value for name, value in self.net.state_dict().items()}
        tensors |= {f"average.{name}": value for name, value in self.average.items()}
        tensors |= self._moments()
        tensors["generator"] = self.generator.get_state()
        counters = {"step": self.step, "seconds": self.seconds, "skipped": self.skipped, "losses": self.losses}
        save_tensors(folder / STATE / f"{self.step:09d}.safetensors", tensors)
        write_file(folder / STATE / _COUNTERS, dumps(counters))
        for old in (folder / STATE).glob("*.safetensors"):
            if old.stem != f"{self.step:09d}":
                old.unlink(missing_ok=True)

    def load(self, folder: Path) -> bool:
        """Go on from a state.

        Args:
            folder: Folder of the training.

        Returns:
            Whether there was one.

        Raises:
            DataError: It is damaged, or of another network.
        """
        path = folder / STATE / _COUNTERS
        if not path.exists():
            return False
        counters = read_json_object(path)
        try:
            step, seconds = int(counters["step"]), float(counters["seconds"])
            skipped, losses = int(counters["skipped"]), [float(one) for one in counters["losses"]]
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}: {error!r}; delete the folder to begin anew") from None
        if step:
            self._warm_moments()
        like = {f"net.{name}": value for name, value in self.net.state_dict().items()}
        like |= {f"average.{name}": value for name, value in self.average.items()}
        like |= self._moments() | {"generator": self.generator.get_state()}
        found = load_tensors(folder / STATE / f"{step:09d}.safetensors", like)
        self.net.load_state_dict({name: found[f"net.{name}"] for name in self.net.state_dict()})
        self.average = {name: found[f"average.{name}"] for name in self.average}
        for number, parameter in enumerate(self._parameters()):
            kept = self.optimiser.state[parameter]
            for moment in kept:
                kept[moment] = found[f"moments.{number}.{moment}"]
        self.generator.set_state(found["generator"])
        self.step, self.seconds, self.skipped, self.losses = step, seconds, skipped, losses
        return True

    def _parameters(self) -> list[Any]:
        return [parameter for group in self.optimiser.param_groups for parameter in group["params"]]

    def _moments(self) -> dict[str, Tensor]:
        return {
            f"moments.{number}.{moment}": value
            for number, parameter in enumerate(self._parameters())
            for moment, value in self.optimiser.state.get(parameter, {}).items()
        }

    def _warm_moments(self) -> None:
        """Let the optimiser make its moments; the weights that such a step changes are read afterwards."""
        for parameter in self._parameters():
            parameter.grad = torch.zeros_like(parameter)
        self.optimiser.step()
        self.optimiser.zero_grad()
