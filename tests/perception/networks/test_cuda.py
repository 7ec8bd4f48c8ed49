"""CPU and CUDA agree, where there is CUDA: to 1e-4 of a value in float32."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'torch'")

from support.musiq_reference import tiny_tensors  # noqa: E402
from worldgauge.perception.networks import choose_device, networks  # noqa: E402
from worldgauge.perception.networks.musiq import WEIGHTS  # noqa: E402

TOLERANCE = 1e-4

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA here")


def lpips(folder: Path) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    trunk, heads, before = {}, {}, 3
    for i, (index, side) in enumerate(((0, 11), (3, 5), (6, 3), (8, 3), (10, 3))):
        values = rng.normal(0, (2 / (before * side * side)) ** 0.5, (16, before, side, side)).astype(np.float32)
        trunk |= {f"features.{index}.weight": torch.from_numpy(values), f"features.{index}.bias": torch.zeros(16)}
        heads[f"lin{i}.model.1.weight"] = torch.from_numpy(rng.random((1, 16, 1, 1)).astype(np.float32))
        before = 16
    for file, tensors in zip(networks.get("lpips-alex").files, (trunk, heads), strict=True):
        torch.save(tensors, folder / file)
    x, y = rng.uniform(-1, 1, (2, 2, 96, 128, 3)).astype(np.float32)
    return {"x": x, "y": y}


def musiq(folder: Path) -> dict[str, np.ndarray]:
    torch.save({name: torch.from_numpy(tensor) for name, tensor in tiny_tensors().items()}, folder / WEIGHTS)
    return {"frames": np.random.default_rng(0).uniform(-1, 1, (2, 40, 72, 3)).astype(np.float32)}


def dino(folder: Path) -> dict[str, np.ndarray]:
    torch.manual_seed(3)
    tiny = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_register_tokens": 4}
    config = transformers.DINOv3ViTConfig(**tiny, intermediate_size=48, patch_size=16)
    transformers.DINOv3ViTModel(config).save_pretrained(folder)
    return {"frames": np.random.default_rng(0).normal(size=(2, 224, 224, 3)).astype(np.float32)}


@pytest.mark.parametrize(("name", "made"), [("lpips-alex", lpips), ("musiq-spaq", musiq), ("dinov3-b16", dino)])
def test_answers_agree(name: str, made: Callable[[Path], dict[str, Any]], tmp_path: Path) -> None:
    shown = made(tmp_path)
    one, other = (networks.get(name)(tmp_path, choose_device(device)).answer(shown) for device in ("cpu", "cuda"))
    for key, values in one.items():
        np.testing.assert_allclose(other[key], values, rtol=TOLERANCE, atol=TOLERANCE * np.abs(values).max())
