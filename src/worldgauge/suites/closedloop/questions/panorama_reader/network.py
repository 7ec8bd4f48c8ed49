"""The network: the kind of the room that a panorama was taken in, and the things it shows, from its pixels alone.

Three layers of convolution turn a strip into a description of every 11.25 degrees. The largest and the mean over all
directions decide, so the result does not depend on the heading. Numpy only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.suites.closedloop.home.layers import Array, Weights, padded, patches_of, read_network, save_network
from worldgauge.suites.closedloop.home.strips import ROWS, Strip
from worldgauge.suites.closedloop.questions.panorama_reader.samples import FINER, KINDS, THINGS

VERSION = 2
FILE = "panorama_reader.npz"
"""The shipped one, beside this module."""
FIRST, SECOND, THIRD, HIDDEN, LAST = 16, 24, 32, 64, 96
"""Units of the layers."""


def shapes() -> dict[str, tuple[int, ...]]:
    """Shape of every array of weights."""
    rows = ROWS * FINER // 8
    return {
        "w1": (27, FIRST),
        "b1": (FIRST,),
        "w2": (9 * FIRST, SECOND),
        "b2": (SECOND,),
        "w3": (9 * SECOND, THIRD),
        "b3": (THIRD,),
        "w4": (3 * rows * THIRD, HIDDEN),
        "b4": (HIDDEN,),
        "w5": (2 * HIDDEN, LAST),
        "b5": (LAST,),
        "w6": (LAST, len(KINDS) + len(THINGS)),
        "b6": (len(KINDS) + len(THINGS),),
    }


@dataclass(frozen=True)
class Activations:
    """What the network makes of strips.

    Attributes:
        logits: (n, kinds of rooms and then things).
        kept: Activations by name, which training needs.
    """

    logits: Array
    kept: Mapping[str, Array]

    @property
    def rooms(self) -> FloatArray:
        """(n, KINDS), probabilities; each row sums to 1."""
        raw = self.logits[:, : len(KINDS)].astype(np.float64)
        grown = np.exp(raw - raw.max(axis=1, keepdims=True))
        shares: FloatArray = grown / grown.sum(axis=1, keepdims=True)
        return shares

    @property
    def things(self) -> FloatArray:
        """(n, THINGS), the probability that a panorama shows each."""
        shares: FloatArray = 1 / (1 + np.exp(-np.clip(self.logits[:, len(KINDS) :].astype(np.float64), -30, 30)))
        return shares


def look(weights: Weights, strips: Strip) -> Activations:
    """Look at strips (n, 48, columns, 3) that go all around."""
    kept: dict[str, Array] = {}
    values = strips
    for layer in ("1", "2", "3"):
        kept[f"patches{layer}"] = patches_of(padded(values, True))
        values = np.maximum(kept[f"patches{layer}"] @ weights[f"w{layer}"] + weights[f"b{layer}"], 0)
        kept[f"values{layer}"] = values
    n, rows, columns, units = values.shape
    upright = values.transpose(0, 2, 1, 3).reshape(n, columns, rows * units)
    kept["threes"] = np.concatenate([np.roll(upright, 1, axis=1), upright, np.roll(upright, -1, axis=1)], axis=2)
    kept["hidden"] = np.maximum(kept["threes"] @ weights["w4"] + weights["b4"], 0)
    kept["pooled"] = np.concatenate([kept["hidden"].max(axis=1), kept["hidden"].mean(axis=1)], axis=-1)
    kept["last"] = np.maximum(kept["pooled"] @ weights["w5"] + weights["b5"], 0)
    return Activations(kept["last"] @ weights["w6"] + weights["b6"], kept)


@dataclass(frozen=True)
class Reading:
    """What is read of one panorama.

    Attributes:
        rooms: Probability of each kind of room that it was taken in; they sum to 1.
        things: Probability that it shows a thing of each name.
    """

    rooms: Mapping[str, float]
    things: Mapping[str, float]


@dataclass(frozen=True)
class PanoramaReader:
    """A trained network.

    Attributes:
        weights: Its arrays, see `shapes`.
        facts: Plain JSON values: version, what it was trained on, how well it does on validation homes.
    """

    weights: Weights
    facts: Mapping[str, Any]

    def read(self, strip: Strip) -> Reading:
        """Read a strip (48, columns, 3) that goes all around."""
        found = look(self.weights, strip[None])
        rooms = dict(zip(KINDS, found.rooms[0].tolist(), strict=True))
        return Reading(rooms, dict(zip(THINGS, found.things[0].tolist(), strict=True)))


@lru_cache(maxsize=1)
def shipped() -> PanoramaReader:
    """The network that comes with worldgauge."""
    return read(files(__package__).joinpath(FILE).read_bytes(), FILE)


def identity() -> str:
    """What the answers of the shipped network depend on."""
    facts = shipped().facts
    return f"panorama-reader-{facts['version']}-{facts['trained_on']['digest'][:16]}"


def save(made: PanoramaReader, path: Path) -> None:
    """Write it as npz, atomically."""
    save_network(made.weights, made.facts, path)


def read(content: bytes, name: str) -> PanoramaReader:
    """Read the bytes that `save` wrote.

    Args:
        content: The bytes.
        name: Of the file, for errors.

    Raises:
        DataError: If they are damaged or of another version.
    """
    return PanoramaReader(*read_network(content, name, "reader of panoramas", VERSION, shapes()))
