"""Tasks: one per scenario, and how a task finds its scenario again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.engine.suite.contract import Task, TaskView, changed
from worldgauge.suites.targetbench.format.read import SEGMENT, discover, load, scenarios_folder
from worldgauge.suites.targetbench.format.scenario import Compat, Scenario, fingerprint_of, truth_clip
from worldgauge.suites.targetbench.planners import path_poses
from worldgauge.suites.targetbench.settings import TargetSettings


def tasks(source: Path, settings: TargetSettings) -> Iterator[Task]:
    """Yield all scenarios by name; a faulty one becomes a failing task, so that nobody gains by leaving it out."""
    labels = None if settings.labels is None else Path(settings.labels).expanduser()
    found = discover(Path(source), settings.horizon_s, labels=labels)
    if not found:
        raise DataError(
            f"{source}: no scenarios of the form <scenario>/<scenario>_trajectory.csv; try --data worldgauge-small"
        )
    for scenario in found:
        place = "unknown"
        if scenario.world is not None:
            place = "outdoors" if scenario.world.name == "voxel" else "indoors"
        yield Task(
            suite="targetbench",
            id=scenario.id,
            sample={"source": str(Path(source).resolve()), "broken": scenario.fault},
            fingerprint=_fingerprint(scenario),
            group={"label": scenario.label, "category": scenario.category, "place": place},
        )


def scenario_of(task: Task, settings: TargetSettings, *, parity: Compat = None) -> Scenario:
    """The scenario of a task."""
    if task.sample.get("broken"):
        raise DataError(f"{task.id}: {task.sample['broken']}")
    source = task.sample["source"]
    folder = scenarios_folder(Path(source)) / task.id
    if Path(task.id).name != task.id or not folder.is_dir():
        raise DataError(f"{source}: scenario '{task.id}' is gone; plan the run again")
    found = load(folder, settings.horizon_s, compat=parity, label=task.group.get("label"))
    if found.fault:
        raise DataError(f"{task.id}: {found.fault}")
    planned = found if parity is None else load(folder, settings.horizon_s)
    if _fingerprint(planned) != task.fingerprint:
        raise changed(task)
    return found


def _fingerprint(scenario: Scenario) -> str:
    """Fingerprint of a task. Which table a scenario is counted in changes nothing that is asked."""
    return fingerprint_of(replace(scenario, label="unknown"))


def task_view(task: Task, settings: TargetSettings) -> TaskView:
    """Return the real frames from the current one on, poses and camera of the walk, and where the target stands."""
    scenario = scenario_of(task, settings)
    marks = {}
    if scenario.target is not None:
        x, y = scenario.target.centre[:2]
        marks[scenario.target.category] = (float(x), float(y))
    poses = path_poses(scenario)
    truth = truth_clip(scenario)
    return TaskView(truth, poses, scenario.history_rows, scenario.world, marks, scenario.camera, truth[:1])


def scene_of(task: str) -> str:
    """The recording that a scenario was cut from, by the scenario's name; that name where it tells none."""
    segment = SEGMENT.fullmatch(task)
    return segment["scene"] if segment else task
