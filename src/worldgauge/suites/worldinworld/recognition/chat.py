"""A language model as the agent of recognition: candidate plans, the choice among them, and the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from worldgauge.chat.prompt_runner import Misread, seed_of, thinned
from worldgauge.chat.prompts import Field, Part, boxed, sheet, titled
from worldgauge.chat.reply import AnswerError, Reply
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.suites.worldinworld.policies.asking import (
    LETTERS,
    ask_index,
    asker_of,
    frame_title,
    in_turn,
    kind_of,
    lettered,
    past_in_words,
    plan_frames,
    token_choice,
)
from worldgauge.suites.worldinworld.policies.chat import ChatProposer
from worldgauge.suites.worldinworld.policies.contract import (
    CONFIDENT,
    ActionPlan,
    Candidate,
    Candidates,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    Rng,
    Rollout,
)
from worldgauge.suites.worldinworld.recognition.tracking import (
    Follow,
    TrackedTarget,
    TrackedView,
    follower,
    track_by_geometry,
)
from worldgauge.worlds.walking.primitives import Primitive

CLOSE_UPS = range(3, 14, 2)
"""Frames of a clip that are shown for the answer, padding included (released code)."""


@dataclass(frozen=True)
class TrackedCandidate:
    """A candidate with its target tracked through the rollout. `target`: The target; None if it is not in view now."""

    plan: ActionPlan
    rollout: Rollout
    close: tuple[TrackedView, ...]
    target: TrackedTarget | None
    follow: Follow = track_by_geometry

    @classmethod
    def of(
        cls, candidates: Sequence[Candidate], observation: HomeObservation, follow: Follow = track_by_geometry
    ) -> list[TrackedCandidate | None]:
        """Track the target from its box in the front view through each candidate; None if nothing was imagined."""
        box = observation.box
        target = (
            None
            if box is None
            else TrackedTarget(box, observation.front, observation.depth("front"), observation.camera)
        )
        return [None if one.rollout is None else cls._of(one.plan, one.rollout, target, follow) for one in candidates]

    @classmethod
    def _of(cls, plan: ActionPlan, rollout: Rollout, target: TrackedTarget | None, follow: Follow) -> TrackedCandidate:
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


class RecognitionProposer(ChatProposer):
    """Steps for recognition."""

    def fields(self, observation: HomeObservation, goal: Goal, history: History, squeeze: int) -> Mapping[str, Field]:
        """The view with the red box, and where it is."""
        return {"history": past_in_words(history, squeeze), **_now(observation)}


CHOICE_ASKS = 5
"""Most requests until the letter of an option is among the likeliest first tokens (released code)."""
SELECT_ASKS = 30
TOP_TOKENS = 5
"""Likeliest first tokens that are read (released code)."""
FIRST_TOKENS = 4
"""Tokens of a one-letter reply: some models begin with a line break."""
MOVES: Mapping[str, Primitive] = {
    "go 0.2 m forward": Primitive.FORWARD,
    "turn 22.5 degrees to the left": Primitive.TURN_LEFT,
    "turn 22.5 degrees to the right": Primitive.TURN_RIGHT,
}


class RecognitionReviser:
    """A language model that is queried twice per decision: for the label, then for the plan; see `chat_reviser`.

    Option imagined_answers: whether the label is requested with imagined frames beside the real one, as in the paper.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._kind = kind_of(kit)
        self._imagined_answers = bool(kit.options.get("imagined_answers", True))
        self._top = int(kit.options.get("top_logprobs", TOP_TOKENS))
        self._asker = asker_of(kit)
        self._follow = follower(kit)

    def revise(
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """Likeliest label with its probability, and a plan; see `Reviser.revise`.

        Without a readable label all are equally likely, flagged; without rollouts (select) or a readable plan, the
        first plan.
        """
        if not goal.choices:
            raise UsageError("recognition needs the labels to choose from, and this episode has none")
        answer_seed, seed = seed_of(rng), seed_of(rng)
        notes: dict[str, Any] = {"kind": self._kind}
        followed = TrackedCandidate.of(candidates, observation, self._follow)
        label, confidence = self._answer(candidates, followed, observation, goal, answer_seed, notes)
        plan, chosen = (candidates[0].plan, 0) if candidates else (None, None)
        if candidates and confidence < CONFIDENT:
            plan, chosen = self._plan(candidates, followed, observation, history, seed, notes)
        notes["asks"] = self._asker.taken()
        return Decision(plan, chosen, label, confidence, notes=notes)

    def _answer(
        self,
        candidates: Sequence[Candidate],
        followed: Sequence[TrackedCandidate | None],
        observation: HomeObservation,
        goal: Goal,
        seed: int,
        notes: dict[str, Any],
    ) -> tuple[str, float]:
        pairs = [(one, each) for one, each in zip(candidates, followed, strict=True) if each and each.close]
        if not self._imagined_answers:
            pairs = []
        name = "recognition-answer-imagined" if pairs else "recognition-answer"

        def fields(squeeze: int) -> dict[str, Field]:
            options: dict[str, Field] = {"options": lettered(goal.choices)}
            if pairs:
                strips: list[list[Part]] = [each.close_ups(squeeze) for _, each in pairs]
                options["imagined"] = in_turn([one for one, _ in pairs], strips)
            return {**_now(observation), **options}

        try:
            mass = self._chosen(name, fields, goal.choices, seed)
        except AnswerError as error:
            notes["fallback_answer"] = str(error)
            return goal.choices[0], 1.0 / len(goal.choices)
        label = max(mass, key=lambda one: mass[one])
        notes["probabilities"] = {one: round(share, 9) for one, share in mass.items()}
        return label, mass[label]

    def _plan(
        self,
        candidates: Sequence[Candidate],
        followed: Sequence[TrackedCandidate | None],
        observation: HomeObservation,
        history: History,
        seed: int,
        notes: dict[str, Any],
    ) -> tuple[ActionPlan, int | None]:
        imagined = any(each is not None for each in followed)
        if self._kind == "select" and (not imagined or len(candidates) == 1):
            return candidates[0].plan, 0

        def fields(squeeze: int) -> dict[str, Field]:
            parts: dict[str, Field] = {**_now(observation), "history": past_in_words(history, squeeze)}
            if imagined:
                strips = [[] if each is None else each.film_strip(squeeze) for each in followed]
                parts["candidates"] = in_turn(candidates, strips)
            return parts

        try:
            if self._kind == "select":
                count = len(candidates)
                index = ask_index(self._asker, "recognition-select", fields, count, seed=seed, asks=SELECT_ASKS)
                return candidates[index].plan, index
            name = "recognition-act-imagined" if imagined else "recognition-act"
            moves = tuple(MOVES)
            mass = self._chosen(name, lambda squeeze: {**fields(squeeze), "options": lettered(moves)}, moves, seed)
            return ActionPlan((MOVES[max(mass, key=lambda one: mass[one])],), "chat"), None
        except AnswerError as error:
            notes["fallback"] = str(error)
            return candidates[0].plan, 0

    def _chosen(self, name: str, fields: Any, options: Sequence[str], seed: int) -> dict[str, float]:
        """Return the probabilities of the options that were named, not normalised. Raises AnswerError if none was."""

        def read(reply: Reply) -> dict[str, float]:
            assert reply.probabilities is not None
            mass = token_choice(reply.probabilities.listed, options)
            if not mass:
                raise Misread("none of the likeliest first tokens is exactly the letter of an option")
            return mass

        return self._asker.ask(
            name,
            fields,
            read,
            seed=seed,
            asks=CHOICE_ASKS,
            choices=tuple(LETTERS[: len(options)]),
            top_logprobs=self._top,
            max_tokens=FIRST_TOKENS,
        ).value


def _now(observation: HomeObservation) -> dict[str, Field]:
    """The front view with the target in a red box if it is in view, and a sentence about the box."""
    where = "The object is framed in red."
    if observation.box is None:
        where = "The object was framed in red before; it is not in sight straight ahead now."
    return {"view": [boxed(observation.front, observation.box)], "where": where}
