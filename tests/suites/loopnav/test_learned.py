"""LPIPS and FVD of LoopNav: asked of a server here, as a user's own network is."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from support.places import TESTS
from support.task_context import QuietContext
from worldgauge.core.statistics import jackknife_interval
from worldgauge.engine.suite.contract import Score, Task
from worldgauge.metrics.learned import frechet_distance
from worldgauge.models import models
from worldgauge.suites.loopnav.scenes import SCENE_METRICS
from worldgauge.suites.loopnav.scoring import SET_LEVEL, fvd_cell
from worldgauge.suites.loopnav.suite import LoopNav

SERVER = TESTS / "support" / "perception_server.py"


def served(name: str) -> str:
    return f"cmd:{sys.executable} -m worldgauge_serve {SERVER}:{name}"


@pytest.fixture(scope="module")
def scores(tasks: list[Task], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Score]]:
    suite = LoopNav(lpips=served("Lpips"), fvd=served("Video"))
    found = {}
    for name in ("truth", "freeze"):
        task_context = QuietContext(tmp_path_factory.mktemp(name))
        record = suite.perform(tasks[0], models.get(name)(), task_context)
        found[name] = {score.metric: score for score in suite.score(record, task_context)}
    return found


def test_truth_is_at_no_distance_and_a_frozen_frame_is_not(scores: dict[str, dict[str, Score]]) -> None:
    for metric in ("lpips", "lpips_320x180", "fvd_pair"):
        assert scores["truth"][metric].value == 0
        assert scores["freeze"][metric].value > 0
        assert scores["freeze"][metric].facts["network"]["estimator"]
    # The stand-in's distance is the mean absolute difference of frames in [-1, 1]: at most 2.
    assert scores["freeze"]["lpips"].value < 1
    every = [index for index, _ in scores["freeze"]["psnr"].series]
    for metric in ("lpips", "lpips_320x180"):
        assert [index for index, _ in scores["freeze"][metric].series] == every


def test_fvd_of_one_video_is_not_a_score_but_of_several_a_cell(scores: dict[str, dict[str, Score]]) -> None:
    one = scores["freeze"]["fvd"]
    assert (one.value, one.reason) == (None, SET_LEVEL)
    features = one.facts["features"]
    pair = scores["freeze"]["fvd_pair"].value
    difference = np.subtract(features["rollout"], features["recording"])
    assert pair == pytest.approx(float(difference @ difference))
    assert fvd_cell([one]).mean is None
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(size=(6, 400)), rng.normal(1, 2, (6, 400))
    several = [
        Score(
            f"t{i}", "fvd", None, reason=SET_LEVEL, facts={"features": {"rollout": a.tolist(), "recording": b.tolist()}}
        )
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True))
    ]
    missing = Score("t9", "fvd", None, reason="too short")
    cell = fvd_cell([*several, missing])
    assert cell.method == "jackknife"
    assert cell.mean == pytest.approx(frechet_distance(ours, theirs))
    assert (cell.n, cell.expected) == (6, 7)
    interval = jackknife_interval(6, lambda kept: frechet_distance(ours[kept], theirs[kept]))
    assert interval is not None
    assert (cell.low, cell.high) == (max(0, interval.low), interval.high)
    assert fvd_cell(several[:2]).low is None


def test_the_table_has_fvd_over_videos_and_says_how_to_read_it(scores: dict[str, dict[str, Score]]) -> None:
    twice = {name: [*own.values(), *own.values()] for name, own in scores.items()}
    tables = {table.metric: table for table in LoopNav().summarize(twice, dict.fromkeys(twice, "subject"), {})}
    rows = {row.label: row.cells[-1] for row in tables["fvd"].rows}
    assert rows["truth"].mean == pytest.approx(0)
    assert rows["freeze"].mean > 0
    assert rows["freeze"].n == 2
    assert any("equal n" in note for note in tables["fvd"].notes)
    assert not any(SET_LEVEL in note for note in tables["fvd"].notes)


def test_a_segmenter_without_its_weights_leaves_the_others(
    tasks: list[Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path / "none"))
    suite = LoopNav(segmenter="sam3", fvd="i3d", lpips="lpips-alex")
    task_context = QuietContext(tmp_path)
    record = suite.perform(tasks[0], models.get("freeze")(), task_context)
    found = {score.metric: score for score in suite.score(record, task_context)}
    for metric in (*SCENE_METRICS, "lpips", "fvd", "fvd_pair"):
        assert found[metric].value is None
    assert "worldgauge weights pull sam3" in found["sgcs"].reason
    assert "worldgauge weights pull i3d" in found["fvd_pair"].reason
    assert "worldgauge weights pull lpips-alex" in found["lpips"].reason
    assert found["ssim_table"].value is not None


def test_weights_that_come_later_are_another_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path))
    assert LoopNav().settings["networks_digest"] is None
    absent = LoopNav(lpips="lpips-alex").settings["networks_digest"]
    assert absent is not None
    assert absent != LoopNav(fvd="i3d").settings["networks_digest"]
    assert LoopNav(segmenter="sam3").settings["networks_digest"] is not None
