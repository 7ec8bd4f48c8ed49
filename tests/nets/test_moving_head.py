"""The moving head: motion moves pixels, and nothing is drawn at first."""

import pytest

torch = pytest.importorskip("torch")

from worldgauge.nets.moving_head import HEADS, moved_by  # noqa: E402


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
