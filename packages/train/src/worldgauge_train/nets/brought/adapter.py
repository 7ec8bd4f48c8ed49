"""What is learned beside a brought pipeline: LoRA or all weights, and the injection of actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from worldgauge.core.errors import DataError, UsageError, did_you_mean
from worldgauge_train.nets.brought import Brought
from worldgauge_train.nets.brought.injection import Hooked, Injection

Weights = Literal["lora", "all"]
FORMAT = "worldgauge-adapted/1"
CONFIG, TENSORS = "config.json", "adapter.safetensors"


@dataclass(frozen=True)
class AdapterShape:
    """What an adapter is made of.

    Attributes:
        weights: "lora", or "all" weights of the networks.
        rank: Rank of LoRA.
        alpha: Its scale is alpha / rank.
        targets: Layers that it is put beside, by the names in `Brought.modules`.
        columns: Numbers of a row of actions; 0 where none are told.

    Raises:
        UsageError: A value is out of range.
    """

    weights: Weights = "lora"
    rank: int = 32
    alpha: int = 32
    targets: tuple[str, ...] = ("q", "k", "v", "o", "ffn.0", "ffn.2")
    columns: int = 0

    def __post_init__(self) -> None:
        """Check all values."""
        for name, fine, rule in (
            ("weights", self.weights in get_args(Weights), f"one of {', '.join(get_args(Weights))}"),
            ("rank", type(self.rank) is int and 1 <= self.rank <= 4096, "1 to 4096"),
            ("alpha", type(self.alpha) is int and 1 <= self.alpha <= 65_536, "1 to 65536"),
            ("columns", type(self.columns) is int and 0 <= self.columns <= 4096, "0 to 4096"),
        ):
            if not fine:
                raise UsageError(f"adapter: {name} is {getattr(self, name)!r}; give {rule}")
        for target in self.targets:
            if target not in Brought.modules:
                near = did_you_mean(str(target), list(Brought.modules))
                raise UsageError(f"adapter: no layer '{target}'. {near}Known: {', '.join(Brought.modules)}")


class Adapter:
    """The weights that are trained, by name, as one thing that a training can keep.

    Args:
        brought: The pipeline. Its networks are given LoRA and hooks; the library's code stays as it is.
        shape: What the adapter is made of.
        seed: Seed of its first weights.
    """

    def __init__(self, brought: Brought, shape: AdapterShape, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.brought, self.shape = brought, shape
        self._hooked: list[Hooked] = []
        self._named: dict[str, Any] = {}
        _freeze(brought.pipe)
        for number, net in enumerate(brought.nets):
            if shape.weights == "lora":
                _add_lora(net, brought, shape)
            else:
                net.requires_grad_(True)
            for name, value in net.named_parameters():
                if value.requires_grad:
                    value.data = value.data.float()
                    self._named[f"net{number}.{name}"] = value
            if shape.columns:
                injection = Injection(shape.columns, brought.stride, brought.width(net)).to(net.device)
                self._hooked.append(Hooked(brought, net, injection))
                self._named |= {f"actions{number}.{name}": value for name, value in injection.named_parameters()}

    @contextmanager
    def telling(self, rows: Tensor | None) -> Iterator[None]:
        """Tell actions while the networks run.

        Args:
            rows: (B, T, columns), what led to each frame. None for nothing.
        """
        with ExitStack() as stack:
            for one in self._hooked:
                stack.enter_context(one.telling(rows))
            yield

    @property
    def unguided(self) -> float | None:
        """Scale of guidance where no words are told, so none; SVD is guided by its picture."""
        return 1.0 if self.brought.takes_words else None

    @property
    def modules(self) -> list[Any]:
        """Networks and injections, for what looks for weights in modules."""
        return [*self.brought.nets, *(one.injection for one in self._hooked)]

    def parameters(self) -> list[Any]:
        """All that is trained."""
        return list(self._named.values())

    def state_dict(self) -> dict[str, Tensor]:
        """All that is trained, by name."""
        return {name: value.detach() for name, value in self._named.items()}

    def load_state_dict(self, found: Mapping[str, Tensor]) -> None:
        """Take over weights of these names and shapes."""
        with torch.no_grad():
            for name, value in self._named.items():
                value.copy_(found[name])

    @contextmanager
    def holding(self, weights: Mapping[str, Tensor]) -> Iterator[None]:
        """Draw with other weights of these names for a while.

        Args:
            weights: The weights.
        """
        own = {name: value.clone() for name, value in self.state_dict().items()}
        self.load_state_dict(weights)
        self.eval()
        try:
            yield
        finally:
            self.load_state_dict(own)
            self.train()

    def train(self) -> None:
        """Networks as they are trained; the rest stays as it draws."""
        for net in self.brought.nets:
            net.train()

    def eval(self) -> None:
        """Networks as they draw."""
        for net in self.brought.nets:
            net.eval()


def shape_read(told: Any, where: str) -> AdapterShape:
    """Read a shape from JSON.

    Args:
        told: The JSON value.
        where: Its name in messages.

    Raises:
        DataError: It tells no shape.
    """
    try:
        return AdapterShape(**{**told, "targets": tuple(told["targets"])})
    except (KeyError, TypeError, UsageError) as error:
        raise DataError(f"{where}: adapter: {error!r}") from None


def _freeze(pipe: Any) -> None:
    for part in pipe.components.values():
        if isinstance(part, torch.nn.Module):
            part.requires_grad_(False).eval()


def _add_lora(net: Any, brought: Brought, shape: AdapterShape) -> None:
    from peft import LoraConfig, inject_adapter_in_model

    targets = [brought.modules[name] for name in shape.targets]
    config = LoraConfig(r=shape.rank, lora_alpha=shape.alpha, target_modules=targets)
    if hasattr(net, "add_adapter"):
        net.add_adapter(config)
    else:  # U-Nets of video have no such method
        net.requires_grad_(False)
        inject_adapter_in_model(config, net)
