import torch


class VGGT(torch.nn.Module):
    """Says that the camera of every picture stands as far ahead as the picture is bright, times `gain`."""

    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.zeros(()))

    @classmethod
    def from_pretrained(cls, name):
        model = cls()
        model.load_state_dict(torch.load(f"{name}/model.pt", weights_only=True))
        return model

    def aggregator(self, images):
        batch, _, channels, height, width = images.shape
        assert (batch, channels, width) == (1, 3, 518)
        assert height % 14 == 0
        assert height <= 518
        assert images.dtype == torch.float32
        assert 0 <= images.min() <= images.max() <= 1
        assert not torch.is_grad_enabled()
        return [None, images.mean((2, 3, 4))], 5

    def camera_head(self, aggregated_tokens_list):
        bright = aggregated_tokens_list[-1].float()
        encoded = torch.zeros(*bright.shape, 9)
        encoded[..., 2] = -bright * self.gain
        encoded[..., 6] = 1
        encoded[..., 7:] = torch.pi / 2
        return [torch.full_like(encoded, torch.nan), encoded]
