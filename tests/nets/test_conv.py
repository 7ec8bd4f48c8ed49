"""The convolutional network and its head: an untrained one is freeze, all weights learn, motion moves pixels."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from worldgauge.nets.conv import ConvNet, ConvShape  # noqa: E402
from worldgauge.nets.drawing import Drawing  # noqa: E402
from worldgauge.nets.moving_head import moved_by  # noqa: E402

SMALL = ConvShape(columns=5, frames=2, past=4, channels=(8, 16))


def batch(shape: ConvShape, count: int = 2, size: tuple[int, int] = (12, 24)) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(4)
    noisy, past = (torch.rand(count, n, 3, *size, generator=generator) for n in (shape.frames, shape.past))
    rows = torch.rand(count, shape.frames, shape.columns, generator=generator)
    return noisy, torch.rand(count, generator=generator), past, rows


def test_an_untrained_network_repeats_its_last_frame() -> None:
    noisy, t, past, rows = batch(SMALL)
    drawn = ConvNet(SMALL)(noisy, t, past, rows)
    torch.testing.assert_close(drawn, past[:, -1:].expand_as(drawn), atol=1e-5, rtol=0)


@pytest.mark.parametrize("fetched", [0, 2])
def test_every_weight_learns(fetched: int) -> None:
    shape = ConvShape(columns=5, frames=2, past=4, fetched=fetched, channels=(8, 16))
    torch.manual_seed(0)
    net = ConvNet(shape)
    noisy, t, past, rows = batch(shape)
    more = torch.rand(2, fetched, 3, 12, 24) if fetched else None
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-2)
    for _ in range(4):
        optimiser.zero_grad()
        (net(noisy, t, past, rows, more) - noisy).square().mean().backward()
        optimiser.step()
    still = [name for name, one in net.named_parameters() if one.grad is None or not bool(one.grad.abs().max() > 0)]
    assert not still


def test_a_batch_is_its_parts_one_by_one() -> None:
    torch.manual_seed(0)
    net = ConvNet(SMALL)
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    whole = net(*batch(SMALL, 3))
    for k in range(3):
        alone = net(*(one[k : k + 1] for one in batch(SMALL, 3)))
        torch.testing.assert_close(alone, whole[k : k + 1], atol=1e-5, rtol=0)


@pytest.mark.parametrize("size", [(12, 24), (36, 64), (20, 12)])
def test_sizes_whose_half_is_odd(size: tuple[int, int]) -> None:
    noisy, t, past, rows = batch(SMALL, size=size)
    assert ConvNet(SMALL)(noisy, t, past, rows).shape == noisy.shape


def test_flow_by_whole_pixels_looks_to_the_right_and_down() -> None:
    frames = torch.rand(1, 3, 6, 8)
    moved = moved_by(frames, torch.tensor([2.0, 1.0])[None, :, None, None].expand(1, 2, 6, 8))
    torch.testing.assert_close(moved[..., :5, :6], frames[..., 1:, 2:], atol=1e-5, rtol=0)
    torch.testing.assert_close(moved[..., 5, 7], frames[..., 5, 7], atol=1e-5, rtol=0)


def test_chunks_do_not_depend_on_the_horizon_and_short_pasts_are_filled() -> None:
    torch.manual_seed(0)
    net = ConvNet(SMALL)
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, std=0.05)
    rng = np.random.default_rng(5)
    past, rows = rng.integers(0, 256, (4, 12, 24, 3), np.uint8), rng.random((7, 5), np.float32)
    for steps in (0, 3):
        drawing = Drawing(net, steps)
        long = np.concatenate(list(drawing.frames(past, rows, 9)))
        assert long.shape == (7, 12, 24, 3)
        short = np.concatenate(list(drawing.frames(past, rows[:3], 9)))
        np.testing.assert_array_equal(short[:2], long[:2])
    one = np.concatenate(list(drawing.frames(past[-1:], rows, 9)))
    same = np.concatenate(list(drawing.frames(np.repeat(past[-1:], 4, 0), rows, 9)))
    np.testing.assert_array_equal(one, same)
