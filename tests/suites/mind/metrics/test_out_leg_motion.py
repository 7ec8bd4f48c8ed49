import math

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.metrics.frame_pairs import mse_720p
from worldgauge.suites.mind.metrics.scene_consistency import MOTION_SHARE, moves, out_leg_motion


def test_by_hand():
    start, turn = np.full((9, 16, 3), 51, np.uint8), np.full((18, 32, 3), 153, np.uint8)
    assert out_leg_motion(start, turn) == pytest.approx(0.16)
    assert moves(0.0201, real_median=0.2)
    assert not moves(0.0199, real_median=0.2)


def test_equals_the_error_of_the_pair():
    start, turn = np.random.default_rng(0).integers(0, 256, (2, 45, 80, 3), dtype=np.uint8)
    assert out_leg_motion(start, turn) == pytest.approx(mse_720p(start, turn), rel=1e-6)


def test_direction_and_place_do_not_matter():
    start, turn = np.random.default_rng(1).integers(0, 256, (2, 18, 32, 3), dtype=np.uint8)
    motion = out_leg_motion(start, turn)
    assert out_leg_motion(turn, start) == motion
    assert out_leg_motion(start[:, ::-1], turn[:, ::-1]) == pytest.approx(motion)
    assert moves(motion, 1.0) == moves(motion / 4, 0.25), "only the ratio counts"


def test_degenerate():
    still = np.random.default_rng(2).integers(0, 256, (9, 16, 3), dtype=np.uint8)
    assert out_leg_motion(still, still) == 0
    assert not moves(0.0, real_median=0.01)
    assert moves(MOTION_SHARE, real_median=1.0), "the bound itself moves"
    for motion, median in ((-1.0, 1.0), (math.nan, 1.0), (math.inf, 1.0), (0.1, 0.0), (0.1, math.nan)):
        with pytest.raises(ShapeError, match="median"):
            moves(motion, median)
    with pytest.raises(ShapeError):
        out_leg_motion(still, still[..., 0])
