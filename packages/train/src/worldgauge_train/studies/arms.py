"""What studies of trained world models compare: one model under one setting after another, on the same tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from worldgauge.core.errors import UsageError
from worldgauge.models.address import CONTEXT_FRAMES


@dataclass(frozen=True)
class Study:
    """A study.

    Attributes:
        name: What it is called.
        question: What it asks.
        axis: Name of the horizontal axis.
        drawn: As lines over `Arm.at`, as points over frames/s, or as a list.
        is_timed: Whether the speed of answers belongs to it.
        caveat: What its readers must know.
    """

    name: str
    question: str
    axis: str
    drawn: Literal["lines", "plane", "list"]
    is_timed: bool = False
    caveat: str = ""


@dataclass(frozen=True)
class Arm:
    """One row of a study.

    Attributes:
        label: Names it in tables and drawings.
        model: Text that names the model, as for a run.
        family: Arms of one family are joined by a line.
        at: Where it stands on the horizontal axis. None for a model that others are seen beside.
        base: Label of the arm that it is compared with. None for none.
        tick: What is written at `at`, by default the number.
    """

    label: str
    model: str
    family: str = ""
    at: float | None = None
    base: str | None = None
    tick: str = ""


MEMORY = Study("memory", "Does a model use what it is shown?", "frames shown", "lines")
DENOISING = Study(
    "denoising",
    "What do more denoising steps buy?",
    "denoising steps",
    "lines",
    is_timed=True,
    caveat="A blur is near the truth on average, so an error of pixels can grow while pictures get sharper: look at "
    "detail beside it.",
)
DISTILLATION = Study(
    "distillation", "Is a student as good as its teacher, and how much faster?", "frames/s", "plane", is_timed=True
)
TRANSFER = Study("transfer", "Does a model do better where it was trained on?", "", "list")
DATA = Study("data", "What is more data to train on worth?", "clips trained on", "lines")

ALL = "all"


def memory_arms(
    models: Mapping[str, str], contexts: Sequence[int | None], held: Mapping[str, int | None]
) -> tuple[list[Arm], list[str]]:
    """Each model shown more and more frames, against itself shown the fewest.

    Args:
        models: Text of each model by label.
        contexts: Numbers of frames; None for all that there are.
        held: By label the most frames that a model takes. None for any number.

    Returns:
        The arms, and sentences on what is left out.
    """
    counts = sorted({one for one in contexts if one is not None})
    beyond = 3.0 * counts[-1] if counts else 1.0
    arms, said = [], []
    for label, text in models.items():
        most = held[label]
        able = [n for n in counts if most is None or n < most]
        rows: list[tuple[str, str, float, str]] = [
            (f"{label} at {n}", with_setting(text, CONTEXT_FRAMES, n), float(n), "") for n in able
        ]
        if None in contexts or len(able) < len(counts):
            end, tick = (beyond, ALL) if most is None else (float(most), "")
            rows.append((f"{label} at {ALL if most is None else most}", text, end, tick))
        if len(able) < len(counts):
            left = ", ".join(str(n) for n in counts[len(able) :])
            said.append(f"{label} takes no more than {most} frames, so it is not asked with {left}.")
        arms += [
            Arm(name, model, label, at, None if name == rows[0][0] else rows[0][0], tick)
            for name, model, at, tick in rows
        ]
    return arms, said


def denoising_arms(models: Mapping[str, str], steps: Sequence[int]) -> list[Arm]:
    """Each model with more and more denoising steps, against itself with the fewest.

    Args:
        models: Text of each model by label.
        steps: Numbers of steps.
    """
    counts = sorted(set(steps))
    return [
        Arm(
            f"{label} in {n}",
            with_setting(text, "steps", n),
            label,
            float(n),
            None if n == counts[0] else f"{label} in {counts[0]}",
        )
        for label, text in models.items()
        for n in counts
    ]


def pair_arms(models: Mapping[str, str]) -> list[Arm]:
    """Models as they are, each against the first.

    Args:
        models: Text of each model by label.
    """
    first = next(iter(models))
    return [
        Arm(label, text, label, float(place), None if label == first else first)
        for place, (label, text) in enumerate(models.items())
    ]


def beside_arms(models: Mapping[str, str]) -> list[Arm]:
    """Models that others are seen beside, such as floors.

    Args:
        models: Text of each model by label.
    """
    return [Arm(label, text, label) for label, text in models.items()]


def with_setting(text: str, name: str, value: int) -> str:
    """Text of a model with one more setting.

    Args:
        text: Text that names a model.
        name: Name of the setting.
        value: Its value.

    Raises:
        UsageError: The text gives it already.
    """
    query = text.partition("?")[2]
    if any(pair.partition("=")[0] == name for pair in query.split("&")):
        raise UsageError(f"model '{text}': the study sweeps '{name}'; leave it out")
    return f"{text}{'&' if query else '?'}{name}={value}"


def counts_of(text: str, option: str) -> list[int | None]:
    """Read numbers such as "1,8,all".

    Args:
        text: The numbers, separated by commas; "all" stands for None.
        option: The option, for messages.

    Raises:
        UsageError: For other text, numbers below 0, or none.
    """
    found: list[int | None] = []
    for word in text.split(","):
        word = word.strip()
        if word != ALL and not word.isdecimal():
            raise UsageError(f"{option} takes numbers separated by commas, such as 1,8,24, not '{word}'")
        found.append(None if word == ALL else int(word))
    return found
