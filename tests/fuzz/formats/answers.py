"""What language models and endpoints answer, and how it is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from fuzz.format import Format
from fuzz.mutators import damaged, damaged_json
from worldgauge.chat.prompt_runner import Misread
from worldgauge.chat.question import ChatQuestion, Message
from worldgauge.chat.reply import (
    CallFailure,
    Unfit,
    checked_value,
    one_line,
    read_answer,
    read_completion,
    read_usage,
    stated_error,
)
from worldgauge.core.errors import WorldgaugeError
from worldgauge.suites.mineanybuild.agents import read_stated
from worldgauge.suites.mineanybuild.critics import chat as critics
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import read_blueprint
from worldgauge.suites.mineanybuild.metrics.scores import read_choice, read_choice_released
from worldgauge.suites.worldinworld.policies import asking as forms
from worldgauge.suites.worldinworld.policies import asking as reading

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}}},
    "required": ["a"],
}
ASKED = (Message("user", "Which?"),)
QUESTIONS = (
    ChatQuestion(ASKED),
    ChatQuestion(ASKED, schema=SCHEMA),
    ChatQuestion(ASKED, choices=("A", "B"), top_logprobs=2),
)
COMPLETION = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "made-up",
    "system_fingerprint": "fp",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": '{"a": 1, "b": ["x", "y"]}', "refusal": None},
            "finish_reason": "stop",
            "logprobs": {
                "content": [
                    {
                        "token": "A",
                        "logprob": -0.1,
                        "bytes": [65],
                        "top_logprobs": [{"token": "A", "logprob": -0.1}, {"token": " B", "logprob": -2.5}],
                    }
                ]
            },
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
}


def _read_reply(folder: Path) -> None:
    body = (folder / "reply.json").read_bytes().decode("utf-8", "replace")
    one_line(stated_error(body)[1])
    completion = read_completion(body)
    read_usage(completion)
    refused: Exception | None = None
    for question in QUESTIONS:
        try:
            read_answer(completion, question)
        except (CallFailure, Unfit) as error:
            refused = error
    if refused is not None:
        raise refused


BUILDS = (
    "Here it is.\n```json\n[[[1, 1, -1], [2, 1, 1]], [[1, -1, -1], [2, 2, 1]]]\n```\nDone.",
    'blueprint = [[["stone", 1], [0, {"a": 2}]]] # one layer\n[[[1]]]',
    "Layer 1: stone: [(0,0), (0,1)] glass: [(1,1)]\nLayer 2: stone: [(0,0)]",
)
CHOICES = ("The answer is B.", "\\boxed{C}", "<answer>A</answer>", "A) because\n\nnot B", "True, it is.")
GRADES = '{"Completeness": {"grade": 7, "comment": "fine"}, "Creativity": 3, "choice": 1, "reason": "x", "score": 4}'
PLANS = (
    '{"reason": "a", "plan": ["F", "F", "L", "S"]}',
    '{"seen": "b", "reason": "a", "plan": "go", "poses": [[1, 2, 3, 4, 5, 6, 1]]}',
    '{"reason": "a", "choice": 2}',
    '{"reason": "a", "plan": "Go left.", "view": "front", "landmark": 2, "answer": null}',
    "F, F, turn_left",
)


def _make_texts(texts: tuple[str, ...]) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        for number, text in enumerate(texts):
            (folder / f"{number}.txt").write_text(text)

    return make


def _text_of(folder: Path) -> list[str]:
    return [path.read_bytes().decode("utf-8", "replace") for path in sorted(folder.iterdir())]


def _read_builds(folder: Path) -> None:
    for text in _text_of(folder):
        for parser in ("ours", "released"):
            read_blueprint(text, ("stone", "glass"), parser=parser)  # type: ignore[arg-type]
        read_stated(text, ("stone", "glass"), (9, 9, 9))


def _read_choices(folder: Path) -> None:
    for text in _text_of(folder):
        for options in (("A", "B", "C", "D"), ("True", "False")):
            read_choice(text, options)
            read_choice_released(text, options)


def _read_grades(folder: Path) -> None:
    (text,) = _text_of(folder)
    readers: tuple[Callable[[str], object], ...] = (
        lambda text: critics.read_grades(text, ("completeness",)),
        critics.read_choice,
        critics.read_mark,
        reading.read_mark,
    )
    for read in readers:
        with suppress(Misread):
            read(text)


READERS: tuple[tuple[forms.Form, Callable[[Any], object]], ...] = (
    (forms.plan_form("FLRS"), lambda value: reading.read_steps(value["plan"], 6, stop=True)),
    (forms.HAND_PLAN, lambda value: reading.read_poses(value["poses"], 5)),
    (forms.CHOICE, lambda value: reading.read_index(value["choice"], 4)),
    (forms.HIGH_LEVEL, lambda value: reading.read_high_level(value, {"front": {1, 2}})),
)


def _read_plans(folder: Path) -> None:
    for text in _text_of(folder):
        for form, read in READERS:
            with suppress(Misread, Unfit):
                read(checked_value(text, form))
        with suppress(Misread):
            reading.read_steps(text, 6)


def _as_json(name: str, data: bytes, rng: Random) -> bytes:
    return damaged_json(data, rng) if rng.random() < 0.7 else damaged(name, data, rng)


REFUSALS = (WorldgaugeError, CallFailure, Unfit)
FORMATS = (
    Format(
        "chat-replies",
        lambda folder: (folder / "reply.json").write_text(json.dumps(COMPLETION)),
        _read_reply,
        refusals=REFUSALS,
    ),
    Format("build-answers", _make_texts(BUILDS), _read_builds),
    Format("choices", _make_texts(CHOICES), _read_choices),
    Format("grades", _make_texts((GRADES,)), _read_grades, mutate=_as_json),
    Format("plans", _make_texts(PLANS), _read_plans, mutate=_as_json),
)
