"""The private network of World-in-World's SVD, recorded: weights and inputs by rule, its output as numbers."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

VECTORS = Path(__file__).parents[1] / "vectors" / "wiw_svd"


class Recorded:
    """One of the recorded outputs, "navigation" or "manipulation"."""

    def __init__(self, task: str) -> None:
        self.held: dict[str, Any] = json.loads((VECTORS / f"{task}.json").read_text())
        self.rows = np.array(self.held["added_action_ids"], np.float32)

    def network(self) -> Any:
        """A stock network of these sizes; what it holds is not yet by rule."""
        from diffusers import UNetSpatioTemporalConditionModel

        sizes = {name: tuple(one) if isinstance(one, list) else one for name, one in self.held["unet"].items()}
        return UNetSpatioTemporalConditionModel(**sizes).eval()

    def fill(self, network: Any) -> None:
        """Put the weights of the rule into a network, by the names of its tensors."""
        import torch

        made = {}
        for name, tensor in network.state_dict().items():
            drawn = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(tuple(tensor.shape))
            w = drawn.astype(np.float32)
            if "mix_factor" in name:
                w = np.full_like(w, 0.5)
            elif w.ndim > 1:
                w = w / np.float32(np.sqrt(np.prod(w.shape[1:])))
            else:
                w = np.float32(0.1) * w + np.float32("weight" in name)
            made[name] = torch.from_numpy(w)
        network.load_state_dict(made)

    def asked(self, copies: int = 2) -> dict[str, Any]:
        """Arguments of a call: the sample and states of the rule, as many times as guidance puts them."""
        import torch

        rng = np.random.default_rng(self.held["seed"])
        sample, states = (
            torch.from_numpy(rng.standard_normal(shape).astype(np.float32))
            for shape in ((1, 14, 8, 16, 32), (1, 1, 32))
        )
        return {
            "sample": sample.repeat(copies, 1, 1, 1, 1),
            "timestep": 0.7,
            "encoder_hidden_states": states.repeat(copies, 1, 1),
            "added_time_ids": torch.tensor([[6, 127, 0.02]] * copies),
            "return_dict": False,
        }

    @property
    def output(self) -> np.ndarray:
        """What the private class made, (2, 14, 4, 16, 32) float32."""
        numbers = np.frombuffer(base64.b64decode(self.held["output_float32_le_base64"]), "<f4")
        return numbers.reshape(self.held["output_shape"])
