import os

import numpy as np
from PIL import Image

from .configs import WAN_CONFIGS


class WanI2V:
    """Turns the image with the camera, brighter by how far ahead it is told to have gone; noise of seed and words."""

    def __init__(
        self,
        config,
        checkpoint_dir,
        device_id=0,
        rank=0,
        t5_fsdp=False,
        dit_fsdp=False,
        use_sp=False,
        t5_cpu=False,
        init_on_cpu=True,
        convert_model_dtype=False,
    ):
        assert config == WAN_CONFIGS["i2v-A14B"]
        assert os.path.isfile(os.path.join(checkpoint_dir, "configuration.json"))
        assert (device_id, rank, t5_fsdp, dit_fsdp, use_sp) == (0, 0, False, False, False)
        self.asked = []

    def generate(
        self,
        input_prompt,
        img,
        action_path=None,
        max_area=720 * 1280,
        frame_num=81,
        shift=5.0,
        sample_solver="unipc",
        sampling_steps=40,
        guide_scale=5.0,
        n_prompt="",
        seed=-1,
        offload_model=True,
    ):
        poses = np.load(os.path.join(action_path, "poses.npy"))
        lens = np.load(os.path.join(action_path, "intrinsics.npy"))
        assert isinstance(input_prompt, str)
        assert isinstance(img, Image.Image)
        assert img.mode == "RGB"
        assert poses.shape == (frame_num, 4, 4)
        assert lens.shape == (frame_num, 4)
        assert poses.dtype == lens.dtype == np.float32
        assert frame_num % 4 == 1, "this VAE holds 4n + 1 frames"
        assert isinstance(guide_scale, (float, tuple)), "a whole number is not taken apart"
        assert 0 <= seed < 2**63
        height, width = (
            self._side(np.sqrt(max_area * ratio)) for ratio in (img.height / img.width, img.width / img.height)
        )
        steps = self._steps(poses[::4])
        self.asked.append(
            {
                "caption": input_prompt,
                "poses": poses,
                "steps": steps,
                "lens": lens[0],
                "sampling": (sampling_steps, shift),
            }
        )
        ahead = np.concatenate([[0], np.cumsum(steps[1:, 2, 3])])
        turned = np.cumsum(np.arctan2(steps[:, 0, 2], steps[:, 2, 2]))
        picture = np.asarray(img.resize((width, height)), np.float32) / 127.5 - 1
        noise = (
            np.random.default_rng([seed, *input_prompt.encode()]).uniform(-0.02, 0.02, picture.shape).astype(np.float32)
        )
        at = (np.arange(frame_num) + 3) // 4  # the latent of each frame
        frames = [picture] + [np.roll(picture, -round(turned[k] * 400), 1) + 0.01 * ahead[k] + noise for k in at[1:]]
        return _Tensor(np.stack(frames).transpose(3, 0, 1, 2).clip(-1, 1))

    @staticmethod
    def _side(pixels):
        return round(pixels // 8 // 2 * 2) * 8

    @staticmethod
    def _steps(poses):
        """From each latent frame to the next, the longest of length 1."""
        steps = np.concatenate([np.eye(4, dtype=np.float32)[None], np.linalg.inv(poses[:-1]) @ poses[1:]])
        longest = np.linalg.norm(steps[:, :3, 3], axis=1).max()
        if longest > 0:
            steps[:, :3, 3] /= longest
        return steps


class _Tensor:
    """As much of a tensor as is asked for."""

    def __init__(self, array):
        self._array = array

    def float(self):
        return _Tensor(self._array.astype(np.float32))

    def cpu(self):
        return self

    def numpy(self):
        return self._array
