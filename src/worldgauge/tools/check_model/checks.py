"""What a check consists of, and how checks compare answers and describe problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.tools.check_model.trial import ModelAnswer, Trial, frames_in_words

ROUNDING = 2
"""Grey levels by which two answers may differ and still count as the same: sums on a graphics card vary by as much."""


@dataclass(frozen=True)
class CheckFinding:
    """One problem of a model.

    Attributes:
        explanation: What the model gave.
        advice: What to do.
        grave: Whether a promise is broken; otherwise it is a warning.
    """

    explanation: str
    advice: str
    grave: bool = True


@dataclass(frozen=True)
class Check:
    """One check of a model.

    Attributes:
        name: Name of the check.
        question: What it checks, in plain words.
        find: Runs the check and yields its findings.
        after: Checks that must succeed first. This one is not run where one of them is violated or was not run.
        grave: Whether a model that crashes or hangs in it has broken a promise.
    """

    name: str
    question: str
    find: Callable[[Trial], Iterator[CheckFinding]]
    after: tuple[str, ...]
    grave: bool


def check(
    question: str, *, after: tuple[str, ...] = ("answers",), grave: bool = True
) -> Callable[[Callable[[Trial], Iterator[CheckFinding]]], Check]:
    """Decorator that makes a check from a function.

    Args:
        question: What it checks, in plain words.
        after: Checks that must succeed first.
        grave: Whether a model that crashes or hangs in it has broken a promise.

    Returns:
        The decorator. The check has the function's name, with "-" for "_".
    """
    return lambda find: Check(find.__name__.replace("_", "-"), question, find, after, grave)


def complaints(asked: ModelAnswer, advice: str) -> Iterator[CheckFinding]:
    """Find problems with the form of an answer to a special question.

    Args:
        asked: Question and answer.
        advice: What to do about it.
    """
    if asked.error is not None:
        yield CheckFinding(f"Asked for {asked.described}, it {asked.error}.", advice)
        return
    yield from miscounted(asked, advice)
    width, height = asked.request.frame_size
    for found, times in Counter(frame.shape for frame in asked.frames).items():
        if found != (height, width, 3):
            yield CheckFinding(
                f"Asked for frames ({height}, {width}, 3), it gave {frames_in_words(times)} of shape {found}.", advice
            )


def miscounted(asked: ModelAnswer, advice: str | None = None) -> Iterator[CheckFinding]:
    """Find problems with the number of frames.

    Args:
        asked: Question and answer.
        advice: Replaces the general advice.
    """
    wanted = asked.request.horizon
    if asked.count < wanted:
        ended = "stopped after" if asked.count else "gave nothing, not one of"
        yield CheckFinding(
            f"Asked for {frames_in_words(wanted)}, it {ended} {frames_in_words(asked.count or wanted)}.",
            advice or "Go on until request.horizon frames are made; it is the number of steps of the future.",
        )
    elif asked.count > wanted or asked.went_on:
        more = f"gave {asked.count}" if asked.count > wanted else "went on after them"
        yield CheckFinding(
            f"Asked for {frames_in_words(wanted)}, it {more}.",
            advice or "Stop at request.horizon frames: cut the last chunk to chunk[: request.horizon - done].",
        )


def changed(first: ModelAnswer, again: ModelAnswer, when: str, *, grave: bool = True) -> Iterator[CheckFinding]:
    """Find differences between two answers to the same question. Those within ROUNDING do not count.

    Args:
        first: The first answer.
        again: The second one.
        when: What happened in between.
        grave: The finding fails the check.
    """
    advice = "Keep no state between calls of rollout: make caches, generators and hidden states inside it each time."
    if again.error is not None:
        yield CheckFinding(f"{when}, the same question {again.error}.", advice, grave)
    elif (found := difference(first.frames, again.frames)) and not found.small:
        yield CheckFinding(f"{when}, for the same question {found.words}.", advice, grave)


class Difference(NamedTuple):
    """Difference between two answers.

    Attributes:
        words: The difference in words.
        small: Whether it is no more than ROUNDING.
    """

    words: str
    small: bool


def difference(first: Sequence[NDArray[Any]], again: Sequence[NDArray[Any]]) -> Difference | None:
    """Compare the frames of two answers.

    Args:
        first: Frames (H, W, 3).
        again: Frames of the second answer.

    Returns:
        The difference; None when they are equal.
    """
    if len(first) != len(again):
        return Difference(f"it gave {frames_in_words(len(again))} instead of {len(first)}", False)
    worst, differing = 0.0, []
    for at, (one, two) in enumerate(zip(first, again, strict=True)):
        if one.shape != two.shape or one.dtype != two.dtype:
            return Difference(f"frame {at} is {two.dtype} {two.shape} instead of {one.dtype} {one.shape}", False)
        if not np.array_equal(one, two, equal_nan=one.dtype.kind == "f"):
            differing.append(at)
            worst = max(worst, float(np.nanmax(np.abs(one.astype(float) - two.astype(float)))))
    if not differing:
        return None
    rounding = ROUNDING / 255 if first[0].dtype.kind == "f" else ROUNDING
    words = f"{len(differing)} of {frames_in_words(len(first))} differed (first: {differing[0]}), by up to {worst:.3g}"
    return Difference(words, worst <= rounding)
