"""A published model of each kind as its adapter drives it: its repository is a stand-in, and its frames are small.

Served as users serve adapters: cmd:python -m worldgauge_serve model_kinds.py:camera_at_16
"""

import importlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from adapters import fastvideo, sana_wm, worldmem, yume

UPSTREAM = Path(__file__).parent / "upstream"
SIZE = (160, 96)
"""Width and height; as all of these models want them: whole blocks of 32 pixels."""


def camera_at_16() -> Any:
    """SANA-WM: camera poses and a caption, 16 frames a second, 8n + 1 frames of which one is shown."""
    weights = _folder()
    (weights / "dit").mkdir()
    (weights / "refiner" / "text_encoder").mkdir(parents=True)
    (weights / "dit" / "sana_wm_1600m_720p.safetensors").write_bytes(b"w")
    (weights / "config.yaml").write_text('{"model": "m", "vae": "v", "text_encoder": "t", "scheduler": "s"}')
    _stand_in("sana_wm")
    package = importlib.import_module("inference_video_scripts.wm.inference_sana_wm")
    package.TARGET_WIDTH, package.TARGET_HEIGHT = sana_wm.WIDTH, sana_wm.HEIGHT = SIZE
    return sana_wm.SanaWM(str(weights), root=str(UPSTREAM / "sana_wm"))


def keys_at_25() -> Any:
    """Matrix-Game 2.0: keys and mouse at 25 frames a second, neither words nor poses."""
    _stand_in("fastvideo")
    return fastvideo.FastVideo("FastVideo/Matrix-Game-2.0-Base-Distilled-Diffusers", size=f"{SIZE[0]}x{SIZE[1]}")


def sentences() -> Any:
    """YUME: keys as sentences before a caption, one for 33 frames at 16 a second."""
    weights = _folder()
    (weights / "diffusion_pytorch_model.safetensors").write_bytes(b"1")
    _stand_in("yume")
    yume.SIZES = (SIZE,)
    return yume.Yume(str(UPSTREAM / "yume"), str(weights), size=f"{SIZE[0]}x{SIZE[1]}", steps=2)


def words() -> Any:
    """Wan 2.2: one picture, a caption and what happens in words, at 24 frames a second."""
    _stand_in("fastvideo")
    return fastvideo.FastVideo("FastVideo/Wan2.2-TI2V-5B-Diffusers", size=f"{SIZE[0]}x{SIZE[1]}")


def poses_and_keys() -> Any:
    """WorldMem: keys, and the poses of all that was seen and will be, at 20 frames a second."""
    worldmem.WIDTH, worldmem.HEIGHT = SIZE
    return worldmem.WorldMem(backend=_Memory())


class _Memory:
    """Draws of all frames that were seen the one whose place and view are nearest, as bright as the seed says."""

    def __init__(self) -> None:
        self.identity: dict[str, str] = {}

    def seed(self, seed: int) -> None:
        self._bright = 0.5 + seed % 17 / 34

    def imagine(self, images: Any, rows: Any, poses: Any) -> Any:
        seen = len(images)
        assert rows.shape == (len(poses), 25)
        assert poses.shape == (len(rows), 5)
        apart = np.abs(poses[seen:, None] - poses[None, :seen])
        apart[..., 3:] = np.minimum(apart[..., 3:], 360 - apart[..., 3:])
        return images[apart.sum(-1).argmin(1)] * np.float32(self._bright)


def _stand_in(name: str) -> None:
    sys.path.insert(0, str(UPSTREAM / name))
    if importlib.util.find_spec("torch") is None:
        sys.path.insert(1, str(UPSTREAM / "without_torch"))


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="weights", dir=os.environ.get("TMPDIR")))
