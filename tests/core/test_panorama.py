"""Views of panoramas against the vectors and against the exact picture, turns, round trips, the degenerate."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates

from support.vectors import cases
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.core.panorama import SIDES, YAW_RIGHT_DEG, lon_lat, painted, perspective, rolled, views

YAW = st.floats(-720, 720)
PITCH = st.floats(-89, 89)
SQUARE = Camera.from_horizontal_fov(40, 30, 90)


def axis_depth(ranges, camera, *, yaw_right_deg=0.0):
    """(h, w) metres along the axis of a view, from the (H, W) metres along the rays of a panorama; single pixels."""
    seen = perspective(ranges, camera, yaw_right_deg=yaw_right_deg, nearest=True)
    return (seen / np.linalg.norm(camera.rays(), axis=-1)).astype(np.float32)


def of_case(case: dict[str, Any]) -> np.ndarray:
    facts = case["panorama"]
    height, width = facts["H"], facts["W"]
    if facts["kind"] == "uniform":
        return np.moveaxis(np.random.default_rng(facts["seed"]).random((3, height, width)), 0, -1)
    x, y, z = np.moveaxis(Panorama(width, height).rays(), -1, 0)
    return np.stack([0.5 + 0.5 * x, 0.5 + 0.5 * z, 0.5 - 0.5 * y], -1)


def smooth(width: int, height: int) -> np.ndarray:
    x, y, z = np.moveaxis(Panorama(width, height).rays(), -1, 0)
    return np.rint(127 + 100 * np.stack([x, y * z, z], -1)).astype(np.uint8)


def exact(camera: Camera, yaw_right_deg: float, pitch_up_deg: float) -> np.ndarray:
    """What `smooth` is in the directions of a view, by the poses of the package."""
    level = pose_from_yaw_pitch((0, 0, 0), 0.0)[:3, :3]
    turned = pose_from_yaw_pitch((0, 0, 0), -np.radians(yaw_right_deg), np.radians(pitch_up_deg))[:3, :3]
    rays = camera.rays() / np.linalg.norm(camera.rays(), axis=-1, keepdims=True)
    x, y, z = np.moveaxis(rays @ (level.T @ turned).T, -1, 0)
    return 127 + 100 * np.stack([x, y * z, z], -1)


@pytest.mark.parametrize("case", cases("wiw_pano", "cases"))
@pytest.mark.parametrize(("rule", "key", "tolerance"), [("clean", "expected", 2e-5), ("released", "released", 5e-4)])
def test_views_of_the_reference(case: dict[str, Any], rule: Any, key: str, tolerance: float) -> None:
    pano, camera = of_case(case), Camera.from_horizontal_fov(case["out_w"], case["out_h"], case["hfov_deg"])
    view = perspective(pano, camera, yaw_right_deg=case["yaw_right_deg"], rule=rule)
    np.testing.assert_allclose(np.moveaxis(view, -1, 0), case[key], atol=tolerance)
    np.testing.assert_array_equal(views(pano, camera, rule)[case["view"]], view)
    if rule == "clean" and "lon_lat_rad" in case:
        np.testing.assert_allclose(lon_lat(camera), case["lon_lat_rad"], atol=2e-6)


@settings(max_examples=15, deadline=None)
@given(YAW, PITCH)
def test_a_view_shows_what_lies_in_its_direction_and_is_painted_back(yaw: float, pitch: float) -> None:
    pano, camera = smooth(512, 256), Camera.from_vertical_fov(160, 120, 60)
    view = perspective(pano, camera, yaw_right_deg=yaw, pitch_up_deg=pitch)
    assert np.abs(view - exact(camera, yaw, pitch)).max() < 2
    back, covered = painted(view, camera, Panorama(512, 256), yaw_right_deg=yaw, pitch_up_deg=pitch)
    assert np.abs(back[covered].astype(int) - pano[covered]).max() <= 4
    assert (back[~covered] == 0).all()
    share = np.linalg.norm(Panorama(512, 256).rays()[..., ::2], axis=-1)  # rows near the poles cover less
    solid = (np.linalg.norm(camera.rays(), axis=-1) ** -3).sum() / (camera.fx * camera.fy)
    assert (covered * share).sum() / share.sum() == pytest.approx(solid / (4 * np.pi), rel=0.02)


def test_a_view_is_that_of_an_independent_interpolation() -> None:
    pano, camera = np.random.default_rng(1).random((40, 96)), Camera.from_horizontal_fov(31, 17, 70)
    lon, lat = lon_lat(camera)
    # Three copies side by side, as "wrap" of the reference repeats from the last pixel's centre, not its edge.
    places = [(0.5 - lat / np.pi) * 40 - 0.5, (lon / (2 * np.pi) + 0.5) * 96 - 0.5 + 96]
    reference = map_coordinates(np.tile(pano, 3), places, order=1, mode="nearest")
    np.testing.assert_allclose(perspective(pano, camera), reference, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(-40, 40), st.integers(0, 2**32 - 1))
def test_to_turn_the_panorama_is_to_look_to_that_side(columns: int, seed: int) -> None:
    pano = np.random.default_rng(seed).integers(0, 256, (18, 48, 3)).astype(np.uint8)
    degrees = columns / 48 * 360
    turned = rolled(pano, degrees)
    np.testing.assert_array_equal(turned, np.roll(pano, -columns, axis=1))
    np.testing.assert_array_equal(perspective(turned, SQUARE), perspective(pano, SQUARE, yaw_right_deg=degrees))


def test_a_turn_between_columns_mixes_them_and_keeps_smooth_pictures() -> None:
    row = np.array([[0.0, 8.0, 4.0, 0.0]])
    np.testing.assert_allclose(rolled(row, 90 * 0.25), [[2, 7, 3, 0]])
    np.testing.assert_allclose(rolled(row, -90 * 0.25), [[0, 6, 5, 1]])
    np.testing.assert_array_equal(rolled(row, 90 * 0.25, nearest=True), row)
    np.testing.assert_array_equal(rolled(row, 90 * 0.75, nearest=True), [[8, 4, 0, 0]])
    pano = smooth(512, 256)
    there = rolled(pano, 33.3)
    assert there.dtype == np.uint8
    assert np.abs(rolled(there, -33.3).astype(int) - pano).max() <= 1
    assert np.abs(perspective(there, SQUARE).astype(int) - perspective(pano, SQUARE, yaw_right_deg=33.3)).max() <= 1


def test_signs() -> None:
    pano = np.zeros((90, 180), np.uint8)
    pano[:, 130:140] = 255  # 80 to 100 degrees to the right
    pano[:5] = 99  # above
    camera = Camera.from_vertical_fov(40, 30, 60)
    assert perspective(pano, camera, yaw_right_deg=90)[15, 20] == 255
    assert views(pano, camera)["right"][15, 20] == 255
    assert {side: int(views(pano, camera)[side][15, 20]) for side in SIDES} == dict.fromkeys(SIDES, 0) | {"right": 255}
    assert perspective(pano, camera, pitch_up_deg=90)[15, 20] == 99
    assert YAW_RIGHT_DEG["left"] == -90


def test_the_seam_behind_is_invisible_by_the_clean_rule_alone() -> None:
    camera = Camera.from_vertical_fov(100, 60, 60)
    steps = {
        rule: np.abs(np.diff(views(smooth(256, 128), camera, rule)["back"].astype(int), axis=1)).max()
        for rule in ("clean", "released")
    }
    assert steps["clean"] <= 4
    camera = Camera.from_horizontal_fov(180, 60, 179.5)
    pano = np.arange(256)[None, :, None] * np.ones((128, 1, 1))  # a jump at the seam, which must lie where it lies
    clean = perspective(pano, camera, yaw_right_deg=180)
    assert (clean[30, :89] > 128).all()
    assert (clean[30, 91:] < 128).all()


def test_labels_are_never_mixed_and_depth_is_along_the_axis() -> None:
    labels = np.random.default_rng(0).choice(np.array([3, 700, 40000], np.uint16), (32, 64))
    seen = perspective(labels, SQUARE, yaw_right_deg=11, pitch_up_deg=7, nearest=True)
    assert seen.dtype == np.uint16
    assert set(np.unique(seen)) <= {3, 700, 40000}
    # A wall 2 m ahead: along the rays of the panorama, then along the axis of the view.
    z = Panorama(512, 256).rays()[..., 2]
    ranges = np.where(z > 0.01, 2 / np.maximum(z, 0.01), np.inf).astype(np.float32)
    np.testing.assert_allclose(axis_depth(ranges, SQUARE), 2, rtol=0.02)
    assert np.isinf(axis_depth(ranges, SQUARE, yaw_right_deg=180)).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_the_dtype_and_the_number_of_channels_are_kept(dtype: Any) -> None:
    for shape in [(16, 32), (16, 32, 1), (16, 32, 5)]:
        pano = np.full(shape, 7, dtype)
        for seen in (perspective(pano, SQUARE), perspective(pano, SQUARE, rule="released"), rolled(pano, 1.0)):
            assert seen.dtype == dtype
            assert seen.shape[2:] == shape[2:]
            np.testing.assert_allclose(seen, 7, rtol=1e-6)


def test_what_it_refuses() -> None:
    pano = np.zeros((8, 16, 3), np.uint8)
    with pytest.raises(ShapeError, match=r"\(H, W\)"):
        perspective(np.zeros((2, 8, 16, 3)), SQUARE)
    with pytest.raises(ShapeError, match="not empty"):
        rolled(np.zeros((0, 16, 3)), 1.0)
    with pytest.raises(ShapeError, match="does not fit"):
        painted(pano, SQUARE, Panorama(16, 8))
    with pytest.raises(UsageError, match="rule 'exact'"):
        perspective(pano, SQUARE, rule="exact")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="finite"):
        perspective(pano, SQUARE, yaw_right_deg=float("nan"))
    with pytest.raises(UsageError, match="finite"):
        rolled(pano, float("inf"))
