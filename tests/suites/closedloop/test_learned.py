"""What networks say of imagined frames: asked of servers here, as a user's own are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.places import TESTS
from support.task_context import QuietContext
from worldgauge.core.video import Clip, resize
from worldgauge.engine.suite.contract import Score
from worldgauge.models import models
from worldgauge.suites.closedloop.suite import ClosedLoop
from worldgauge.suites.closedloop.task import Settings
from worldgauge.suites.closedloop.trace import COMPARED

SERVER = TESTS / "support" / "perception_server.py"
SMALL = {"view_px": 48, "panorama_px": 128, "decisions": 2, "task": "navigation"}


def served(name: str) -> str:
    return f"cmd:{sys.executable} -m worldgauge_serve {SERVER}:{name}"


def acted(episodes: Path, folder: Path, model: str, **settings: Any) -> dict[str, Score]:
    suite = ClosedLoop(**SMALL, **settings)
    task = next(iter(suite.tasks(episodes)))
    folder.mkdir(parents=True)
    task_context = QuietContext(folder)
    record = suite.perform(task, models.get(model)(), task_context)
    return {score.metric: score for score in suite.score(record, task_context)}


def test_networks_look_at_the_frames_that_were_compared(episodes: Path, tmp_path: Path) -> None:
    asked = {"lpips": served("Lpips"), "imaging": served("Imaging"), "aesthetic": served("Aesthetic?layout=scores")}
    true = acted(episodes, tmp_path / "a", "oracle", **asked)
    assert true["controllability_lpips"].value == 1
    frozen = acted(episodes, tmp_path / "b", "freeze", **asked)
    assert frozen["controllability_lpips"].value is not None
    assert frozen["controllability_lpips"].value < 1
    film = Clip.open(tmp_path / "b" / COMPARED).to_array()
    level = np.stack([resize(frame, 384, 384) for frame in film]).mean() / 127.5 - 1
    assert frozen["imaging"].value == pytest.approx((50 + 50 * level) / 100, abs=1e-4)
    assert frozen["imaging"].n == frozen["aesthetic"].n == len(film)
    assert frozen["imaging"].facts["network"]["estimator"] == "mean-level"


def test_without_them_they_are_missing_and_the_table_says_so(episodes: Path, tmp_path: Path) -> None:
    found = acted(episodes, tmp_path / "a", "freeze")
    for metric in ("controllability_lpips", "imaging", "aesthetic"):
        assert found[metric].value is None
    scores = {"freeze": list(found.values())}
    tables = {table.metric: table for table in ClosedLoop().summarize(scores, {"freeze": "subject"}, {})}
    notes = " ".join(tables["imagination"].notes)
    assert "No 1 - LPIPS: its weights were not given: worldgauge weights pull lpips-alex" in notes
    assert "1 - LPIPS" not in tables["imagination"].columns


def test_who_looks_to_decide_is_not_a_setting_of_scoring_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path))
    assert {"lpips", "networks_digest"} <= ClosedLoop().scoring_settings
    looking = ClosedLoop(task="navigation", reviser="lpips")
    assert not {"lpips", "networks_digest"} & looking.scoring_settings
    assert looking.settings["networks_digest"] is not None
    assert Settings.of({}).networks_digest is None
