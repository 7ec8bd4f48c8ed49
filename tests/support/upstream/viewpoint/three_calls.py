"""What both repositories are asked: three calls, recorded, with the shapes and types that both check."""

from types import SimpleNamespace
from typing import Any

import numpy as np

MODELS: list["Recorder"] = []


class Config:
    batch_size = 1
    image_height = 512
    ckpt_path = spade_ckpt_path = None
    depth_scale = 0.0


class Recorder:
    """Predicts the picture that it was given, with 10 times the metres ahead in red, and its depth."""

    def __init__(self, config: Any) -> None:
        self.config, self.identity = config, {"weights": "none"}
        self.given: list[tuple[np.ndarray, np.ndarray]] = []
        self.asked: list[tuple[float, ...]] = []
        self.prev_rgb_frame: Any = None
        self.starts = 0
        MODELS.append(self)

    def reset_memory(self) -> None:
        self.starts += 1

    def add_to_memory(self, pano_rgb: Any, pano_semantic: Any, pano_depth: Any, position: Any) -> None:
        size = (1, self.config.image_height, 2 * self.config.image_height)
        assert pano_rgb.dtype in (np.uint8, np.int32)
        assert pano_rgb.shape == (*size, 3)
        assert pano_semantic.dtype in (np.uint8, np.int32)
        assert pano_semantic.shape == (*size, 1)
        assert pano_depth.dtype == np.float32
        assert pano_depth.shape == size
        assert position.dtype == np.float32
        assert position.tolist() == [[0.0, 0.0, 0.0]]
        self.prev_rgb_frame = pano_rgb
        self.given.append((pano_rgb[0], pano_depth[0]))

    def __call__(self, position: Any, add_preds_to_memory: bool = False, sample_noise: bool = True) -> Any:
        assert self.prev_rgb_frame is not None
        assert position.shape == (1, 3)
        assert position.dtype == np.float32
        assert (add_preds_to_memory, sample_noise) == (False, False)
        self.asked.append(tuple(position[0].tolist()))
        picture, depth = self.given[-1]
        made = picture.copy()
        made[..., 0] = np.rint(10 * position[0, 1])
        return SimpleNamespace(pred_rgb=made[None], pred_depth=depth[None])
