import torch


class VGGT4Track(torch.nn.Module):
    """Says that the camera of every picture stands as far ahead as the picture is bright."""

    @classmethod
    def from_pretrained(cls, name):
        assert name.endswith("front")
        return cls()

    def forward(self, images):
        batch, frames, _, height, width = images.shape
        assert batch == 1
        assert 0 <= images.min() <= images.max() <= 1
        poses = torch.eye(4).repeat(1, frames, 1, 1)
        poses[..., 2, 3] = images.mean((2, 3, 4))
        intrinsics = torch.eye(3).repeat(1, frames, 1, 1)
        intrinsics[..., 0, 0] = intrinsics[..., 1, 1] = width / 2
        points = torch.ones(1, frames, height, width, 3)
        return {"poses_pred": poses, "intrs": intrinsics, "points_map": points, "unc_metric": points[..., 0]}
