"""The processes that train together, by accelerate: each takes its parts of a batch, and all take the same step."""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from worldgauge.core.errors import UsageError

SPREAD_ABOVE = 125_000_000
"""Weights from which on several processes spread them; up to here each process holds them all."""


def spread(whole: nn.Module, pieces: Sequence[nn.Module], count: int, device: str) -> None:
    """Leave each process a part of all weights, in place. Optimisers and averages made later hold such parts too, and
    gradients are means over the processes."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    # Blocks return views for a cache; nothing is changed in place there.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module")
    mesh = init_device_mesh(device, (count,))
    for piece in pieces:
        fully_shard(piece, mesh=mesh)
    fully_shard(whole, mesh=mesh)


def gathered(tensor: Tensor) -> Tensor:
    """A tensor with the parts of all processes, which have to ask for it alike. One that is not spread is itself."""
    whole: Tensor = tensor.full_tensor() if _is_part(tensor) else tensor
    return whole


def gathered_all(tensors: Mapping[str, Tensor], *, kept: bool = True) -> dict[str, Tensor]:
    """Tensors with the parts of all processes, one after another, on the CPU where they were spread."""
    found = {}
    for name, tensor in tensors.items():
        whole = gathered(tensor)
        if kept:
            found[name] = whole.cpu() if whole is not tensor else whole
    return found


def parted(whole: Tensor, like: Tensor) -> Tensor:
    """This process's part of a tensor, on the device of `like`, which is spread the same way; else all of it."""
    if not _is_part(like):
        return whole.to(like.device)
    from torch.distributed.tensor import distribute_tensor

    part: Tensor = distribute_tensor(whole.to(like.device), like.device_mesh, like.placements, src_data_rank=None)
    return part


def _is_part(tensor: Tensor) -> bool:
    """Whether a tensor is spread. Its class is not asked for, since importing it takes most of a second."""
    return hasattr(tensor, "full_tensor")


def _part() -> None:
    """Let the processes part before the interpreter ends, whose end now and then aborts what still listens."""
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


class Team:
    """One process, or several of `accelerate launch`, with the same random numbers and steps."""

    def __init__(self, device: str = "cpu", spreads: bool | None = None) -> None:
        self._accelerator: Any = None
        self._spreads, self._is_spread = spreads, False
        self.count, self.number, self.device = 1, 0, device
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            # Only for `prepare`, `backward` and `gather`: its states are pickles, and ours are not.
            from accelerate import Accelerator, DistributedDataParallelKwargs

            # In distillation student and critic learn by turns, so that some weights have no gradient.
            of_ddp = DistributedDataParallelKwargs(find_unused_parameters=True)
            self._accelerator = Accelerator(cpu=device == "cpu", mixed_precision="no", kwargs_handlers=[of_ddp])
            self.count, self.number = self._accelerator.num_processes, self._accelerator.process_index
            self.device = device if device == "cpu" else str(self._accelerator.device)
            atexit.register(_part)

    @property
    def is_first(self) -> bool:
        """Whether this process writes files."""
        return self.number == 0

    def own(self, parts: int) -> range:
        """The parts of a batch that this process takes."""
        if parts % self.count:
            fitting = self.count * -(-parts // self.count)
            raise UsageError(
                f"{self.count} processes cannot share {parts} parts of a batch evenly; --set parts={fitting}"
            )
        return range(self.number, parts, self.count)

    def prepared(self, module: nn.Module, pieces: Sequence[nn.Module] = ()) -> Any:
        """A module whose gradients are means over the processes. Make optimisers afterwards: spreading replaces
        weights."""
        if self._accelerator is None:
            return module
        weights = sum(one.numel() for one in module.parameters())
        self._is_spread = weights > SPREAD_ABOVE if self._spreads is None else self._spreads
        if not self._is_spread:
            return self._accelerator.prepare(module)
        spread(module, pieces, self.count, torch.device(self.device).type)
        return module

    def backward(self, loss: Tensor) -> None:
        """Go down a loss."""
        if self._accelerator is None:
            loss.backward()
        else:
            self._accelerator.backward(loss)

    def apart(self, module: Any, *, is_last: bool) -> AbstractContextManager[Any]:
        """Context of a part of a step, forward and backward. Gradients are exchanged in the last part, but in each if
        weights are spread, so that no process holds them whole."""
        is_alone = self._accelerator is None or self._is_spread or is_last
        return nullcontext() if is_alone else self._accelerator.no_sync(module)

    def gathered(self, values: Sequence[float]) -> list[float]:
        """Numbers of all processes, those of the first one first."""
        if self._accelerator is None:
            return list(values)
        told = torch.tensor(values, dtype=torch.float64, device=self.device)
        found: list[float] = self._accelerator.gather(told).tolist()
        return found

    def agreed(self, values: Sequence[float]) -> list[float]:
        """Numbers of the first process."""
        return self.gathered(values)[: len(values)]

    @contextmanager
    def first_before_others(self) -> Iterator[None]:
        """The first process goes through this before the others, which find what it has made."""
        if self._accelerator is None:
            yield
        else:
            with self._accelerator.main_process_first():
                yield

    def wait(self) -> None:
        """Wait until all have come here."""
        if self._accelerator is not None:
            self._accelerator.wait_for_everyone()
