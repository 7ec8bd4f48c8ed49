"""The paper's revision by LPIPS, looked at by a server here: which plan is taken, and what it is compared with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.places import TESTS
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError, WorldgaugeError
from worldgauge.core.geometry import Camera
from worldgauge.core.panorama import perspective
from worldgauge.perception.loading import _perceived
from worldgauge.suites.closedloop.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    PolicyKit,
    Reviser,
    Rollout,
    revisers,
)
from worldgauge.worlds.walking.primitives import Primitive

SERVER = TESTS / "support" / "perception_server.py"
CAMERA = Camera.from_horizontal_fov(64, 64, 90)
PANORAMA = np.random.default_rng(0).integers(0, 256, (128, 256, 3), np.uint8)
AHEAD = perspective(PANORAMA, CAMERA)
GREY = np.full_like(AHEAD, 128)
HERE: Any = SimpleNamespace(camera=CAMERA)


@pytest.fixture(scope="module")
def reviser() -> Iterator[Reviser[Any]]:
    """The stand-in's distance is the mean absolute difference of frames in [-1, 1]."""
    made: Any = revisers.get("lpips")(
        PolicyKit("navigation", 4, options={"lpips": f"cmd:{sys.executable} -m worldgauge_serve {SERVER}:Lpips"})
    )
    yield made
    made._network.close()
    _perceived.cache_clear()


def candidate(*frames: Any, valid: int | None = None) -> Candidate:
    film = np.stack([GREY, *frames])
    rollout = Rollout(film, "perspective", CAMERA, np.arange(len(film)), len(film) if valid is None else valid)
    return Candidate(ActionPlan((Primitive.FORWARD,) * len(frames), "test"), rollout, lambda: None)


def decided(reviser: Reviser[Any], *candidates: Candidate, goal: Any = PANORAMA) -> Decision:
    return reviser.revise(candidates, HERE, Goal(image=goal), [], np.random.default_rng(0))


def test_the_view_ahead_of_the_goal_is_at_no_distance(reviser: Reviser[Any]) -> None:
    made = decided(reviser, candidate(GREY), candidate(AHEAD))
    assert made.chosen == 1
    expected = 1 - np.abs(AHEAD.astype(float) - 128).mean() / 127.5
    assert made.scores == pytest.approx((expected, 1.0), abs=1e-5)


def test_all_frames_count_and_shorter_plans_repeat_their_last(reviser: Reviser[Any]) -> None:
    made = decided(reviser, candidate(GREY, AHEAD), candidate(AHEAD))
    assert made.chosen == 1
    assert made.scores[1] == pytest.approx(1)  # type: ignore[arg-type]
    alone = decided(reviser, candidate(GREY)).scores[0]
    assert made.scores[0] == pytest.approx((1 + alone) / 2)  # type: ignore[operator]


def test_the_first_of_equals_and_a_plan_without_frames_last(reviser: Reviser[Any]) -> None:
    assert decided(reviser, candidate(GREY), candidate(GREY)).chosen == 0
    made = decided(reviser, candidate(AHEAD, valid=1), candidate(GREY))
    assert (made.chosen, made.scores[0]) == (1, None)


def test_without_rollouts_the_first_and_without_a_picture_an_error(reviser: Reviser[Any]) -> None:
    plain = Candidate(ActionPlan((Primitive.FORWARD,), "test"), None, lambda: None)
    assert decided(reviser, plain, candidate(AHEAD)).chosen == 0
    with pytest.raises(UsageError, match="needs a goal image"):
        decided(reviser, candidate(AHEAD), goal=None)


def test_the_next_episode_looks_with_the_same_network(reviser: Reviser[Any]) -> None:
    address = f"cmd:{sys.executable} -m worldgauge_serve {SERVER}:Lpips"
    again: Any = revisers.get("lpips")(PolicyKit("navigation", 4, options={"lpips": address}))
    assert again._network is reviser._network  # type: ignore[attr-defined]


def test_without_weights_it_cannot_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_WEIGHTS", str(tmp_path))
    with pytest.raises(WorldgaugeError, match=r"reviser 'lpips'.*worldgauge weights pull lpips-alex"):
        revisers.get("lpips")(PolicyKit("navigation", 4))
