"""Ground truth and a model that remembers gain nothing from fewer pixels. A wrong model can: see the README."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.places import TESTS
from support.task_context import QuietContext
from worldgauge.core.image import Frames
from worldgauge.core.model import RolloutRequest
from worldgauge.engine.suite.contract import Task
from worldgauge.metrics import metrics
from worldgauge.models import models
from worldgauge.suites.loopnav.suite import LoopNav

LPIPS = f"cmd:{sys.executable} -m worldgauge_serve {TESTS / 'support' / 'perception_server.py'}:Lpips"
COMPARABLE = ("sgcs", "sgcs_chance_corrected", "ssim_320x180", "lpips_320x180")
"""Metrics that models of different frame sizes can be compared by."""


class Sized:
    """A model of another frame size."""

    def __init__(self, name: str, size: tuple[int, int]) -> None:
        self._model = models.get(name)()
        self.spec = replace(self._model.spec, frame_size=size)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        return iter(self._model.rollout(request))


@pytest.mark.parametrize("name", ["truth", "memory"])
def test_fewer_pixels_win_nothing(name: str, tasks: list[Task], tmp_path: Path) -> None:
    suite, found = LoopNav(lpips=LPIPS), []
    for width in (160, 64):
        context = QuietContext(tmp_path / str(width))
        context.directory.mkdir()
        record = suite.perform(tasks[0], Sized(name, (width, width * 9 // 16)), context)
        found.append({score.metric: score.value for score in suite.score(record, context)})
    full, small = found
    for metric in COMPARABLE:
        sign = 1 if metrics.entry(metric).facts["better"] == "higher" else -1
        assert sign * full[metric] >= sign * small[metric], (metric, full[metric], small[metric])
    if name == "truth":
        assert small["ssim_320x180"] < 0.9
        assert small["lpips_320x180"] > 0
        assert small["ssim_table"] == 1
