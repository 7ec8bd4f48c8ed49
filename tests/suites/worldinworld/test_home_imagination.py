"""What models are asked, and how their frames stand beside the plan."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import ModelError
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models
from worldgauge.suites.worldinworld.home_env import HomeTaskEnv
from worldgauge.suites.worldinworld.home_task import HomeImagination
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, Rollout
from worldgauge.suites.worldinworld.task import LoopSettings
from worldgauge.worlds.captions import caption_at
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import Stance, from_letters

FACTS = WorldFacts("indoor", {"seed": 3})
CAMERA, PANORAMA = Camera.from_horizontal_fov(48, 48, 90), Panorama(128, 72)


@pytest.fixture(scope="module")
def home() -> Home:
    return Home(3)


@pytest.fixture
def simulator(home: Home) -> HomeTaskEnv:
    spot = Geodesic(home.floor).random_point(np.random.default_rng(4))
    return HomeTaskEnv(home, Stance(float(spot[0]), float(spot[1]), 0.3), camera=CAMERA, panorama=PANORAMA)


class Asked:
    """Keeps what it is asked; draws grey."""

    def __init__(self, batches: bool = True, **spec: Any) -> None:
        self.spec = ModelSpec("asked", **spec)
        self.batches: list[int] = []
        self.requests: list[RolloutRequest] = []

    def rollout(self, request: RolloutRequest) -> list[Frames]:
        return self.rollout_batch([request])[0]

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        self.batches.append(len(requests))
        self.requests += requests
        width, height = requests[0].frame_size
        return [[np.full((request.horizon, height, width, 3), 99, np.uint8)] for request in requests]


def imagined(
    model: Any, simulator: HomeTaskEnv, steps: Sequence[str], task: str = "navigation", **settings: Any
) -> list[Rollout]:
    chosen = LoopSettings.of(settings)
    imagination = HomeImagination(model, simulator, chosen, chosen.of_task(task), FACTS, 5, "t")
    plans = [ActionPlan(from_letters(one), "test") for one in steps]
    return imagination(simulator.observe(), plans, 0)


def test_all_plans_of_a_decision_are_one_batch(simulator: HomeTaskEnv) -> None:
    model = Asked()
    imagined(model, simulator, ["FF", "FL", "FR"])
    assert (model.batches, len({request.seed for request in model.requests})) == ([3], 3)


def test_a_rate_means_nothing_where_a_frame_is_a_step(simulator: HomeTaskEnv) -> None:
    rated, plain = Asked(fps=16), Asked()
    (found,), (expected,) = (imagined(model, simulator, ["FFLF"]) for model in (rated, plain))
    assert rated.requests[0].horizon == plain.requests[0].horizon
    assert rated.requests[0].context.clip.fps == plain.requests[0].context.clip.fps
    np.testing.assert_array_equal(rated.requests[0].actions.values, plain.requests[0].actions.values)  # type: ignore[union-attr]
    np.testing.assert_array_equal(found.frames, expected.frames)


def test_the_home_is_described_to_every_model(simulator: HomeTaskEnv) -> None:
    model = Asked(inputs=frozenset({"caption"}))
    imagined(model, simulator, ["FF", "LLF"])
    turned = simulator.stance.turned(math.radians(45))
    expected = [
        caption_at(simulator.world, simulator.pose(stance), simulator.camera) for stance in (simulator.stance, turned)
    ]
    assert [request.caption for request in model.requests] == expected
    assert all(text and text.startswith("A bright ") for text in expected)


def test_leading_turns_are_real_frames_and_not_asked_for(simulator: HomeTaskEnv) -> None:
    model = Asked()
    (rollout,) = imagined(model, simulator, ["LLFR"])
    (request,) = model.requests
    assert request.horizon == 2
    np.testing.assert_array_equal(request.actions.values, [[1, 0, 0], [0, 0, 1]])  # type: ignore[union-attr]
    turned = simulator.stance.turned(math.radians(45))
    assert request.context.poses is None
    np.testing.assert_array_equal(rollout.frames[2], simulator.view(turned, CAMERA).rgb)
    np.testing.assert_array_equal(rollout.frames[0], simulator.observe().front)
    assert (rollout.exact, rollout.valid_len, rollout.frame_to_action.tolist()) == (3, 5, [0, 1, 2, 3, 4])
    assert (rollout.frames[3:] == 99).all()


def test_leading_turns_are_left_to_the_model_when_asked(simulator: HomeTaskEnv) -> None:
    model = Asked()
    (rollout,) = imagined(model, simulator, ["LLF"], leading_turns="model")
    assert (model.requests[0].horizon, rollout.exact) == (3, 1)


def test_a_plan_of_one_turn_asks_nothing(simulator: HomeTaskEnv) -> None:
    model = Asked()
    (rollout,) = imagined(model, simulator, ["LLL"])
    assert model.batches == []
    assert (rollout.exact, len(rollout.frames)) == (4, 4)


def test_padding_is_never_taken_for_plan(simulator: HomeTaskEnv) -> None:
    model = Asked()
    (rollout,) = imagined(model, simulator, ["RFFL"], "recognition", protocol="published")
    assert (model.requests[0].horizon, rollout.valid_len) == (13, 5)
    assert rollout.frame_to_action.tolist() == [0, 1, 2, 3, 4, *[-1] * 10]


def test_camera_and_text_say_the_same_steps(simulator: HomeTaskEnv) -> None:
    camera, text = Asked(control="camera"), Asked(control="text")
    imagined(camera, simulator, ["FL"])
    (told,) = imagined(text, simulator, ["FL"])
    poses = camera.requests[0].poses
    np.testing.assert_allclose(poses[0, :3, 3], [0.2, 0, 0], atol=1e-9)
    np.testing.assert_allclose(poses[1, :3, 3], poses[0, :3, 3], atol=1e-12)
    assert "0.2" in (text.requests[0].text or "")
    assert not told.aligned


def test_the_oracle_sees_walls(simulator: HomeTaskEnv) -> None:
    rollout = imagined(models.get("oracle")(), simulator, ["F" * 40])[0]
    assert rollout.frames.shape == (41, 48, 48, 3)
    stances = simulator.replayed(simulator.stance, from_letters("F" * 40))
    assert stances[-1] == stances[-2], "the walk is meant to end at a wall"
    np.testing.assert_array_equal(rollout.frames[-1], simulator.view(stances[-1], CAMERA).rgb)


@pytest.mark.parametrize("name", ["oracle", "freeze", "warp", "roll"])
def test_panoramas_show_every_side(name: str, simulator: HomeTaskEnv) -> None:
    model = models.get(name)(view="panorama")
    (rollout,) = imagined(model, simulator, ["LF"])
    assert rollout.frames.shape == (3, 72, 128, 3)
    assert rollout.seen(0, "back").shape == (48, 48, 3)
    seen, real = rollout.seen(1).astype(int), simulator.view(simulator.stance.turned(math.radians(22.5)), CAMERA).rgb
    # A panorama of 128 columns is coarser than the view.
    off = np.abs(seen - real).mean()
    assert off < 12
    assert off < 0.7 * np.abs(seen - simulator.observe().front.astype(int)).mean()


def test_depth_is_that_of_the_turned_view(simulator: HomeTaskEnv) -> None:
    for view in ("perspective", "panorama"):
        model = Asked(view=view, inputs=frozenset({"depth"}))
        imagined(model, simulator, ["RF"])
        context = model.requests[0].context
        turned = simulator.stance.turned(-math.radians(22.5))
        real = simulator.view(turned, CAMERA if view == "perspective" else PANORAMA).depth
        # At an edge a rolled pixel may fall to the other side of it.
        assert np.quantile(np.abs(context.depth(0) - real), 0.95) < 1e-4


def test_a_model_of_its_own_size_is_given_that(simulator: HomeTaskEnv) -> None:
    model = Asked(frame_size=(32, 24))
    (rollout,) = imagined(model, simulator, ["LF"])
    assert model.requests[0].frame_size == (32, 24)
    assert rollout.frames.shape == (3, 24, 32, 3)


def test_a_model_that_breaks_its_promise_is_named(simulator: HomeTaskEnv) -> None:
    class Short(Asked):
        def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
            return [[chunk[:1] for chunk in chunks] for chunks in super().rollout_batch(requests)]

    with pytest.raises(ModelError, match=r"asked.*after 1 of 2"):
        imagined(Short(), simulator, ["FF", "FR"])


def test_the_same_again_is_the_same(simulator: HomeTaskEnv) -> None:
    one, two = (imagined(models.get("degraded")(level=0.5), simulator, ["FF", "FR"]) for _ in range(2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.frames, b.frames)
    assert not np.array_equal(one[0].frames[1], one[1].frames[1])


def test_of_a_question_a_model_of_single_views_turns_around_at_the_end(simulator: HomeTaskEnv) -> None:
    model = Asked()
    (found,) = imagined(model, simulator, ["LFF"], "questions")
    asked = model.requests[0].actions
    ahead, left = [1, 0, 0], [0, 1, 0]
    np.testing.assert_array_equal(asked.values, [ahead] * 2 + [left] * 12)
    assert (found.valid_len, found.exact, len(found.frames)) == (4, 2, 16)
    np.testing.assert_array_equal(found.frame_to_action, [0, 1, 2, 3] + [-1] * 12)
    around = Asked(view="panorama")
    imagined(around, simulator, ["LFF"], "questions")
    assert around.requests[0].horizon == 2, "a panorama shows the end at once"
    paper = Asked(view="panorama")
    imagined(paper, simulator, ["LFF"], "questions", protocol="published")
    assert paper.requests[0].horizon == 13, "filled up with steps ahead"
