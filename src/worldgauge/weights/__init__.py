"""Weights of published networks: what there is, where it lies here, and how it is read without running any of it.

    folder = weights.opened("lpips-alex").folder     # AbsentWeightsError says which command brings them
    tensors = read_tensors(folder / "alex.pth")

None come with worldgauge: each has an owner and a licence of its own (`worldgauge weights list`).
"""

from worldgauge.weights.catalogue import WeightFile, WeightSet, catalogue
from worldgauge.weights.reading import read_tensors
from worldgauge.weights.store import AbsentWeightsError, Opened, digest_of, opened

__all__ = [
    "AbsentWeightsError",
    "Opened",
    "WeightFile",
    "WeightSet",
    "catalogue",
    "digest_of",
    "opened",
    "read_tensors",
]
