"""Seeds of tables by split: a table of one split is in no other, so that nothing is tested on what was learned."""

from __future__ import annotations

from collections.abc import Mapping

SEEDS: Mapping[str, range] = {
    "test": range(0, 1_000_000),
    "train": range(1_000_000, 2_000_000),
    "val": range(2_000_000, 3_000_000),
}
"""Evaluation is of "test"; demonstrations are of "train"."""


def table_name(task: str, variation: int, seed: int) -> str:
    """Name a table as a scene.

    Args:
        task: Name of the task.
        variation: Its variation.
        seed: Seed of the table.
    """
    return f"{task}-{variation}-{seed}"
