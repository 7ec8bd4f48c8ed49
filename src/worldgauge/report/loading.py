"""Loading: run folders on disk become Evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from worldgauge.errors import RunError, UsageError
from worldgauge.report.evidence import Entrant, Evidence, Outcome, find_runs, unique_labels
from worldgauge.suites.contract import Score


def load(paths):
    from worldgauge.suites import suites
    runs = find_runs(paths)
    facts = [json.loads((r / "run.json").read_text()) for r in runs]
    names = [f["subject"]["name"] for f in facts]
    labels = unique_labels(names, [(f"context {f['settings'].get('context') or 'all'}", f"seed {f['seed']}") for f in facts])
    entrants = []
    for run, fact, label in zip(runs, facts, labels):
        outcomes = []
        for line in (run / "journal.jsonl").read_text().splitlines():
            e = json.loads(line)
            outcomes.append(Outcome(e["task"], e["status"], e["error"] or "", e["seconds"]))
        scores = [score_of(json.loads(line)) for line in (run / "scores.jsonl").read_text().splitlines()]
        rollouts = {}
        for rec in sorted((run / "records").glob("*/record.json")):
            r = json.loads(rec.read_text())
            if r.get("rollout") and (rec.parent / r["rollout"]).is_file():
                rollouts[r["task"]] = rec.parent / r["rollout"]
        entrants.append(Entrant(label, fact["subject"]["name"], fact["subject"]["kind"], tuple(fact["subject"]["inputs"]),
            fact["settings"].get("context"), fact, run, tuple(scores), tuple(outcomes), rollouts))
    suite = suites.get(facts[0]["suite"])(**facts[0]["settings"])
    references = suite.references
    entrants.sort(key=lambda e: (e.kind == "reference", references.index(e.subject) if e.subject in references else -1))
    return Evidence(facts[0]["suite"], facts[0]["settings"], tuple(entrants)), suite

def tasks_of(evidence, suite):
    return {t.id: t for t in suite.tasks(Path(evidence.entrants[0].facts["source"]))}

def score_of(d):
    v = d["value"]
    if isinstance(v, dict): v = float(v["special"])
    d = {**d, "value": v, "series": tuple((i, x) for i, x in d["series"])}
    d.pop("subject")
    return Score(**d)
