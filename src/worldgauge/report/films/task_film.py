"""One task of some runs as a film of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.report.films.film import Film
from worldgauge.report.films.task_cards import ONE_FILM_BYTES, film_of, gather_footage
from worldgauge.report.loading import load_evidence, read_tasks
from worldgauge.report.page import assign_styles
from worldgauge.report.wording import Vocabulary


def film_task(runs: Sequence[Path], task: str) -> Film:
    """Make the film that a report shows of a task.

    Args:
        runs: Run folders, or folders of run folders, all of one suite.
        task: Id of the task.

    Returns:
        The film.

    Raises:
        UnknownNameError: No subject has scores of this task.
        UsageError: For a suite whose tasks are answered in words, or where no record can be shown.
        RunError: When a run cannot be read.
    """
    evidence, suite = load_evidence(runs)
    if suite.shows_answers:
        raise UsageError(f"suite '{suite.name}' has no films: its tasks are answered; the report shows the answers")
    if task not in evidence.groups:
        raise UnknownNameError("scored task", task, evidence.groups)
    asked = read_tasks(evidence, [task]).get(task)
    found = gather_footage("film", task, evidence, suite, asked, assign_styles(evidence), Vocabulary.of(suite))
    film = film_of(found, ONE_FILM_BYTES)
    if film is None:
        raise UsageError(f"nothing to show of task '{task}': {' '.join(found.notes) or 'no record holds a film'}")
    return film
