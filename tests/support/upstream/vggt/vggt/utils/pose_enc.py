import torch


def pose_encoding_to_extri_intri(pose_encoding, image_size_hw=None):
    assert pose_encoding[..., 3:7].eq(torch.tensor([0, 0, 0, 1.0])).all()
    batch, frames, _ = pose_encoding.shape
    extrinsics = torch.eye(3, 4).repeat(batch, frames, 1, 1)
    extrinsics[..., 3] = pose_encoding[..., :3]
    height, width = image_size_hw
    intrinsics = torch.eye(3).repeat(batch, frames, 1, 1)
    intrinsics[..., 0, 0] = width / 2 / torch.tan(pose_encoding[..., 8] / 2)
    intrinsics[..., 1, 1] = height / 2 / torch.tan(pose_encoding[..., 7] / 2)
    return extrinsics, intrinsics
