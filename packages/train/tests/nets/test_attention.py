"""Attention: what CUDA computes by blocks is what the CPU computes by a mask."""

import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention import flex_attention as flex  # noqa: E402

from worldgauge_train.nets import layers as attention  # noqa: E402
from worldgauge_train.nets.layers import LONG, attended, blocked, both_ways, forced, placed  # noqa: E402
from worldgauge_train.training.device import same_bytes  # noqa: E402

MASKS = {
    "teacher forcing": forced(9, 2, 9),
    "teacher forcing within a window": forced(9, 2, 3),
    "teacher forcing, long": forced(150, 1, 20),
    "both ways": both_ways(2, 9),
    "both ways, long": both_ways(140, 300),
    "time alone, within a window": (torch.ones(20, 20).tril() - torch.ones(20, 20).tril(-5)).bool(),
}


def tokens(n: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(n)
    return [torch.randn(3, 2, n, 8, generator=generator, requires_grad=True) for _ in range(3)]


@pytest.mark.parametrize("name", MASKS)
def test_blocks_attend_as_the_mask_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a CPU torch refuses gradients of flex_attention, although its plain form, which runs there, has them.
    monkeypatch.setattr(flex, "_validate_device", lambda *tokens: None)
    mask = MASKS[name]
    q, k, v = tokens(len(mask))
    one, other = attended(q, k, v, mask), attended(q, k, v, blocked(mask))
    assert float((one - other).detach().abs().max()) <= 1e-5
    wanted = torch.randn(one.shape, generator=torch.Generator().manual_seed(0))
    gradients = [torch.autograd.grad((each * wanted).sum(), (q, k, v)) for each in (one, other)]
    for left, right in zip(*gradients, strict=True):
        assert float(left.abs().max()) > 0.1
        assert float((left - right).abs().max()) <= 1e-5
    seen = attended(q, k, v)
    assert float((seen - one).detach().abs().max()) > 0.1  # the mask does something


def test_a_long_mask_has_blocks_to_skip_and_a_short_one_stays_a_mask() -> None:
    assert float(blocked(forced(512, 1, 24)).to_dense().float().mean()) < 0.5
    assert float(blocked(MASKS["teacher forcing"]).to_dense().float().mean()) == 1
    cpu = torch.device("cpu")
    assert torch.equal(placed(MASKS["both ways, long"], cpu), MASKS["both ways, long"])
    short = torch.ones(LONG - 1, LONG - 1, dtype=torch.bool, device="meta")
    assert isinstance(placed(short, torch.device("meta")), torch.Tensor)


@pytest.mark.parametrize("asked", [True, False])
def test_a_long_mask_on_a_gpu_stays_a_mask_where_one_order_is_asked_for(
    asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.Tensor, "to", lambda tensor, device: tensor)  # as if a GPU were there
    monkeypatch.setattr(attention, "blocked", lambda mask: ("blocks of", mask))
    with same_bytes(asked):
        made = placed(MASKS["both ways, long"], torch.device("cuda"))
    assert isinstance(made, torch.Tensor) is asked
