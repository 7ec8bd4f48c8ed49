from types import SimpleNamespace

import torch


class CLIPTokenizer:
    model_max_length = 77

    @classmethod
    def from_pretrained(cls, name):
        assert name == "openai/clip-vit-base-patch32"
        return cls()

    def __call__(self, texts, padding, truncation):
        assert padding == "max_length"
        numbers = [[ord(letter) for letter in text][: self.model_max_length] for text in texts]
        return {"input_ids": [one + [0] * (self.model_max_length - len(one)) for one in numbers]}


class CLIPTextModel(torch.nn.Module):
    @classmethod
    def from_pretrained(cls, name):
        assert name == "openai/clip-vit-base-patch32"
        return cls()

    def forward(self, numbers):
        return SimpleNamespace(last_hidden_state=numbers[..., None].float().repeat(1, 1, 512))
