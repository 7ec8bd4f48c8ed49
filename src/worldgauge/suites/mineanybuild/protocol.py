"""Tasks, one per row of the data set: what the agent is shown, and what is stored of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from worldgauge.chat.answers import answer_text
from worldgauge.core.agent import Agent, Answer, Problem
from worldgauge.core.errors import DataError, ModelError, WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.io import write_file
from worldgauge.engine.suite.contract import Record, Task, TaskContext, TaskData
from worldgauge.suites.mineanybuild.answer_forms import fenced
from worldgauge.suites.mineanybuild.feedback import feedback_on
from worldgauge.suites.mineanybuild.format import BUILD_KINDS, KINDS, BuildSet, BuildTask, read_image
from worldgauge.suites.mineanybuild.format_reader import fingerprint_of, load
from worldgauge.suites.mineanybuild.metrics.blueprint_reading import Form
from worldgauge.suites.mineanybuild.settings import SUITE, BuildSettings
from worldgauge.worlds.blocks.blueprint import Blueprint, tier_of


def tasks(source: Path, settings: BuildSettings) -> Iterator[Task]:
    """Yield all tasks of a data folder, kind by kind; unusable rows become tasks that fail with their reason."""
    folder = str(Path(source).resolve())
    data = load(Path(folder))
    kinds = KINDS if settings.task is None else (settings.task,)
    found = 0
    for kind in kinds:
        for fault in data.faults:
            if fault.kind == kind:
                found += 1
                sample = {"source": folder, "kind": kind, "broken": fault.text}
                yield Task(SUITE, f"{kind}/{fault.id}", sample, fault.text, {"task": kind})
        for row in data.tasks.get(kind, ()):
            found += 1
            known = data.architectures.get(row.architecture or "")
            tier = None if row.difficulty is None else tier_of(row.difficulty)
            group = {"variant": row.variant, "tier": tier, "type": None if known is None else known.type}
            yield Task(
                suite=SUITE,
                id=f"{kind}/{row.id}",
                sample={"source": folder, "kind": kind, "row": row.id},
                fingerprint=fingerprint_of(row, data),
                group={"task": kind, **({key: value for key, value in group.items() if value})},
                cluster=cluster_of_row(row),
            )
    if not found:
        raise DataError(f"{source}: no tasks of {' or '.join(kinds)}; try --data worldgauge-small")


def cluster_of_row(row: BuildTask) -> str:
    """The structure to be built, or the stimulus of a rotation question; empty where there is none."""
    return row.architecture or "".join(re.findall(r"^MR\d+(?=_)", row.metadata or ""))


def cluster_of(task: str) -> str:
    """The structure that a task is about, as far as its id tells; the task itself for questions."""
    structure = re.search(r"TSK_(?:SP|SU|CR)_(\d+)", task)
    return f"AR_{structure[1]}" if structure else task


def row_of(task: Task) -> BuildTask:
    """Return the row of a task."""
    if task.sample.get("broken"):
        raise DataError(f"{task.id}: {task.sample['broken']}")
    return _rows(task)[0]


def truth_of(task: Task) -> Blueprint | None:
    """Return the build that a task is about; None for questions."""
    row = row_of(task)
    if row.architecture is None:
        return None
    known = _rows(task)[1].architectures
    return known[row.architecture].blueprint if row.architecture in known else None


def _read(source: Path, _: str) -> dict[str, tuple[BuildTask, BuildSet]]:
    data = load(source)
    return {f"{kind}/{row.id}": (row, data) for kind, rows in data.tasks.items() for row in rows}


_rows = TaskData(_read, lambda found: fingerprint_of(*found))


ANSWER = "answer.txt"
MOST_BYTES = 8_000_000
"""Most bytes of an answer that are stored: more than any that can be read."""
LETTERS = ("A", "B", "C", "D")
WORDS = ("True", "False")


def perform(task: Task, model: Agent, task_context: TaskContext, settings: BuildSettings) -> Record:
    """Ask the question and store the whole answer."""
    task_context.progress(0, 1)
    problem = problem_of(task, settings, seed=task_context.seed, privileged=model.spec.privileged)
    blinding = task_context.blinding
    seed = blinding.seed_of(problem.seed, problem.instruction, *problem.images)
    problem = replace(problem, task=blinding.name(task.id), seed=seed)
    rounds = settings.rounds if problem.kind in BUILD_KINDS else 1
    earlier: list[Answer] = []
    for number in range(1, rounds + 1):
        answer = _asked(model, problem)
        gives_up = answer.notes.get("gives_up")
        if not answer_text(answer.text).strip() and not gives_up:
            what = "reasoning only" if answer.text.strip() else "no text"
            raise ModelError(
                f"agent '{model.spec.name}' answered with {what}; give an answer, or `gives_up` in its notes"
            )
        text = answer.text.encode("utf-8", "replace")
        task_context.progress(number, rounds)
        if number == rounds or gives_up:
            break
        write_file(task_context.directory / f"answer-{number}.txt", text[:MOST_BYTES])
        earlier.append(answer)
        told = feedback_on(row_of(task), truth_of(task), answer.text, settings)
        problem = replace(problem, previous=answer.text, feedback=told)
    write_file(task_context.directory / ANSWER, text[:MOST_BYTES])
    facts: dict[str, Any] = {
        "control": "words",
        "characters": len(answer.text),
        "cut": len(text) > MOST_BYTES,
        "images": len(problem.images),
        "notes": dict(answer.notes),
        **({"earlier": [dict(one.notes) for one in earlier]} if earlier else {}),
    }
    return Record(task, model.spec.name, task_context.directory, facts)


def problem_of(task: Task, settings: BuildSettings, *, seed: int, privileged: bool) -> Problem:
    """Return the question as the agent gets it."""
    row = row_of(task)
    shown = shown_with(task)
    return Problem(
        task=task.id,
        kind=row.kind,
        instruction=row.instruction,
        seed=seed,
        variant=row.variant,
        images=tuple(image for _, image in shown),
        captions=tuple(caption for caption, _ in shown),
        materials=row.materials,
        choices=choices_of(row.kind, row.variant),
        most=settings.limits,
        truth=expected_text(task, settings.answer) if privileged else None,
        form="" if settings.answer == "matrix" or row.kind not in BUILD_KINDS else settings.answer,
    )


def shown_with(task: Task) -> tuple[tuple[str, Image], ...]:
    """What is shown with a task: captions, empty where there is none, and pictures (H, W, 3) uint8."""
    row = row_of(task)
    paths = (row.options_image,) if row.options_image is not None else row.images
    captions = row.captions if len(row.captions) == len(paths) else ("",) * len(paths)
    root = Path(task.sample["source"])
    return tuple((caption, read_image(root, path)) for caption, path in zip(captions, paths, strict=True))


def choices_of(kind: str, variant: str) -> tuple[str, ...]:
    """Return the choices of a reasoning question; empty for other kinds."""
    return () if kind != "reasoning" else WORDS if variant == "judge" else LETTERS


def expected_text(task: Task, form: Form = "matrix") -> str | None:
    """Return the right answer as an agent would give it; for builds the true one in a fenced block."""
    truth = truth_of(task)
    if truth is not None and form != "matrix":
        return fenced(truth.cells, form)
    if truth is not None:
        return f"```json\n{json.dumps(truth.rows(), separators=(',', ':'))}\n```"
    return row_of(task).answer


def answer_of(record: Record, file: str = ANSWER) -> str:
    """Return the agent's answer, with its original line ends."""
    try:
        return (record.directory / file).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise DataError(f"{record.directory / file}: cannot be read ({error.strerror}); ask again") from error


def earlier_answers(record: Record) -> list[str]:
    """Return the answers of the rounds before the last one."""
    return [answer_of(record, f"answer-{n}.txt") for n in range(1, len(record.facts.get("earlier", ())) + 1)]


def _asked(model: Agent, problem: Problem) -> Answer:
    name = model.spec.name
    try:
        answer = model.answer(problem)
    except WorldgaugeError:
        raise
    except (Exception, SystemExit) as error:
        raise ModelError(f"agent '{name}' raised {type(error).__name__}: {error}") from error
    if isinstance(answer, str):
        return Answer(answer)
    if not isinstance(answer, Answer) or not isinstance(answer.text, str):
        raise ModelError(f"agent '{name}' answered with {type(answer).__name__}; give a text or an Answer")
    if not isinstance(answer.notes, Mapping):
        raise ModelError(f"agent '{name}' gave notes that are a {type(answer.notes).__name__}; give a mapping")
    return answer
