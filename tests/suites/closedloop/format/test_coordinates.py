"""The simulator's frame and ours, held against vectors, an independent rotation library, and each other."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from suites.closedloop.training_data.released_layout import our_camera
from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.suites.closedloop.format.rows import (
    as_stored,
    habitat_camera,
    habitat_point,
    habitat_rotation,
    habitat_stance,
    our_point,
    our_stance,
    our_yaw,
)
from worldgauge.worlds.walking.primitives import Primitive, Stance, world_trajectory

HABITAT = [case for case in cases("wiw_camera", "cases") if case.values[0]["kind"] == "habitat_pose"]


@pytest.mark.parametrize("case", HABITAT)
def test_walks_are_those_of_the_simulator(case: dict[str, Any]) -> None:
    start = our_stance(case["start_position"], case["start_rotation_wxyz"])
    steps = [Primitive[name.upper()] for name in case["actions"]]
    path = world_trajectory(
        steps,
        (start.x, start.y, math.degrees(start.yaw)),
        step_m=case["step_m"],
        turn_deg=case["turn_deg"],
    )[1:]
    assert len(path) == len(case["expected"])
    for (x, y, phi), expected in zip(path, case["expected"], strict=True):
        position, rotation = habitat_stance(Stance(x, y, math.radians(phi), start.z))
        np.testing.assert_allclose(position, expected["position"], atol=1e-5)
        np.testing.assert_allclose(rotation, expected["rotation_wxyz"], atol=1e-5)


def test_by_hand() -> None:
    assert our_stance([0.0, 0.5, -2.0], [1.0, 0.0, 0.0, 0.0]) == Stance(2.0, 0.0, 0.0, 0.5), "-z is ahead"
    half = math.sqrt(0.5)
    stance = our_stance([-1.0, 0.0, 0.0], [half, 0.0, half, 0.0])
    assert stance.y == 1.0, "-x is left"
    assert stance.yaw == pytest.approx(math.pi / 2), "turns to the left are positive"
    assert our_yaw([-half, 0.0, -half, 0.0]) == pytest.approx(math.pi / 2), "both signs are one rotation"
    assert our_yaw([2.0, 0.0, 0.0, 0.0]) == 0.0, "of any length"


def test_there_and_back() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        stance = Stance(*rng.uniform(-5, 5, 2).tolist(), float(rng.uniform(-math.pi, math.pi)), 1.25)
        again = our_stance(*habitat_stance(stance))
        np.testing.assert_allclose(again, stance, atol=1e-12)
    points = rng.normal(size=(7, 3))
    np.testing.assert_array_equal(habitat_point(our_point(points)), points)


def test_what_is_stored_comes_back_to_the_bit() -> None:
    rng = np.random.default_rng(2)
    yaws = [*rng.uniform(-10, 10, 500), math.pi, -math.pi, math.nextafter(-math.pi, 0), 0.0, -1e-12, 3.1415926536]
    for yaw in yaws:
        stance = as_stored(Stance(*rng.normal(size=2).tolist(), float(yaw)))
        assert as_stored(stance) == stance
        assert as_stored(our_stance(*habitat_stance(stance))) == stance
        assert -math.pi <= stance.yaw < math.pi
        assert abs(math.remainder(stance.yaw - yaw, math.tau)) < 1e-9


def test_cameras_against_another_library() -> None:
    rng = np.random.default_rng(3)
    axes = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # of the simulator, in ours
    for _ in range(20):
        pose = pose_from_yaw_pitch(rng.normal(size=3), rng.uniform(-4, 4), rng.uniform(-1.5, 1.5))
        position, (w, x, y, z) = habitat_camera(pose)
        # The simulator's camera has y up and looks along -z.
        theirs = axes.T @ pose[:3, :3] @ np.diag([1.0, -1.0, -1.0])
        np.testing.assert_allclose(Rotation.from_quat([x, y, z, w]).as_matrix(), theirs, atol=1e-12)
        np.testing.assert_allclose(our_camera(position, [w, x, y, z]), pose, atol=1e-12)
        np.testing.assert_allclose(our_camera(position, [-w, -x, -y, -z]), pose, atol=1e-12)
    level = Stance(1.0, 2.0, 0.7).eye()
    np.testing.assert_allclose(habitat_camera(level)[1], habitat_rotation(0.7), atol=1e-12)


@pytest.mark.parametrize("rotation", [[0.0] * 4, [0.7, 0.7, 0.0, 0.0], [math.nan, 0, 0, 0], [0.0, 0.0, 0.0, 1.0]])
def test_tilted_and_empty_rotations(rotation: list[float]) -> None:
    with pytest.raises(ShapeError, match="no turn about the vertical"):
        our_yaw(rotation)
    with pytest.raises(ShapeError, match="shape"):
        our_yaw([1.0, 0.0])
    with pytest.raises(ShapeError, match="length"):
        our_camera([0, 0, 0], [0.0] * 4)
