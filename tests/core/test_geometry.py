"""Poses, similarities, cameras, panoramas: round trips, an independent solver, the degenerate."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from worldgauge.core import geometry as g
from worldgauge.core import umeyama
from worldgauge.core.errors import ShapeError

SMALL = st.floats(-100, 100, allow_nan=False)
POINT = arrays(np.float64, 3, elements=SMALL)
ANGLE = st.floats(-20, 20, allow_nan=False)
PITCH = st.floats(-1.5, 1.5, allow_nan=False)
SEED = st.integers(0, 2**32 - 1)


def random_pose(rng: np.random.Generator) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
    pose[:3, 3] = rng.uniform(-50, 50, 3)
    return pose


# Poses


@pytest.mark.parametrize(
    ("yaw", "pitch", "forward", "right"),
    [(0, 0, (1, 0, 0), (0, -1, 0)), (np.pi / 2, 0, (0, 1, 0), (1, 0, 0)), (0, np.pi / 2, (0, 0, 1), (0, -1, 0))],
)
def test_axes_by_hand(yaw: float, pitch: float, forward: tuple, right: tuple) -> None:
    pose = g.pose_from_yaw_pitch((1, 2, 3), yaw, pitch)
    np.testing.assert_allclose(pose[:3, 2], forward, atol=1e-12)
    np.testing.assert_allclose(pose[:3, 0], right, atol=1e-12)
    np.testing.assert_allclose(pose[:, 3], (1, 2, 3, 1))


@given(POINT, ANGLE, PITCH)
def test_yaw_and_pitch_come_back(position: np.ndarray, yaw: float, pitch: float) -> None:
    pose = g.pose_from_yaw_pitch(position, yaw, pitch)
    back_yaw, back_pitch = g.yaw_pitch_from_pose(pose)
    assert abs(g.wrap_angle(back_yaw - yaw)) < 1e-9
    assert abs(back_pitch - pitch) < 1e-9
    np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-12)
    assert np.linalg.det(pose[:3, :3]) == pytest.approx(1)
    assert pose[2, 0] == 0, "no roll: the right axis stays level"


def test_poses_broadcast() -> None:
    path = np.arange(15.0).reshape(5, 3)
    many = g.pose_from_yaw_pitch(path, np.linspace(0, 1, 5), 0.2)
    np.testing.assert_array_equal(many[3], g.pose_from_yaw_pitch(path[3], 0.75, 0.2))
    assert g.pose_from_yaw_pitch(path, 0.0).shape == (5, 4, 4)
    assert g.pose_from_yaw_pitch((0, 0, 0), np.zeros((2, 3))).shape == (2, 3, 4, 4)


@given(SEED)
def test_inverse_and_relative(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, c = (random_pose(rng) for _ in range(3))
    np.testing.assert_allclose(g.invert(a) @ a, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(g.invert(a), np.linalg.inv(a), atol=1e-10)
    np.testing.assert_allclose(a @ g.relative(a, b), b, atol=1e-10)
    # Who looks at both from elsewhere sees the same relative pose.
    np.testing.assert_allclose(g.relative(c @ a, c @ b), g.relative(a, b), atol=1e-9)
    stack = np.stack([a, b, c])
    np.testing.assert_allclose(g.invert(stack)[1], g.invert(b))


@given(ANGLE)
def test_wrapped_angles(angle: float) -> None:
    wrapped = g.wrap_angle(angle)
    assert -np.pi <= wrapped < np.pi
    assert np.cos(wrapped) == pytest.approx(np.cos(angle), abs=1e-9)
    assert np.sin(wrapped) == pytest.approx(np.sin(angle), abs=1e-9)


@pytest.mark.parametrize("angle", [np.pi, -np.pi, np.nextafter(-np.pi, -4), np.nextafter(np.pi, 4), 3 * np.pi, -1e-300])
def test_wrapping_at_the_seam(angle: float) -> None:
    assert -np.pi <= g.wrap_angle(angle) < np.pi


@given(SEED, st.one_of(st.floats(0, np.pi), st.sampled_from([0.0, 1e-9, 1e-5, np.pi - 1e-9, np.pi])))
def test_angle_of_a_rotation(seed: int, angle: float) -> None:
    axis = np.random.default_rng(seed).normal(size=3)
    matrix = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
    assert g.rotation_angle(matrix) == pytest.approx(angle, abs=1e-12)


# Similarities


@given(SEED, st.floats(0.01, 100))
def test_similarity_undoes_itself(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    pose = random_pose(rng)
    move = umeyama.Sim3(scale, pose[:3, :3], pose[:3, 3])
    points = rng.normal(size=(7, 3))
    np.testing.assert_allclose(move.inverse().apply(move.apply(points)), points, atol=1e-9)
    np.testing.assert_allclose(move.apply(move.inverse().apply(points)), points, atol=1e-9)
    np.testing.assert_allclose(move.inverse().inverse().rotation, move.rotation)


@given(SEED, st.integers(3, 20), st.floats(0.05, 20), st.booleans())
def test_alignment_recovers_the_move(seed: int, n: int, scale: float, with_scale: bool) -> None:
    rng = np.random.default_rng(seed)
    pose = random_pose(rng)
    source = rng.normal(size=(n, 3))
    assume(np.linalg.svd(source - source.mean(0))[1][1] > 1e-2)
    true = umeyama.Sim3(scale if with_scale else 1.0, pose[:3, :3], pose[:3, 3])
    found = umeyama.align(source, true.apply(source), with_scale=with_scale)
    assert found.scale == pytest.approx(true.scale, rel=1e-8)
    np.testing.assert_allclose(found.apply(source), true.apply(source), atol=1e-6)
    if n > 3:
        np.testing.assert_allclose(found.rotation, true.rotation, atol=1e-5)


@given(SEED, st.integers(4, 30), st.booleans(), st.booleans())
def test_alignment_agrees_with_scipy_on_noise(seed: int, n: int, mirror: bool, with_scale: bool) -> None:
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(n, 3)) * (3, 2, 1)
    target = source * (1, 1, -1) if mirror else source  # a mirror image must still give a rotation
    target = target @ random_pose(rng)[:3, :3].T * 2 + rng.normal(size=(n, 3)) * 0.1 + 5
    found = umeyama.align(source, target, with_scale=with_scale)
    a, b = source - source.mean(0), target - target.mean(0)
    rotation = Rotation.align_vectors(b, a)[0].as_matrix()
    moved = a @ rotation.T
    scale = (b * moved).sum() / (a**2).sum() if with_scale else 1.0
    np.testing.assert_allclose(found.rotation, rotation, atol=1e-6)
    assert found.scale == pytest.approx(scale, rel=1e-6)
    np.testing.assert_allclose(found.apply(source), scale * moved + target.mean(0), atol=1e-5)
    assert np.linalg.det(found.rotation) == pytest.approx(1)


def test_alignment_of_points_in_a_plane() -> None:
    rng = np.random.default_rng(3)
    source = rng.normal(size=(6, 3)) * (1, 1, 0)
    pose = random_pose(rng)
    found = umeyama.align(source, source @ pose[:3, :3].T + pose[:3, 3], with_scale=True)
    np.testing.assert_allclose(found.rotation, pose[:3, :3], atol=1e-9)


LINE = np.outer(np.arange(5.0), (1, 2, 3)) + 1000


@pytest.mark.parametrize(
    ("source", "target", "what"),
    [
        (np.zeros((2, 3)), np.zeros((2, 3)), "N >= 3"),
        (np.zeros((4, 2)), np.zeros((4, 2)), "N >= 3"),
        (np.zeros((4, 3)), np.zeros((5, 3)), "N >= 3"),
        (np.zeros((4, 3)), np.zeros((4, 3)), "one line"),
        (LINE, LINE, "one line"),
        (np.eye(5, 3), LINE, "one line"),
        (LINE, np.eye(5, 3), "one line"),
        (np.full((4, 3), np.nan), np.zeros((4, 3)), "finite"),
        (np.eye(4, 3), np.full((4, 3), np.inf), "finite"),
    ],
)
def test_alignment_refuses_what_has_no_answer(source: np.ndarray, target: np.ndarray, what: str) -> None:
    with pytest.raises(ShapeError, match=what):
        umeyama.align(source, target, with_scale=True)


# Cameras


def test_camera_of_the_published_clips() -> None:
    camera = g.Camera.from_vertical_fov(640, 360, 75)
    assert (camera.fx, camera.fy) == pytest.approx((234.5806, 234.5806), abs=1e-4)
    assert (camera.cx, camera.cy) == (320, 180)
    assert np.degrees(2 * np.arctan(320 / camera.fx)) == pytest.approx(107.51, abs=0.01)
    pixel, depth = camera.project([[0, 0, 2.0], [1, 0, 1.0], [0, 1, 1.0]])
    np.testing.assert_allclose(pixel, [[320, 180], [320 + camera.fx, 180], [320, 180 + camera.fy]])
    np.testing.assert_allclose(depth, [2, 1, 1])


@settings(max_examples=40)
@given(SEED, st.integers(1, 40), st.integers(1, 40), st.floats(10, 150))
def test_unprojected_pixels_project_to_their_centres(seed: int, width: int, height: int, fov: float) -> None:
    rng = np.random.default_rng(seed)
    camera = g.Camera(width, height, *rng.uniform(5, 50, 2), *rng.uniform(0, 40, 2))
    depth = rng.uniform(0.1, 100, (height, width))
    pixels, z = camera.project(camera.unproject(depth))
    columns, rows = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    np.testing.assert_allclose(pixels, np.stack([columns, rows], -1), atol=1e-8)
    np.testing.assert_allclose(z, depth)
    wide = g.Camera.from_vertical_fov(width, height, fov)
    top = wide.rays()[0, 0, 1] - 0.5 / wide.fy
    assert np.degrees(-2 * np.arctan(top)) == pytest.approx(fov)


@given(st.integers(1, 8192), st.integers(1, 8192), st.floats(10, 150))
def test_what_a_camera_sees_across(width: int, height: int, fov: float) -> None:
    camera = g.Camera.from_horizontal_fov(width, height, fov)
    assert camera.hfov_deg == pytest.approx(fov)
    assert (camera.fx, camera.cx, camera.cy) == (camera.fy, width / 2, height / 2)
    edge = np.linalg.solve([[camera.fx, camera.cx], [0, 1]], [width, 1])[0]
    assert np.degrees(2 * np.arctan(edge)) == pytest.approx(fov)


def test_cameras_of_collections_by_hand() -> None:
    """To the bit: their numbers are in the side-cars."""
    assert g.Camera.from_horizontal_fov(640, 360, 90) == g.Camera(640, 360, *[320.00000000000006] * 2, 320, 180)
    assert g.Camera.from_horizontal_fov(640, 360, 80) == g.Camera(640, 360, *[381.3611496301472] * 2, 320, 180)
    assert g.Camera(640, 360, 320, 200, 320, 180).hfov_deg == 90


def test_camera_resized_sees_the_same() -> None:
    camera = g.Camera(640, 360, 200, 210, 300, 170)
    small = camera.resized(160, 180)
    point = np.array([0.3, -0.2, 1.5])
    np.testing.assert_allclose(small.project(point)[0], camera.project(point)[0] * (160 / 640, 180 / 360))
    assert camera.resized(640, 360) == camera


def test_points_behind_and_wrong_depth() -> None:
    camera = g.Camera.from_vertical_fov(4, 2, 90)
    pixels, depth = camera.project([[0, 0, -1.0], [1, 1, 0.0]])
    assert np.isnan(pixels).all()
    np.testing.assert_array_equal(depth, [-1, 0])
    with pytest.raises(ShapeError, match="4x2"):
        camera.unproject(np.ones((4, 2)))


# Panoramas


@settings(max_examples=40)
@given(SEED, st.integers(2, 50), st.integers(2, 50))
def test_panorama_rays_project_to_their_centres(seed: int, width: int, height: int) -> None:
    panorama = g.Panorama(width, height)
    reach = np.random.default_rng(seed).uniform(0.1, 100, (height, width))
    pixels, distance = panorama.project(panorama.rays() * reach[..., None])
    columns, rows = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    np.testing.assert_allclose(pixels, np.stack([columns, rows], -1), atol=1e-7)
    np.testing.assert_allclose(distance, reach)


def test_panorama_directions_by_hand() -> None:
    panorama = g.Panorama(400, 200)
    looks = {(0, 0, 1): (200, 100), (1, 0, 0): (300, 100), (-1, 0, 0): (100, 100), (0, -1, 0): (200, 0)}
    for direction, pixel in looks.items():
        np.testing.assert_allclose(panorama.project(direction)[0], pixel, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(panorama.rays(), axis=-1), 1)
