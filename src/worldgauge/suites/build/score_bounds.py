"""The score of guessing, and the best possible score: printed next to every score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from worldgauge.engine.suite.contract import mean_of_known
from worldgauge.suites.build.agents.references import random_cells
from worldgauge.suites.build.critics import Critic, Submission
from worldgauge.suites.build.metrics.scores import Weighting, commonsense, evaluation, full_marks
from worldgauge.worlds.blocks.blueprint import Blueprint, base_name

RANDOM_SIZE = (8, 8, 8)
"""Of the matrix that the reference `random` answers with, in blocks."""
GUESSES = ("Yes, it is.", "No, it is not.")
_SEED = 20251202

Bounds = Mapping[str, float | None]
"""chance, ceiling: scores of guessing and of the right answer, in percent of full marks."""


def choice_bounds(count: int) -> Bounds:
    """Return the bounds of a question with so many choices."""
    return {"chance": 100.0 / count, "ceiling": 100.0}


def answer_bounds(critic: Critic, question: str, expected: str) -> Bounds:
    """Return the bounds of a question answered in words; guesses are yes and no.

    Args:
        critic: One that is free to ask.
        question: The question.
        expected: The right answer.
    """
    guessed = [full_marks(commonsense(critic.mark(question, expected, said, 0).mark)) for said in GUESSES]
    return {
        "chance": mean_of_known(guessed),
        "ceiling": full_marks(commonsense(critic.mark(question, expected, expected, 0).mark)),
    }


def build_bounds(critic: Critic, truth: Submission, materials: Sequence[str], weights: Weighting) -> Bounds:
    """Return the bounds of a build: of a draw of `random`, and of the truth.

    Args:
        critic: One that is free to ask.
        truth: The true build as a submission.
        materials: The given materials.
        weights: Of the dimensions.
    """
    rng = np.random.default_rng([_SEED, *truth.task.encode()])
    drawn = Blueprint(random_cells(len(materials), RANDOM_SIZE, rng), tuple(materials))
    guessed = Submission(
        truth.task, truth.kind, truth.instruction, drawn, truth.picture, truth.variant, truth.reference
    )
    marks = [
        full_marks(evaluation(truth.kind, True, critic.grade(submission, 0).grades, weights=weights))
        for submission in (guessed, truth)
    ]
    return {"chance": marks[0], "ceiling": marks[1]}


def random_matching(
    truth: Blueprint, materials: Sequence[str], size: tuple[int, int, int] = RANDOM_SIZE
) -> float | None:
    """Return the expected matching score, of 10, of a matrix drawn uniformly from air and materials.

    A block of the truth within the matrix is matched with the share of materials that have its base name.

    Args:
        truth: The true build.
        materials: The given materials.
        size: Height, depth and width of the matrix.

    Returns:
        The score; None for a truth without blocks.
    """
    if not truth.blocks:
        return None
    names = Counter(map(base_name, materials))
    height, depth, width = size
    within = Blueprint(truth.cells[:height, :depth, :width], truth.materials)
    met = sum(count * names[base_name(name)] for name, count in within.counts().items())
    return 10.0 * met / (len(materials) + 1) / truth.blocks
