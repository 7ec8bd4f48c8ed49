"""Running a study: its arms are asked the tasks of a suite in one run, which goes on where it stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.engine.model_entries import ModelEntry, run_label
from worldgauge.engine.model_run import RunWatcher
from worldgauge.engine.result import RunResult, list_speeds, read_current_lines
from worldgauge.engine.run import DEADLINE_S, worker_groups
from worldgauge.engine.suite.scores import clusters_by_task
from worldgauge.engine.workers.site import open_site
from worldgauge.models.address import ModelAddress
from worldgauge.result import run
from worldgauge_train.study_findings import (
    DENOISING,
    DISTILLATION,
    MEMORY,
    TRANSFER,
    Arm,
    ArmScores,
    Measure,
    Study,
    StudyFinding,
    beside_arms,
    conclude,
    denoising_arms,
    memory_arms,
    pair_arms,
)

DETAIL = "detail"
"""Metric that stands beside the headline of a suite, where its scores have it: errors alone reward a blur."""


@dataclass(frozen=True)
class StudyRequest:
    """What a study runs; without `metrics`, it compares the suite's headline and detail. `beside`: further models."""

    suite: str
    data: Path
    out: Path
    metrics: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 1
    seed: int = 0
    limit: int | str | None = None
    deadline_s: float | None = DEADLINE_S
    progress: RunWatcher | None = None


def memory_study(asked: StudyRequest, models: Sequence[str], contexts: Sequence[int | None]) -> StudyFinding:
    """Ask models that are shown more and more frames."""
    if any(one is not None and one < 1 for one in contexts):
        raise UsageError("--context takes numbers of frames from 1 on, and all")
    entries = entries_of(models)
    held = {label: entry.identity.get("max_context") for label, entry in entries.items()}
    arms, said = memory_arms({label: entry.text or "" for label, entry in entries.items()}, contexts, held)
    for label in entries:
        if sum(arm.family == label for arm in arms) < 2:
            raise UsageError(f"study memory: '{label}' runs with one context only; give --context such as 1,all")
    return run_arms(MEMORY, arms, asked, said=said)


def denoising_study(asked: StudyRequest, models: Sequence[str], steps: Sequence[int | None]) -> StudyFinding:
    """Ask models with more and more denoising steps."""
    counts = [one for one in steps if one]
    if len(counts) < max(2, len(steps)):
        raise UsageError("--steps takes two numbers of denoising steps or more, from 1 on, such as 1,4,16")
    return run_arms(DENOISING, denoising_arms(texts_of_models(models), counts), asked)


def distillation_study(asked: StudyRequest, models: Sequence[str]) -> StudyFinding:
    """Ask a teacher, which comes first, and its students."""
    return run_arms(DISTILLATION, _pairs(DISTILLATION, models), asked)


def transfer_study(asked: StudyRequest, models: Sequence[str]) -> StudyFinding:
    """Ask models that were trained on different things, each against the first."""
    return run_arms(TRANSFER, _pairs(TRANSFER, models), asked)


def _pairs(study: Study, models: Sequence[str]) -> list[Arm]:
    if len(set(models)) < 2:
        raise UsageError(f"study {study.name} compares models with the first: give --model twice or more")
    return pair_arms(texts_of_models(models))


def run_arms(study: Study, arms: Sequence[Arm], asked: StudyRequest, *, said: Sequence[str] = ()) -> StudyFinding:
    """Run the arms of a study, and say what came of it."""
    measures, scores, clusters = measure_arms(study, arms, asked)
    return conclude(study, asked.suite, measures, scores, clusters, said=said)


def measure_arms(
    study: Study, arms: Sequence[Arm], asked: StudyRequest
) -> tuple[list[Measure], list[ArmScores], dict[str, str]]:
    """Run the arms of a study."""
    arms, result = run_models(study, arms, asked)
    return measured(result, arms, asked)


def run_models(study: Study, arms: Sequence[Arm], asked: StudyRequest) -> tuple[Sequence[Arm], RunResult]:
    """Run the arms of a study, and the models beside them; returns both."""
    arms = [*arms, *beside_arms(texts_of_models(asked.beside))]
    for names in ([run_label(arm.label) for arm in arms], [arm.model for arm in arms]):
        if len(set(names)) < len(names):
            raise UsageError(f"study {study.name}: two of its rows would be '{max(names, key=names.count)}'")
    result = run(
        asked.suite,
        model=[arm.model for arm in arms],
        data=asked.data,
        out=asked.out / "runs",
        workers=asked.workers,
        seed=asked.seed,
        settings=asked.settings,
        limit=asked.limit,
        deadline_s=asked.deadline_s,
        labels={arm.model: arm.label for arm in arms},
        progress=asked.progress,
    )
    if not any(result.scores.values()):
        why = next((f": {one.task}: {one.error}" for one in (*result.failures, *result.skips)), "")
        raise UsageError(f"study {study.name}: no task was scored, so there is nothing to compare{why}")
    return arms, result


def measured(
    result: RunResult, arms: Sequence[Arm], asked: StudyRequest
) -> tuple[list[Measure], list[ArmScores], dict[str, str]]:
    """What a study has measured of its arms."""
    tables = result.table()
    measures = _measures(result, asked.metrics)
    flags = {row.label: row.flag for row in tables[0].rows}
    name_in = {directory.name: name for name, directory in result.directories.items()}
    folder_of = dict(zip(result.directories, result.folders, strict=True))
    scenes, found = result.scenes, []
    for arm in arms:
        name = name_in[run_label(arm.label)]
        speeds = [one for one in list_speeds(read_current_lines(folder_of[name])) if one and one["seconds"] > 0]
        found.append(
            ArmScores(
                arm,
                {
                    one.metric: {score.task: score.value for score in result.scores[name] if score.metric == one.metric}
                    for one in measures
                },
                [one["frames"] / one["seconds"] for one in speeds],
                flags.get(name, ""),
                scenes.get(name, ""),
            )
        )
    return measures, found, clusters_by_task(result.scores)


def _measures(result: RunResult, metrics: Sequence[str]) -> list[Measure]:
    """The metrics that were asked for, or the suite's headline and its detail."""
    first = {score.metric: score for own in result.scores.values() for score in own}
    titles = {table.metric: table.title for table in result.table()}
    headline = next((metric for metric in titles if metric in first), next(iter(first)))
    before, slash, _ = headline.rpartition("/")
    usual = dict.fromkeys([headline, *(one for one in (f"{before}{slash}{DETAIL}",) if one in first)])
    for metric in metrics:
        if metric not in first:
            raise UnknownNameError("metric", metric, sorted(first))
    return [Measure(name, titles.get(name, name), first[name].better, first[name].unit) for name in metrics or [*usual]]


def texts_of_models(models: Sequence[str]) -> dict[str, str]:
    """Text of each model by its label."""
    return {label: entry.text or "" for label, entry in entries_of(models).items()}


def entries_of(models: Sequence[str]) -> dict[str, ModelEntry]:
    """Who models are, by the name that each gives itself, or by label where two give the same."""
    if not models:
        return {}
    with ExitStack() as stack:
        site = stack.enter_context(open_site())
        found, _ = worker_groups([*map(ModelAddress.parse, dict.fromkeys(models))], site, 1, None, stack)
    names = [str(entry.identity["name"]) for entry in found]
    return {name if names.count(name) == 1 else entry.label: entry for name, entry in zip(names, found, strict=True)}
