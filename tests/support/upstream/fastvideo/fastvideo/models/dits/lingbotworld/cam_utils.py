"""`prepare_camera_embedding` as far as its shapes and what it reads go, and where the camera looks."""

import os

import numpy as np
import torch

READ = []


def prepare_camera_embedding(action_path, num_frames, height, width, spatial_scale=8):
    poses = np.load(os.path.join(action_path, "poses.npy"))
    inner = np.load(os.path.join(action_path, "intrinsics.npy"))
    assert poses.shape[1:] == (4, 4)
    assert inner.shape == (len(poses), 4)
    READ.append((poses, inner))
    count = min(num_frames, (len(poses) - 1) // 4 * 4 + 1)
    shape = (1, 6 * spatial_scale**2, (count - 1) // 4 + 1, height // spatial_scale, width // spatial_scale)
    embedding = np.zeros(shape, np.float32)
    embedding[0, 0], embedding[0, 1] = poses[:count:4, 0, 2, None, None], poses[:count:4, 2, 2, None, None]
    return torch.from_numpy(embedding), count
