"""A person as the agent: the policies `person`, the desk where the loop waits for somebody, and the page on it."""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from worldgauge.core.episode import Goal
from worldgauge.core.errors import AbandonedError, UnknownNameError, UsageError, without_controls
from worldgauge.core.image import Image, png
from worldgauge.report.page import asset
from worldgauge.report.page_server import PageResponse, PageServer, as_json
from worldgauge.suites.worldinworld import drawing
from worldgauge.suites.worldinworld.policies.contract import (
    SIDES,
    ActionPlan,
    Candidates,
    Decision,
    History,
    HomeObservation,
    PolicyKit,
    Rng,
    letters,
    proposers,
    revisers,
)
from worldgauge.suites.worldinworld.policies.process_proposer import aim_of
from worldgauge.worlds.walking.primitives import STEP_M, TURN_DEG, Steps, from_letters

PERSON = "person"
"""Name of the policies, and of a person who gives none."""
ADDRESS = "HOST:PORT, such as 127.0.0.1:8601"
"""What the address of a page is."""
PATIENCE_S = 1800.0
"""Seconds without an open page after which the run ends; who has it open may think as long as they like."""
LOOK_S = 0.5
"""How often the loop looks whether somebody is there."""
LINGER_S = 2.0
"""How long the end waits for an open page to learn of it."""
KEYS = "FLR"
MOST_WORDS = 400
"""Characters of an answer."""


@dataclass(frozen=True)
class Seat:
    """An episode's self-description; `left` gives the budget left after so many decisions, None if unknown."""

    instruction: str
    reviser: str
    imagines: bool
    left: Callable[[History], int | None]
    unit: str
    total: int
    whole: bool = True
    alive: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class PersonTurn:
    """A decision, laid out. `pictures`: Pictures (H, W, 3) uint8 by name."""

    told: Mapping[str, Any]
    pictures: Mapping[str, Image]
    length: int
    most: int
    answers: bool = False
    choices: tuple[str, ...] = ()
    guesses: bool = False
    stops: str = ""


@dataclass(frozen=True)
class Act:
    """What a person does: plans, an answer, both as a guess, or the end."""

    plans: tuple[Steps, ...] = ()
    answer: str | None = None
    stop: bool = False


@dataclass
class _Laid:
    """A turn on the desk, under a name that no page can guess."""

    turn: PersonTurn
    pictures: Mapping[str, bytes]
    name: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    act: Act | None = None


class Desk:
    """A person's desk. The loop calls `begin`, `ask` and `end`; threads of the page call the rest."""

    def __init__(self, who: str, episodes: int) -> None:
        self.who, self.episodes, self.number = who, episodes, 0
        self.seat: Seat | None = None
        self._changed = threading.Condition()
        self._laid: _Laid | None = None
        self._over = ""
        self._broken_off = False
        self._seen = float("-inf")

    # of the loop

    def begin(self, seat: Seat) -> None:
        """Begin the next episode."""
        self.seat, self._broken_off = seat, False
        self.number += 1

    def ask(self, turn: PersonTurn) -> Act:
        """Lay out a decision, and wait until somebody has acted."""
        laid = _Laid(turn, {name: png(picture) for name, picture in turn.pictures.items()})
        began = time.monotonic()
        try:
            with self._changed:
                self._laid = laid
                while laid.act is None:
                    self._changed.wait(LOOK_S)
                    if self.seat is not None:
                        self.seat.alive()
                    if time.monotonic() - max(self._seen, began) > PATIENCE_S and laid.act is None:
                        raise AbandonedError(
                            f"nobody has had the page open for {PATIENCE_S / 60:g} minutes: the run ends here; "
                            "finished episodes are kept, and the same command goes on with the others"
                        )
        except BaseException:
            self._broken_off = True
            raise
        finally:
            self._laid = None
        return laid.act

    def end(self) -> None:
        """Tell the page that the run is over, or was stopped, where an error is on its way."""
        with self._changed:
            self._over = "stopped" if self._broken_off or sys.exception() is not None else "done"
            ended = time.monotonic()
            if ended - self._seen < LINGER_S:  # a page is open
                self._changed.wait_for(lambda: self._seen > ended, LINGER_S)

    # of the page

    def now(self) -> dict[str, Any]:
        """What the page shows, plain JSON values. Whoever asks is there."""
        with self._changed:
            self._seen = time.monotonic()
            common = {"who": self.who, "episode": self.number, "episodes": self.episodes}
            if self._over:
                self._changed.notify_all()
                return {**common, "state": self._over}
            laid = self._laid
            if laid is None or laid.act is not None:
                return {**common, "state": "busy"}
            turn = laid.turn
            return {
                **common,
                "state": "asking",
                "turn": laid.name,
                "length": turn.length,
                "plans": turn.most,
                "answers": turn.answers,
                "choices": list(turn.choices),
                "guesses": turn.guesses,
                "stops": turn.stops,
                "pictures": list(turn.pictures),
                **turn.told,
            }

    def picture(self, turn: str, name: str) -> bytes:
        """A picture of the decision that is laid out, as PNG."""
        laid = self._asked(turn)
        if name not in laid.pictures:
            raise UnknownNameError("picture", name, laid.pictures)
        return laid.pictures[name]

    def act(self, said: Mapping[str, Any]) -> None:
        """Take what the page says is done: `turn`, and `plans` (texts of F, L and R), `answer` or `stop`."""
        with self._changed:
            laid = self._asked(said.get("turn"))
            laid.act = _read(said, laid.turn)
            self._changed.notify_all()

    def _asked(self, turn: Any) -> _Laid:
        laid = self._laid
        if laid is None or laid.act is not None or laid.name != turn:
            raise UsageError("that decision is past: it was made, perhaps on another page, or the episode began again")
        return laid


def _read(said: Mapping[str, Any], turn: PersonTurn) -> Act:
    """What is said, checked against what the turn allows."""
    plans, answer, stop = said.get("plans"), said.get("answer"), said.get("stop", False)
    if stop:
        if stop is not True or not turn.stops or plans is not None or answer is not None:
            raise UsageError("the end is not for you to say here, or came with something else")
        return Act(stop=True)
    if plans is None and answer is None:
        raise UsageError("an act is plans, an answer or the end")
    if plans is not None and answer is not None and not turn.guesses:
        raise UsageError("plans and an answer at once are not taken here")
    return Act(() if plans is None else _plans(plans, turn), None if answer is None else _answer(answer, turn))


def _plans(plans: Any, turn: PersonTurn) -> tuple[Steps, ...]:
    if not isinstance(plans, list) or not 1 <= len(plans) <= turn.most:
        raise UsageError(f"1 to {turn.most} plans are taken here" if turn.most else "nothing is carried out any more")
    for plan in plans:
        if not isinstance(plan, str) or not 1 <= len(plan) <= turn.length:
            raise UsageError(f"a plan has 1 to {turn.length} steps")
        if not set(plan) <= set(KEYS):
            raise UsageError("steps are F (forward), L (turn left) and R (turn right)")
    return tuple(from_letters(plan) for plan in plans)


def _answer(answer: Any, turn: PersonTurn) -> str:
    if not turn.answers:
        raise UsageError("the answer is not yours to give here: the reviser answers")
    text = " ".join(without_controls(answer).split()) if isinstance(answer, str) else ""
    if not 1 <= len(text) <= MOST_WORDS:
        raise UsageError(f"an answer has 1 to {MOST_WORDS} characters")
    if turn.choices and text not in turn.choices:
        raise UnknownNameError("label", text[:40], turn.choices)
    return text


def host_and_port(at: str) -> tuple[str, int]:
    """Split HOST:PORT."""
    host, _, port = at.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        raise UsageError(f"worldinworld setting 'page' must be {ADDRESS}, got '{at}'")
    return host.removeprefix("[").removesuffix("]"), int(port)


_desks: list[Desk] = []
"""The desk of the run in this process, where a person acts in it."""


def set_up(desk: Desk | None) -> None:
    """Put up the desk of a run; None takes it away."""
    _desks[:] = [] if desk is None else [desk]


def desk_here() -> Desk:
    """The desk of the run."""
    if not _desks:
        raise UsageError(f"the policy '{PERSON}' acts in a run: worldgauge run worldinworld --set proposer={PERSON}")
    return _desks[0]


ANY_PORT = "127.0.0.1:0"
"""Where a page listens by default: on this machine, on any port that is free."""
FILES = {
    "/": ("person.html", "text/html"),
    "/person.js": ("person.js", "text/javascript"),
    "/person.css": ("person.css", "text/css"),
}


class PersonPage(PageServer):
    """Shows what lies on a desk, and brings what is done there."""

    how = "give another --set page=HOST:PORT"

    def __init__(self, desk: Desk, host: str, port: int) -> None:
        super().__init__(host, port)
        self.desk = desk

    def get(self, path: str, query: Mapping[str, str]) -> PageResponse | None:
        """See `PageServer.get`."""
        if path in FILES:
            name, kind = FILES[path]
            return PageResponse((files(__package__) / name).read_bytes(), f"{kind}; charset=utf-8")
        if path == "/page.css":
            return PageResponse(asset("page.css").encode(), "text/css; charset=utf-8")
        if path == "/api/now":
            return as_json(self.desk.now())
        if path == "/picture":
            return PageResponse(self.desk.picture(query["turn"], query["name"]), "image/png", keep=True)
        return None

    def change(self, path: str, said: Mapping[str, Any]) -> bool:
        """See `PageServer.change`."""
        if path != "/api/act":
            return False
        self.desk.act(said)
        return True

    def close_desk(self) -> None:
        """Close it for good, once an open page has learnt that the run is over."""
        self.desk.end()
        set_up(None)
        self.close()


def open_page(who: str, at: str, episodes: int) -> PersonPage:
    """Open the page of a run, and print its link."""
    desk = Desk(who, episodes)
    page = PersonPage(desk, *host_and_port(at))
    page.start()
    set_up(desk)
    print(f"Open {page.link} in a browser and act as {who}. Ctrl-C stops.", file=sys.stderr, flush=True)
    return page


TASKS = ("recognition", "navigation", "questions")
GUESS = 0.5
"""Confidence of an answer that comes with a plan: the person wants to see more. An answer alone is sure, 1."""


@proposers.register(PERSON, tasks=TASKS, chat=False)
class PersonProposer:
    """Asks a person for plans, on a page that shows what a policy in its own process is shown.

    The person composes a whole plan, and sees no views on the way. Option declared: whether the agent must announce
    arrival.
    """

    def __init__(self, kit: PolicyKit) -> None:
        self._kit = kit

    def propose(self, observation: HomeObservation, goal: Goal, history: History, n: int, rng: Rng) -> list[ActionPlan]:
        """Wait for up to n plans; an answer or an end is a plan without steps whose aim reviser `person` reads."""
        turn = _turn(self._kit, observation, goal, history, n)
        if not turn.most and not turn.stops:
            return [ActionPlan((), PERSON, aim=aim_of(self._kit.task, "the budget is used up"))]
        act = desk_here().ask(turn)
        aim = _aim(self._kit.task, act)
        return [ActionPlan(steps, PERSON, aim=aim) for steps in act.plans or ((),)]


@revisers.register(PERSON, tasks=TASKS, chat=False, imagines=False, declares=True)
class PersonReviser:
    """Does what the person has said to the proposer `person`: carries out the plan, answers, or ends the episode."""

    def __init__(self, kit: PolicyKit) -> None:
        self._kit = kit

    def revise(
        self, candidates: Candidates, observation: HomeObservation, goal: Goal, history: History, rng: Rng
    ) -> Decision:
        """Decide as the person did; at a last look for which nothing was proposed, ask. See `Reviser.revise`."""
        if not candidates:
            aim = _aim(self._kit.task, desk_here().ask(_turn(self._kit, observation, goal, history, 0)))
            plan = None
        else:
            plan = candidates[0].plan
            aim = dict(plan.aim or {})
        answer = aim.get("answer")
        if plan is not None and plan.steps:
            return Decision(plan, 0, answer, None if answer is None else GUESS)
        return Decision(None, None, answer, None if answer is None else 1.0, stop=True)


def _turn(kit: PolicyKit, observation: HomeObservation, goal: Goal, history: History, n: int) -> PersonTurn:
    """The decision as the page shows it."""
    seat = desk_here().seat
    assert seat is not None  # an episode has begun
    left = seat.left(history)
    is_last = left is not None and left <= 0
    decides = seat.reviser == PERSON
    answers = decides and bool(goal.text or goal.choices)
    declares = decides and bool(kit.options.get("declared"))
    pictures: dict[str, Image] = {side: observation.view(side) for side in SIDES}
    if observation.box is not None:
        pictures["front"] = drawing.draw_box(pictures["front"], list(observation.box))
    if goal.image is not None:
        pictures["goal"] = goal.image
    told: dict[str, Any] = {
        "instruction": seat.instruction,
        "left": left,
        "total": seat.total,
        "unit": seat.unit,
        "notes": list(_notes(seat, kit, observation, goal, is_last=is_last)),
        "history": [{"steps": letters(tuple(past.executed)), "bumped": any(past.collided)} for past in history],
        "step": f"{STEP_M:g} m",
        "angle": f"{TURN_DEG:g} degrees",
    }
    return PersonTurn(
        told,
        pictures,
        kit.length,
        0 if is_last else n if seat.imagines and not decides else min(n, 1),
        answers=answers,
        choices=tuple(goal.choices or ()) if answers else (),
        guesses=answers and bool(goal.choices) and not is_last,
        stops="I have arrived" if declares else "I do not know" if answers and is_last else "",
    )


def _notes(seat: Seat, kit: PolicyKit, observation: HomeObservation, goal: Goal, *, is_last: bool) -> Sequence[str]:
    """What somebody has to know of the rules, one sentence each. Nothing of it is the truth about the scene."""
    notes = []
    asks = bool(goal.text or goal.choices)
    if is_last:
        notes.append("This is the last look: nothing is carried out any more.")
    if asks and seat.reviser != PERSON:
        notes.append(f"You choose where to go. The answer is not yours: the reviser '{seat.reviser}' gives it.")
    if seat.imagines and seat.reviser != PERSON and not is_last:
        notes.append(f"A world model imagines your plans, and the reviser '{seat.reviser}' chooses one of them.")
    if goal.choices and observation.box is None:
        notes.append("The thing is not in the front view, so there is no red box, and no answer counts from here.")
    if goal.image is not None and not kit.options.get("declared"):
        notes.append("The episode ends by itself at a decision for which you stand at the goal.")
    if not seat.whole and not is_last:
        notes.append("Only the beginning of a plan is carried out (protocol=published).")
    return notes


def _aim(task: str, act: Act) -> dict[str, Any]:
    """What a plan is for; an answer and the end stand there, too."""
    said = "steps of a person" if act.plans else "a person's answer" if act.answer is not None else "a person ends it"
    aim = aim_of(task, said)
    return aim if act.answer is None else {**aim, "answer": act.answer}
