"""Camera paths in every convention, by hand and against the inverse of linear algebra; rays against projection."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from support.served import question
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.core.model import RolloutRequest
from worldgauge_serve import NotApplicable, camera_control, intrinsics_of, pluecker_rays, pose_fault

FLIP = np.diag([1.0, -1.0, -1.0, 1.0])
"""From OpenCV's axes of a camera to OpenGL's."""


def path(n: int = 6, seed: int = 1) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return pose_from_yaw_pitch(rng.uniform(-9, 9, (n, 3)), rng.uniform(-3, 3, n), rng.uniform(-1, 1, n))


def asked(poses: NDArray[np.float64]) -> RolloutRequest:
    """A question whose last context frame has the first of `poses`, and the others are to come."""
    one = question(horizon=len(poses) - 1)
    context = replace(one.context, poses=np.concatenate([path(3, seed=2), poses[:1]]))
    return replace(one, context=context, poses=poses[1:])


AHEAD_THEN_LEFT = np.stack(
    [
        pose_from_yaw_pitch((1.0, 2.0, 3.0), 0.0),
        pose_from_yaw_pitch((3.0, 2.0, 3.0), 0.0),
        pose_from_yaw_pitch((3.0, 2.0, 3.0), np.pi / 2),
    ]
)
LEFT = [[0, 0, -1], [0, 1, 0], [1, 0, 0]]
"""Turned left by 90 degrees, what is right is where ahead was, and ahead is where left was."""


def test_conventions_by_hand_and_by_linear_algebra() -> None:
    request = asked(AHEAD_THEN_LEFT)
    poses = camera_control(request).poses
    np.testing.assert_allclose(poses[0], np.eye(4), atol=1e-12)
    np.testing.assert_allclose(poses[1:, :3, 3], [[0, 0, 2]] * 2, atol=1e-12)
    np.testing.assert_allclose(poses[2, :3, :3], LEFT, atol=1e-12)
    seen = camera_control(request, "opencv_w2c").poses
    np.testing.assert_allclose(seen[1, :3, 3], [0, 0, -2], atol=1e-12)
    np.testing.assert_allclose(seen[2, :3, 3], [-2, 0, 0], atol=1e-12)  # where it began lies 2 m to its left
    drawn = camera_control(request, "opengl_c2w").poses
    np.testing.assert_allclose(drawn[1, :3, 3], [0, 0, -2], atol=1e-12)
    np.testing.assert_allclose(drawn[2, :3, :3], [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-12)
    whole = path(7)
    request = asked(whole)
    np.testing.assert_array_equal(camera_control(request, relative=False).poses, whole)
    np.testing.assert_allclose(camera_control(request).poses, np.linalg.inv(whole[0]) @ whole, atol=1e-9)
    np.testing.assert_allclose(
        camera_control(request, "opencv_w2c").poses, np.linalg.inv(np.linalg.inv(whole[0]) @ whole), atol=1e-9
    )
    np.testing.assert_allclose(
        camera_control(request, "opencv_w2c", relative=False).poses, np.linalg.inv(whole), atol=1e-9
    )
    drawn = whole @ FLIP
    np.testing.assert_allclose(camera_control(request, "opengl_c2w", relative=False).poses, drawn, atol=1e-9)
    np.testing.assert_allclose(camera_control(request, "opengl_c2w").poses, np.linalg.inv(drawn[0]) @ drawn, atol=1e-9)


@pytest.mark.parametrize("convention", ["opencv_c2w", "opencv_w2c", "opengl_c2w"])
def test_a_relative_path_is_the_same_wherever_the_world_begins(convention: str) -> None:
    whole, moved = path(5), path(1, seed=9)[0]
    one, other = (camera_control(asked(poses), convention).poses for poses in (whole, moved @ whole))
    np.testing.assert_allclose(one, other, atol=1e-9)
    assert pose_fault(one) is None


def test_scales_and_poses_of_any_path() -> None:
    request = asked(path(5))
    metres = camera_control(request).poses
    np.testing.assert_allclose(camera_control(request, scale=0.5).poses[:, :3, 3], metres[:, :3, 3] / 2)
    np.testing.assert_array_equal(camera_control(request, scale=0.5).poses[:, :3, :3], metres[:, :3, :3])
    for convention in ("opencv_c2w", "opencv_w2c"):
        one = camera_control(request, convention, scale="largest").poses
        assert np.linalg.norm(one[:, :3, 3], axis=1).max() == pytest.approx(1.0)
    far = camera_control(request, relative=False, scale="largest").poses[:, :3, 3]
    assert np.linalg.norm(far - far[0], axis=1).max() == pytest.approx(1.0)
    still = asked(np.tile(path(1), (4, 1, 1)))
    np.testing.assert_allclose(camera_control(still, scale="largest").poses, np.tile(np.eye(4), (4, 1, 1)), atol=1e-12)
    assert pose_fault(path(50)) is None
    assert pose_fault(path(50).astype(np.float32)) is None
    assert pose_fault(path(2)[:0]) is None
    assert "shape (n, 4, 4), not (3, 4)" in str(pose_fault(np.eye(4)[:3]))


def test_context_poses_and_intrinsics_of_the_size() -> None:
    request = asked(path(5))
    whole = np.concatenate([request.context.poses, request.poses])
    for shown in (0, 1, 4):
        given = camera_control(request, relative=False, shown=shown)
        np.testing.assert_array_equal(given.poses, whole[4 - shown :])
        assert given.intrinsics.shape == (4 + shown, 4)
    request.poses.setflags(write=False)
    camera_control(request, scale=3.0)  # and the question stays as it is
    camera = Camera.from_horizontal_fov(640, 360, 90)
    np.testing.assert_allclose(intrinsics_of(camera), [320, 320, 320, 180])
    np.testing.assert_allclose(intrinsics_of(camera, (832, 480)), [416, 320 * 480 / 360, 416, 240])
    np.testing.assert_allclose(intrinsics_of(camera, (1, 1)), [0.5, 320 / 360, 0.5, 0.5])
    request = asked(path(3))
    given = camera_control(request, size=(1, 1)).intrinsics
    np.testing.assert_allclose(given, np.tile(intrinsics_of(request.context.camera, (1, 1)), (3, 1)))


def test_what_cannot_be_meant_is_refused() -> None:
    request = asked(path(3))
    for words, given in (
        ("poses are asked for as 'blender'; give one of opencv_c2w, opencv_w2c, opengl_c2w", {"convention": "blender"}),
        ("a scale of 0; give units a metre", {"scale": 0}),
        ("a scale of 'unit'", {"scale": "unit"}),
        ("5 frames of a context of 4", {"shown": 5}),
    ):
        with pytest.raises(ValueError, match=words):
            camera_control(request, **given)
    with pytest.raises(NotApplicable, match="not known"):
        camera_control(replace(request, poses=None))
    with pytest.raises(NotApplicable, match="no focal length"):
        camera_control(replace(request, context=replace(request.context, camera=Panorama(64, 32))))
    with pytest.raises(ValueError, match="pose 2 is no rotation with a place"):
        camera_control(replace(request, poses=np.stack([request.poses[0], 2 * request.poses[1]])))


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (np.diag([1.0, 1, -1, 1]), "pose 1 is no rotation"),  # a mirror
        (np.diag([1.1, 1, 1, 1]), "pose 1 is no rotation"),
        (np.diag([1.0, 1, 1, 2]), "pose 1 is no rotation"),
        (np.full((4, 4), np.nan), "not all finite"),
        (np.zeros((4, 4)), "pose 1 is no rotation"),
    ],
)
def test_what_is_no_pose_is_said(fault: NDArray[np.float64], words: str) -> None:
    assert words in str(pose_fault(np.stack([np.eye(4), fault])))


def test_rays_by_hand_and_along_a_ray() -> None:
    poses = np.stack([np.eye(4), np.eye(4)])
    poses[1, :3, 3] = (1.0, 0.0, 0.0)
    rays = pluecker_rays(poses, (10.0, 10.0, 1.5, 0.5), (3, 1))
    assert (rays.shape, rays.dtype) == ((2, 1, 3, 6), np.float32)
    np.testing.assert_allclose(rays[0, 0, 1], [0, 0, 0, 0, 0, 1], atol=1e-7)
    np.testing.assert_allclose(rays[1, 0, 1], [0, -1, 0, 0, 0, 1], atol=1e-7)  # (1, 0, 0) x (0, 0, 1)
    np.testing.assert_allclose(rays[0, 0, 2, 3:], np.array([0.1, 0, 1]) / np.sqrt(1.01), atol=1e-7)
    pose = path(1)
    along = pose.copy()
    intrinsics, size = (5.0, 5.0, 1.5, 1.5), (3, 3)
    along[0, :3, 3] += 2.5 * pose[0, :3, 2]
    one, other = (pluecker_rays(each, intrinsics, size)[0, 1, 1] for each in (pose, along))
    np.testing.assert_allclose(one, other, atol=1e-5)
    with pytest.raises(ValueError, match="pose 0 is no rotation"):
        pluecker_rays(2 * pose, intrinsics, size)
    assert pluecker_rays(pose[:0], intrinsics, size).shape == (0, 3, 3, 6)


def test_points_of_a_ray_project_to_its_pixel_and_give_its_moment() -> None:
    poses, camera = path(4), Camera.from_horizontal_fov(8, 6, 70)
    rays = pluecker_rays(poses, intrinsics_of(camera), (8, 6)).astype(np.float64)
    moment, ahead = rays[..., :3], rays[..., 3:]
    np.testing.assert_allclose(np.linalg.norm(ahead, axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose((moment * ahead).sum(-1), 0, atol=1e-5)
    for n, pose in enumerate(poses):
        for v, u in ((0, 0), (5, 7), (2, 3)):
            point = pose[:3, 3] + 4.2 * ahead[n, v, u]
            x, y, z = np.linalg.inv(pose)[:3] @ [*point, 1.0]
            at = (camera.fx * x / z + camera.cx, camera.fy * y / z + camera.cy)
            np.testing.assert_allclose(at, (u + 0.5, v + 0.5), atol=1e-4)
            np.testing.assert_allclose(np.cross(point, ahead[n, v, u]), moment[n, v, u], atol=1e-4)
