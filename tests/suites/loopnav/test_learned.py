"""LPIPS and FVD of LoopNav: asked of a server here, as a user's own network is."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from support.places import TESTS
from support.task_context import QuietContext
from worldgauge.core.intervals import jackknife_interval
from worldgauge.engine.suite.contract import Score
from worldgauge.metrics import metrics
from worldgauge.metrics.lpips_fvd import frechet_distance
from worldgauge.models import models
from worldgauge.suites.loopnav.scenes import SCENE_METRICS
from worldgauge.suites.loopnav.scoring import SET_LEVEL, fvd_cell
from worldgauge.suites.loopnav.suite import LoopNav

SERVER = TESTS / "support" / "perception_server.py"


def served(name):
    return f"cmd:{sys.executable} -m worldgauge_serve {SERVER}:{name}"


@pytest.fixture(scope="module")
def learned(tasks, tmp_path_factory):
    suite = LoopNav(lpips=served("Lpips"), fvd=served("Video"))
    found = {}
    for name in ("truth", "freeze"):
        task_context = QuietContext(tmp_path_factory.mktemp(name))
        record = suite.perform(tasks[0], models.get(name)(), task_context)
        found[name] = {score.metric: score for score in suite.score(record, task_context)}
    return found


def test_truth_is_at_no_distance_and_a_frozen_frame_is_not(learned):
    for metric in ("lpips", "lpips_320x180", "fvd_pair"):
        assert learned["truth"][metric].value == 0
        assert learned["freeze"][metric].value > 0
        assert learned["freeze"][metric].facts["network"]["estimator"]
    # The stand-in's distance is the mean absolute difference of frames in [-1, 1]: at most 2.
    assert learned["freeze"]["lpips"].value < 1
    every = [index for index, _ in learned["freeze"]["psnr"].series]
    for metric in ("lpips", "lpips_320x180"):
        assert [index for index, _ in learned["freeze"][metric].series] == every


def test_fvd_of_one_video_is_not_a_score_but_of_several_a_cell(learned):
    one = learned["freeze"]["fvd"]
    assert (one.value, one.reason) == (None, SET_LEVEL)
    features = one.facts["features"]
    pair = learned["freeze"]["fvd_pair"].value
    difference = np.subtract(features["rollout"], features["recording"])
    assert (pair, fvd_cell([one]).mean) == (pytest.approx(float(difference @ difference)), None)
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
    assert (cell.method, cell.mean) == ("jackknife", pytest.approx(frechet_distance(ours, theirs)))
    assert (cell.n, cell.expected) == (6, 7)
    interval = jackknife_interval(6, lambda kept: frechet_distance(ours[kept], theirs[kept]))
    assert ((cell.low, cell.high), fvd_cell(several[:2]).low) == ((max(0, interval.low), interval.high), None)


def test_the_table_has_fvd_over_videos_and_says_how_to_read_it(learned):
    twice = {name: [*own.values(), *own.values()] for name, own in learned.items()}
    tables = {table.metric: table for table in LoopNav().summarize(twice, dict.fromkeys(twice, "model"), {})}
    rows = {row.label: row.cells[-1] for row in tables["fvd"].rows}
    assert rows["truth"].mean == pytest.approx(0)
    assert rows["freeze"].mean > 0
    assert rows["freeze"].n == 2
    assert any("equal n" in note for note in tables["fvd"].notes)
    assert not any(SET_LEVEL in note for note in tables["fvd"].notes)


def test_a_segmenter_without_its_weights_leaves_the_others(tasks, tmp_path, monkeypatch):
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


def test_weights_that_come_later_are_another_setting(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path))
    assert LoopNav().settings["networks_digest"] is None
    absent = LoopNav(lpips="lpips-alex").settings["networks_digest"]
    assert absent is not None
    assert absent != LoopNav(fvd="i3d").settings["networks_digest"]
    assert LoopNav(segmenter="sam3").settings["networks_digest"] is not None


LPIPS = f"cmd:{sys.executable} -m worldgauge_serve {TESTS / 'support' / 'perception_server.py'}:Lpips"
COMPARABLE = ("sgcs", "sgcs_chance_corrected", "ssim_320x180", "lpips_320x180")
"""Metrics that models of different frame sizes can be compared by."""


class Sized:
    """A model of another frame size."""

    def __init__(self, name, size):
        self._model = models.get(name)()
        self.spec = replace(self._model.spec, frame_size=size)

    def rollout(self, request):
        return iter(self._model.rollout(request))


@pytest.mark.parametrize("name", ["truth", "memory"])
def test_fewer_pixels_win_nothing(name, tasks, tmp_path):
    suite, found = LoopNav(lpips=LPIPS), []
    for width in (160, 64):
        context = QuietContext(tmp_path / str(width))
        context.directory.mkdir()
        record = suite.perform(tasks[0], Sized(name, (width, width * 9 // 16)), context)
        found.append({score.metric: score.value for score in suite.score(record, context)})
    full, small = found
    chance = 0.01 if name == "memory" else 0.0  # its points fall on other pixels
    for metric in COMPARABLE:
        sign = 1 if metrics.entry(metric).facts["better"] == "higher" else -1
        assert sign * full[metric] >= sign * small[metric] - chance, (metric, full[metric], small[metric])
    if name == "truth":
        assert small["ssim_320x180"] < 0.9
        assert small["lpips_320x180"] > 0
        assert small["ssim_table"] == 1
