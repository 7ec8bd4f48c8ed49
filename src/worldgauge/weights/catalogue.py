"""Every set of weights a network of ours can load: whose it is, under which licence, and the bytes it must have."""

from __future__ import annotations

from collections.abc import Mapping

from worldgauge.weights._file_sets import FILE_SETS
from worldgauge.weights._hub_sets import HUB_SETS
from worldgauge.weights.weight_set import WeightFile, WeightSet

__all__ = ["WeightFile", "WeightSet", "catalogue"]

catalogue: Mapping[str, WeightSet] = {each.name: each for each in (*FILE_SETS, *HUB_SETS)}
"""By name."""
