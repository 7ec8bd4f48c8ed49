"""Pack a checkpoint as the network that comes with worldgauge, the model `tiny`.

python -m worldgauge_train.training.shipping checkpoints/tiny src/worldgauge/models/baselines/tiny.npz
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.core.io import dumps, read_json_object, write_file
from worldgauge_train.training.recipe import Recipe, named_recipe, told

FREE = ("batch", "steps", "learning_rate", "warm_up", "decay", "clip_norm", "average", "own", "seed")
"""Keys of the recipe `tiny` that may differ: the network is the same."""


def pack(folder: Path, out: Path) -> None:
    """Write the weights of a checkpoint as float16, and what they were trained on."""
    from worldgauge_train.nets.drawing import CONFIG, open_drawing

    config = read_json_object(folder / CONFIG)
    net = open_drawing(folder, config).net
    held = {**told(Recipe()), **config["recipe"]}
    for name, value in told(named_recipe("tiny")).items():
        if name not in FREE and held[name] != value:
            raise UsageError(f"{folder}: {name} is {held[name]!r}, in the recipe 'tiny' {value!r}")
    facts = {name: config[name] for name in ("recipe", "data", "seconds", "torch")}
    arrays = {name: value.numpy().astype(np.float16) for name, value in net.state_dict().items()}
    made = io.BytesIO()
    np.savez(made, facts=np.frombuffer(dumps(facts).encode(), np.uint8), **arrays)
    write_file(out, made.getvalue())


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))
