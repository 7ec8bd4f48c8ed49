"""The network of `tiny`, in numpy: equal to torch's at any weights and sizes."""

import numpy as np
import pytest

from worldgauge.models.baselines.tiny import guessed_step, moved

torch = pytest.importorskip("torch")

from worldgauge_train.nets.conv import ConvNet, ConvShape  # noqa: E402
from worldgauge_train.nets.layers import moved_by  # noqa: E402


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        (ConvShape(5), (36, 64)),
        (ConvShape(3, frames=2, past=3, channels=(16, 24, 32), blocks=2), (20, 12)),
        (ConvShape(1, frames=1, past=1, channels=(8,)), (8, 16)),
    ],
)
def test_equals_torch(shape: ConvShape, size: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(3)
    net = ConvNet(shape).eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.05)
    past = torch.rand((1, shape.past, 3, *size), generator=generator) * 2 - 1
    rows = torch.randn((1, shape.frames, shape.columns), generator=generator)
    with torch.inference_mode():
        expected = net(torch.zeros(1, shape.frames, 3, *size), torch.ones(1), past, rows)[0].numpy()
    weights = {name: value.numpy() for name, value in net.state_dict().items()}
    found = guessed_step(weights, past[0].numpy(), rows[0].numpy())
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_lookups_far_beyond_the_border_equal_torch() -> None:
    rng = np.random.default_rng(2)
    frame, flow = rng.random((3, 9, 14), np.float32), rng.normal(0, 9, (4, 2, 9, 14)).astype(np.float32)
    expected = moved_by(torch.from_numpy(frame).expand(4, 3, 9, 14), torch.from_numpy(flow)).numpy()
    np.testing.assert_allclose(moved(frame, flow), expected, atol=2e-5)
