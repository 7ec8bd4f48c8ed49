"""Weights that are spread over processes (FSDP2): each holds a part of every tensor, and gathers what it needs next."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from torch import Tensor, nn

SPREAD_ABOVE = 125_000_000
"""Weights from which on several processes spread them; up to here each process holds them all."""


def spread(whole: nn.Module, pieces: Sequence[nn.Module], count: int, device: str) -> None:
    """Leave each process a part of all weights of a module, in place.

    Optimisers and averages that are made afterwards hold such parts too, and gradients are means over the processes.

    Args:
        whole: The module. Its weights outside the pieces are gathered while its `forward` runs.
        pieces: Modules in it that are gathered one at a time, while theirs runs.
        count: Processes.
        device: "cpu" or "cuda".
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    # Blocks return views for a cache; nothing is changed in place there.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module")
    mesh = init_device_mesh(device, (count,))
    for piece in pieces:
        fully_shard(piece, mesh=mesh)
    fully_shard(whole, mesh=mesh)


def gathered(tensor: Tensor) -> Tensor:
    """A tensor with the parts of all processes, which have to ask for it alike. One that is not spread is itself.

    Args:
        tensor: The tensor, or this process's part of it.
    """
    whole: Tensor = tensor.full_tensor() if _is_part(tensor) else tensor
    return whole


def gathered_all(tensors: Mapping[str, Tensor], *, kept: bool = True) -> dict[str, Tensor]:
    """Tensors with the parts of all processes, one after another, on the CPU where they were spread.

    Args:
        tensors: Tensors by name, of the same names in all processes.
        kept: Whether this process wants them; one that does not takes part and gets nothing.
    """
    found = {}
    for name, tensor in tensors.items():
        whole = gathered(tensor)
        if kept:
            found[name] = whole.cpu() if whole is not tensor else whole
    return found


def parted(whole: Tensor, like: Tensor) -> Tensor:
    """This process's part of a tensor, on the device of another one that is spread like it; all of it if that is not.

    Args:
        whole: The tensor, the same in all processes.
        like: A tensor of its shape.
    """
    if not _is_part(like):
        return whole.to(like.device)
    from torch.distributed.tensor import distribute_tensor

    part: Tensor = distribute_tensor(whole.to(like.device), like.device_mesh, like.placements, src_data_rank=None)
    return part


def _is_part(tensor: Tensor) -> bool:
    """Whether a tensor is spread. Its class is not asked for, since importing it takes most of a second."""
    return hasattr(tensor, "full_tensor")
