"""What imagined panoramas may and may not do: they choose the way, and nothing new adds nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.core.image import Image
from worldgauge.core.panorama import rolled
from worldgauge.suites.closedloop.home_env import HomeEnv
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Candidate, Decision, PolicyKit, Rollout, revisers
from worldgauge.suites.closedloop.questions import panorama_reader as panorama_answerer
from worldgauge.suites.closedloop.questions.answering import parse_question
from worldgauge.suites.closedloop.questions.panorama_reader import MARGIN, PanoramaAnswerer, Reading, promise
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.primitives import QUARTER_TURN, Primitive, Stance

KIT = PolicyKit("questions", 60)
CAMERA, PANORAMA = Camera.from_horizontal_fov(84, 72, 105.0), Panorama(256, 144)
RNG = np.random.default_rng(0)
GOAL = Goal(text="Is the oven on or off?")
PLANS = [ActionPlan((Primitive.FORWARD,) * steps, "test") for steps in (3, 4, 5)]


@pytest.fixture(scope="module")
def env() -> HomeEnv:
    home = Home(2_000_002)
    made = HomeEnv(home, Stance(0.0, 0.0, 0.0), camera=CAMERA, panorama=PANORAMA)
    x, y, _ = made.ground.nearest([*made.rooms[0].middle, 0.0])
    made.stance = made._start = Stance(float(x), float(y), 0.3)
    return made


def middle(env: HomeEnv, kind: str) -> Image:
    """The panorama in the middle of the first room of a kind."""
    room = next(room for room in env.world.plan.rooms if room.kind == kind)  # type: ignore[attr-defined]
    x, y, _ = env.ground.nearest([*(np.array(room.low) + np.array(room.high)) / 2, 0.0])
    return env.view(Stance(float(x), float(y), 0.0), PANORAMA).rgb


def panoramas(real: Image, ends: Sequence[Image]) -> list[Rollout]:
    return [Rollout(np.stack([real, end]), "panorama", CAMERA, np.array([0, 1]), 2) for end in ends]


def decide(env: HomeEnv, rollouts: Sequence[Rollout | None]) -> Decision:
    candidates = [Candidate(plan, rollout, lambda: None) for plan, rollout in zip(PLANS, rollouts, strict=True)]
    return PanoramaAnswerer(KIT).revise(candidates, env.observe(), GOAL, [], RNG)


def test_the_way_whose_end_shows_the_room_of_the_thing_is_taken(env: HomeEnv) -> None:
    real = env.observe().panorama
    ends = [middle(env, kind) for kind in ("bedroom", "bathroom", "kitchen")]
    found = decide(env, panoramas(real, ends))
    assert (found.chosen, found.answer, found.plan) == (2, None, PLANS[2])
    assert found.scores[2] is not None
    assert found.scores[0] is not None
    assert found.scores[2] > found.scores[0] + MARGIN


def test_without_anything_new_the_first_way_is_taken(env: HomeEnv) -> None:
    real = env.observe().panorama
    assert decide(env, [None] * 3).chosen == 0
    assert decide(env, [None] * 3).scores == ()
    still = decide(env, panoramas(real, [rolled(real, 22.5 * turns) for turns in range(3)]))
    assert still.chosen == 0
    assert decide(env, panoramas(real, [middle(env, "kitchen")] * 3)).chosen == 0, "all promise the same"


def test_of_a_model_of_single_views_the_end_is_read_all_around(env: HomeEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []

    class Reads:
        def read(self, strip: Any) -> Reading:
            read.append(strip)
            return Reading({}, {})

    monkeypatch.setattr(panorama_answerer, "shipped", Reads)
    shades = np.arange(0, 3 + 3 * QUARTER_TURN + 1, dtype=np.uint8) * 10
    frames = np.broadcast_to(shades[:, None, None, None], (len(shades), 72, 84, 3)).copy()
    steps = np.where(np.arange(len(shades)) < 4, np.arange(len(shades)), -1)
    decide(env, [Rollout(frames, "perspective", CAMERA, steps, 4), None, None])
    then, now = (np.rint((strip[24, 32::64, 0] + 1) * 127.5).tolist() for strip in read)
    # Frame 3 is the plan's end; the model then turned left: the left is frame 7, behind 11, the right 15.
    assert then == [30.0, 150.0, 110.0, 70.0]
    assert now == [0.0, 0.0, 0.0, 0.0]
    assert read[0].shape == (48, 256, 3)


def test_the_answer_comes_from_what_was_really_seen(env: HomeEnv) -> None:
    things = env.things
    oven = next(thing for thing in things.values() if thing.name == "oven")
    x, y, _ = env.ground.nearest((np.array(oven.low) + np.array(oven.high)) / 2)
    before = env.stance
    answerer = PanoramaAnswerer(KIT)
    candidates = [Candidate(PLANS[0], None, lambda: None)]
    assert answerer.revise(candidates, env.observe(), GOAL, [], RNG).answer is None
    env.stance = Stance(float(x), float(y), 0.0)
    found = answerer.revise(candidates, env.observe(), GOAL, [], RNG)
    env.stance = before
    assert (found.answer, found.stop, found.plan) == (oven.state, True, None)


def test_the_promise_by_hand() -> None:
    reading = Reading({"kitchen": 0.5, "study": 0.25}, {"oven": 0.8, "books": 0.4, "table lamp": 0.6, "desk": 0.2})
    assert promise(reading, parse_question("Is the oven on or off?")) == pytest.approx(0.8)
    assert promise(reading, parse_question("Is the oven in the kitchen on or off?")) == pytest.approx(0.4)
    assert promise(reading, parse_question("What in the kitchen is red?")) == pytest.approx(0.5)
    nearer = "Is the desk closer to the table lamp or to the books?"
    assert promise(reading, parse_question(nearer)) == pytest.approx(0.4), "the mean of those that it is about"
    assert promise(reading, parse_question("Hello?")) == 1.0, "nothing to look for: every place is alike"


def test_it_is_registered_with_what_its_answers_depend_on() -> None:
    assert revisers.get("panorama-answerer") is PanoramaAnswerer
    assert revisers.entry("panorama-answerer").facts["identity"]().startswith("panorama-reader-2-")
