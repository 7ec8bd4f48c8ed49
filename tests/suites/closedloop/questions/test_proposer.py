"""The scripted two-level policy: what it proposes, when it answers, and what imagined views may and may not do."""

from dataclasses import replace

import numpy as np
import pytest

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera, Panorama
from worldgauge.suites.closedloop.home_env import HomeEnv
from worldgauge.suites.closedloop.policies.contract import (
    ActionPlan,
    Candidate,
    PastDecision,
    PolicyKit,
    Rollout,
    proposers,
    revisers,
)
from worldgauge.suites.closedloop.questions.episodes import ask_questions
from worldgauge.suites.closedloop.questions.proposer import WANTED, LandmarkProposer
from worldgauge.suites.closedloop.questions.reviser import ScriptedAnswerer
from worldgauge.suites.closedloop.questions.templates import read_question
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.ground import Level
from worldgauge.worlds.walking.primitives import Primitive

KIT = PolicyKit("questions", 13)
CAMERA = Camera.from_horizontal_fov(168, 144, 105.0)
PANORAMA = Panorama(256, 144)
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def home():
    return Home(2_000_002)


@pytest.fixture(scope="module")
def question(home):
    return ask_questions(home, Level(home.floor), home.objects, np.random.default_rng(1), 1)[0]


def simulator(home, start):
    return HomeEnv(home, start, camera=CAMERA, panorama=PANORAMA)


def imagined(observation, shade):
    """A clip whose last frame is all of one shade."""
    frames = np.stack([observation.panorama, np.full_like(observation.panorama, shade)])
    return Rollout(frames, "panorama", CAMERA, np.array([0, 1]), 2)


def test_they_are_registered():
    assert proposers.get("landmarks") is LandmarkProposer
    assert revisers.get("scripted-answerer") is ScriptedAnswerer


def test_plans_turn_and_go_ahead_in_different_directions(home, question):
    observation = simulator(home, question.start).observe()
    goal = Goal(text=question.question)
    plans = LandmarkProposer(KIT).propose(observation, goal, [], 3, RNG)
    assert 1 <= len(plans) <= 3
    assert all(plan.steps == (Primitive.FORWARD,) * 13 for plan in plans)
    turns = np.degrees([plan.turn_left_rad for plan in plans])
    gaps = np.abs((turns[:, None] - turns + 180) % 360 - 180)[np.triu_indices(len(turns), 1)]
    assert (gaps > 24.9).all()
    assert LandmarkProposer(KIT).propose(observation, goal, [], 3, np.random.default_rng(9)) == plans, "no chance in it"
    assert len(LandmarkProposer(KIT).propose(observation, goal, [], 1, RNG)) == 1


def test_what_is_asked_for_comes_first_when_it_is_in_sight(home):
    bed = next(one for one in home.objects if one.name == "bed")
    geodesic = Geodesic(home.floor)
    middle = np.add(bed.low, bed.high)[:2] / 2
    place = min(
        (geodesic.random_point(np.random.default_rng(n)) for n in range(300)),
        key=lambda xy: abs(np.hypot(*(xy - middle)) - 2.9) + 9 * (home.room_at(xy) != "bedroom"),
    )
    from worldgauge.worlds.walking.primitives import Stance

    observation = simulator(home, Stance(*place, 0.0)).observe()
    plans = LandmarkProposer(KIT).propose(observation, Goal(text="Is the bed made or unmade?"), [], 3, RNG)
    first = plans[0]
    assert first.aim["text"] == WANTED
    centre = np.array(first.aim["centre"])
    assert any(
        one.name == "bed" and (np.array(one.low) - 0.3 < centre).all() and (centre < np.array(one.high) + 0.3).all()
        for one in home.objects
    )


def test_it_answers_what_it_has_really_seen_and_nothing_before(home, question):
    form, slots = read_question(question.question)
    place = simulator(home, question.start)
    goal = Goal(text=question.question)
    answerer = ScriptedAnswerer(KIT, presence=lambda image: np.zeros(len(LABELS)))
    plan = ActionPlan((Primitive.FORWARD,) * 13, "test")
    before = answerer.revise([Candidate(plan, None, lambda: None)], place.observe(), goal, [], RNG)
    assert (before.answer, before.stop, before.plan, before.chosen) == (None, False, plan, 0)
    things = {one.instance: one for one in home.objects}
    history = [PastDecision(before, plan.steps, (), place.pose(place.stance))]
    geodesic = Geodesic(home.floor)
    after = before
    for number in question.evidence:
        middle = np.add(things[number].low, things[number].high)[:2] / 2
        x, y = geodesic.nearest(middle)
        place.stance = place.stance._replace(x=float(x), y=float(y))
        after = answerer.revise([Candidate(plan, None, lambda: None)], place.observe(), goal, history, RNG)
    assert form.answer(slots, home.objects).text == question.answer
    assert (after.answer, after.stop, after.plan) == (question.answer, True, None)
    begun_anew = ScriptedAnswerer(KIT).revise(
        [Candidate(plan, None, lambda: None)], simulator(home, question.start).observe(), goal, [], RNG
    )
    assert begun_anew.answer is None


def test_imagined_views_choose_the_plan_and_give_no_answer(home, question):
    observation = simulator(home, question.start).observe()
    goal = Goal(text="Is the bed in one of the bedrooms made or unmade?")
    plans = [ActionPlan((Primitive.FORWARD,) * 13, "test", turn) for turn in (0.0, 1.0, 2.0)]
    bedroom = np.array([float(label in ("bed", "cushion", "cabinet")) for label in LABELS])

    def presence(image):
        return bedroom if image.mean() > 250 else np.zeros(len(LABELS))

    def decide(*shades):
        candidates = [
            Candidate(plan, None if shade is None else imagined(observation, shade), lambda: None)
            for plan, shade in zip(plans, shades, strict=True)
        ]
        return ScriptedAnswerer(KIT, presence).revise(candidates, observation, goal, [], RNG)

    promising = decide(0, 255, 0)
    assert (promising.chosen, promising.answer) == (1, None)
    assert promising.scores[1] > promising.scores[0] + 0.3
    assert decide(0, 0, 0).chosen == 0, "nothing promised: the first"
    assert decide(255, 255, 255).chosen == 0, "all promise the same: the first"
    assert decide(None, None, None).chosen == 0
    assert decide(None, None, None).scores == ()
    assert decide(None, 0, 255).chosen == 2, "one that was not imagined cannot be compared"


def test_where_it_has_been_promises_nothing(home, question):
    observation = simulator(home, question.start).observe()
    plan = ActionPlan((Primitive.FORWARD,) * 13, "test", 1.0, {"metres": 0.4})
    other = replace(plan, turn_left_rad=0.0, aim=None)
    candidates = [Candidate(each, imagined(observation, 255 * n), lambda: None) for n, each in enumerate((other, plan))]
    answerer = ScriptedAnswerer(KIT, lambda image: np.full(len(LABELS), image.mean() / 255))
    goal = Goal(text="Is the bed in one of the bedrooms made or unmade?")
    answerer.revise(candidates[:1], observation, goal, [], RNG)
    past = PastDecision(answerer.revise(candidates[:1], observation, goal, [], RNG), (), (), observation.pose)
    assert answerer.revise(candidates, observation, goal, [past], RNG).scores[1] == 0.0
