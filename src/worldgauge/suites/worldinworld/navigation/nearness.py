"""`nearness` and its planners: a network tells how near an imagined view is to the goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Image
from worldgauge.suites.worldinworld.home_env import DIRECTIONS, free_m
from worldgauge.suites.worldinworld.home_strips import (
    COLUMNS,
    ROWS,
    VIEW_COLUMNS,
    Array,
    Strip,
    StripNetwork,
    Weights,
    layer_shapes,
    padded,
    panorama_strip,
    patches_of,
    read_network,
    view_strip,
)
from worldgauge.suites.worldinworld.navigation.reviser import PlaceSimilarity, soft_panorama, soft_view
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidates,
    Decision,
    History,
    HomeObservation,
    PlanSearch,
    PolicyKit,
    Rng,
    Rollout,
    revisers,
)
from worldgauge.suites.worldinworld.real_colours import RealColours
from worldgauge.worlds.walking.primitives import STEP_M, Primitive, Steps

VERSION = 2
FILE = "nearness.npz"
"""The shipped one, beside this module."""
GROUPS, GROUP = 8, 4
"""A descriptor is so many unit vectors of so many numbers; their dot products are what is matched."""
FIRST, SECOND, HIDDEN, LAST = 24, 32, 48, 32
"""Units of the layers."""
SEEN, AROUND = VIEW_COLUMNS // 4, COLUMNS // 4
"""Descriptors of a view, and of a panorama."""
ASIDE = (-1, 0, 1)
"""Neighbours that a column may match too: near things shift more than far ones."""
FAR_M = 6.0
"""Places farther away count as so far."""
_SOFT = 0.1

_MATCHED = (
    np.arange(SEEN)[:, None, None] + np.arange(AROUND)[None, :, None] + np.array(ASIDE)[None, None]
) % AROUND  # (view column, shift, aside) -> panorama column


def shapes() -> dict[str, tuple[int, ...]]:
    """Shape of every array of weights."""
    described = (27, FIRST), (9 * FIRST, SECOND), (3 * ROWS // 4 * SECOND, GROUPS * GROUP)
    return layer_shapes(*described, (SEEN * len(ASIDE) * GROUPS, HIDDEN), (2 * HIDDEN, LAST), (LAST, 1))


@dataclass(frozen=True)
class Encoded:
    """Descriptors (n, columns, GROUPS, GROUP) of strips, unit vectors, and what training needs of their origin."""

    descriptors: Array
    wraps: bool
    kept: Mapping[str, Array]


@dataclass(frozen=True)
class MatchEstimates:
    """Estimates for pairs, and what training needs of how they came about. `estimates`: (views, panoramas)."""

    estimates: Array
    kept: Mapping[str, Array]


def encode(weights: Weights, strips: Strip, *, wraps: bool) -> Encoded:
    """Descriptors of strips. `strips`: (n, 24, columns, 3)."""
    patches1 = patches_of(padded(strips, wraps))
    first = np.maximum(patches1 @ weights["w1"] + weights["b1"], 0)
    patches2 = patches_of(padded(first, wraps))
    second = np.maximum(patches2 @ weights["w2"] + weights["b2"], 0)
    n, rows, columns, units = second.shape
    upright = second.transpose(0, 2, 1, 3).reshape(n, columns, rows * units)
    ends = (upright[:, -1:], upright[:, :1]) if wraps else (upright[:, :1], upright[:, -1:])
    wide = np.concatenate([ends[0], upright, ends[1]], axis=1)
    threes = np.concatenate([wide[:, :-2], wide[:, 1:-1], wide[:, 2:]], axis=2)
    raw = (threes @ weights["w3"] + weights["b3"]).reshape(n, columns, GROUPS, GROUP)
    length = np.sqrt((raw**2).sum(-1, keepdims=True) + _SOFT)
    kept = {"patches1": patches1, "first": first, "patches2": patches2, "second": second, "threes": threes}
    return Encoded(raw / length, wraps, {**kept, "length": length})


def match(weights: Weights, views: Encoded, panoramas: Encoded) -> MatchEstimates:
    """Estimates for each view and panorama of the square root of the metres to walk, at most that of FAR_M."""
    v, p = len(views.descriptors), len(panoramas.descriptors)
    seen = views.descriptors.transpose(2, 0, 1, 3).reshape(GROUPS, v * SEEN, GROUP)
    around = panoramas.descriptors.transpose(2, 0, 1, 3).reshape(GROUPS, p * AROUND, GROUP)
    alike = (seen @ around.transpose(0, 2, 1)).reshape(GROUPS, v, SEEN, p, AROUND).transpose(1, 3, 2, 4, 0)
    shifted = alike[:, :, np.arange(SEEN)[:, None, None], _MATCHED].transpose(0, 1, 3, 2, 4, 5)
    matches = shifted.reshape(v, p, AROUND, -1)
    hidden = np.maximum(matches @ weights["w4"] + weights["b4"], 0)
    pooled = np.concatenate([hidden.max(axis=2), hidden.mean(axis=2)], axis=-1)
    last = np.maximum(pooled @ weights["w5"] + weights["b5"], 0)
    estimates = (last @ weights["w6"] + weights["b6"])[..., 0]
    kept = {"seen": seen, "around": around, "matches": matches, "hidden": hidden, "pooled": pooled, "last": last}
    return MatchEstimates(estimates, kept)


class Nearness(StripNetwork):
    """A trained network."""

    def encoded(self, panorama: Strip) -> Encoded:
        """Descriptors of the panorama at a goal."""
        return encode(self.weights, panorama[None], wraps=True)

    def far(self, view: Strip, goal: Encoded) -> float:
        """About the root of the metres from a view to a goal; lower is nearer."""
        found = match(self.weights, encode(self.weights, view[None], wraps=False), goal)
        return float(found.estimates[0, 0])


@lru_cache(maxsize=1)
def shipped() -> Nearness:
    """The network that comes with worldgauge."""
    return read(files(__package__).joinpath(FILE).read_bytes(), FILE)


def identity() -> str:
    """What the answers of the shipped network depend on."""
    facts = shipped().facts
    return f"nearness-{facts['version']}-{facts['trained_on']['digest'][:16]}"


def read(content: bytes, name: str) -> Nearness:
    """Read the bytes that `save_network` wrote."""
    return Nearness(*read_network(content, name, "network of nearness", VERSION, shapes()))


SIMILARITY_WEIGHT = 0.5
"""Of the similarity of places beside the network's estimate. Both see what the other does not: with an earlier network,
on 60 episodes in validation homes with true rollouts, similarity alone reached 77 %, the network alone 72 %, the two
together 88 %."""
_DIGITS = 4
"""Of a score: sums of a matrix product may differ in the last ones from one processor to another."""


@dataclass(frozen=True)
class GoalPlace:
    """How far views are from the place of a goal. `image`: The panorama that was taken there, (H, W, 3) uint8."""

    image: Image
    similarity: PlaceSimilarity
    encoded: Encoded

    @classmethod
    def of(cls, image: Image, hfov_deg: float) -> GoalPlace:
        """The place of a panorama, for views of a horizontal field of view in degrees."""
        return cls(image, PlaceSimilarity(image, hfov_deg), shipped().encoded(panorama_strip(soft_panorama(image))))

    def far(self, view: Image, camera: Camera) -> float:
        """How far a view (H, W, 3) uint8 is from the goal; without unit, lower is nearer."""
        learned = shipped().far(view_strip(soft_view(view), camera), self.encoded)
        return round(learned + SIMILARITY_WEIGHT * self.similarity.distance(view), _DIGITS)


class Nearby:
    """How far the goal seems to be in a decision: `place` is the goal's, and colours are those of `observation`."""

    def __init__(self, place: GoalPlace, observation: HomeObservation) -> None:
        self._place, self._colours = place, RealColours(observation)

    def end(self, plan: ActionPlan, rollout: Rollout) -> float:
        """How far the goal seems to be from the plan's end; without unit, lower is nearer."""
        return self._restored(plan, rollout, rollout.valid_len - 1)

    def before(self, plan: ActionPlan, rollout: Rollout) -> float:
        """Estimate for the last real view, also as the plan's end, so that a frozen picture never seems nearer."""
        real = rollout.exact - 1
        return min(self._place.far(rollout.seen(real), rollout.camera), self._restored(plan, rollout, real))

    def _restored(self, plan: ActionPlan, rollout: Rollout, frame: int) -> float:
        view = self._colours.restored(rollout.seen(frame), rollout.camera, plan)
        return self._place.far(view, rollout.camera)


@revisers.register("nearness", tasks=("navigation",), imagines=True, identity=identity)
class NearnessReviser:
    """Takes the plan whose last imagined frame seems nearest to the goal, by a learned estimate and by likeness.

    It must also seem nearer than the last real frame before it. So a model that shows nothing new or true brings no
    choice, and the first plan is taken, as without rollouts.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._goal: GoalPlace | None = None

    def revise(
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """Choose the plan that seems to lead nearest to the goal; see `Reviser.revise`."""
        if any(candidate.rollout is None for candidate in candidates):
            return Decision(candidates[0].plan, 0)
        nearby = self._nearby(goal, observation)
        scores = [_score(one.plan, one.rollout, nearby) for one in candidates if one.rollout is not None]
        known = [score for score in scores if score is not None]
        chosen = scores.index(max(known)) if known else 0
        return Decision(candidates[chosen].plan, chosen, scores=tuple(scores))

    def _nearby(self, goal: Goal, observation: HomeObservation) -> Nearby:
        if goal.image is None:
            raise UsageError("the reviser 'nearness' needs a goal image")
        if self._goal is None or self._goal.image is not goal.image:
            self._goal = GoalPlace.of(goal.image, observation.camera.hfov_deg)
        return Nearby(self._goal, observation)


def _score(plan: ActionPlan, rollout: Rollout, nearby: Nearby) -> float | None:
    """Return how near the plan's end is, higher is nearer; None where it is not nearer than what is really seen."""
    if rollout.valid_len <= rollout.exact:
        return None
    there = nearby.end(plan, rollout)
    return -there if there < nearby.before(plan, rollout) else None


ELITES = 1 / 3
"""Share of the plans so far that the next ones are drawn around."""
LEAST_SPREAD = (0.8, 1.0, 1.5, 1.5)
"""Standard deviations below which no round goes: turns and steps of the first leg, then of the second."""

DRAWS = 8
"""Most draws for a plan that is taken: several fall on one, or on what is there."""


@revisers.register("cem", tasks=("navigation",), imagines=True, identity=identity)
class CrossEntropyReviser(NearnessReviser, PlanSearch):
    """Draws new plans around the best imagined ones, has them imagined, and so on; then decides as `nearness` does.

    Each round fits a normal distribution over two legs (turn, straight, twice) to the best third (Rubinstein 1999, with
    a least spread). Depth keeps the first leg on free floor, as in `fan`; only the world model knows of the second.
    """

    rounds = 3
    name = "cem"

    def __init__(self, kit: PolicyKit) -> None:
        super().__init__(kit)
        self._length = kit.length

    def further(
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, n: int, rng: Rng
    ) -> list[ActionPlan]:
        """Plans around the best ones; see `PlanSearch.further`."""
        nearby = self._nearby(goal, observation)
        known = []
        for candidate in candidates:
            plan, rollout = legs_of(candidate.plan.steps), candidate.rollout
            if plan is not None and rollout is not None:
                known.append((nearby.end(candidate.plan, rollout), plan))
        if not known:
            return []
        known.sort(key=lambda one: one[0])
        legs = np.array([plan for _, plan in known], float)
        # Half around to the left is half around to the right: count turns from those of the best plan.
        legs[:, 0] = legs[0, 0] + wrapped(legs[:, 0] - legs[0, 0])
        middle, spread = self.drawn_from(np.array([far for far, _ in known]), legs)
        drawn = np.rint(rng.normal(middle, spread, (DRAWS * n, len(spread)))).astype(int)
        free, there = free_m(observation), {candidate.plan.steps for candidate in candidates}
        fresh = dict.fromkeys(steps for one in drawn if (steps := self._steps(one, free)) and steps not in there)
        return [ActionPlan(steps, self.name) for steps in list(fresh)[:n]]

    def drawn_from(self, far: FloatArray, legs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (4,) of the next plans, from `legs` (n, 4), nearest to the goal first."""
        elites = legs[: max(2, round(ELITES * len(legs)))]
        return elites.mean(0), np.maximum(elites.std(0), LEAST_SPREAD)

    def _steps(self, legs: Sequence[int], free: FloatArray) -> Steps:
        turn, ahead, second, further = (int(one) for one in legs)
        turn = int(wrapped(np.array(turn)))
        if not second:  # one leg straight on
            ahead, further = ahead + max(further, 0), 0
        most = int(min(free[turn % DIRECTIONS] / STEP_M + 1e-9, self._length))
        steps = _turns(turn) + (Primitive.FORWARD,) * min(max(ahead, 0), most)
        if ahead <= most:  # beyond what stands there is no second leg
            steps += _turns(second) + (Primitive.FORWARD,) * max(further, 0)
        steps = steps[: self._length]
        while steps and steps[-1] is not Primitive.FORWARD:  # turns at the end lead nowhere
            steps = steps[:-1]
        return steps


def legs_of(steps: Steps) -> tuple[int, int, int, int] | None:
    """A plan as turns to the left, steps ahead, turns to the left, steps ahead; None for one of another form."""
    rest, found = list(steps), []
    for _ in range(2):
        turn = 0
        while rest and rest[0] in (Primitive.TURN_LEFT, Primitive.TURN_RIGHT):
            turn += 1 if rest.pop(0) is Primitive.TURN_LEFT else -1
        ahead = 0
        while rest and rest[0] is Primitive.FORWARD:
            rest.pop(0)
            ahead += 1
        found += [turn, ahead]
    return None if rest else (found[0], found[1], found[2], found[3])


def wrapped(turns: np.ndarray) -> np.ndarray:
    """Turns to the left as the shortest way there, from half around to the right to half around to the left."""
    half = DIRECTIONS // 2
    return half - (half - turns) % DIRECTIONS


def _turns(left: int) -> Steps:
    return (Primitive.TURN_LEFT if left > 0 else Primitive.TURN_RIGHT,) * abs(left)


TEMPERATURE = 0.3
"""Lambda, in standard deviations of the distances so far: their unit is the network's own."""
SPREAD = (1.5, 1.5, 2.0, 2.0)
"""Standard deviations of turns and steps of the first leg, then of the second."""


@revisers.register("mppi", tasks=("navigation",), imagines=True, identity=identity)
class PathIntegralReviser(CrossEntropyReviser):
    """Draws new plans around the weighted mean of all so far, with a spread that stays (Williams et al. 2017, MPPI).

    A plan weighs exp(-far / lambda), far being how far from the goal its imagined end seems.
    """

    name = "mppi"

    def drawn_from(self, far: FloatArray, legs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the next plans are drawn; see `CrossEntropyReviser.drawn_from`."""
        weights = np.exp(-(far - far.min()) / max(TEMPERATURE * float(far.std()), 1e-9))
        middle: FloatArray = weights @ legs / weights.sum()
        return middle, np.array(SPREAD)
