"""`panorama-answerer`: takes the way whose imagined end shows the room and the things that the question is about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldgauge.core.episode import Goal
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.suites.closedloop.home.strips import Strip, panorama_strip, view_strip
from worldgauge.suites.closedloop.policies.contract import (
    Candidate,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    Rollout,
    revisers,
)
from worldgauge.suites.closedloop.questions.answering import SeenThings
from worldgauge.suites.closedloop.questions.panorama_reader.network import Reading, identity, shipped
from worldgauge.suites.closedloop.questions.panorama_reader.samples import FINER
from worldgauge.suites.closedloop.questions.parsed import ParsedQuestion
from worldgauge.worlds.walking.primitives import QUARTER_TURN

MARGIN = 0.02
"""Least advantage over the first way for another to be taken; less is noise."""
_DIGITS = 4
"""Of a score: sums of a matrix product may differ in the last ones from one processor to another."""


@revisers.register("panorama-answerer", tasks=("questions",), chat=False, imagines=True, identity=identity)
class PanoramaAnswerer:
    """Answers from what was really seen (`SeenThings`); what is imagined only chooses the way.

    A way is worth the probability that its end shows what is asked for, as a small network reads it from pixels: of
    the imagined panorama at the end, less of the last real frame, read in the same form. So a model that shows nothing
    new adds nothing. The first way is taken unless another is better by MARGIN, and where nothing was imagined.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._seen: SeenThings | None = None

    def revise(
        self,
        candidates: Sequence[Candidate],
        observation: HomeObservation,
        goal: Goal,
        history: History,
        rng: np.random.Generator,
    ) -> Decision:
        """Return the answer if it is known, else the most promising way; see `Reviser.revise`."""
        if not history or self._seen is None:
            self._seen = SeenThings(goal.text or "")
        self._seen.look(observation)
        answered = self._seen.answer()
        if answered is not None:
            return answered
        scores = tuple(_score(each.rollout, self._seen.asked) for each in candidates)
        known = [score for score in scores if score is not None]
        if not known:
            return Decision(candidates[0].plan, 0)
        first, top = scores[0], max(known)
        chosen = scores.index(top) if first is None or top > first + MARGIN else 0
        return Decision(candidates[chosen].plan, chosen, scores=scores)


def promise(reading: Reading, asked: ParsedQuestion) -> float:
    """How likely a panorama shows what would answer a question.

    Args:
        reading: What is read of the panorama.
        asked: The question.

    Returns:
        In [0, 1]: the probability of the room that is asked about, times that of the things. Of several things that
        the question is about the mean counts, of several that would do the largest.
    """
    room = reading.rooms.get(asked.room, 0.0) if asked.room else 1.0
    shown = [reading.things.get(name, 0.0) for name in sorted(asked.names)]
    if not shown:
        return room
    needed = asked.form is not None and asked.form.about
    return room * (sum(shown) / len(shown) if needed else max(shown))


def _score(rollout: Rollout | None, asked: ParsedQuestion) -> float | None:
    """Return what the end of a rollout promises beyond its last real frame; None where nothing was imagined."""
    if rollout is None or rollout.valid_len <= rollout.exact:
        return None
    end, real = rollout.valid_len - 1, rollout.exact - 1
    if rollout.view == "panorama":
        then, now = (panorama_strip(rollout.frames[frame], FINER) for frame in (end, real))
    else:
        # A model of single views turns left after the plan: what is to the right comes last.
        turned = [end, *(end + (4 - quarter) * QUARTER_TURN for quarter in (1, 2, 3))]
        views = [rollout.frames[min(frame, len(rollout.frames) - 1)] for frame in turned]
        then, now = _around(views, rollout.camera), _around([rollout.frames[real]] * 4, rollout.camera)
    gain = promise(shipped().read(then), asked) - promise(shipped().read(now), asked)
    return round(gain, _DIGITS)


def _around(views: Sequence[Image], camera: Camera) -> Strip:
    """Return the strip all around of views to the front, right, back and left."""
    strips: Strip = np.concatenate([view_strip(view, camera, FINER) for view in views], axis=1)
    return strips
