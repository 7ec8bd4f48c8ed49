"""What every architecture keeps, with every memory and head that it takes: found in the registries."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

from worldgauge.core.errors import UsageError  # noqa: E402
from worldgauge_train.nets import conv  # noqa: E402
from worldgauge_train.nets.architectures import (  # noqa: E402
    ClipWindow,
    Noised,
    Recalled,
    VideoNetwork,
    architectures,
    draw_levels,
    level_loss,
    noised,
)
from worldgauge_train.nets.drawing import Question, SampledNetwork, Sampling  # noqa: E402
from worldgauge_train.nets.layers import HEADS  # noqa: E402
from worldgauge_train.nets.memory import memories  # noqa: E402

SETTINGS: dict[str, Any] = {
    "frames": 2, "past": 4, "channels": (8, 16), "blocks": 1, "patch": 4, "width": 32, "depth": 2, "heads": 2,
    "window": 3, "fetched": 2, "together": 0, "wraps": False, "bearings": False, "ratio": 3, "modulation": "block",
    "poses": "numbers",
}  # fmt: skip
COLUMNS, SIZE, DRAWN = 5, (24, 12), 3


def made(kind: str, memory: str = "window", head: str = "moving", **more: Any) -> VideoNetwork:
    settings = {**SETTINGS, "memory": memory, "head": head, **more}
    architecture = architectures.get(kind)
    torch.manual_seed(0)
    return architecture(architecture.shape_from(settings, columns=COLUMNS, planes=3, size=SIZE))


def takes(kind: str, memory: str) -> bool:
    try:
        made(kind, memory)
    except UsageError:
        return False
    return True


ALL = [
    (kind, memory, head)
    for kind in architectures.names()
    for memory in memories.names()
    if takes(kind, memory)
    for head in sorted(HEADS)
]
every = pytest.mark.parametrize(("kind", "memory", "head"), ALL)
with_memory = pytest.mark.parametrize(("kind", "memory"), sorted({(kind, memory) for kind, memory, _ in ALL}))


def shaken(net: VideoNetwork, size: float = 0.1) -> VideoNetwork:
    """The network with other weights than its first, so that all of it counts."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(size * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    return net.eval()


def window_for(net: VideoNetwork, count: int = 2, dtype: torch.dtype = torch.float32) -> ClipWindow:
    generator = torch.Generator().manual_seed(4)
    frames = 4 + DRAWN * 2
    seen = torch.rand(count, frames, 3, SIZE[1], SIZE[0], generator=generator, dtype=dtype) * 2 - 1
    rows = torch.rand(count, frames, COLUMNS, generator=generator, dtype=dtype)
    m = net.shape.fetched
    if not m:
        return ClipWindow(seen, rows)
    fetched = torch.rand(count, DRAWN, m, 3, SIZE[1], SIZE[0], generator=generator, dtype=dtype) * 2 - 1
    return ClipWindow(seen, rows, fetched, torch.rand(count, DRAWN, m, 5, generator=generator, dtype=dtype))


def noising(steps: Tensor, generator: torch.Generator, *, pure: bool = False) -> Noised:
    t = torch.ones(len(steps)) if pure else draw_levels(len(steps), generator)
    return Noised(noised(steps, torch.randn(steps.shape, generator=generator), t), t)


def asked(net: VideoNetwork, window: ClipWindow) -> tuple[Tensor, Tensor]:
    """Steps and levels to guess from."""
    generator = torch.Generator().manual_seed(5)
    shape = (len(window.frames), DRAWN, 2, 3, SIZE[1], SIZE[0])
    dtype = window.frames.dtype
    return torch.randn(shape, generator=generator, dtype=dtype), torch.rand(shape[:2], generator=generator, dtype=dtype)


@every
def test_gradients_reach_every_weight(kind: str, memory: str, head: str) -> None:
    net = made(kind, memory, head)
    generator = torch.Generator().manual_seed(1)
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-2)
    reached = set()
    for _ in range(6):
        optimiser.zero_grad()
        guess, wanted, t = net.supervised(window_for(net), noising, 0.5, generator)
        level_loss(guess, wanted, t).mean().backward()
        optimiser.step()
        reached |= {name for name, one in net.named_parameters() if one.grad is not None and bool(one.grad.any())}
    assert {name for name, _ in net.named_parameters()} == reached


@with_memory
def test_checkpointing_saves_memory_and_changes_no_gradient(kind: str, memory: str) -> None:
    def gradients(checkpointing: bool) -> tuple[list[Tensor], int]:
        net = shaken(made(kind, memory))
        net.checkpointing, kept = checkpointing, []
        window, (noisy, t) = window_for(net), asked(net, window_for(net))
        with torch.autograd.graph.saved_tensors_hooks(lambda one: kept.append(one.numel()) or one, lambda one: one):
            loss = net.guesses(window, noisy, t).square().mean()
        saved = sum(kept)  # before the way back computes again
        loss.backward()
        return [one.grad for one in net.parameters()], saved  # type: ignore[misc]

    (plain, much), (again, little) = gradients(False), gradients(True)
    assert little < 0.8 * much
    for one, other in zip(plain, again, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-7)


@pytest.mark.parametrize("kind", architectures.names())
@pytest.mark.parametrize(
    ("device", "backend"),
    [("cpu", "eager"), pytest.param("cuda", "inductor", marks=pytest.mark.skipif(
        not torch.cuda.is_available(), reason="there is no GPU"))],
)  # fmt: skip
def test_a_compiled_network_is_the_same(kind: str, device: str, backend: str) -> None:
    net = shaken(made(kind)).to(device)
    window = ClipWindow(*(None if one is None else one.to(device) for one in window_for(net)))
    noisy, t = (one.to(device) for one in asked(net, window))
    with torch.no_grad():
        plain, names = net.guesses(window, noisy, t), list(net.state_dict())
        net.compile(backend=backend)
        again = net.guesses(window, noisy, t)
    torch.testing.assert_close(again, plain, rtol=0, atol=1e-5 if device == "cpu" else 2e-2)
    assert list(net.state_dict()) == names
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] > 0  # type: ignore[attr-defined]
    torch._dynamo.reset()


@every
def test_an_untrained_network_repeats_what_it_last_saw(kind: str, memory: str, head: str) -> None:
    net = made(kind, memory, head).double().eval()
    window = window_for(net, dtype=torch.float64)
    guess = net.guesses(window, *asked(net, window))
    last = window.frames[:, 3:-1:2][:, :, None, None]
    if net.shape.fetched and head == "moving":  # all sources weigh the same at first
        assert window.fetched is not None
        last = torch.cat([last, window.fetched[:, :, None]], 3).mean(3)
    else:
        last = last[:, :, :, 0]
    torch.testing.assert_close(guess, last.expand_as(guess), atol=1e-6, rtol=0)


@with_memory
@pytest.mark.parametrize(("dtype", "apart"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_step_by_step_is_all_at_once(kind: str, memory: str, dtype: torch.dtype, apart: float) -> None:
    net = shaken(made(kind, memory)).to(dtype)
    window = window_for(net, dtype=dtype)
    noisy, t = asked(net, window)
    with torch.no_grad():
        whole = net.guesses(window, noisy, t)
        kept = net.begin(window.frames[:, :4], window.rows[:, :4])
        for step in range(DRAWN):
            rows = window.rows[:, 4 + 2 * step : 6 + 2 * step]
            recalled = None
            if window.fetched is not None and window.relative is not None:
                recalled = Recalled(window.fetched[:, step], window.relative[:, step])
            guess = net.guess(kept, noisy[:, step], t[:, step], rows, recalled)
            scale = float(whole.abs().max())
            torch.testing.assert_close(guess / scale, whole[:, step] / scale, atol=apart, rtol=0)
            kept = net.take(kept, window.frames[:, 4 + 2 * step : 6 + 2 * step], rows)


@with_memory
def test_nothing_leaks_into_the_past(kind: str, memory: str) -> None:
    net = shaken(made(kind, memory))
    window = window_for(net)
    noisy, t = asked(net, window)
    changed, other = window.frames.clone(), noisy.clone()
    changed[:, 6:] += 1.0  # from the second drawn step on
    other[:, 2:] += 1.0
    rows = window.rows.clone()
    rows[:, 8:] += 1.0
    with torch.no_grad():
        before = net.guesses(window, noisy, t)
        after = net.guesses(window._replace(frames=changed), noisy, t)
        assert torch.equal(after[:, :2], before[:, :2])
        assert not torch.equal(after[:, 2], before[:, 2])
        assert torch.equal(net.guesses(window._replace(rows=rows), other, t)[:, :2], before[:, :2])


@pytest.mark.parametrize(("kind", "memory"), sorted({(k, m) for k, m, _ in ALL if m != "state"}))
def test_what_is_a_window_back_changes_nothing(kind: str, memory: str) -> None:
    """Of 3 steps, the own one counted, the fifth sees the fourth and third, each beside the one before it."""
    net = shaken(made(kind, memory, depth=1))  # each more block reaches a window further
    window = window_for(net)
    noisy, t = asked(net, window)
    for changed, is_seen in ((slice(0, 2), False), (slice(4, 6), True)):  # the first step, and the third
        frames, rows = window.frames.clone(), window.rows.clone()
        frames[:, changed] += 1.0
        rows[:, changed] += 1.0
        with torch.no_grad():
            before = net.guesses(window, noisy, t)[:, 2]
            after = net.guesses(window._replace(frames=frames, rows=rows), noisy, t)[:, 2]
        assert torch.equal(after, before) != is_seen


@with_memory
def test_a_batch_is_its_parts(kind: str, memory: str) -> None:
    net = shaken(made(kind, memory))
    window = window_for(net, 3)
    noisy, t = asked(net, window)
    with torch.no_grad():
        whole = net.guesses(window, noisy, t)
        for k in range(3):
            part = ClipWindow(*(None if one is None else one[k : k + 1] for one in window))  # type: ignore[arg-type]
            alone = net.guesses(part, noisy[k : k + 1], t[k : k + 1])
            torch.testing.assert_close(alone, whole[k : k + 1], atol=1e-5 * float(whole.abs().max()), rtol=0)


def question(length: int, horizon: int, seed: int) -> Question:
    rng = np.random.default_rng(seed)
    return Question(
        rng.integers(0, 256, (length, SIZE[1], SIZE[0], 3), np.uint8),
        rng.random((horizon, COLUMNS), np.float32),
        seed,
        rng.random((length, COLUMNS), np.float32),
        rng.random((length + horizon, 5)),
    )


def drawn(net: VideoNetwork, sampling: Sampling, *questions: Question) -> list[np.ndarray]:
    chunks = list(SampledNetwork(net, sampling, most=8).batch(questions))
    return [np.concatenate([chunk[k] for chunk in chunks]) for k in range(len(questions))]


@with_memory
@pytest.mark.parametrize("sampling", [Sampling(0), Sampling(2, guidance=1.5, stabilise=0.1)], ids=["at once", "two"])
def test_drawing(kind: str, memory: str, sampling: Sampling) -> None:
    """Chunks do not depend on the horizon, questions not on each other; seeds repeat, short pasts are filled up."""
    net = shaken(made(kind, memory), 0.03)
    one, other = question(6, 7, 1), question(6, 7, 2)
    (long,) = drawn(net, sampling, one)
    assert long.shape == (7, SIZE[1], SIZE[0], 3)
    short = one._replace(rows=one.rows[:3])
    np.testing.assert_array_equal(drawn(net, sampling, short)[0][:2], long[:2])
    np.testing.assert_array_equal(drawn(net, sampling, one)[0], long)
    both = drawn(net, sampling, one, other)
    np.testing.assert_allclose(both[0].astype(int), long, atol=1)
    np.testing.assert_allclose(both[1].astype(int), drawn(net, sampling, other)[0], atol=1)
    if sampling.steps:
        assert not np.array_equal(drawn(net, sampling, one._replace(seed=9))[0], long)
    first = question(1, 7, 3)
    filled = Question(first.past.repeat(4, 0), first.rows, 3, np.zeros((4, COLUMNS), np.float32), None)
    first = first._replace(past_rows=np.zeros((1, COLUMNS), np.float32), poses=None)
    np.testing.assert_array_equal(drawn(net, sampling, first)[0], drawn(net, sampling, filled)[0])


@with_memory
def test_guidance_changes_what_actions_do(kind: str, memory: str) -> None:
    net = shaken(made(kind, memory))
    ask = question(4, 2, 1)
    plain, guided = (drawn(net, Sampling(1, guidance=g), ask)[0] for g in (1.0, 3.0))
    assert not np.array_equal(plain, guided)
    null = ask._replace(rows=np.zeros_like(ask.rows))
    np.testing.assert_array_equal(drawn(net, Sampling(1), null)[0], drawn(net, Sampling(1, guidance=3.0), null)[0])


@pytest.mark.parametrize("kind", architectures.names())
def test_one_clip_is_learned_by_heart(kind: str) -> None:
    """A pan over a made-up picture, to 35 dB: from its actions alone, since nothing else tells how far it goes."""
    net = made(kind, past=2, channels=(16, 32), width=48)
    generator = torch.Generator().manual_seed(3)
    wide = torch.rand(1, 3, 3, 10, generator=generator)
    wide = torch.nn.functional.interpolate(wide, size=(12, 40), mode="bilinear")[0] * 2 - 1
    frames = torch.stack([wide[..., at : at + 24] for at in (0, 2, 3, 5, 8, 7, 9, 11)])[None]
    window = ClipWindow(frames, torch.rand(1, 8, COLUMNS, generator=generator))
    optimiser = torch.optim.AdamW(net.parameters(), lr=4e-3, betas=(0.9, 0.99))
    noisy, t = torch.zeros(1, 3, 2, 3, 12, 24), torch.ones(1, 3)
    wanted = frames[:, 2:].unflatten(1, (3, 2))
    for step in range(200):
        for group in optimiser.param_groups:
            group["lr"] = 4e-3 * (1 - step / 200)
        optimiser.zero_grad()
        error = (net.guesses(window, noisy, t) - wanted).square().mean()
        error.backward()
        optimiser.step()
    assert 10 * np.log10(4 / float(error.detach())) >= 35


@pytest.mark.parametrize("memory", ["window", "fetched"])
@pytest.mark.parametrize("head", sorted(HEADS))
def test_a_panorama_that_is_turned_is_drawn_turned(memory: str, head: str) -> None:
    net = shaken(made("conv", memory, head, wraps=True)).double()
    window = window_for(net, dtype=torch.float64)
    noisy, t = asked(net, window)
    turned = ClipWindow(*(one if one is None or one.ndim < 5 else one.roll(8, -1) for one in window))
    with torch.no_grad():
        plain = net.guesses(window, noisy, t)
        torch.testing.assert_close(net.guesses(turned, noisy.roll(8, -1), t), plain.roll(8, -1), atol=1e-9, rtol=1e-9)


def test_with_bearings_a_panorama_has_an_ahead() -> None:
    """As many columns to the side: without bearings the drawing is turned as the panorama is, whatever is told."""
    net = shaken(made("conv", wraps=True, bearings=True)).double()
    window = window_for(net, dtype=torch.float64)
    noisy, t = asked(net, window)
    turned = window._replace(frames=window.frames.roll(8, -1))
    with torch.no_grad():
        plain = net.guesses(window, noisy, t)
        apart = net.guesses(turned, noisy.roll(8, -1), t) - plain.roll(8, -1)
    assert float(apart.abs().max()) > 1e-3 * float(plain.abs().max())
    assert net.enter.in_channels == 4 * 3 * (2 + 4) + 2
    with pytest.raises(UsageError, match="go with wraps"):
        made("conv", bearings=True)


def test_bearings_point_left_ahead_and_right() -> None:
    sine, cosine = conv._bearings(torch.zeros(1, 5, 2, 4))[0]
    half = 0.5**0.5
    torch.testing.assert_close(sine[0], torch.tensor([-half, -half, half, half]))
    torch.testing.assert_close(cosine[1], torch.tensor([-half, half, half, -half]))


def test_sizes_that_do_not_go_together_are_told() -> None:
    with pytest.raises(UsageError, match=r"no multiple of patch = 5; the nearest is \d+x\d+"):
        made("causal", patch=5)
    with pytest.raises(UsageError, match="2 heads"):
        made("causal", heads=3)
    with pytest.raises(UsageError, match="no blocks along time"):
        made("conv", "state")
