"""The target of recognition as a language model is shown it: boxed now, and tracked through what is imagined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from worldgauge.chat.pictures import boxed, sheet, titled
from worldgauge.chat.prompt_runner import thinned
from worldgauge.chat.prompts import Part
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Candidate, HomeObservation, Rollout
from worldgauge.suites.closedloop.policies.prompt_images import frame_title, plan_frames
from worldgauge.suites.closedloop.recognition.tracking import Follow, Target, TrackedView, track_by_geometry

CLOSE_UPS = range(3, 14, 2)
"""Frames of a clip that are shown for the answer, padding included (released code)."""


def target_now(observation: HomeObservation) -> list[Part]:
    """Return the front view with the target in a red box, if it is in view."""
    return [boxed(observation.front, observation.box)]


def target_in_words(observation: HomeObservation) -> str:
    """Return what the prompt says about the red box."""
    if observation.box is None:
        return "The object was framed in red before; it is not in sight straight ahead now."
    return "The object is framed in red."


@dataclass(frozen=True)
class TrackedCandidate:
    """A candidate with its target tracked through the rollout.

    Attributes:
        plan: The plan.
        rollout: What was imagined.
        close: Frames for the answer, turned towards the target.
        target: The target; None if it is not in view now.
        follow: The tracker.
    """

    plan: ActionPlan
    rollout: Rollout
    close: tuple[TrackedView, ...]
    target: Target | None
    follow: Follow = track_by_geometry

    @classmethod
    def of(
        cls, candidates: Sequence[Candidate], observation: HomeObservation, follow: Follow = track_by_geometry
    ) -> list[TrackedCandidate | None]:
        """Track the target from its box in the front view through each candidate.

        Args:
            candidates: The candidates.
            observation: What is sensed now.
            follow: The tracker.

        Returns:
            One per candidate; None where nothing was imagined.
        """
        box = observation.box
        target = None if box is None else Target(box, observation.front, observation.depth("front"), observation.camera)
        return [None if one.rollout is None else cls._of(one.plan, one.rollout, target, follow) for one in candidates]

    @classmethod
    def _of(cls, plan: ActionPlan, rollout: Rollout, target: Target | None, follow: Follow) -> TrackedCandidate:
        if target is None:
            return cls(plan, rollout, (), None, follow)
        # All frames are tracked: tracking ends at the first without the target.
        found = follow(target, plan, rollout, range(1, len(rollout.frames)))
        return cls(plan, rollout, tuple(seen for seen in found if seen.frame in CLOSE_UPS), target, follow)

    def close_ups(self, squeeze: int) -> list[Part]:
        """Return one image of the frames for the answer; none if the target is in none of them."""
        cells = [
            titled(boxed(seen.image, seen.box), f"imagined picture {seen.frame}")
            for seen in thinned(self.close, squeeze)
        ]
        return [sheet(cells)] if cells else []

    def film_strip(self, squeeze: int) -> list[Part]:
        """Return one image of the plan's frames, each titled, with the target's box or a note that it is lost."""
        frames = plan_frames(self.rollout)
        if not frames:
            return []
        ahead = [self.rollout.seen(frame) for frame in range(self.rollout.valid_len)]
        level = replace(self.rollout, frames=np.stack(ahead), view="perspective")
        seen = [] if self.target is None else self.follow(self.target, self.plan, level, frames)
        boxes = {one.frame: one.box for one in seen}
        cells = []
        for frame in thinned(frames, squeeze):
            title = frame_title(self.plan, self.rollout, frame)
            if frame in boxes:
                cells.append(titled(boxed(ahead[frame], boxes[frame]), title))
            else:
                cells.append(titled(ahead[frame], f"{title} (object lost)"))
        return [sheet(cells)]
