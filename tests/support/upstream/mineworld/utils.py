import os
from types import SimpleNamespace

import torch


def load_model(config, ckpt, gpu, eval_mode):
    """The tokenizer counts brightness in 16x16 patches; the transformer repeats the last image, plus `shift`."""
    assert gpu
    assert eval_mode
    assert os.path.isfile("vae.json"), "not in the clone"
    shift = torch.load(ckpt, map_location="cpu", weights_only=True)["state_dict"]["shift"]
    return SimpleNamespace(tokenizer=Tokenizer(), transformer=Transformer(shift))


class Tokenizer:
    def tokenize_images(self, x):
        assert x.shape[1:] == (3, 224, 384)
        return torch.round((torch.nn.functional.avg_pool2d(x, 16).mean(1) + 1) * 127.5).long()

    def token2image(self, tokens):
        grid = tokens.reshape(14, 24).repeat_interleave(16, 0).repeat_interleave(16, 1)
        return grid[..., None].expand(-1, -1, 3).to(torch.uint8).cpu().numpy()


class Transformer:
    device = torch.device("cpu")

    def __init__(self, shift):
        self.shift = shift

    def naive_generate(self, input_ids, max_new_tokens, temperature=1.0, action_all=None, top_p=None, top_k=None):
        made = max_new_tokens // 336
        assert input_ids.shape[0] == 1
        assert (input_ids.shape[1] - 336) % 347 == 0
        assert action_all.shape == (made, 1, 11)
        assert (top_p is None) != (top_k is None)
        assert ((action_all >= 8192) & (action_all < 8192 + 68)).all()
        return torch.cat([input_ids[:, -336:] + self.shift * (k + 1) for k in range(made)], dim=1)
