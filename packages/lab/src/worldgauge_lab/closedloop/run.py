"""Running a study: the runs that it compares are made, or continued, and evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.engine.run import DEADLINE_S, run
from worldgauge.engine.subject_run import RunWatcher
from worldgauge.engine.subjects import run_label
from worldgauge.engine.suite.contract import Failure, Score
from worldgauge.suites.closedloop.task import SUITE
from worldgauge_lab.closedloop.definitions import STUDIES, Arm, StudyRequest, StudyResult, conclude


def run_study(
    name: str,
    *,
    data: Path | str,
    out: Path | str,
    models: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    candidates: Sequence[int] = (),
    references: bool = True,
    workers: int = 1,
    seed: int = 0,
    limit: int | None = None,
    deadline_s: float | None = DEADLINE_S,
    progress: RunWatcher | None = None,
) -> StudyResult:
    """Run what study `name` compares, and say what came of it.

    Each arm has a run folder of its own below `out`/runs. Started again it goes on where it stopped, and studies that
    share arms share their runs.

    Args:
        name: Of the study.
        data: Folder of closed-loop episodes.
        out: Folder of the runs.
        models, settings, candidates, references: See `StudyRequest`.
        workers, seed, limit, deadline_s, progress: As for `engine.run.run`.

    Raises:
        UnknownNameError: For a study that is not known.
        UsageError: For settings that the study sweeps, models that would share a row, or references that are left out
            of a study that has none, or that has no model then.
    """
    if name not in STUDIES:
        raise UnknownNameError("study", name, list(STUDIES))
    if not references and STUDIES[name].drawn != "plane":
        raise UsageError(f"study {name} has no references to leave out; quality and controllability have")
    if not references and not models:
        raise UsageError(f"study {name} without references compares nothing; give --model")
    asked = StudyRequest(tuple(models), dict(settings or {}), tuple(candidates), references)
    arms = STUDIES[name].arms(asked)
    labels = [arm.label for arm in arms]
    if len(set(labels)) < len(labels):
        raise UsageError(f"study {name}: two of its rows would be called '{max(labels, key=labels.count)}'")
    swept = {key for arm in arms for key in arm.settings if arm.settings[key] != asked.settings.get(key)}
    if given := sorted(swept & asked.settings.keys()):
        raise UsageError(f"study {name} sweeps the setting '{given[0]}': leave out --set {given[0]}")
    scores: dict[str, list[Score]] = {}
    failed: dict[str, list[Failure]] = {}
    for group in _alike(arms):
        named = {arm.model: arm.label for arm in group}
        result = run(
            SUITE,
            model=list(named),
            data=data,
            out=Path(out) / "runs" / _folder(group[0]),
            workers=workers,
            seed=seed,
            settings={**asked.settings, **group[0].settings},
            limit=limit,
            deadline_s=deadline_s,
            labels=named,
            progress=progress,
        )
        subject_in = {directory.name: subject for subject, directory in result.directories.items()}
        for arm in group:
            subject = subject_in[run_label(arm.label)]
            scores[arm.label], failed[arm.label] = result.scores[subject], result.failed_tasks[subject]
    return conclude(STUDIES[name], arms, scores, failed)


def _alike(arms: Sequence[Arm]) -> list[list[Arm]]:
    """Arms of the same settings together: one run asks all of their models."""
    groups: dict[str, list[Arm]] = {}
    for arm in arms:
        groups.setdefault(_folder(arm), []).append(arm)
    return list(groups.values())


def _folder(arm: Arm) -> str:
    """Name of the folder of the runs with an arm's settings."""
    return run_label("_".join(f"{key}-{value}" for key, value in arm.settings.items()) or "as-set")
