"""The tables of the paper, labelled as such; every success rate is shown with its count of successes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from worldgauge.core.errors import DataError
from worldgauge.core.intervals import wilson
from worldgauge.engine.suite.contract import Better, Cell, Table, TableRow

N_RECOGNITION, N_NAVIGATION, N_QUESTIONS = 551, 144, 184
N_MANIPULATION = {"VLM": 200, "3D-DP": 150}
"""Episodes by task; of manipulation by policy."""
DIGITS = {"AR": 2, "ImageNav": 2, "manipulation": 1}
"""After the point of a printed success rate; some are cut off there, not rounded."""

Numbers = Mapping[str, Any]
_BETTERS: tuple[Better, ...] = ("higher", "lower", "higher")
_INTERVAL = "Intervals are ours: 95%, Wilson, from the count that the printed rate must be of; the paper has none."
_COLUMNS = {
    "AR": ("success rate, %", "steps"),
    "ImageNav": ("success rate, %", "steps", "SPL, %"),
    "AEQA": ("answer score", "metres", "SPL, %"),
    "manipulation": ("success rate, %", "decisions"),
}
_KEYS = {
    "AR": ("sr", "mean_traj"),
    "ImageNav": ("sr", "mean_traj", "spl"),
    "AEQA": ("ans_score", "mean_traj_m", "spl"),
    "manipulation": ("sr", "mean_traj"),
}
_METRICS = {
    "AR": "recognition/success",
    "ImageNav": "navigation/success",
    "AEQA": "questions/answer_score",
    "manipulation": "manipulation/success",
}
"""Names of the scores of our own tables."""
_NAMES = {"AR": "recognition", "ImageNav": "navigation", "AEQA": "questions", "manipulation": "manipulation"}
_N = {"AR": N_RECOGNITION, "ImageNav": N_NAVIGATION, "AEQA": N_QUESTIONS}


def published() -> list[Table]:
    """Tables 1 to 7 of the paper, by task, and the leaderboard. They are about other scenes and policies, so cells are
    never compared."""
    data = _data()
    one, two, three, four, five, six, seven = (data[f"table{number}"]["rows"] for number in range(1, 8))

    def table(number: int, what: str, task: str, rows: Iterable[tuple[str, Numbers]], *notes: str) -> Table:
        return _table(f"Table {number}, {what}", task, rows, (data["source"], *notes))

    return [
        table(1, "recognition", "AR", _of("AR", one, _with_policy)),
        table(
            1,
            "navigation",
            "ImageNav",
            _of("ImageNav", one, _with_policy),
            "The prose calls Wan2.1, post-trained, the best open model; the table has Wan2.2-A14B, post-trained.",
        ),
        table(
            2,
            "questions",
            "AEQA",
            [(_model(row), row) for row in two],
            "The prose names 48.4 as the best answer score; the table has 48.6.",
        ),
        table(3, "manipulation", "manipulation", [(_with_policy(row), row) for row in three]),
        *(
            table(4, f"{_NAMES[task]}: what the model is shown", task, _contexts(task, four))
            for task in ("AR", "ImageNav")
        ),
        table(5, "navigation: who revises", "ImageNav", [(_revised(row), row) for row in five]),
        *(
            table(6, f"{_NAMES[task]}: where it was post-trained", task, _of(task, six, _trained))
            for task in ("AR", "ImageNav")
        ),
        *(
            table(7, f"{_NAMES[task]}: another language model as policy", task, _of(task, seven, _model))
            for task in ("AR", "ImageNav", "AEQA")
        ),
        leaderboard(),
    ]


def leaderboard() -> Table:
    """Success at recognition of Table 1 and the generation quality that the project's leaderboard prints."""
    data = _data()
    agents = [row for row in data["table1"]["rows"] if row["base_policy"] == "VLM"]
    rates = {_model(row): next(iter(_cells(row["AR"], "AR"))) for row in agents}
    rows = [(_model(row), Cell(row["quality"], None, N_RECOGNITION)) for row in data["board"]["rows"]]
    return Table(
        metric=_METRICS["AR"],
        title="Leaderboard, recognition: success and generation quality, as published",
        unit="%",
        better="higher",
        columns=("success rate, %", "quality"),
        rows=tuple(TableRow(name, (rates[name], quality), "published") for name, quality in rows),
        notes=(data["board"]["source"], f"{data['board']['note']}.", _INTERVAL),
        betters=("higher", "higher"),
    )


def _data() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((files(__package__) / "published.json").read_text("utf-8"))
    return found


def successes(rate_pct: float, n: int, digits: int = 2) -> int:
    """Number of successes among n episodes that a printed success rate stands for. `rate_pct`: The rate in percent."""
    count = round(rate_pct / 100 * n)
    # A hair more than one unit of the last digit: 100 k / n is not exact.
    if not 0 <= count <= n or abs(100 * count / n - rate_pct) > 10.0**-digits + 1e-9:
        raise DataError(f"published.json: a success rate of {rate_pct} % is that of no whole number of {n} episodes")
    return count


def _of(task: str, rows: Sequence[Numbers], name: Callable[[Numbers], str]) -> list[tuple[str, Numbers]]:
    """Label and numbers of every row, for one task."""
    return [(name(row), {**row, **row[task]}) for row in rows]


def _contexts(task: str, rows: Sequence[Numbers]) -> list[tuple[str, Numbers]]:
    return [
        (f"{_model(row)}, {view}", {**row, **row[view]})
        for row in rows
        if row["task"] == task
        for view in ("front", "panorama")
    ]


def _table(title: str, task: str, rows: Iterable[tuple[str, Numbers]], notes: tuple[str, ...]) -> Table:
    rows = list(rows)
    printed = [n for n, key in enumerate(_KEYS[task]) if any(key in row for _, row in rows)]
    cells = [(label, tuple(_cells(row, task))) for label, row in rows]
    return Table(
        metric=_METRICS[task],
        title=f"{title}, as published",
        unit="%",
        better="higher",
        columns=tuple(_COLUMNS[task][n] for n in printed),
        rows=tuple(TableRow(label, tuple(own[n] for n in printed), "published") for label, own in cells),
        notes=notes if task == "AEQA" else (*notes, _INTERVAL),
        betters=tuple(_BETTERS[n] for n in printed),
    )


def _cells(row: Numbers, task: str) -> Iterable[Cell]:
    n = _N[task] if task in _N else N_MANIPULATION[row["base_policy"]]
    for key in _KEYS[task]:
        value = row.get(key)
        if value is None:
            yield Cell(None, None, 0, expected=n)
        elif key != "sr":
            yield Cell(value, None, n)
        else:
            count = successes(value, n, DIGITS[task])
            if count != row["k"]:
                raise DataError(
                    f"published.json: a success rate of {value} % of {n} is {count} episodes, not {row['k']}"
                )
            interval = wilson(count, n)
            low, high = (None, None) if interval is None else (100 * interval.low, 100 * interval.high)
            yield Cell(value, None, n, low, high)


def _model(row: Numbers) -> str:
    """Name of the world model, and whether it was trained for this."""
    name: str = (row["method"] or "without WM").replace("without WM", "without world model")
    return f"{name}, post-trained" if row.get("post_trained") else name


def _with_policy(row: Numbers) -> str:
    name = _model(row)  # the rows without one name the policy already
    return name if row["base_policy"] in name else f"{name}, {row['base_policy']}"


def _revised(row: Numbers) -> str:
    return (
        "without world model" if row["method"] is None else f"{row['method']}, post-trained, {row['revision']} revises"
    )


def _trained(row: Numbers) -> str:
    return _model(row) if row["method"] is None else f"{row['method']}, {row['post_train_env']}"
