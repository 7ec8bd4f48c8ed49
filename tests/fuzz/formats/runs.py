"""Run folders, journals and bundles of a real run: an agent on a few tasks of building."""

from __future__ import annotations

from pathlib import Path

from fuzz.format import Format
from support.build_fixture import make_published
from support.served import question
from worldgauge.engine.result import find_runs, list_failures, list_speeds, read_current_lines, read_scores
from worldgauge.engine.run import run
from worldgauge.engine.store import Journal, read_journal
from worldgauge.models.recorded import Recorded, Recording
from worldgauge.report.evidence import load_evidence, read_tasks, without_damaged
from worldgauge.tools.bundle import write_bundles
from worldgauge.tools.verify import verify


def _made(folder: Path) -> Path:
    """A run of the reading agent on the plans of a small data set; its folder."""
    data = make_published(folder / "data")
    result = run("mineanybuild", model="reader", data=data, out=folder / "runs", settings={"task": "planning"})
    assert result.counts.scored
    return result.directory


def _read_run(folder: Path) -> None:
    evidence, suite = load_evidence([folder / "runs"])
    read_tasks(evidence)
    for one in find_runs([folder / "runs"]):
        lines = read_current_lines(one)
        list_failures(one, lines)
        list_speeds(lines)
        read_scores(one, suite)


def _make_tables(folder: Path) -> None:
    without_damaged(*load_evidence([folder / "runs"]))


def _make_journal(folder: Path) -> None:
    with Journal(folder / "journal.jsonl") as journal:
        for number in range(20):
            line = {"task": f"a/{number}", "key": f"k{number}", "scores": "s", "status": "done", "stage": "score"}
            journal.append({**line, "error": None, "seconds": 0.5})


def _read_journal(folder: Path) -> None:
    read_journal(folder / "journal.jsonl")
    # Opened for writing, its torn end is cut off.
    with Journal(folder / "journal.jsonl") as journal:
        assert len(journal.lines) <= 40


def _make_bundle(folder: Path) -> None:
    (bundled,) = write_bundles([_made(folder)], folder, whole=2)
    assert bundled.path.suffix == ".zip"


def _read_bundle(folder: Path) -> None:
    verify(next(folder.glob("*.zip")))


def _make_recording(folder: Path) -> None:
    """What `recording` keeps of two rollouts."""
    keeping = Recording("freeze", str(folder / "kept"))
    for seed in (1, 2):
        assert list(keeping.rollout(question(3, seed=seed)))


def _play(folder: Path) -> None:
    played = list(Recorded(str(folder / "kept")).rollout(question(3, seed=1)))
    assert sum(map(len, played)) == 3


FORMATS = (
    Format("run", _made, _read_run, ("runs/**/*.json", "runs/**/*.jsonl")),
    Format("tables of a run", _made, _make_tables, ("runs/**/scores.jsonl", "runs/**/run.json"), weight=0.5),
    Format("journal", _make_journal, _read_journal),
    Format("recorded", _make_recording, _play, video=True),
    Format("bundle", _make_bundle, _read_bundle, ("*.zip",)),
)
