"""Open headings: the vectors, a bearing worked out by hand, mirror images, and views that are not open."""

import math

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.suites.closedloop.questions.travel import open_heading

HEADINGS = [case for case in cases("wiw_loop", "cases") if case.values[0]["kind"] == "open_heading"]


@pytest.mark.parametrize("case", HEADINGS)
def test_vectors(case):
    depth = np.array(case["depth"], np.float32)
    limits = {"min_depth_m": case["min_depth_m"], "min_area_ratio": case["min_area_ratio"]}
    for rule in ("pinhole", "linear"):
        found = open_heading(depth, case["hfov_deg"], rule=rule, **limits)
        if case["expected"] is None:
            assert found is None
        else:
            assert found == pytest.approx(case["expected"][f"{rule}_rad"], abs=1e-6)


def test_last_column_of_a_right_angle_view_looks_almost_45_degrees_right():
    depth = np.ones((10, 100))
    depth[:, 99] = 9.0
    assert open_heading(depth, 90.0, min_area_ratio=0.01) == pytest.approx(math.atan(99 / 100), abs=1e-12)


def test_a_mirrored_view_has_the_opposite_heading():
    rng = np.random.default_rng(0)
    depth = np.where(rng.random((40, 60)) < 0.3, 5.0, 1.0)
    depth[10:30, 5:20] = 4.0
    right = open_heading(depth, 105.0)
    assert right is not None
    assert right < 0
    assert open_heading(depth[:, ::-1], 105.0) == pytest.approx(-right)


def test_corners_do_not_join_regions():
    depth = np.ones((20, 20))
    depth[0:10, 0:10] = 5.0
    depth[10:18, 10:18] = 5.0
    assert open_heading(depth, 90.0) == pytest.approx(math.atan((4.5 + 0.5 - 10) / 10))


def test_a_sky_is_open_and_what_was_not_measured_is_not():
    assert open_heading(np.full((8, 8), np.inf), 90.0) == pytest.approx(0.0)
    assert open_heading(np.full((8, 8), np.nan), 90.0) is None


def test_what_is_as_deep_as_the_limit_is_not_open_and_a_share_as_large_as_the_limit_is_enough():
    assert open_heading(np.full((8, 8), 2.4), 90.0) is None
    depth = np.ones((10, 10))
    depth[0, 0:2] = 3.0
    assert open_heading(depth, 90.0) is not None
    depth[0, 1] = 1.0
    assert open_heading(depth, 90.0) is None


@pytest.mark.parametrize(
    ("depth", "hfov", "rule", "error"),
    [
        (np.ones((0, 4)), 90.0, "pinhole", ShapeError),
        (np.ones((2, 2, 1)), 90.0, "pinhole", ShapeError),
        (np.ones((2, 2)), 180.0, "pinhole", UsageError),
        (np.ones((2, 2)), 90.0, "fisheye", UsageError),
    ],
)
def test_what_cannot_be_meant(depth, hfov, rule, error):
    with pytest.raises(error):
        open_heading(depth, hfov, rule=rule)
