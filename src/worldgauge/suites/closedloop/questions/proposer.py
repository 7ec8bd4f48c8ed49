"""Where to look for the answer to a question: promising landmarks and frontiers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import FloatArray, wrap_angle
from worldgauge.suites.closedloop.policies.contract import (
    SIDES,
    YAW_RIGHT_DEG,
    ActionPlan,
    History,
    HomeObservation,
    PolicyKit,
    Side,
    proposers,
)
from worldgauge.suites.closedloop.questions.detecting import finder
from worldgauge.suites.closedloop.questions.generate.habits import rooms_of
from worldgauge.suites.closedloop.questions.landmarks import Landmark, Landmarks, Mask
from worldgauge.suites.closedloop.questions.parsed import ParsedQuestion, parse_question
from worldgauge.suites.closedloop.questions.scene.explored import ExploredFloor, Frontier
from worldgauge.suites.closedloop.questions.scene.open_heading import HeadingRule, open_heading
from worldgauge.suites.closedloop.questions.travel import WORDS_STEPS
from worldgauge.worlds.walking.primitives import STEP_M, Primitive

SOURCE = "landmarks"
WANTED = "towards what is asked for"
ONWARD = "to where the floor has not been seen"
OPEN = "to where the view is open"
BESIDE = "to look from there"

APART = math.radians(25)
"""Least angle between the headings of two plans."""
SIZE_WORTH = 0.7
"""Metres of detour that a metre of frontier is worth, up to LARGE_M."""
LARGE_M = 2.0
LIKELY_WORTH_M = 3.0
"""Metres of detour that the right room is worth."""
NEAR_M = 2.0
"""A landmark this close indicates which room a frontier is in."""
_STUCK_M = 0.2


@proposers.register("landmarks", tasks=("questions",), chat=False)
class LandmarkProposer:
    """Headings for a question, the most promising first.

    The order is: what is asked for, where it is in sight; landmarks of the room it is said to be in; frontiers (near
    ones, large ones, those of likely rooms); other landmarks.

    It reads the question's words, the exact masks and facts of what is in sight, and depth; it keeps a map of the
    episode, reset when there is no history. Options: open_heading, "pinhole" or "linear"; landmarks, "exact" or
    "detected": then a landmark is in the rooms that things of its name are in elsewhere.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._steps = (Primitive.FORWARD,) * min(kit.length, WORDS_STEPS)
        self._rule: HeadingRule = kit.options.get("open_heading", "pinhole")
        self._find = finder(kit)
        self._landmarks = Landmarks(self._find)
        self._explored = ExploredFloor()
        self._wanted: ParsedQuestion | None = None

    def propose(
        self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: np.random.Generator
    ) -> Sequence[ActionPlan]:
        """Propose turns, each with L steps forward; see `Proposer.propose`.

        The aim of a plan holds its landmark, or the metres of the way.
        """
        pose = observation.pose
        if not history or self._wanted is None:
            self._landmarks, self._explored = Landmarks(self._find), ExploredFloor(float(pose[2, 3]))
            self._wanted = parse_question(goal.text or "")
        elif any(history[-1].collided):
            self._explored.block(pose[:2, 3] + _STUCK_M * pose[:2, 2])
        seen = self._landmarks.look(observation)
        self._explored.take(pose, observation.panorama_depth)
        tried = {(past.decision.plan.aim or {}).get("landmark") for past in history if past.decision.plan is not None}
        at_hand = [(side, self._landmarks[number]) for side, number in _clearest(seen) if number not in tried]
        plans: list[ActionPlan] = []
        for side, landmark in self._promising(at_hand, observation):
            self._add(plans, self._to(landmark, side, pose, WANTED), n)
        for frontier in self._ordered(observation):
            self._add(plans, self._onward(frontier, pose), n)
        for side, landmark in sorted(at_hand, key=lambda item: item[1].distance_m(pose)):
            if not landmark.visited and not landmark.passage:
                self._add(plans, self._to(landmark, side, pose, BESIDE), n)
        for side in SIDES:
            right = open_heading(observation.depth(side), observation.camera.hfov_deg, rule=self._rule)
            if right is not None:
                left = float(wrap_angle(-right - math.radians(YAW_RIGHT_DEG[side])))
                self._add(
                    plans, ActionPlan(self._steps, SOURCE, left, {"view": side, "landmark": None, "text": OPEN}), n
                )
        return plans

    def _promising(
        self, at_hand: Iterable[tuple[Side, Landmark]], observation: HomeObservation
    ) -> list[tuple[Side, Landmark]]:
        """Return landmarks that are asked for, nearest first; if there are none, those of the room asked about."""
        asked = self._wanted
        assert asked is not None
        named, inside = [], []
        for side, landmark in at_hand:
            if landmark.visited:
                continue
            fits = asked.room is None or asked.room in _rooms(landmark, observation)
            if landmark.name in asked.names and fits:
                named.append((side, landmark))
            elif asked.room is not None and fits and not landmark.passage:
                inside.append((side, landmark))
        return sorted(named or inside, key=lambda item: item[1].distance_m(observation.pose))

    def _ordered(self, observation: HomeObservation) -> list[Frontier]:
        """Return frontiers by cost: metres of the way, less what size and a likely room are worth."""
        asked = self._wanted
        assert asked is not None
        known = list(self._landmarks)

        def cost(frontier: Frontier) -> float:
            near = [one for one in known if math.hypot(*(one.centre[:2] - frontier.xy)) < NEAR_M]
            nearest = min(near, key=lambda one: math.hypot(*(one.centre[:2] - frontier.xy)), default=None)
            rooms = {} if nearest is None else _rooms(nearest, observation)
            likely = sum(share * asked.rooms.get(room, 0.0) for room, share in rooms.items())
            return frontier.walk_m - SIZE_WORTH * min(frontier.size_m, LARGE_M) - LIKELY_WORTH_M * likely

        return sorted(self._explored.frontiers(observation.pose), key=cost)

    def _onward(self, frontier: Frontier, pose: FloatArray) -> ActionPlan:
        to = frontier.towards - pose[:2, 3]
        left = float(wrap_angle(math.atan2(to[1], to[0]) - math.atan2(pose[1, 2], pose[0, 2])))
        # One step beyond what is seen, at least one step.
        metres = min(math.hypot(*to) + STEP_M, len(self._steps) * STEP_M)
        aim = {"view": _side(left), "landmark": None, "text": ONWARD, "metres": round(metres, 3)}
        return ActionPlan(self._steps, SOURCE, left, aim)

    def _to(self, landmark: Landmark, side: Side, pose: FloatArray, text: str) -> ActionPlan:
        return ActionPlan(self._steps, SOURCE, landmark.left_rad(pose), landmark.aim(side, text))

    def _add(self, plans: list[ActionPlan], plan: ActionPlan, n: int) -> None:
        apart = all(abs(float(wrap_angle(plan.turn_left_rad - one.turn_left_rad))) > APART for one in plans)
        if len(plans) < n and apart:
            plans.append(plan)


def _rooms(landmark: Landmark, observation: HomeObservation) -> Mapping[str, float]:
    """How likely a landmark is in which room: known of an exact one, else as things of its name are in train homes."""
    thing = observation.things.get(landmark.instance)
    return {thing.room: 1.0} if thing is not None and thing.room else rooms_of(landmark.name)


def _clearest(seen: dict[Side, dict[int, Mask]]) -> list[tuple[Side, int]]:
    """Return each landmark in sight once, with the view that shows most of it."""
    best: dict[int, tuple[int, Side]] = {}
    for side, masks in seen.items():
        for number, mask in masks.items():
            size = int(mask.sum())
            if number not in best or size > best[number][0]:
                best[number] = size, side
    return [(side, number) for number, (_, side) in best.items()]


def _side(left_rad: float) -> Side:
    """Return the view whose axis is nearest to a heading."""
    return min(SIDES, key=lambda side: abs(float(wrap_angle(left_rad + math.radians(YAW_RIGHT_DEG[side])))))
