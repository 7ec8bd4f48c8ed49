"""The result of runs: counts, failures, tables and a data frame, read from the run folders on demand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from worldgauge.core.errors import DataError, RunError, UsageError
from worldgauge.core.model import PRIVILEGED
from worldgauge.core.paired_tests import Power, power_of
from worldgauge.engine.coverage import PLANNING, ComparableRun, Coverage, TaskEnding, part_marks
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.sets import SET_COLUMNS, data_notes, set_cells
from worldgauge.engine.store import RunFolder, read_journal, record_entry
from worldgauge.engine.suite.base import SubmittedSuite, Suite
from worldgauge.engine.suite.contract import Failure, Score, Table, Task
from worldgauge.engine.suite.decoy import arm_of, judged_suite
from worldgauge.engine.suite.rollout import bridge_notes, is_rate
from worldgauge.engine.suite.scores import cluster_of_score, pairs_with_models, speed_table, told_scenes, with_seen

if TYPE_CHECKING:
    import pandas as pd


TRUTH = "truth"
Runs = Path | str | Iterable[Path | str]
"""Run folders, or folders of run folders: one, or several."""

_TRAINED, _COARSE = "trained", "coarse"


def matched_baselines(suite: Suite, tasks: Iterable[Task], models: Sequence[Mapping[str, Any]]) -> list[str]:
    """Addresses of the baselines that match these models; none that is a model already.

    "truth?fps=16" for each rate of a model that no recording has, "coarse?width=64&height=36" for each size of a
    trained network, and each floor baseline for each crop ("hedge?crop=1x1").
    """
    return [*_at_rates(suite, tasks, models), *_at_sizes(models), *_at_crops(suite, models)]


def _at_crops(suite: Suite, models: Sequence[Mapping[str, Any]]) -> list[str]:
    if not suite.scores_pictures:
        return []
    tested = [one for one in models if one["source"] not in suite.baselines and not PRIVILEGED & set(one["inputs"])]
    crops = sorted({(one["crop"][0], one["crop"][1]) for one in tested if one.get("crop")})
    return [f"{name}?crop={width:g}x{height:g}" for width, height in crops for name in suite.floor_baselines]


def _at_rates(suite: Suite, tasks: Iterable[Task], models: Sequence[Mapping[str, Any]]) -> list[str]:
    own = {float(one["fps"]) for one in models if one.get("fps") is not None and not PRIVILEGED & set(one["inputs"])}
    there = {one.get("fps") for one in models if one["source"] == TRUTH}
    wanted = sorted(fps for fps in own if not any(rate is not None and is_rate(fps, rate) for rate in there))
    if not wanted:
        return []
    recorded = _rates_of(suite, tasks)
    return [f"{TRUTH}?fps={fps:.12g}" for fps in wanted if not all(is_rate(fps, rate) for rate in recorded)]


def _at_sizes(models: Sequence[Mapping[str, Any]]) -> list[str]:
    own = {_drawn_size(one) for one in models if one["source"] == _TRAINED}
    there = {tuple(one["frame_size"]) for one in models if one["source"] == _COARSE}
    return [f"{_COARSE}?width={width}&height={height}" for width, height in sorted(own - there)]


def _drawn_size(model: Mapping[str, Any]) -> tuple[int, ...]:
    """Size in which a network draws, which is not that in which it gives frames where it is asked `as_size`."""
    return tuple(model.get("settings", {}).get("drawn_size") or model["frame_size"])


def _rates_of(suite: Suite, tasks: Iterable[Task]) -> frozenset[float]:
    for task in tasks:
        if task.skip is None:
            try:
                return suite.rates(task)
            except DataError:
                continue  # it will fail with its reason
    return frozenset()


_STARTS = ("model", "task", "cluster")
_ENDS = ("metric", "value", "unit", "better", "n", "reason", *SET_COLUMNS, "flag")
"""Columns of `RunResult.frame` before and after those of the groups."""


@dataclass(frozen=True)
class TaskCounts:
    """How many tasks ended in which way. Once a run is finished and scored, expected = scored + skipped + failed."""

    expected: int
    scored: int
    skipped: int
    failed: int
    unscored: int = 0
    left: int = 0

    @classmethod
    def of(cls, ends: Iterable[str]) -> TaskCounts:
        """Count tasks by how they ended."""
        ends = list(ends)
        return cls(len(ends), *(ends.count(end) for end in ("scored", "skipped", "failed", "unscored", "left")))

    def __str__(self) -> str:
        text = f"{self.expected} expected = {self.scored} scored + {self.skipped} skipped + {self.failed} failed"
        text += f" + {self.unscored} not scored" if self.unscored else ""
        return text + (f" + {self.left} left" if self.left else "")


@dataclass(frozen=True)
class UnscoredTask:
    """A task without scores."""

    model: str
    task: str
    error: str


class RunResult:
    """One or more runs of a suite, as `run` and `score` return them."""

    def __init__(self, folders: Sequence[RunFolder], suite: Suite) -> None:
        self.suite = suite
        self._folders = {folder.facts()["model"]["name"]: folder for folder in folders}
        if len(self._folders) < len(folders):
            raise UsageError("two of these runs have a model of the same name; look at them one by one")

    @property
    def folders(self) -> list[RunFolder]:
        """The run folders, one a model."""
        return list(self._folders.values())

    @property
    def directory(self) -> Path:
        """The folder that holds the run folders; the first of `parents` where there are several."""
        return self.parents[0]

    @property
    def parents(self) -> list[Path]:
        """The folders that hold the run folders."""
        return list(dict.fromkeys(folder.directory.parent for folder in self._folders.values()))

    @property
    def directories(self) -> dict[str, Path]:
        """The run folder of each model."""
        return {name: folder.directory for name, folder in self._folders.items()}

    @cached_property
    def model_counts(self) -> dict[str, TaskCounts]:
        """How the tasks of each model ended."""
        return {name: TaskCounts.of(map(task_ending, lines.values())) for name, lines in self._lines.items()}

    @property
    def counts(self) -> TaskCounts:
        """How all tasks ended."""
        each = self.model_counts.values()
        return TaskCounts(*(sum(getattr(one, name) for one in each) for name in TaskCounts.__dataclass_fields__))

    @property
    def failures(self) -> list[UnscoredTask]:
        """Tasks that failed, with their errors."""
        return self._endings("failed")

    @property
    def skips(self) -> list[UnscoredTask]:
        """Tasks that were not asked, with the reasons."""
        return self._endings("skipped")

    @property
    def ok(self) -> bool:
        """Whether nothing failed and nothing is left."""
        return not self.counts.failed and not self.counts.left

    @cached_property
    def scores(self) -> dict[str, list[Score]]:
        """All scores by model."""
        return {name: read_scores(folder, self.suite) for name, folder in self._folders.items()}

    def table(self) -> Sequence[Table]:
        """The tables of the suite over these models, headline first. A row that wins nothing has a flag."""
        return tables_of(
            judged_suite(self.suite, [folder.facts()["model"] for folder in self._folders.values()]),
            [
                _TableRun(
                    name,
                    self.kinds[name],
                    folder.facts(),
                    folder.directory,
                    self.scores[name],
                    list_endings(self._lines[name]),
                    self.failed_tasks[name],
                    list_bridges(folder, self._lines[name]),
                    list_told(self._lines[name]),
                )
                for name, folder in self._folders.items()
            ],
        )

    def speed_table(self) -> Table | None:
        """How fast these models answered, and what GPU memory that took; None where nothing was measured."""
        return speed_table({name: list_speeds(lines) for name, lines in self._lines.items()}, self.kinds)

    @property
    def scenes(self) -> dict[str, str]:
        """What is known of the scenes that trained models have seen."""
        return told_scenes({name: folder.facts() for name, folder in self._folders.items()})

    @property
    def sets(self) -> dict[str, tuple[str | None, ...]]:
        """Cells of `SET_COLUMNS` for each model: which named set its tasks are of."""
        return {name: set_cells(folder.facts()) for name, folder in self._folders.items()}

    @property
    def kinds(self) -> dict[str, str]:
        """ "model" or "baseline" for each model."""
        return {name: str(folder.facts()["model"]["kind"]) for name, folder in self._folders.items()}

    @property
    def power(self) -> Power:
        """What the tests of a table over all scored tasks can find."""
        clusters = {score.task: cluster_of_score(score) for own in self.scores.values() for score in own}
        return power_of(clusters.values(), len(pairs_with_models(list(self.kinds.values()))))

    @cached_property
    def failed_tasks(self) -> dict[str, list[Failure]]:
        """Failed tasks by model, with the groups that tables use."""
        return {name: list_failures(folder, self._lines[name]) for name, folder in self._folders.items()}

    @property
    def frame(self) -> pd.DataFrame:
        """All scores as a data frame, one row per score."""
        import pandas as pd

        sets = self.sets
        flags = {
            row.label: row.flag for table in (self.table() if self.counts.scored else ())[:1] for row in table.rows
        }
        keys = dict.fromkeys(key for scores in self.scores.values() for score in scores for key in score.group)
        groups = group_columns(keys, {"suite", *_STARTS, *_ENDS})
        rows = [
            {
                "model": name,
                "task": score.task,
                "cluster": score.cluster,
                **{groups[key]: value for key, value in score.group.items()},
                "metric": score.metric,
                "value": score.value,
                "unit": score.unit,
                "better": score.better,
                "n": score.n,
                "reason": score.reason,
                **dict(zip(SET_COLUMNS, sets[name], strict=True)),
                "flag": flags.get(name, ""),
            }
            for name, scores in self.scores.items()
            for score in scores
        ]
        return pd.DataFrame(rows, columns=[*_STARTS, *groups.values(), *_ENDS])

    @cached_property
    def _lines(self) -> dict[str, dict[str, dict[str, Any] | None]]:
        return {name: read_current_lines(folder) for name, folder in self._folders.items()}

    def _endings(self, status: str) -> list[UnscoredTask]:
        return [
            UnscoredTask(name, task, line["error"] or "")
            for name, lines in self._lines.items()
            for task, line in lines.items()
            if line is not None and line["status"] == status
        ]


@dataclass(frozen=True)
class _TableRun:
    """A row of tables; see `ComparableRun`."""

    label: str
    kind: str
    facts: Mapping[str, Any]
    directory: Path
    scores: Sequence[Score]
    outcomes: Sequence[TaskEnding]
    failed: Sequence[Failure]
    bridges: Sequence[Mapping[str, Any]]
    told: Sequence[int]


def tables_of(
    suite: Suite, runs: Sequence[ComparableRun], flags: Mapping[str, str] = MappingProxyType({})
) -> list[Table]:
    """Tables of a suite with notes, marks and flags; a row with a flag wins nothing, and `flags` adds more by label."""
    facts = {run.label: run.facts for run in runs}
    models = {label: one["model"] for label, one in facts.items()}
    kinds = {run.label: run.kind for run in runs}
    made = suite.all_tables({run.label: run.scores for run in runs}, kinds, {run.label: run.failed for run in runs})
    made = with_seen(with_motion(made, models), facts)
    truths = [label for label, model in models.items() if model.get("identity", {}).get("source") == TRUTH]
    notes = bridge_notes({run.label: run.bridges for run in runs}, truths)
    notes += told_notes({run.label: run.told for run in runs})
    made = with_notes(made, [*notes, *data_notes(facts)])
    covered = Coverage.of(suite, runs, made[0].metric).flags if made else {}
    more = {label: "; ".join(filter(None, [covered.get(label), flags.get(label)])) for label in {**covered, **flags}}
    marks = {label: part_marks(model) for label, model in models.items()}
    return [_with_remarks(table, more, marks) for table in made]


def _with_remarks(table: Table, flags: Mapping[str, str], marks: Mapping[str, tuple[str, ...]]) -> Table:
    """A table with further flags and marks; rows that get a flag follow the others."""
    rows = [
        replace(
            row,
            flag="; ".join(filter(None, [row.flag, flags.get(row.label)])),
            marks=(*row.marks, *marks.get(row.label, ())),
        )
        for row in sorted(table.rows, key=lambda row: row.label in flags)
    ]
    return replace(table, rows=tuple(rows))


def group_columns(keys: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """Column of each group key: the key, with "group_" before a key that is the name of another column in `taken`."""
    keys, columns = list(keys), {}
    for key in keys:
        column = key
        while column in taken or (column != key and column in keys):
            column = f"group_{column}"
        columns[key] = column
    return columns


def with_motion(tables: Sequence[Table], models: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Say below the headline table what is known of each model's unit of motion, baselines only where calibrated."""
    told: dict[str, list[str]] = {}
    for label, facts in models.items():
        if "motion" in facts and (facts["kind"] == "model" or facts["motion"] == "calibrated"):
            told.setdefault(facts["motion"], []).append(label)
    each = "; ".join(f"{word} of {', '.join(told[word])}" for word in sorted(told))
    return with_notes(tables, [f"Unit of motion: {each}."] if told else [])


def read_scores(folder: RunFolder, suite: Suite, known: Iterable[Score] | None = None) -> list[Score]:
    """The scores of a run, each with its cluster, also where the run is older than clusters. Arms are left out."""
    scores = main_scores((score for _, score in folder.scores()) if known is None else known)
    return [
        score if score.cluster else replace(score, cluster=suite.cluster_of(score.task, score.group))
        for score in scores
    ]


def main_scores(scores: Iterable[Score]) -> Iterator[Score]:
    """Scores of the suite's own tasks, without those of the arms of the decoy test."""
    return (score for score in scores if not arm_of(score.task))


def arm_scores(scores: Iterable[Score]) -> Iterator[Score]:
    """Scores of the arms of the decoy test."""
    return (score for score in scores if arm_of(score.task))


def is_older_than_clusters(folder: RunFolder) -> bool:
    """Whether the scores of a run do not say what they share, so that clusters are taken from the ids of tasks."""
    first = next(folder.scores(), None)
    return first is not None and not first[1].cluster


def read_current_lines(folder: RunFolder, *, arms: bool = False) -> dict[str, dict[str, Any] | None]:
    """Journal line of every task in run.json, None if it is not done; `arms` includes the arms of the decoy test."""
    journal, facts = read_journal(folder.journal_path), folder.facts()
    lines = {}
    for task, key in (facts["task_keys"] | (facts.get("decoy_keys", {}) if arms else {})).items():
        line = journal.get(task)
        lines[task] = line if line is not None and line["key"] == key else None
    return lines


def list_failures(folder: RunFolder, lines: Mapping[str, Mapping[str, Any] | None]) -> list[Failure]:
    """The failed tasks of a run."""
    found = []
    for task, line in lines.items():
        if line is not None and line["status"] == "failed":
            try:
                group = record_entry(folder.record(task))["group"]
            except RunError:
                group = {}
            found.append(Failure(task, group, line["error"] or ""))
    return found


def with_notes(tables: Sequence[Table], notes: Sequence[str]) -> list[Table]:
    """Tables with further lines below the first."""
    return [
        replace(table, notes=(*table.notes, *notes)) if place == 0 and notes else table
        for place, table in enumerate(tables)
    ]


def list_bridges(folder: RunFolder, lines: Mapping[str, Mapping[str, Any] | None]) -> list[Mapping[str, Any]]:
    """The facts of the rate bridges of a run, one for each record that has one."""
    if folder.facts()["model"]["identity"].get("fps") is None:
        return []
    found: list[Mapping[str, Any]] = []
    for task, line in lines.items():
        if line is not None and line["status"] == "done":
            with suppress(RunError):
                if (bridge := record_entry(folder.record(task))["facts"].get("bridge")) is not None:
                    found.append({**bridge, "task": task})
    return found


def told_notes(told: Mapping[str, Sequence[int]]) -> list[str]:
    """The lines below a table that say whose records hold notes of the model."""
    return [
        f"{label} told something about {sum(map(bool, counts))} of {len(counts)} tasks: see the notes in their records."
        for label, counts in told.items()
        if any(counts)
    ]


def list_told(lines: Mapping[str, Mapping[str, Any] | None]) -> list[int]:
    """Number of notes that the model told with its answers, one entry for each task with a record."""
    return [line.get("notes") or 0 for line in lines.values() if line is not None and line["status"] == "done"]


def list_speeds(lines: Mapping[str, Mapping[str, Any] | None]) -> list[Mapping[str, Any] | None]:
    """What was measured of the answers of a run, by `Stopwatch.plain`; None for a record without a measurement."""
    return [line.get("speed") for line in lines.values() if line is not None and line["status"] == "done"]


def list_endings(lines: Mapping[str, Mapping[str, Any] | None]) -> list[TaskEnding]:
    """How each task of a run ended."""
    ends = {task: task_ending(line) for task, line in lines.items()}
    return [
        TaskEnding(
            task,
            end,
            _ENDINGS.get(end) or (lines[task] or {}).get("error") or "",
            (lines[task] or {}).get("stage") == PLANNING,
        )
        for task, end in ends.items()
    ]


_ENDINGS = {"left": "not run yet", "unscored": "asked, not scored yet; worldgauge score does it"}


def task_ending(line: Mapping[str, Any] | None) -> str:
    """How a task ended: "scored", "skipped", "failed", "unscored", or "left" where it has no journal line."""
    if line is None:
        return "left"
    if line["status"] == "done":
        return "scored" if line["scores"] else "unscored"
    return str(line["status"])


def list_paths(given: Runs) -> list[Path]:
    """One path or several, as a list."""
    return [Path(one) for one in ([given] if isinstance(given, (str, Path)) else given)]


def find_runs(directories: Runs) -> list[RunFolder]:
    """Find run folders, at any depth. Earlier runs of a model count only when they are named."""
    found: dict[Path, RunFolder] = {}
    for directory in list_paths(directories):
        inner = list(_runs_below(directory, set()))
        if not inner:
            raise RunError(f"{directory}: neither a run folder (no run.json) nor a folder of run folders")
        found.update({path.resolve(): RunFolder(path) for path in inner})
    return list(found.values())


def _runs_below(directory: Path, seen: set[Path]) -> Iterator[Path]:
    """A run folder itself, or those in a folder. Hidden folders are of unfinished work."""
    if (directory / "run.json").exists():
        yield directory
        return
    seen.add(directory.resolve())
    try:
        paths = sorted(directory.iterdir())
    except OSError:
        paths = []
    for path in paths:
        if path.is_dir() and not path.name.startswith(".") and path.resolve() not in seen:
            yield from (run for run in _runs_below(path, seen) if run != path or not RunFolder(run).is_earlier)


def export(runs: Runs, out: Path) -> list[Path]:
    """Write one result file per run, named after the model."""
    folders = find_runs(runs)
    if not folders:
        raise UsageError("an export needs at least one run folder")
    names = [folder.directory.name for folder in folders]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two runs are named '{twice[0]}', and so would be their files; export them one by one")
    written = []
    for folder in folders:
        facts = folder.facts()
        suite = open_suite(facts["suite"], facts["settings"])
        scores = [score for _, score in folder.scores()]
        path = Path(out) / f"result_{folder.directory.name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(suite, SubmittedSuite):
            raise UsageError(
                f"suite '{suite.name}' has no result format of its own; export its scores with --to csv, parquet, "
                "eee, hf or inspect"
            )
        suite.export(scores, list_failures(folder, read_current_lines(folder)), path)
        written.append(path)
    return written
