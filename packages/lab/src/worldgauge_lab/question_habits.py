"""Counts the habits of train homes for blind guesses: python -m worldgauge_lab.question_habits HOMES."""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from worldgauge.suites.worldinworld.questions.forms import TWICE, answerable
from worldgauge.suites.worldinworld.questions.habits import TABLE
from worldgauge.suites.worldinworld.questions.templates import FORMS
from worldgauge.worlds.indoor.homes import HomeObject as Known


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


def _write(homes: int) -> None:
    from worldgauge.worlds.indoor.homes import build_home, scene_seed

    table = count_habits(build_home(scene_seed("train", number)).objects for number in range(homes))
    TABLE.write_text(json.dumps(table, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write(int(sys.argv[1]))
