"""What a probe must leave as it was: random states, training modes of modules, memory on GPUs.

torch is looked at only where somebody has imported it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np


class TrainingState:
    """State of the training at one moment.

    Args:
        model: The model. Modules of torch are found where it is one, or holds them as attributes, also in a list, a
            tuple or a mapping.
    """

    def __init__(self, model: Any) -> None:
        self._torch = _imported_torch()
        self._python = random.getstate()
        self._numpy = np.random.get_state()  # noqa: NPY002 - whatever the training uses
        self._modules = [] if self._torch is None else list(_modules_in(model, self._torch))
        self._modes = [(part, part.training) for module in self._modules for part in module.modules()]
        self._uses_cuda = self._torch is not None and self._torch.cuda.is_initialized()
        self._cpu = None if self._torch is None else self._torch.get_rng_state()
        self._gpus = self._torch.cuda.get_rng_state_all() if self._uses_cuda else None
        self._stream = self._torch.cuda.current_stream() if self._uses_cuda else None

    def set_evaluation(self) -> None:
        """Put all modules into evaluation mode: in training mode a rollout would change running statistics."""
        for module in self._modules:
            module.eval()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """In another thread: the GPU and the stream of the training, and no gradients.

        torch keeps these by thread, so the thread of the training does not notice.
        """
        with ExitStack() as stack:
            if self._torch is not None:
                stack.enter_context(self._torch.no_grad())
            if self._stream is not None:
                stack.enter_context(self._torch.cuda.stream(self._stream))
            yield

    def restore(self) -> None:
        """Put everything back."""
        random.setstate(self._python)
        np.random.set_state(self._numpy)  # noqa: NPY002
        for module, mode in self._modes:
            module.training = mode
        if self._cpu is not None:
            self._torch.set_rng_state(self._cpu)
        if self._gpus is not None:
            self._torch.cuda.set_rng_state_all(self._gpus)

    def release_memory(self) -> None:
        """Give back the GPU memory that torch keeps in reserve. Waits for the GPU."""
        if self._uses_cuda:
            self._torch.cuda.empty_cache()


def _imported_torch() -> Any:
    return sys.modules.get("torch")


def _modules_in(model: Any, torch: Any) -> Iterator[Any]:
    held = [model, *getattr(model, "__dict__", {}).values()]
    for one in held:
        inner = one if isinstance(one, (list, tuple)) else one.values() if isinstance(one, Mapping) else (one,)
        for each in inner:
            if isinstance(each, torch.nn.Module):
                yield each
