"""Tasks: one per scenario, and how a task finds its scenario again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.engine.suite.contract import Task, TaskView, changed
from worldgauge.suites.target import format as target
from worldgauge.suites.target.format.read import SEGMENT
from worldgauge.suites.target.format.scenario import Scenario
from worldgauge.suites.target.planners import path_poses
from worldgauge.suites.target.settings import Settings


def tasks(source: Path, settings: Settings) -> Iterator[Task]:
    """Yield all scenarios of a data folder by name.

    A faulty one becomes a task that fails with its reason, so that nobody gains by leaving it out.
    """
    labels = None if settings.labels is None else Path(settings.labels).expanduser()
    found = target.discover(Path(source), settings.horizon_s, labels=labels)
    if not found:
        raise DataError(
            f"{source}: no scenarios of the form <scenario>/<scenario>_trajectory.csv; "
            f"make some with: worldgauge collect target --out {source}"
        )
    for scenario in found:
        yield Task(
            suite="target",
            id=scenario.id,
            sample={"source": str(Path(source).resolve()), "broken": scenario.fault},
            fingerprint=_fingerprint(scenario),
            group={"label": scenario.label, "category": scenario.category, "place": _place(scenario)},
        )


def scenario_of(task: Task, settings: Settings, *, parity: target.Compat = None) -> Scenario:
    """The scenario of a task."""
    if task.sample.get("broken"):
        raise DataError(f"{task.id}: {task.sample['broken']}")
    source = task.sample["source"]
    folder = target.scenarios_folder(Path(source)) / task.id
    if Path(task.id).name != task.id or not folder.is_dir():
        raise DataError(f"{source}: scenario '{task.id}' is gone; plan the run again")
    found = target.load(folder, settings.horizon_s, compat=parity, label=task.group.get("label"))
    if found.fault:
        raise DataError(f"{task.id}: {found.fault}")
    planned = found if parity is None else target.load(folder, settings.horizon_s)
    if _fingerprint(planned) != task.fingerprint:
        raise changed(task)
    return found


def _fingerprint(scenario: Scenario) -> str:
    """Fingerprint of a task. Which table a scenario is counted in changes nothing that is asked."""
    return target.fingerprint_of(replace(scenario, label="unknown"))


def task_view(task: Task, settings: Settings) -> TaskView:
    """Return the real frames from the current one on, poses and camera of the walk, and where the target stands."""
    scenario = scenario_of(task, settings)
    marks = {}
    if scenario.target is not None:
        x, y = scenario.target.centre[:2]
        marks[scenario.target.category] = (float(x), float(y))
    poses = path_poses(scenario)
    truth = target.truth_clip(scenario)
    return TaskView(truth, poses, scenario.history_rows, scenario.world, marks, scenario.camera, truth[:1])


def scene_of(task: str) -> str:
    """The recording that a scenario was cut from, by the scenario's name; that name where it tells none."""
    segment = SEGMENT.fullmatch(task)
    return segment["scene"] if segment else task


def _place(scenario: Scenario) -> str:
    """outdoors or indoors, by the kind of world; unknown without one."""
    if scenario.world is None:
        return "unknown"
    return "outdoors" if scenario.world.name == "voxel" else "indoors"
