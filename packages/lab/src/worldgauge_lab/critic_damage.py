"""True builds damaged by a known amount, to test measures and critics.

A `DamageFunction` takes the true build, the dose and a generator, and returns None if there is nothing to damage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from worldgauge.worlds.blocks.blueprint import AIR, Blueprint, base_name, material, states_of

DamageFunction = Callable[[Blueprint, float, np.random.Generator], Blueprint | None]

_FOREIGN = ("stone", "oak_planks", "white_wool", "dirt", "bricks", "sand")
"""One of these stands in where a build has no other material."""
_OTHERWISE: Mapping[str, Mapping[str, str]] = {
    "facing": {"north": "south", "south": "north", "east": "west", "west": "east", "up": "down", "down": "up"},
    "half": {"top": "bottom", "bottom": "top", "upper": "lower", "lower": "upper"},
    "axis": {"x": "y", "y": "z", "z": "x"},
}
"""States, and what becomes of their values; no two become one."""


@dataclass(frozen=True)
class Damage:
    """One kind of damage.

    Attributes:
        made: (truth, dose, rng) -> damaged build, or None. For one rng state, larger doses include smaller ones.
        doses: How much, in `unit`, increasing; a single 1 for damage without doses.
    """

    name: str
    made: DamageFunction
    doses: tuple[float, ...] = (1.0,)
    unit: str = ""

    @property
    def graded(self) -> bool:
        """Whether it comes in several doses."""
        return len(self.doses) > 1


def exchanged(truth: Blueprint, share: float, rng: np.random.Generator) -> Blueprint | None:
    """Replace a share of the blocks, at random, by another material of the build, or stone if it has one only."""
    names = [base_name(name) for name in truth.materials]
    foreign = _foreign(truth)
    materials = (*truth.materials, foreign)
    used = sorted({names[number - 1]: number for number in np.unique(truth.cells[truth.solid])}.values())
    places = rng.permutation(np.argwhere(truth.solid))
    draws = rng.random(len(places))
    cells = truth.cells.copy()
    for place, draw in zip(places[: _some(share, truth)], draws, strict=False):
        own = names[cells[tuple(place)] - 1]
        others = [number for number in used if names[number - 1] != own] or [len(materials)]
        cells[tuple(place)] = others[int(draw * len(others))]
    return Blueprint(cells, materials)


def removed(truth: Blueprint, share: float, rng: np.random.Generator) -> Blueprint | None:
    """Remove a share of the blocks, at random."""
    places = rng.permutation(np.argwhere(truth.solid))[: _some(share, truth)]
    cells = truth.cells.copy()
    cells[tuple(places.T)] = AIR
    return Blueprint(cells, truth.materials)


def added(truth: Blueprint, share: float, rng: np.random.Generator) -> Blueprint | None:
    """Add a share of blocks in random materials of the build, to random free cells of a slightly larger box."""
    margin = 1
    while np.prod(np.array(truth.cells.shape) + margin) < 2 * truth.blocks:
        margin += 1
    cells = np.pad(truth.cells, (0, margin), constant_values=AIR)
    used = np.unique(truth.cells[truth.solid])
    free = np.argwhere(~Blueprint(cells, truth.materials).solid)
    places, draws = rng.permutation(free), rng.choice(used, len(free))
    count = _some(share, truth)
    cells[tuple(places[:count].T)] = draws[:count]
    return Blueprint(cells, truth.materials)


def truncated(truth: Blueprint, share: float, rng: np.random.Generator) -> Blueprint | None:
    """Remove a share of the layers, from the top; at least one is left."""
    kept = max(1, round(truth.size.height * (1 - share)))
    return Blueprint(truth.cells[:kept], truth.materials)


def lifted(truth: Blueprint, gap: float, rng: np.random.Generator) -> Blueprint | None:
    """Lift the upper half of the layers by a gap in blocks."""
    half = (truth.size.height + 1) // 2
    low, high = truth.cells[:half], truth.cells[half:]
    empty = np.full((int(gap), *truth.cells.shape[1:]), AIR, np.int32)
    return Blueprint(np.concatenate([low, empty, high]), truth.materials) if len(high) else None


def shifted(truth: Blueprint, steps: float, rng: np.random.Generator) -> Blueprint | None:
    """Shift it by `steps` blocks south and as many east."""
    step = int(steps)
    return Blueprint(np.pad(truth.cells, ((0, 0), (step, 0), (step, 0)), constant_values=AIR), truth.materials)


def turned(truth: Blueprint, dose: float, rng: np.random.Generator) -> Blueprint | None:
    """Turn it by 90 degrees about the vertical axis; the states of its blocks are kept."""
    return Blueprint(np.rot90(truth.cells, axes=(1, 2)), truth.materials)


def mirrored(truth: Blueprint, dose: float, rng: np.random.Generator) -> Blueprint | None:
    """Swap west and east."""
    return Blueprint(truth.cells[:, :, ::-1], truth.materials)


def recoloured(truth: Blueprint, dose: float, rng: np.random.Generator) -> Blueprint | None:
    """Replace its most frequent material by one that it does not have."""
    main = _main(truth)
    numbers = [number for number, name in enumerate(truth.materials, 1) if base_name(name) == main]
    materials = (*truth.materials, _foreign(truth))
    return Blueprint(np.where(np.isin(truth.cells, numbers), len(materials), truth.cells), materials)


def hollowed(truth: Blueprint, dose: float, rng: np.random.Generator) -> Blueprint | None:
    """Remove blocks with blocks on all six sides."""
    padded = np.pad(truth.solid, 1)
    inner = truth.solid.copy()
    for axis in range(3):
        for step in (-1, 1):
            inner &= np.roll(padded, step, axis)[1:-1, 1:-1, 1:-1]
    return Blueprint(np.where(inner, AIR, truth.cells), truth.materials)


def boxed(truth: Blueprint, dose: float, rng: np.random.Generator) -> Blueprint | None:
    """Return a solid box of the true size, of the most frequent material."""
    return Blueprint(np.ones(truth.cells.shape, np.int32), (_main(truth),))


def rewritten(truth: Blueprint, dose: float, rng: np.random.Generator) -> Blueprint | None:
    """Return the same build with its materials in another order and with full names, and air around it."""
    count = len(truth.materials)
    cells = np.where(truth.cells == AIR, AIR, count + 1 - truth.cells)
    names = tuple(f"minecraft:{name}" for name in reversed(truth.materials))
    return Blueprint(np.pad(cells, (0, 2), constant_values=AIR), names)


def restated(truth: Blueprint, dose: float, rng: np.random.Generator) -> Blueprint | None:
    """Turn all blocks the other way round and upside down, as far as their states say how. None without states."""
    told = [states_of(text) for text in truth.materials]
    if not any(key in _OTHERWISE for _, states in told for key in states):
        return None
    return Blueprint(
        truth.cells,
        tuple(
            material(name, {key: _OTHERWISE.get(key, {}).get(value, value) for key, value in states.items()})
            for name, states in told
        ),
    )


TRUTH, EMPTY, ANOTHER = "truth", "empty", "another"
"""Not damage: the build itself, none, and the true one of another task."""
SHARES = (0.1, 0.25, 0.5, 0.75)
SHIFTED = Damage("shifted", shifted, (1, 2, 4), "blocks")
DAMAGES: tuple[Damage, ...] = (
    Damage("exchanged", exchanged, (*SHARES, 1.0), "of the blocks"),
    Damage("removed", removed, SHARES, "of the blocks"),
    Damage("added", added, (*SHARES, 1.0), "of the blocks"),
    Damage("truncated", truncated, SHARES[1:], "of the layers"),
    Damage("lifted", lifted, (1, 2, 4), "blocks"),
    SHIFTED,
    Damage("turned", turned),
    Damage("mirrored", mirrored),
    Damage("recoloured", recoloured),
    Damage("hollowed", hollowed),
    Damage("boxed", boxed),
)
SAME: tuple[Damage, ...] = (Damage("rewritten", rewritten), Damage("restated", restated))
"""What leaves the build as it is for matching, which knows no states."""


def _some(share: float, truth: Blueprint) -> int:
    """So many blocks; at least one."""
    return max(1, round(share * truth.blocks))


def _main(truth: Blueprint) -> str:
    """Its commonest material by base name, the first of equals."""
    counts = truth.names_only().counts()
    return max(counts, key=lambda name: counts[name])


def _foreign(truth: Blueprint) -> str:
    names = {base_name(name) for name in truth.materials}
    return next((name for name in _FOREIGN if name not in names), "worldgauge_other")
