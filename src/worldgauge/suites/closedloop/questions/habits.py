"""Statistics of the train homes for blind guesses: likely answers, where things are, what rooms hold.

`habits.json` holds them, as `count_habits` gives them; it is made by

    python -m worldgauge.suites.closedloop.questions.habits 80
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from worldgauge.suites.closedloop.questions.forms import TWICE, QuestionForm, Slots, answerable, category_of
from worldgauge.suites.closedloop.questions.templates import FORMS
from worldgauge.worlds.indoor.homes import HomeObject as Known

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
    """Return the share of rooms of a kind that hold a thing of each category; empty for an unknown kind.

    For kinds that homes have two of, the share is per room, as if the two were furnished independently.
    """
    shares: Mapping[str, float] = _table()["categories"].get(room, {})
    return shares


def share_of_category(name: str) -> float:
    """Return the share of the things of the same category that have that name; 0 for an unknown one."""
    numbers: Mapping[str, float] = _table()["numbers"]
    alike = sum(number for other, number in numbers.items() if category_of(other) == category_of(name))
    return numbers.get(name, 0.0) / alike if alike else 0.0


def count_habits(homes: Iterable[Sequence[Known]]) -> dict[str, Any]:
    """Count answers, rooms and categories in some homes."""
    forms = [form for form in FORMS if form.guess is None]
    answers = _Counts()
    rooms, categories = _Counts(), _Counts()
    kinds: dict[str, int] = defaultdict(int)
    for objects in homes:
        for form in forms:
            found = answerable(form, objects)
            for text, questions in found.items():
                for slots, _ in questions:
                    for key in {"", form.key(slots)}:
                        answers[f"{form.name}\n{key}"][text] += 1 / len(found) / len(questions)
        for one in objects:
            rooms[one.name][one.room] += 1
        for room in {one.room for one in objects}:
            kinds[room] += 1
            for category in {one.category for one in objects if one.room == room}:
                categories[room][category] += 1
    likely: dict[str, dict[str, str]] = {form.name: {} for form in forms}
    for both, weights in answers.items():
        name, key = both.split("\n")
        likely[name][key] = min(weights, key=lambda text, weights=weights: (-round(weights[text], 9), text))  # type: ignore[misc]
    return {
        "answers": likely,
        "numbers": {name: sum(held.values()) for name, held in rooms.items()},
        "rooms": {name: _shares(held, sum(held.values())) for name, held in rooms.items()},
        "categories": {room: _of_one(room, _shares(held, kinds[room])) for room, held in categories.items()},
    }


class _Counts(defaultdict[str, defaultdict[str, float]]):
    def __init__(self) -> None:
        super().__init__(lambda: defaultdict(float))


def _of_one(room: str, shares: Mapping[str, float]) -> dict[str, float]:
    return {name: round(1 - math.sqrt(1 - share), 3) if room in TWICE else share for name, share in shares.items()}


def _shares(held: Mapping[str, float], of: float) -> dict[str, float]:
    return {name: round(count / of, 3) for name, count in held.items()}


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def _write(homes: int) -> None:
    from worldgauge.worlds.indoor.homes import build_home, scene_seed

    table = count_habits(build_home(scene_seed("train", number)).objects for number in range(homes))
    TABLE.write_text(json.dumps(table, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write(int(sys.argv[1]))
