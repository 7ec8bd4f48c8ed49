"""Limits on how fast we ask, on a clock that does not wait."""

import threading
from collections.abc import Callable

import pytest

from support.chat_endpoint import FakeClock, FakeEndpoint, after, error, ok
from worldgauge.chat.model import ChatModel, Limits
from worldgauge.core.errors import UsageError

Make = Callable[..., ChatModel]


def sent_at(limits: Limits, clock: FakeClock, tokens: list[int]) -> list[float]:
    """When each of some calls is let through."""
    times = []
    for count in tokens:
        with limits.admit(count):
            times.append(clock.now() - 100.0)
    return times


def test_requests_and_tokens_per_minute() -> None:
    clock = FakeClock()
    times = sent_at(Limits(requests_per_minute=3, clock=clock), clock, [1] * 8)
    assert times == [0, 0, 0, 60, 60, 60, 120, 120]
    clock = FakeClock()
    times = sent_at(Limits(tokens_per_minute=100, clock=clock), clock, [60, 40, 1, 100, 50])
    assert times == [0, 0, 60, 120, 180]
    clock = FakeClock()
    limits = Limits(tokens_per_minute=100, clock=clock)
    with limits.admit(90) as sent:
        sent.tokens = 10
    assert sent_at(limits, clock, [90, 10]) == [0, 60]


def test_windows_and_questions_larger_than_a_minute(clock: FakeClock) -> None:
    limits = Limits(requests_per_minute=5, clock=clock)
    times = []
    for n in range(40):
        clock.time += (n * 7) % 13
        times += sent_at(limits, clock, [1])
    assert all(later - sooner >= 60 for sooner, later in zip(times, times[5:], strict=False))
    with (
        pytest.raises(UsageError, match="about 101 tokens, more than tokens_per_minute=100"),
        Limits(tokens_per_minute=100, clock=clock).admit(101),
    ):
        pass


@pytest.mark.parametrize("wrong", [{"requests_per_minute": 0}, {"tokens_per_minute": -1}, {"concurrency": 0}])
def test_limits_that_cannot_be_meant(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Limits(**wrong)


def test_retries_count_as_requests_and_waiting_for_limits_is_no_fault(
    chat: Make, endpoint: FakeEndpoint, clock: FakeClock
) -> None:
    endpoint.then(error(500), error(500))
    model = chat(limits=Limits(requests_per_minute=1, clock=clock), deadline=10.0)
    assert (model.ask("x").attempts, clock.now() - 100.0) == (3, pytest.approx(120))


def test_a_model_tells_the_limits_what_its_calls_took(chat: Make, endpoint: FakeEndpoint, clock: FakeClock) -> None:
    """About 2100 tokens are feared for each call and 18 taken: both fit into one minute."""
    model = chat(limits=Limits(tokens_per_minute=3000, clock=clock))
    model.ask("x")
    model.ask("y")
    assert clock.slept == []


def test_models_can_share_limits(chat: Make, endpoint: FakeEndpoint, clock: FakeClock) -> None:
    limits = Limits(requests_per_minute=1, clock=clock)
    chat(limits=limits).ask("x")
    chat(limits=limits).ask("y")
    assert clock.slept == [60]


def test_calls_at_once(chat: Make, endpoint: FakeEndpoint) -> None:
    """Two are let in; the others come when those are done."""
    go = threading.Event()
    endpoint.always = after(go, ok())
    model = chat(limits=Limits(concurrency=2))
    threads = [threading.Thread(target=model.ask, args=(f"q{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    while len(endpoint.asked) < 2:
        go.wait(0.01)
    go.set()
    for thread in threads:
        thread.join(30)
    assert (len(endpoint.asked), endpoint.most_at_once) == (6, 2)


def test_threads_share_the_window(clock: FakeClock) -> None:
    limits = Limits(requests_per_minute=4, concurrency=16, clock=clock)
    times: list[float] = []

    def work() -> None:
        with limits.admit(1) as sent:
            times.append(sent.at)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    times.sort()
    assert all(later - sooner >= 60 for sooner, later in zip(times, times[4:], strict=False))
