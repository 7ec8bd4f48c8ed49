"""What the critic `rules` gives builds that people made: `python -m benchmarks.people FOLDER ...`, a table a folder.

Structure files in each folder and below. `--fit` prints the grid from which ORDER_EASE and AGREEMENT_EASE were chosen.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from worldgauge.suites.mineanybuild.critics import Submission, rules
from worldgauge.suites.mineanybuild.metrics.scores import evaluation, full_marks
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.structure_files import SUFFIXES, read_structure
from worldgauge_lab.critic_damage import DAMAGES, boxed

LEAST_BLOCKS = 100
DAMAGED = ("exchanged", "removed", "added")
SHARES = (0.25, 0.5)


def builds(folder: Path) -> Iterator[Blueprint]:
    for path in sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES):
        built = read_structure(path).blueprint.trimmed()
        if built.blocks >= LEAST_BLOCKS and len(built.names_only().counts()) > 1:
            yield built


def variants(built: Blueprint) -> dict[str, Blueprint]:
    made = {"as built": built}
    for damage, share in itertools.product(DAMAGES, SHARES):
        if damage.name in DAMAGED:
            made[f"{damage.name} {share:.0%}"] = damage.made(built, share, np.random.default_rng(0)) or built
    return made | {"solid box": boxed(built, 1, np.random.default_rng(0)) or built}


def marks(built: Blueprint) -> float:
    work = Submission("", "creativity", "Build a thing.", built, lambda: np.zeros((1, 1, 3), np.uint8))
    return full_marks(evaluation("creativity", True, rules.RulesCritic().grade(work, 0).grades) or 0.0)


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("folders", type=Path, nargs="+")
    reader.add_argument("--fit", action="store_true")
    given = reader.parse_args()
    made = {folder: [variants(built) for built in builds(folder)] for folder in given.folders}
    grid = [(0.12, 0.15, 0.18, 0.2, 0.22, 0.25), (0.06, 0.08, 0.1, 0.12, 0.15)]
    for eases in itertools.product(*grid) if given.fit else [(rules.ORDER_EASE, rules.AGREEMENT_EASE)]:
        rules.ORDER_EASE, rules.AGREEMENT_EASE = eases
        for folder, own in made.items():
            found = np.array([[marks(built) for built in one.values()] for one in own])
            low, median, high = np.quantile(found[:, 0], (0.1, 0.5, 0.9))
            print(f"{folder.name} {eases}: n = {len(own)}, {median:.1f} [10 to 90 %: {low:.1f} to {high:.1f}]")
            for name, column in list(zip(own[0], found.T, strict=True))[1:]:
                print(f"  {name}: {np.median(column):.1f}, below as built in {np.mean(column < found[:, 0]):.0%}")


if __name__ == "__main__":
    main()
