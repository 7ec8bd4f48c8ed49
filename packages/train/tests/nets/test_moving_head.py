"""The moving head: motion moves pixels, and nothing is drawn at first."""

import pytest

torch = pytest.importorskip("torch")

from worldgauge_train.nets import layers as moving_head  # noqa: E402
from worldgauge_train.nets.layers import HEADS, interpolated, moved_by  # noqa: E402
from worldgauge_train.training.device import same_bytes  # noqa: E402


@pytest.mark.parametrize("wraps", [False, True])
def test_looking_up_in_one_order_is_grid_sample(wraps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(5)
    frames = torch.rand(2, 3, 6, 10, generator=generator, dtype=torch.float64)
    flow = 8 * torch.randn(2, 2, 6, 10, generator=generator, dtype=torch.float64)  # beyond all borders, too
    gradients, looked = [], []
    for by_hand in (False, True):
        if by_hand:

            def instead(frames: torch.Tensor, places: torch.Tensor, **_: object) -> torch.Tensor:
                h, w = frames.shape[-2:]
                return interpolated(frames, ((places[..., 0] + 1) * w - 1) / 2, ((places[..., 1] + 1) * h - 1) / 2)

            monkeypatch.setattr(moving_head.functional, "grid_sample", instead)
        given = [one.clone().requires_grad_(True) for one in (frames, flow)]
        looked.append(moved_by(*given, wraps))
        looked[-1].square().sum().backward()
        gradients.append([one.grad for one in given])
    torch.testing.assert_close(looked[1], looked[0], atol=1e-12, rtol=0)
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(other, one, atol=1e-9, rtol=0)


def test_flow_by_whole_pixels_looks_to_the_right_and_down() -> None:
    frames = torch.rand(1, 3, 6, 8)
    moved = moved_by(frames, torch.tensor([2.0, 1.0])[None, :, None, None].expand(1, 2, 6, 8))
    torch.testing.assert_close(moved[..., :5, :6], frames[..., 1:, 2:], atol=1e-5, rtol=0)
    torch.testing.assert_close(moved[..., 5, 7], frames[..., 5, 7], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", sorted(HEADS))
@pytest.mark.parametrize(("planes", "patch"), [(3, 2), (3, 4), (5, 1)])
def test_at_first_the_mean_of_its_sources_is_drawn(kind: str, planes: int, patch: int) -> None:
    head = HEADS[kind](6, 2, 1, planes, patch).double()
    sources = torch.rand(3, 1, planes, 8, 12, dtype=torch.float64)
    drawn = head(torch.rand(3, 6, 8 // patch, 12 // patch, dtype=torch.float64), sources)
    torch.testing.assert_close(drawn, sources.expand(3, 2, planes, 8, 12), atol=1e-6, rtol=0)


def test_shares_choose_among_sources() -> None:
    head = HEADS["moving"](4, 1, 2)
    with torch.no_grad():
        head.out.bias[12 + 5] = 50.0  # the share of the second source
    sources = torch.rand(1, 2, 3, 6, 8)
    torch.testing.assert_close(head(torch.zeros(1, 4, 3, 4), sources)[:, 0], sources[:, 1], atol=1e-5, rtol=0)


@pytest.mark.parametrize("on_gpu", [True, False])
@pytest.mark.parametrize("asked", [True, False])
def test_frames_are_looked_up_in_one_order_on_gpus_alone_and_where_asked(
    on_gpu: bool, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []

    def instead(frames: torch.Tensor, right: torch.Tensor, below: torch.Tensor) -> torch.Tensor:
        taken.append(right.shape)
        return interpolated(frames, right, below)

    monkeypatch.setattr(moving_head, "interpolated", instead)
    frames, flow = torch.rand(1, 3, 6, 8), torch.randn(1, 2, 6, 8)
    wanted = moved_by(frames, flow)
    monkeypatch.setattr(torch.Tensor, "is_cuda", on_gpu)
    with same_bytes(asked):
        found = moved_by(frames, flow)
    assert len(taken) == int(on_gpu and asked)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)
