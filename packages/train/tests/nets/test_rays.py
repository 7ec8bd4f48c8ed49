"""Rays of places: by the cameras of the house, and by hand."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from worldgauge.core.geometry import Camera, pose_from_yaw_pitch  # noqa: E402
from worldgauge_train.nets.layers import rays  # noqa: E402


def test_directions_are_those_of_a_camera_of_90_degrees() -> None:
    relative = torch.tensor([[0.5, -0.2, 0.1, 0.7, -0.3], [0.0, 0.0, 0.0, -2.0, 0.4]], dtype=torch.float64)
    found = rays(relative, (9, 16)).numpy()
    camera = Camera.from_horizontal_fov(16, 9, 90)
    across, down = np.meshgrid(np.arange(16) + 0.5, np.arange(9) + 0.5)
    seen = np.stack([(across - 8) / camera.fx, (down - 4.5) / camera.fy, np.ones_like(across)], -1).reshape(-1, 3)
    seen /= np.linalg.norm(seen, axis=1, keepdims=True)
    for one, (x, y, z, yaw, pitch) in zip(found, relative.numpy(), strict=True):
        pose = pose_from_yaw_pitch(np.array([x, y, z]), yaw, pitch)
        direction = seen @ pose[:3, :3].T
        np.testing.assert_allclose(one[:, :3], direction, atol=1e-12)
        np.testing.assert_allclose(one[:, 3:], np.cross([x, y, z], direction), atol=1e-12)


def test_a_moment_does_not_say_where_on_the_ray_the_camera_is() -> None:
    one, two = torch.zeros(2, 5, dtype=torch.float64)
    one[1], two[0], two[1] = 0.3, 2.0, 0.3  # the second stands two metres further ahead
    middle = [rays(pose, (1, 1))[0] for pose in (one, two)]
    torch.testing.assert_close(middle[0], middle[1])
    torch.testing.assert_close(middle[0], torch.tensor([1, 0, 0, 0, 0, -0.3], dtype=torch.float64))
