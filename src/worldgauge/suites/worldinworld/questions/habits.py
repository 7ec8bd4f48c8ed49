"""Statistics of the train homes for blind guesses: likely answers, where things are, what rooms hold.

`habits.json` holds them; worldgauge-lab makes it: python -m worldgauge_lab.question_habits 80
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from worldgauge.suites.worldinworld.questions.forms import QuestionForm, Slots, category_of

TABLE = Path(__file__).with_name("habits.json")


def blind_answer(form: QuestionForm, slots: Slots) -> str:
    """Guess an answer without looking: the most frequent one to such a question in train homes."""
    if form.guess is not None:
        return form.guess(slots)
    answers = _table()["answers"][form.name]
    return str(answers.get(form.key(slots), answers.get("", "yes")))


def rooms_of(name: str) -> Mapping[str, float]:
    """Return the share of things of that name in each kind of room; empty for an unknown name."""
    shares: Mapping[str, float] = _table()["rooms"].get(name, {})
    return shares


def categories_of(room: str) -> Mapping[str, float]:
    """Share of rooms of a kind that hold each category, per room if homes have two; empty for an unknown kind."""
    shares: Mapping[str, float] = _table()["categories"].get(room, {})
    return shares


def share_of_category(name: str) -> float:
    """Return the share of the things of the same category that have that name; 0 for an unknown one."""
    numbers: Mapping[str, float] = _table()["numbers"]
    alike = sum(number for other, number in numbers.items() if category_of(other) == category_of(name))
    return numbers.get(name, 0.0) / alike if alike else 0.0


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table
