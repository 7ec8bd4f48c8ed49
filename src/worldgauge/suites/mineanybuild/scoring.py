"""Scores of one answer: can it be built, how is it graded, how near is it to the truth, and what does guessing get?"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from worldgauge.chat.answers import answer_text
from worldgauge.chat.endpoint import open_chat
from worldgauge.core.errors import ModelError, UsageError
from worldgauge.engine.suite.contract import Record, Score, Task, TaskContext, cached_by_task, mean_of_known
from worldgauge.engine.suite.scores import make_score
from worldgauge.suites.mineanybuild.agents import NO, YES, random_cells
from worldgauge.suites.mineanybuild.critics import (
    DIMENSIONS,
    CommonsenseMark,
    Critic,
    CriticError,
    CriticKit,
    Grades,
    Submission,
    critics,
)
from worldgauge.suites.mineanybuild.feedback import reading_of
from worldgauge.suites.mineanybuild.format import BuildTask
from worldgauge.suites.mineanybuild.metrics.blueprint_matching import (
    best_shift_score,
    matching_f1,
    matching_precision,
    matching_score,
    occupancy_iou,
    typed_iou,
)
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import executable, strict
from worldgauge.suites.mineanybuild.metrics.scores import (
    Weighting,
    build_grade,
    commonsense,
    commonsense_success,
    comprehensive,
    evaluation,
    full_marks,
    graded_only,
    read_choice,
    read_choice_released,
    reasoning_accuracy,
)
from worldgauge.suites.mineanybuild.metrics.soundness import soundness
from worldgauge.suites.mineanybuild.protocol import answer_of, choices_of, earlier_answers, row_of, truth_of
from worldgauge.suites.mineanybuild.settings import BuildSettings
from worldgauge.worlds.blocks.blueprint import Blueprint, base_name
from worldgauge.worlds.blocks.views import contact_sheet

RANDOM_SIZE = (8, 8, 8)
"""Of the matrix that the reference `random` answers with, in blocks."""
_SEED = 20251202

Bounds = Mapping[str, float | None]
"""chance, ceiling: scores of guessing and of the right answer, in percent of full marks."""


def choice_bounds(count: int) -> Bounds:
    """Return the bounds of a question with so many choices."""
    return {"chance": 100.0 / count, "ceiling": 100.0}


def answer_bounds(critic: Critic, question: str, expected: str) -> Bounds:
    """Return the bounds of a question answered in words; guesses are yes and no."""
    guessed = [full_marks(commonsense(critic.mark(question, expected, said, 0).mark)) for said in (YES, NO)]
    return {
        "chance": mean_of_known(guessed),
        "ceiling": full_marks(commonsense(critic.mark(question, expected, expected, 0).mark)),
    }


def build_bounds(critic: Critic, truth: Submission, materials: Sequence[str], weights: Weighting) -> Bounds:
    """Return the bounds of a build: of a draw of `random`, and of the truth."""
    rng = np.random.default_rng([_SEED, *truth.task.encode()])
    drawn = Blueprint(random_cells(len(materials), RANDOM_SIZE, rng), tuple(materials))
    guessed = Submission(
        truth.task, truth.kind, truth.instruction, drawn, truth.picture, truth.variant, truth.reference
    )
    marks = [
        full_marks(evaluation(truth.kind, True, critic.grade(submission, 0).grades, weights=weights))
        for submission in (guessed, truth)
    ]
    return {"chance": marks[0], "ceiling": marks[1]}


def random_matching(
    truth: Blueprint, materials: Sequence[str], size: tuple[int, int, int] = RANDOM_SIZE
) -> float | None:
    """Expected matching score, of 10, of a matrix of `size` sampled uniformly from air and materials."""
    if not truth.blocks:
        return None
    names = Counter(map(base_name, materials))
    height, depth, width = size
    within = Blueprint(truth.cells[:height, :depth, :width], truth.materials)
    met = sum(count * names[base_name(name)] for name, count in within.counts().items())
    return 10.0 * met / (len(materials) + 1) / truth.blocks


HEADLINE = "task/full_marks"
"""The main score of a task, in percent of full marks."""
MATCHED = {
    "build_matching": matching_score,
    "build_precision": matching_precision,
    "build_f1": matching_f1,
    "build_typed_iou": typed_iou,
    "build_occupancy_iou": occupancy_iou,
    "build_best_shift": best_shift_score,
}
SOUND = ("supported", "connected", "symmetry", "order", "alike", "evenness", "reachable")
"""What geometry says of a build, whoever grades it."""
FREE = "rules"
"""The critic that stands beside one that asks a language model."""
METRICS = (
    *("full_marks", "build_executable", "build_strict", "build_evaluation", "build_graded", "build_grade"),
    *("build_comprehensive", *MATCHED, *(f"build_{name}" for name in SOUND)),
    *("reasoning_accuracy", "build_commonsense", "build_commonsense_success"),
)
_MISSPELT = "Ture"
"""What the released generator writes for "True": no honest answer is equal to it."""
_NOT_BUILT = "the plan cannot be built, and such plans are left out"
_NO_BLOCKS = "the true build has no blocks"
_TOO_LARGE = "the builds are too large to be moved over each other"
_NO_SUCH = "the build has nothing that could be measured so"
_NO_GRADE = "ungraded: "


def score(record: Record, task_context: TaskContext, settings: BuildSettings) -> list[Score]:
    """Return all scores of one record; what cannot be known has no value, with the reason."""
    row = row_of(record.task)
    text = answer_of(record)
    # Earlier versions stored such replies as wrong answers; `problems` says why there is no text.
    problems = record.facts.get("notes", {}).get("problems")
    if (text.strip() or problems) and not answer_text(text).strip():
        raise ModelError(f"the stored reply holds no answer ({problems[-1] if problems else 'reasoning only'})")
    if row.kind == "reasoning":
        found = list(_reasoning(record, row, text, settings))
    elif row.kind == "commonsense":
        found = list(_commonsense(record, row, answer_text(text), task_context.seed, settings))
    else:
        found = list(_build(record, row, text, task_context, settings))
    return sorted(found, key=lambda one: one.metric)


def submission_of(record_task: str, row: BuildTask, built: Blueprint, truth: Blueprint | None) -> Submission:
    """Return what a critic sees of a build, with the true build except for creativity."""
    seen = None if row.kind == "creativity" else truth
    return Submission(
        task=record_task,
        kind=row.kind,
        instruction=row.instruction,
        built=built,
        picture=cache(lambda: contact_sheet(built)),
        variant=row.variant,
        reference=seen,
        reference_picture=None if seen is None else cache(lambda: contact_sheet(seen)),
    )


def _build(
    record: Record, row: BuildTask, text: str, task_context: TaskContext, settings: BuildSettings
) -> Iterator[Score]:
    truth = truth_of(record.task)
    reading = reading_of(row, text, settings)
    built = reading.blueprint
    told: dict[str, Any] = {
        "reason": reading.reason,
        "warnings": list(reading.warnings),
        "shape": None if reading.shape is None else list(reading.shape),
        "blocks": reading.blocks,
        "random_matching": None if truth is None else random_matching(truth, row.materials),
        **_bounds(record.task, settings),
        **_asked(record),
        **({} if reading.pieces is None else {"pieces": reading.pieces}),
    }
    if settings.rounds > 1:
        texts = (*earlier_answers(record), text)
        told["rounds"] = [_round(record.task, row, truth, one, settings) for one in texts]
    prefix = f"{row.kind}/"
    yield make_score(record, "build_executable", executable(reading), facts=told, prefix=prefix)
    yield make_score(record, "build_strict", strict(reading), prefix=prefix)
    task_context.progress(1, 3)
    grades, why = None, ""
    if built is not None and reading.executable:
        submission = submission_of(record.task.id, row, built, truth)
        grades, why = _graded(critic_of(settings), submission, task_context, settings)
        if _talks(settings):
            # What the free critic says, beside one that asks a language model.
            marks = _by_rules(submission, settings)
            yield make_score(record, "build_evaluation", marks, prefix=f"{submission.kind}/{FREE}/")
        sound = soundness(built)
        for name in SOUND:
            yield _score(record, f"build_{name}", getattr(sound, name), _NO_SUCH, prefix="soundness/")
    own = None if grades is None else grades.grades
    task_context.progress(2, 3)
    lacking = _NO_GRADE + why if reading.executable else _NOT_BUILT
    for name in DIMENSIONS[row.kind]:
        grade = None if grades is None else build_grade(grades.grades[name])
        comment = {} if grades is None else {"comment": grades.comments.get(name, ""), **grades.notes["spread"][name]}
        yield _score(record, "build_grade", grade, lacking, facts=comment, prefix=f"{row.kind}/{name}/")
    counts = reading.executable or settings.failed_plans == "zero"
    marks = evaluation(row.kind, reading.executable, own, weights=settings.weights) if counts else None
    graded = graded_only(row.kind, reading.executable, own, weights=settings.weights)
    notes = {} if grades is None else {"gradings": grades.notes["gradings"]}
    yield _score(record, "full_marks", full_marks(marks), lacking, facts=told, prefix="task/")
    yield _score(record, "build_evaluation", marks, lacking, facts=notes, prefix=prefix)
    yield _score(record, "build_graded", graded, lacking, prefix=prefix)
    if row.kind == "creativity" or truth is None:
        return
    matched = None
    for name, measure in MATCHED.items():
        value = 0.0 if built is None else measure(truth, built)
        matched = value if name == "build_matching" else matched
        yield _score(record, name, value, _TOO_LARGE if truth.blocks else _NO_BLOCKS, prefix=prefix)
    total = comprehensive(reading.executable, marks, matched) if counts else None
    yield _score(record, "build_comprehensive", total, lacking if marks is None else _NO_BLOCKS, prefix=prefix)


def _by_rules(submission: Submission, settings: BuildSettings) -> float | None:
    free = critics.get(FREE)(CriticKit()).grade(submission, 0).grades
    return evaluation(submission.kind, True, free, weights=settings.weights)


def _round(
    task: Task, row: BuildTask, truth: Blueprint | None, text: str, settings: BuildSettings
) -> dict[str, float | None]:
    """What an answer of one round is worth, in percent: full marks by the free critic, and F1 except for creativity."""
    built = reading_of(row, text, settings).blueprint
    marks: float | None = 0.0
    f1 = 0.0
    if built is not None:
        marks = full_marks(_by_rules(submission_of(task.id, row, built, truth), settings))
        f1 = 100 * ((matching_f1(truth, built) if truth is not None else None) or 0.0)
    return {"full_marks": marks, **({} if truth is None or row.kind == "creativity" else {"f1": f1})}


def _bounds(task: Task, settings: BuildSettings) -> Bounds:
    """What guessing and what the right answer get of a critic that is free to ask; nothing of another."""
    return {} if _talks(settings) else _free_bounds(task, settings)


@cached_by_task(maxsize=8192)
def _free_bounds(task: Task, settings: BuildSettings) -> Bounds:
    row, truth, critic = row_of(task), truth_of(task), critics.get(settings.critic)(CriticKit())
    if row.kind == "commonsense":
        return answer_bounds(critic, row.instruction, row.answer or "")
    if truth is None or not row.materials:
        return {}
    return build_bounds(critic, submission_of(task.id, row, truth, truth), row.materials, settings.weights)


def _talks(settings: BuildSettings) -> bool:
    return bool(critics.entry(settings.critic).facts["chat"])


def _reasoning(record: Record, row: BuildTask, text: str, settings: BuildSettings) -> Iterator[Score]:
    choices = choices_of(row.kind, row.variant)
    right = _MISSPELT if settings.labels == "released" and row.answer == "True" else row.answer or ""
    # The release compares with its label, also where that is misspelt.
    read = read_choice(text, choices) if settings.choices == "read" else read_choice_released(text, (*choices, right))
    value = reasoning_accuracy(read, right)
    bounds = choice_bounds(len(choices)) if right in choices else {"chance": 0.0, "ceiling": 0.0}
    told = {"read": read, "answer": row.answer, **bounds, **_asked(record)}
    yield make_score(record, "reasoning_accuracy", value, facts=told, prefix="reasoning/")
    yield make_score(record, "full_marks", full_marks(value / 10), facts=told, prefix="task/")


def _commonsense(record: Record, row: BuildTask, text: str, seed: int, settings: BuildSettings) -> Iterator[Score]:
    marked, why = _marked(critic_of(settings), row, text, seed)
    mark = None if marked is None else marked.mark
    told = {
        "reason": None if marked is None else marked.reason,
        "expected": row.answer,
        **_bounds(record.task, settings),
        **_asked(record),
    }
    notes = {} if marked is None else {"marking": dict(marked.notes)}
    lacking = _NO_GRADE + why
    marks, success = commonsense(mark), commonsense_success(mark)
    yield _score(record, "full_marks", full_marks(marks), lacking, facts=told, prefix="task/")
    yield _score(record, "build_commonsense", marks, lacking, facts={**told, **notes}, prefix="commonsense/")
    yield _score(record, "build_commonsense_success", success, lacking, prefix="commonsense/")


def _score(record: Record, metric: str, value: float | None, lacking: str, **more: Any) -> Score:
    """As `make_score`; lacking: why there is no value, where there is none."""
    return make_score(record, metric, value, reason=lacking if value is None else None, **more)


def _graded(
    critic: Critic, submission: Submission, task_context: TaskContext, settings: BuildSettings
) -> tuple[Grades | None, str]:
    """The median of several gradings, or why there is none; an outage raises, since scoring can be done again."""
    found = []
    for number in range(settings.gradings):
        try:
            found.append(critic.grade(submission, (task_context.seed + number) % 2**31))
        except CriticError as error:
            if error.outage:
                raise
            return None, str(error)
        if missing := sorted(set(DIMENSIONS[submission.kind]) - set(found[-1].grades)):
            raise UsageError(f"critic '{settings.critic}' gave no grade of {', '.join(missing)}")
        task_context.progress(1, 3)
    median = {name: statistics.median(one.grades[name] for one in found) for name in DIMENSIONS[submission.kind]}
    comments = {name: "; ".join(dict.fromkeys(one.comments.get(name, "") for one in found)) for name in median}
    several = {name: {"gradings": [one.grades[name] for one in found]} if len(found) > 1 else {} for name in median}
    return Grades(median, comments, {"gradings": [dict(one.notes) for one in found], "spread": several}), ""


def _marked(critic: Critic, row: BuildTask, text: str, seed: int) -> tuple[CommonsenseMark | None, str]:
    try:
        return critic.mark(row.instruction, row.answer or "", text, seed), ""
    except CriticError as error:
        if error.outage:
            raise
        return None, str(error)


def _asked(record: Record) -> Mapping[str, Any]:
    """What the answer took, where the agent says it, in numbers that can be."""
    rounds = [*record.facts.get("earlier", ()), record.facts.get("notes", {})]
    said = {name: [notes.get(name) for notes in rounds] for name in ("input_tokens", "output_tokens", "cost")}
    return {name: sum(values) for name, values in said.items() if all(map(_is_amount, values))}


def critic_tokens(facts: Mapping[str, Any]) -> float | None:
    """Return the tokens that a critic used for an answer, in and out; None if the facts of its score do not say."""
    notes = [*facts.get("gradings", ()), *([facts["marking"]] if "marking" in facts else [])]
    asked = [one for note in notes for one in note.get("asked", ())]
    found = [one[name] for one in asked for name in ("input_tokens", "output_tokens") if _is_amount(one.get(name))]
    return math.fsum(found) if found else None


def _is_amount(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


@lru_cache(maxsize=2)
def critic_of(settings: BuildSettings) -> Critic:
    """The critic of the settings, one for all tasks of a worker: its limits on calls a minute hold for all of them."""
    chat = None
    if settings.chat is not None:
        given, got = settings.prices
        chat = open_chat(
            settings.chat,
            settings.chat_recording,
            replay=settings.chat_replay,
            input_price=given,
            output_price=got,
            budget=settings.chat_budget,
            key_env=settings.chat_key_env,
        )
    return critics.get(settings.critic)(CriticKit(chat, settings.prompts, {"max_tokens": settings.critic_tokens}))
