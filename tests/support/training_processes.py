"""A training for one of several processes: python training_processes.py OUT RECIPE-KEYS-AS-JSON HOW-AS-JSON.

HOW holds arguments of `train`, and "save_every_s": seconds from one state to the next.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from worldgauge.core.actions import LOOP_WALK
from worldgauge.models.baselines.tiny import mirror_of, row_width
from worldgauge_train.cli.app import leave_it_to_the_first
from worldgauge_train.training import stepping
from worldgauge_train.training.cache import CachedClip
from worldgauge_train.training.loop import train
from worldgauge_train.training.material import Material
from worldgauge_train.training.recipe import Recipe, changed


def noise_clips(count: int, frames: int = 40, size: tuple[int, int] = (16, 8)) -> list[CachedClip]:
    """Clips of noise, of one world each. size: width, height."""
    clips = []
    for number in range(count):
        rng = np.random.default_rng(number)
        rows = rng.random((frames, row_width(LOOP_WALK)), np.float32)
        shown = rng.integers(0, 256, (frames, size[1], size[0], 3), np.uint8)
        clips.append(CachedClip(f"{number}", "made-up", f"{number}", shown, rows, rng.normal(0, 1, (frames, 5))))
    return clips


def material_of(clips: list[CachedClip]) -> Material:
    return Material(clips, (LOOP_WALK.name,), row_width(LOOP_WALK), mirror_of(LOOP_WALK), 20.0, LOOP_WALK)


def interrupted(after: int, call: Callable[[], object]) -> None:
    """A training that Ctrl-C stops after some steps. Its state is written after each."""
    take, left = stepping.Stepping.take, [after]

    def killed(*given: Any) -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return take(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stepping, "SAVE_EVERY_S", -1.0)
        patch.setattr(stepping.Stepping, "take", killed)
        with pytest.raises(KeyboardInterrupt):
            call()


def trained(out: Path, keys: dict[str, object], **how: object) -> Path:
    """Train on three clips of noise."""
    return train(changed(Recipe(), keys), material_of(noise_clips(3)), out, **how)  # type: ignore[arg-type]


if __name__ == "__main__":
    torch.set_num_threads(1)
    given = json.loads(sys.argv[3])
    stepping.SAVE_EVERY_S = given.pop("save_every_s", stepping.SAVE_EVERY_S)
    if "parent" in given:
        given["parent"] = Path(given["parent"])
    trained(Path(sys.argv[1]), json.loads(sys.argv[2]), **given)
    leave_it_to_the_first()
