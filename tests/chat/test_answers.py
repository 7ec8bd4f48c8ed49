"""The answer in a model's text: no reasoning is read, in any form that models write it, and the last answer counts."""

import time
from typing import Any

import pytest

from worldgauge.chat.answers import answer_start, answer_text, last_object
from worldgauge.chat.reply import checked_value
from worldgauge.suites.mineanybuild.critics.chat import read_choice as read_preference
from worldgauge.suites.mineanybuild.critics.chat import read_mark as read_score
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import read_blueprint
from worldgauge.suites.mineanybuild.metrics.scores import read_choice
from worldgauge.suites.worldinworld.policies.asking import read_mark

FORMS = (
    "<think>{}</think>\n",
    "{}</think>",
    "<THINK>{}</Think>",
    "<think>\n<think>\n{}\n</think>",
    '<think lang="en">{}</think >',
    "<think>{}</thinking>",
    "<thinking>{}</thinking>",
    "<thought>{}</thought>",
    "<reasoning>{}</reasoning>",
    "{}</reasoning>",
    "<analysis>{}</analysis>",
    "<think>{} <analysis>more</analysis> end</think>",
    "<antThinking>{}</antThinking>",
    "<seed:think>{}</seed:think>",
    "&lt;think&gt;{}&lt;/think&gt;",
    "[THINK]{}[/THINK]",
    "{}[/THINK]",
    "◁think▷{}◁/think▷",
    "<|begin_of_thought|>{}<|end_of_thought|><|begin_of_solution|>",
    "<|START_THINKING|>{}<|END_THINKING|><|START_RESPONSE|>",
    "<|inner_prefix|>{}<|inner_suffix|>",
    "<unused94>thought\n{}<unused95>",
    "<|channel>thought\n{}<channel|>",
    "<|open|>think<|sep|>{}<|close|>think<|sep|><|open|>response<|sep|>",
    "<|message_model|><|content_thinking|>{}<|end_message|><|message_model|><|content_text|>",
    "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
    "analysisWe need a draft: {}assistantfinal",
    "Here is my thought process:\n{}\n\nHere is my response:\n",
    "<think>The tag `</think>` ends this. {}</think>",
    'Its side is 5" long. {}</think>',
)
ANSWERS: dict[str, tuple[str, str, Any]] = {
    # What is read, a draft, the answer, and its value.
    "matrix": ("```json\n[[[1]]]\n```", "```json\n[[[1, 2], [2, 1]], [[1, 1], [1, 1]]]\n```", (2, 2, 2)),
    "open fence": ("```json\n[[[1]]]\n", "```json\n[[[1, 2]]]\n```", (1, 1, 2)),
    "letter": ("Is it \\boxed{B}? The answer is A.", "C", "C"),
    "JSON": ('{"choice": 1}', '{"choice": 2, "reason": "so"}', {"choice": 2, "reason": "so"}),
    "plan": ('{"plan": ["F", "F"]}', '```json\n{"plan": ["L"]}\n```', {"plan": ["L"]}),
    "score": ('{"score": 9}', "{'score': 3, 'reason': 'it isn\\'t'}", 3.0),
    "preference": ('{"choice": 1}', '{"choice": 2}', False),
    "mark": ("MARK: 1", "It is right.\nMARK: 5", 5),
}
READERS = {
    "matrix": lambda text: read_blueprint(text, ["stone", "planks"]).shape,
    "open fence": lambda text: read_blueprint(text, ["stone", "planks"]).shape,
    "letter": lambda text: read_choice(text, tuple("ABCD")),
    "JSON": lambda text: checked_value(text, {"type": "object"}),
    "plan": lambda text: checked_value(text, {"type": "object"}),
    "score": lambda text: read_score(text)[0],
    "preference": lambda text: read_preference(text)[0],
    "mark": lambda text: read_mark(answer_text(text)),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_reasoning_is_never_read(kind: str) -> None:
    draft, answer, value = ANSWERS[kind]
    for form in FORMS:
        text = form.format(f"\nFirst: {draft}\nNo.\n") + answer
        assert READERS[kind](text) == value, text
        assert text[answer_start(text) :].strip().endswith(answer)


@pytest.mark.parametrize("kind", [name for name in ANSWERS if name != "open fence"])
def test_the_last_answer_counts(kind: str) -> None:
    draft, answer, value = ANSWERS[kind]
    draft = draft if kind != "letter" else "\\boxed{A}"
    answer = answer if kind != "letter" else "\\boxed{C}"
    assert READERS[kind](f"{draft}\nNo, I correct myself.\n{answer}\n") == value
    assert READERS[kind](f"<think>a</think>{draft}<think>But no.</think>\n{answer}<think>Right.</think>") == value


@pytest.mark.parametrize("form", [form for form in FORMS if not form.startswith(("{}", "Its"))])
def test_reasoning_that_does_not_end_leaves_no_answer(form: str) -> None:
    text = form.partition("{}")[0] + "Is it C?\n```json\n[[[1]]]\n```\n\\boxed{C}"
    assert (answer_text(text), read_blueprint(text, ["stone"]).reason) == ("", "no_block")
    assert read_choice(text, tuple("ABCD")) is None


@pytest.mark.parametrize(
    "text",
    [
        "C",
        "",
        "I used `<think>` and `</think>`: C",
        'The tag "<think>" is one; C',
        '{"reason": "no <think> tag, no </think> tag", "choice": "C"}',
        '{"reason": "so-called \\"<think>\\" tags", "choice": "C"}',
        "```html\n<think>a</think>\n```\nC",
        "```json\n[[[1]]] // no <think> block\n```",
        "analysis of the picture: C",
        "Here is my response: C",
        "<think/>C",
    ],
)
def test_words_about_marks_are_no_marks(text: str) -> None:
    assert answer_text(text) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('a {"x": 1} b {"y": {"z": "}"}} c {q}', '{"y": {"z": "}"}}'),
        ('{{"choice": 2}}', '{"choice": 2}'),
        ("{'a': 'it's'} so", "{'a': 'it's'}"),
        ('{"a": "don\'t"}', '{"a": "don\'t"}'),
        ('{"draft": 1} then {"cut": {"inner": 1}', '{"draft": 1}'),
        ("a set {a, b}", None),
        ('{"cut": 1', None),
    ],
)
def test_the_last_complete_object(text: str, found: str | None) -> None:
    assert last_object(text) == found


def test_hostile_texts_take_little_time() -> None:
    parts = (
        "<think>",
        "</think>",
        '"<think>',
        '{"a":',
        "```<think>",
        "<think ",
        "{'a",
        "<|channel|>final",
        '{"a":1}',
        "`",
    )
    for part in parts:
        text, begin = part * (200_000 // len(part)) + " think", time.process_time()
        answer_text(text)
        last_object(text)
        answer_start(text)
        assert time.process_time() - begin < 4, part
