"""Loading: run folders on disk become Evidence, by the engine's own readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from worldgauge.engine.plan import open_suite
from worldgauge.engine.result import current_lines, find_runs
from worldgauge.engine.store import RunFolder, loads
from worldgauge.errors import RunError, UsageError
from worldgauge.report.evidence import Entrant, Evidence, Outcome, unique_labels
from worldgauge.suites.contract import Suite, Task


def load(paths: Sequence[Path]) -> tuple[Evidence, Suite]:
    """All runs in `paths` (run folders or folders of them) and their suite, with the settings of the first run.

    Raises UsageError when the runs are of different suites or none was given, RunError when one cannot be read.
    """
    folders = find_runs(paths)
    if not folders:
        raise UsageError("a report needs at least one run folder")
    facts = [folder.facts() for folder in folders]
    names = sorted({str(fact["suite"]) for fact in facts})
    if len(names) > 1:
        raise UsageError(f"these runs are of the suites {', '.join(names)}; write one report for each")
    suite = open_suite(names[0], facts[0]["settings"])
    labels = unique_labels([fact["subject"]["name"] for fact in facts], [_marks(fact) for fact in facts])
    entrants = [_entrant(*each) for each in zip(folders, facts, labels, strict=True)]
    order = {name: place for place, name in enumerate(suite.references)}
    entrants.sort(key=lambda e: (e.kind == "reference", order.get(e.source, -1)))
    return Evidence(suite.name, facts[0]["settings"], tuple(entrants), _mismatches(facts)), suite


def tasks_of(evidence: Evidence) -> dict[str, Task]:
    """task id -> the task, from the records."""
    found: dict[str, Task] = {}
    for entrant in evidence.entrants:
        for task in entrant.rollouts.keys() - found.keys():
            entry = _record(entrant.rollouts[task].parent)
            found[task] = Task(entry["suite"], task, entry["sample"], entry["fingerprint"], entry["group"])
    return found


def _entrant(folder: RunFolder, facts: Mapping[str, Any], label: str) -> Entrant:
    subject = facts["subject"]
    outcomes, rollouts = [], {}
    for task, line in current_lines(folder).items():
        if line is None:
            outcomes.append(Outcome(task, "missing", "not run yet"))
        elif line["status"] == "done" and not line["scores"]:
            outcomes.append(Outcome(task, "missing", "asked, not scored yet", line["seconds"]))
        else:
            outcomes.append(Outcome(task, line["status"], line["error"] or "", line["seconds"]))
        if line is not None and line["status"] == "done":
            directory = folder.record(task)
            name = _record(directory).get("rollout")
            if name and (directory / Path(name).name).is_file():
                rollouts[task] = directory / Path(name).name
    return Entrant(
        label,
        str(subject["name"]),
        str(subject.get("identity", subject).get("source", subject["name"])),
        "reference" if subject["kind"] == "reference" else "subject",
        tuple(name for name in subject["inputs"] if name in ("truth", "world")),
        _context(facts),
        facts,
        folder.directory,
        tuple(score for _, score in folder.scores()),
        tuple(outcomes),
        rollouts,
    )


def _record(directory: Path) -> dict[str, Any]:
    try:
        entry: dict[str, Any] = loads((directory / "record.json").read_text())
    except (OSError, ValueError) as error:
        raise RunError(f"{directory}: no readable record ({error}); run again to make it anew") from error
    return entry


def _context(facts: Mapping[str, Any]) -> int | None:
    """Frames the subject was allowed to see: the suite's setting, or the model's own where that is shorter."""
    limits = (facts["settings"].get("context"), facts["subject"]["settings"].get("max_context"))
    known = [limit for limit in limits if isinstance(limit, int)]
    return min(known) if known else None


def _marks(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """What may tell two runs of one subject apart."""
    context = facts["settings"].get("context")
    return f"@{context or 'all'}", f"seed {facts['seed']}"


def _mismatches(facts: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What a reader must know before comparing these runs."""
    notes = []
    if len({fact["data_fingerprint"] for fact in facts}) > 1:
        notes.append(
            "These runs were made on different sets of trajectories; differences use only those that both have."
        )
    if len({fact["suite_version"] for fact in facts}) > 1:
        notes.append("These runs were made with different versions of the suite; their numbers may not mean the same.")
    varied = sorted(
        {name for fact in facts for name, value in fact["settings"].items() if value != facts[0]["settings"].get(name)}
    )
    if varied:
        notes.append(f"Settings that differ between these runs: {', '.join(varied)}.")
    return tuple(notes)
