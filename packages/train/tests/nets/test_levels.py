"""Levels, loss and sampler: by hand, beside diffusers, and on a Gaussian whose answer is known."""

from itertools import pairwise

import pytest

torch = pytest.importorskip("torch")

from worldgauge_train.nets.architectures import descended, draw_levels, level_loss, noised, sampling_levels, shifted  # noqa: E402


def test_shift_by_hand() -> None:
    assert float(shifted(torch.tensor(0.5), 5.0)) == pytest.approx(2.5 / 3.0)
    assert float(shifted(torch.tensor(0.3), 1.0)) == pytest.approx(0.3)


def test_levels_of_the_sampler_are_those_of_diffusers() -> None:
    schedulers = pytest.importorskip("diffusers.schedulers")
    theirs = schedulers.FlowMatchEulerDiscreteScheduler(shift=5.0)
    theirs.set_timesteps(sigmas=[1 - k / 8 for k in range(8)])
    assert sampling_levels(8) == pytest.approx(theirs.sigmas.tolist(), abs=1e-6)


def test_steps_down_are_those_of_diffusers() -> None:
    schedulers = pytest.importorskip("diffusers.schedulers")
    theirs = schedulers.FlowMatchEulerDiscreteScheduler(shift=5.0)
    theirs.set_timesteps(sigmas=[1 - k / 4 for k in range(4)])
    generator = torch.Generator().manual_seed(1)
    x = y = torch.randn(2, 3, generator=generator)
    levels = sampling_levels(4)
    for k, step in enumerate(theirs.timesteps):
        guess = torch.tanh(x)
        y = theirs.step((y - guess) / levels[k], step, y).prev_sample
        x = descended(x, guess, levels[k], levels[k + 1])
        torch.testing.assert_close(x, y, atol=1e-6, rtol=0)
    torch.testing.assert_close(x, guess, atol=1e-6, rtol=0)


def test_exact_guesses_lead_to_the_distribution() -> None:
    mean, deviation = 1.5, 0.7
    x = torch.randn(200_000, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    levels = sampling_levels(200, shift=1.0)
    for t, following in pairwise(levels):
        kept = (1 - t) * deviation**2 / ((1 - t) ** 2 * deviation**2 + t**2)
        x = descended(x, mean + kept * (x - (1 - t) * mean), t, following)
    assert float(x.mean()) == pytest.approx(mean, rel=0.02)
    assert float(x.std()) == pytest.approx(deviation, rel=0.02)


def test_a_quarter_of_the_levels_is_pure_noise_and_none_is_zero() -> None:
    t = draw_levels(20_000, torch.Generator().manual_seed(3))
    assert float((t == 1).float().mean()) == pytest.approx(0.25, abs=0.01)
    assert float(t.min()) > 0
    assert float(t.max()) <= 1


def test_the_loss_is_that_of_the_velocity_down_to_a_level() -> None:
    x0, noise = torch.rand(3, 2, 4), torch.randn(3, 2, 4)
    guess, t = torch.rand(3, 2, 4), torch.tensor([1.0, 0.8, 0.1])
    x = noised(x0, noise, t)
    velocity = lambda frames: (x - frames) / t.reshape(-1, 1, 1)  # noqa: E731
    of_velocity = (velocity(guess) - velocity(x0)).square().flatten(1).mean(1)
    ours = level_loss(guess, x0, t)
    torch.testing.assert_close(ours[:2], of_velocity[:2])
    torch.testing.assert_close(ours[2], of_velocity[2] * (0.1 / 0.6) ** 2)


def test_level_0_is_the_frame_and_level_1_the_noise() -> None:
    x0, noise = torch.rand(2, 5), torch.randn(2, 5)
    torch.testing.assert_close(noised(x0, noise, torch.tensor([0.0, 1.0])), torch.stack([x0[0], noise[1]]))
