"""Filters for structures, with a named reason each, and duplicates.

The filters of the published data are not known; these are ours (specification: mineanybuild, 8).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from worldgauge.core.errors import UsageError
from worldgauge.suites.build.kinds import LIMITS
from worldgauge.worlds.blocks.blueprint import Blueprint, base_name
from worldgauge.worlds.blocks.table import known

Reason = Literal[
    "few_blocks",
    "few_materials",
    "loose_box",
    "above_ground",
    "scattered",
    "unknown_names",
    "too_large",
    "machine_blocks",
]
REASONS: tuple[Reason, ...] = get_args(Reason)
LEAST_BLOCKS, LEAST_MATERIALS, LEAST_TOGETHER = 8, 2, 0.95
MACHINE_BLOCKS = frozenset(
    {
        *("command_block", "chain_command_block", "repeating_command_block"),
        *("structure_block", "jigsaw", "barrier", "light"),
    }
)
"""What maps and editors use and a player cannot place."""


@dataclass(frozen=True)
class Rejection:
    """Why a structure is rejected.

    Attributes:
        reason: One of `REASONS`.
        text: The reason in words, with its numbers.
    """

    reason: Reason
    text: str


@dataclass(frozen=True)
class Selection:
    """Names of structures.

    Attributes:
        accepted: Those that pass.
        rejected: Problems by name.
        duplicates: Accepted structure that each is a copy of.
    """

    accepted: tuple[str, ...]
    rejected: Mapping[str, tuple[Rejection, ...]]
    duplicates: Mapping[str, str]


def select_structures(structures: Iterable[tuple[str, Blueprint]], *, waive: Collection[Reason] = ()) -> Selection:
    """Filter structures, in the order they come; of duplicates the first that passes stays.

    Args:
        structures: Name and blueprint.
        waive: Reasons that are ignored.

    Raises:
        UsageError: For reasons that do not exist.
    """
    if unknown := set(waive) - set(REASONS):
        raise UsageError(f"no reason {sorted(unknown)} to waive; known: {', '.join(REASONS)}")
    accepted: list[str] = []
    rejected: dict[str, tuple[Rejection, ...]] = {}
    duplicates: dict[str, str] = {}
    first: dict[bytes, str] = {}
    for name, blueprint in structures:
        problems = tuple(one for one in rejections_of(blueprint) if one.reason not in waive)
        if problems:
            rejected[name] = problems
        elif (form := canonical(blueprint)) in first:
            duplicates[name] = first[form]
        else:
            first[form] = name
            accepted.append(name)
    return Selection(tuple(accepted), rejected, duplicates)


def rejections_of(blueprint: Blueprint) -> Iterator[Rejection]:
    """Return all reasons against a structure, in the order of `REASONS`."""
    counts, size = blueprint.counts(), blueprint.size
    names = {base_name(name) for name in counts}
    blocks = blueprint.blocks
    if blocks < LEAST_BLOCKS:
        yield Rejection("few_blocks", f"has {blocks} blocks; {LEAST_BLOCKS} is the least")
    if len(names) < LEAST_MATERIALS:
        yield Rejection("few_materials", f"has {len(names)} different blocks; {LEAST_MATERIALS} is the least")
    if not blocks:
        return
    tight = blueprint.trimmed().size
    if tight != size:
        yield Rejection("loose_box", f"fills {_by(tight)} of a box of {_by(size)} (width, height, depth)")
    if not blueprint.solid[0].any():
        yield Rejection("above_ground", "has no block in its lowest layer")
    share = connected_share(blueprint.solid)
    if share < LEAST_TOGETHER:
        yield Rejection(
            "scattered", f"its largest part holds {share:.1%} of the blocks; {LEAST_TOGETHER:.0%} is the least"
        )
    if strange := sorted({name.partition("[")[0] for name in counts if not known(name)}):
        yield Rejection("unknown_names", f"has names that the game (1.20.4) does not know: {', '.join(strange[:5])}")
    if any(side > most for side, most in zip(blueprint.cells.shape, LIMITS, strict=True)):
        most = LIMITS[2], LIMITS[0], LIMITS[1]
        yield Rejection("too_large", f"is {_by(size)} (width, height, depth); {_by(most)} is the most")
    if machines := sorted(names & MACHINE_BLOCKS):
        yield Rejection("machine_blocks", f"has blocks that players cannot place: {', '.join(machines)}")


def connected_share(solid: NDArray[np.bool_]) -> float:
    """Return the share of blocks in the largest part connected by faces, edges or corners; 0 without a block."""
    count = int(solid.sum())
    if not count:
        return 0.0
    parts, _ = ndimage.label(solid, np.ones((3, 3, 3)))
    return float(np.bincount(parts[solid]).max() / count)


def canonical(blueprint: Blueprint) -> bytes:
    """Return a key that is equal for a structure, its four turns about the vertical, and their mirror images.

    Base names without states are compared, as states turn with the build; surrounding air does not count. So two builds
    that differ in states alone are equal.
    """
    plain = blueprint.trimmed().names_only()
    used = sorted(plain.counts())
    rank = np.array([0, *(used.index(name) + 1 if name in used else 0 for name in plain.materials)], "<i4")
    cells = rank[np.maximum(plain.cells, 0)]
    forms = [np.rot90(side, turn, (1, 2)) for side in (cells, cells[:, :, ::-1]) for turn in range(4)]
    head = "\n".join(used).encode()
    return head + min(repr(form.shape).encode() + b"\n" + form.tobytes() for form in forms)


def _by(size: tuple[int, int, int]) -> str:
    return " x ".join(map(str, size))
