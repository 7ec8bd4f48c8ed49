"""The decoder: the first latent frame is one frame, each other one four; what came before is in its caches."""

import numpy as np
import torch


class VAEDecoderWrapper:
    def load_state_dict(self, states):
        assert states
        assert all("decoder." in key or "conv2" in key for key in states)

    def to(self, *_):
        return self

    def requires_grad_(self, _):
        return self

    def eval(self):
        return self

    def __call__(self, latents, *caches):
        assert len(caches) == 5
        assert latents.shape[2:] == (16, 44, 80)
        assert latents.dtype == torch.float16
        values = latents.float().cpu().numpy()
        first = caches[0] is None
        counts = [1 if first and k == 0 else 4 for k in range(values.shape[1])]
        rows = np.repeat(values, counts, axis=1)[:, :, :3]
        video = np.repeat(np.repeat(rows, 8, axis=3), 8, axis=4)
        return torch.from_numpy(np.ascontiguousarray(video)).to(latents.device), [1] * 5
