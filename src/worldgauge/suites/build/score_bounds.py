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
"""chance, ceiling: what guessing comes to and what the right answer gets, in percent of full marks."""


def choice_bounds(count: int) -> Bounds:
    """Of a question with so many choices."""
    return {"chance": 100.0 / count, "ceiling": 100.0}


def answer_bounds(critic: Critic, question: str, expected: str) -> Bounds:
    """Of a question that is answered in words, by a critic that is free to ask: yes and no, each as likely."""
    guessed = [full_marks(commonsense(critic.mark(question, expected, said, 0).mark)) for said in GUESSES]
    return {
        "chance": mean_of_known(guessed),
        "ceiling": full_marks(commonsense(critic.mark(question, expected, expected, 0).mark)),
    }


def build_bounds(critic: Critic, truth: Submission, materials: Sequence[str], weights: Weighting) -> Bounds:
    """Of a build, by a critic that is free to ask: a draw of `random`, and `truth`, as work to be graded."""
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
    """Expected matching score, of 10, of a matrix drawn evenly from air and `materials`.

    size: its height, depth and width. A block of the truth within the matrix is met with the share of materials that
    have its base name. None for a truth without blocks.
    """
    if not truth.blocks:
        return None
    names = Counter(map(base_name, materials))
    height, depth, width = size
    within = Blueprint(truth.cells[:height, :depth, :width], truth.materials)
    met = sum(count * names[base_name(name)] for name, count in within.counts().items())
    return 10.0 * met / (len(materials) + 1) / truth.blocks
