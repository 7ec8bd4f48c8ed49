"""A language model that answers questions: what it is shown, its plans and its answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.chat.prompt_runner import Answered, Misread, kept, seed_of
from worldgauge.chat.prompts import Field, Part, sheet, titled
from worldgauge.chat.reply import AnswerError, Reply
from worldgauge.core.episode import Goal
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.image import Image
from worldgauge.suites.worldinworld.policies.asking import (
    CHOICE_AND_ANSWER,
    HIGH_LEVEL,
    HighLevelDecision,
    all_around_at_end,
    asker_of,
    in_turn,
    kind_of,
    neutral_views,
    read_answer,
    read_high_level,
    read_index,
    steps_in_words,
)
from worldgauge.suites.worldinworld.policies.contract import (
    SIDES,
    YAW_RIGHT_DEG,
    ActionPlan,
    Candidate,
    Candidates,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    Rng,
    Side,
)
from worldgauge.suites.worldinworld.questions.landmarks import Landmarks, Mask, finder
from worldgauge.suites.worldinworld.questions.travel import OPEN_M, WORDS_STEPS, open_heading
from worldgauge.worlds.walking.primitives import Primitive

_COLOURS = (
    *((230, 60, 60), (40, 140, 240), (40, 170, 80), (240, 150, 20), (160, 80, 220)),
    *((0, 170, 180), (220, 60, 160), (130, 140, 20), (90, 90, 240), (150, 90, 40)),
)
"""By number, so that a landmark keeps its colour from view to view."""


def draw_marks(image: Image, masks: Mapping[int, NDArray[np.bool_]]) -> Image:
    """Copy of an image (H, W, 3) with each mask's contour and number, larger first; no number hides another."""
    import cv2

    drawn = np.ascontiguousarray(image.copy())
    height, width = image.shape[:2]
    size = max(height / 800, 0.4)
    taken: list[tuple[int, int, int, int]] = []
    labels = []
    for number, mask in sorted(masks.items(), key=lambda item: (-int(item[1].sum()), item[0])):
        if mask.shape != (height, width):
            raise ShapeError(f"mask of shape {mask.shape} does not fit an image of {height} x {width}")
        if not mask.any():
            continue
        colour = _COLOURS[(number - 1) % len(_COLOURS)]
        contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        cv2.drawContours(drawn, contours, -1, colour, max(round(height / 250), 1), cv2.LINE_AA)
        labels.append((number, mask, colour))
    # Numbers last, the smallest mask's first, as it has the least room for one.
    for number, mask, colour in reversed(labels):
        text = str(number)
        (w, h), base = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, size, 1)
        x0, y0, x1, y1 = _place(mask, w + 4, h + base + 2, taken)
        taken.append((x0, y0, x1, y1))
        cv2.rectangle(drawn, (x0, y0), (x1 - 1, y1 - 1), colour, -1)
        cv2.putText(drawn, text, (x0 + 2, y0 + h + 1), cv2.FONT_HERSHEY_SIMPLEX, size, (255, 255, 255), 1, cv2.LINE_AA)
    return drawn


def _place(
    mask: NDArray[np.bool_], w: int, h: int, taken: list[tuple[int, int, int, int]]
) -> tuple[int, int, int, int]:
    """Return the box of a label of w x h about the innermost free point of a mask, inside the image."""
    import cv2

    inner = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 3)[1:-1, 1:-1]
    height, width = mask.shape
    box = (0, 0, w, h)
    for _ in range(8):
        y, x = (int(n) for n in np.unravel_index(int(inner.argmax()), inner.shape))
        x0, y0 = int(np.clip(x - w // 2, 0, max(width - w, 0))), int(np.clip(y - h // 2, 0, max(height - h, 0)))
        box = (x0, y0, x0 + w, y0 + h)
        a, b, c, d = box
        if inner[y, x] <= 0 or not any(a < x1 and x0 < c and b < y1 and y0 < d for x0, y0, x1, y1 in taken):
            return box
        inner[max(y - h, 0) : y + h, max(x - w, 0) : x + w] = 0
    return box


ASKS = 30
"""Most requests for one high-level decision (released code)."""


class QuestionPrompter:
    """The landmarks of one episode and the queried model; an empty history starts a new episode.

    Kit options: asks; open_heading, "pinhole" or "linear" (released); landmarks, "exact" or "detected"; those of
    `asker_of`.
    """

    def __init__(self, kit: PolicyKit) -> None:
        if kit.task != "questions":
            raise UsageError(f"this policy answers questions, but the task is '{kit.task}'; choose another policy")
        self.asker = asker_of(kit)
        self.length = min(kit.length, WORDS_STEPS)
        self.asks = int(kit.options.get("asks", ASKS))
        self.rule: Any = kit.options.get("open_heading", "pinhole")
        self._find = finder(kit)
        self._landmarks = Landmarks(self._find)

    def look(self, observation: HomeObservation, goal: Goal, history: History) -> QuestionScene:
        """Observe the scene; landmarks keep their numbers from earlier decisions."""
        if not goal.text:
            raise UsageError("a question needs its text, and this episode has none")
        if not history:
            self._landmarks = Landmarks(self._find)
        masks = self._landmarks.look(observation)
        return QuestionScene(self, observation, goal.text, history, self._landmarks, masks)


@dataclass(frozen=True)
class QuestionScene:
    """One decision about a question. `masks`: (H, W) bool masks of the visible ones, by side and number."""

    inquiry: QuestionPrompter
    observation: HomeObservation
    question: str
    history: History
    landmarks: Landmarks
    masks: Mapping[Side, Mapping[int, Mask]]

    def decide(
        self, name: str, *, seed: int, sample: int = 0, samples: int = 1, candidates: Sequence[Candidate] = ()
    ) -> HighLevelDecision:
        """Request a decision of five fields; `candidates` are shown with their rollouts, none for a proposal."""
        visible = {side: set(found) for side, found in self.masks.items()}

        def fields(squeeze: int) -> dict[str, Field]:
            more = self.imagined(candidates) if candidates else {}
            listed = [
                f"{side}: " + ", ".join(f"{number} {self.landmarks[number].name}" for number in sorted(found))
                for side, found in self.masks.items()
                if found
            ]
            return {**self.seen(squeeze), "landmarks": ("; ".join(listed) or "none"), **more}

        answered: Answered[HighLevelDecision] = self.inquiry.asker.ask(
            name,
            fields,
            lambda reply: read_high_level(reply.value, visible),
            seed=seed,
            sample=sample,
            samples=samples,
            asks=self.inquiry.asks,
            schema=HIGH_LEVEL,
        )
        return answered.value

    def seen(self, squeeze: int) -> dict[str, Field]:
        """Return question, marked views and past as fields of the prompts."""
        return {"question": self.question, "views": self._views(), "history": decisions_in_words(self.history, squeeze)}

    @staticmethod
    def imagined(candidates: Sequence[Candidate]) -> dict[str, Field]:
        """Return the candidates, each next to its imagined views, as a field of the prompts."""
        shown = [[] if one.rollout is None else all_around_at_end(one.rollout) for one in candidates]
        return {"candidates": in_turn(candidates, shown)}

    def plan(self, decided: HighLevelDecision) -> ActionPlan:
        """Turn a decision into a turn to its landmark, or its view's open part, and L steps ahead.

        Near landmarks (flag "near") and closed views ("closed") give no steps, so nothing to imagine.
        """
        words = neutral_views(decided.plan)
        if decided.landmark is not None:
            landmark = self.landmarks[decided.landmark]
            pose = self.observation.pose
            near = landmark.distance_m(pose) < OPEN_M
            return self._ahead(landmark.left_rad(pose), landmark.aim(decided.view, words), "near" if near else None)
        depth, camera = self.observation.depth(decided.view), self.observation.camera
        right = open_heading(depth, camera.hfov_deg, rule=self.inquiry.rule)
        aim = {"view": decided.view, "landmark": None, "text": words}
        left = -math.radians(YAW_RIGHT_DEG[decided.view]) - (right or 0.0)
        return self._ahead(left, aim, "closed" if right is None else None)

    def _ahead(self, left_rad: float, aim: Mapping[str, Any], flag: str | None) -> ActionPlan:
        left_rad = math.remainder(left_rad, 2 * math.pi)
        steps = (Primitive.FORWARD,) * (0 if flag else self.inquiry.length)
        return ActionPlan(steps, "chat", left_rad, aim, () if flag is None else (flag,))

    def _views(self) -> list[Part]:
        views = [titled(draw_marks(self.observation.view(side), self.masks[side]), f"{side} view") for side in SIDES]
        return [sheet(views, columns=2)]


def decisions_in_words(history: History, squeeze: int) -> str:
    """Describe earlier decisions and what was carried out, one line each."""
    recent = kept(history, squeeze)
    if not recent:
        return "nothing yet" if not history else "left out here"
    lines = []
    for number, past in enumerate(recent, len(history) - len(recent) + 1):
        plan = past.decision.plan
        aim = {} if plan is None or plan.aim is None else plan.aim
        goal = f"to landmark {aim['landmark']}" if aim.get("landmark") is not None else f"{aim.get('view', 'ahead')}"
        words = f": {aim['text']}" if aim.get("text") else ""
        done = steps_in_words(past.executed)
        met = ", met an obstacle" if any(past.collided) else ""
        lines.append(f"{number}. {goal}{words} ({done}{met})")
    return "\n".join(lines)


class QuestionProposer:
    """Landmarks to walk to, or words to follow, for questions."""

    def __init__(self, kit: PolicyKit) -> None:
        self._inquiry = QuestionPrompter(kit)
        self.asked: list[dict[str, Any]] = []

    def propose(self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: Rng) -> list[ActionPlan]:
        """Up to n plans, each a turn and L steps ahead."""
        scene = self._inquiry.look(observation, goal, history)
        seed, plans = seed_of(rng), []
        for sample in range(n):
            try:
                decided = scene.decide("questions-plan", seed=seed, sample=sample, samples=n)
            except AnswerError:
                break
            plans.append(scene.plan(decided))
        self.asked = self._inquiry.asker.taken()
        return plans


class Said(NamedTuple):
    """What one query returned. `chosen`: Index of the candidate that `plan` is; None for a plan of its own."""

    plan: ActionPlan
    chosen: int | None
    answer: str | None


class QuestionReviser:
    """Answer and plan from one query that shows what was imagined; see `chat_reviser`."""

    def __init__(self, kit: PolicyKit) -> None:
        self._kind = kind_of(kit)
        self._inquiry = QuestionPrompter(kit)

    def revise(
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """Choose an answer or a plan; without a readable reply the first plan, flagged.

        An answer ends the episode only if the same query brings one again; the second one counts.
        """
        scene = self._inquiry.look(observation, goal, history)
        seed = seed_of(rng)
        notes: dict[str, Any] = {"kind": self._kind}
        said = Said(candidates[0].plan, 0, None)
        try:
            said = self._query(scene, candidates, seed, 0)
            if said.answer is not None:
                notes["first_answer"], said = said.answer, said._replace(answer=None)
                said = self._query(scene, candidates, seed, 1)
        except AnswerError as error:
            notes["fallback"] = str(error)
        notes["asks"] = self._inquiry.asker.taken()
        return Decision(said.plan, said.chosen, said.answer, stop=said.answer is not None, notes=notes)

    def _query(self, scene: QuestionScene, candidates: Sequence[Candidate], seed: int, sample: int) -> Said:
        """Ask once: the first query (sample 0) or the one that confirms it (1)."""
        imagined = any(one.rollout is not None for one in candidates)
        if imagined and self._kind == "select":
            return self._selected(scene, candidates, seed, sample)
        name = "questions-plan-imagined" if imagined else "questions-plan"
        decided = scene.decide(name, seed=seed, sample=sample, samples=2, candidates=candidates if imagined else ())
        if self._kind == "select":
            return Said(candidates[0].plan, 0, decided.answer)
        return Said(scene.plan(decided), None, decided.answer)

    def _selected(self, scene: QuestionScene, candidates: Sequence[Candidate], seed: int, sample: int) -> Said:
        def fields(squeeze: int) -> dict[str, Field]:
            return {**scene.seen(squeeze), **scene.imagined(candidates), "count": str(len(candidates))}

        def read(reply: Reply) -> Said:
            answer = read_answer(reply.value["answer"])
            try:
                chosen = read_index(reply.value["choice"], len(candidates))
            except Misread:
                if answer is None:
                    raise
                chosen = 0  # an answer needs no plan
            return Said(candidates[chosen].plan, chosen, answer)

        asker, asks = self._inquiry.asker, self._inquiry.asks
        return asker.ask(
            "questions-select", fields, read, seed=seed, sample=sample, samples=2, asks=asks, schema=CHOICE_AND_ANSWER
        ).value
