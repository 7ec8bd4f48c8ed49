"""The transformer over steps: its window is exact, memories reach beyond it, and the teacher sees the future."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from worldgauge_train.nets.architectures import ClipWindow, Recalled  # noqa: E402
from worldgauge_train.nets.causal import CausalNet, CausalShape  # noqa: E402
from worldgauge_train.nets.layers import Recurrence, both_ways, forced, rotated  # noqa: E402
from worldgauge_train.training.recipe import named_recipe, told  # noqa: E402


def net_of(window: int = 3, depth: int = 1, memory: str = "window", together: int = 0) -> CausalNet:
    torch.manual_seed(0)
    shape = CausalShape(3, (2, 3), 1, 1, 3, 4, 16, depth, 2, window, memory, 0, "plain", together)
    net = CausalNet(shape).double().eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, dtype=torch.float64))
    return net


def windows(steps: int) -> tuple[ClipWindow, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    frames, noisy = (torch.randn(1, n, 3, 8, 12, generator=generator, dtype=torch.float64) for n in (steps, steps - 1))
    rows = torch.randn(1, steps, 3, generator=generator, dtype=torch.float64)
    return (
        ClipWindow(frames, rows),
        noisy[:, :, None],
        torch.rand(1, steps - 1, generator=generator, dtype=torch.float64),
    )


@pytest.mark.parametrize(("memory", "reaches"), [("window", False), ("state", True)])
def test_what_left_the_window_is_forgotten_unless_a_state_keeps_it(memory: str, reaches: bool) -> None:
    net, (window, noisy, t) = net_of(window=3, memory=memory), windows(7)
    with torch.no_grad():
        before = net.guesses(window, noisy, t)
        changed = window.frames.clone()
        changed[:, 1] += 1  # step 1; one block sees steps i - 2 and i - 1, each beside the one before it
        after = net.guesses(window._replace(frames=changed), noisy, t)
    apart = (after - before).abs().flatten(2).amax(2)[0]  # of steps 1 to 6
    assert apart[0] == 0
    assert (apart[1:4] > 0).all()
    assert bool((apart[4:] > 0).all()) == reaches
    if not reaches:
        assert not apart[4:].any()


def test_a_long_rollout_keeps_a_cache_of_the_window_alone() -> None:
    net, (window, noisy, t) = net_of(window=3, depth=2), windows(9)
    with torch.no_grad():
        whole = net.guesses(window, noisy, t)
        kept = net.begin(window.frames[:, :1], window.rows[:, :1])
        for step in range(1, 9):
            guess = net.guess(kept, noisy[:, step - 1], t[:, step - 1], window.rows[:, step : step + 1])
            torch.testing.assert_close(guess, whole[:, step - 1], atol=1e-11, rtol=0)
            kept = net.take(kept, window.frames[:, step : step + 1], window.rows[:, step : step + 1])
            assert all(layer is not None and layer.k.shape[2] <= 2 for layer in kept.layers)


def test_the_teacher_sees_the_future_and_its_past_does_not() -> None:
    net, (window, noisy, t) = net_of(together=6), windows(7)
    with torch.no_grad():
        before = net.guesses(window, noisy, t)
        other = noisy.clone()
        other[:, 5] += 1
        assert not torch.equal(net.guesses(window, other, t)[:, 0], before[:, 0])
        kept = net.begin(window.frames[:, :1], window.rows[:, :1])
        drawn = net.guess(kept, noisy.flatten(1, 2), t[:, 0], window.rows[:, 1:])
        same = net.guesses(window, noisy, t[:, :1].expand(-1, 6)).flatten(1, 2)
    torch.testing.assert_close(drawn, same, atol=1e-12, rtol=0)


@pytest.mark.parametrize("more", [{"ratio": 4}, {"modulation": "shared"}, {"poses": "rays"}], ids=str)
def test_other_inner_layers_draw_step_by_step_as_at_once_and_learn(more: dict[str, Any]) -> None:
    torch.manual_seed(0)
    shape = CausalShape(3, (2, 3), 1, 1, 3, 4, 16, 2, 2, 3, "fetched", 2, "moving", **more)
    net = CausalNet(shape).double()
    window, noisy, t = windows(5)
    fetched = torch.randn(1, 4, 2, 3, 8, 12, dtype=torch.float64)
    window = ClipWindow(window.frames, window.rows, fetched, torch.randn(1, 4, 2, 5, dtype=torch.float64))
    optimiser, reached = torch.optim.AdamW(net.parameters(), lr=1e-2), set()
    for _ in range(6):
        optimiser.zero_grad()
        (net.guesses(window, noisy, t) - 0.5).square().mean().backward()
        optimiser.step()
        reached |= {name for name, one in net.named_parameters() if one.grad is not None and bool(one.grad.any())}
    assert reached == {name for name, _ in net.named_parameters()}
    with torch.no_grad():
        whole = net.guesses(window, noisy, t)
        kept = net.begin(window.frames[:, :1], window.rows[:, :1])
        for step in range(1, 5):
            recalled = Recalled(window.fetched[:, step - 1], window.relative[:, step - 1])  # type: ignore[index]
            rows = window.rows[:, step : step + 1]
            guess = net.guess(kept, noisy[:, step - 1], t[:, step - 1], rows, recalled)
            torch.testing.assert_close(guess, whole[:, step - 1], atol=1e-11, rtol=0)
            kept = net.take(kept, window.frames[:, step : step + 1], rows)


def test_sizes_on_paper() -> None:
    """Weights of the larger recipes, in millions, with rows of 12 numbers; nothing is computed on this device."""
    found = {}
    for name in ("causal-small", "causal-medium"):
        recipe = told(named_recipe(name))
        shape = CausalNet.shape_from({**recipe, "together": 0}, columns=12, planes=16, size=(256 // 8, 144 // 8))
        assert shape.grid == (9, 16)
        with torch.device("meta"):
            found[name] = sum(one.numel() for one in CausalNet(shape).parameters()) / 1e6
    assert found == {"causal-small": pytest.approx(23.6, abs=0.1), "causal-medium": pytest.approx(124.1, abs=0.1)}


def test_masks_by_hand() -> None:
    rows = ["".join("x" if one else "." for one in row) for row in forced(4, 1, 2)]
    assert rows == ["x.....", "xx....", ".xx...", "x..x..", ".x..x.", "..x..x"]
    assert ["".join("x" if one else "." for one in row) for row in both_ways(1, 3)] == ["x..", "xxx", "xxx"]


def test_rotated_products_depend_on_the_distance_alone() -> None:
    q, k = torch.randn(2, 1, 8, dtype=torch.float64)
    product = [
        float((rotated(q, torch.tensor([a])) * rotated(k, torch.tensor([b]))).sum()) for a, b in ((5, 2), (9, 6))
    ]
    assert product[0] == pytest.approx(product[1], abs=1e-12)


def test_the_recurrence_by_hand() -> None:
    mixer = Recurrence(1).double()
    with torch.no_grad():
        for layer in (mixer.keep, mixer.value, mixer.gate, mixer.out):
            layer.weight.zero_()
            layer.bias.zero_()
        mixer.value.weight.fill_(1)  # v = x, a = 1/2
        mixer.gate.bias.fill_(100.0)  # silu is 100
        mixer.out.weight.fill_(0.01)
    x = torch.tensor([4.0, 8.0, 2.0], dtype=torch.float64).reshape(1, 3, 1, 1)  # two finished steps, and one drawn
    mixed, state = mixer(x, 2, 2, None)
    assert mixed.flatten().tolist() == pytest.approx([2, 5, 3.5])
    assert state is not None
    assert float(state.detach()) == 5
