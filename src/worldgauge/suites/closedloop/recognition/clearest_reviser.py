"""`clearest`: names the thing in the red box from the real view, and goes where it is imagined to be seen best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Box, Image
from worldgauge.suites.closedloop.policies.contract import (
    Candidate,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    letters,
    revisers,
)
from worldgauge.suites.closedloop.recognition.box_tracking import BoxTracker
from worldgauge.suites.closedloop.recognition.recogniser import recogniser
from worldgauge.suites.closedloop.recognition.recogniser.recognition import identity
from worldgauge.suites.closedloop.recognition.tracking import Follow, Target, TrackedView, track_through
from worldgauge.worlds.indoor.homes import LABELS

MOST_DIFFERENT = 20.0
"""Mean difference of colour, in levels, above which a frame does not show the place where the agent is. In validation
homes nine of ten true ends differ by 9 or less (shadows of what was hidden), all ends in another home by 21 or more."""
_DIGITS = 6


@revisers.register("clearest", identity=identity, tasks=("recognition",), chat=False, imagines=True)
class ClearestReviser:
    """Answers from the real view alone, and takes the plan at whose imagined end the recogniser is surest.

    A plan counts only if the recogniser is surer there than of the real view now, and than of the last real one before
    what is imagined, and if the frame shows what was really seen, where it shows the same place. So a model that shows
    nothing new, or nothing true, brings no choice that turning on the spot would not bring too: then the first plan is
    taken, as it is where nothing was imagined. Option: tracker, "geometry" or "sam2".
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._follow: Follow = BoxTracker() if kit.options.get("tracker") == "sam2" else track_through

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """Return answer, confidence and plan; no answer if the target is not in the front view. See `Reviser.revise`.

        The score of a candidate is the confidence at its end, None for one that does not count.
        """
        first, chosen = (candidates[0].plan, 0) if candidates else (None, None)
        box = observation.box
        if box is None:
            return Decision(first, chosen, notes={"box": None})
        labels = [label for label in LABELS if not goal.choices or label in goal.choices]
        target = Target(box, observation.front, observation.depth("front"), observation.camera)
        now = _shares(observation.front, box, labels)
        sure = float(now.max())
        ends = [self._end(target, candidate, sure, labels) for candidate in candidates]
        scores = tuple(None if end is None else round(end, _DIGITS) for end in ends)
        known = [score for score in scores if score is not None]
        if known:
            chosen = scores.index(max(known))
        notes: dict[str, Any] = {
            "box": list(box),
            "now": {labels[k]: round(float(now[k]), _DIGITS) for k in np.argsort(-now, kind="stable")[:3]},
            "plans": [letters(candidate.plan.steps) for candidate in candidates],
        }
        plan = None if chosen is None else candidates[chosen].plan
        return Decision(plan, chosen, labels[int(np.argmax(now))], sure, scores=scores, notes=notes)

    def _end(self, target: Target, candidate: Candidate, sure: float, labels: Sequence[str]) -> float | None:
        """Return the confidence at the imagined end of a plan; None if it does not count."""
        rollout = candidate.rollout
        if rollout is None or rollout.valid_len <= rollout.exact:
            return None
        end, real = rollout.valid_len - 1, rollout.exact - 1
        seen = {one.frame: one for one in self._follow(target, candidate.plan, rollout, sorted({real, end} - {0}))}
        if end not in seen or seen[end].differs > MOST_DIFFERENT:
            return None
        if real in seen:
            sure = max(sure, self._confidence(seen[real], labels))
        there = self._confidence(seen[end], labels)
        return there if there > sure else None

    def _confidence(self, seen: TrackedView, labels: Sequence[str]) -> float:
        return float(_shares(seen.image, seen.box, labels).max())


def _shares(image: Image, box: Box, labels: Sequence[str]) -> FloatArray:
    """Probabilities (n,) of the labels."""
    found: FloatArray = recogniser().probabilities(image, box)[[LABELS.index(label) for label in labels]]
    return found
