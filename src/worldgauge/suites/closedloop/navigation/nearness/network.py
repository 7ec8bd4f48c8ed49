"""The network: how far a view is from the place of a panorama, by matching columns of the two at every heading.

One encoder turns each strip into a descriptor for every 11.25 degrees. The descriptors of a view are multiplied with
those of the panorama at every shift, and of the 32 shifts the largest and the mean response decide. So the result does
not depend on the heading of the panorama. Numpy only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.suites.closedloop.home.layers import Array, Weights, padded, patches_of, read_network, save_network
from worldgauge.suites.closedloop.home.strips import COLUMNS, ROWS, VIEW_COLUMNS, Strip

VERSION = 2
FILE = "nearness.npz"
"""The shipped one, beside this module."""
GROUPS, GROUP = 8, 4
"""A descriptor is so many unit vectors of so many numbers; their dot products are what is matched."""
FIRST, SECOND, HIDDEN, LAST = 24, 32, 48, 32
"""Units of the layers."""
SEEN, AROUND = VIEW_COLUMNS // 4, COLUMNS // 4
"""Descriptors of a view, and of a panorama."""
ASIDE = (-1, 0, 1)
"""Neighbours that a column may match too: near things shift more than far ones."""
FAR_M = 6.0
"""Places farther away count as so far."""
_SOFT = 0.1

_MATCHED = (
    np.arange(SEEN)[:, None, None] + np.arange(AROUND)[None, :, None] + np.array(ASIDE)[None, None]
) % AROUND  # (view column, shift, aside) -> panorama column


def shapes() -> dict[str, tuple[int, ...]]:
    """Shape of every array of weights."""
    return {
        "w1": (27, FIRST),
        "b1": (FIRST,),
        "w2": (9 * FIRST, SECOND),
        "b2": (SECOND,),
        "w3": (3 * ROWS // 4 * SECOND, GROUPS * GROUP),
        "b3": (GROUPS * GROUP,),
        "w4": (SEEN * len(ASIDE) * GROUPS, HIDDEN),
        "b4": (HIDDEN,),
        "w5": (2 * HIDDEN, LAST),
        "b5": (LAST,),
        "w6": (LAST, 1),
        "b6": (1,),
    }


@dataclass(frozen=True)
class Encoded:
    """Descriptors of strips, and what training needs of how they came about.

    Attributes:
        descriptors: (n, columns, GROUPS, GROUP), unit vectors.
        wraps: Whether the strips go all around.
        kept: Activations by name.
    """

    descriptors: Array
    wraps: bool
    kept: Mapping[str, Array]


@dataclass(frozen=True)
class Matched:
    """Estimates for pairs, and what training needs of how they came about.

    Attributes:
        estimates: (views, panoramas).
        kept: Activations by name.
    """

    estimates: Array
    kept: Mapping[str, Array]


def encode(weights: Weights, strips: Strip, *, wraps: bool) -> Encoded:
    """Descriptors of strips.

    Args:
        weights: Of the network.
        strips: (n, 24, columns, 3).
        wraps: Whether they go all around, as those of panoramas do.
    """
    patches1 = patches_of(padded(strips, wraps))
    first = np.maximum(patches1 @ weights["w1"] + weights["b1"], 0)
    patches2 = patches_of(padded(first, wraps))
    second = np.maximum(patches2 @ weights["w2"] + weights["b2"], 0)
    n, rows, columns, units = second.shape
    upright = second.transpose(0, 2, 1, 3).reshape(n, columns, rows * units)
    ends = (upright[:, -1:], upright[:, :1]) if wraps else (upright[:, :1], upright[:, -1:])
    wide = np.concatenate([ends[0], upright, ends[1]], axis=1)
    threes = np.concatenate([wide[:, :-2], wide[:, 1:-1], wide[:, 2:]], axis=2)
    raw = (threes @ weights["w3"] + weights["b3"]).reshape(n, columns, GROUPS, GROUP)
    length = np.sqrt((raw**2).sum(-1, keepdims=True) + _SOFT)
    kept = {"patches1": patches1, "first": first, "patches2": patches2, "second": second, "threes": threes}
    return Encoded(raw / length, wraps, {**kept, "length": length})


def match(weights: Weights, views: Encoded, panoramas: Encoded) -> Matched:
    """Estimates of how far each view is from the place of each panorama.

    Args:
        weights: Of the network.
        views: Of v views.
        panoramas: Of p panoramas.

    Returns:
        Estimates of the root of the metres to walk, at most that of FAR_M.
    """
    v, p = len(views.descriptors), len(panoramas.descriptors)
    seen = views.descriptors.transpose(2, 0, 1, 3).reshape(GROUPS, v * SEEN, GROUP)
    around = panoramas.descriptors.transpose(2, 0, 1, 3).reshape(GROUPS, p * AROUND, GROUP)
    alike = (seen @ around.transpose(0, 2, 1)).reshape(GROUPS, v, SEEN, p, AROUND).transpose(1, 3, 2, 4, 0)
    shifted = alike[:, :, np.arange(SEEN)[:, None, None], _MATCHED].transpose(0, 1, 3, 2, 4, 5)
    matches = shifted.reshape(v, p, AROUND, -1)
    hidden = np.maximum(matches @ weights["w4"] + weights["b4"], 0)
    pooled = np.concatenate([hidden.max(axis=2), hidden.mean(axis=2)], axis=-1)
    last = np.maximum(pooled @ weights["w5"] + weights["b5"], 0)
    estimates = (last @ weights["w6"] + weights["b6"])[..., 0]
    kept = {"seen": seen, "around": around, "matches": matches, "hidden": hidden, "pooled": pooled, "last": last}
    return Matched(estimates, kept)


@dataclass(frozen=True)
class Nearness:
    """A trained network.

    Attributes:
        weights: Its arrays, see `shapes`.
        facts: Plain JSON values: version, what it was trained on, how well it does on validation homes.
    """

    weights: Weights
    facts: Mapping[str, Any]

    def encoded(self, panorama: Strip) -> Encoded:
        """Descriptors of the panorama at a goal."""
        return encode(self.weights, panorama[None], wraps=True)

    def far(self, view: Strip, goal: Encoded) -> float:
        """About the root of the metres from a view to a goal; lower is nearer."""
        found = match(self.weights, encode(self.weights, view[None], wraps=False), goal)
        return float(found.estimates[0, 0])


@lru_cache(maxsize=1)
def shipped() -> Nearness:
    """The network that comes with worldgauge."""
    return read(files(__package__).joinpath(FILE).read_bytes(), FILE)


def identity() -> str:
    """What the answers of the shipped network depend on."""
    facts = shipped().facts
    return f"nearness-{facts['version']}-{facts['trained_on']['digest'][:16]}"


def save(made: Nearness, path: Path) -> None:
    """Write it as npz, atomically."""
    save_network(made.weights, made.facts, path)


def read(content: bytes, name: str) -> Nearness:
    """Read the bytes that `save` wrote.

    Args:
        content: The bytes.
        name: Of the file, for errors.

    Raises:
        DataError: If they are damaged or of another version.
    """
    return Nearness(*read_network(content, name, "network of nearness", VERSION, shapes()))
