"""What a suite is made of: tasks, settings, scores, tables.

    from worldgauge.suite import Suite, Task, make_score, option, suites

`docs/tutorials/build_a_suite.md` builds a suite step by step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldgauge.core.lazy import lazy

if TYPE_CHECKING:
    from worldgauge.engine.options import option
    from worldgauge.engine.suite.base import ActedSuite, AnsweredSuite, SubmittedSuite, Suite, suites
    from worldgauge.engine.suite.contract import (
        AnswerCard,
        AnswerView,
        Cell,
        DemoSet,
        EpisodeFilms,
        Record,
        Score,
        Table,
        TableRow,
        Task,
        TaskContext,
        TaskData,
        TaskDetails,
        TaskView,
        cached_by_task,
        mean_of_known,
    )
    from worldgauge.engine.suite.scores import make_mean_score, make_score

__all__ = [
    "ActedSuite",
    "AnswerCard",
    "AnswerView",
    "AnsweredSuite",
    "Cell",
    "DemoSet",
    "EpisodeFilms",
    "Record",
    "Score",
    "SubmittedSuite",
    "Suite",
    "Table",
    "TableRow",
    "Task",
    "TaskContext",
    "TaskData",
    "TaskDetails",
    "TaskView",
    "cached_by_task",
    "make_mean_score",
    "make_score",
    "mean_of_known",
    "option",
    "suites",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "engine.options": "option",
        "engine.suite.base": "ActedSuite AnsweredSuite SubmittedSuite Suite suites",
        "engine.suite.contract": (
            "AnswerCard AnswerView Cell DemoSet EpisodeFilms Record Score Table TableRow Task TaskContext TaskData "
            "TaskDetails TaskView cached_by_task mean_of_known"
        ),
        "engine.suite.scores": "make_mean_score make_score",
    },
)
