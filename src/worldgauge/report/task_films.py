"""One task of some runs outside a page: as a film, as a record in full size, as small pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.video import Clip, Writer
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.store import RunFolder, record_entry, write_error
from worldgauge.engine.suite.base import ActedSuite, AnsweredSuite
from worldgauge.engine.suite.contract import Record, Task
from worldgauge.report.answer_cards import view_answer_card
from worldgauge.report.evidence import Evidence, load_evidence, read_tasks
from worldgauge.report.film import Film, contact_sheet
from worldgauge.report.page import assign_styles
from worldgauge.report.task_cards import ONE_FILM_BYTES, film_of, gather_footage
from worldgauge.report.wording import Vocabulary

FRAMES = 6
"""Frames of a film in its preview."""
WIDTH_PX = 768
"""Width of a preview."""
BUDGET_BYTES = 40_000
"""Approximate largest size of the preview of one model."""


@dataclass(frozen=True)
class Preview:
    """What one model made of a task."""

    label: str
    encoded: str


def preview_task(runs: Sequence[Path], order: Sequence[str] = (), metric: str = "") -> list[Preview]:
    """Preview the first task that two models can show; for agents by largest difference, as others look alike."""
    evidence, suite = load_evidence(runs)
    styles, words = assign_styles(evidence), Vocabulary.of(suite)
    tasks = read_tasks(evidence)
    names = (
        sorted(tasks, key=lambda name: -_difference(evidence, metric, name))
        if isinstance(suite, ActedSuite)
        else list(tasks)
    )
    for name in names:
        task = tasks[name]
        if isinstance(suite, AnsweredSuite):
            card = view_answer_card(name, evidence, suite, task, styles)
            found = [Preview(one.style.label, one.picture.encoded) for one in card.answers if one.picture is not None]
        else:
            clips: Mapping[str, Clip]
            if isinstance(suite, ActedSuite):
                # What the agent saw: a replay holds several pictures side by side, too small here.
                clips = {run.label: Clip.open(run.rollouts[name]) for run in evidence.runs if name in run.rollouts}
            else:
                clips = gather_footage("preview", name, evidence, suite, task, styles, words).clips
            stills = {
                label: sorted({round(k * (len(clip) - 1) / (FRAMES - 1)) for k in range(FRAMES)})
                for label, clip in clips.items()
            }
            rows, _ = contact_sheet(clips, stills, budget=BUDGET_BYTES, width=WIDTH_PX // FRAMES)
            found = [Preview(row.name, row.encoded) for row in rows]
        if len(found) > 1:
            return sorted(found, key=lambda one: order.index(one.label) if one.label in order else -1)
    return []


def _difference(evidence: Evidence, metric: str, task: str) -> float:
    """Between the best and the worst model of a task."""
    values = [known[task] for known in (run.values(metric) for run in evidence.runs) if task in known]
    return max(values) - min(values) if values else 0.0


def write_replay(run: Path, task: str, out: Path) -> Path:
    """Write the film that the suite shows of a task."""
    folder = RunFolder(run)
    facts = folder.facts()
    suite = open_suite(facts["suite"], facts["settings"])
    if not isinstance(suite, ActedSuite):
        raise UsageError(f"suite '{suite.name}' has no replays: its records are videos, see {run}/records")
    if not folder.record(task).is_dir():
        known = sorted(path.name.replace("__", "/") for path in (run / "records").iterdir() if path.is_dir())
        raise UnknownNameError(f"episode in {run}", task, known)
    entry = record_entry(folder.record(task))
    sample = dict(entry["sample"])
    if "source" in sample:
        sample["source"] = facts["source"]
    asked = Task(entry["suite"], task, sample, entry["fingerprint"], entry["group"])
    film = suite.film(Record(asked, entry["model"], folder.record(task), entry["facts"], entry["rollout"]))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(error, out.parent) from error
    with Writer(out, fps=film.fps, kind="viewable") as writer:
        for frame in film:
            writer.write(frame)
    return out


def film_task(runs: Sequence[Path], task: str) -> Film:
    """Make the film that a report shows of a task."""
    evidence, suite = load_evidence(runs)
    if isinstance(suite, AnsweredSuite):
        raise UsageError(f"suite '{suite.name}' has no videos: its tasks have written answers, which the report shows")
    if task not in evidence.groups:
        raise UnknownNameError("scored task", task, evidence.groups)
    asked = read_tasks(evidence, [task]).get(task)
    found = gather_footage("film", task, evidence, suite, asked, assign_styles(evidence), Vocabulary.of(suite))
    film = film_of(found, ONE_FILM_BYTES)
    if film is None:
        raise UsageError(f"nothing to show of task '{task}': {' '.join(found.notes) or 'no record holds a video'}")
    return film
