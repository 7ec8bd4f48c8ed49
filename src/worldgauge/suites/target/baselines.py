"""Paths that need no video and always stand beside the models: the truth itself, doing nothing, going straight on."""

from __future__ import annotations

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.perception.decoders import N_POINTS
from worldgauge.suites.target.format.scenario import Scenario
from worldgauge.suites.target.metrics.waypoints import resample
from worldgauge.suites.target.replan.planners import speed_of

TRUTH_PATH, DO_NOTHING, STRAIGHT_LINE = NAMES = ("truth path", "do nothing", "straight line")


def baselines(scenario: Scenario) -> dict[str, FloatArray]:
    """Name -> (9, 2) metres seen from the current pose, as a decoder would give them."""
    future = scenario.future_xy
    seconds = (len(future) - 1) * scenario.dt
    ahead = np.linspace(0, speed_of(scenario) * seconds, N_POINTS)
    return {
        TRUTH_PATH: resample(future, N_POINTS),
        DO_NOTHING: np.zeros((N_POINTS, 2)),
        STRAIGHT_LINE: np.column_stack([np.zeros(N_POINTS), ahead]),
    }
