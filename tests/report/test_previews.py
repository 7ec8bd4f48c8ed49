"""Which task a preview shows."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from worldgauge.core.video import Writer
from worldgauge.engine.suite.base import ActedSuite
from worldgauge.report import task_films as previews


@pytest.fixture
def three_walks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two models on three tasks: they end the second and the third differently."""
    values = {"one": {"a": 0.0, "b": 100.0, "c": 100.0}, "other": {"a": 0.0, "b": 0.0, "c": 0.0}}
    runs = []
    for place, (label, own) in enumerate(values.items()):
        films = {}
        for n, task in enumerate(own):
            films[task] = tmp_path / f"{label}-{task}.mp4"
            with Writer(films[task], fps=5.0, kind="viewable") as film:
                film.write(np.full((32, 48, 3), 60 * n + 20 * place, np.uint8))
        runs.append(SimpleNamespace(label=label, rollouts=films, values=lambda metric, own=own: own if metric else {}))
    suite = Mock(spec=ActedSuite)
    monkeypatch.setattr(previews, "load_evidence", lambda runs: (SimpleNamespace(runs=runs), suite))
    monkeypatch.setattr(previews, "read_tasks", lambda evidence: dict.fromkeys("abc"))
    monkeypatch.setattr(previews, "assign_styles", lambda evidence: {})
    monkeypatch.setattr(previews.Vocabulary, "of", lambda suite: None)
    return runs


def test_the_first_task_that_subjects_end_differently_is_previewed(three_walks: Any) -> None:
    told = previews.preview_task(three_walks, ["other", "one"], "success")
    assert [one.label for one in told] == ["other", "one"]
    for run in three_walks:
        del run.rollouts["a"], run.rollouts["c"]
    assert previews.preview_task(three_walks, ["other", "one"], "success") == told
    assert previews.preview_task(three_walks, ["other", "one"]) == told, "without values the first that can be shown"
    three_walks[0].rollouts.clear()
    assert previews.preview_task(three_walks, [], "success") == []
