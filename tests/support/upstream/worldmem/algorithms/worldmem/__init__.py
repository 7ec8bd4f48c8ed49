import torch


class WorldMemMinecraft(torch.nn.Module):
    """Draws the frame of its memory whose place and view are nearest, turned to the view asked for, times `gain`.

    There is noise in one corner.
    """

    def __init__(self, cfg):
        super().__init__()
        assert not cfg.require_pose_prediction
        self.cfg, self.n_tokens, self.memory_condition_length = cfg, cfg.n_tokens, cfg.memory_condition_length
        self.context_frames = cfg.context_frames
        self.diffusion_model, self.vae = _Gain(), _Gain()
        self.validation_step_outputs = []

    def validation_step(self, batch, batch_idx, namespace="validation"):
        xs, conditions, pose_conditions, frame_index = batch
        frames, seen = xs.shape[1], self.context_frames
        assert not torch.is_grad_enabled()
        assert not self.training
        assert xs.shape == (1, frames, 3, 360, 640)
        assert xs.dtype == conditions.dtype == pose_conditions.dtype == torch.float32
        assert 0 <= xs.min() <= xs.max() <= 1
        assert not xs[:, seen:].any()
        assert 1 <= seen < frames
        assert conditions.shape == (1, frames, 25)
        assert conditions.abs().max() <= 1
        assert pose_conditions.shape == (1, frames, 5)
        assert 0 <= pose_conditions[..., 3:].min() <= pose_conditions[..., 3:].max() < 360
        assert frame_index.tolist() == [list(range(frames))]
        apart = (pose_conditions[0, seen:, None] - pose_conditions[0, None, :seen]).abs()
        apart[..., 3:] = torch.minimum(apart[..., 3:], 360 - apart[..., 3:])
        nearest = apart.sum(-1).argmin(1)
        left = (pose_conditions[0, seen:, 4] - pose_conditions[0, nearest, 4] + 180) % 360 - 180
        found = zip(xs[0, nearest], left, strict=True)
        drawn = torch.stack([frame.roll(round(5 * float(turn)), 2) for frame, turn in found])
        drawn = drawn * self.diffusion_model.gain * self.vae.gain
        drawn[:, :, 0, 0] = torch.rand(3)
        self.validation_step_outputs.append((drawn[:, None], xs[0, seen:, None]))


class _Gain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.zeros(()))
