"""What a report shows of an episode: the home or table, the shortest way, and where each subject's agent went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.engine.suite.contract import Score, Task, TaskDetails, TaskView
from worldgauge.suites.closedloop.scoring import HEADLINE
from worldgauge.suites.closedloop.task import Settings
from worldgauge.suites.closedloop.task_index import open_task


def task_view(task: Task, settings: Settings) -> TaskView:
    """How the episode would be solved, as the agent would see it.

    Raises:
        DataError: When the data are gone.
    """
    return open_task(task, settings).view()


def task_details(task: Task, scores: Mapping[str, Sequence[Score]], settings: Settings) -> TaskDetails:
    """Where each agent went, and how its episode ended."""
    paths: dict[str, FloatArray] = {}
    diagnostics = {}
    for label, own in scores.items():
        head = next((score for score in own if score.metric == HEADLINE), None)
        if head is None:
            continue
        paths[label] = np.array(head.facts["xy"], np.float64)
        told = {"ended": head.facts["end"], "success_pct": head.value}
        told |= {
            key: head.facts[key]
            for key in ("label", "confidence", "answer", "mark", "blind_answer", "blind_mark", "distance_m", "progress")
            if key in head.facts
        }
        diagnostics[label] = told
    return TaskDetails(paths=paths, diagnostics=diagnostics, caption=open_task(task, settings).caption)
