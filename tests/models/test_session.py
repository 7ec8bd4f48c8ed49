"""A walk inside a model in parts: equal to one rollout, forked, and with the state of the model itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from support.served import command
from worldgauge.core.episode import Episode
from worldgauge.core.errors import ModelError, UsageError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, checked_rollout
from worldgauge.models import models
from worldgauge.models.session import Session, open_session
from worldgauge.serving import open_model
from worldgauge.suites.loopnav.protocol import make_request
from worldgauge.suites.loopnav.settings import LoopNavSettings

HORIZON = 12
NEVER_AHEAD = ("truth", "freeze", "noise", "mean", "replay", "memory", "memory-plane", "drift", "planar")
"""Baselines of which the first frames of a rollout are a shorter rollout. `reencoded` and `forgetful` look ahead."""


class Counter:
    """A model that keeps its state: each frame is as grey as the number of frames since the context."""

    spec = ModelSpec("counter")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        yield self.step(0, request)[0]

    def begin(self, request: RolloutRequest) -> int:
        assert request.context.poses is None, "it declared none"
        return 0

    def step(self, state: int, request: RolloutRequest) -> tuple[Frames, int]:
        width, height = request.frame_size
        greys = np.arange(state + 1, state + 1 + request.horizon, dtype=np.uint8)
        return np.tile(greys[:, None, None, None], (1, height, width, 3)), state + request.horizon


class Wrong(Counter):
    def step(self, state: int, request: RolloutRequest) -> tuple[Frames, int]:
        return super().step(state, replace(request, horizon=request.horizon + 1))


def whole_request(model: Any, walk: tuple[Episode, int]) -> RolloutRequest:
    episode, start = walk
    frames = start + HORIZON
    return make_request(episode.first(frames), start, model.spec, LoopNavSettings(), seed=5)


def part_of(request: RolloutRequest, start: int, stop: int) -> RolloutRequest:
    return replace(
        request,
        horizon=stop - start,
        actions=None if request.actions is None else request.actions[start:stop],
        poses=None if request.poses is None else request.poses[start:stop],
        truth=None if request.truth is None else request.truth[start:stop],
        truth_poses=None if request.truth_poses is None else request.truth_poses[start:stop],
    )


def walked(session: Session, request: RolloutRequest, *cuts: int) -> Frames:
    edges = list(zip((0, *cuts), (*cuts, HORIZON), strict=True))
    return np.concatenate([session.step(part_of(request, *edge)) for edge in edges])


@pytest.mark.parametrize("name", NEVER_AHEAD)
def test_parts_from_the_start_are_one_rollout_to_the_bit(name: str, walk: tuple[Episode, int]) -> None:
    model = models.get(name)()
    request = whole_request(model, walk)
    fresh = np.concatenate(list(checked_rollout(model, request)))
    session = open_session(model, request, way="start")
    first = session.step(part_of(request, 0, 3))
    other = session.fork()
    rest = session.step(part_of(request, 3, HORIZON))
    np.testing.assert_array_equal(np.concatenate([first, rest]), fresh)
    # The fork goes its own way, and neither way changes the other.
    np.testing.assert_array_equal(other.step(part_of(request, 3, 7)), fresh[3:7])
    np.testing.assert_array_equal(other.step(part_of(request, 7, HORIZON)), fresh[7:])


def test_a_model_with_its_own_state(walk: tuple[Episode, int]) -> None:
    request = whole_request(Counter(), walk)
    session = open_session(Counter(), request)
    assert session.way == "own"
    own = walked(session, request, 2, 7)
    assert own[:, 0, 0, 0].tolist() == list(range(1, HORIZON + 1))
    np.testing.assert_array_equal(own, walked(open_session(Counter(), request, way="start"), request, 2, 7))


def test_a_fork_of_a_kept_state_goes_on_from_it(walk: tuple[Episode, int]) -> None:
    request = whole_request(Counter(), walk)
    session = open_session(Counter(), request)
    session.step(part_of(request, 0, 4))
    fork, again = session.fork(), session.fork()
    session.step(part_of(request, 4, 9))
    assert fork.step(part_of(request, 4, 6))[:, 0, 0, 0].tolist() == [5, 6]
    assert again.step(part_of(request, 4, 5))[0, 0, 0, 0] == 5


def test_frames_of_a_kept_state_are_checked(walk: tuple[Episode, int]) -> None:
    request = whole_request(Wrong(), walk)
    with pytest.raises(ModelError, match="4 frames where 3 were asked for"):
        open_session(Wrong(), request).step(part_of(request, 0, 3))


def test_a_model_without_state_sees_what_it_drew(walk: tuple[Episode, int]) -> None:
    class Echo(Counter):
        """Draws the number of frames that it was shown, and remembers their actions."""

        spec = ModelSpec("echo", max_context=6)
        begin = step = None  # type: ignore[assignment]

        def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
            width, height = request.frame_size
            context = request.context
            assert len(context.actions) == len(context) - 1
            seen.append((len(context), int(context.clip[-1][0, 0, 0]), context.actions.values[-1].tolist()))
            yield np.full((request.horizon, height, width, 3), 10 * len(seen), np.uint8)

    seen: list[tuple[int, int, list[float]]] = []
    request = whole_request(Echo(), walk)
    request = replace(request, context=request.context.last(2))
    session = open_session(Echo(), request)
    assert session.way == "drawn"
    walked(session, request, 2, 7)
    assert [one[0] for one in seen] == [2, 4, 6]
    assert [one[1] for one in seen[1:]] == [10, 20]
    assert request.actions is not None
    assert [one[2] for one in seen[1:]] == [request.actions.values[at].tolist() for at in (1, 6)]


def test_a_served_model_is_walked_in_and_forked(walk: tuple[Episode, int]) -> None:
    with closing(open_model(f"cmd:{command('Fade')}")) as model:
        request = whole_request(model, walk)
        session = open_session(model, request)
        session.step(part_of(request, 0, 2))
        fork = session.fork()
        frames = session.step(part_of(request, 2, 5))
        assert frames.shape == (3, 90, 160, 3)
        np.testing.assert_array_equal(frames, fork.step(part_of(request, 2, 5)))


@pytest.mark.parametrize(("name", "way"), [("freeze", "own"), ("truth", "drawn"), ("memory", "drawn")])
def test_ways_that_a_model_cannot_be_asked_in(name: str, way: Any, walk: tuple[Episode, int]) -> None:
    model = models.get(name)()
    with pytest.raises(UsageError, match=f"model '{name}' .*; use the way 'start'"):
        open_session(model, whole_request(model, walk), way=way)


def test_the_seed_of_a_part_is_its_own(walk: tuple[Episode, int]) -> None:
    model = models.get("noise")()
    request = whole_request(model, walk)
    one, other = open_session(model, request), open_session(model, replace(request, seed=6))
    first, second = (one.step(part_of(request, 0, 1)) for _ in range(2))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, other.step(part_of(request, 0, 1)))
