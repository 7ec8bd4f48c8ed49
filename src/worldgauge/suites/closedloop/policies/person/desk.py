"""Where the loop and a person meet: a decision is laid out, and the loop waits until the page has brought an act."""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from worldgauge.core.errors import AbandonedError, UnknownNameError, UsageError, without_controls
from worldgauge.core.image import Image, png
from worldgauge.suites.closedloop.policies.contract import History
from worldgauge.worlds.walking.primitives import Steps, from_letters

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
    """What an episode says about itself to whoever acts in it.

    Attributes:
        instruction: What is to be done, in words.
        reviser: Name of the policy that decides.
        imagines: Whether a world model imagines plans.
        left: What is left of the budget after so many decisions; None where the rules do not tell.
        unit: What the budget counts, in the plural.
        total: The whole budget.
        whole: Whether plans are carried out to their end.
        alive: Called while the loop waits.
    """

    instruction: str
    reviser: str
    imagines: bool
    left: Callable[[History], int | None]
    unit: str
    total: int
    whole: bool = True
    alive: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Turn:
    """A decision, laid out.

    Attributes:
        told: Further facts for the page, plain JSON values.
        pictures: Pictures (H, W, 3) uint8 by name.
        length: L, most steps of a plan.
        most: Most plans; 0 where nothing is carried out any more.
        answers: Whether an answer in words is taken.
        choices: Answers to choose from; empty for any.
        guesses: Whether an answer may come with a plan, as a guess for now.
        stops: Words of ending the episode here; empty where that is not for the person to say.
    """

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
    """What a person does: plans, an answer, both as a guess, or the end.

    Attributes:
        plans: Each with a step or more.
        answer: In words.
        stop: Whether the episode ends here.
    """

    plans: tuple[Steps, ...] = ()
    answer: str | None = None
    stop: bool = False


@dataclass
class _Laid:
    """A turn on the desk, under a name that no page can guess."""

    turn: Turn
    pictures: Mapping[str, bytes]
    name: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    act: Act | None = None


class Desk:
    """A person's desk. The loop calls `begin`, `ask` and `end`; threads of the page call the rest.

    Args:
        who: Name of the person.
        episodes: How many there are to be acted in.
    """

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

    def ask(self, turn: Turn) -> Act:
        """Lay out a decision, and wait until somebody has acted.

        Raises:
            AbandonedError: When nobody has had the page open for `PATIENCE_S`.
        """
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
        """A picture of the decision that is laid out, as PNG.

        Raises:
            UsageError: For another decision.
            UnknownNameError: For a picture that it does not have.
        """
        laid = self._asked(turn)
        if name not in laid.pictures:
            raise UnknownNameError("picture", name, laid.pictures)
        return laid.pictures[name]

    def act(self, said: Mapping[str, Any]) -> None:
        """Take what the page says is done: `turn`, and `plans` (texts of F, L and R), `answer` or `stop`.

        Raises:
            UsageError: For a decision that is past, and for an act that it does not allow.
        """
        with self._changed:
            laid = self._asked(said.get("turn"))
            laid.act = _read(said, laid.turn)
            self._changed.notify_all()

    def _asked(self, turn: Any) -> _Laid:
        laid = self._laid
        if laid is None or laid.act is not None or laid.name != turn:
            raise UsageError("that decision is past: it was made, perhaps on another page, or the episode began again")
        return laid


def _read(said: Mapping[str, Any], turn: Turn) -> Act:
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
    return Act(
        () if plans is None else _plans(plans, turn),
        None if answer is None else _answer(answer, turn),
    )


def _plans(plans: Any, turn: Turn) -> tuple[Steps, ...]:
    if not isinstance(plans, list) or not 1 <= len(plans) <= turn.most:
        raise UsageError(f"1 to {turn.most} plans are taken here" if turn.most else "nothing is carried out any more")
    for plan in plans:
        if not isinstance(plan, str) or not 1 <= len(plan) <= turn.length:
            raise UsageError(f"a plan has 1 to {turn.length} steps")
        if not set(plan) <= set(KEYS):
            raise UsageError("steps are F (forward), L (turn left) and R (turn right)")
    return tuple(from_letters(plan) for plan in plans)


def _answer(answer: Any, turn: Turn) -> str:
    if not turn.answers:
        raise UsageError("the answer is not yours to give here: the reviser answers")
    text = " ".join(without_controls(answer).split()) if isinstance(answer, str) else ""
    if not 1 <= len(text) <= MOST_WORDS:
        raise UsageError(f"an answer has 1 to {MOST_WORDS} characters")
    if turn.choices and text not in turn.choices:
        raise UnknownNameError("label", text[:40], turn.choices)
    return text


def host_and_port(at: str) -> tuple[str, int]:
    """Split HOST:PORT.

    Raises:
        UsageError: For anything else.
    """
    host, _, port = at.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        raise UsageError(f"closedloop setting 'page' must be {ADDRESS}, got '{at}'")
    return host.removeprefix("[").removesuffix("]"), int(port)


_desks: list[Desk] = []
"""The desk of the run in this process, where a person acts in it."""


def set_up(desk: Desk | None) -> None:
    """Put up the desk of a run; None takes it away."""
    _desks[:] = [] if desk is None else [desk]


def desk_here() -> Desk:
    """The desk of the run.

    Raises:
        UsageError: Where there is none.
    """
    if not _desks:
        raise UsageError(f"the policy '{PERSON}' acts in a run: worldgauge run closedloop --set proposer={PERSON}")
    return _desks[0]
