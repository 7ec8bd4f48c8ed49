"""A training for one of several processes: python training_processes.py OUT RECIPE-KEYS-AS-JSON HOW-AS-JSON.

HOW holds arguments of `train`, and "save_every_s": seconds from one state to the next.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch

from worldgauge.core.actions import LOOP_WALK
from worldgauge.models.references.tiny import mirror_of, row_width
from worldgauge_train.cli.app import leave_it_to_the_first
from worldgauge_train.training import stepping
from worldgauge_train.training.cache import CachedClip
from worldgauge_train.training.loop import train
from worldgauge_train.training.material import Material
from worldgauge_train.training.recipe import Recipe, changed


def trained(out: Path, keys: dict[str, object], **how: object) -> Path:
    """Train on three clips of noise."""
    clips = []
    for number in range(3):
        rng = np.random.default_rng(number)
        rows = rng.random((40, row_width(LOOP_WALK)), np.float32)
        shown = rng.integers(0, 256, (40, 8, 16, 3), np.uint8)
        clips.append(CachedClip(f"{number}", "made-up", f"{number}", shown, rows, rng.normal(0, 1, (40, 5))))
    space = (LOOP_WALK.name,)
    material = Material(clips, space, row_width(LOOP_WALK), mirror_of(LOOP_WALK), 20.0, LOOP_WALK)
    return train(changed(Recipe(), keys), material, out, **how)  # type: ignore[arg-type]


if __name__ == "__main__":
    torch.set_num_threads(1)
    given = json.loads(sys.argv[3])
    stepping.SAVE_EVERY_S = given.pop("save_every_s", stepping.SAVE_EVERY_S)
    if "parent" in given:
        given["parent"] = Path(given["parent"])
    trained(Path(sys.argv[1]), json.loads(sys.argv[2]), **given)
    leave_it_to_the_first()
