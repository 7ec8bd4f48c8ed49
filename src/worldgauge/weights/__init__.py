"""Weights of published networks: the catalogue, their place on this machine, and reading them without running code.

    folder = weights.opened("lpips-alex").folder     # AbsentWeightsError names the command that downloads them
    tensors = read_tensors(folder / "alex.pth")
    heads = expect(tensors, {"lin0.model.1.weight": (1, 64, 1, 1)}, folder / "alex.pth")

None come with worldgauge: each has its own owner and licence (`worldgauge weights list`).
"""

from worldgauge.weights.catalogue import WeightFile, WeightSet, catalogue
from worldgauge.weights.download import Pulled, PullError, pull, sets_for
from worldgauge.weights.reading import expect, known_program, read_tensors
from worldgauge.weights.store import (
    AbsentWeightsError,
    Adopted,
    Adoption,
    Opened,
    Standing,
    adopt,
    digest_of,
    opened,
    standing,
    store_folder,
    verify,
)

__all__ = [
    "AbsentWeightsError",
    "Adopted",
    "Adoption",
    "Opened",
    "PullError",
    "Pulled",
    "Standing",
    "WeightFile",
    "WeightSet",
    "adopt",
    "catalogue",
    "digest_of",
    "expect",
    "known_program",
    "opened",
    "pull",
    "read_tensors",
    "sets_for",
    "standing",
    "store_folder",
    "verify",
]
