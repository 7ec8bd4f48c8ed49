"""A language model as the agent at the table: candidate plans, and the choice among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from worldgauge.chat.prompt_runner import Asker, seed_of, thinned
from worldgauge.chat.prompts import Field, Part, sheet, titled
from worldgauge.chat.reply import AnswerError, Reply
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.suites.worldinworld.manipulation.prompts import ASKS, read_hand_plan, table_now
from worldgauge.suites.worldinworld.policies.asking import (
    CHOICE,
    HAND_PLAN,
    ask_index,
    asker_of,
    in_turn,
    kind_of,
    read_index,
)
from worldgauge.suites.worldinworld.policies.chat import ChatProposer
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidate,
    Candidates,
    Decision,
    History,
    PolicyKit,
    Rng,
    Rollout,
    TableObservation,
)
from worldgauge.worlds.tabletop.pose_plans import Poses


class TableProposer(ChatProposer):
    """Plans of up to L poses, for manipulation."""

    asks, form = ASKS, HAND_PLAN

    def __init__(self, kit: PolicyKit) -> None:
        super().__init__(kit)
        self._asker = _with_example(self._asker, kit, "manipulation-propose")

    def fields(self, observation: TableObservation, goal: Goal, history: History, squeeze: int) -> Mapping[str, Field]:
        """The table, the hand and the past."""
        return table_now(observation, goal, history, squeeze)

    def read(self, reply: Reply) -> ActionPlan:
        """The plan in a reply."""
        return read_hand_plan(reply.value, self._length)

    def propose(self, observation: Any, goal: Goal, history: History, n: int, rng: Rng) -> list[ActionPlan]:
        """Ask for up to n plans with different poses: the same ones in other words are the same plan."""
        different: dict[Poses, ActionPlan] = {}
        for plan in super().propose(observation, goal, history, n, rng):
            different.setdefault(plan.poses, plan)
        return list(different.values())


FRAMES_UP_TO = 13
"""Most poses of a plan that is judged by the frames in which each pose is reached (released code)."""


class ManipulationReviser:
    """A language model that compares what was imagined with the instruction; see `chat_reviser`.

    Option revision: "frames" shows those in which poses are reached; "described" chooses by descriptions of last frames
    alone, as the release does with a diffusion policy.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._length = kit.length
        self._revision = kit.options.get("revision", "frames" if kit.length <= FRAMES_UP_TO else "described")
        if self._revision not in ("frames", "described"):
            raise UsageError(f"the option revision must be 'frames' or 'described', got {self._revision!r}")
        self._kind = "select" if self._revision == "described" else kind_of(kit)
        self._asks = int(kit.options.get("asks", ASKS))
        self._asker = _with_example(asker_of(kit), kit, "manipulation-rewrite", "manipulation-repropose")

    def revise(
        self, candidates: Candidates, observation: TableObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """Choose a plan; the first if nothing was imagined, if it is the only one or, flagged, without a reply."""
        if not goal.text:
            raise UsageError("manipulation needs an instruction, and this episode has none")
        seed = seed_of(rng)
        notes: dict[str, Any] = {"kind": self._kind, "revision": self._revision}
        plan, chosen = self._chosen(candidates, observation, goal, history, seed, notes)
        notes["asks"] = self._asker.taken()
        return Decision(plan, chosen, notes=notes)

    def _chosen(
        self,
        candidates: Sequence[Candidate],
        observation: TableObservation,
        goal: Goal,
        history: History,
        seed: int,
        notes: dict[str, Any],
    ) -> tuple[ActionPlan, int | None]:
        imagined = any(one.rollout is not None for one in candidates)
        if not imagined or (self._kind == "select" and len(candidates) == 1):
            return candidates[0].plan, 0

        def fields(squeeze: int) -> dict[str, Field]:
            return shown_with_strips(candidates, observation, goal, history, squeeze)

        try:
            if self._revision == "described":
                index = self._by_words("manipulation-pick", candidates, goal, seed, notes) % len(candidates)
            elif self._kind == "rewrite":
                return self._asker.ask(
                    "manipulation-rewrite",
                    lambda squeeze: {**fields(squeeze), "length": str(self._length)},
                    lambda reply: read_hand_plan(reply.value, self._length),
                    seed=seed,
                    asks=self._asks,
                    schema=HAND_PLAN,
                ).value, None
            else:
                count = len(candidates)
                index = ask_index(self._asker, "manipulation-select", fields, count, seed=seed, asks=self._asks)
        except AnswerError as error:
            notes["fallback"] = str(error)
            index = 0
        return candidates[index].plan, index

    def _by_words(
        self, prompt: str, candidates: Sequence[Candidate], goal: Goal, seed: int, notes: dict[str, Any]
    ) -> int:
        """Return the candidate chosen by the description of its last frame; -1 if none is good enough."""
        words = [
            "nothing was imagined" if one.rollout is None else self._described(one.rollout, goal, seed)
            for one in candidates
        ]
        notes["descriptions"] = words
        return self._asker.ask(
            prompt,
            lambda squeeze: {
                "instruction": str(goal.text),
                "descriptions": "\n".join(f"{number}. {said}" for number, said in enumerate(words, start=1)),
                "count": str(len(candidates)),
            },
            lambda reply: -1 if reply.value["choice"] == -1 else read_index(reply.value["choice"], len(candidates)),
            seed=seed,
            asks=self._asks,
            schema=CHOICE,
        ).value

    def _described(self, rollout: Rollout, goal: Goal, seed: int) -> str:
        picture = rollout.seen(rollout.valid_len - 1)
        return self._asker.ask(
            "manipulation-describe",
            lambda squeeze: {"instruction": str(goal.text), "picture": picture},
            lambda reply: " ".join(reply.answer.split()),
            seed=seed,
            asks=self._asks,
        ).value


def shown_with_strips(
    candidates: Sequence[Candidate], observation: TableObservation, goal: Goal, history: History, squeeze: int
) -> dict[str, Field]:
    """Return the table, the hand, the past, and each candidate with the frames in which its poses are reached."""
    strips = [[] if one.rollout is None else anchor_strip(one.rollout, squeeze) for one in candidates]
    return {**table_now(observation, goal, history, squeeze), "candidates": in_turn(candidates, strips)}


def _with_example(asker: Asker, kit: PolicyKit, *names: str) -> Asker:
    """An asker whose prompts for plans, of these names, end with the example, if one is given."""
    for name in names if "example" in kit.options else ():
        asker = replace(asker, prompts=asker.prompts.extended(name, kit.options["example"]))
    return asker


def anchor_strip(rollout: Rollout, squeeze: int) -> list[Part]:
    """Draw the frames in which poses are reached, each with its title, in one image."""
    reached = {frame: number for number, frame in enumerate(rollout.anchors, start=1)}
    frames = thinned(sorted(reached), squeeze)
    cells = [
        titled(rollout.seen(frame), f"after pose {reached[frame]}" if rollout.aligned else f"picture {frame}")
        for frame in frames
    ]
    return [sheet(cells)] if cells else []
